//! The keyspace: values, their expiry, and the clients that watch them.
//!
//! Expiry follows `src/db.c`: a key is expired from the millisecond after its deadline on. It
//! is deleted when a client accesses it, or when `active_expiry` finds it.

use std::collections::{BTreeMap, BTreeSet, btree_map};

use bytes::Bytes;

use super::effects::Effects;
use crate::store::changes::{Changes, Class};
use crate::store::value::{Limits, Value};

/// A key's value and its time to live.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) value: Value,
    /// When the key expires, in milliseconds since the Unix epoch.
    pub(crate) expires_at_ms: Option<i64>,
}

/// One database. A `BTreeMap` gives every iteration a defined order.
#[derive(Default)]
pub(crate) struct Db {
    keys: BTreeMap<Bytes, Entry>,
    /// The keys that have a time to live, ordered by deadline.
    deadlines: BTreeSet<(i64, Bytes)>,
    watched: BTreeMap<Bytes, Vec<Watcher>>,
    /// The number of keys deleted because they expired, for INFO.
    pub(crate) expired_keys: u64,
    /// The changes since the last command.
    pub(crate) changes: Changes,
    /// The effects to replicate and persist.
    pub(crate) effects: Effects,
    /// How expired keys are handled.
    pub(crate) overdue: Overdue,
    /// The limits of compact encodings.
    pub(crate) limits: Limits,
}

/// How a lookup handles an expired key.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub(crate) enum Overdue {
    /// Delete it: on a master.
    #[default]
    Delete,
    /// Keep it and report it missing: on a replica, which waits for the DEL of its master,
    /// and on a master during a pause.
    Hide,
    /// Keep it and find it: for commands from the master, and while a file is loaded.
    Keep,
}

/// A client that watches a key.
struct Watcher {
    client: u64,
    /// The key was expired but still there when the client watched it: its deletion does not
    /// count as a change. (`watchedKey.expired` of `src/multi.c`.)
    stale: bool,
    /// The key has changed since.
    dirty: bool,
}

impl Db {
    /// Looks a key up; deletes it first if it is expired.
    pub(crate) fn get(&mut self, key: &[u8], now_ms: i64) -> Option<&Entry> {
        match self.expire_if_needed(key, now_ms) {
            true => None,
            false => self.keys.get(key),
        }
    }

    /// Like [`Db::get`], for a change of the value in place. A caller that changed the value
    /// must call [`Db::touch`].
    pub(crate) fn get_mut(&mut self, key: &[u8], now_ms: i64) -> Option<&mut Value> {
        match self.expire_if_needed(key, now_ms) {
            true => None,
            false => self.keys.get_mut(key).map(|entry| &mut entry.value),
        }
    }

    /// Like [`Db::get_mut`], but creates the key if it is missing. An empty collection must
    /// not remain: see [`Db::changed`].
    pub(crate) fn get_or_insert(
        &mut self,
        key: &[u8],
        now_ms: i64,
        value: impl FnOnce() -> Value,
    ) -> &mut Value {
        if self.expire_if_needed(key, now_ms) {
            self.take(key);
        }
        match self.keys.entry(Bytes::copy_from_slice(key)) {
            btree_map::Entry::Occupied(entry) => &mut entry.into_mut().value,
            btree_map::Entry::Vacant(place) => {
                self.changes.event(Class::New, "new", key);
                let entry = place.insert(Entry {
                    value: value(),
                    expires_at_ms: None,
                });
                &mut entry.value
            }
        }
    }

    /// Records that a value changed in place. Deletes a collection that is now empty; returns
    /// whether it did.
    pub(crate) fn changed(&mut self, key: &[u8]) -> bool {
        let gone = self.remove_if_empty(key);
        self.touch(key);
        gone
    }

    /// Deletes an empty collection; returns whether it did. The caller must then call
    /// [`Db::touch`].
    pub(crate) fn remove_if_empty(&mut self, key: &[u8]) -> bool {
        let empty = self
            .keys
            .get(key)
            .is_some_and(|entry| entry.value.is_empty());
        if empty {
            self.take(key);
        }
        empty
    }

    /// Sets a key, whatever it held before.
    pub(crate) fn set(&mut self, key: &[u8], entry: Entry, now_ms: i64) {
        self.expire_if_needed(key, now_ms);
        match self.keys.get_mut(key) {
            Some(old) => {
                let (from, to) = (old.expires_at_ms, entry.expires_at_ms);
                *old = entry;
                self.move_deadline(key, from, to);
            }
            None => {
                self.load(Bytes::copy_from_slice(key), entry);
                self.changes.event(Class::New, "new", key);
            }
        }
        self.touch(key);
    }

    /// Sets or removes the deadline of an existing key, in milliseconds since the Unix epoch.
    /// The caller must call [`Db::touch`].
    pub(crate) fn set_expiry(&mut self, key: &[u8], to: Option<i64>) {
        if let Some(entry) = self.keys.get_mut(key) {
            let from = std::mem::replace(&mut entry.expires_at_ms, to);
            self.move_deadline(key, from, to);
        }
    }

    /// Deletes a key; returns its entry if it was there.
    pub(crate) fn remove(&mut self, key: &[u8], now_ms: i64) -> Option<Entry> {
        if self.expire_if_needed(key, now_ms) {
            return None;
        }
        let entry = self.take(key);
        if entry.is_some() {
            self.touch(key);
        }
        entry
    }

    /// Deletes all keys. Watchers of existing keys see a change.
    pub(crate) fn flush(&mut self) {
        let keys = std::mem::take(&mut self.keys);
        self.deadlines.clear();
        self.effects.dirty += 1;
        self.changes.flushed();
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
            .filter(move |(_, entry)| entry.expires_at_ms.is_none_or(|when| now_ms <= when))
    }

    /// Like [`Db::iter`], with expired keys.
    pub(crate) fn iter_all(&self) -> impl Iterator<Item = (&Bytes, &Entry)> {
        self.keys.iter()
    }

    /// The key at this index in the order of names, expired or not.
    pub(crate) fn nth(&self, index: usize) -> Option<&Bytes> {
        self.keys.keys().nth(index)
    }

    /// The number of keys, expired ones included (`DBSIZE`).
    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }

    /// The number of keys that have a time to live.
    pub(crate) fn volatile_len(&self) -> usize {
        self.deadlines.len()
    }

    /// Records that a command changed a key.
    pub(crate) fn touch(&mut self, key: &[u8]) {
        self.effects.dirty += 1;
        self.signal(key);
    }

    /// `signalModifiedKey`.
    fn signal(&mut self, key: &[u8]) {
        self.changes.modified(key);
        if self.watched.is_empty() {
            return;
        }
        let exists = self.keys.contains_key(key);
        for watcher in self.watched.get_mut(key).into_iter().flatten() {
            if watcher.stale && !exists {
                watcher.stale = false;
            } else {
                watcher.dirty = true;
            }
        }
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

    /// Whether a key has changed since this client watched it.
    pub(crate) fn changed_since_watch(&self, key: &[u8], client: u64, now_ms: i64) -> bool {
        self.watched
            .get(key)
            .into_iter()
            .flatten()
            .filter(|watcher| watcher.client == client)
            .any(|watcher| watcher.dirty || (!watcher.stale && self.is_expired(key, now_ms)))
    }

    /// `keyIsExpired`: strictly later than the deadline of the key.
    fn is_expired(&self, key: &[u8], now_ms: i64) -> bool {
        self.keys
            .get(key)
            .and_then(|entry| entry.expires_at_ms)
            .is_some_and(|when| now_ms > when)
    }

    /// Whether a lookup must treat a key as expired. If so, deletes it, unless this is a
    /// replica.
    pub(crate) fn expire_if_needed(&mut self, key: &[u8], now_ms: i64) -> bool {
        let expired = self.overdue != Overdue::Keep && self.is_expired(key, now_ms);
        if expired && self.overdue == Overdue::Delete {
            self.expire(key);
        }
        expired
    }

    /// Deletes every expired key, in the order of deadlines.
    pub(crate) fn expire_overdue(&mut self, now_ms: i64) {
        while let Some((when, key)) = self.deadlines.first()
            && now_ms > *when
        {
            let key = key.clone();
            self.expire(&key);
        }
    }

    /// The earliest deadline of a key, past or future, in milliseconds since the epoch.
    pub(crate) fn earliest_expiry_ms(&self) -> Option<i64> {
        self.deadlines.first().map(|(when, _)| *when)
    }

    /// Deletes a key because it expired.
    fn expire(&mut self, key: &[u8]) {
        self.take(key);
        self.expired_keys += 1;
        self.changes.event(Class::Expired, "expired", key);
        self.effects.expired(key);
        self.signal(key);
    }

    /// Inserts a key loaded from a file.
    pub(crate) fn load(&mut self, key: Bytes, entry: Entry) {
        self.take(&key);
        if let Some(when) = entry.expires_at_ms {
            self.deadlines.insert((when, key.clone()));
        }
        self.keys.insert(key, entry);
    }

    /// Removes a key without recording a change.
    fn take(&mut self, key: &[u8]) -> Option<Entry> {
        let (key, entry) = self.keys.remove_entry(key)?;
        if let Some(when) = entry.expires_at_ms {
            self.deadlines.remove(&(when, key));
        }
        Some(entry)
    }

    /// Replaces the deadline of a key.
    fn move_deadline(&mut self, key: &[u8], from: Option<i64>, to: Option<i64>) {
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
