//! The databases: values, their expiry, and the clients that watch them.
//!
//! One database is selected, and all but a few functions concern that one. A command runs in the
//! database of its client, which was selected for it.
//!
//! Expiry follows `src/db.c`: a key is expired from the millisecond after its deadline on. It
//! is deleted when a client accesses it, or when `active_expiry` finds it.

use std::collections::{BTreeMap, BTreeSet, btree_map};
use std::ops::{Deref, DerefMut};

use bytes::Bytes;

use super::effects::Effects;
use crate::store::changes::{Changes, Class};
use crate::store::memory;
use crate::store::usage::Usage;
use crate::store::value::{Limits, Value};

/// A key's value and its time to live.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) value: Value,
    /// When the key expires, in milliseconds since the Unix epoch.
    pub(crate) expires_at_ms: Option<i64>,
    pub(crate) usage: Usage,
    /// The memory that was counted for it.
    bytes: usize,
}

/// One database. A `BTreeMap` gives every iteration a defined order.
#[derive(Default)]
pub(crate) struct Keyspace {
    keys: BTreeMap<Bytes, Entry>,
    /// The keys that have a time to live, ordered by deadline.
    deadlines: BTreeSet<(i64, Bytes)>,
    watched: BTreeMap<Bytes, Vec<Watcher>>,
    /// The memory of all keys, if it is counted.
    bytes: usize,
}

/// All databases of a server. It stands for the selected one where a keyspace is wanted.
pub(crate) struct Db {
    /// The databases by their numbers, as far as any was selected yet. There is at least one.
    spaces: Vec<Keyspace>,
    /// The number of the selected database. It has a keyspace.
    selected: usize,
    /// The number of databases that a client may select: `databases`.
    pub(crate) count: usize,
    /// The number of keys deleted because they expired, for INFO.
    pub(crate) expired_keys: u64,
    /// The number of keys deleted because memory was short, for INFO.
    pub(crate) evicted_keys: u64,
    /// The changes since the last command.
    pub(crate) changes: Changes,
    /// The effects to replicate and persist.
    pub(crate) effects: Effects,
    /// How expired keys are handled.
    pub(crate) overdue: Overdue,
    /// The limits of compact encodings.
    pub(crate) limits: Limits,
    /// Whether the memory of keys is counted with each change.
    counts_memory: bool,
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

impl Default for Db {
    fn default() -> Self {
        Db {
            spaces: vec![Keyspace::default()],
            selected: 0,
            count: 16,
            expired_keys: 0,
            evicted_keys: 0,
            changes: Changes::default(),
            effects: Effects::default(),
            overdue: Overdue::default(),
            limits: Limits::default(),
            counts_memory: false,
        }
    }
}

impl Deref for Db {
    type Target = Keyspace;

    fn deref(&self) -> &Keyspace {
        &self.spaces[self.selected]
    }
}

impl DerefMut for Db {
    fn deref_mut(&mut self) -> &mut Keyspace {
        &mut self.spaces[self.selected]
    }
}

impl Db {
    /// The number of the selected database.
    pub(crate) fn selected(&self) -> usize {
        self.selected
    }

    /// Selects a database, whose number is less than [`Db::count`].
    pub(crate) fn select(&mut self, index: usize) {
        self.provide(index);
        self.selected = index;
    }

    /// Provides the databases up to this one.
    fn provide(&mut self, index: usize) {
        if index >= self.spaces.len() {
            self.spaces.resize_with(index + 1, Keyspace::default);
        }
    }

    /// Does something in another database; then the present one is selected again.
    pub(crate) fn within<T>(&mut self, index: usize, act: impl FnOnce(&mut Db) -> T) -> T {
        let selected = self.selected;
        self.select(index);
        let result = act(self);
        self.selected = selected;
        result
    }

    /// The databases that were used, with their numbers.
    pub(crate) fn spaces(&self) -> impl Iterator<Item = (usize, &Keyspace)> {
        self.spaces.iter().enumerate()
    }

    /// A database that was used.
    pub(crate) fn space(&self, index: usize) -> &Keyspace {
        &self.spaces[index]
    }

    /// Exchanges the keys of two databases. Watchers of a key stay, and see a change if the key
    /// exists in either.
    pub(crate) fn swap(&mut self, one: usize, other: usize, now_ms: i64) {
        self.effects.dirty += 1;
        if one == other {
            return;
        }
        self.provide(one.max(other));
        let spaces = self.spaces.get_disjoint_mut([one, other]);
        let [one, other] = spaces.expect("both are there, and they differ");
        std::mem::swap(&mut one.keys, &mut other.keys);
        std::mem::swap(&mut one.deadlines, &mut other.deadlines);
        std::mem::swap(&mut one.bytes, &mut other.bytes);
        one.changed_hands(&other.keys, now_ms);
        other.changed_hands(&one.keys, now_ms);
    }

    /// Notes that something happened to a key of the selected database.
    pub(crate) fn event(&mut self, class: Class, event: &'static str, key: &[u8]) {
        self.changes.event(self.selected, class, event, key);
    }

    /// Looks a key up, which counts as an access; deletes it first if it is expired.
    pub(crate) fn get(&mut self, key: &[u8], now_ms: i64) -> Option<&Entry> {
        self.access(key, now_ms).map(|entry| &*entry)
    }

    /// Like [`Db::get`], but does not count as an access (`LOOKUP_NOTOUCH`).
    pub(crate) fn peek(&mut self, key: &[u8], now_ms: i64) -> Option<&Entry> {
        match self.expire_if_needed(key, now_ms) {
            true => None,
            false => self.keys.get(key),
        }
    }

    fn access(&mut self, key: &[u8], now_ms: i64) -> Option<&mut Entry> {
        if self.expire_if_needed(key, now_ms) {
            return None;
        }
        let entry = self.keys.get_mut(key)?;
        entry.usage.access(now_ms);
        Some(entry)
    }

    /// Like [`Db::get`], for a change of the value in place. A caller that changed the value
    /// must call [`Db::touch`].
    pub(crate) fn get_mut(&mut self, key: &[u8], now_ms: i64) -> Option<&mut Value> {
        self.access(key, now_ms).map(|entry| &mut entry.value)
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
        let space = &mut self.spaces[self.selected];
        match space.keys.entry(Bytes::copy_from_slice(key)) {
            btree_map::Entry::Occupied(entry) => {
                let entry = entry.into_mut();
                entry.usage.access(now_ms);
                &mut entry.value
            }
            btree_map::Entry::Vacant(place) => {
                self.changes.event(self.selected, Class::New, "new", key);
                let mut entry = Entry::new(value(), None);
                entry.usage = Usage::new(now_ms);
                &mut place.insert(entry).value
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
                old.value = entry.value;
                old.expires_at_ms = to;
                old.usage.access(now_ms);
                self.move_deadline(key, from, to);
            }
            None => {
                self.load(Bytes::copy_from_slice(key), entry, now_ms);
                self.event(Class::New, "new", key);
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

    /// Deletes all keys of the selected database. Watchers of existing keys see a change.
    pub(crate) fn flush(&mut self) {
        self.clear();
        self.effects.dirty += 1;
        self.changes.flushed();
    }

    /// Like [`Db::flush`], in all databases.
    pub(crate) fn flush_all(&mut self) {
        for space in &mut self.spaces {
            space.clear();
        }
        self.effects.dirty += 1;
        self.changes.flushed();
    }
}

impl Keyspace {
    /// Deletes all keys.
    fn clear(&mut self) {
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

    /// The keys were exchanged for others; these were here before. (`touchAllWatchedKeysInDb`)
    fn changed_hands(&mut self, before: &BTreeMap<Bytes, Entry>, now_ms: i64) {
        for (key, watchers) in &mut self.watched {
            let (old, new) = (before.get(key), self.keys.get(key));
            let expired = new.is_some_and(|entry| entry.is_expired(now_ms));
            for watcher in watchers
                .iter_mut()
                .filter(|_| old.is_some() || new.is_some())
            {
                match (watcher.stale, new) {
                    // What was expired is gone, or still expired.
                    (true, None) => watcher.stale = false,
                    (true, Some(_)) if expired => {}
                    // An expired key is as good as none.
                    (false, Some(_)) if expired && old.is_none() => watcher.stale = true,
                    _ => watcher.dirty = true,
                }
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
    fn count(&mut self, key: &[u8]) {
        if let Some(entry) = self.keys.get_mut(key) {
            let bytes = memory::with_places(key, entry);
            self.bytes = self.bytes.saturating_sub(entry.bytes) + bytes;
            entry.bytes = bytes;
        }
    }

    /// Counts the memory of every key.
    fn count_all(&mut self) {
        for (key, entry) in &mut self.keys {
            entry.bytes = memory::with_places(key, entry);
        }
        self.bytes = self.keys.values().map(|entry| entry.bytes).sum();
    }

    /// Measures the memory of all keys.
    fn measure(&self) -> usize {
        let keys = self.keys.iter();
        keys.map(|(key, entry)| memory::with_places(key, entry))
            .sum()
    }

    /// The number of keys, expired ones included (`DBSIZE`).
    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }

    /// The number of keys that have a time to live.
    pub(crate) fn volatile_len(&self) -> usize {
        self.deadlines.len()
    }
}

impl Entry {
    /// An entry that nobody accessed yet.
    pub(crate) fn new(value: Value, expires_at_ms: Option<i64>) -> Self {
        Entry {
            value,
            expires_at_ms,
            usage: Usage::default(),
            bytes: 0,
        }
    }

    /// `keyIsExpired`: strictly later than the deadline.
    fn is_expired(&self, now_ms: i64) -> bool {
        self.expires_at_ms.is_some_and(|when| now_ms > when)
    }
}

impl Db {
    /// Records that a command changed a key.
    pub(crate) fn touch(&mut self, key: &[u8]) {
        self.effects.dirty += 1;
        if self.counts_memory {
            self.count(key);
        }
        self.signal(key);
    }

    /// Deletes a key because memory is short.
    pub(crate) fn evict(&mut self, key: &[u8]) {
        self.take(key);
        self.evicted_keys += 1;
        self.signal(key);
        self.event(Class::Evicted, "evicted", key);
        self.effects.deleted(self.selected, key);
    }

    /// Counts the memory of keys with each change from now on, or not.
    pub(crate) fn count_memory(&mut self, counts: bool) {
        if counts && !self.counts_memory {
            for space in &mut self.spaces {
                space.count_all();
            }
        }
        self.counts_memory = counts;
    }

    /// About the memory that a real server with these keys uses, in bytes.
    pub(crate) fn used_bytes(&self) -> usize {
        let of_space = |space: &Keyspace| match self.counts_memory {
            true => space.bytes,
            false => space.measure(),
        };
        memory::EMPTY_SERVER_BYTES + self.spaces.iter().map(of_space).sum::<usize>()
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

    fn is_expired(&self, key: &[u8], now_ms: i64) -> bool {
        self.keys
            .get(key)
            .is_some_and(|entry| entry.is_expired(now_ms))
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

    /// Deletes every expired key: database by database, in the order of deadlines.
    pub(crate) fn expire_overdue(&mut self, now_ms: i64) {
        for index in 0..self.spaces.len() {
            self.within(index, |db| db.expire_overdue_here(now_ms));
        }
    }

    fn expire_overdue_here(&mut self, now_ms: i64) {
        while let Some((when, key)) = self.deadlines.first()
            && now_ms > *when
        {
            let key = key.clone();
            self.expire(&key);
        }
    }

    /// The earliest deadline of a key in any database, past or future, in milliseconds since the
    /// epoch.
    pub(crate) fn earliest_expiry_ms(&self) -> Option<i64> {
        let firsts = self.spaces.iter().filter_map(|it| it.deadlines.first());
        firsts.map(|(when, _)| *when).min()
    }

    /// Deletes a key because it expired.
    fn expire(&mut self, key: &[u8]) {
        self.take(key);
        self.expired_keys += 1;
        self.event(Class::Expired, "expired", key);
        self.effects.deleted(self.selected, key);
        self.signal(key);
    }

    /// Inserts a key loaded from a file.
    pub(crate) fn load(&mut self, key: Bytes, entry: Entry, now_ms: i64) {
        self.take(&key);
        let mut entry = entry;
        entry.usage = Usage::new(now_ms);
        entry.bytes = 0;
        if let Some(when) = entry.expires_at_ms {
            self.deadlines.insert((when, key.clone()));
        }
        self.keys.insert(key.clone(), entry);
        if self.counts_memory {
            self.count(&key);
        }
    }

    /// Removes a key without recording a change.
    fn take(&mut self, key: &[u8]) -> Option<Entry> {
        let space = &mut **self;
        let (key, entry) = space.keys.remove_entry(key)?;
        if let Some(when) = entry.expires_at_ms {
            space.deadlines.remove(&(when, key));
        }
        space.bytes = space.bytes.saturating_sub(entry.bytes);
        Some(entry)
    }

    /// Replaces the deadline of a key.
    fn move_deadline(&mut self, key: &[u8], from: Option<i64>, to: Option<i64>) {
        if from == to {
            return;
        }
        let space = &mut **self;
        let Some((key, _)) = space.keys.get_key_value(key) else {
            return;
        };
        if let Some(when) = from {
            space.deadlines.remove(&(when, key.clone()));
        }
        if let Some(when) = to {
            space.deadlines.insert((when, key.clone()));
        }
    }
}
