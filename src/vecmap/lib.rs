//! [`VecMap`] and [`VecSet`]: a map and a set of few entries, each a sorted vector.
//!
//! They have methods of `BTreeMap` and `BTreeSet`, with the same names and results, and iterate in the same order.
//! A lookup is a binary search. Inserting and removing move the entries behind, so these types are for what is few by
//! nature: the hosts of a run, the faults of a schedule, the members of a quorum. What users can make many, such as
//! the keys, the clients and the scripts of a server, belongs in a `BTreeMap`. What is only appended in order may be
//! many here too, since nothing moves.
//!
//! They exist to save compile time. A `BTreeMap` costs some 9,000 lines of LLVM IR for each pair of types, and more in
//! each crate that drops one: it was a third of the IR of the node, and a quarter of that of the runner. A `VecMap`
//! costs less than a tenth of that.

mod map;
#[cfg(feature = "serde")]
mod serde;
mod set;

pub use map::{Entry, IntoIter, Iter, IterMut, Keys, Values, ValuesMut, VecMap};
pub use set::VecSet;

use std::ops::{Bound, Range, RangeBounds};

/// The places of the keys in a range. `find` returns the place of a key, or that where it would be inserted.
///
/// # Panics
///
/// If the range ends before it begins, and a key lies between; `BTreeMap::range` panics in any case.
fn places<Q: ?Sized>(
    range: &impl RangeBounds<Q>,
    len: usize,
    find: impl Fn(&Q) -> Result<usize, usize>,
) -> Range<usize> {
    let before = |key: &Q| find(key).unwrap_or_else(|place| place);
    let after = |key: &Q| find(key).map_or_else(|place| place, |place| place + 1);
    let start = match range.start_bound() {
        Bound::Included(key) => before(key),
        Bound::Excluded(key) => after(key),
        Bound::Unbounded => 0,
    };
    let end = match range.end_bound() {
        Bound::Included(key) => after(key),
        Bound::Excluded(key) => before(key),
        Bound::Unbounded => len,
    };
    assert!(start <= end, "the range ends before it begins");
    start..end
}

#[cfg(test)]
mod tests;
