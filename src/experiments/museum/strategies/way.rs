//! The ways of searching: a strategy, and the workload on which it searches.

use anyhow::anyhow;
use locklab_check::Property;
use locklab_history::{FaultKind, Schedule};
use locklab_matrix::{Row, Setting, put_in};
use locklab_model::scenario::{self, Scenario};
use locklab_museum::Exhibit;
use locklab_runner::RunError;
use locklab_runner::judged;
use locklab_runner::simulate::Keep;
use serde::Serialize;

use super::sighting::Sighting;
use crate::museum::trial::Trial;
use crate::museum::upper;
use crate::place::{KINDS, STANDARD, STANDARD_LEASE_MS, standard_sets};
use crate::strategy::{Chosen, Kinds, Rehearsals, Source, Strategy};

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

    /// The kinds of fault that are placed, of this one or of all.
    fn kinds(self, only: Option<&str>) -> Kinds {
        match (self, only) {
            (Way::Late, Some(only)) if only != LATE => Kinds::Of(vec![]),
            (Way::Late, _) => Kinds::Named(LATE.into()),
            (_, Some(only)) => Kinds::Named(only.to_owned()),
            (_, None) => Kinds::All,
        }
    }

    /// The scenario on which it searches, and what is changed there.
    fn workload(self) -> (&'static str, Vec<String>) {
        if self == Way::Campaign {
            return (CAMPAIGN, vec![]);
        }
        let mut sets = standard_sets();
        if let Way::Place(Strategy::Uniform | Strategy::Swarm) = self {
            sets.retain(|set| !set.starts_with("workload.rounds="));
            sets.extend(REPEATED.map(String::from));
        }
        (STANDARD, sets)
    }

    /// The scenario on which an exhibit with these overrides is searched.
    fn scenario(self, exhibit: &Exhibit, layers: &[&[String]]) -> anyhow::Result<Scenario> {
        let (name, mut base) = self.workload();
        let mut sets = layers.iter().copied().flatten();
        if sets.any(|set| set.starts_with("topology.nodes=")) {
            // As `locklab campaign` has it: nodes of a majority have no replicas.
            base.extend(["topology.replicas=0", "topology.sentinels=0"].map(String::from));
        }
        let mut scenario = scenario::load(name, &upper(&base, layers))?;
        if let (Some(campaign), Some(only)) = (&mut scenario.campaign, &exhibit.fault) {
            campaign.faults = drawn_kinds(only);
        }
        scenario.expect.clear();
        scenario::check(&scenario).map_err(|error| anyhow!(error))?;
        Ok(scenario)
    }

    /// The scenario on which a lock of the catalogue is searched, with these overrides.
    fn scenario_of(self, row: &Row, sets: &[String]) -> anyhow::Result<Scenario> {
        let (name, base) = self.workload();
        let (of_lock, sets): (Vec<String>, Vec<String>) =
            { sets.iter().cloned() }.partition(|set| set.starts_with("lock."));
        let of_lock: Vec<&str> = of_lock
            .iter()
            .filter_map(|set| set.strip_prefix("lock."))
            .collect();
        let setting = Setting {
            lease_ms: STANDARD_LEASE_MS,
            parameters: of_lock.join("\n").parse()?,
        };
        put_in(row, name, &upper(&base, &[&sets]), &setting).map_err(|error| anyhow!(error))
    }
}

/// The kind of fault of a campaign that is the same as one that is placed.
fn drawn_kinds(placed: &str) -> Vec<FaultKind> {
    let kinds = KINDS.iter().filter(|kind| kind.name == placed);
    kinds.map(|kind| kind.fault_kind()).collect()
}

/// A search for a mistake in one way.
#[derive(Serialize)]
pub(super) struct Search {
    way: Way,
    sick: Source,
    mended: Scenario,
}

impl Search {
    /// For an exhibit, whose mended form is another scenario.
    pub(super) fn of(way: Way, exhibit: &Exhibit) -> anyhow::Result<Search> {
        let kinds = way.kinds(exhibit.fault.as_deref());
        let sick = way.scenario(exhibit, &[&exhibit.sets])?;
        Ok(Search {
            way,
            sick: Source::new(0, way.strategy(), kinds, sick),
            mended: way.scenario(exhibit, &[&exhibit.sets, &exhibit.mended])?,
        })
    }

    /// For a mistake in the code of this lock, which only one process has: the scenario is the same.
    pub(super) fn of_code(way: Way, row: &Row, sets: &[String]) -> anyhow::Result<Search> {
        let scenario = way.scenario_of(row, sets)?;
        Ok(Search {
            way,
            sick: Source::new(0, way.strategy(), way.kinds(None), scenario.clone()),
            mended: scenario,
        })
    }

    /// The run of a seed.
    pub(super) fn choose(
        &self,
        seed: u64,
        rehearsals: &Rehearsals,
    ) -> Result<Chosen<'_>, RunError> {
        self.sick.choose(seed, rehearsals)
    }

    /// What comes of a violating run without the mistake: with the same faults, or at the same times if there are
    /// no such steps.
    pub(super) fn mended(
        &self,
        sighting: &Sighting,
        property: Property,
    ) -> Result<Trial, RunError> {
        let seed = self.way.strategy().world_seed(sighting.seed);
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
        match again(sighting.faults.clone())? {
            Trial::Inconclusive => again(sighting.at_their_times.clone()),
            trial => Ok(trial),
        }
    }
}
