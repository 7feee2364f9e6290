//! Sets.

use std::collections::BTreeSet;

use bytes::Bytes;
use indexmap::IndexSet;
use rustc_hash::FxBuildHasher;

use crate::wire::number::parse_i64;

/// A set. A set of integers is kept sorted, as in Redis. Other sets have no order in Redis;
/// here they are in insertion order.
#[derive(Clone, Debug)]
pub(crate) enum Set {
    Ints(BTreeSet<i64>),
    /// It once held another kind of member, or too many; Redis does not convert back.
    Table(IndexSet<Bytes, FxBuildHasher>),
}

impl Default for Set {
    fn default() -> Self {
        Set::Ints(BTreeSet::new())
    }
}

impl Set {
    /// Adds a member; returns whether it is new. At most `most_ints` are kept as integers.
    pub(crate) fn add(&mut self, member: &[u8], most_ints: usize) -> bool {
        if let Set::Ints(ints) = self {
            if let Some(number) = parse_i64(member) {
                let new = ints.insert(number);
                // The limit may be lower than it was for the members so far.
                if new && ints.len() > most_ints {
                    self.outgrow();
                }
                return new;
            }
            self.outgrow();
        }
        match self {
            Set::Ints(_) => false,
            Set::Table(members) => members.insert(Bytes::copy_from_slice(member)),
        }
    }

    fn outgrow(&mut self) {
        *self = Set::Table(self.iter().collect());
    }

    /// Removes a member; returns whether it was there.
    pub(crate) fn remove(&mut self, member: &[u8]) -> bool {
        match self {
            Set::Ints(ints) => parse_i64(member).is_some_and(|number| ints.remove(&number)),
            Set::Table(members) => members.shift_remove(member),
        }
    }

    pub(crate) fn contains(&self, member: &[u8]) -> bool {
        match self {
            Set::Ints(ints) => parse_i64(member).is_some_and(|number| ints.contains(&number)),
            Set::Table(members) => members.contains(member),
        }
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Set::Ints(ints) => ints.len(),
            Set::Table(members) => members.len(),
        }
    }

    /// The members, in order.
    pub(crate) fn iter(&self) -> Box<dyn Iterator<Item = Bytes> + '_> {
        match self {
            Set::Ints(ints) => Box::new(ints.iter().map(|int| Bytes::from(int.to_string()))),
            Set::Table(members) => Box::new(members.iter().cloned()),
        }
    }

    /// Whether it is small: then SSCAN returns all of it.
    pub(crate) fn is_compact(&self) -> bool {
        matches!(self, Set::Ints(_))
    }

    pub(super) fn encoding(&self) -> &'static str {
        match self {
            Set::Ints(_) => "intset",
            Set::Table(_) => "hashtable",
        }
    }
}
