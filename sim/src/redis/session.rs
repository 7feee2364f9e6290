//! What the server keeps for one connection.

use bytes::Bytes;

use super::db::Db;

/// A client's state between two of its commands.
#[derive(Default)]
pub(super) struct Session {
    /// Its connection's number, which `CLIENT ID` answers.
    pub(super) id: u64,
    /// What `CLIENT SETNAME` set; empty when nothing did.
    pub(super) name: Bytes,
    /// The transaction between MULTI and EXEC.
    pub(super) transaction: Option<Transaction>,
    /// The keys that WATCH named.
    pub(super) watched: Vec<Bytes>,
    /// The connection ends after the replies so far.
    pub(super) closing: bool,
}

/// The commands between MULTI and EXEC.
#[derive(Default)]
pub(super) struct Transaction {
    pub(super) queue: Vec<Vec<Bytes>>,
    /// A command was refused when it should have been queued, so EXEC will refuse
    /// them all.
    pub(super) refused: bool,
}

impl Session {
    pub(super) fn new(id: u64) -> Self {
        Session {
            id,
            ..Session::default()
        }
    }

    /// `unwatchAllKeys`.
    pub(super) fn unwatch(&mut self, db: &mut Db) {
        for key in self.watched.drain(..) {
            db.unwatch(&key, self.id);
        }
    }

    /// Back to what a new connection is (RESET, or the connection's end).
    pub(super) fn reset(&mut self, db: &mut Db) {
        self.unwatch(db);
        *self = Session {
            id: self.id,
            closing: self.closing,
            ..Session::default()
        };
    }
}
