//! The properties, and the judgement of a history by each of them.
//!
//! One file per property. A check is a plain function from a history to a verdict;
//! it knows neither locks nor worlds.

use serde::{Deserialize, Serialize};

use crate::history::Name;

/// What a history is judged by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Property {
    /// B∞: no two clients believe at once that they hold the lock, each from the
    /// return of `acquire` to its call of `release`.
    Belief,
    /// Bd: the same, but a client stops believing at the deadline that its own
    /// clock and the algorithm's validity rule give it.
    Lease,
    /// R: the resource accepted nothing it should not have; the next three together.
    Resource,
    /// The resource accepted no write of an older holder after a newer holder's.
    StaleWrite,
    /// The resource accepted no write over a version that its writer had not seen.
    LostUpdate,
    /// The resource accepted no fencing token lower than one it had accepted before.
    TokenRegression,
    /// No release deleted another client's lock.
    ForeignRelease,
    /// A free lock is taken again within its bound while somebody wants it.
    Deadlock,
}

/// The judgement of one property.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "kebab-case")]
pub enum Verdict {
    /// Nothing in the history contradicts the property.
    Holds,
    /// The history contradicts it.
    Violated(Violation),
    /// The run could not have shown a violation: a fault never took effect, or the
    /// lock was never contended.
    Inconclusive {
        /// Which of these, in words.
        why: String,
    },
}

/// Where and how a history contradicts a property.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Violation {
    /// True time at which it became a violation, in nanoseconds.
    pub at_ns: u64,
    /// True time at which it was over; `at_ns` for an instant.
    pub until_ns: u64,
    /// The clients at fault or concerned, the earlier holder first.
    pub clients: Vec<Name>,
    /// The violation in a sentence.
    pub what: String,
}
