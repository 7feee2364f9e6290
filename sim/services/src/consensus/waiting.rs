//! The clients that wait for an answer from a leader.

use bytes::Bytes;
use locklab_vecmap::VecMap;

use super::clients::ConnId;
use super::command::SessionId;
use super::raft::ReadPoint;
use super::request::Query;

/// Waiting requests: for an entry to be committed, a read to be confirmed, or a node to be
/// deleted.
#[derive(Default)]
pub(super) struct Waiting {
    /// By the index of the entry.
    pub(super) changes: VecMap<u64, ConnId>,
    /// In order of arrival, which is the order of their read points.
    pub(super) queries: Vec<(ConnId, ReadPoint, Query)>,
    pub(super) watches: Vec<Watch>,
}

/// A client that waits for a node to be deleted.
pub(super) struct Watch {
    pub(super) conn: ConnId,
    pub(super) session: SessionId,
    pub(super) path: Bytes,
}

impl Waiting {
    /// Removes the requests of a client that disconnected.
    pub(super) fn forget(&mut self, conn: ConnId) {
        self.changes.retain(|_, waiting| *waiting != conn);
        self.queries.retain(|(waiting, ..)| *waiting != conn);
        self.watches.retain(|watch| watch.conn != conn);
    }

    /// Removes and returns the watches for which `is_over` is true.
    pub(super) fn take_watches(&mut self, is_over: impl Fn(&Watch) -> bool) -> Vec<Watch> {
        let (over, others) = std::mem::take(&mut self.watches)
            .into_iter()
            .partition(is_over);
        self.watches = others;
        over
    }
}
