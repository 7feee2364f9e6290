//! The databases, and what happens to their keys: expiry, eviction, and the record of changes.
//!
//! One database is selected, and all but a few functions concern that one. A command runs in the
//! database of its client, which was selected for it.
//!
//! Expiry follows `src/db.c`: a key is expired from the millisecond after its deadline on. It
//! is deleted when a client accesses it, or when `active_expiry` finds it.

use std::collections::BTreeSet;
use std::ops::{Deref, DerefMut, Range};

use bytes::Bytes;

use super::effects::Effects;
use super::keyspace::{Entry, Keyspace};
use crate::store::changes::{Changes, Class};
use crate::store::memory;
use crate::store::usage::Usage;
use crate::store::value::{Limits, Value};

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
    /// The names of the keys that changed, if somebody looks on.
    pub(crate) touched: Option<Vec<Bytes>>,
    /// The effects to replicate and persist.
    pub(crate) effects: Effects,
    /// How expired keys are handled.
    pub(crate) overdue: Overdue,
    /// On a writable replica, the deadlines that its clients have set, each with its database and
    /// key: no master deletes these keys (`slaveKeysWithExpire`).
    own_deadlines: BTreeSet<(i64, usize, Bytes)>,
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
    /// Keep it and report it missing: for a command that reads, on a writable replica.
    HideOnWritable,
    /// Delete it, and remember which deadlines are set: for a command that writes, there.
    DeleteOnWritable,
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
            touched: None,
            effects: Effects::default(),
            overdue: Overdue::default(),
            own_deadlines: BTreeSet::new(),
            limits: Limits::default(),
            counts_memory: false,
        }
    }
}

impl Deref for Db {
    type Target = Keyspace;

    #[inline]
    fn deref(&self) -> &Keyspace {
        &self.spaces[self.selected]
    }
}

impl DerefMut for Db {
    #[inline]
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
    #[inline]
    pub(crate) fn select(&mut self, index: usize) {
        if index != self.selected {
            self.provide(index);
            self.selected = index;
        }
    }

    /// Provides the databases up to this one.
    #[cold]
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
        // The key is copied only if it is new.
        if !space.keys.contains_key(key) {
            self.changes.event(self.selected, Class::New, "new", key);
            let mut entry = Entry::new(value(), None);
            entry.usage = Usage::new(now_ms);
            let place = space.keys.entry(Bytes::copy_from_slice(key));
            return &mut place.or_insert(entry).value;
        }
        let entry = space.keys.get_mut(key).expect("it exists");
        entry.usage.access(now_ms);
        &mut entry.value
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

    /// Sets a key, replacing a value of any type.
    pub(crate) fn set(&mut self, key: &[u8], entry: Entry, now_ms: i64) {
        self.expire_if_needed(key, now_ms);
        match self.keys.get_mut(key) {
            Some(old) => {
                let (from, to) = (old.expires_at_ms, entry.expires_at_ms);
                old.value = entry.value;
                old.expires_at_ms = to;
                old.usage.access(now_ms);
                self.move_deadline(key, from, to);
                self.note_deadline(key, to);
            }
            None => {
                let to = entry.expires_at_ms;
                self.load(Bytes::copy_from_slice(key), entry, now_ms);
                self.note_deadline(key, to);
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
            self.note_deadline(key, to);
        }
    }

    /// `rememberSlaveKeyWithExpire`, for the databases that it remembers.
    fn note_deadline(&mut self, key: &[u8], to: Option<i64>) {
        const DATABASES: usize = 64;
        if self.overdue == Overdue::DeleteOnWritable
            && let Some(when) = to
            && self.selected < DATABASES
        {
            let key = Bytes::copy_from_slice(key);
            self.own_deadlines.insert((when, self.selected, key));
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
        self.touch_all(self.selected..self.selected + 1);
        self.clear();
        self.effects.dirty += 1;
        self.changes.flushed();
    }

    /// Like [`Db::flush`], in all databases.
    pub(crate) fn flush_all(&mut self) {
        self.touch_all(0..self.spaces.len());
        self.own_deadlines.clear();
        for space in &mut self.spaces {
            space.clear();
        }
        self.effects.dirty += 1;
        self.changes.flushed();
    }

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

    /// Notes that all keys of these databases change, if somebody looks on.
    fn touch_all(&mut self, databases: Range<usize>) {
        if let Some(touched) = &mut self.touched {
            let spaces = self.spaces[databases].iter();
            touched.extend(spaces.flat_map(|space| space.iter_all().map(|(name, _)| name.clone())));
        }
    }

    /// `signalModifiedKey`.
    fn signal(&mut self, key: &[u8]) {
        self.changes.modified(key);
        if let Some(touched) = &mut self.touched {
            touched.push(Bytes::copy_from_slice(key));
        }
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

    /// Whether a lookup must treat a key as expired. If so, deletes it, unless this is a
    /// replica.
    pub(crate) fn expire_if_needed(&mut self, key: &[u8], now_ms: i64) -> bool {
        let expired = self.overdue != Overdue::Keep && self.is_expired(key, now_ms);
        if expired && matches!(self.overdue, Overdue::Delete | Overdue::DeleteOnWritable) {
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

    /// Deletes the expired keys of a writable replica whose deadlines its clients have set
    /// (`expireSlaveKeys`).
    pub(crate) fn expire_own(&mut self, now_ms: i64) {
        while let Some((when, ..)) = self.own_deadlines.first()
            && now_ms > *when
            && let Some((_, index, key)) = self.own_deadlines.pop_first()
        {
            let later = self.within(index, |db| match db.keys.get(&key)?.expires_at_ms? {
                when if now_ms > when => {
                    db.expire(&key);
                    None
                }
                // It was given more time.
                when => Some(when),
            });
            if let Some(when) = later {
                self.own_deadlines.insert((when, index, key));
            }
        }
    }

    /// The earliest deadline that a client of a writable replica has set.
    pub(crate) fn earliest_own_expiry_ms(&self) -> Option<i64> {
        self.own_deadlines.first().map(|(when, ..)| *when)
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
}
