//! Whom a leader owes an answer.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::command::SessionId;
use super::member::ConnId;
use super::raft::ReadPoint;
use super::request::Query;

/// Requests that wait: for an entry to be committed, for a read to be confirmed, for a
/// node to be gone.
#[derive(Default)]
pub(super) struct Waiting {
    /// By the index of the entry.
    pub(super) changes: BTreeMap<u64, ConnId>,
    /// In the order in which they came, which is that of their read points.
    pub(super) queries: Vec<(ConnId, ReadPoint, Query)>,
    pub(super) watches: Vec<Watch>,
}

/// Somebody waits for a node to be gone.
pub(super) struct Watch {
    pub(super) conn: ConnId,
    pub(super) session: SessionId,
    pub(super) path: Bytes,
}

impl Waiting {
    /// A client went away.
    pub(super) fn forget(&mut self, conn: ConnId) {
        self.changes.retain(|_, waiting| *waiting != conn);
        self.queries.retain(|(waiting, ..)| *waiting != conn);
        self.watches.retain(|watch| watch.conn != conn);
    }

    /// The watches for which that is so.
    pub(super) fn take_watches(&mut self, is_over: impl Fn(&Watch) -> bool) -> Vec<Watch> {
        let (over, others) = std::mem::take(&mut self.watches)
            .into_iter()
            .partition(is_over);
        self.watches = others;
        over
    }
}
