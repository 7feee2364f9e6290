//! The services that run on simulated hosts.
//!
//! [`serve`] runs Redis nodes and sentinels, which do not depend on the world, over the world's
//! TCP, with a [`disk`] that survives the process. There are also two services as baselines for
//! locks on Redis: [`consensus`] and [`database`].
//!
//! The coordination service and the database keep a journal in the same file, and sync it before every
//! answer that depends on it: for them a crash is a restart.
//!
//! A restarted process waits for `restart_delay_ms` by its host's *wall* clock, because only a clock of
//! day can tell a process how long it was down. K12 is about exactly this.

pub mod consensus;
pub mod database;
pub mod disk;
pub mod serve;
