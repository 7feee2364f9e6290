//! The Redis client that the locks use: RESP2 over any byte stream.
//!
//! Deliberately small: one connection per node and one for each subscription, one command
//! at a time, and errors that say whether the command may have been executed. Where
//! sentinels watch over a master, the client finds out from them which node that is.

mod client;
mod connection;
mod discovery;
mod script;
mod subscription;

pub use client::{Client, Error, Exclusive};
pub use connection::{Connection, Reply};
pub use discovery::{MASTER, SENTINEL_LIMIT, Target};
pub use script::Script;
pub use subscription::Subscription;
