//! Conducts a real run: strikes its faults when they are due, and takes down when each
//! really took effect.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::ConfirmError;
use super::bench::Bench;
use super::child::{News, Who};
use super::wire::Told;
use crate::fault::trigger::Triggers;
use crate::fault::{FaultKind, Schedule, Start};
use crate::history::{Event, History, Name, Phase};
use crate::scenario::Scenario;

/// Runs to the end of the last client's last round, or to the scenario's horizon.
pub(super) fn conduct(
    bench: Bench<'_>,
    scenario: &Scenario,
    schedule: &Schedule,
) -> Result<History, ConfirmError> {
    let mut conductor = Conductor {
        working: bench.clients().iter().cloned().collect(),
        bench,
        schedule,
        triggers: Triggers::new(schedule),
        began: vec![false; schedule.faults.len()],
        agenda: Agenda::default(),
        starting: BTreeMap::new(),
    };
    for (index, fault) in schedule.faults.iter().enumerate() {
        if let Start::At { at_ns } = fault.start {
            conductor.agenda.add(at_ns, Action::Begin { fault: index });
        }
    }
    conductor.bench.begin();
    conductor.run(scenario.horizon_ms.saturating_mul(1_000_000))?;
    Ok(conductor.finish())
}

struct Conductor<'a> {
    bench: Bench<'a>,
    schedule: &'a Schedule,
    triggers: Triggers,
    began: Vec<bool>,
    agenda: Agenda,
    /// Clients that have not finished their rounds, and may still.
    working: BTreeSet<Name>,
    /// Processes that were started again and are not ready yet; after which fault.
    starting: BTreeMap<Who, usize>,
}

impl Conductor<'_> {
    fn run(&mut self, horizon_ns: u64) -> Result<(), ConfirmError> {
        while !self.working.is_empty() {
            let now_ns = self.bench.now_ns();
            if now_ns >= horizon_ns {
                break;
            }
            if let Some(action) = self.agenda.take_due(now_ns) {
                self.act(action)?;
                continue;
            }
            let next_ns = self.agenda.next_ns().unwrap_or(u64::MAX).min(horizon_ns);
            let wait = Duration::from_nanos(next_ns - now_ns);
            if let Some((who, news)) = self.bench.hear(wait)? {
                self.heed(&who, &news);
            }
        }
        Ok(())
    }

    fn finish(self) -> History {
        for (index, fault) in self.schedule.faults.iter().enumerate() {
            if !self.began[index] {
                let hosts: Vec<Name> = fault.kind.hosts().cloned().collect();
                self.record_all(index, &hosts, Phase::Missed);
            }
        }
        let end_ns = self.bench.now_ns();
        History {
            records: self.bench.finish(end_ns),
            messages: Vec::new(),
            end_ns,
        }
    }

    /// A process said something.
    fn heed(&mut self, who: &Who, news: &News) {
        match news {
            News::Reached(point) => {
                for due in self.triggers.reached(&who.host, point) {
                    if due.delay_ns == 0 {
                        self.begin(due.fault);
                    } else {
                        let at_ns = self.bench.now_ns().saturating_add(due.delay_ns);
                        self.agenda.add(at_ns, Action::Begin { fault: due.fault });
                    }
                }
                // Only now: what strikes here has struck before the client's next step.
                self.bench.tell(who, &Told::GoOn);
            }
            News::Ready => {
                if let Some(fault) = self.starting.remove(who) {
                    self.record(fault, &who.host, Phase::Ends);
                    // A client begins at once; servers do not read this.
                    self.bench.tell(who, &Told::Begin { at_ns: 0 });
                }
            }
            News::Finished => {
                if self.bench.runs(who) {
                    self.working.remove(&who.host);
                    self.bench.kill(&who.host);
                }
            }
            News::Ended(_) => {}
        }
    }

    fn act(&mut self, action: Action) -> Result<(), ConfirmError> {
        match action {
            Action::Begin { fault } => self.begin(fault),
            Action::Resume { fault, hosts } => {
                // Before it: nothing that the process does bears an earlier time.
                self.record_all(fault, &hosts, Phase::Ends);
                self.bench.resume(&hosts);
            }
            Action::Restart { fault, hosts } => {
                for host in &hosts {
                    if !self.bench.is_alive(host) {
                        let who = self.bench.start_process(host)?;
                        self.starting.insert(who, fault);
                    }
                }
            }
        }
        Ok(())
    }

    /// Strikes those hosts of a fault that have a living process. A fault that finds
    /// none, such as one on a client that has finished, has missed.
    fn begin(&mut self, index: usize) {
        let fault = &self.schedule.faults[index];
        let hosts = fault.kind.hosts().filter(|host| self.bench.is_alive(host));
        let hosts: Vec<Name> = hosts.cloned().collect();
        if hosts.is_empty() {
            return;
        }
        let end = match &fault.kind {
            FaultKind::Pause { .. } => {
                self.bench.pause(&hosts);
                self.record_all(index, &hosts, Phase::Begins);
                Action::Resume {
                    fault: index,
                    hosts,
                }
            }
            FaultKind::Kill { .. } => {
                for host in &hosts {
                    self.kill(host, fault.duration_ns);
                }
                self.record_all(index, &hosts, Phase::Begins);
                Action::Restart {
                    fault: index,
                    hosts,
                }
            }
            // Refused before anything was started.
            _ => return,
        };
        self.began[index] = true;
        if let Some(duration_ns) = fault.duration_ns {
            let at_ns = self.bench.now_ns().saturating_add(duration_ns);
            self.agenda.add(at_ns, end);
        }
    }

    fn kill(&mut self, host: &Name, down_ns: Option<u64>) {
        self.bench.kill(host);
        self.starting.retain(|who, _| who.host != *host);
        if down_ns.is_none() {
            self.working.remove(host);
        }
    }

    fn record_all(&self, index: usize, hosts: &[Name], phase: Phase) {
        for host in hosts {
            self.record(index, host, phase);
        }
    }

    fn record(&self, index: usize, host: &Name, phase: Phase) {
        let fault = &self.schedule.faults[index];
        let event = Event::Fault {
            fault: fault.name.clone(),
            kind: fault.kind.name().into(),
            phase,
            // No fault of links strikes real processes.
            links: None,
        };
        self.bench.record(host, event);
    }
}

/// What is to be done at which time.
#[derive(Default)]
struct Agenda {
    /// By true time in nanoseconds; at equal times in the order of their entry.
    actions: BTreeMap<(u64, u64), Action>,
    entries: u64,
}

enum Action {
    /// A fault takes effect.
    Begin { fault: usize },
    /// A pause of these hosts ends.
    Resume { fault: usize, hosts: Vec<Name> },
    /// These hosts, killed by the fault, start again.
    Restart { fault: usize, hosts: Vec<Name> },
}

impl Agenda {
    fn add(&mut self, at_ns: u64, action: Action) {
        self.entries += 1;
        self.actions.insert((at_ns, self.entries), action);
    }

    fn next_ns(&self) -> Option<u64> {
        self.actions.keys().next().map(|(at_ns, _)| *at_ns)
    }

    fn take_due(&mut self, now_ns: u64) -> Option<Action> {
        let first = self.actions.first_entry()?;
        (first.key().0 <= now_ns).then(|| first.remove())
    }
}
