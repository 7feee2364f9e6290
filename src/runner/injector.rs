//! The fault injector of the simulator.

use std::cell::RefCell;
use std::convert::Infallible;
use std::rc::Rc;

use locklab_link::RuleId;
use locklab_services::disk::Disk;
use locklab_vecmap::VecMap;
use locklab_world::{Host, HostId, Moment, Watcher, World};

use super::gate::Gate;
use super::recorder::Recorder;
use super::steps::Steps;
use crate::nemesis::executor::{Completion, Executor, Injection, Injector, Step};
use crate::nemesis::rates::Rates;
use crate::nemesis::trigger::DueFault;
use crate::nemesis::{failover, link_rule};
use crate::simulated_env::SimulatedEnv;
use crate::workload::operator;
use locklab_history::{Effect, Event, Failpoint, FaultyLinks, HostFault, Name, Schedule};

/// The faults of one run.
pub(super) struct Faults {
    recorder: Rc<Recorder>,
    executor: RefCell<Executor>,
    /// The steps of the run, if anybody asks for them.
    steps: Option<RefCell<Steps>>,
    /// The rules of the link faults in force, by their index in the schedule.
    rules: RefCell<VecMap<usize, RuleId>>,
    rates: RefCell<VecMap<HostId, Rates>>,
    /// What the tasks of clients pass.
    gates: RefCell<VecMap<HostId, Gate>>,
    disks: RefCell<VecMap<HostId, Rc<RefCell<Disk>>>>,
}

impl Faults {
    pub(super) fn new(
        recorder: Rc<Recorder>,
        schedule: Schedule,
        steps: Option<Steps>,
    ) -> Rc<Self> {
        Rc::new(Self {
            recorder,
            steps: steps.map(RefCell::new),
            executor: RefCell::new(Executor::new(schedule)),
            rules: RefCell::default(),
            rates: RefCell::default(),
            gates: RefCell::default(),
            disks: RefCell::default(),
        })
    }

    /// Puts the faults with a start time on the simulator's event queue, and has the world watched if
    /// anybody asks for its steps.
    pub(super) fn start(self: &Rc<Self>, world: &mut World) {
        if self.steps.is_some() {
            world.watched_by(Rc::new(StepWatcher(self.clone())));
        }
        self.executor.borrow().start(&mut self.injector(world));
    }

    /// What the task of a client passes, so that it can stand still alone.
    pub(super) fn gate(&self, client: HostId) -> Gate {
        self.gates.borrow_mut().entry(client).or_default().clone()
    }

    /// The disk of a server, which faults may fill.
    pub(super) fn has_disk(&self, server: HostId, disk: Rc<RefCell<Disk>>) {
        self.disks.borrow_mut().insert(server, disk);
    }

    /// Asks the steps of the run; `None` if nobody wants them.
    pub(super) fn steps<T>(&self, ask: impl FnOnce(&mut Steps) -> T) -> Option<T> {
        self.steps
            .as_ref()
            .map(|steps| ask(&mut steps.borrow_mut()))
    }

    /// What a server calls whenever it has synced its file.
    pub(super) fn on_sync(self: &Rc<Self>, server: &Name, host: &Host) -> Option<Rc<dyn Fn()>> {
        self.steps.as_ref()?;
        let (faults, server, host) = (self.clone(), server.clone(), host.clone());
        Some(Rc::new(move || {
            let due = faults.steps(|steps| steps.syncs(host.now_ns(), &server));
            faults.defer(due.unwrap_or_default(), &host);
        }))
    }

    /// Notes an event in the log of a sentinel.
    pub(super) fn notice(self: &Rc<Self>, sentinel: &Name, notice: &str, host: &Host) {
        let due = self.steps(|steps| steps.notices(host.now_ns(), sentinel, notice));
        self.defer(due.unwrap_or_default(), host);
    }

    /// Injects these faults when the running task yields.
    fn defer(self: &Rc<Self>, due: Vec<DueFault>, host: &Host) {
        if !due.is_empty() {
            let faults = self.clone();
            host.defer(move |world| faults.inject_due(&due, world));
        }
    }

    /// The faults that are due when a client reaches a failpoint.
    pub(super) fn reached(&self, client: &Name, point: Failpoint, at_ns: u64) -> Vec<DueFault> {
        self.steps(|steps| steps.reaches(at_ns, client, point));
        self.executor.borrow_mut().reached(client, point)
    }

    /// Injects these faults. If one of them strikes at a step that another one brings about (a host
    /// without power still sends what was written before), it waits until that has taken effect.
    pub(super) fn inject_due(self: &Rc<Self>, due: &[DueFault], world: &mut World) {
        if due.is_empty() {
            return;
        }
        if let Ok(mut executor) = self.executor.try_borrow_mut() {
            let Ok(()) = executor.inject_due(due, &mut self.injector(world));
            return;
        }
        let (faults, due) = (self.clone(), due.to_vec());
        world.at(world.now_ns(), move |world| faults.inject_due(&due, world));
    }

    /// Records the faults that never took effect.
    pub(super) fn finish(self: &Rc<Self>, world: &mut World) {
        self.executor.borrow().finish(&mut self.injector(world));
    }

    fn injector<'w>(self: &Rc<Self>, world: &'w mut World) -> WorldInjector<'w> {
        let faults = self.clone();
        WorldInjector { faults, world }
    }
}

/// Tells the steps of a run what happens in its world, and injects the faults that are due.
struct StepWatcher(Rc<Faults>);

impl Watcher for StepWatcher {
    fn sees(&self, world: &mut World, moment: Moment<'_>) {
        let at_ns = world.now_ns();
        let due = self.0.steps(|steps| steps.happens(at_ns, moment));
        self.0.inject_due(&due.unwrap_or_default(), world);
    }
}

struct WorldInjector<'w> {
    faults: Rc<Faults>,
    world: &'w mut World,
}

impl Injector for WorldInjector<'_> {
    type Error = Infallible;

    fn now_ns(&self) -> u64 {
        self.world.now_ns()
    }

    fn schedule(&mut self, at_ns: u64, step: Step) {
        let faults = self.faults.clone();
        self.world.at(at_ns, move |world| {
            let mut executor = faults.executor.borrow_mut();
            let Ok(()) = executor.perform(step, &mut faults.injector(world));
        });
    }

    fn is_running(&self, host: &Name) -> bool {
        let recorder = &self.faults.recorder;
        recorder.is_running(host) && self.world.is_up(recorder.id(host))
    }

    fn record(&mut self, host: &Name, event: Event) {
        let recorder = &self.faults.recorder;
        recorder.record(&self.world.host(recorder.id(host)), host, event);
    }

    fn inject(&mut self, injection: &Injection) -> Result<Completion, Infallible> {
        match &injection.fault.effect {
            Effect::Hosts { fault, .. } => Ok(self.inject_hosts(injection, fault)),
            Effect::Links { fault, links } => {
                self.install_rule(injection.index, &links.under(*fault));
                Ok(Completion::Done)
            }
        }
    }

    fn lift(&mut self, injection: &Injection) -> Result<Completion, Infallible> {
        match &injection.fault.effect {
            Effect::Hosts { fault, .. } => self.lift_hosts(injection, fault),
            Effect::Links { .. } => {
                let rule = self.faults.rules.borrow_mut().remove(&injection.index);
                if let Some(rule) = rule {
                    self.world.lift(rule);
                }
            }
        }
        Ok(Completion::Done)
    }
}

impl WorldInjector<'_> {
    fn inject_hosts(&mut self, injection: &Injection, fault: &HostFault) -> Completion {
        let hosts = self.ids(injection.hosts);
        match fault {
            HostFault::Pause => hosts.iter().for_each(|host| self.world.pause(*host)),
            HostFault::Stall => self.stall(&hosts, Gate::shut, World::pause),
            HostFault::Suspend => hosts.iter().for_each(|host| self.world.suspend(*host)),
            HostFault::Kill => self.end_processes(injection, World::kill),
            HostFault::Crash => self.end_processes(injection, World::crash),
            HostFault::Reset => {
                hosts
                    .iter()
                    .for_each(|host| self.world.reset_connections(*host));
            }
            HostFault::ClockStep { step } => {
                let step = |host: &HostId| self.world.step_wall(*host, *step);
                hosts.iter().for_each(step);
            }
            HostFault::ClockRate { drift_ppm } => {
                for host in hosts {
                    self.begin_rate(injection.index, host, *drift_ppm);
                }
            }
            HostFault::DiskFull => self.disks(&hosts, Disk::fill),
            HostFault::Failover => {
                for host in injection.hosts {
                    self.order_failover(injection.index, host);
                }
                return Completion::Pending;
            }
            HostFault::Command { line } => {
                for host in injection.hosts {
                    let (name, line) = (host.clone(), line.clone());
                    self.order(injection.index, host, async move |env| {
                        operator::enters(&env, &name, &line).await.is_ok()
                    });
                }
                return Completion::Pending;
            }
        }
        Completion::Done
    }

    fn lift_hosts(&mut self, injection: &Injection, fault: &HostFault) {
        let hosts = self.ids(injection.hosts);
        match fault {
            HostFault::Pause => hosts.iter().for_each(|host| self.world.resume(*host)),
            HostFault::Stall => self.stall(&hosts, Gate::open, World::resume),
            HostFault::Suspend => hosts.iter().for_each(|host| self.world.wake(*host)),
            HostFault::Kill | HostFault::Crash => {
                hosts.iter().for_each(|host| self.world.restart(*host));
            }
            HostFault::ClockStep { step } => {
                let step_back = |host: &HostId| self.world.step_wall(*host, -*step);
                hosts.iter().for_each(step_back);
            }
            HostFault::ClockRate { .. } => {
                for host in hosts {
                    self.end_rate(injection.index, host);
                }
            }
            HostFault::DiskFull => self.disks(&hosts, Disk::make_room),
            HostFault::Reset | HostFault::Failover | HostFault::Command { .. } => {}
        }
    }

    fn disks(&self, hosts: &[HostId], change: fn(&Disk)) {
        let disks = self.faults.disks.borrow();
        let of_hosts = hosts.iter().filter_map(|host| disks.get(host));
        of_hosts.for_each(|disk| change(&disk.borrow()));
    }

    /// Changes the gates of clients; a server has one thread.
    fn stall(&mut self, hosts: &[HostId], client: fn(&Gate), server: fn(&mut World, HostId)) {
        for host in hosts {
            match self.faults.gates.borrow().get(host) {
                Some(gate) => client(gate),
                None => server(self.world, *host),
            }
        }
    }

    fn ids(&self, names: &[Name]) -> Vec<HostId> {
        names
            .iter()
            .map(|name| self.faults.recorder.id(name))
            .collect()
    }

    fn end_processes(&mut self, injection: &Injection, end: fn(&mut World, HostId)) {
        let hosts = self.ids(injection.hosts);
        let recorder = &self.faults.recorder;
        recorder.without_recording(|| hosts.iter().for_each(|host| end(self.world, *host)));
        let comes_back = injection.fault.duration_ns.is_some();
        recorder.died(injection.hosts, comes_back, &self.world.host(hosts[0]));
    }

    /// Sends the command for a failover, as an operator. The fault begins when the server
    /// replies OK: a sentinel refuses if a failover is already in progress, or if no replica is
    /// suitable.
    fn order_failover(&self, index: usize, name: &Name) {
        let Some(role) = self.faults.recorder.role(name) else {
            return;
        };
        let (server, words) = (name.clone(), failover::order(&role));
        self.order(index, name, async move |env| {
            operator::asks(&env, &server, words).await
        });
    }

    /// Has an operator do something on a server's machine. The fault begins if and when that takes effect.
    fn order(
        &self,
        index: usize,
        name: &Name,
        does: impl AsyncFnOnce(SimulatedEnv) -> bool + 'static,
    ) {
        let (faults, name) = (self.faults.clone(), name.clone());
        let host = self.world.host(faults.recorder.id(&name));
        let env = SimulatedEnv::new(host.clone(), faults.recorder.directory.clone(), "operator");
        host.clone().spawn(async move {
            if does(env).await {
                let event = faults.executor.borrow_mut().begun(index);
                faults.recorder.record(&host, &name, event);
            }
        });
    }

    /// Installs a fault on these links.
    fn install_rule(&mut self, index: usize, links: &FaultyLinks) {
        let rule = link_rule(links, |name| self.faults.recorder.id(name));
        let id = self.world.install(rule);
        self.faults.rules.borrow_mut().insert(index, id);
    }

    fn begin_rate(&mut self, index: usize, host: HostId, drift_ppm: i64) {
        let own_ppm = self.world.set_drift_ppm(host, drift_ppm);
        let mut rates = self.faults.rates.borrow_mut();
        let rates = rates.entry(host).or_insert_with(|| Rates::new(own_ppm));
        rates.begin(index, drift_ppm);
    }

    fn end_rate(&mut self, index: usize, host: HostId) {
        if let Some(rates) = self.faults.rates.borrow_mut().get_mut(&host) {
            rates.end(index);
            self.world.set_drift_ppm(host, rates.now_ppm());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::{Keep, simulate};
    use locklab_model::fault::expand;
    use locklab_model::scenario::parse;
    use locklab_values::units::NS_PER_MS;

    /// The client works for 100 ms, and stands still meanwhile, from 60 ms to 300 ms. Its lock is renewed every 20 ms.
    #[test]
    fn a_client_stands_still_until_the_last_stall_is_over_while_its_lock_is_renewed() {
        let text = r#"
            headline = "lease"
            title = "Two stalls overlap"
            about = "The watchdog runs on."
            source = "this test"
            topology = { nodes = 1, clients = 1 }
            lock = { name = "redisson", watchdog_ms = 60 }
            workload = { hold_ms = 100 }

            [fault]
            one = { kind = "stall", on = "c1", at_ms = 60, duration_ms = 240 }
            other = { kind = "stall", on = "c1", at_ms = 80, duration_ms = 20 }
        "#;
        let scenario = parse("t.toml", text, &[]).expect("a sound scenario");
        let schedule = expand(&scenario.fault, 1);
        let run = simulate(&scenario, 1, &schedule, Keep::MESSAGES).expect("it ends");
        let sent: Vec<_> = { run.history.messages.iter() }
            .filter(|message| {
                &*message.from == "c1" && (65..300).contains(&(message.sent_ns / NS_PER_MS))
            })
            .map(|message| &*message.to)
            .collect();
        assert!(
            sent.len() >= 8 && sent.iter().all(|to| *to == "n1"),
            "{sent:?}"
        );
        let mut records = run.history.records.iter();
        let ends = records.find(|record| matches!(record.event, Event::BeliefEnds { .. }));
        let ends_ms = ends.expect("it releases the lock").at_ns / NS_PER_MS;
        assert!((300..330).contains(&ends_ms), "{ends_ms}");
    }

    /// Two faults overlap, and the first to begin is the first to end. At the end the clocks
    /// have their original rate.
    #[test]
    fn overlapping_rates_leave_the_clocks_as_they_were() {
        let text = r#"
            headline = "lease"
            title = "Clocks run wrong twice"
            about = "Two faults of one host overlap."
            source = "this test"
            topology = { nodes = 1, clients = 1 }
            lock = { name = "set-nx-px", ttl_ms = 1000 }
            workload = { hold_ms = 1000 }

            [clocks.host]
            c1 = { drift_ppm = 5 }

            [fault]
            one = { kind = "clock-rate", on = "c1", at_ms = 10, drift_ppm = 100_000, duration_ms = 90 }
            other = { kind = "clock-rate", on = "c1", at_ms = 50, drift_ppm = 500_000, duration_ms = 150 }
        "#;
        let scenario = parse("t.toml", text, &[]).expect("a sound scenario");
        let schedule = expand(&scenario.fault, 1);
        let run = simulate(&scenario, 1, &schedule, Keep::default()).expect("it ends");
        let clocks: Vec<_> = run
            .history
            .records
            .iter()
            .filter(|r| matches!(r.event, Event::Fault { .. } | Event::RunEnds))
            .map(|r| (r.at_ns, r.mono_ns))
            .collect();
        let courses: Vec<_> = clocks
            .windows(2)
            .filter(|pair| pair[0].0 < pair[1].0)
            .map(|pair| {
                let (elapsed, by_clock) = (pair[1].0 - pair[0].0, pair[1].1 - pair[0].1);
                (by_clock as f64 / elapsed as f64 * 1e6).round() as i64 - 1_000_000
            })
            .collect();
        assert_eq!(courses, [100_000, 500_000, 500_000, 5]);
    }
}
