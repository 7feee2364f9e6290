//! Changes to keys, for their consumers: keyspace notifications, client-side caches, clients
//! that wait for a key.
//!
//! The keyspace records changes here as they happen, if there is a consumer, and
//! `engine::notify` passes them on when the command is done. So command functions do not
//! depend on the consumers.

use bytes::Bytes;

/// A class of events, one for each letter of `notify-keyspace-events` (`src/notify.c`).
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Class {
    /// `g`: DEL, EXPIRE, PERSIST, for every type of value.
    Generic,
    /// `$`.
    String,
    /// `l`.
    List,
    /// `s`.
    Set,
    /// `h`.
    Hash,
    /// `z`.
    SortedSet,
    /// `x`: a key expired and was deleted.
    Expired,
    /// `e`: a key was deleted because memory was short.
    Evicted,
    /// `n`: a key was created. Not in `A`.
    New,
}

impl Class {
    /// Each class and its letter.
    pub(crate) const LETTERS: [(Class, char); 9] = [
        (Class::Generic, 'g'),
        (Class::String, '$'),
        (Class::List, 'l'),
        (Class::Set, 's'),
        (Class::Hash, 'h'),
        (Class::SortedSet, 'z'),
        (Class::Expired, 'x'),
        (Class::Evicted, 'e'),
        (Class::New, 'n'),
    ];
}

/// One change to a key, or to all keys.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Change {
    /// `signalModifiedKey`: the value or the time to live changed.
    Modified(Bytes),
    /// `notifyKeyspaceEvent`.
    Event {
        /// The number of the key's database.
        db: usize,
        class: Class,
        event: &'static str,
        key: Bytes,
    },
    /// FLUSHALL, FLUSHDB.
    Flushed,
}

/// The changes since they were last passed on.
#[derive(Default)]
pub(crate) struct Changes {
    /// Whether there is a consumer. Without one, no changes are kept.
    pub(crate) wanted: bool,
    log: Vec<Change>,
    /// The number of changes that come before the reply, if the command set it.
    before_reply: Option<usize>,
}

impl Changes {
    /// `signalModifiedKey`.
    pub(crate) fn modified(&mut self, key: &[u8]) {
        if self.wanted {
            self.log.push(Change::Modified(Bytes::copy_from_slice(key)));
        }
    }

    /// `notifyKeyspaceEvent`: `event` happened to `key` of this database.
    pub(crate) fn event(&mut self, db: usize, class: Class, event: &'static str, key: &[u8]) {
        if self.wanted {
            let key = Bytes::copy_from_slice(key);
            self.log.push(Change::Event {
                db,
                class,
                event,
                key,
            });
        }
    }

    /// Every key of a database, or of all, was deleted.
    pub(crate) fn flushed(&mut self) {
        if self.wanted {
            self.log.push(Change::Flushed);
        }
    }

    /// Marks the position of the reply: earlier changes come before it, later ones after it.
    pub(crate) fn reply_goes_here(&mut self) {
        if self.wanted {
            self.before_reply = Some(self.log.len());
        }
    }

    /// Whether there is nothing to pass on.
    pub(crate) fn is_empty(&self) -> bool {
        self.log.is_empty() && self.before_reply.is_none()
    }

    /// Takes the changes that come before the reply, in order: all of them, unless the
    /// command marked the position of the reply.
    pub(crate) fn take_before_reply(&mut self) -> Vec<Change> {
        match self.before_reply.take() {
            Some(count) => self.log.drain(..count).collect(),
            None => self.take(),
        }
    }

    /// Takes the changes, in order.
    pub(crate) fn take(&mut self) -> Vec<Change> {
        self.before_reply = None;
        std::mem::take(&mut self.log)
    }
}
