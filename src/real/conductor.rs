//! Conducts a real run: injects its faults into processes, and records when each fault really
//! took effect.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use locklab_link::{EventQueue, RuleId};
use locklab_values::units::{NS_PER_MS, ns_from_ms};
use locklab_vecmap::{VecMap, VecSet};

use super::ConfirmError;
use super::child::{ChildEvent, ProcessId};
use super::child_protocol::Command;
use super::child_protocol::ServerKind;
use super::foreign::moments::Moments;
use super::foreign::mute::{Mute, READS_NS};
use super::testbed::{Finished, Testbed};
use locklab_history::{
    Effect, Event, Failpoint, Fault, FaultyLinks, HostFault, Moment, Name, Schedule, Start,
};
use locklab_model::scenario::Scenario;
use locklab_runner::nemesis::executor::{Completion, Executor, Injection, Injector, Step};
use locklab_runner::run::Lateness;

/// The longest wait for an event before the conductor sees whether it has to stop.
const LOOK_UP: Duration = Duration::from_millis(200);

/// How long a restarted process takes until it is ready, in nanoseconds: 14 restarts of `redis-server`
/// 7.0.15 took 15 to 84 ms on two cores with a load of 13. This is part of every restart, and `confirm`
/// adds a measured start time to the restarts of the simulation (`jitter.rs`). So a process is late only
/// by what it takes beyond that.
const USUAL_START_NS: u64 = 100 * NS_PER_MS;

/// The same for a member of ZooKeeper, which runs in Java: 12 restarts of 3.8.0 took 0.3 to 1.7 s there, seven
/// of them up to 0.5 s.
const USUAL_MEMBER_START_NS: u64 = 600 * NS_PER_MS;

/// The same for PostgreSQL, which replays its log: 13 restarts of 15.18 took 0.13 to 0.41 s, half of them up to 0.2 s, on
/// two cores with a load of 6.
const USUAL_DATABASE_START_NS: u64 = 200 * NS_PER_MS;

/// What a real run has left.
pub(super) struct Conducted {
    /// What it has left.
    pub(super) finished: Finished,
    /// How late the machine was during the run.
    pub(super) lateness: Lateness,
    /// The points that foreign clients came to, each with its true time in nanoseconds, in order.
    pub(super) moments: Vec<(u64, Moment)>,
}

/// Runs to the end of the last client's last round, or to the scenario's horizon.
pub(super) fn conduct(
    testbed: Testbed<'_>,
    scenario: &Scenario,
    schedule: &Schedule,
    stop: &AtomicBool,
) -> Result<Conducted, ConfirmError> {
    let mut conductor = Conductor {
        executor: Executor::new(schedule.clone()),
        silent: testbed.clients().iter().cloned().collect(),
        mute: Mute::new(testbed.clients(), scenario.topology.nodes as usize),
        granted: EventQueue::new(),
        moments: Moments::default(),
        still: vec![],
        processes: Processes {
            working: testbed.clients().iter().cloned().collect(),
            testbed,
            event_queue: EventQueue::new(),
            starting: VecMap::new(),
            due_ns: 0,
            latest_start_ns: 0,
            latest_return_ns: 0,
            rules: VecMap::new(),
        },
    };
    conductor.executor.start(&mut conductor.processes);
    conductor.processes.testbed.begin();
    conductor.run(ns_from_ms(scenario.horizon_ms), stop)?;
    let hints = hints(schedule, &conductor.mute);
    let mut conducted = conductor.finish()?;
    conducted.finished.notes.extend(hints);
    Ok(conducted)
}

/// What to write where a fault has waited in vain for the second grant of a program that says nothing.
fn hints(schedule: &Schedule, mute: &Mute) -> Vec<String> {
    let hint = |fault: &Fault| match &fault.start {
        Start::After { client, point, .. }
            if *point == Failpoint::Acquired && mute.is_granted_once(client) =>
        {
            let name = &fault.name;
            Some(format!(
                "fault {name} did not strike: {client} tells nothing, and was granted its lock only once; to strike \
                 then, write --set fault.{name}.after='{client} holds' --set fault.{name}.delay_ms={}",
                READS_NS / NS_PER_MS
            ))
        }
        _ => None,
    };
    schedule.faults.iter().filter_map(hint).collect()
}

struct Conductor<'a> {
    executor: Executor,
    /// Clients that have not told anything. Foreign ones that only show what they do have the lock when
    /// they use the resource.
    silent: VecSet<Name>,
    /// Clients that have not shown anything either.
    mute: Mute,
    /// When such clients count as having acquired the lock that they were granted, by true time in nanoseconds.
    granted: EventQueue<Name>,
    /// The points that foreign clients came to.
    moments: Moments,
    /// Servers that were ready, and stood still before we knew it.
    still: Vec<ProcessId>,
    processes: Processes<'a>,
}

/// The processes of a run, as targets of faults.
struct Processes<'a> {
    testbed: Testbed<'a>,
    /// The pending steps, by true time in nanoseconds.
    event_queue: EventQueue<Step>,
    /// Clients that have not finished their rounds and are not dead for good.
    working: VecSet<Name>,
    /// Restarted processes that are not ready yet.
    starting: VecMap<ProcessId, Starting>,
    /// When the step that is performed was due, by true time in nanoseconds.
    due_ns: u64,
    /// The longest delay with which a process began, or with which one was stopped or went on, in nanoseconds.
    latest_start_ns: u64,
    /// The longest delay with which a restarted process was ready, in nanoseconds.
    latest_return_ns: u64,
    /// The rules of the link faults in force, by their index in the schedule.
    rules: VecMap<usize, RuleId>,
}

/// A restarted process that is not ready yet.
struct Starting {
    /// The fault after which it restarts.
    fault: usize,
    /// When it was to begin, by true time in nanoseconds; of one that waits by a clock that may be set,
    /// the time at which it said that it has begun.
    due_ns: u64,
}

/// How late a process is that was to begin at `due_ns`, and did so, or has not yet, at `at_ns`.
fn late_ns(due_ns: u64, at_ns: u64) -> u64 {
    at_ns.saturating_sub(due_ns)
}

/// How long the process of a host usually takes until it is ready.
fn usual_start_ns(testbed: &Testbed<'_>, host: &Name) -> u64 {
    match testbed.server_kind(host) {
        Some(ServerKind::ZooKeeper) => USUAL_MEMBER_START_NS,
        Some(ServerKind::Postgres) => USUAL_DATABASE_START_NS,
        Some(ServerKind::Redis) | None => USUAL_START_NS,
    }
}

impl Conductor<'_> {
    fn run(&mut self, horizon_ns: u64, stop: &AtomicBool) -> Result<(), ConfirmError> {
        while !self.processes.working.is_empty() {
            if stop.load(Ordering::Relaxed) {
                return Err(ConfirmError::Stopped);
            }
            self.processes.testbed.check_programs()?;
            let now_ns = self.processes.now_ns();
            if now_ns >= horizon_ns || self.processes.testbed.is_full() {
                break;
            }
            let answers = |who: &ProcessId| !self.processes.testbed.is_asked_in_vain(&who.host);
            if let Some(place) = self.still.iter().position(answers) {
                let who = self.still.swap_remove(place);
                self.ready(&who)?;
                continue;
            }
            if let Some(client) = self.granted.pop_due(now_ns) {
                self.has_read(&client)?;
                continue;
            }
            let next_ns = self.processes.event_queue.next_ns().unwrap_or(u64::MAX);
            if let Some(step) = self.processes.event_queue.pop_due(now_ns) {
                self.processes.due_ns = next_ns;
                self.executor.perform(step, &mut self.processes)?;
                continue;
            }
            let next_ns = next_ns.min(self.granted.next_ns().unwrap_or(u64::MAX));
            let wait = Duration::from_nanos(next_ns.min(horizon_ns) - now_ns);
            if let Some((who, event)) = self.processes.testbed.receive(wait.min(LOOK_UP))? {
                self.handle(&who, &event)?;
            }
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Conducted, ConfirmError> {
        self.executor.finish(&mut self.processes);
        let latest_start_ns = self.processes.latest_start_ns;
        let mut latest_return_ns = self.processes.latest_return_ns;
        let testbed = self.processes.testbed;
        for client in testbed.clients() {
            testbed.record(client, Event::RunEnds);
        }
        let end_ns = testbed.now_ns();
        for (who, Starting { due_ns, .. }) in &self.processes.starting {
            let ready_ns = due_ns + usual_start_ns(&testbed, &who.host);
            latest_return_ns = latest_return_ns.max(late_ns(ready_ns, end_ns));
        }
        let lateness = Lateness {
            start_ns: late_processes_ns(
                testbed.has_foreign_clients(),
                latest_start_ns,
                latest_return_ns,
            ),
            ..testbed.lateness()
        };
        Ok(Conducted {
            finished: testbed.finish(end_ns)?,
            lateness,
            moments: self.moments.passed,
        })
    }

    /// A foreign client has come to this point, and goes on.
    fn passed(&mut self, client: &Name, point: Failpoint) -> Result<(), ConfirmError> {
        let now_ns = self.processes.now_ns();
        self.moments.passes(now_ns, client, point);
        let due = self.executor.reached(client, point);
        self.executor.inject_due(&due, &mut self.processes)
    }

    /// A client has read that it was granted the lock, and has neither shown nor told anything.
    fn has_read(&mut self, client: &Name) -> Result<(), ConfirmError> {
        match self.mute.has(client) {
            true => self.passed(client, Failpoint::Acquired),
            false => Ok(()),
        }
    }

    /// A process is ready.
    fn ready(&mut self, who: &ProcessId) -> Result<(), ConfirmError> {
        let processes = &mut self.processes;
        // A fault may have struck it since.
        if !processes.testbed.runs(who) {
            return Ok(());
        }
        if processes.testbed.is_asked_in_vain(&who.host) {
            self.still.push(who.clone());
            return Ok(());
        }
        processes.testbed.publish(&who.host)?;
        if let Some(Starting { fault, due_ns }) = processes.starting.remove(who) {
            let ready_ns = due_ns + usual_start_ns(&processes.testbed, &who.host);
            processes.is_back(ready_ns, processes.now_ns());
            processes.record(&who.host, self.executor.ended(fault));
            // A restarted client begins immediately; servers ignore the command.
            processes.testbed.send(who, &Command::Begin { at_ns: 0 });
        }
        Ok(())
    }

    /// Handles an event of a process.
    fn handle(&mut self, who: &ProcessId, event: &ChildEvent) -> Result<(), ConfirmError> {
        let processes = &mut self.processes;
        match event {
            ChildEvent::Reached(point) => {
                let due = self.executor.reached(&who.host, *point);
                self.executor.inject_due(&due, processes)?;
                // Only now, so that the faults have taken effect before the client's next step.
                processes.testbed.send(who, &Command::GoOn);
            }
            event if event.is_ready() => self.ready(who)?,
            ChildEvent::Began { due_ns, at_ns } => {
                processes.began(*due_ns, *at_ns);
                if let Some(starting) = processes.starting.get_mut(who) {
                    starting.due_ns = processes.testbed.now_ns();
                }
            }
            ChildEvent::Finished => {
                if processes.testbed.runs(who) {
                    processes.working.remove(&who.host);
                }
            }
            ChildEvent::Exited => {
                processes.working.remove(&who.host);
            }
            ChildEvent::Told(point) => {
                self.silent.remove(&who.host);
                self.mute.speaks(&who.host);
                self.passed(&who.host, *point)?;
            }
            ChildEvent::Served(client, point) => {
                if processes.testbed.has_foreign_clients() {
                    self.mute.speaks(client);
                    self.passed(client, *point)?;
                    if self.silent.contains(client) {
                        self.passed(client, Failpoint::Acquired)?;
                    }
                }
            }
            ChildEvent::AtStep(due) => {
                self.executor.inject_due(due, processes)?;
                // Only now, so that the faults have taken effect before the host acts on it.
                processes.testbed.proxy.wake(&who.host);
            }
            ChildEvent::Granted(node) => {
                if self.mute.is_granted(&who.host, node) {
                    let read_ns = processes.now_ns().saturating_add(READS_NS);
                    self.granted.schedule(read_ns, who.host.clone());
                }
            }
            ChildEvent::Ordered(fault) => {
                let event = self.executor.begun(*fault);
                processes.record(&who.host, event);
            }
            ChildEvent::Refused(fault, why) => {
                let name = &self.executor.fault(*fault).name;
                let note = format!("fault {name} did not strike: {} answered: {why}", who.host);
                processes.testbed.note(note);
            }
            ChildEvent::Ready
            | ChildEvent::Notice(_)
            | ChildEvent::Synchronised
            | ChildEvent::Ended(_) => {}
        }
        Ok(())
    }
}

impl Injector for Processes<'_> {
    type Error = ConfirmError;

    fn now_ns(&self) -> u64 {
        self.testbed.now_ns()
    }

    fn schedule(&mut self, at_ns: u64, step: Step) {
        self.event_queue.schedule(at_ns, step);
    }

    fn is_running(&self, host: &Name) -> bool {
        let has_finished = self.testbed.clients().contains(host) && !self.working.contains(host);
        self.testbed.is_alive(host) && !has_finished
    }

    fn record(&mut self, host: &Name, event: Event) {
        self.testbed.record(host, event);
    }

    fn inject(&mut self, injection: &Injection) -> Result<Completion, ConfirmError> {
        match &injection.fault.effect {
            Effect::Hosts { fault, .. } => return self.inject_hosts(injection, fault),
            Effect::Links { fault, links } => self.install(injection.index, &links.under(*fault)),
        }
        Ok(Completion::Done)
    }

    fn lift(&mut self, injection: &Injection) -> Result<Completion, ConfirmError> {
        match &injection.fault.effect {
            Effect::Hosts { fault, .. } => return self.lift_hosts(injection, fault),
            Effect::Links { .. } => {
                if let Some(rule) = self.rules.remove(&injection.index) {
                    self.testbed.lift(rule);
                }
            }
        }
        Ok(Completion::Done)
    }
}

impl Processes<'_> {
    /// A process began at a time, and was to begin at `due_ns`.
    fn began(&mut self, due_ns: u64, at_ns: u64) {
        self.latest_start_ns = self.latest_start_ns.max(late_ns(due_ns, at_ns));
    }

    /// A process that was restarted is ready, and was to be at `due_ns`.
    fn is_back(&mut self, due_ns: u64, at_ns: u64) {
        self.latest_return_ns = self.latest_return_ns.max(late_ns(due_ns, at_ns));
    }

    fn install(&mut self, index: usize, links: &FaultyLinks) {
        let rule = self.testbed.install(links);
        self.rules.insert(index, rule);
    }

    fn inject_hosts(
        &mut self,
        injection: &Injection,
        fault: &HostFault,
    ) -> Result<Completion, ConfirmError> {
        let from_ns = self.now_ns();
        let (testbed, hosts) = (&mut self.testbed, injection.hosts);
        match fault {
            HostFault::Pause => testbed.pause(hosts),
            HostFault::Stall => testbed.stall(hosts)?,
            HostFault::Suspend => testbed.suspend(hosts)?,
            HostFault::Kill => {
                hosts.iter().for_each(|host| testbed.kill(host));
                self.died(injection);
            }
            HostFault::Crash => {
                for host in hosts {
                    testbed.crash(host)?;
                }
                self.died(injection);
            }
            HostFault::Reset => hosts.iter().for_each(|host| testbed.proxy.reset(host)),
            HostFault::ClockStep { step } => {
                testbed.set_clocks(|clocks| clocks.step(hosts, *step))?
            }
            HostFault::ClockRate { drift_ppm } => {
                testbed
                    .set_clocks(|clocks| clocks.begin_rate(hosts, injection.index, *drift_ppm))?;
            }
            HostFault::DiskFull => testbed.set_clocks(|clocks| clocks.fill_disks(hosts))?,
            HostFault::Failover => {
                for host in hosts {
                    testbed.order_failover(host, injection.index);
                }
                return Ok(Completion::Pending);
            }
            HostFault::Command { line } => {
                for host in hosts {
                    testbed.order(host, line, injection.index);
                }
                return Ok(Completion::Pending);
            }
        }
        self.stopped(injection, from_ns);
        Ok(Completion::Done)
    }

    /// The processes of a fault stand still, or go on. They may have done so since `from_ns`, which nobody records: a
    /// machine with much to do takes long to stop all of their threads.
    fn stopped(&mut self, injection: &Injection, from_ns: u64) {
        if injection.fault.kind().stands_still() {
            self.began(from_ns, self.now_ns());
        }
    }

    fn lift_hosts(
        &mut self,
        injection: &Injection,
        fault: &HostFault,
    ) -> Result<Completion, ConfirmError> {
        let from_ns = self.now_ns();
        let (testbed, hosts) = (&mut self.testbed, injection.hosts);
        match fault {
            HostFault::Pause => testbed.resume(hosts),
            HostFault::Stall => testbed.end_stall(hosts)?,
            HostFault::Suspend => testbed.wake(hosts)?,
            HostFault::Kill | HostFault::Crash => {
                for host in hosts {
                    if testbed.is_alive(host) {
                        continue;
                    }
                    if *fault == HostFault::Crash {
                        testbed.restore_power(host);
                    }
                    let who = testbed.start_process(host)?;
                    let starting = Starting {
                        fault: injection.index,
                        due_ns: self.due_ns + testbed.restart_delay_ns(host),
                    };
                    self.starting.insert(who, starting);
                }
                return Ok(Completion::Pending);
            }
            HostFault::ClockStep { step } => {
                testbed.set_clocks(|clocks| clocks.step(hosts, -*step))?
            }
            HostFault::ClockRate { .. } => {
                testbed.set_clocks(|clocks| clocks.end_rate(hosts, injection.index))?;
            }
            HostFault::DiskFull => testbed.set_clocks(|clocks| clocks.empty_disks(hosts))?,
            HostFault::Reset | HostFault::Failover | HostFault::Command { .. } => {}
        }
        self.stopped(injection, from_ns);
        Ok(Completion::Done)
    }

    /// The processes of a fault's hosts have died.
    fn died(&mut self, injection: &Injection) {
        let is_struck = |host: &Name| injection.hosts.contains(host);
        self.starting.retain(|who, _| !is_struck(&who.host));
        if injection.fault.duration_ns.is_none() {
            self.working.retain(|client| !is_struck(client));
        }
    }
}

/// How late processes were, so that verdicts may depend on it, in nanoseconds: when they began, stopped or went on, which
/// is not recorded; and when they were back after a restart. The last is recorded, and programs of others are judged by
/// the faults as they were: a server that is late was away for longer.
fn late_processes_ns(is_foreign: bool, latest_start_ns: u64, latest_return_ns: u64) -> u64 {
    match is_foreign {
        true => latest_start_ns,
        false => latest_start_ns.max(latest_return_ns),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_returns_count_for_our_own_clients_and_late_stops_for_all() {
        for is_foreign in [false, true] {
            assert_eq!(late_processes_ns(is_foreign, 20, 10), 20);
        }
        assert_eq!(late_processes_ns(true, 0, 10), 0);
        assert_eq!(late_processes_ns(false, 0, 10), 10);
    }
}
