//! The map.

use std::borrow::Borrow;
use std::fmt;
use std::iter::FusedIterator;
use std::ops::{Index, RangeBounds};
use std::{mem, slice, vec};

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
        Iter(self.entries.iter())
    }

    /// The entries, by key, with values that can be changed.
    pub fn iter_mut(&mut self) -> IterMut<'_, K, V> {
        IterMut(self.entries.iter_mut())
    }

    /// The keys in order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &K> + ExactSizeIterator + Clone {
        self.entries.iter().map(|(key, _)| key)
    }

    /// The values, by key.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &V> + ExactSizeIterator + Clone {
        self.entries.iter().map(|(_, value)| value)
    }

    /// The values, by key, to be changed.
    pub fn values_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut V> + ExactSizeIterator {
        self.entries.iter_mut().map(|(_, value)| value)
    }

    /// The keys in order, without their values.
    pub fn into_keys(self) -> impl DoubleEndedIterator<Item = K> + ExactSizeIterator {
        self.entries.into_iter().map(|(key, _)| key)
    }

    /// The values, by key, without their keys.
    pub fn into_values(self) -> impl DoubleEndedIterator<Item = V> + ExactSizeIterator {
        self.entries.into_iter().map(|(_, value)| value)
    }

    /// The entry with the least key.
    pub fn first_key_value(&self) -> Option<(&K, &V)> {
        self.entries.first().map(|(key, value)| (key, value))
    }

    /// The entry with the greatest key.
    pub fn last_key_value(&self) -> Option<(&K, &V)> {
        self.entries.last().map(|(key, value)| (key, value))
    }

    /// Removes the entry with the least key.
    pub fn pop_first(&mut self) -> Option<(K, V)> {
        (!self.is_empty()).then(|| self.entries.remove(0))
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
        self.remove_entry(key).map(|(_, value)| value)
    }

    /// Removes and returns the entry of a key.
    pub fn remove_entry<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<(K, V)>
    where
        K: Borrow<Q>,
    {
        let place = self.find(key).ok()?;
        Some(self.entries.remove(place))
    }

    /// The entries whose keys are in a range.
    ///
    /// # Panics
    ///
    /// If the range ends before it begins.
    pub fn range<Q: Ord + ?Sized, R: RangeBounds<Q>>(&self, range: R) -> Iter<'_, K, V>
    where
        K: Borrow<Q>,
    {
        let places = places(&range, self.len(), |key| self.find(key));
        Iter(self.entries[places].iter())
    }

    /// The entries whose keys are in a range, with values that can be changed.
    ///
    /// # Panics
    ///
    /// If the range ends before it begins.
    pub fn range_mut<Q: Ord + ?Sized, R: RangeBounds<Q>>(&mut self, range: R) -> IterMut<'_, K, V>
    where
        K: Borrow<Q>,
    {
        let places = places(&range, self.len(), |key| self.find(key));
        IterMut(self.entries[places].iter_mut())
    }

    /// Removes and returns the entries from this key on.
    pub fn split_off<Q: Ord + ?Sized>(&mut self, key: &Q) -> Self
    where
        K: Borrow<Q>,
    {
        let place = self.find(key).unwrap_or_else(|place| place);
        VecMap {
            entries: self.entries.split_off(place),
        }
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
        match self.find(&key) {
            Ok(place) => Entry::Occupied(OccupiedEntry { map: self, place }),
            Err(place) => Entry::Vacant(VacantEntry {
                map: self,
                place,
                key,
            }),
        }
    }

    /// Moves all entries of another map into this one, where the values of the other win.
    pub fn append(&mut self, other: &mut Self) {
        self.extend(mem::take(other));
    }
}

/// The place of a key in a map.
pub enum Entry<'a, K, V> {
    /// The key has no value.
    Vacant(VacantEntry<'a, K, V>),
    /// The key has a value.
    Occupied(OccupiedEntry<'a, K, V>),
}

/// The place of a key without a value.
pub struct VacantEntry<'a, K, V> {
    map: &'a mut VecMap<K, V>,
    place: usize,
    key: K,
}

/// The place of a key with a value.
pub struct OccupiedEntry<'a, K, V> {
    map: &'a mut VecMap<K, V>,
    place: usize,
}

impl<'a, K, V> Entry<'a, K, V> {
    /// The value; this one if there was none.
    pub fn or_insert(self, value: V) -> &'a mut V {
        self.or_insert_with(|| value)
    }

    /// The value; if there was none, the one that `value` returns.
    pub fn or_insert_with(self, value: impl FnOnce() -> V) -> &'a mut V {
        match self {
            Entry::Vacant(entry) => entry.insert(value()),
            Entry::Occupied(entry) => entry.into_mut(),
        }
    }

    /// The value; the default one if there was none.
    pub fn or_default(self) -> &'a mut V
    where
        V: Default,
    {
        self.or_insert_with(V::default)
    }

    /// Changes the value if there is one.
    #[must_use]
    pub fn and_modify(mut self, change: impl FnOnce(&mut V)) -> Self {
        if let Entry::Occupied(entry) = &mut self {
            change(entry.get_mut());
        }
        self
    }
}

impl<'a, K, V> VacantEntry<'a, K, V> {
    /// Gives the key this value.
    pub fn insert(self, value: V) -> &'a mut V {
        let entries = &mut self.map.entries;
        entries.insert(self.place, (self.key, value));
        &mut entries[self.place].1
    }
}

impl<'a, K, V> OccupiedEntry<'a, K, V> {
    /// The value.
    pub fn get(&self) -> &V {
        &self.map.entries[self.place].1
    }

    /// The value, to be changed.
    pub fn get_mut(&mut self) -> &mut V {
        &mut self.map.entries[self.place].1
    }

    /// The value, to be changed as long as the map is borrowed.
    pub fn into_mut(self) -> &'a mut V {
        &mut self.map.entries[self.place].1
    }

    /// Gives the key this value; returns the one that it had.
    pub fn insert(&mut self, value: V) -> V {
        mem::replace(self.get_mut(), value)
    }

    /// Removes the key; returns its value.
    pub fn remove(self) -> V {
        self.map.entries.remove(self.place).1
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
pub struct Iter<'a, K, V>(slice::Iter<'a, (K, V)>);

/// The entries of a map, by key, with values that can be changed.
pub struct IterMut<'a, K, V>(slice::IterMut<'a, (K, V)>);

/// The entries of a map that is no more, by key.
pub type IntoIter<K, V> = vec::IntoIter<(K, V)>;

impl<K, V> Clone for Iter<'_, K, V> {
    fn clone(&self) -> Self {
        Iter(self.0.clone())
    }
}

impl<'a, K, V> Iterator for Iter<'a, K, V> {
    type Item = (&'a K, &'a V);

    fn next(&mut self) -> Option<Self::Item> {
        let (key, value) = self.0.next()?;
        Some((key, value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<K, V> DoubleEndedIterator for Iter<'_, K, V> {
    fn next_back(&mut self) -> Option<Self::Item> {
        let (key, value) = self.0.next_back()?;
        Some((key, value))
    }
}

impl<K, V> ExactSizeIterator for Iter<'_, K, V> {}
impl<K, V> FusedIterator for Iter<'_, K, V> {}

impl<'a, K, V> Iterator for IterMut<'a, K, V> {
    type Item = (&'a K, &'a mut V);

    fn next(&mut self) -> Option<Self::Item> {
        let (key, value) = self.0.next()?;
        Some((key, value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<K, V> DoubleEndedIterator for IterMut<'_, K, V> {
    fn next_back(&mut self) -> Option<Self::Item> {
        let (key, value) = self.0.next_back()?;
        Some((key, value))
    }
}

impl<K, V> ExactSizeIterator for IterMut<'_, K, V> {}
impl<K, V> FusedIterator for IterMut<'_, K, V> {}

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
