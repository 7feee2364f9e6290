//! Redis Sentinel as a state machine: bytes, times and link events go in, effects out.
//!
//! [`Sentinel`] is one `redis-sentinel` 7.0.15. It does no input or output, reads no
//! clock and knows no network: whoever drives it reports what happened on its links and
//! connections, calls it when it wants to be called, and carries out the [`Effect`]s.
//!
//! `master` is what a sentinel knows of one monitored master, with its replicas and the
//! other sentinels; `instance` is what these three kinds have in common; `info` and
//! `hello` take in what they say of themselves, `election` is how sentinels agree,
//! `failover` what the elected one does, `command` what clients may ask, `file` what
//! outlives the process. The names of the events, the periods and the order of things are
//! those of `src/sentinel.c`. Not modelled: scripts and passwords.

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

pub use self::config::{Address, Monitor, Past, SentinelConfig};
pub use self::core::{ConnId, Effect, LinkId, Notice};
pub use self::file::{SavedMaster, SentinelFile};
pub use self::server::Sentinel;
