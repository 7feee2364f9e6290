//! Redis Sentinel as a state machine: bytes, times and link events go in, effects out.
//!
//! [`Sentinel`] is one `redis-sentinel` 7.0.15. It does no input or output, reads no clock
//! and has no network: its driver reports what happened on its links and connections, calls
//! it when a timer is due, and carries out the [`Effect`]s.
//!
//! The modules form layers; each depends only on those below it:
//!
//! - `config` is what a sentinel starts with: the settings of masters (`monitor`), or the state that
//!   outlived its process (`file`). `effect` is what it asks of its driver.
//! - `core` is its identity, the time and the pending effects. `link` is a connection to a server,
//!   and `instance` the common part of masters, replicas and other sentinels. `master` is the state
//!   of one monitored master, with its replicas, the other sentinels and a failover; `state` is all
//!   of it.
//! - `info` and `hello` process the reports of instances, `election` is the agreement between
//!   sentinels, `failover` the work of the elected one, `timer` what is done periodically, and
//!   `persist` writes the file and goes on from it after a restart.
//! - `replies` brings what arrives on links to these, and `command` serves clients, with the lists
//!   of `listing`, the settings of `settings`, and what `about` says of the sentinel itself;
//!   `command_table` has all commands.
//! - `server` is the sentinel as its driver sees it.
//!
//! The names of events, the periods and the order of steps are those of `src/sentinel.c`. Not
//! modelled: scripts and passwords.

mod about;
mod address;
mod command;
pub(crate) mod command_table;
mod config;
mod core;
mod effect;
mod election;
mod failover;
mod file;
mod hello;
mod info;
mod instance;
mod link;
mod listing;
mod master;
mod monitor;
mod persist;
mod replies;
mod server;
mod settings;
mod state;
#[cfg(test)]
mod tests;
mod timer;

pub use self::address::Address;
pub use self::config::{SentinelConfig, Uptime};
pub use self::effect::{ConnId, Effect, LinkId, Notice};
pub use self::file::{SavedMaster, SentinelFile};
pub use self::monitor::Monitor;
pub use self::server::Sentinel;
