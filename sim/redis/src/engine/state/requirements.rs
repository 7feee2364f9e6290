//! The requirements of a request.

use std::ops::BitOr;

/// The requirements of a request.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
pub(in crate::engine) struct Requirements {
    /// It may change the keyspace.
    pub(in crate::engine) writes: bool,
    /// It does not work on a replica without its master.
    pub(in crate::engine) fresh_data: bool,
    /// It may change the keyspace, or send something to replicas: `CMD_WRITE |
    /// CMD_MAY_REPLICATE`.
    pub(in crate::engine) replicates: bool,
    /// It reads the keyspace, and nothing else.
    pub(in crate::engine) reads: bool,
    /// It may need memory: it is refused when memory is short.
    pub(in crate::engine) memory: bool,
}

impl Requirements {
    /// Whether it uses the keyspace in any way.
    pub(in crate::engine) fn touches_keyspace(self) -> bool {
        self.replicates || self.reads
    }
}

impl BitOr for Requirements {
    type Output = Requirements;

    fn bitor(self, other: Requirements) -> Requirements {
        Requirements {
            writes: self.writes || other.writes,
            fresh_data: self.fresh_data || other.fresh_data,
            replicates: self.replicates || other.replicates,
            reads: self.reads || other.reads,
            memory: self.memory || other.memory,
        }
    }
}
