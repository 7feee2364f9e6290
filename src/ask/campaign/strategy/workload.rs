//! The workloads on which strategies search.

use crate::place::{STANDARD, standard_sets};

/// What the clients do, on which hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Workload {
    /// That of a campaign: `problems/campaign`, 40 s with up to five clients and drawn hosts.
    Campaign,
    /// That of `place`: two clients take the lock once each.
    Once,
    /// The same clients take the lock in turn for 20 s, and faults are drawn.
    Repeated,
}

/// The scenario of which every seed draws another.
const CAMPAIGN: &str = "problems/campaign";

/// What makes the workload of `place` one with the faults of a campaign: the clients go on taking the lock in
/// turn until the end, and faults are drawn for 15 s, as in `problems/campaign`. The hosts are given.
const REPEATED: [&str; 3] = [
    "workload.rounds=100000",
    "settle_ms=3000",
    "campaign={ hosts = \"given\", begins_ms = 0, heals_ms = 15000 }",
];

/// A run of `place` judges no recovery. Here it does, as in `problems/campaign`: a mix counts its runs together, so all
/// of them are judged for the same properties.
const SETTLES: &str = "settle_ms=10000";

impl Workload {
    /// The scenario.
    pub(crate) fn scenario(self) -> &'static str {
        match self {
            Workload::Campaign => CAMPAIGN,
            Workload::Once | Workload::Repeated => STANDARD,
        }
    }

    /// What is changed there.
    pub(crate) fn sets(self) -> Vec<String> {
        match self {
            Workload::Campaign => vec![],
            // One round is as good as a hundred for faults at steps, and takes a hundredth of the time.
            Workload::Once => {
                let mut sets = standard_sets();
                sets.push(SETTLES.into());
                sets
            }
            Workload::Repeated => {
                let mut sets = standard_sets();
                sets.retain(|set| !set.starts_with("workload.rounds="));
                sets.extend(REPEATED.map(String::from));
                sets
            }
        }
    }
}
