//! The steps of one run, and what happened between them.

use locklab_history::{Moment, Name, Step};
use locklab_world::{HostId, Moment as Happening};

/// A step that a run has taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenStep {
    /// True time in nanoseconds since the run began.
    pub at_ns: u64,
    /// Its name.
    pub step: Step,
    /// How many [moves](StepLog::moves_before) came before it.
    pub position: usize,
}

/// The steps of a run in their order, and between them its *moves*: whenever a task of a host ran, or a
/// packet left or arrived. Everything that a run does follows from its moves, its timers and its faults.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StepLog {
    /// The steps.
    pub steps: Vec<SeenStep>,
    hosts: Vec<Name>,
    /// By host: the positions of its tasks' runs, ascending.
    runs: Vec<Vec<usize>>,
    /// By host: the positions of packets that it sent or that were sent to it, ascending.
    transmissions: Vec<Vec<usize>>,
    moves: usize,
}

impl StepLog {
    pub(super) fn new(hosts: &[Name]) -> Self {
        Self {
            hosts: hosts.to_vec(),
            runs: vec![Vec::new(); hosts.len()],
            transmissions: vec![Vec::new(); hosts.len()],
            ..Self::default()
        }
    }

    /// How often tasks of `host` ran before a step.
    pub fn runs_before(&self, host: &str, step: &SeenStep) -> usize {
        self.before(&self.runs, host, step)
    }

    /// How many packets `host` had sent, or had been sent to it, before a step.
    pub fn transmissions_before(&self, host: &str, step: &SeenStep) -> usize {
        self.before(&self.transmissions, host, step)
    }

    /// How many moves there were in the whole run before a step.
    pub fn moves_before(&self, step: &SeenStep) -> usize {
        step.position
    }

    fn before(&self, moves: &[Vec<usize>], host: &str, step: &SeenStep) -> usize {
        let place = self.hosts.iter().position(|name| **name == *host);
        place.map_or(0, |place| {
            moves[place].partition_point(|position| *position < step.position)
        })
    }

    pub(super) fn takes(&mut self, at_ns: u64, step: Step) {
        self.steps.push(SeenStep {
            at_ns,
            step,
            position: self.moves,
        });
    }

    /// A failpoint, at which a fault would interrupt a task that runs. The task then goes on, which is
    /// one more of its runs.
    pub(super) fn interrupts(&mut self, at_ns: u64, moment: Moment) {
        let host = self.hosts.iter().position(|name| *name == moment.client);
        self.takes(at_ns, Step::Failpoint(moment));
        if let Some(host) = host {
            self.runs(host);
        }
    }

    pub(super) fn moves(&mut self, happening: &Happening<'_>) {
        match happening {
            Happening::Continues(host) => self.runs(host.index()),
            Happening::Transmits(from, to) => {
                for host in [from, to].map(|host: &HostId| host.index()) {
                    self.transmissions[host].push(self.moves);
                }
                self.moves += 1;
            }
            Happening::Receives(_) => self.moves += 1,
            Happening::Leaves(_) | Happening::Arrives(_) | Happening::Timer(_) => {}
        }
    }

    fn runs(&mut self, host: usize) {
        self.runs[host].push(self.moves);
        self.moves += 1;
    }
}
