//! The processes of one real run: starts and restarts them, sends commands and signals.

use std::collections::{BTreeMap, BTreeSet};
use std::process;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use super::child::{Child, ChildEvent, Collector, Who};
use super::plan::Plan;
use super::wire::{Command, Job};
use super::{ConfirmError, Programs, stamp};
use crate::history::Schedule;
use crate::history::{ClockKind, Event, Name, Record};
use crate::platform::machine::read_clock;
use crate::scenario::Scenario;

/// The time limit for a process to become ready, in seconds. A process needs milliseconds; the
/// limit allows for a machine under heavy load.
const READY_S: u64 = 10;

/// The delay from the command to begin to the beginning, so that every process receives it in
/// time.
const LEAD: Duration = Duration::from_millis(20);

/// How often the start is tried, since another program may take a port in between.
const ATTEMPTS: u32 = 3;

/// The processes of one run. Dropping it kills them.
pub(super) struct Bench<'a> {
    plan: Plan<'a>,
    hosts: BTreeMap<Name, Host>,
    collector: Collector,
    event: Receiver<(Who, ChildEvent)>,
    /// When the run began, by the machine's monotonic clock.
    origin_ns: u64,
}

#[derive(Default)]
struct Host {
    child: Option<Child>,
    starts: u32,
    /// The number of pauses in force; overlapping pauses act as one long pause.
    pauses: u32,
}

impl<'a> Bench<'a> {
    /// Starts the servers, then the clients, and waits until all are ready.
    pub(super) fn start(
        programs: &'a Programs,
        scenario: &'a Scenario,
        seed: u64,
        schedule: &Schedule,
    ) -> Result<Self, ConfirmError> {
        let mut attempt = 1;
        loop {
            let plan = Plan::new(programs, scenario, seed, schedule)?;
            match Self::try_start(plan) {
                Err(ConfirmError::Died { .. }) if attempt < ATTEMPTS => attempt += 1,
                result => return result,
            }
        }
    }

    fn try_start(plan: Plan<'a>) -> Result<Self, ConfirmError> {
        let servers: Vec<Name> = plan.servers().cloned().collect();
        let clients = plan.clients.clone();
        let (sender, event) = mpsc::channel();
        let mut bench = Self {
            plan,
            hosts: BTreeMap::new(),
            collector: Collector::new(sender),
            event,
            origin_ns: 0,
        };
        for group in [servers, clients] {
            for host in &group {
                bench.start_process(host)?;
            }
            bench.await_ready(group.into_iter().collect())?;
        }
        Ok(bench)
    }

    /// Makes all clients begin at the same time, which is time 0 of the history.
    pub(super) fn begin(&mut self) {
        let at_ns = read_clock(ClockKind::Monotonic) + LEAD.as_nanos() as u64;
        self.origin_ns = at_ns;
        for client in &self.plan.clients {
            let child = self.hosts.get_mut(client).and_then(|c| c.child.as_mut());
            if let Some(child) = child {
                child.tell(&Command::Begin { at_ns });
            }
        }
        let left_ns = at_ns.saturating_sub(read_clock(ClockKind::Monotonic));
        thread::sleep(Duration::from_nanos(left_ns));
    }

    /// True time in nanoseconds since the run began.
    pub(super) fn now_ns(&self) -> u64 {
        read_clock(ClockKind::Monotonic).saturating_sub(self.origin_ns)
    }

    /// The clients.
    pub(super) fn clients(&self) -> &[Name] {
        &self.plan.clients
    }

    /// The next event, or `None` when the time is over. The death of a process that the bench
    /// did not cause is an error.
    pub(super) fn receive(
        &mut self,
        within: Duration,
    ) -> Result<Option<(Who, ChildEvent)>, ConfirmError> {
        let Ok((who, event)) = self.event.recv_timeout(within) else {
            return Ok(None);
        };
        if let ChildEvent::Ended(said) = event {
            return match self.child(&who) {
                None => Ok(None),
                Some(child) => Err(ConfirmError::Died {
                    status: child
                        .kill()
                        .map_or_else(|error| error.to_string(), |status| status.to_string()),
                    host: who.host,
                    said: if said.is_empty() { "none".into() } else { said },
                }),
            };
        }
        Ok(Some((who, event)))
    }

    /// Records that `event` happened on `host` now.
    pub(super) fn record(&self, host: &Name, event: Event) {
        self.collector.records().push(stamp::record(host, event));
    }

    /// Sends a command to this process, unless it is dead.
    pub(super) fn tell(&mut self, who: &Who, command: &Command) {
        if let Some(child) = self.child(who) {
            child.tell(command);
        }
    }

    /// Whether this start of the process is alive, as far as the bench knows.
    pub(super) fn runs(&mut self, who: &Who) -> bool {
        self.child(who).is_some()
    }

    /// Whether a process of `host` is alive.
    pub(super) fn is_alive(&self, host: &Name) -> bool {
        self.hosts
            .get(host)
            .is_some_and(|host| host.child.is_some())
    }

    /// Stops the processes of these hosts; on return they have stopped.
    pub(super) fn pause(&mut self, names: &[Name]) {
        for name in names {
            if let Some(host) = self.hosts.get_mut(name) {
                host.pauses += 1;
                host.child.iter().for_each(Child::stop);
            }
        }
        for name in names {
            if let Some(host) = self.hosts.get(name)
                && host.pauses == 1
            {
                host.child.iter().for_each(Child::await_stop);
            }
        }
    }

    /// Ends a [`Bench::pause`].
    pub(super) fn resume(&mut self, names: &[Name]) {
        for name in names {
            if let Some(host) = self.hosts.get_mut(name) {
                host.pauses = host.pauses.saturating_sub(1);
                if host.pauses == 0 {
                    host.child.iter().for_each(Child::go_on);
                }
            }
        }
    }

    /// Ends the process of `host`; its kernel closes its sockets.
    pub(super) fn kill(&mut self, host: &Name) {
        if let Some(host) = self.hosts.get_mut(host) {
            host.child = None;
        }
    }

    /// Starts or restarts the process of a host; see [`Plan::role`].
    pub(super) fn start_process(&mut self, name: &Name) -> Result<Who, ConfirmError> {
        let host = self.hosts.entry(name.clone()).or_default();
        let job = Job {
            bench: process::id(),
            role: self.plan.role(name, host.starts, &self.collector.records()),
        };
        host.starts += 1;
        let who = Who {
            host: name.clone(),
            start: host.starts,
        };
        let locklab = &self.plan.programs.locklab;
        let child = Child::start(locklab, &job, who.clone(), self.collector.clone());
        let child = child.map_err(|source| ConfirmError::Start {
            host: name.clone(),
            source,
        })?;
        if host.pauses > 0 {
            child.stop();
        }
        host.child = Some(child);
        Ok(who)
    }

    /// Ends all processes; returns the records up to `end_ns`, in the order of true time.
    pub(super) fn finish(mut self, end_ns: u64) -> Vec<Record> {
        self.hosts.clear();
        let mut records = std::mem::take(&mut *self.collector.records());
        for record in &mut records {
            record.at_ns = record.at_ns.saturating_sub(self.origin_ns);
        }
        records.retain(|record| record.at_ns <= end_ns);
        records.sort_by_key(|record| record.at_ns);
        records
    }

    fn await_ready(&mut self, mut missing: BTreeSet<Name>) -> Result<(), ConfirmError> {
        let deadline = Instant::now() + Duration::from_secs(READY_S);
        while let Some(host) = missing.first() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(ConfirmError::NotReady {
                    host: host.clone(),
                    seconds: READY_S,
                });
            }
            if let Some((who, ChildEvent::Ready)) = self.receive(left)? {
                missing.remove(&who.host);
            }
        }
        Ok(())
    }

    /// The child that sent the event, if it is still the running one.
    fn child(&mut self, who: &Who) -> Option<&mut Child> {
        let host = self.hosts.get_mut(&who.host)?;
        if host.starts == who.start {
            host.child.as_mut()
        } else {
            None
        }
    }
}
