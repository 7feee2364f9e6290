//! Redis Sentinel as a state machine: bytes, times and link events go in, effects out.
//!
//! [`Sentinel`] is one `redis-sentinel` 7.0.15. It does no input or output, reads no clock
//! and has no network: its driver reports what happened on its links and connections, calls
//! it when a timer is due, and carries out the [`Effect`]s.
//!
//! `master` is the state of one monitored master, with its replicas and the other sentinels;
//! `instance` is the common part of these three kinds. `info` and `hello` process the reports
//! of instances, `election` is the agreement between sentinels, `failover` the work of the
//! elected one, `command` serves clients, `file` is the state that outlives the process. The
//! names of events, the periods and the order of steps are those of `src/sentinel.c`. Not
//! modelled: scripts and passwords.

mod command;
mod config;
mod core;
mod election;
mod failover;
mod file;
mod hello;
mod info;
mod instance;
mod link;
mod listing;
mod master;
mod server;
#[cfg(test)]
mod tests;

pub use self::config::{Address, Monitor, SentinelConfig, Uptime};
pub use self::core::{ConnId, Effect, LinkId, Notice};
pub use self::file::{SavedMaster, SentinelFile};
pub use self::server::Sentinel;
