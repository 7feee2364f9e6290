//! The processes of one real run: starts and restarts them, sends commands and signals, and
//! changes what surrounds them.

mod finish;
mod still;

use std::io;
use std::path::PathBuf;
use std::process;
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use locklab_link::RuleId;
use locklab_proxy::Proxy;
use locklab_values::random::Stream;
use locklab_values::units::{NS_PER_S, ns_from_ms};
use locklab_vecmap::VecMap;

pub(super) use self::finish::Finished;
use super::child::{Child, ChildEvent, Collector, ProcessId};
use super::child_protocol::{Command, Job, ServerKind};
use super::clocks::HostClocks;
use super::foreign::leftovers::{self, UnderWay};
use super::foreign::untranslated::{self, Watch, Why};
use super::heartbeat::Heartbeat;
use super::kept::Kept;
use super::monitor::Monitors;
use super::operator::{Operator, Order};
use super::plan::Plan;
use super::replay;
use super::{Clients, ConfirmError, RealRedis, network, stamp};
use crate::real_env::read_clock;
use locklab_history::{ClockKind, Event, FaultyLinks, Name, Point, RESOURCE, Schedule};
use locklab_model::scenario::Scenario;
use locklab_runner::nemesis::{failover, link_rule};
use locklab_runner::pool::lock;
use locklab_runner::run::Lateness;
use locklab_runner::simulate::Keep;

/// The time limit for processes to become ready, in seconds. A process needs milliseconds; the
/// limit allows for a machine under heavy load.
const READY_S: u64 = 10;

/// The time limit for replicas to have their master's data, and for sentinels to know each other,
/// which takes some seconds.
const ACQUAINTED_S: u64 = 30;

/// The longest of a Sentinel's periods, in nanoseconds: how often it asks a master for its replicas
/// (`sentinel_info_period`).
const SENTINEL_PERIOD_NS: u64 = 10 * NS_PER_S;

/// The delay from the command to begin to the beginning, so that every process receives it in
/// time.
const LEAD: Duration = Duration::from_millis(20);

/// How often the start is tried, since another program may take a port in between.
const ATTEMPTS: u32 = 3;

/// Starting processes is most of a run's work. Only one of several concurrent runs does so at a
/// time, so that it does not disturb the others.
static STARTING: Mutex<()> = Mutex::new(());

/// The processes of one run. Dropping it kills them.
pub(super) struct Testbed<'a> {
    hosts: VecMap<Name, Host>,
    pub(super) proxy: Proxy,
    operator: Operator,
    heartbeat: Heartbeat,
    collector: Collector,
    kept: Arc<Kept>,
    event: Receiver<(ProcessId, ChildEvent)>,
    /// When the run began, by the machine's monotonic clock.
    origin_ns: u64,
    /// How foreign programs ended, and what they told that makes no sense.
    notes: Vec<String>,
    /// What the nodes execute, if the contents are kept.
    monitors: Option<Monitors>,
    /// Looks at the programs whose clocks may be wrong.
    watch: Watch,
    /// What makes them wrong, in words.
    bends: String,
    /// If its clients are programs of others.
    _under_way: Option<UnderWay>,
    /// The last one, since its folder goes when all processes have ended.
    plan: Plan<'a>,
}

#[derive(Default)]
struct Host {
    child: Option<Child>,
    starts: u32,
    /// The number of pauses in force; overlapping pauses act as one long pause.
    pauses: u32,
}

impl<'a> Testbed<'a> {
    /// Starts the servers, then the clients, and waits until all are ready.
    pub(super) fn start(
        real: &'a RealRedis,
        scenario: &'a Scenario,
        seed: u64,
        schedule: &Schedule,
        keep: Keep,
    ) -> Result<Self, ConfirmError> {
        let mut attempt = 1;
        loop {
            let plan = Plan::new(real, scenario, seed, schedule)?;
            match Self::try_start(plan, schedule, keep) {
                Err(ConfirmError::Died { .. }) if attempt < ATTEMPTS => attempt += 1,
                result => return result,
            }
        }
    }

    fn try_start(plan: Plan<'a>, schedule: &Schedule, keep: Keep) -> Result<Self, ConfirmError> {
        let (sender, event) = mpsc::channel();
        let kept = Arc::new(Kept::of(plan.are));
        let collector = Collector::new(sender.clone(), kept.clone());
        let proxy = network::start(&plan, schedule, keep, &sender).map_err(ConfirmError::Proxy)?;
        let hidden = plan.servers.keys();
        let hidden = hidden.map(|server| (server.clone(), plan.addresses.hidden(server)));
        let operator = Operator::start(hidden.collect(), plan.seed, sender);
        let clients = plan.clients.iter();
        let watched = clients
            .filter(|it| matches!(plan.are, Clients::Foreign(_)) && plan.clocks.file(it).is_some());
        let (run, locklab) = (plan.folder.path(), &plan.programs.locklab);
        let bent = untranslated::bent(plan.scenario, schedule);
        let mut testbed = Self {
            watch: Watch::start(watched.cloned().collect(), run, locklab),
            bends: bent.map(|(_, bends)| bends).unwrap_or_default(),
            _under_way: matches!(plan.are, Clients::Foreign(_)).then(UnderWay::begin),
            hosts: VecMap::new(),
            proxy,
            operator: operator.map_err(ConfirmError::Machine)?,
            heartbeat: Heartbeat::start().map_err(ConfirmError::Machine)?,
            collector,
            event,
            origin_ns: 0,
            notes: vec![],
            // A program that tells nothing is judged from the wire.
            monitors: (keep.contents || matches!(plan.are, Clients::Foreign(_)))
                .then(|| Monitors::new(kept.clone())),
            kept,
            plan,
        };
        testbed.start_all()?;
        Ok(testbed)
    }

    /// Starts the resource and the nodes, then the replicas, the sentinels and the clients, each
    /// when those before it are ready.
    fn start_all(&mut self) -> Result<(), ConfirmError> {
        let of = |is: fn(&locklab_history::Role) -> bool| self.plan.servers_of(is);
        let mut masters = of(|role| *role == locklab_history::Role::Node);
        let replicas = of(|role| matches!(role, locklab_history::Role::Replica { .. }));
        let sentinels = of(|role| *role == locklab_history::Role::Sentinel);
        let (copies, others) = (replicas.len(), sentinels.len().saturating_sub(1));
        let ready = |event: &ChildEvent| *event == ChildEvent::Ready;
        {
            let _turn = lock(&STARTING);
            self.start_process(&RESOURCE.into())?;
            match self.plan.kind {
                ServerKind::Redis if self.plan.scenario.cluster.is_some() => {
                    self.await_group(&[RESOURCE.into()], 1, READY_S, ready)?;
                    { masters.iter().chain(&replicas) }
                        .try_for_each(|it| self.start_process(it).map(drop))?;
                }
                ServerKind::Redis | ServerKind::Postgres => {
                    masters
                        .iter()
                        .try_for_each(|it| self.start_process(it).map(drop))?;
                    masters.push(RESOURCE.into());
                    self.await_group(&masters, 1, READY_S, ready)?;
                    if self.plan.kind == ServerKind::Postgres {
                        masters.retain(|it| **it != *RESOURCE);
                        self.settle_disks(&masters)?;
                    }
                }
                ServerKind::ZooKeeper => {
                    self.await_group(&[RESOURCE.into()], 1, READY_S, ready)?;
                    // A member that is ready connects to the others, and then joins them.
                    let joins =
                        |event: &ChildEvent| ready(event) || *event == ChildEvent::Synchronised;
                    self.start_group(&masters, 2, ACQUAINTED_S, joins)?;
                    self.settle_disks(&masters)?;
                }
            }
        }
        let synchronised = |event: &ChildEvent| *event == ChildEvent::Synchronised;
        match self.plan.scenario.cluster {
            None => self.start_group(&replicas, 1, ACQUAINTED_S, synchronised)?,
            // Each finds the cluster whole, and a replica has its master's data.
            Some(_) => {
                let events = masters.iter().map(|it| (it, 1));
                let events = events.chain(replicas.iter().map(|it| (it, 2)));
                let events = events.map(|(host, events)| (host.clone(), events));
                self.await_events(events.collect(), ACQUAINTED_S, synchronised)?;
                // What they know of each other was not written by them.
                self.settle_disks(&[masters, replicas].concat())?;
            }
        }
        // Sentinels that have long been running are out of step with each other and with the run:
        // their periods begin with their starts.
        let mut apart = Stream::new(self.plan.seed, "sentinels/apart");
        let starts = sentinels
            .iter()
            .map(|it| (apart.below(SENTINEL_PERIOD_NS), it));
        let mut starts: Vec<_> = starts.collect();
        starts.sort_unstable();
        let mut now_ns = 0;
        for (start_ns, sentinel) in starts {
            thread::sleep(Duration::from_nanos(start_ns - now_ns));
            now_ns = start_ns;
            self.start_process(sentinel)?;
        }
        if !sentinels.is_empty() {
            thread::sleep(Duration::from_nanos(SENTINEL_PERIOD_NS - now_ns));
        }
        // A sentinel is ready when it knows all replicas and all other sentinels.
        self.await_group(&sentinels, copies + others, ACQUAINTED_S, |event| {
            matches!(event, ChildEvent::Notice(notice) if notice == "+slave" || notice == "+sentinel")
        })?;
        let clients = self.plan.clients.clone();
        let _turn = lock(&STARTING);
        self.start_group(&clients, 1, READY_S, ready)
    }

    /// Makes what these servers have written durable, as if they had been running for long. ZooKeeper does not
    /// sync the snapshot that it writes when it starts, and does not start again without it; the files of a database are
    /// created without syncs.
    fn settle_disks(&self, servers: &[Name]) -> Result<(), ConfirmError> {
        let settle = |server| self.plan.disks.settle(server, &self.plan.folder);
        let settled = servers.iter().try_for_each(settle);
        settled.map_err(ConfirmError::Folder)
    }

    /// Starts the processes of a group, and waits for as many seconds at most until each has reported
    /// this many of these events.
    fn start_group(
        &mut self,
        group: &[Name],
        events: usize,
        seconds: u64,
        counts: impl Fn(&ChildEvent) -> bool,
    ) -> Result<(), ConfirmError> {
        for host in group {
            self.start_process(host)?;
        }
        self.await_group(group, events, seconds, counts)
    }

    /// Waits for as many seconds at most until each process of a group has reported this many of
    /// these events.
    fn await_group(
        &mut self,
        group: &[Name],
        events: usize,
        seconds: u64,
        counts: impl Fn(&ChildEvent) -> bool,
    ) -> Result<(), ConfirmError> {
        let missing = group.iter().filter(|_| events > 0);
        let missing = missing.map(|host| (host.clone(), events)).collect();
        self.await_events(missing, seconds, counts)
    }

    /// The same of processes of which each reports another number of events.
    fn await_events(
        &mut self,
        mut missing: VecMap<Name, usize>,
        seconds: u64,
        counts: impl Fn(&ChildEvent) -> bool,
    ) -> Result<(), ConfirmError> {
        let deadline = Instant::now() + Duration::from_secs(seconds);
        while let Some(host) = missing.keys().next() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(ConfirmError::NotReady {
                    host: host.clone(),
                    seconds,
                });
            }
            let Some((who, event)) = self.receive(left)? else {
                continue;
            };
            if event.is_ready() {
                self.publish(&who.host)?;
            }
            if counts(&event)
                && let Some(events) = missing.get_mut(&who.host)
            {
                *events -= 1;
                if *events == 0 {
                    missing.remove(&who.host);
                }
            }
        }
        Ok(())
    }

    /// Makes all clients begin at the same time, which is time 0 of the history.
    pub(super) fn begin(&mut self) {
        let at_ns = read_clock(ClockKind::Monotonic) + LEAD.as_nanos() as u64;
        self.origin_ns = at_ns;
        for client in &self.plan.clients {
            let child = self.hosts.get_mut(client).and_then(|c| c.child.as_mut());
            if let Some(child) = child {
                child.send(&Command::Begin { at_ns });
            }
        }
        let left_ns = at_ns.saturating_sub(read_clock(ClockKind::Monotonic));
        thread::sleep(Duration::from_nanos(left_ns));
        self.heartbeat.forget();
    }

    /// True time in nanoseconds since the run began.
    pub(super) fn now_ns(&self) -> u64 {
        read_clock(ClockKind::Monotonic).saturating_sub(self.origin_ns)
    }

    /// The clients.
    pub(super) fn clients(&self) -> &[Name] {
        &self.plan.clients
    }

    /// The next event, or `None` when the time is over. The death of a process that the testbed
    /// did not cause is an error.
    pub(super) fn receive(
        &mut self,
        within: Duration,
    ) -> Result<Option<(ProcessId, ChildEvent)>, ConfirmError> {
        let Ok((who, event)) = self.event.recv_timeout(within) else {
            return Ok(None);
        };
        if let ChildEvent::Notice(notice) = &event {
            let point = Point::Notice(notice.as_str().into());
            self.record(&who.host, Event::Reached { point });
        }
        if let ChildEvent::Ended(said) = event {
            let Some(child) = self.child(&who) else {
                return Ok(None);
            };
            let status = child.kill();
            let is_success = status.as_ref().is_ok_and(process::ExitStatus::success);
            let said = [said, child.last_words()]
                .into_iter()
                .find(|it| !it.is_empty());
            let died = ConfirmError::Died {
                status: status.map_or_else(|error| error.to_string(), |status| status.to_string()),
                host: who.host.clone(),
                said: said.unwrap_or_else(|| "none".into()),
            };
            if !self.is_foreign(&who.host) {
                return Err(died);
            }
            self.end_process(&who.host);
            if !is_success {
                self.notes.push(died.to_string());
            }
            return Ok(Some((who, ChildEvent::Exited)));
        }
        Ok(Some((who, event)))
    }

    /// Refuses a program whose clock is not that of its host.
    pub(super) fn check_programs(&self) -> Result<(), ConfirmError> {
        self.refuse(self.watch.found())
    }

    fn refuse(&self, found: Option<(Name, PathBuf, Why)>) -> Result<(), ConfirmError> {
        found.map_or(Ok(()), |(host, program, why)| {
            Err(ConfirmError::Untranslated {
                host,
                program: program.display().to_string(),
                why: why.words(),
                bends: self.bends.clone(),
            })
        })
    }

    /// Whether the process of a host is a program of somebody else.
    fn is_foreign(&self, host: &Name) -> bool {
        matches!(self.plan.are, Clients::Foreign(_)) && self.plan.clients.contains(host)
    }

    /// Whether the clients are programs of somebody else.
    pub(super) fn has_foreign_clients(&self) -> bool {
        matches!(self.plan.are, Clients::Foreign(_))
    }

    /// Records that `event` happened on `host` now.
    pub(super) fn record(&self, host: &Name, event: Event) {
        let record = stamp::record(host, &self.plan.clocks.of(host), event);
        self.collector.records().push(record);
    }

    /// What server a host runs, if it runs one.
    pub(super) fn server_kind(&self, host: &Name) -> Option<ServerKind> {
        { self.plan.servers.contains_key(host) }.then_some(self.plan.kind)
    }

    /// Sends a command to this process, unless it is dead.
    pub(super) fn send(&mut self, who: &ProcessId, command: &Command) {
        if let Some(child) = self.child(who) {
            child.send(command);
        }
    }

    /// How long a restarted process of `host` waits before it begins, in nanoseconds.
    pub(super) fn restart_delay_ns(&self, host: &Name) -> u64 {
        match self.plan.servers.contains_key(host) {
            true => ns_from_ms(self.plan.scenario.node.restart_delay_ms),
            false => 0,
        }
    }

    /// Whether this start of the process is alive according to the testbed.
    pub(super) fn runs(&mut self, who: &ProcessId) -> bool {
        self.child(who).is_some()
    }

    /// Whether a process of `host` is alive.
    pub(super) fn is_alive(&self, host: &Name) -> bool {
        self.hosts
            .get(host)
            .is_some_and(|host| host.child.is_some())
    }

    /// Whether `host` is a server that is asked what it executes, and stands still.
    pub(super) fn is_asked_in_vain(&self, host: &Name) -> bool {
        let is_paused = self.hosts.get(host).is_some_and(|host| host.pauses > 0);
        self.monitors.is_some() && self.plan.servers.contains_key(host) && is_paused
    }

    /// Ends the process of `host`; its kernel closes its sockets, and refuses connections.
    pub(super) fn kill(&mut self, name: &Name) {
        self.end_process(name);
        self.proxy.withdraw(name);
    }

    /// Cuts the power of the machine of `host`: it sends nothing more, and its unsynced data is
    /// lost.
    pub(super) fn crash(&mut self, name: &Name) -> Result<(), ConfirmError> {
        self.proxy.cut_power(name);
        self.end_process(name);
        if self.plan.servers.contains_key(name) {
            let lost = self.plan.disks.lose_power(name, &self.plan.folder);
            lost.map_err(ConfirmError::Folder)?;
        }
        Ok(())
    }

    fn end_process(&mut self, name: &Name) {
        if let Some(host) = self.hosts.get_mut(name) {
            host.child = None;
        }
        self.operator.order(Order::StopWriting {
            server: name.clone(),
        });
    }

    /// Gives the power back. The machine refuses connections until its process is ready.
    pub(super) fn restore_power(&mut self, name: &Name) {
        self.proxy.withdraw(name);
        self.proxy.restore_power(name);
    }

    /// Injects a fault of links.
    pub(super) fn install(&mut self, links: &FaultyLinks) -> RuleId {
        self.proxy.install(link_rule(links, Name::clone))
    }

    /// Ends it.
    pub(super) fn lift(&mut self, rule: RuleId) {
        self.proxy.lift(rule);
    }

    /// Changes the clocks of hosts.
    pub(super) fn set_clocks(
        &mut self,
        set: impl FnOnce(&mut HostClocks) -> io::Result<()>,
    ) -> Result<(), ConfirmError> {
        set(&mut self.plan.clocks).map_err(ConfirmError::Folder)
    }

    /// Has the operator order a failover at this server, as this fault of the schedule; see [`ChildEvent::Ordered`].
    pub(super) fn order_failover(&mut self, server: &Name, fault: usize) {
        if let Some(role) = self.plan.servers.get(server) {
            self.operator.order(Order::FailOver {
                server: server.clone(),
                words: match self.plan.scenario.cluster {
                    None => failover::order(role),
                    Some(_) => failover::IN_CLUSTER,
                },
                fault,
            });
        }
    }

    /// Has the operator enter a line at this server, as this fault of the schedule; see [`ChildEvent::Ordered`].
    pub(super) fn order(&self, server: &Name, line: &str, fault: usize) {
        self.operator.order(Order::Enter {
            server: server.clone(),
            line: self.plan.addresses.put_into(line),
            fault,
        });
    }

    /// Notes something for the reader of the run.
    pub(super) fn note(&mut self, note: String) {
        self.notes.push(note);
    }

    /// Publishes a server whose process is ready, so that others can connect to it.
    pub(super) fn publish(&mut self, name: &Name) -> Result<(), ConfirmError> {
        let role = self.plan.servers.get(name);
        if role.is_none() && **name != *RESOURCE {
            return Ok(());
        }
        let hidden = self.plan.addresses.hidden(name);
        if let Some(monitors) = &mut self.monitors
            && role.is_some()
            && replay::why_never_repeated(self.plan.scenario).is_none()
        {
            let server = name.clone();
            let failed = |source| ConfirmError::Monitor { server, source };
            monitors.start(name, hidden).map_err(failed)?;
        }
        let published = self.proxy.publish(name, &self.plan.published(name));
        let node = &self.plan.scenario.node;
        if let Some(every_ms) = node.other_writes_every_ms
            && role == Some(&locklab_history::Role::Node)
        {
            self.operator.order(Order::Write {
                server: name.clone(),
                every: Duration::from_millis(every_ms),
                bytes: node.other_writes_bytes,
            });
        }
        published.map_err(ConfirmError::Proxy)
    }

    /// Starts or restarts the process of a host; see [`Plan::role`].
    pub(super) fn start_process(&mut self, name: &Name) -> Result<ProcessId, ConfirmError> {
        let host = self.hosts.entry(name.clone()).or_default();
        let role = (self.plan).role(name, host.starts, &self.collector.records());
        let job = Job {
            bench: process::id(),
            role: role.map_err(ConfirmError::Folder)?,
        };
        host.starts += 1;
        let who = ProcessId {
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
        self.watch.started(name, child.id());
        host.child = Some(child);
        Ok(who)
    }

    /// Whether the run keeps nothing more of its programs.
    pub(super) fn is_full(&self) -> bool {
        self.kept.full_ns().is_some()
    }

    /// How late the machine was since the run began.
    pub(super) fn lateness(&self) -> Lateness {
        self.heartbeat.lateness()
    }

    /// The child that sent the event, if it is still the running one.
    fn child(&mut self, who: &ProcessId) -> Option<&mut Child> {
        let host = self.hosts.get_mut(&who.host)?;
        if host.starts == who.start {
            host.child.as_mut()
        } else {
            None
        }
    }
}

impl Drop for Testbed<'_> {
    fn drop(&mut self) {
        self.hosts.clear();
        if self.has_foreign_clients() {
            leftovers::end_adopted(self.plan.folder.path());
            leftovers::end(self.plan.folder.path());
        }
    }
}
