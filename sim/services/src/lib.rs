//! The services that run on simulated hosts.
//!
//! [`serve`] runs Redis nodes and sentinels, which do not depend on the world, over the world's
//! TCP, with a [`disk`] that survives the process. There are also two services as baselines for
//! locks on Redis: [`consensus`] and [`database`].

pub mod consensus;
pub mod database;
pub mod disk;
pub mod serve;
