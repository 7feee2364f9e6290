//! What runs on simulated hosts.
//!
//! [`serve`] drives Redis nodes and sentinels, which know nothing of the world, over its
//! TCP, with a [`disk`] that survives a process. Beside them there are the two services
//! that locks on Redis are compared with: [`consensus`] and [`database`].

pub mod consensus;
pub mod database;
pub mod disk;
pub mod serve;
