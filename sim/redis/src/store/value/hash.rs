//! Hashes: fields and their values, in insertion order.

use bytes::Bytes;
use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;

use super::Listpack;

/// A hash. The order is that of Redis's listpack. In Redis a hash that outgrew its listpack
/// has no defined order; here it keeps the same one.
#[derive(Clone, Default, Debug)]
pub(crate) struct Hash {
    fields: IndexMap<Bytes, Bytes, FxBuildHasher>,
    /// It outgrew the listpack once; Redis does not convert back.
    outgrown: bool,
}

impl Hash {
    pub(crate) fn get(&self, field: &[u8]) -> Option<&Bytes> {
        self.fields.get(field)
    }

    /// Sets a field; returns whether it is new.
    pub(crate) fn set(&mut self, field: &[u8], value: Bytes, limits: Listpack) -> bool {
        self.outgrown |= field.len().max(value.len()) > limits.bytes;
        let new = match self.fields.get_mut(field) {
            Some(old) => {
                *old = value;
                false
            }
            None => {
                self.fields.insert(Bytes::copy_from_slice(field), value);
                true
            }
        };
        self.outgrown |= self.fields.len() > limits.entries;
        new
    }

    /// Removes a field; returns whether it was there.
    pub(crate) fn remove(&mut self, field: &[u8]) -> bool {
        self.fields.shift_remove(field).is_some()
    }

    pub(crate) fn len(&self) -> usize {
        self.fields.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Bytes, &Bytes)> {
        self.fields.iter()
    }

    /// Whether it is small: then HSCAN returns all of it.
    pub(crate) fn is_compact(&self) -> bool {
        !self.outgrown
    }

    pub(super) fn encoding(&self) -> &'static str {
        if self.outgrown {
            "hashtable"
        } else {
            "listpack"
        }
    }
}
