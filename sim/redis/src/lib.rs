//! Redis 7.0 as a state machine: bytes and a time go in, bytes and effects come out.
//!
//! # The map
//!
//! | for | use |
//! |---|---|
//! | a test that needs a Redis | `Server` and `SentinelServer`, of the feature `server` |
//! | a custom driver, in a simulation or over real sockets | [`endpoint::Endpoint`], [`sentinel::Sentinel`] |
//! | the commands alone | [`Node`] |
//! | the initial state of a node | [`Parameters`], [`Persistence`] |
//! | a client of a server | [`resp`] |
//!
//! [`Node`] is one `redis-server`, of the version [`VERSION`]: master or replica, with
//! persistence if its driver provides a disk. With [`Imitated`] it has the commands of later servers
//! that release a lock. [`sentinel::Sentinel`] is one `redis-sentinel`.
//! Neither does input or output or reads a clock: the driver passes in the
//! received bytes and the time, and carries out the [`Effect`]s.
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
//! | module | purpose, and what it must not depend on |
//! |---|---|
//! | `wire` | requests, replies and numbers as bytes; independent of keys and commands |
//! | `store` | keys, values, times to live, and their snapshot (RDB); independent of commands, clients and replicas |
//! | `engine` | the server: connections, commands, scripts, replication, persistence |
//! | [`endpoint`] | a node with its connections, for any driver; independent of commands |
//! | [`sentinel`] | Redis Sentinel; independent of `store` and `engine` |
//! | [`lines`] | the connections of a sentinel, for any driver; independent of what is sent |
//! | `server` | nodes and sentinels on real ports, each on a thread: the one module that does input and output |
//! | [`resp`] | RESP for clients, and for other servers that use it |
//!
//! The path of a request: `engine::node` keeps the connections, `wire::request` splits their
//! bytes into commands, `engine::dispatch` checks a command as `processCommand` does and
//! queues or calls it, `engine::table` maps it to its function, `engine::cmd` holds those
//! functions, `store::db` is the keyspace, `engine::script` is Lua, and `wire::reply` encodes
//! the reply. `engine::notify` notifies observers of changes to keys, and `engine::propagate`
//! passes the command's effects to replicas (`engine::repl`) and to the disk
//! (`engine::persist`). Source files named in comments (`src/db.c`) are those of Redis.
//!
//! The databases are a list of keyspaces of which one is selected: that of the client whose command
//! runs. `Db` stands for it, so a command function does not ask in which database it works.
//!
//! Commands change the keyspace and know nothing of replicas or files. `propagate.rs` records the effect
//! of each command (the request itself, or what `Call::propagate_as` says) and hands it, at the end of
//! the request, to `repl` and `persist`. A replica and the append-only file therefore receive the same
//! commands, and a test that follows a real master compares both with what Redis propagates. A node asks
//! its driver for a connection (`Effect::Connect`) and for writes (`Effect::Disk`) just as it asks it to
//! send bytes.
//!
//! The configuration file is part of the disk. CONFIG REWRITE makes the node write it
//! (`DiskWrite::Config`), and `serve::run` starts the next process with it instead of the scenario's
//! settings. A promoted replica therefore stays a master if the promotion was written, which Sentinel
//! ensures. A sentinel's own file is `sentinel/file.rs`; it is written before the sentinel sends
//! anything.
//!
//! CLIENT PAUSE, FAILOVER (`repl/handover.rs`) and a SHUTDOWN that waits for replicas (`shutdown.rs`)
//! all hold writes back, and `State::paused` says whether one of them does. Their conditions are checked
//! where Redis checks them: in the ticks of `serverCron`, or when a replica acknowledges.
//!
//! Expired keys are found by an index of deadlines. In the world a node asks to be woken for them only
//! if a client would be notified (`next_wake_us`), because a timer for each lease costs a run more than
//! the lease does; a long-lived served node asks for all of them (`next_expiry_us`).

pub mod endpoint;
mod engine;
mod glob;
mod imitated;
pub mod lines;
pub mod resp;
pub mod sentinel;
#[cfg(feature = "server")]
pub mod server;
mod store;
mod wire;

pub use engine::{
    Addresses, Arrival, ConnId, DiskWrite, Effect, EvictionPolicy, ExtensionReply, Files, Fsync,
    InputSize, Key, Node, NodeConfig, OtherClients, ParameterError, Parameters, Persistence,
    SnapshotRule, unit_of_memory,
};
pub use imitated::{Imitated, UnknownServer};

#[cfg(feature = "server")]
pub use server::{SentinelServer, Server};

/// The Redis version whose observable behaviour the node reproduces, unless it is to imitate another
/// server ([`NodeConfig::imitated`]).
pub const VERSION: &str = "7.0.15";

/// The README's example is compiled and run.
#[cfg(all(doctest, feature = "server"))]
#[doc = include_str!("../README.md")]
struct Readme;
