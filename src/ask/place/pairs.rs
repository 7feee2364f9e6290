//! Two faults: every fault followed by every other one.
//!
//! The second is placed in the run that has the first, at the steps from there on, because the first
//! changes what follows. So each pair is run in the order in which its faults strike; two faults at one
//! step are run once. Where the first never takes effect (a process that has ended), the run is that of the
//! second alone, and its pairs are not run.

use std::collections::BTreeMap;

use locklab_check::Property;
use locklab_history::{Event, Phase, Step};
use locklab_runner::RunError;
use locklab_runner::batch::Part;
use locklab_runner::judged::{self, JudgedRun};
use locklab_runner::simulate::Keep;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::classes::{Class, classes, schedule};
use super::kinds::{KINDS, Target};
use super::outcome::{Does, Outcome};
use super::subject::{Baseline, as_override};

/// As many pairs are listed for each first fault.
const MOST_LISTED: usize = 5;

/// What came of pairs.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Pairs {
    /// How many pairs of placements there are.
    pub(super) placements: u64,
    /// How many pairs of classes were run.
    pub(super) runs: u64,
    /// How many first faults never took effect.
    pub(super) without_effect: u64,
    /// What the pairs do: how many of the runs, and of the placements.
    pub(super) does: BTreeMap<Does, (u64, u64)>,
    /// How many runs violate each of these, and how many of those do so although neither fault would
    /// alone.
    pub(super) violated: BTreeMap<Property, (u64, u64)>,
    /// For the kinds of the first and the second: how many violate the lease or the resource although
    /// neither fault would alone.
    pub(super) kinds: Vec<((usize, usize), u64)>,
    /// Some of these.
    pub(super) listed: Vec<Listed>,
}

/// A pair that violates what neither of its faults would alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Listed {
    pub(super) seed: u64,
    /// Both faults: kind, target and step.
    pub(super) faults: [String; 2],
    pub(super) violates: Vec<Property>,
    /// Both faults as an override of the scenario.
    pub(super) set: String,
}

/// The single faults of a run, to look up what the second of a pair does alone.
pub(super) struct Singles<'a> {
    baseline: &'a Baseline,
    /// The outcomes that are known: in a shard, some.
    outcomes: &'a BTreeMap<u64, Outcome>,
    classes: BTreeMap<(usize, &'a Target, &'a Step), usize>,
}

impl<'a> Singles<'a> {
    pub(super) fn of(baseline: &'a Baseline, outcomes: &'a BTreeMap<u64, Outcome>) -> Self {
        let mut classes = BTreeMap::new();
        for (number, class) in baseline.singles.iter().enumerate() {
            for at in &class.steps {
                let step = &baseline.log.steps[*at].step;
                classes.insert((class.kind, &class.target, step), number);
            }
        }
        Self {
            baseline,
            outcomes,
            classes,
        }
    }

    /// What the fault of `second` does at this step of the run without faults; `None` if that run has
    /// no such step.
    fn outcome(&self, second: &Class, step: &Step) -> Result<Option<Outcome>, RunError> {
        let Some(&number) = self.classes.get(&(second.kind, &second.target, step)) else {
            return Ok(None);
        };
        if let Some(outcome) = self.outcomes.get(&(number as u64)) {
            return Ok(Some(outcome.clone()));
        }
        let class = &self.baseline.singles[number];
        let run = self.baseline.single(class, Keep::default())?;
        Ok(Some(Outcome::of(&run)))
    }
}

impl Part for Pairs {
    fn join(&mut self, other: Self) {
        self.placements += other.placements;
        self.runs += other.runs;
        self.without_effect += other.without_effect;
        for (does, (runs, placements)) in other.does {
            let all = self.does.entry(does).or_default();
            all.0 += runs;
            all.1 += placements;
        }
        for (property, (all, new)) in other.violated {
            let counts = self.violated.entry(property).or_default();
            counts.0 += all;
            counts.1 += new;
        }
        for (kinds, count) in other.kinds {
            self.count_kinds(kinds, count);
        }
        self.listed.extend(other.listed);
        self.listed
            .sort_by(|one, other| (one.seed, &one.faults).cmp(&(other.seed, &other.faults)));
    }
}

impl Pairs {
    fn count_kinds(&mut self, kinds: (usize, usize), count: u64) {
        match self.kinds.binary_search_by_key(&kinds, |(kinds, _)| *kinds) {
            Ok(place) => self.kinds[place].1 += count,
            Err(place) => self.kinds.insert(place, (kinds, count)),
        }
    }

    /// Runs all pairs whose first fault is this one.
    pub(super) fn add(&mut self, singles: &Singles<'_>, first: usize) -> Result<(), RunError> {
        let baseline = singles.baseline;
        let first = &baseline.singles[first];
        let run = baseline.single(first, Keep::STEPS)?;
        if is_missed(&run) {
            self.without_effect += 1;
            return Ok(());
        }
        let alone = Outcome::of(&run);
        let log = run.steps.unwrap_or_default();
        // Up to there the run is that without faults, so its steps are the same.
        let struck_at = first.run_at();
        let seconds = classes(&log, &baseline.setting, |at, kind, target| {
            at > struck_at || at == struck_at && (kind, target) > (first.kind, &first.target)
        });
        let first_fault = first.fault(&baseline.log.steps, &baseline.setting);
        for second in &seconds {
            let fault = second.fault(&log.steps, &baseline.setting);
            let schedule = schedule([first_fault.clone(), fault]);
            let run = judged::run_schedule(
                &baseline.scenario,
                baseline.seed,
                schedule.clone(),
                Keep::default(),
            )?;
            let outcome = Outcome::of(&run);
            let stands_for = (first.steps.len() * second.steps.len()) as u64;
            self.runs += 1;
            self.placements += stands_for;
            let does = self.does.entry(outcome.does()).or_default();
            does.0 += 1;
            does.1 += stands_for;
            if outcome.violated.is_empty() {
                continue;
            }
            // The second alone: the same fault at the same step of the run without faults.
            let step = &log.steps[second.run_at()].step;
            let second_alone = singles.outcome(second, step)?;
            let is_new = |property: &Property| {
                !alone.violates(*property)
                    && !second_alone
                        .as_ref()
                        .is_some_and(|it| it.violates(*property))
            };
            let new: Vec<Property> = outcome.violated.iter().copied().filter(is_new).collect();
            for property in &outcome.violated {
                let counts = self.violated.entry(*property).or_default();
                counts.0 += 1;
                counts.1 += u64::from(new.contains(property));
            }
            let matters = |property| [Property::Lease, Property::Resource].contains(property);
            if new.iter().any(matters) {
                self.count_kinds((first.kind, second.kind), 1);
                if self.listed.len() < MOST_LISTED {
                    let first = (first, &baseline.step(first).step);
                    let describe = |(class, step): (&Class, &Step)| {
                        format!("{} of {} at {step}", class.kind().name, class.target)
                    };
                    self.listed.push(Listed {
                        seed: baseline.seed,
                        faults: [describe(first), describe((second, step))],
                        violates: new,
                        set: as_override(&schedule),
                    });
                }
            }
        }
        Ok(())
    }
}

/// Whether the fault of a run never took effect.
fn is_missed(run: &JudgedRun) -> bool {
    let is_missed = |event: &Event| {
        matches!(
            event,
            Event::Fault {
                phase: Phase::Missed,
                ..
            }
        )
    };
    run.history
        .records
        .iter()
        .any(|record| is_missed(&record.event))
}

/// All pairs, for programs; nothing if none were run.
pub(super) fn summary(pairs: &[&Pairs]) -> Value {
    if pairs.is_empty() {
        return Value::Null;
    }
    let all = joined(pairs);
    let kinds = { all.kinds.iter() }.map(|((first, second), count)| {
        json!({ "first": KINDS[*first].name, "second": KINDS[*second].name, "runs": count })
    });
    let does = { all.does.iter() }.map(|(does, (runs, placements))| {
        let counts = json!({ "runs": runs, "placements": placements });
        (does.name().to_owned(), counts)
    });
    let violated = { all.violated.iter() }.map(|(property, (runs, new))| {
        let counts = json!({ "runs": runs, "by_neither_alone": new });
        (property.name().to_owned(), counts)
    });
    json!({
        "placements": all.placements,
        "runs": all.runs,
        "first_without_effect": all.without_effect,
        "does": does.collect::<Map<_, _>>(),
        "violated": violated.collect::<Map<_, _>>(),
        "kinds": kinds.collect::<Vec<_>>(),
        "listed": all.listed,
    })
}

/// All pairs together.
pub(super) fn joined(pairs: &[&Pairs]) -> Pairs {
    let mut all = Pairs::default();
    pairs.iter().for_each(|pairs| all.join((*pairs).clone()));
    all
}
