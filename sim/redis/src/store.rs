//! The data of a server: keys, their values and times to live, and the format of both in a
//! snapshot.
//!
//! The store has no dependency on commands, clients or replicas. Changes to keys are recorded
//! (`changes`, `effects`) for other modules to pass on.

pub(crate) mod changes;
pub(crate) mod db;
pub(crate) mod effects;
pub(crate) mod keyspace;
pub(crate) mod memory;
pub(crate) mod rdb;
pub(crate) mod usage;
pub(crate) mod value;
