//! One database: its keys, their values and times to live, and the clients that watch them.
//!
//! Changes are not recorded here; `db` does that.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;

use super::memory;
use super::usage::Usage;
use super::value::Value;

/// A key's value and its time to live.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) value: Value,
    /// When the key expires, in milliseconds since the Unix epoch.
    pub(crate) expires_at_ms: Option<i64>,
    pub(crate) usage: Usage,
    /// The memory that was counted for it.
    pub(super) bytes: usize,
}

/// One database. A `BTreeMap` gives every iteration a defined order.
#[derive(Default)]
pub(crate) struct Keyspace {
    pub(super) keys: BTreeMap<Bytes, Entry>,
    /// The keys that have a time to live, ordered by deadline.
    pub(super) deadlines: BTreeSet<(i64, Bytes)>,
    pub(super) watched: BTreeMap<Bytes, Vec<Watcher>>,
    /// The memory of all keys, if it is counted.
    pub(super) bytes: usize,
}

/// A client that watches a key.
pub(super) struct Watcher {
    pub(super) client: u64,
    /// The key was expired but still there when the client watched it: its deletion does not
    /// count as a change. (`watchedKey.expired` of `src/multi.c`.)
    pub(super) stale: bool,
    /// The key has changed since.
    pub(super) dirty: bool,
}

impl Keyspace {
    /// Deletes all keys.
    pub(super) fn clear(&mut self) {
        let keys = std::mem::take(&mut self.keys);
        self.deadlines.clear();
        self.bytes = 0;
        for (key, watchers) in &mut self.watched {
            let existed = keys.contains_key(key);
            for watcher in watchers {
                // A key that was expired when watched is only deleted now.
                watcher.dirty |= existed && !watcher.stale;
                watcher.stale = false;
            }
        }
    }

    /// The keys and their values, ordered by name, without expired keys.
    pub(crate) fn iter(&self, now_ms: i64) -> impl Iterator<Item = (&Bytes, &Entry)> {
        self.keys
            .iter()
            .filter(move |(_, entry)| !entry.is_expired(now_ms))
    }

    /// Like [`Keyspace::iter`], with expired keys.
    pub(crate) fn iter_all(&self) -> impl Iterator<Item = (&Bytes, &Entry)> {
        self.keys.iter()
    }

    /// The key at this index in the order of names, expired or not.
    pub(crate) fn nth(&self, index: usize) -> Option<&Bytes> {
        self.keys.keys().nth(index)
    }

    /// Like [`Keyspace::nth`], of the keys that have a time to live, in the order of deadlines.
    pub(crate) fn nth_volatile(&self, index: usize) -> Option<&Bytes> {
        self.deadlines.iter().nth(index).map(|(_, key)| key)
    }

    /// A key's entry, as it is.
    pub(crate) fn entry(&self, key: &[u8]) -> Option<&Entry> {
        self.keys.get(key)
    }

    /// Counts the memory of a key that has changed.
    pub(super) fn count(&mut self, key: &[u8]) {
        if let Some(entry) = self.keys.get_mut(key) {
            let bytes = entry.measure(key);
            self.bytes = self.bytes - entry.bytes + bytes;
            entry.bytes = bytes;
        }
    }

    /// Counts the memory of every key.
    pub(super) fn count_all(&mut self) {
        for (key, entry) in &mut self.keys {
            entry.bytes = entry.measure(key);
        }
        self.bytes = self.keys.values().map(|entry| entry.bytes).sum();
    }

    /// Measures the memory of all keys.
    pub(super) fn measure(&self) -> usize {
        let keys = self.keys.iter();
        keys.map(|(key, entry)| entry.measure(key)).sum()
    }

    /// The number of keys, expired ones included (`DBSIZE`).
    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }

    /// The number of keys that have a time to live.
    pub(crate) fn volatile_len(&self) -> usize {
        self.deadlines.len()
    }

    /// Starts to watch a key for a client. Returns whether the watch is new.
    pub(crate) fn watch(&mut self, key: &[u8], client: u64, now_ms: i64) -> bool {
        let stale = self.is_expired(key, now_ms);
        let watchers = self.watched.entry(Bytes::copy_from_slice(key)).or_default();
        let new = watchers.iter().all(|watcher| watcher.client != client);
        if new {
            watchers.push(Watcher {
                client,
                stale,
                dirty: false,
            });
        }
        new
    }

    /// Stops watching a key for a client.
    pub(crate) fn unwatch(&mut self, key: &[u8], client: u64) {
        if let Some(watchers) = self.watched.get_mut(key) {
            watchers.retain(|watcher| watcher.client != client);
            if watchers.is_empty() {
                self.watched.remove(key);
            }
        }
    }

    /// Whether a key has changed since this client watched it, also by an expiry that no command
    /// has found.
    pub(crate) fn changed_since_watch(&self, key: &[u8], client: u64, now_ms: i64) -> bool {
        let mut watches = self.watches(key, client);
        watches.any(|watcher| watcher.dirty || (!watcher.stale && self.is_expired(key, now_ms)))
    }

    /// Whether a command has changed a key since this client watched it.
    pub(crate) fn touched_since_watch(&self, key: &[u8], client: u64) -> bool {
        self.watches(key, client).any(|watcher| watcher.dirty)
    }

    fn watches(&self, key: &[u8], client: u64) -> impl Iterator<Item = &Watcher> {
        let watchers = self.watched.get(key).into_iter().flatten();
        watchers.filter(move |watcher| watcher.client == client)
    }

    pub(super) fn is_expired(&self, key: &[u8], now_ms: i64) -> bool {
        self.keys
            .get(key)
            .is_some_and(|entry| entry.is_expired(now_ms))
    }

    /// Removes a key without recording a change.
    pub(super) fn take(&mut self, key: &[u8]) -> Option<Entry> {
        let (key, entry) = self.keys.remove_entry(key)?;
        if let Some(when) = entry.expires_at_ms {
            self.deadlines.remove(&(when, key));
        }
        self.bytes -= entry.bytes;
        Some(entry)
    }

    /// Replaces the deadline of a key.
    pub(super) fn move_deadline(&mut self, key: &[u8], from: Option<i64>, to: Option<i64>) {
        if from == to {
            return;
        }
        let Some((key, _)) = self.keys.get_key_value(key) else {
            return;
        };
        if let Some(when) = from {
            self.deadlines.remove(&(when, key.clone()));
        }
        if let Some(when) = to {
            self.deadlines.insert((when, key.clone()));
        }
    }
}

impl Entry {
    /// An entry that has not been accessed yet.
    pub(crate) fn new(value: Value, expires_at_ms: Option<i64>) -> Self {
        Entry {
            value,
            expires_at_ms,
            usage: Usage::default(),
            bytes: 0,
        }
    }

    /// About the memory that it takes, with its key.
    fn measure(&self, key: &[u8]) -> usize {
        memory::with_places(key, &self.value, self.expires_at_ms.is_some())
    }

    /// `keyIsExpired`: strictly later than the deadline.
    pub(super) fn is_expired(&self, now_ms: i64) -> bool {
        self.expires_at_ms.is_some_and(|when| now_ms > when)
    }
}
