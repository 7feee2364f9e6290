//! CLIENT PAUSE: whose requests are deferred, and until when.

/// A pause started by CLIENT PAUSE.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(in crate::engine) struct Pause {
    /// The end, by the node's wall clock in milliseconds since the epoch.
    pub(in crate::engine) until_ms: i64,
    pub(in crate::engine) whom: Whom,
}

/// The requests that are deferred.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(in crate::engine) enum Whom {
    /// Requests that may change data, or may be replicated.
    Writers,
    All,
}
