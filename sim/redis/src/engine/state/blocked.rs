//! Which clients are blocked, and what each of them waits for.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use bytes::Bytes;

use super::write_position::WritePosition;

/// The condition that a client waits for, and its timeout.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::engine) struct Blocked {
    pub(in crate::engine) on: On,
    /// The timeout: the wall clock is past this time, in milliseconds since the epoch.
    pub(in crate::engine) until_ms: Option<i64>,
}

/// The event that ends a client's wait.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::engine) enum On {
    /// One of these keys has a matching element.
    Keys(Vec<Bytes>, Want),
    /// This many replicas have acknowledged the stream up to this offset (WAIT).
    Replicas { replicas: i64, offset: u64 },
    /// The writes up to here are durable in the files of this many replicas, and in this many
    /// files of this server, which has one or none (WAITAOF).
    Files {
        local: i64,
        replicas: i64,
        written: WritePosition,
    },
    /// The server has shut down (SHUTDOWN).
    Shutdown,
}

/// The kind of element that a waiting client takes from a key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::engine) enum Want {
    /// An element, preceded by its key: the command that takes it.
    Element(&'static str),
    /// The lowest or the highest member of a sorted set, preceded by its key.
    Member(&'static str),
    /// An element moved to another list, with the arguments of LMOVE after the source.
    Move([Bytes; 3]),
    /// Several elements, preceded by their key: the command that takes them, and their maximum
    /// number.
    Several(&'static str, usize),
}

/// All blocked clients.
#[derive(Default)]
pub(in crate::engine) struct Waiting {
    pub(in crate::engine) clients: BTreeSet<u64>,
    /// The clients that wait for each key of each database, in the order of their arrival.
    pub(in crate::engine) keys: BTreeMap<(usize, Bytes), Vec<u64>>,
    /// Keys that have changed since, in order.
    pub(in crate::engine) ready: Vec<(usize, Bytes)>,
    /// Clients that are no longer blocked: their next requests are due.
    pub(in crate::engine) resumed: VecDeque<u64>,
}

impl Waiting {
    /// Whether no client is blocked.
    pub(in crate::engine) fn is_empty(&self) -> bool {
        self.clients.is_empty()
    }

    /// The number of blocked clients.
    pub(in crate::engine) fn len(&self) -> usize {
        self.clients.len()
    }

    /// Unblocks a client.
    pub(in crate::engine) fn forget(&mut self, client: u64) {
        if self.clients.remove(&client) {
            self.keys.retain(|_, waiters| {
                waiters.retain(|waiter| *waiter != client);
                !waiters.is_empty()
            });
        }
    }

    /// Marks a key of a database as changed (`signalKeyAsReady`).
    pub(in crate::engine) fn may_be_ready(&mut self, db: usize, key: &Bytes) {
        if self.keys.is_empty() {
            return;
        }
        let key = (db, key.clone());
        if self.keys.contains_key(&key) && !self.ready.contains(&key) {
            self.ready.push(key);
        }
    }

    /// Marks all awaited keys of a database as changed (`scanDatabaseForReadyKeys`).
    pub(in crate::engine) fn all_may_be_ready(&mut self, db: usize) {
        let awaited = self.keys.keys().filter(|(of, _)| *of == db);
        let awaited: Vec<Bytes> = awaited.map(|(_, key)| key.clone()).collect();
        for key in awaited {
            self.may_be_ready(db, &key);
        }
    }
}
