//! A Redis server as a state machine: bytes and a time go in, bytes come out.
//!
//! [`Node`] is one `redis-server` 7.0.15 with `databases 1`: master or replica, with
//! whatever persistence its driver lends it a disk for.
//! It does no input or output and reads no clock. Whoever drives it (the world
//! over simulated TCP, `locklab serve` over real TCP) passes in what a client
//! sent and what the node's wall clock says, and carries out the [`Effect`]s.
//!
//! The way of a request: `node` keeps the connections, `request` cuts their
//! bytes into commands, `dispatch` checks a command as `processCommand` does and
//! queues or calls it, `table` says which function that is, `cmd` holds those
//! functions, `db` is the keyspace they work on, `value` what a key holds, `script`
//! is Lua, and `reply` writes the answer. What a command did to keys is told to others
//! by `tell`, and what others have to do likewise by `propagate`, to replicas (`repl`)
//! and to the disk (`persist`). Source files named in comments (`src/db.c`) are Redis's.

mod active_expiry;
mod blocking;
mod busy;
mod changes;
mod cmd;
mod config;
mod db;
mod dispatch;
mod dump;
mod float;
mod functions;
pub(crate) mod glob;
mod node;
mod number;
mod pause;
mod persist;
mod propagate;
mod pubsub;
mod rdb;
#[cfg(test)]
mod reference;
mod repl;
pub(crate) mod reply;
pub(crate) mod request;
mod script;
mod session;
mod shutdown;
pub(crate) mod state;
mod table;
mod tell;
mod tracking;
mod value;

pub use node::{ConnId, Effect, Node, NodeConfig, Parameters};
pub use persist::{DiskWrite, Files};
pub use session::Addresses;
