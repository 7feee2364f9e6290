//! Conducts a real run: injects its faults into processes, and records when each fault really
//! took effect.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use locklab_link::{EventQueue, RuleId};
use locklab_values::units::ns_from_ms;

use super::ConfirmError;
use super::bench::Bench;
use super::child::{ChildEvent, Who};
use super::wire::Command;
use locklab_history::{Effect, Event, FaultyLinks, History, HostFault, Name, Schedule};
use locklab_model::scenario::Scenario;
use locklab_runner::nemesis::executor::{Completion, Executor, Injector, Step, Strike};

/// The longest wait for an event before the conductor sees whether it has to stop.
const LOOK_UP: Duration = Duration::from_millis(200);

/// Runs to the end of the last client's last round, or to the scenario's horizon. Returns what
/// happened, and the longest time for which the machine stood still meanwhile, in nanoseconds.
pub(super) fn conduct(
    bench: Bench<'_>,
    scenario: &Scenario,
    schedule: &Schedule,
    stop: &AtomicBool,
) -> Result<(History, u64), ConfirmError> {
    let mut conductor = Conductor {
        executor: Executor::new(schedule.clone()),
        processes: Processes {
            working: bench.clients().iter().cloned().collect(),
            bench,
            event_queue: EventQueue::new(),
            starting: BTreeMap::new(),
            rules: BTreeMap::new(),
        },
    };
    conductor.executor.start(&mut conductor.processes);
    conductor.processes.bench.begin();
    conductor.run(ns_from_ms(scenario.horizon_ms), stop)?;
    Ok(conductor.finish())
}

struct Conductor<'a> {
    executor: Executor,
    processes: Processes<'a>,
}

/// The processes of a run, as targets of faults.
struct Processes<'a> {
    bench: Bench<'a>,
    /// The pending steps, by true time in nanoseconds.
    event_queue: EventQueue<Step>,
    /// Clients that have not finished their rounds and are not dead for good.
    working: BTreeSet<Name>,
    /// Restarted processes that are not ready yet, each with the fault after which it restarts.
    starting: BTreeMap<Who, usize>,
    /// The rules of the link faults in force, by their index in the schedule.
    rules: BTreeMap<usize, RuleId>,
}

impl Conductor<'_> {
    fn run(&mut self, horizon_ns: u64, stop: &AtomicBool) -> Result<(), ConfirmError> {
        while !self.processes.working.is_empty() {
            if stop.load(Ordering::Relaxed) {
                return Err(ConfirmError::Stopped);
            }
            let now_ns = self.processes.now_ns();
            if now_ns >= horizon_ns {
                break;
            }
            if let Some(step) = self.processes.event_queue.pop_due(now_ns) {
                self.executor.perform(step, &mut self.processes)?;
                continue;
            }
            let next_ns = self.processes.event_queue.next_ns().unwrap_or(u64::MAX);
            let wait = Duration::from_nanos(next_ns.min(horizon_ns) - now_ns);
            if let Some((who, event)) = self.processes.bench.receive(wait.min(LOOK_UP))? {
                self.handle(&who, &event)?;
            }
        }
        Ok(())
    }

    fn finish(mut self) -> (History, u64) {
        self.executor.finish(&mut self.processes);
        let bench = self.processes.bench;
        for client in bench.clients() {
            bench.record(client, Event::RunEnds);
        }
        let end_ns = bench.now_ns();
        let stall_ns = bench.longest_stall_ns();
        (bench.finish(end_ns), stall_ns)
    }

    /// Handles an event of a process.
    fn handle(&mut self, who: &Who, event: &ChildEvent) -> Result<(), ConfirmError> {
        let processes = &mut self.processes;
        match event {
            ChildEvent::Reached(point) => {
                let due = self.executor.reached(&who.host, *point);
                self.executor.strike(&due, processes)?;
                // Only now, so that the faults have struck before the client's next step.
                processes.bench.tell(who, &Command::GoOn);
            }
            event if event.is_ready() => {
                processes.bench.publish(&who.host)?;
                if let Some(fault) = processes.starting.remove(who) {
                    processes.record(&who.host, self.executor.ended(fault));
                    // A restarted client begins immediately; servers ignore the command.
                    processes.bench.tell(who, &Command::Begin { at_ns: 0 });
                }
            }
            ChildEvent::Finished => {
                if processes.bench.runs(who) {
                    processes.working.remove(&who.host);
                }
            }
            ChildEvent::Ordered(fault) => {
                let event = self.executor.begun(*fault);
                processes.record(&who.host, event);
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
        self.bench.now_ns()
    }

    fn schedule(&mut self, at_ns: u64, step: Step) {
        self.event_queue.schedule(at_ns, step);
    }

    fn is_running(&self, host: &Name) -> bool {
        let has_finished = self.bench.clients().contains(host) && !self.working.contains(host);
        self.bench.is_alive(host) && !has_finished
    }

    fn record(&mut self, host: &Name, event: Event) {
        self.bench.record(host, event);
    }

    fn inject(&mut self, strike: &Strike) -> Result<Completion, ConfirmError> {
        match &strike.fault.effect {
            Effect::Hosts { fault, .. } => return self.inject_hosts(strike, *fault),
            Effect::Links { fault, links } => self.install(strike.index, &links.under(*fault)),
        }
        Ok(Completion::Done)
    }

    fn lift(&mut self, strike: &Strike) -> Result<Completion, ConfirmError> {
        match &strike.fault.effect {
            Effect::Hosts { fault, .. } => return self.lift_hosts(strike, *fault),
            Effect::Links { .. } => {
                if let Some(rule) = self.rules.remove(&strike.index) {
                    self.bench.lift(rule);
                }
            }
        }
        Ok(Completion::Done)
    }
}

impl Processes<'_> {
    fn install(&mut self, index: usize, links: &FaultyLinks) {
        let rule = self.bench.install(links);
        self.rules.insert(index, rule);
    }

    fn inject_hosts(
        &mut self,
        strike: &Strike,
        fault: HostFault,
    ) -> Result<Completion, ConfirmError> {
        let (bench, hosts) = (&mut self.bench, strike.hosts);
        match fault {
            HostFault::Pause => bench.pause(hosts),
            HostFault::Suspend => bench.suspend(hosts)?,
            HostFault::Kill => {
                hosts.iter().for_each(|host| bench.kill(host));
                self.died(strike);
            }
            HostFault::Crash => {
                for host in hosts {
                    bench.crash(host)?;
                }
                self.died(strike);
            }
            HostFault::ClockStep { step } => bench.set_clocks(|clocks| clocks.step(hosts, step))?,
            HostFault::ClockRate { drift_ppm } => {
                bench.set_clocks(|clocks| clocks.begin_rate(hosts, strike.index, drift_ppm))?;
            }
            HostFault::Failover => {
                for host in hosts {
                    bench.order_failover(host, strike.index);
                }
                return Ok(Completion::Pending);
            }
        }
        Ok(Completion::Done)
    }

    fn lift_hosts(
        &mut self,
        strike: &Strike,
        fault: HostFault,
    ) -> Result<Completion, ConfirmError> {
        let (bench, hosts) = (&mut self.bench, strike.hosts);
        match fault {
            HostFault::Pause => bench.resume(hosts),
            HostFault::Suspend => bench.wake(hosts)?,
            HostFault::Kill | HostFault::Crash => {
                for host in hosts {
                    if bench.is_alive(host) {
                        continue;
                    }
                    if fault == HostFault::Crash {
                        bench.restore_power(host);
                    }
                    let who = bench.start_process(host)?;
                    self.starting.insert(who, strike.index);
                }
                return Ok(Completion::Pending);
            }
            HostFault::ClockStep { step } => {
                bench.set_clocks(|clocks| clocks.step(hosts, -step))?
            }
            HostFault::ClockRate { .. } => {
                bench.set_clocks(|clocks| clocks.end_rate(hosts, strike.index))?;
            }
            HostFault::Failover => {}
        }
        Ok(Completion::Done)
    }

    /// The processes of a fault's hosts have died.
    fn died(&mut self, strike: &Strike) {
        let is_struck = |host: &Name| strike.hosts.contains(host);
        self.starting.retain(|who, _| !is_struck(&who.host));
        if strike.fault.duration_ns.is_none() {
            self.working.retain(|client| !is_struck(client));
        }
    }
}
