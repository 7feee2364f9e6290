//! The map.

use std::borrow::Borrow;
use std::fmt;
use std::ops::{Index, RangeBounds};
use std::{iter, mem, slice, vec};

use crate::places;

/// A map of few entries: a vector of pairs, sorted by their keys, each of which is there once.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VecMap<K, V> {
    entries: Vec<(K, V)>,
}

/// What needs no order.
impl<K, V> VecMap<K, V> {
    /// A map without entries.
    pub const fn new() -> Self {
        VecMap {
            entries: Vec::new(),
        }
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Removes all entries.
    pub fn clear(&mut self) {
        self.entries.clear();
    }

    /// The entries, by key.
    pub fn iter(&self) -> Iter<'_, K, V> {
        self.entries.iter().map(pair as fn(_) -> _)
    }

    /// The entries, by key, with values that can be changed.
    pub fn iter_mut(&mut self) -> IterMut<'_, K, V> {
        self.entries.iter_mut().map(pair_mut as fn(_) -> _)
    }

    /// The keys in order.
    pub fn keys(&self) -> Keys<'_, K, V> {
        self.entries.iter().map(key as fn(_) -> _)
    }

    /// The values, by key.
    pub fn values(&self) -> Values<'_, K, V> {
        self.entries.iter().map(value as fn(_) -> _)
    }

    /// The values, by key, to be changed.
    pub fn values_mut(&mut self) -> ValuesMut<'_, K, V> {
        self.entries.iter_mut().map(value_mut as fn(_) -> _)
    }

    /// The keys in order, without their values.
    pub fn into_keys(self) -> impl DoubleEndedIterator<Item = K> + ExactSizeIterator {
        self.entries.into_iter().map(|(key, _)| key)
    }

    /// The values, by key, without their keys.
    pub fn into_values(self) -> impl DoubleEndedIterator<Item = V> + ExactSizeIterator {
        self.entries.into_iter().map(|(_, value)| value)
    }

    /// The entry with the greatest key.
    pub fn last_key_value(&self) -> Option<(&K, &V)> {
        self.entries.last().map(|(key, value)| (key, value))
    }

    /// Keeps the entries for which `keep` returns true; it is asked in the order of keys.
    pub fn retain(&mut self, mut keep: impl FnMut(&K, &mut V) -> bool) {
        self.entries.retain_mut(|(key, value)| keep(key, value));
    }

    /// The place of a key, or else that where it belongs.
    fn find<Q: Ord + ?Sized>(&self, key: &Q) -> Result<usize, usize>
    where
        K: Borrow<Q>,
    {
        self.entries
            .binary_search_by(|(other, _)| other.borrow().cmp(key))
    }

    /// The value of a key.
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        let place = self.find(key).ok()?;
        Some(&self.entries[place].1)
    }

    /// The value of a key, to be changed.
    pub fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        let place = self.find(key).ok()?;
        Some(&mut self.entries[place].1)
    }

    /// The entry of a key.
    pub fn get_key_value<Q: Ord + ?Sized>(&self, key: &Q) -> Option<(&K, &V)>
    where
        K: Borrow<Q>,
    {
        let place = self.find(key).ok()?;
        let (key, value) = &self.entries[place];
        Some((key, value))
    }

    /// Whether a key has an entry.
    pub fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.find(key).is_ok()
    }

    /// Removes a key; returns its value.
    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let place = self.find(key).ok()?;
        Some(self.entries.remove(place).1)
    }

    /// The entries whose keys are in a range.
    ///
    /// # Panics
    ///
    /// If the range ends before it begins, and a key lies between.
    pub fn range<Q: Ord + ?Sized, R: RangeBounds<Q>>(&self, range: R) -> Iter<'_, K, V>
    where
        K: Borrow<Q>,
    {
        let places = places(&range, self.len(), |key| self.find(key));
        self.entries[places].iter().map(pair as fn(_) -> _)
    }
}

impl<K: Ord, V> VecMap<K, V> {
    /// Gives a key this value; returns the one that it had.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self.find(&key) {
            Ok(place) => Some(mem::replace(&mut self.entries[place].1, value)),
            Err(place) => {
                self.entries.insert(place, (key, value));
                None
            }
        }
    }

    /// The place of this key.
    pub fn entry(&mut self, key: K) -> Entry<'_, K, V> {
        let place = self.find(&key);
        let entries = &mut self.entries;
        Entry {
            entries,
            place,
            key,
        }
    }
}

/// The place of a key in a map.
pub struct Entry<'a, K, V> {
    entries: &'a mut Vec<(K, V)>,
    /// Where the key is, or else where it belongs.
    place: Result<usize, usize>,
    key: K,
}

impl<'a, K, V> Entry<'a, K, V> {
    /// The value; this one if there was none.
    pub fn or_insert(self, value: V) -> &'a mut V {
        self.or_insert_with(|| value)
    }

    /// The value; if there was none, the one that `value` returns.
    pub fn or_insert_with(self, value: impl FnOnce() -> V) -> &'a mut V {
        let place = self.place.unwrap_or_else(|place| {
            self.entries.insert(place, (self.key, value()));
            place
        });
        &mut self.entries[place].1
    }

    /// The value; the default one if there was none.
    pub fn or_default(self) -> &'a mut V
    where
        V: Default,
    {
        self.or_insert_with(V::default)
    }
}

impl<K, V> Default for VecMap<K, V> {
    fn default() -> Self {
        VecMap::new()
    }
}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for VecMap<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self).finish()
    }
}

impl<K: Borrow<Q>, V, Q: Ord + ?Sized> Index<&Q> for VecMap<K, V> {
    type Output = V;

    /// # Panics
    ///
    /// If the key has no entry.
    fn index(&self, key: &Q) -> &V {
        self.get(key).expect("the key has an entry")
    }
}

impl<K: Ord, V> Extend<(K, V)> for VecMap<K, V> {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, entries: I) {
        for (key, value) in entries {
            self.insert(key, value);
        }
    }
}

impl<K: Ord, V> FromIterator<(K, V)> for VecMap<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut map = VecMap::new();
        map.extend(entries);
        map
    }
}

impl<K: Ord, V, const N: usize> From<[(K, V); N]> for VecMap<K, V> {
    fn from(entries: [(K, V); N]) -> Self {
        entries.into_iter().collect()
    }
}

/// The entries of a map, by key.
pub type Iter<'a, K, V> = iter::Map<slice::Iter<'a, (K, V)>, fn(&'a (K, V)) -> (&'a K, &'a V)>;

/// The entries of a map, by key, with values that can be changed.
pub type IterMut<'a, K, V> =
    iter::Map<slice::IterMut<'a, (K, V)>, fn(&'a mut (K, V)) -> (&'a K, &'a mut V)>;

/// The entries of a map that is no more, by key.
pub type IntoIter<K, V> = vec::IntoIter<(K, V)>;

/// The keys of a map in order.
pub type Keys<'a, K, V> = iter::Map<slice::Iter<'a, (K, V)>, fn(&'a (K, V)) -> &'a K>;

/// The values of a map, by key.
pub type Values<'a, K, V> = iter::Map<slice::Iter<'a, (K, V)>, fn(&'a (K, V)) -> &'a V>;

/// The values of a map, by key, to be changed.
pub type ValuesMut<'a, K, V> =
    iter::Map<slice::IterMut<'a, (K, V)>, fn(&'a mut (K, V)) -> &'a mut V>;

fn pair<K, V>((key, value): &(K, V)) -> (&K, &V) {
    (key, value)
}

fn pair_mut<K, V>((key, value): &mut (K, V)) -> (&K, &mut V) {
    (key, value)
}

fn key<K, V>((key, _): &(K, V)) -> &K {
    key
}

fn value<K, V>((_, value): &(K, V)) -> &V {
    value
}

fn value_mut<K, V>((_, value): &mut (K, V)) -> &mut V {
    value
}

impl<K, V> IntoIterator for VecMap<K, V> {
    type Item = (K, V);
    type IntoIter = IntoIter<K, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.into_iter()
    }
}

impl<'a, K, V> IntoIterator for &'a VecMap<K, V> {
    type Item = (&'a K, &'a V);
    type IntoIter = Iter<'a, K, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a, K, V> IntoIterator for &'a mut VecMap<K, V> {
    type Item = (&'a K, &'a mut V);
    type IntoIter = IterMut<'a, K, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}
