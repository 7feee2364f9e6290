//! What a fault at a step does.

use locklab_check::{Property, Verdict};
use locklab_runner::judged::JudgedRun;
use serde::{Deserialize, Serialize};

/// The outcome of one run with a placed fault.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Outcome {
    /// The properties that it violates.
    #[serde(rename = "v", default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) violated: Vec<Property>,
    /// Whether the run could have shown that the lease or the resource is violated.
    #[serde(rename = "c")]
    pub(crate) is_conclusive: bool,
}

/// What a fault does, in one word: the first that applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Does {
    /// It violates the lease, and perhaps more.
    Lease,
    /// It violates the resource.
    Resource,
    /// The lock is free, and a client waits for it in vain.
    Deadlock,
    /// The same while nodes or the network are at fault: every lock does so that has no majority of its nodes.
    Availability,
    /// Something else is violated.
    Other,
    /// Only `belief` is violated, as by every lock with a lease as soon as a holder outlives it.
    Belief,
    /// The run could not have shown a violation of lease or resource.
    Inconclusive,
    /// No property is violated.
    Nothing,
}

impl Does {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Does::Lease => "lease",
            Does::Resource => "resource",
            Does::Deadlock => "deadlock",
            Does::Availability => "availability",
            Does::Other => "other",
            Does::Belief => "belief",
            Does::Inconclusive => "inconclusive",
            Does::Nothing => "nothing",
        }
    }
}

impl Outcome {
    pub(crate) fn of(run: &JudgedRun) -> Self {
        let violated = |(property, verdict): (&Property, &Verdict)| match verdict {
            Verdict::Violated(_) => Some(*property),
            _ => None,
        };
        let is_conclusive = |property: &Property| {
            let verdict = run.verdicts.get(property);
            matches!(verdict, Some(Verdict::Holds | Verdict::Violated(_)))
        };
        Outcome {
            violated: run.verdicts.iter().filter_map(violated).collect(),
            is_conclusive: [Property::Lease, Property::Resource]
                .iter()
                .any(is_conclusive),
        }
    }

    /// Whether it violates this property.
    pub(crate) fn violates(&self, property: Property) -> bool {
        self.violated.contains(&property)
    }

    /// What the fault does.
    pub(crate) fn does(&self) -> Does {
        match () {
            () if self.violates(Property::Lease) => Does::Lease,
            () if self.violates(Property::Resource) => Does::Resource,
            () if self.violates(Property::Deadlock) => Does::Deadlock,
            () if self.violates(Property::Availability) => Does::Availability,
            () if self.violated == [Property::Belief] => Does::Belief,
            () if !self.violated.is_empty() => Does::Other,
            () if !self.is_conclusive => Does::Inconclusive,
            () => Does::Nothing,
        }
    }
}
