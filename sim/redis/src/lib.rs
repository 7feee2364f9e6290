//! Redis 7.0 as a state machine: bytes and a time go in, bytes and effects come out.
//!
//! # The map
//!
//! | for | use |
//! |---|---|
//! | a test that needs a Redis | `Server` and `SentinelServer`, of the feature `server` |
//! | a driver of one's own, in a simulation or over real sockets | [`endpoint::Endpoint`], [`sentinel::Sentinel`] |
//! | the commands alone | [`Node`] |
//! | what a node starts with | [`Parameters`], [`Persistence`] |
//! | speaking to a server | [`resp`] |
//!
//! [`Node`] is one `redis-server`, of the version [`VERSION`] and with `databases 1`: master
//! or replica, with persistence if its driver lends it a disk. [`sentinel::Sentinel`] is one
//! `redis-sentinel`. Neither does input or output, and neither reads a clock: the driver
//! passes in what arrived and what the time is, and carries out the [`Effect`]s.
//!
//! ```
//! use locklab_redis::{Effect, Node, NodeConfig};
//!
//! let mut node = Node::new(NodeConfig::default());
//! let conn = node.accept();
//! let mut effects = Vec::new();
//! let wall_us = 1_000_000;
//! node.receive(conn, b"SET lock c1 NX PX 100\r\n", wall_us, &mut effects);
//! let bytes = "+OK\r\n".into();
//! assert_eq!(effects, [Effect::Send { conn, bytes }]);
//!
//! // The key has expired: the time is what the driver says.
//! effects.clear();
//! node.receive(conn, b"GET lock\r\n", wall_us + 101_000, &mut effects);
//! let bytes = "$-1\r\n".into();
//! assert_eq!(effects, [Effect::Send { conn, bytes }]);
//! ```
//!
//! # Inside
//!
//! | module | what it is, and what it may not know |
//! |---|---|
//! | `wire` | requests, replies and numbers as bytes; knows nothing of keys or commands |
//! | `store` | keys, values, times to live, and their snapshot (RDB); knows nothing of commands, clients or replicas |
//! | `engine` | the server: connections, commands, scripts, replication, persistence |
//! | [`endpoint`] | a node with its connections, for whoever drives it; knows nothing of commands |
//! | [`sentinel`] | Redis Sentinel; knows nothing of `store` and `engine` |
//! | `server` | nodes and sentinels on real ports, each on a thread: the one module that does input and output |
//! | [`resp`] | RESP for those who speak to a server, and for other servers that speak it |
//!
//! The way of a request: `engine::node` keeps the connections, `wire::request` cuts their
//! bytes into commands, `engine::dispatch` checks a command as `processCommand` does and
//! queues or calls it, `engine::table` says which function that is, `engine::cmd` holds
//! those functions, `store::db` is the keyspace they work on, `engine::script` is Lua, and
//! `wire::reply` writes the answer. What a command did to keys is told to others by
//! `engine::notify`, and what others have to do likewise by `engine::propagate`, to replicas
//! (`engine::repl`) and to the disk (`engine::persist`). Source files named in comments
//! (`src/db.c`) are Redis's.

#![cfg_attr(
    not(feature = "lua"),
    allow(
        dead_code,
        reason = "scripts alone use it; with the feature the lint holds"
    )
)]

pub mod endpoint;
mod engine;
mod glob;
pub mod resp;
pub mod sentinel;
#[cfg(feature = "server")]
pub mod server;
mod store;
mod wire;

pub use engine::{
    Addresses, ConnId, DiskWrite, Effect, Files, Fsync, Node, NodeConfig, ParameterError,
    Parameters, Persistence, SnapshotRule,
};

#[cfg(feature = "server")]
pub use server::{SentinelServer, Server};

/// The Redis that the node is like in whatever can be seen of it.
pub const VERSION: &str = "7.0.15";

/// The example there is compiled and run.
#[cfg(all(doctest, feature = "server"))]
#[doc = include_str!("../README.md")]
struct Readme;
