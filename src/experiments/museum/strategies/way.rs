//! The ways of searching: a strategy, and the workload on which it searches.

use anyhow::anyhow;
use locklab_check::Property;
use locklab_history::{FaultKind, Schedule};
use locklab_model::scenario::{self, Scenario};
use locklab_museum::Exhibit;
use locklab_runner::RunError;
use locklab_runner::judged::{self, JudgedRun};
use locklab_runner::simulate::Keep;
use serde::Serialize;

use crate::museum::trial::{Trial, at_their_times};
use crate::museum::upper;
use crate::place::{KINDS, STANDARD, standard_sets};
use crate::strategy::{Chosen, Kinds, Strategy};

/// What `locklab campaign` runs.
const CAMPAIGN: &str = "problems/campaign";

/// What makes the workload of `place` one with the faults of a campaign: the clients go on taking the lock in
/// turn until the end, and faults are drawn for 15 s, as in `problems/campaign`. The hosts are those of the
/// exhibit.
const REPEATED: [&str; 3] = [
    "workload.rounds=100000",
    "settle_ms=3000",
    "campaign={ hosts = \"given\", begins_ms = 0, heals_ms = 15000 }",
];

/// A strategy, and the workload on which it searches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Way {
    /// What `locklab campaign` does without options, with the lock of the exhibit.
    Campaign,
    /// The workload of `place`: once for faults at steps, over and over for drawn ones.
    Place(Strategy),
    /// `steps`, with the only fault that a message is late: what is left of priorities of messages (B. K. Ozkan et
    /// al., OOPSLA 2018) where time passes too.
    Late,
}

/// That fault, as `place` calls it.
const LATE: &str = "message late";

impl Way {
    /// All ways, in the order of columns.
    pub(super) const ALL: [Way; 5] = [
        Way::Campaign,
        Way::Place(Strategy::Uniform),
        Way::Place(Strategy::Swarm),
        Way::Place(Strategy::Steps),
        Way::Late,
    ];

    /// Its name.
    pub(super) fn name(self) -> &'static str {
        match self {
            Way::Campaign => "campaign",
            Way::Place(strategy) => strategy.name(),
            Way::Late => "late",
        }
    }

    /// Its description, for the heading of a column.
    pub(super) fn describe(self) -> String {
        match self {
            Way::Campaign => "campaign: uniform, on problems/campaign".into(),
            Way::Place(Strategy::Steps) => "steps: two clients, one round each".into(),
            Way::Late => "late: steps, with late messages only".into(),
            Way::Place(strategy) => format!("{}: two clients, for 20 s", strategy.name()),
        }
    }

    fn strategy(self) -> Strategy {
        match self {
            Way::Campaign => Strategy::Uniform,
            Way::Place(strategy) => strategy,
            Way::Late => Strategy::Steps,
        }
    }

    /// The kinds of fault that are placed for an exhibit.
    fn kinds(self, exhibit: &Exhibit) -> Kinds {
        match (self, &exhibit.fault) {
            (Way::Late, Some(only)) if only != LATE => Kinds::Of(vec![]),
            (Way::Late, _) => Kinds::Named(LATE.into()),
            (_, Some(only)) => Kinds::Named(only.clone()),
            (_, None) => Kinds::All,
        }
    }

    /// The scenario on which an exhibit with these overrides is searched.
    fn scenario(self, exhibit: &Exhibit, layers: &[&[String]]) -> anyhow::Result<Scenario> {
        let mut base = match self {
            Way::Campaign => vec![],
            Way::Place(_) | Way::Late => standard_sets(),
        };
        if let Way::Place(Strategy::Uniform | Strategy::Swarm) = self {
            base.retain(|set| !set.starts_with("workload.rounds="));
            base.extend(REPEATED.map(String::from));
        }
        let mut sets = layers.iter().copied().flatten();
        if sets.any(|set| set.starts_with("topology.nodes=")) {
            // As `locklab campaign` has it: nodes of a majority have no replicas.
            base.extend(["topology.replicas=0", "topology.sentinels=0"].map(String::from));
        }
        let name = match self {
            Way::Campaign => CAMPAIGN,
            Way::Place(_) | Way::Late => STANDARD,
        };
        let mut scenario = scenario::load(name, &upper(&base, layers))?;
        if let (Some(campaign), Some(only)) = (&mut scenario.campaign, &exhibit.fault) {
            campaign.faults = drawn_kinds(only);
        }
        scenario.expect.clear();
        scenario::check(&scenario).map_err(|error| anyhow!(error))?;
        Ok(scenario)
    }
}

/// The kind of fault of a campaign that is the same as one that is placed.
fn drawn_kinds(placed: &str) -> Vec<FaultKind> {
    let kinds = KINDS.iter().filter(|kind| kind.name == placed);
    kinds.map(|kind| kind.fault_kind()).collect()
}

/// A search for an exhibit in one way.
#[derive(Serialize)]
pub(super) struct Search {
    way: Way,
    /// The kinds of fault that are placed.
    kinds: Kinds,
    sick: Scenario,
    mended: Scenario,
}

impl Search {
    pub(super) fn of(way: Way, exhibit: &Exhibit) -> anyhow::Result<Search> {
        Ok(Search {
            way,
            kinds: way.kinds(exhibit),
            sick: way.scenario(exhibit, &[&exhibit.sets])?,
            mended: way.scenario(exhibit, &[&exhibit.sets, &exhibit.mended])?,
        })
    }

    /// The run of a seed.
    pub(super) fn choose(&self, seed: u64) -> Result<Chosen<'_>, RunError> {
        self.way.strategy().choose(&self.sick, seed, &self.kinds)
    }

    /// What comes of a violating run with the mended lock: with the same faults, or at the same times if it
    /// has no such steps.
    pub(super) fn mended(
        &self,
        seed: u64,
        sick: &JudgedRun,
        property: Property,
    ) -> Result<Trial, RunError> {
        let mut mended = self.mended.drawn(seed).scenario.into_owned();
        mended.fault.clear();
        let hosts = mended.topology.hosts();
        let is_there = |host: &str| hosts.iter().any(|name| name == host);
        let again = |mut schedule: Schedule| -> Result<Trial, RunError> {
            let faults = &mut schedule.faults;
            faults.retain_mut(|fault| fault.effect.keep_hosts(is_there));
            let run = judged::run_schedule(&mended, seed, schedule, Keep::default())?;
            Ok(Trial::of_mended(&run, property))
        };
        match again(sick.schedule.clone())? {
            Trial::Inconclusive => again(at_their_times(sick)),
            trial => Ok(trial),
        }
    }
}
