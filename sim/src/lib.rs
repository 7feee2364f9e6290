//! The deterministic world, and the Redis node that lives in it.
//!
//! Two halves that do not know each other: [`world`] simulates hosts, clocks and
//! a network in virtual time; [`redis`] is a Redis server as a pure state
//! machine, bytes and a time in, bytes out. [`serve`] puts the one into the other,
//! with a [`disk`] that survives it.

pub mod consensus;
pub mod database;
pub mod disk;
pub mod redis;
mod resp;
pub mod sentinel;
pub mod serve;
pub mod world;
