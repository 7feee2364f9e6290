//! Executes a fault schedule, both in the simulator and on real processes.
//!
//! The [`Executor`] determines when each fault takes effect, on which hosts, and when that is
//! recorded; an [`Injector`] injects it. Nothing is drawn here: see
//! [`expand`](locklab_model::fault::expand()).

use super::trigger::{DueFault, Triggers};
use locklab_history::{Aim, Event, Failpoint, Fault, Name, Phase, Schedule, Start};

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
    fn inject(&mut self, injection: &Injection) -> Result<Completion, Self::Error>;

    /// Ends a fault that took effect on these hosts.
    ///
    /// # Errors
    /// See [`Injector::inject`].
    fn lift(&mut self, injection: &Injection) -> Result<Completion, Self::Error>;
}

/// A fault, and the hosts on which it takes effect.
pub struct Injection<'s> {
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
    /// Creates an executor for `schedule` in which no fault has begun.
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
    /// due, for [`Executor::inject_due`].
    pub fn reached(&mut self, client: &Name, point: Failpoint) -> Vec<DueFault> {
        self.triggers.reached(client, point)
    }

    /// Makes the due faults take effect: immediately, or when their delays are over.
    ///
    /// # Errors
    /// The injector's error, also for [`Executor::perform`].
    pub fn inject_due<I: Injector>(
        &mut self,
        due: &[DueFault],
        injector: &mut I,
    ) -> Result<(), I::Error> {
        for &DueFault { fault, delay_ns } in due {
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
    /// See [`Executor::inject_due`].
    pub fn perform<I: Injector>(&mut self, step: Step, injector: &mut I) -> Result<(), I::Error> {
        match step {
            Step::Begin { fault } => self.begin(fault, injector),
            Step::End { fault, hosts } => self.end(fault, &hosts, injector),
        }
    }

    /// A fault of the schedule.
    pub fn fault(&self, index: usize) -> &Fault {
        &self.schedule.faults[index]
    }

    /// Completes the pending injection of a fault on a host; returns the event to record there.
    pub fn begun(&mut self, index: usize) -> Event {
        self.began[index] = true;
        self.event(index, Phase::Begins)
    }

    /// Completes the pending end of a fault on a host; returns the event to record there.
    pub fn ended(&self, index: usize) -> Event {
        self.event(index, Phase::Ends)
    }

    /// Ends the run: records the faults that never took effect.
    pub fn finish(&self, injector: &mut impl Injector) {
        for (index, fault) in self.schedule.faults.iter().enumerate() {
            if !self.began[index] {
                for host in fault.effect.hosts() {
                    injector.record(host, self.event(index, Phase::Missed));
                }
            }
        }
    }

    /// A fault cannot affect a process that does not run. A fault that finds no running
    /// process, such as one on a client that has finished, is recorded as missed.
    fn begin<I: Injector>(&mut self, index: usize, injector: &mut I) -> Result<(), I::Error> {
        let fault = &self.schedule.faults[index];
        assert!(!self.began[index], "{} begins a second time", fault.name);
        let is_struck = |host: &&Name| match fault.kind().aim() {
            Aim::Processes(_) => injector.is_running(host),
            Aim::Machines(_) | Aim::Servers(_) | Aim::Links(_) => true,
        };
        let hosts: Vec<Name> = fault.effect.hosts().filter(is_struck).cloned().collect();
        if hosts.is_empty() {
            return Ok(());
        }
        if fault.kind().bends_clocks() {
            self.record_all(index, &hosts, Phase::Before, injector);
        }
        let injection = Injection {
            index,
            fault,
            hosts: &hosts,
        };
        if injector.inject(&injection)? == Completion::Pending {
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
        let injection = Injection {
            index,
            fault,
            hosts,
        };
        if fault.kind().bends_clocks() {
            self.record_all(index, hosts, Phase::Before, injector);
        } else if !fault.kind().ends_process() {
            self.record_all(index, hosts, Phase::Ends, injector);
            return injector.lift(&injection).map(|_| ());
        }
        if injector.lift(&injection)? == Completion::Done {
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
            kind: fault.kind(),
            phase,
            links: fault.faulty_links().map(Box::new),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use locklab_values::units::NS_PER_MS as MS;

    use super::*;
    use locklab_model::fault::expand;

    /// An injector that logs its requests with their times.
    struct Notes {
        now_ns: u64,
        finished: &'static str,
        completes: Completion,
        steps: Vec<(u64, Step)>,
        lines: Vec<String>,
    }

    impl Notes {
        fn note(&mut self, line: String) {
            self.lines.push(format!("{} {line}", self.now_ns / MS));
        }

        fn request(&mut self, what: &str, injection: &Injection) -> Completion {
            let name = &injection.fault.name;
            self.note(format!("{what} {name} on {}", injection.hosts.join(" ")));
            self.completes
        }
    }

    impl Injector for Notes {
        type Error = Infallible;

        fn now_ns(&self) -> u64 {
            self.now_ns
        }

        fn schedule(&mut self, at_ns: u64, step: Step) {
            self.steps.push((at_ns, step));
        }

        fn is_running(&self, host: &Name) -> bool {
            **host != *self.finished
        }

        fn record(&mut self, host: &Name, event: Event) {
            let Event::Fault { fault, phase, .. } = event else {
                panic!("no fault: {event:?}");
            };
            self.note(format!("{host}: {fault} {phase:?}"));
        }

        fn inject(&mut self, injection: &Injection) -> Result<Completion, Infallible> {
            Ok(self.request("inject", injection))
        }

        fn lift(&mut self, injection: &Injection) -> Result<Completion, Infallible> {
            Ok(self.request("lift", injection))
        }
    }

    /// Executes a run in which c1 has finished and c2 reaches `acquired` at 3 ms, with an injector
    /// of this completion.
    #[track_caller]
    fn check(faults: &str, completes: Completion, expected: &[&str]) {
        let specs = toml::from_str(faults).expect("faults");
        let mut executor = Executor::new(expand(&specs, 0));
        let mut notes = Notes {
            now_ns: 0,
            finished: "c1",
            completes,
            steps: Vec::new(),
            lines: Vec::new(),
        };
        executor.start(&mut notes);
        notes.now_ns = 3 * MS;
        let due = executor.reached(&"c2".into(), Failpoint::Acquired);
        let Ok(()) = executor.inject_due(&due, &mut notes);
        while !notes.steps.is_empty() {
            let times = notes.steps.iter().enumerate();
            let (next, _) = times.min_by_key(|(_, (at_ns, _))| *at_ns).expect("a step");
            let (at_ns, step) = notes.steps.remove(next);
            notes.now_ns = at_ns;
            let Ok(()) = executor.perform(step, &mut notes);
        }
        executor.finish(&mut notes);
        assert_eq!(notes.lines, expected);
    }

    #[test]
    fn end_of_a_pause_is_recorded_before_its_process_continues() {
        check(
            "gc = { kind = 'pause', on = ['c2', 'n1'], at_ms = 5, duration_ms = 2 }",
            Completion::Done,
            &[
                "5 inject gc on c2 n1",
                "5 c2: gc Begins",
                "5 n1: gc Begins",
                "7 c2: gc Ends",
                "7 n1: gc Ends",
                "7 lift gc on c2 n1",
            ],
        );
    }

    #[test]
    fn the_end_of_a_kill_is_recorded_when_the_process_is_back() {
        check(
            "oom = { kind = 'kill', on = 'n1', at_ms = 5, duration_ms = 2 }",
            Completion::Done,
            &[
                "5 inject oom on n1",
                "5 n1: oom Begins",
                "7 lift oom on n1",
                "7 n1: oom Ends",
            ],
        );
    }

    #[test]
    fn clocks_are_recorded_before_they_change_and_after() {
        check(
            "fast = { kind = 'clock-rate', on = 'n1', at_ms = 5, duration_ms = 2, drift_ppm = 9 }",
            Completion::Done,
            &[
                "5 n1: fast Before",
                "5 inject fast on n1",
                "5 n1: fast Begins",
                "7 n1: fast Before",
                "7 lift fast on n1",
                "7 n1: fast Ends",
            ],
        );
    }

    #[test]
    fn a_finished_process_is_spared_and_its_machine_is_not() {
        check(
            "a = { kind = 'pause', on = ['c1', 'c2'], at_ms = 5 }
             b = { kind = 'kill', on = 'c1', at_ms = 6 }
             c = { kind = 'crash', on = 'c1', at_ms = 7 }",
            Completion::Done,
            &[
                "5 inject a on c2",
                "5 c2: a Begins",
                "7 inject c on c1",
                "7 c1: c Begins",
                "7 c1: b Missed",
            ],
        );
    }

    #[test]
    fn a_fault_at_a_failpoint_strikes_there_or_its_delay_later_or_never() {
        check(
            "a = { kind = 'pause', on = 'n1', after = 'c2 acquired' }
             b = { kind = 'kill', on = 'c2', after = 'c2 acquired', delay_ms = 4 }
             c = { kind = 'partition', from = 'c2', to = 'n1', after = 'c2 acquired #2' }",
            Completion::Done,
            &[
                "3 inject a on n1",
                "3 n1: a Begins",
                "7 inject b on c2",
                "7 c2: b Begins",
                "7 c2: c Missed",
                "7 n1: c Missed",
            ],
        );
    }

    #[test]
    fn pending_injection_is_recorded_when_it_completes() {
        let failover = "by-hand = { kind = 'failover', on = 's1', at_ms = 5 }";
        check(
            failover,
            Completion::Pending,
            &["5 inject by-hand on s1", "5 s1: by-hand Missed"],
        );
        let specs = toml::from_str(failover).expect("faults");
        let mut executor = Executor::new(expand(&specs, 0));
        let phase = |event| match event {
            Event::Fault { fault, phase, .. } if &*fault == "by-hand" => phase,
            _ => panic!("another event: {event:?}"),
        };
        assert_eq!(phase(executor.begun(0)), Phase::Begins);
        assert_eq!(phase(executor.ended(0)), Phase::Ends);
    }
}
