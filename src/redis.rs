//! The Redis client that the locks use: RESP2 over any byte stream.
//!
//! Deliberately small: one connection per node, one command at a time, and errors
//! that say whether the command may have been executed.

mod client;
mod connection;
mod script;

pub use client::{Client, Error};
pub use connection::{Connection, Reply};
pub use script::Script;
