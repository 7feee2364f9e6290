//! The placements of faults in a run, and which of them are the same.
//!
//! A *placement* is a kind of fault, what it strikes, and the step at which it begins. Many of them make
//! the same run, so a *class* of them is run once. Two rules say which:
//!
//! - **A pause of a host** does nothing until a task of the host would run: the host's kernel still
//!   receives and acknowledges, and its clocks go on. So it makes no difference where between two runs of
//!   its tasks it begins. A step of a *clock of day* is the same, since only a task reads the clock. A
//!   **partition** does nothing until a packet from or to the host is sent. For a fault that ends, its end
//!   has to be the same too: **the length counts from the last step of the class**, the one before that
//!   which the fault holds up. A placement further ahead lasts longer by the time between.
//! - **Any other fault** acts at once, and is the same as another only if nothing happens between: no task
//!   ran, no packet was sent or received, in the whole world. Such steps are at one instant.
//!
//! Both rules need the runs of tasks and the packets of the whole run, not only its steps: a host also
//! runs when a connection opens, and servers have timers of their own. [`StepLog`] has them.
//!
//! A failpoint is a class of its own. A fault there interrupts the task that runs, which then waits for
//! its turn again; the order of tasks is drawn, so the run differs from one in which it went on.
//!
//! The rules leave one thing open: the end of a fault is an event that was put on the queue earlier, or
//! later, than its equals; if another event is due at the very same nanosecond, their order may differ.
//! Also, whether a run is judged conclusive depends on when its fault is recorded to have begun: what it
//! violates does not.
//!
//! `tests` runs all members of all classes of a scenario and compares their histories.

use locklab_history::{Effect, Fault, Schedule, Start, Step};
use locklab_model::scenario::Scenario;
use locklab_runner::steps::{SeenStep, StepLog};
use locklab_vecmap::VecMap;

use super::kinds::{Hosts, KINDS, Kind, Lengths, Same, Target};

/// The name of a placed fault.
const NAME: &str = "placed";

/// Placements that make the same run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Class {
    /// The index of the kind in [`KINDS`].
    pub(crate) kind: usize,
    /// What is struck.
    pub(crate) target: Target,
    /// The steps at which its placements begin, by their index in the run, ascending. The last is the
    /// one that is run.
    pub(crate) steps: Vec<usize>,
}

impl Class {
    /// Its kind.
    pub(crate) fn kind(&self) -> &'static Kind {
        &KINDS[self.kind]
    }

    /// The index of the step at which its fault is run.
    pub(crate) fn run_at(&self) -> usize {
        self.steps[self.steps.len() - 1]
    }

    /// The placement that is run.
    pub(crate) fn fault(&self, steps: &[SeenStep], setting: &Setting) -> Fault {
        self.member(self.run_at(), steps, setting)
    }

    /// One of its placements.
    pub(crate) fn member(&self, at: usize, steps: &[SeenStep], setting: &Setting) -> Fault {
        let kind = self.kind();
        // A class of several steps has a fault that ends at the same time for all, or one that never ends.
        let ahead_ns = steps[self.run_at()].at_ns - steps[at].at_ns;
        let duration_ns = kind.duration_ns(setting.lengths);
        Fault {
            name: NAME.into(),
            start: Start::at_step(steps[at].step.clone(), 0),
            duration_ns: duration_ns.map(|duration_ns| duration_ns + ahead_ns),
            effect: self.effect(setting),
        }
    }

    fn effect(&self, setting: &Setting) -> Effect {
        let (hosts, lengths) = (&setting.hosts, setting.lengths);
        self.kind().effect(&self.target, hosts, lengths)
    }
}

/// What placements need to know of a scenario.
#[derive(Debug, Clone)]
pub(crate) struct Setting {
    /// The hosts.
    pub(crate) hosts: Hosts,
    /// The lengths of faults.
    pub(crate) lengths: Lengths,
}

impl Setting {
    pub(crate) fn of(scenario: &Scenario) -> Setting {
        Setting {
            hosts: Hosts::of(&scenario.topology),
            lengths: Lengths::of(&scenario.lock),
        }
    }
}

/// The schedule of some placed faults.
pub(crate) fn schedule(faults: impl IntoIterator<Item = Fault>) -> Schedule {
    let named = |(place, fault): (usize, Fault)| match place {
        0 => fault,
        place => Fault {
            name: format!("{NAME}-{}", place + 1).into(),
            ..fault
        },
    };
    Schedule {
        faults: faults.into_iter().enumerate().map(named).collect(),
    }
}

/// All classes of placements in a run, at the steps for which `counts` says so: of this index, and for
/// this kind and target.
pub(crate) fn classes(
    log: &StepLog,
    setting: &Setting,
    counts: impl Fn(usize, usize, &Target) -> bool,
) -> Vec<Class> {
    let mut classes: VecMap<(usize, Target, Key), Vec<usize>> = VecMap::new();
    for (at, seen) in log.steps.iter().enumerate() {
        for (place, kind) in KINDS.iter().enumerate() {
            let message = seen.step.departure();
            for target in kind.targets(&setting.hosts, message) {
                if counts(at, place, &target) {
                    let key = Key::of(kind, &target, seen, log);
                    classes.entry((place, target, key)).or_default().push(at);
                }
            }
        }
    }
    let class = |((kind, target, _), steps)| Class {
        kind,
        target,
        steps,
    };
    classes.into_iter().map(class).collect()
}

/// What all placements of a class have in common.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    count: usize,
    /// The instant, for a fault that acts at once: nothing may happen between two of them, not even time.
    at_ns: Option<u64>,
    /// The position of a failpoint, which is a class of its own.
    failpoint: Option<usize>,
}

impl Key {
    fn of(kind: &Kind, target: &Target, seen: &SeenStep, log: &StepLog) -> Self {
        let moves = log.moves_before(seen);
        Key {
            count: match (kind.same, target) {
                (Same::Runs, Target::Host(host)) => log.runs_before(host, seen),
                (Same::Transmissions, Target::Host(host)) => log.transmissions_before(host, seen),
                (Same::Moves, _) | (_, Target::Message(..)) => moves,
            },
            at_ns: (kind.same == Same::Moves).then_some(seen.at_ns),
            failpoint: matches!(seen.step, Step::Failpoint(_)).then_some(moves),
        }
    }
}
