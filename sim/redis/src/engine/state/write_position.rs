//! The position of a server in its writes.

/// A position in the writes of a server. Clients wait until replicas or the disk have reached it.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub(in crate::engine) struct WritePosition {
    /// The end of the replication stream (`woff`), which replicas acknowledge.
    pub(in crate::engine) offset: u64,
    /// The changes so far (`Effects::dirty`), for the server's own file: without replicas there
    /// is no stream.
    pub(in crate::engine) changes: u64,
}
