//! What happened to keys, for those who want to know: keyspace notifications,
//! client-side caches, clients that wait for a key.
//!
//! The keyspace writes it down here as it happens, if anybody listens at all, and
//! `engine::notify` passes it on when the command is done. So a command
//! function knows nothing of who listens.

use bytes::Bytes;

/// A class of events, as `notify-keyspace-events` has a letter for each
/// (`src/notify.c`).
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Class {
    /// `g`: DEL, EXPIRE, RENAME, whatever the value.
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
    /// `x`: a key's time was over, and it was deleted.
    Expired,
    /// `n`: a key that was not there is. Not in `A`.
    New,
}

impl Class {
    /// Each class with its letter.
    pub(crate) const LETTERS: [(Class, char); 8] = [
        (Class::Generic, 'g'),
        (Class::String, '$'),
        (Class::List, 'l'),
        (Class::Set, 's'),
        (Class::Hash, 'h'),
        (Class::SortedSet, 'z'),
        (Class::Expired, 'x'),
        (Class::New, 'n'),
    ];
}

/// One thing that happened to a key, or to all of them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Change {
    /// `signalModifiedKey`: the value, or the time to live, is another one.
    Modified(Bytes),
    /// `notifyKeyspaceEvent`.
    Event {
        class: Class,
        event: &'static str,
        key: Bytes,
    },
    /// FLUSHALL.
    Flushed,
}

/// The changes since they were last passed on.
#[derive(Default)]
pub(crate) struct Changes {
    /// Whether anybody wants to know. While nobody does, nothing is kept.
    pub(crate) wanted: bool,
    log: Vec<Change>,
    /// How many of them come before the reply, if the command said so.
    before_reply: Option<usize>,
}

impl Changes {
    /// `signalModifiedKey`.
    pub(crate) fn modified(&mut self, key: &[u8]) {
        if self.wanted {
            self.log.push(Change::Modified(Bytes::copy_from_slice(key)));
        }
    }

    /// `notifyKeyspaceEvent`: `event` happened to `key`.
    pub(crate) fn event(&mut self, class: Class, event: &'static str, key: &[u8]) {
        if self.wanted {
            let key = Bytes::copy_from_slice(key);
            self.log.push(Change::Event { class, event, key });
        }
    }

    /// Every key was deleted.
    pub(crate) fn flushed(&mut self) {
        if self.wanted {
            self.log.push(Change::Flushed);
        }
    }

    /// What happened so far comes before the reply, what happens from here on after it.
    pub(crate) fn reply_goes_here(&mut self) {
        if self.wanted {
            self.before_reply = Some(self.log.len());
        }
    }

    /// Whether there is nothing to pass on.
    pub(crate) fn is_empty(&self) -> bool {
        self.log.is_empty() && self.before_reply.is_none()
    }

    /// Takes what comes before the reply, in order: everything, unless the command said
    /// where the reply goes.
    pub(crate) fn take_before_reply(&mut self) -> Vec<Change> {
        match self.before_reply.take() {
            Some(count) => self.log.drain(..count).collect(),
            None => self.take(),
        }
    }

    /// Takes what happened, in order.
    pub(crate) fn take(&mut self) -> Vec<Change> {
        self.before_reply = None;
        std::mem::take(&mut self.log)
    }
}
