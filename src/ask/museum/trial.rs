//! One run with a mistake, and the same run without it.

use std::borrow::Cow;

use locklab_check::{Property, Verdict};
use locklab_history::{Event, Fault, Name, RESOURCE, Schedule, Start};
use locklab_model::scenario::{Drawn, Scenario};
use locklab_runner::RunError;
use locklab_runner::judged::{self, JudgedRun};
use locklab_runner::simulate::Keep;
use locklab_vecmap::VecMap;
use serde::{Deserialize, Serialize};

use crate::place::{Baseline, Target, as_override, schedule};
use locklab_lab::Program;

/// What came of a run with the mistake, and of the same run without it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Trial {
    /// With the mistake, the property is not violated.
    Sound,
    /// It is violated with the mistake and without it.
    Both,
    /// It is violated with the mistake; without it the run could not have violated it.
    Inconclusive,
    /// It is violated with the mistake, and holds without it.
    Mended,
}

/// The runs that can show an exhibit: with the mistake, and without it.
pub(super) enum Runs {
    /// One fault at each step of a run without faults.
    Placements {
        baseline: Box<Baseline>,
        mended: Box<Scenario>,
    },
    /// The seeds of a scenario.
    Seeds {
        sick: Box<Scenario>,
        mended: Box<Scenario>,
    },
}

impl Runs {
    /// With placements of this kind of fault, or of all.
    pub(super) fn placements(
        sick: &Scenario,
        mended: Scenario,
        kind: Option<&str>,
    ) -> Result<Runs, RunError> {
        let mut baseline = Box::new(Baseline::of(sick, 0)?);
        let singles = &mut baseline.singles;
        singles.retain(|class| kind.is_none_or(|kind| class.kind().name == kind));
        let mended = Box::new(mended);
        Ok(Runs::Placements { baseline, mended })
    }

    pub(super) fn seeds(sick: Scenario, mended: Scenario) -> Runs {
        Runs::Seeds {
            sick: Box::new(sick),
            mended: Box::new(mended),
        }
    }

    /// How many there are.
    pub(super) fn count(&self) -> u64 {
        match self {
            Runs::Placements { baseline, .. } => baseline.singles.len() as u64,
            Runs::Seeds { sick, .. } => sick.usual_seeds(),
        }
    }

    /// Everything that they depend on.
    pub(super) fn identity(&self) -> impl Serialize {
        match self {
            Runs::Placements { baseline, mended } => (&baseline.scenario, &**mended),
            Runs::Seeds { sick, mended } => (&**sick, &**mended),
        }
    }

    /// The run with the mistake: its scenario, seed and faults.
    pub(super) fn sick(&self, number: u64) -> (Cow<'_, Scenario>, u64, Schedule) {
        match self {
            Runs::Placements { baseline, .. } => {
                let class = &baseline.singles[number as usize];
                let fault = class.fault(&baseline.log.steps, &baseline.setting);
                (
                    Cow::Borrowed(&baseline.scenario),
                    baseline.seed,
                    schedule([fault]),
                )
            }
            Runs::Seeds { sick, .. } => {
                let Drawn { scenario, schedule } = sick.drawn(number);
                (scenario, number, schedule)
            }
        }
    }

    /// Makes both runs; the second only if it matters.
    pub(super) fn trial(&self, number: u64, property: Property) -> Result<Trial, RunError> {
        let (scenario, seed, schedule) = self.sick(number);
        let sick = judged::run_schedule(&scenario, seed, schedule.clone(), Keep::default())?;
        if !sick.violates(property) {
            return Ok(Trial::Sound);
        }
        match self {
            Runs::Placements { baseline, mended } => {
                let again = |faults| -> Result<Trial, RunError> {
                    let run = judged::run_schedule(mended, seed, faults, Keep::default())?;
                    Ok(Trial::of_mended(&run, property))
                };
                let at_ns = baseline.step(&baseline.singles[number as usize]).at_ns;
                // The mended lock may have no such step: then the fault strikes at the same time.
                match again(schedule.clone())? {
                    Trial::Inconclusive => again(at_the_time(schedule, at_ns)),
                    trial => Ok(trial),
                }
            }
            Runs::Seeds { mended, .. } => {
                let run = judged::run(mended, seed, Keep::default())?;
                Ok(Trial::of_mended(&run, property))
            }
        }
    }

    /// Which of several runs a reader would rather see: one whose fault strikes a client, and an early one.
    pub(super) fn rank(&self, number: u64) -> (bool, u64) {
        match self {
            Runs::Placements { baseline, .. } => {
                let class = &baseline.singles[number as usize];
                let topology = &baseline.scenario.topology;
                let is_client = |host: &str| topology.role(host).is_none() && host != RESOURCE;
                let strikes_client = matches!(&class.target, Target::Host(host) if is_client(host));
                (!strikes_client, baseline.step(class).at_ns)
            }
            Runs::Seeds { .. } => (false, number),
        }
    }

    /// What happens in the run, in words.
    pub(super) fn what(&self, number: u64) -> String {
        match self {
            Runs::Placements { baseline, .. } => {
                let class = &baseline.singles[number as usize];
                let step = &baseline.step(class).step;
                format!("{} of {} at “{step}”", class.kind().name, class.target)
            }
            Runs::Seeds { sick, .. } => format!("{}, seed {number}", sick.name),
        }
    }

    /// The command that repeats it.
    pub(super) fn command(&self, number: u64, program: &Program) -> String {
        let (scenario, seed, schedule) = self.sick(number);
        let mut sets = scenario.overrides.clone();
        if let Runs::Placements { .. } = self {
            sets.push(as_override(&schedule));
        }
        program.run_line(&scenario.name, &sets, seed)
    }
}

impl Trial {
    /// After a run that violates the property with the mistake: what comes of it without.
    pub(super) fn of_mended(run: &JudgedRun, property: Property) -> Trial {
        match run.verdicts.get(&property) {
            Some(Verdict::Violated(_)) => Trial::Both,
            Some(Verdict::Holds) => Trial::Mended,
            Some(Verdict::Inconclusive { .. }) | None => Trial::Inconclusive,
        }
    }
}

/// The same faults, all at this time.
fn at_the_time(schedule: Schedule, at_ns: u64) -> Schedule {
    let at = |fault| Fault {
        start: Start::At { at_ns },
        ..fault
    };
    Schedule {
        faults: schedule.faults.into_iter().map(at).collect(),
    }
}

/// The faults of a run, each at the time at which it took effect.
pub(super) fn at_their_times(run: &JudgedRun) -> Schedule {
    let mut began: VecMap<&Name, u64> = VecMap::new();
    for record in &run.history.records {
        if let Event::Fault { fault, .. } = &record.event
            && record.event.is_fault_beginning()
        {
            began.entry(fault).or_insert(record.at_ns);
        }
    }
    let at_its_time = |fault: &Fault| match began.get(&fault.name) {
        Some(&at_ns) => Fault {
            start: Start::At { at_ns },
            ..fault.clone()
        },
        None => fault.clone(),
    };
    Schedule {
        faults: run.schedule.faults.iter().map(at_its_time).collect(),
    }
}
