//! Executes a fault schedule, both in the simulated world and on real processes.
//!
//! The [`Executor`] determines when each fault takes effect, on which hosts, and when that is
//! recorded; an [`Injector`] injects it. Nothing is drawn here: see
//! [`expand`](super::expand()).

use super::trigger::{Due, Triggers};
use crate::history::{Aim, Event, Failpoint, Fault, Name, Phase, Schedule, Start};
use crate::plant;

/// The target of fault injection.
pub trait Injector {
    /// Why a fault cannot be injected or lifted.
    type Error;

    /// True time, in nanoseconds since the run began.
    fn now_ns(&self) -> u64;

    /// Schedules a call of [`Executor::perform`] with `step` at this true time.
    fn schedule(&mut self, at_ns: u64, step: Step);

    /// Whether a process runs on the host that a fault can affect.
    fn is_running(&self, host: &Name) -> bool;

    /// Records that `event` happened on `host` now.
    fn record(&mut self, host: &Name, event: Event);

    /// Makes a fault take effect on these of its hosts.
    ///
    /// # Errors
    /// If the injection fails.
    fn inject(&mut self, strike: &Strike) -> Result<Completion, Self::Error>;

    /// Ends a fault that took effect on these hosts.
    ///
    /// # Errors
    /// See [`Injector::inject`].
    fn lift(&mut self, strike: &Strike) -> Result<Completion, Self::Error>;
}

/// A fault, and the hosts on which it takes effect.
pub struct Strike<'s> {
    /// The index of the fault in the schedule.
    pub index: usize,
    /// The fault.
    pub fault: &'s Fault,
    /// The hosts; for a fault of links, those of both sides.
    pub hosts: &'s [Name],
}

/// Whether a request to an [`Injector`] is complete when the call returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completion {
    /// It is complete.
    Done,
    /// The injector reports the completion later, with [`Executor::begun`] or
    /// [`Executor::ended`]; or never, if it fails.
    Pending,
}

/// A scheduled step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// A fault takes effect.
    Begin {
        /// Its index in the schedule.
        fault: usize,
    },
    /// A fault ends.
    End {
        /// Its index in the schedule.
        fault: usize,
        /// The hosts on which it took effect.
        hosts: Vec<Name>,
    },
}

/// A schedule under execution.
pub struct Executor {
    schedule: Schedule,
    triggers: Triggers,
    began: Vec<bool>,
}

impl Executor {
    /// An executor for `schedule`, of which nothing has begun.
    pub fn new(schedule: Schedule) -> Self {
        Self {
            triggers: Triggers::new(&schedule),
            began: vec![false; schedule.faults.len()],
            schedule,
        }
    }

    /// Starts the run: schedules the faults that are placed by time.
    pub fn start(&self, injector: &mut impl Injector) {
        for (fault, Fault { start, .. }) in self.schedule.faults.iter().enumerate() {
            if let Start::At { at_ns } = start {
                injector.schedule(*at_ns, Step::Begin { fault });
            }
        }
    }

    /// Records that a client has reached a failpoint once more; returns the faults that are
    /// due, for [`Executor::strike`].
    pub fn reached(&mut self, client: &Name, point: Failpoint) -> Vec<Due> {
        self.triggers.reached(client, point)
    }

    /// Makes the due faults take effect: immediately, or when their delays are over.
    ///
    /// # Errors
    /// The injector's error, also for [`Executor::perform`].
    pub fn strike<I: Injector>(&mut self, due: &[Due], injector: &mut I) -> Result<(), I::Error> {
        for &Due { fault, delay_ns } in due {
            if delay_ns == 0 {
                self.begin(fault, injector)?;
            } else {
                let at_ns = injector.now_ns().saturating_add(delay_ns);
                injector.schedule(at_ns, Step::Begin { fault });
            }
        }
        Ok(())
    }

    /// Performs a step that was scheduled for now.
    ///
    /// # Errors
    /// See [`Executor::strike`].
    pub fn perform<I: Injector>(&mut self, step: Step, injector: &mut I) -> Result<(), I::Error> {
        match step {
            Step::Begin { fault } => self.begin(fault, injector),
            Step::End { fault, hosts } => self.end(fault, &hosts, injector),
        }
    }

    /// A fault whose injection was pending has taken effect on a host; returns the event to
    /// record there.
    pub fn begun(&mut self, index: usize) -> Event {
        self.began[index] = true;
        self.event(index, Phase::Begins)
    }

    /// A fault whose end was pending is over on a host; returns the event to record there.
    pub fn ended(&self, index: usize) -> Event {
        self.event(index, Phase::Ends)
    }

    /// Ends the run: records the faults that never took effect.
    pub fn finish(&self, injector: &mut impl Injector) {
        for (index, fault) in self.schedule.faults.iter().enumerate() {
            if !self.began[index] && !plant("missed-faults-go-unrecorded") {
                for host in fault.target.hosts() {
                    injector.record(host, self.event(index, Phase::Missed));
                }
            }
        }
    }

    /// A fault cannot affect a process that does not run. A fault that finds no running
    /// process, such as one on a client that has finished, is recorded as missed.
    fn begin<I: Injector>(&mut self, index: usize, injector: &mut I) -> Result<(), I::Error> {
        let fault = &self.schedule.faults[index];
        let is_struck = |host: &&Name| match fault.kind.aim() {
            Aim::Processes => injector.is_running(host),
            Aim::Machines | Aim::Servers | Aim::Links => true,
        };
        let hosts: Vec<Name> = fault.target.hosts().filter(is_struck).cloned().collect();
        let spares_all =
            plant("one-finished-host-spares-all") && hosts.len() < fault.target.hosts().count();
        if hosts.is_empty() || spares_all {
            return Ok(());
        }
        if fault.kind.bends_clocks() {
            self.record_all(index, &hosts, Phase::Before, injector);
        }
        let strike = Strike {
            index,
            fault,
            hosts: &hosts,
        };
        if injector.inject(&strike)? == Completion::Pending {
            return Ok(());
        }
        let duration_ns = fault.duration_ns;
        self.began[index] = true;
        self.record_all(index, &hosts, Phase::Begins, injector);
        if let Some(duration_ns) = duration_ns {
            let at_ns = injector.now_ns().saturating_add(duration_ns);
            let fault = index;
            injector.schedule(at_ns, Step::End { fault, hosts });
        }
        Ok(())
    }

    /// A process's actions after the end must not have an earlier time than the record of the
    /// end; so the record comes first, unless there is no process yet, or a clock is to show
    /// its new rate or offset.
    fn end<I: Injector>(
        &self,
        index: usize,
        hosts: &[Name],
        injector: &mut I,
    ) -> Result<(), I::Error> {
        let fault = &self.schedule.faults[index];
        let strike = Strike {
            index,
            fault,
            hosts,
        };
        if fault.kind.bends_clocks() {
            self.record_all(index, hosts, Phase::Before, injector);
        } else if !fault.kind.ends_process() {
            self.record_all(index, hosts, Phase::Ends, injector);
            return injector.lift(&strike).map(|_| ());
        }
        if injector.lift(&strike)? == Completion::Done {
            self.record_all(index, hosts, Phase::Ends, injector);
        }
        Ok(())
    }

    fn record_all(&self, index: usize, hosts: &[Name], phase: Phase, injector: &mut impl Injector) {
        for host in hosts {
            injector.record(host, self.event(index, phase));
        }
    }

    fn event(&self, index: usize, phase: Phase) -> Event {
        let fault = &self.schedule.faults[index];
        Event::Fault {
            fault: fault.name.clone(),
            kind: fault.kind.bare(),
            phase,
            links: fault.faulty_links(),
        }
    }
}
