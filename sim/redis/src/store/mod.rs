//! What a server keeps: keys, their values and times to live, and the form of both in a
//! snapshot.
//!
//! It knows nothing of commands, of clients or of replicas. What happens to keys is noted
//! (`changes`, `effects`), for whoever passes it on.

pub(crate) mod changes;
pub(crate) mod db;
pub(crate) mod dump;
pub(crate) mod effects;
pub(crate) mod rdb;
pub(crate) mod value;
