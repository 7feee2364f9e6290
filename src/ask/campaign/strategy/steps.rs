//! One to three faults at steps of a run without faults: what `place` places one after the other, drawn.

use std::borrow::Cow;

use locklab_history::{Fault, FaultKind, Name, Schedule};
use locklab_model::scenario::{Drawn, Scenario};
use locklab_runner::simulate::Keep;
use locklab_runner::steps::SeenStep;
use locklab_runner::{RunError, judged};
use locklab_values::random::Stream;
use locklab_vecmap::VecMap;
use serde::Serialize;

use super::Space;
use crate::place::{Class, KINDS, Kind, Setting, Target, schedule, without_faults};

/// The kinds of fault that are placed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kinds {
    /// All of them.
    All,
    /// Those that are of these kinds in scenarios.
    Of(Vec<FaultKind>),
    /// The one with this name.
    Named(String),
}

/// A message that arrives a lease and a half late, as `place` calls it.
const LATE: &str = "message late";

impl Kinds {
    /// Only late messages; `None` if they are not among these kinds. Where time passes, being late is what a low priority
    /// of a message comes to (B. K. Ozkan et al., OOPSLA 2018).
    pub(crate) fn late(&self) -> Option<Kinds> {
        let late = KINDS.iter().find(|kind| kind.name == LATE)?;
        self.have(late).then(|| Kinds::Named(LATE.into()))
    }

    /// Whether there is any.
    pub(crate) fn exist(&self) -> bool {
        KINDS.iter().any(|kind| self.have(kind))
    }

    fn have(&self, kind: &Kind) -> bool {
        match self {
            Kinds::All => true,
            Kinds::Of(kinds) => kinds.contains(&kind.fault_kind()),
            Kinds::Named(name) => kind.name == name,
        }
    }
}

/// How many consecutive seeds share a world, which draws everything but the faults, and so the run without faults. Made
/// for each seed, that run would take half of the time.
pub(super) const GROUP: u64 = 16;

/// The seed with which the run of this one is simulated: the first of its group.
pub(super) fn world_seed(seed: u64) -> u64 {
    seed - seed % GROUP
}

/// The faults of this seed, in the run without faults of its group.
pub(super) fn choose(rehearsal: &Rehearsal, seed: u64) -> Drawn<'static> {
    let placements = &rehearsal.placements;
    let mut stream = Stream::new(seed, "search/steps");
    let faults = (0..number(&mut stream)).filter_map(|_| placements.draw(&mut stream));
    let faults: Vec<Fault> = faults.collect();
    Drawn {
        scenario: Cow::Owned(rehearsal.scenario.clone()),
        schedule: schedule(faults),
    }
}

/// One, two or three: of six seeds three have one fault, two have two, and one has three.
fn number(stream: &mut Stream) -> usize {
    [1, 1, 1, 2, 2, 3][stream.below(6) as usize]
}

/// A run without faults, and all that can be placed at its steps.
#[derive(Debug)]
pub(super) struct Rehearsal {
    /// The scenario as the group draws it, without its faults.
    scenario: Scenario,
    placements: Placements,
}

impl Rehearsal {
    /// Makes the run with this seed.
    pub(super) fn of(
        scenario: &Scenario,
        world_seed: u64,
        kinds: &Kinds,
    ) -> Result<Rehearsal, RunError> {
        let bare = without_faults(scenario, world_seed);
        let run = judged::run_schedule(&bare, world_seed, Schedule::default(), Keep::STEPS)?;
        let steps = run.steps.unwrap_or_default().steps;
        Ok(Rehearsal {
            placements: Placements::of(steps, Setting::of(&bare), kinds.clone()),
            scenario: bare,
        })
    }

    pub(super) fn space(&self) -> Space {
        Space {
            steps: self.placements.steps.len() as u64,
            placements: self.placements.count(),
        }
    }
}

/// The message that leaves at a step.
type Leaving<'s> = Option<(&'s Name, &'s Name)>;

/// Every kind of fault on every target, at every step.
#[derive(Debug)]
struct Placements {
    steps: Vec<SeenStep>,
    setting: Setting,
    kinds: Kinds,
    /// How many placements there are before the end of each step.
    until: Vec<u64>,
}

impl Placements {
    fn of(steps: Vec<SeenStep>, setting: Setting, kinds: Kinds) -> Placements {
        let mut placements = Placements {
            until: Vec::with_capacity(steps.len()),
            steps: vec![],
            setting,
            kinds,
        };
        // What can be struck depends on nothing else of a step.
        let mut known: VecMap<Leaving<'_>, u64> = VecMap::new();
        let mut sum = 0;
        for seen in &steps {
            let key = seen.step.departure();
            sum += *{ known.entry(key) }.or_insert_with(|| placements.at(seen).count() as u64);
            placements.until.push(sum);
        }
        Placements {
            steps,
            ..placements
        }
    }

    fn count(&self) -> u64 {
        self.until.last().copied().unwrap_or_default()
    }

    /// The kinds and their targets at a step.
    fn at(&self, seen: &SeenStep) -> impl Iterator<Item = (usize, Target)> {
        let step = seen.step.clone();
        let kinds = KINDS.iter().enumerate();
        let kinds = kinds.filter(|(_, kind)| self.kinds.have(kind));
        kinds.flat_map(move |(place, kind)| {
            let targets = kind.targets(&self.setting.hosts, step.departure());
            targets.into_iter().map(move |target| (place, target))
        })
    }

    /// One of them, each as likely as any other; nothing if there is none.
    fn draw(&self, stream: &mut Stream) -> Option<Fault> {
        let number = stream.below(self.count());
        let at = self.until.partition_point(|until| *until <= number);
        let seen = self.steps.get(at)?;
        let before = at.checked_sub(1).map_or(0, |before| self.until[before]);
        let (kind, target) = self.at(seen).nth((number - before) as usize)?;
        let class = Class {
            kind,
            target,
            steps: vec![at],
        };
        Some(class.fault(&self.steps, &self.setting))
    }
}
