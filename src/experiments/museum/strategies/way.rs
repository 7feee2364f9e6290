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
use crate::place::{KINDS, STANDARD_LEASE_MS};
use crate::strategy::{Chosen, Kinds, Rehearsals, Source, Strategy, Turn, Workload};

/// A strategy, and the workload on which it searches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Way {
    /// What `locklab campaign` does without options, with the lock of the exhibit.
    Campaign,
    /// The workload of `place`: once for faults at steps, over and over for drawn ones.
    Place(Strategy),
    /// `steps`, with the only fault that a message is late.
    Late,
}

impl Way {
    /// All ways, in the order of columns.
    pub(super) const ALL: [Way; 6] = [
        Way::Campaign,
        Way::Place(Strategy::Uniform),
        Way::Place(Strategy::Swarm),
        Way::Place(Strategy::Steps),
        Way::Late,
        Way::Place(Strategy::Mixed),
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
            Way::Place(Strategy::Mixed) => "mixed: late, steps and swarm in turn".into(),
            Way::Place(strategy) => format!("{}: two clients, for 20 s", strategy.name()),
        }
    }

    /// What it does, with this kind of fault or all.
    fn turns(self, only: Option<&str>) -> Vec<Turn> {
        let kinds = only.map_or(Kinds::All, |only| Kinds::Named(only.to_owned()));
        match self {
            Way::Campaign => Strategy::Uniform.turns(&kinds),
            Way::Place(strategy @ (Strategy::Uniform | Strategy::Swarm)) => {
                vec![Turn::new(strategy, Workload::Repeated, kinds)]
            }
            Way::Place(strategy) => strategy.turns(&kinds),
            Way::Late => {
                let late = kinds.late().unwrap_or(Kinds::Of(vec![]));
                Strategy::Steps.turns(&late)
            }
        }
    }
}

/// The scenario on which an exhibit with these overrides is searched.
fn scenario(
    workload: Workload,
    exhibit: &Exhibit,
    layers: &[&[String]],
) -> anyhow::Result<Scenario> {
    let mut base = workload.sets();
    let mut sets = layers.iter().copied().flatten();
    if sets.any(|set| set.starts_with("topology.nodes=")) {
        // As `locklab campaign` has it: nodes of a majority have no replicas.
        base.extend(["topology.replicas=0", "topology.sentinels=0"].map(String::from));
    }
    let mut scenario = scenario::load(workload.scenario(), &upper(&base, layers))?;
    if let (Some(campaign), Some(only)) = (&mut scenario.campaign, &exhibit.fault) {
        campaign.faults = drawn_kinds(only);
    }
    scenario.expect.clear();
    scenario::check(&scenario).map_err(|error| anyhow!(error))?;
    Ok(scenario)
}

/// The scenario on which a lock of the catalogue is searched, with these overrides.
fn scenario_of(workload: Workload, row: &Row, sets: &[String]) -> anyhow::Result<Scenario> {
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
    let sets = upper(&workload.sets(), &[&sets]);
    put_in(row, workload.scenario(), &sets, &setting).map_err(|error| anyhow!(error))
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
    /// Of each turn.
    mended: Vec<Scenario>,
}

impl Search {
    /// For an exhibit, whose mended form is another scenario.
    pub(super) fn of(way: Way, exhibit: &Exhibit) -> anyhow::Result<Search> {
        let sick = |workload| scenario(workload, exhibit, &[&exhibit.sets]);
        let mended = |workload| scenario(workload, exhibit, &[&exhibit.sets, &exhibit.mended]);
        Search::new(way, exhibit.fault.as_deref(), sick, mended)
    }

    /// For a mistake in the code of this lock, which only one process has: the scenario is the same.
    pub(super) fn of_code(way: Way, row: &Row, sets: &[String]) -> anyhow::Result<Search> {
        let of = |workload| scenario_of(workload, row, sets);
        Search::new(way, None, of, of)
    }

    fn new(
        way: Way,
        only: Option<&str>,
        sick: impl Fn(Workload) -> anyhow::Result<Scenario>,
        mended: impl Fn(Workload) -> anyhow::Result<Scenario>,
    ) -> anyhow::Result<Search> {
        let (mut ways, mut all_mended) = (vec![], vec![]);
        for turn in way.turns(only) {
            all_mended.push(mended(turn.workload)?);
            let sick = sick(turn.workload)?;
            ways.push((turn, sick));
        }
        Ok(Search {
            way,
            sick: Source::new(0, ways),
            mended: all_mended,
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
        let mended = &self.mended[self.sick.turn(sighting.seed)];
        let seed = self.sick.world_seed(sighting.seed);
        let mut mended = mended.drawn(seed).scenario.into_owned();
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
