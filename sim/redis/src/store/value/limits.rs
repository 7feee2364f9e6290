//! The limits of compact encodings. A value that exceeds one takes its general encoding, and keeps
//! it.

/// The limits for every type of value.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Limits {
    /// `hash-max-listpack-entries` and `hash-max-listpack-value`.
    pub(crate) hash: Listpack,
    /// `zset-max-listpack-entries` and `zset-max-listpack-value`.
    pub(crate) zset: Listpack,
    /// `set-max-intset-entries`.
    pub(crate) intset_entries: usize,
}

/// The limits of a listpack.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Listpack {
    /// The number of fields or members.
    pub(crate) entries: usize,
    /// The length of a field, of its value, or of a member.
    pub(crate) bytes: usize,
}

impl Listpack {
    /// The limits for elements of any length that are in a listpack already.
    pub(crate) fn of_any_length(self) -> Self {
        Listpack {
            bytes: usize::MAX,
            ..self
        }
    }
}

impl Default for Limits {
    /// The defaults of 7.0.15.
    fn default() -> Self {
        Limits {
            hash: Listpack {
                entries: 512,
                bytes: 64,
            },
            zset: Listpack {
                entries: 128,
                bytes: 64,
            },
            intset_entries: 512,
        }
    }
}
