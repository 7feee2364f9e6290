//! The deterministic world, and the servers that live in it.
//!
//! Two halves that do not know each other: [`world`] simulates hosts, clocks and
//! a network in virtual time; [`redis`] is a Redis server as a pure state
//! machine, bytes and a time in, bytes out. So are [`sentinel`], and the two services
//! that locks on Redis are compared with: [`consensus`] and [`database`]. [`serve`] puts
//! the one half into the other, with a [`disk`] that survives it.

pub mod consensus;
pub mod database;
pub mod disk;
mod plant;
pub mod redis;
mod resp;
pub mod sentinel;
pub mod serve;
pub mod world;

pub use plant::plant;
