//! The steps of a simulated run: what the world does, by its names.
//!
//! [`locklab_history::Step`] defines the names: a message leaves or arrives, a client's timer fires, a
//! failpoint, a sync, a sentinel's notice. `Start::AtStep` places a fault there. The world tells a `Watcher`
//! what is about to happen, and knows no names; `naming` gives them, and the injector injects the faults
//! that are due, before what they were told of. A run is watched only if a fault is placed at a step, or if
//! the steps are to be kept (`Keep::STEPS`): any other run makes one comparison each time.
//!
//! Injecting a fault can itself cause steps: a crash still sends what was written before. Faults at those
//! steps wait until the first one has taken effect.

mod log;
mod naming;
#[cfg(test)]
mod tests;

use locklab_history::{Failpoint, Moment, Name, Schedule, Step, Topology};
use locklab_world::Moment as Happening;

pub use self::log::{SeenStep, StepLog};
use self::naming::Naming;
use crate::nemesis::trigger::{DueFault, StepTriggers};

/// The steps of a run so far, and the faults that are placed at them.
pub(super) struct Steps {
    naming: Naming,
    triggers: StepTriggers,
    log: Option<StepLog>,
}

impl Steps {
    /// For a run with these hosts; `None` if nobody asks for its steps.
    pub(super) fn new(
        names: &[Name],
        topology: &Topology,
        schedule: &Schedule,
        keep: bool,
    ) -> Option<Self> {
        let triggers = StepTriggers::new(schedule);
        if triggers.is_empty() && !keep {
            return None;
        }
        Some(Self {
            naming: Naming::new(names, topology),
            triggers,
            log: keep.then(|| StepLog::new(names)),
        })
    }

    /// The faults that are due at what happens now.
    pub(super) fn happens(&mut self, at_ns: u64, happening: Happening<'_>) -> Vec<DueFault> {
        let due = match self.naming.step(&happening) {
            Some(step) => self.takes(at_ns, step),
            None => Vec::new(),
        };
        if let Some(log) = &mut self.log {
            log.moves(&happening);
        }
        due
    }

    /// Notes a step; returns the faults that are due.
    fn takes(&mut self, at_ns: u64, step: Step) -> Vec<DueFault> {
        let due = self.triggers.take(&step);
        if let Some(log) = &mut self.log {
            log.takes(at_ns, step);
        }
        due
    }

    /// Notes that a client has reached a failpoint.
    pub(super) fn reaches(&mut self, at_ns: u64, client: &Name, point: Failpoint) {
        if let Some(log) = &mut self.log {
            let nth = self.naming.count(client, point.name());
            let client = client.clone();
            log.interrupts(at_ns, Moment { client, point, nth });
        }
    }

    /// Notes that a server has synced its file; returns the faults that are due.
    pub(super) fn syncs(&mut self, at_ns: u64, host: &Name) -> Vec<DueFault> {
        let nth = self.naming.count(host, "sync");
        let host = host.clone();
        self.takes(at_ns, Step::Sync { host, nth })
    }

    /// Notes an event in a sentinel's log; returns the faults that are due.
    pub(super) fn notices(&mut self, at_ns: u64, host: &Name, notice: &str) -> Vec<DueFault> {
        let nth = self.naming.count(host, notice);
        let (host, notice) = (host.clone(), notice.into());
        self.takes(at_ns, Step::Notice { host, notice, nth })
    }

    /// What was kept of the steps.
    pub(super) fn take_log(&mut self) -> Option<StepLog> {
        self.log.take()
    }
}
