//! The Redis client that the locks use: RESP2 over any byte stream.
//!
//! Deliberately small: one connection per node and one for each subscription, one command at a
//! time, and errors that say whether the command may have been executed. With sentinels, the
//! client asks them which node is the master. When it connects, whether it notices that an idle
//! connection was closed, and what it sends again are [`ClientOptions`].

mod client;
mod connection;
mod discovery;
mod options;
mod script;
mod subscription;

pub use client::{Client, Error, Exclusive};
pub use connection::{Connection, Reply};
pub use discovery::{MASTER, SENTINEL_LIMIT, Target};
pub use options::{ClientOptions, Connect, OnClose};
pub use script::Script;
pub use subscription::Subscription;
