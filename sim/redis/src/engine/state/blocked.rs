//! Which clients are blocked, and what each of them waits for.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use indexmap::IndexSet;
use locklab_vecmap::{VecMap, VecSet};
use rustc_hash::FxBuildHasher;

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
    /// An element moved to another list, with the arguments of LMOVE after the source.
    Move([Bytes; 3]),
    /// The last element moved to the start of this list.
    Rotate(Bytes),
}

/// All blocked clients. Whoever blocks, ends a wait or serves a key looks at the clients and keys that
/// this concerns, and not at all of them.
#[derive(Default)]
pub(in crate::engine) struct Waiting {
    /// What each blocked client waits for.
    clients: VecMap<u64, Wait>,
    /// The clients that wait for each key of each database, by the numbers of their waits: in the
    /// order of their arrival.
    keys: BTreeMap<Place, VecMap<u64, u64>>,
    /// The clients that do not wait for keys, by the numbers of their waits.
    without_keys: VecMap<u64, u64>,
    /// The timeouts, each with its client.
    timeouts: VecSet<(i64, u64)>,
    /// The number of waits so far.
    count: u64,
    /// Keys that have changed since, in order.
    ready: IndexSet<Place, FxBuildHasher>,
    /// The clients whose requests a pause defers, in the order in which these arrived; perhaps some that are gone.
    pub(in crate::engine) postponed: Vec<u64>,
    /// Clients that are no longer blocked: their next requests are due.
    pub(in crate::engine) resumed: VecDeque<u64>,
    /// How many clients were looked at in lists of keys, for tests of the cost.
    pub(in crate::engine) looks: u64,
}

/// A key, with the number of its database.
pub(in crate::engine) type Place = (usize, Bytes);

/// The wait of a client.
struct Wait {
    number: u64,
    places: Vec<Place>,
    until_ms: Option<i64>,
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

    /// The blocked clients.
    pub(in crate::engine) fn clients(&self) -> impl Iterator<Item = u64> {
        self.clients.keys().copied()
    }

    /// The blocked clients that do not wait for keys, the latest first.
    pub(in crate::engine) fn clients_without_keys(&self) -> impl Iterator<Item = u64> {
        self.without_keys.values().rev().copied()
    }

    /// Blocks a client of this database.
    pub(in crate::engine) fn add(&mut self, client: u64, db: usize, blocked: &Blocked) {
        self.count += 1;
        let number = self.count;
        let places: Vec<Place> = match &blocked.on {
            On::Keys(keys, _) => keys.iter().map(|key| (db, key.clone())).collect(),
            On::Replicas { .. } | On::Files { .. } | On::Shutdown => {
                self.without_keys.insert(number, client);
                Vec::new()
            }
        };
        for place in &places {
            let waiters = self.keys.entry(place.clone()).or_default();
            waiters.insert(number, client);
        }
        if let Some(until_ms) = blocked.until_ms {
            self.timeouts.insert((until_ms, client));
        }
        let wait = Wait {
            number,
            places,
            until_ms: blocked.until_ms,
        };
        self.clients.insert(client, wait);
    }

    /// Unblocks a client.
    pub(in crate::engine) fn forget(&mut self, client: u64) {
        let Some(wait) = self.clients.remove(&client) else {
            return;
        };
        self.without_keys.remove(&wait.number);
        if let Some(until_ms) = wait.until_ms {
            self.timeouts.remove(&(until_ms, client));
        }
        for place in &wait.places {
            self.looks += 1;
            if let Some(waiters) = self.keys.get_mut(place) {
                waiters.remove(&wait.number);
                if waiters.is_empty() {
                    self.keys.remove(place);
                }
            }
        }
    }

    /// The number of the last wait for a key, if there is any.
    pub(in crate::engine) fn last(&self, place: &Place) -> Option<u64> {
        let (number, _) = self.keys.get(place)?.last_key_value()?;
        Some(*number)
    }

    /// The next wait for a key after that with this number: its number, and its client.
    pub(in crate::engine) fn next(&mut self, place: &Place, after: u64) -> Option<(u64, u64)> {
        self.looks += 1;
        let mut later = self.keys.get(place)?.range(after + 1..);
        later.next().map(|(number, client)| (*number, *client))
    }

    /// The earliest timeout, in milliseconds since the epoch, and its client.
    pub(in crate::engine) fn next_timeout(&self) -> Option<(i64, u64)> {
        self.timeouts.first().copied()
    }

    /// Marks a key of a database as changed (`signalKeyAsReady`).
    pub(in crate::engine) fn may_be_ready(&mut self, db: usize, key: &Bytes) {
        if self.keys.is_empty() {
            return;
        }
        let place = (db, key.clone());
        if self.keys.contains_key(&place) {
            self.ready.insert(place);
        }
    }

    /// Whether keys have changed that clients wait for.
    pub(in crate::engine) fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Takes the changed keys.
    pub(in crate::engine) fn take_ready(&mut self) -> impl Iterator<Item = Place> + use<> {
        std::mem::take(&mut self.ready).into_iter()
    }
}
