//! The properties, and the judgement of a history by each of them.
//!
//! One file per property. A check is a plain function from a history to a verdict; it depends on
//! neither locks nor the simulator. All checks read one `Timeline`, which goes through the records
//! once and derives who held the lock from when to when.

use std::cell::LazyCell;

use locklab_values::units::NS_PER_MS;
use locklab_vecmap::VecMap;
use serde::{Deserialize, Serialize};

use locklab_history::timeline::Timeline;
use locklab_history::{History, Name};

mod acknowledged_lost;
mod belief;
mod conclusive;
mod deadlock;
mod effects;
mod fifo;
mod foreign_release;
#[cfg(test)]
mod histories;
mod lease;
mod lost_update;
mod opportunity;
mod overlap;
mod pace;
mod progress;
mod property;
mod reactions;
mod recovery;
mod resource;
mod situation;
mod stale_write;
#[cfg(test)]
mod strictness;
mod token_regression;
mod writes;

#[cfg(any(test, feature = "test-histories"))]
pub mod history_builder;
#[cfg(test)]
mod laws;
#[cfg(any(test, feature = "test-histories"))]
pub mod random;

pub use acknowledged_lost::{Loss, loss};
pub use conclusive::struck;
use deadlock::Excuse;
pub use deadlock::retransmission_ns;
use effects::Effects;
pub use locklab_values::units::Ms;
use opportunity::{Opportunities, Opportunity};
pub use pace::{Pace, Part, pace};
pub use property::{Property, UnknownProperty};
pub use reactions::{Reactions, reactions};
pub use situation::Situation;
pub use writes::{Writes, writes};

/// Judges a history by every applicable property: [`Property::AcknowledgedLost`] where clients
/// add to a set, [`Property::Recovery`] where the lock has a time to settle, the others always.
///
/// A violation always counts. A property that holds only because the run could not have shown a
/// violation is inconclusive: a fault never took effect, or met no client that used the lock; no clients
/// contended for the lock; or what this property forbids never had an opportunity while a fault mattered.
pub fn judge(history: &History, bounds: &Bounds) -> VecMap<Property, Verdict> {
    judge_by(&Timeline::of(history), bounds, &Property::ALL)
}

/// Judges a history by those of these properties that apply; see [`judge`].
pub fn judge_by(
    timeline: &Timeline,
    bounds: &Bounds,
    properties: &[Property],
) -> VecMap<Property, Verdict> {
    let effects = Effects::of(timeline, bounds);
    let doubt = conclusive::doubt(timeline, &effects);
    let opportunities = Opportunities::of(timeline, bounds, &effects);
    let rules = rules(timeline, bounds, &effects);
    let judged = |property| {
        let (verdict, opportunity) = rules(property)?;
        if verdict != Verdict::Holds {
            return Some((property, verdict));
        }
        let doubt = match property {
            // The clients add without asking for the lock.
            Property::AcknowledgedLost => conclusive::missed(timeline),
            _ => doubt.clone(),
        };
        let missing = || opportunities.missing(opportunity).map(String::from);
        let why = doubt.or_else(missing);
        let verdict = why.map_or(verdict, |why| Verdict::Inconclusive { why });
        Some((property, verdict))
    };
    properties.iter().copied().filter_map(judged).collect()
}

/// The rule of each property that applies, and what a history must contain so that it could break it.
fn rules<'t>(
    timeline: &'t Timeline,
    bounds: &'t Bounds,
    effects: &'t Effects,
) -> impl Fn(Property) -> Option<(Verdict, Opportunity)> + 't {
    // Each is a part of `resource`.
    let stale_write = LazyCell::new(|| stale_write::check(timeline));
    let lost_update = LazyCell::new(|| lost_update::check(timeline));
    let token_regression = LazyCell::new(|| token_regression::check(timeline));
    move |property| {
        Some(match property {
            Property::Belief => (belief::check(timeline), Opportunity::AskedWhileBelieved),
            Property::Lease => (lease::check(timeline), Opportunity::AskedWithinLease),
            Property::Resource => (
                resource::check([&stale_write, &lost_update, &token_regression]),
                Opportunity::ContendedUpdateOrSecondToken,
            ),
            Property::StaleWrite => (stale_write.clone(), Opportunity::LateWrite),
            Property::LostUpdate => (lost_update.clone(), Opportunity::ContendedUpdate),
            Property::TokenRegression => (token_regression.clone(), Opportunity::SecondToken),
            Property::Progress => (progress::check(timeline), Opportunity::Refusal),
            Property::ForeignRelease => (
                foreign_release::check(timeline, bounds.nodes),
                Opportunity::LateRelease,
            ),
            Property::Deadlock => (
                deadlock::check(timeline, bounds, effects, Excuse::Servers),
                Opportunity::JudgedByRule,
            ),
            Property::Availability => (
                deadlock::check(timeline, bounds, effects, Excuse::OwnHost),
                Opportunity::JudgedByRule,
            ),
            Property::Recovery => (
                recovery::check(timeline, bounds, bounds.settle_ns?),
                Opportunity::JudgedByRule,
            ),
            Property::AcknowledgedLost if !acknowledged_lost::applies_to(timeline) => return None,
            Property::AcknowledgedLost => {
                (acknowledged_lost::check(timeline), Opportunity::AddAtRisk)
            }
            Property::Fifo => (fifo::check(timeline, effects), Opportunity::JudgedByRule),
        })
    }
}

/// The input of a check that no history contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bounds {
    /// A free lock that a client requests must be taken within this many nanoseconds: the
    /// lease, the longest wait between two attempts, and the time for one attempt.
    pub deadlock_ns: u64,
    /// The additional time that clients may lose on servers that do not answer, in nanoseconds:
    /// their timeouts, and their back-off before each retransmission.
    pub time_outs_ns: u64,
    /// How many round trips to servers are in `deadlock_ns`; the extra delay of a slow link
    /// counts once for each.
    pub round_trips: u32,
    /// How much later than on a network without faults a reply may arrive before its client
    /// gives up on it, in nanoseconds; `None`: without limit.
    pub reply_slack_ns: Option<u64>,
    /// The role of the resource for the lock.
    pub resource: ResourceRole,
    /// Whether the resource compares the tokens that clients show, and may refuse an access.
    pub compares_tokens: bool,
    /// How many servers a client requests the lock from: the nodes of a quorum, or the master.
    pub masters: u32,
    /// On how many servers the lock's key can be stored: the nodes of a quorum, and every
    /// replica that may be promoted. [`Property::ForeignRelease`] can be judged on one only.
    pub nodes: u32,
    /// How soon a client that a pause interrupted acts again, in nanoseconds. One that did nothing for longer before the
    /// pause and after it was idle, and the pause changed nothing for it.
    pub acts_within_ns: u64,
    /// How long after its last fault a run has settled, in nanoseconds, so that
    /// [`Property::Recovery`] can be judged; `None`: it is not.
    pub settle_ns: Option<u64>,
    /// How long the run could have lasted, in nanoseconds: it may have ended earlier, because its
    /// clients were done.
    pub horizon_ns: u64,
}

impl Bounds {
    /// [`Bounds::acts_within_ns`] of clients of the catalogue: in the simulator they act at that instant, on a real
    /// machine within this time.
    pub const ACTS_WITHIN_NS: u64 = NS_PER_MS;
}

/// The role of the resource for the lock that protects it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ResourceRole {
    /// None.
    Apart,
    /// An acquiring client asks it for a token, and does not have the lock before it gets one.
    GivesTokens,
}

/// The judgement of one property.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "kebab-case")]
pub enum Verdict {
    /// Nothing in the history contradicts the property.
    Holds,
    /// The history contradicts it.
    Violated(Violation),
    /// The run could not have shown a violation: a fault never took effect or met nobody, the lock was
    /// never contended, or the property had no opportunity while a fault mattered.
    Inconclusive {
        /// The reason, in words.
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
    /// The clients responsible or affected, the earlier holder first.
    pub clients: Vec<Name>,
    /// The violation in a sentence.
    pub what: String,
}

impl From<Option<Violation>> for Verdict {
    fn from(violation: Option<Violation>) -> Verdict {
        violation.map_or(Verdict::Holds, Verdict::Violated)
    }
}
