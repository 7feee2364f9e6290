//! The processes of one real run: started, restarted, told to begin, struck by signals.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{self, Command};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use super::child::{Child, Ear, News, Speech, Who};
use super::wire::{ClientJob, Job, Role, Told};
use super::{ConfirmError, Programs, ports, stamp};
use crate::env::machine::read_clock;
use crate::fault::{Schedule, Start};
use crate::history::{Access, ClockKind, Event, Name, Record};
use crate::scenario::{Fencing, Scenario};
use crate::workload::resource::{self, Register};

/// How long a process has to become ready, in seconds. They need milliseconds; this is
/// for a machine under heavy load.
const READY_S: u64 = 10;

/// From the call to begin to the beginning: time for every process to hear it.
const LEAD: Duration = Duration::from_millis(20);

/// How often the start is tried, for a port may be lost to another program.
const ATTEMPTS: u32 = 3;

/// The processes of one run. Dropped, they are killed.
pub(super) struct Bench<'a> {
    programs: &'a Programs,
    scenario: &'a Scenario,
    seed: u64,
    watched: BTreeMap<Name, BTreeSet<Name>>,
    nodes: Vec<Name>,
    addresses: BTreeMap<Name, SocketAddr>,
    hosts: BTreeMap<Name, Host>,
    ear: Ear,
    news: Receiver<(Who, News)>,
    /// When the run began, by the machine's monotonic clock.
    origin_ns: u64,
}

struct Host {
    kind: Kind,
    child: Option<Child>,
    starts: u32,
    /// Several pauses overlap as one long pause does.
    pauses: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Client,
    Node,
    Resource,
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
            match Self::try_start(programs, scenario, seed, schedule) {
                Err(ConfirmError::Died { .. }) if attempt < ATTEMPTS => attempt += 1,
                result => return result,
            }
        }
    }

    fn try_start(
        programs: &'a Programs,
        scenario: &'a Scenario,
        seed: u64,
        schedule: &Schedule,
    ) -> Result<Self, ConfirmError> {
        let clients = names("c", scenario.topology.clients);
        let nodes = names("n", scenario.topology.nodes);
        let resource: Name = resource::HOST.into();
        let servers: Vec<Name> = nodes.iter().cloned().chain([resource.clone()]).collect();
        let ports = ports::free(servers.len());
        if let Some(host) = servers.get(ports.len()) {
            return Err(ConfirmError::Port { host: host.clone() });
        }
        let kinds = (clients.iter().map(|name| (name, Kind::Client)))
            .chain(nodes.iter().map(|name| (name, Kind::Node)))
            .chain([(&resource, Kind::Resource)]);
        let hosts = kinds.map(|(name, kind)| (name.clone(), Host::new(kind)));
        let (sender, news) = mpsc::channel();
        let mut bench = Self {
            programs,
            scenario,
            seed,
            watched: watched(schedule),
            hosts: hosts.collect(),
            nodes,
            addresses: servers.iter().cloned().zip(ports).collect(),
            ear: Ear::new(sender),
            news,
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

    /// Lets the clients begin, all at the same time, which is time 0 of the history.
    pub(super) fn begin(&mut self) {
        let at_ns = read_clock(ClockKind::Monotonic) + LEAD.as_nanos() as u64;
        self.origin_ns = at_ns;
        for host in self.hosts.values_mut() {
            if let (Kind::Client, Some(child)) = (host.kind, &mut host.child) {
                child.tell(&Told::Begin { at_ns });
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
    pub(super) fn clients(&self) -> impl Iterator<Item = &Name> {
        let clients = self.hosts.iter();
        clients
            .filter(|(_, host)| host.kind == Kind::Client)
            .map(|(name, _)| name)
    }

    /// The next news, if there are any before the time is over. The death of a process
    /// that the bench did not bring about is an error.
    pub(super) fn hear(&mut self, within: Duration) -> Result<Option<(Who, News)>, ConfirmError> {
        let Ok((who, news)) = self.news.recv_timeout(within) else {
            return Ok(None);
        };
        if let News::Ended(said) = news {
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
        Ok(Some((who, news)))
    }

    /// Takes down that `event` happened on `host` now.
    pub(super) fn record(&self, host: &Name, event: Event) {
        self.ear.records().push(stamp::record(host, event));
    }

    /// Tells this process, unless it is dead.
    pub(super) fn tell(&mut self, who: &Who, told: &Told) {
        if let Some(child) = self.child(who) {
            child.tell(told);
        }
    }

    /// Whether this very process is alive, as far as the bench has heard.
    pub(super) fn runs(&mut self, who: &Who) -> bool {
        self.child(who).is_some()
    }

    /// Whether a process of `host` is alive.
    pub(super) fn is_alive(&self, host: &Name) -> bool {
        self.hosts
            .get(host)
            .is_some_and(|host| host.child.is_some())
    }

    /// Stops these hosts' processes; on return they stand still.
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

    /// Starts the process of a host, again if it ran before: a client goes on with its
    /// numbering, the resource remembers what it held, a node has forgotten everything.
    pub(super) fn start_process(&mut self, name: &Name) -> Result<Who, ConfirmError> {
        let Host { kind, starts, .. } = self.hosts[name];
        let (role, speech) = match kind {
            Kind::Client => (self.client(name, starts), Speech::Json),
            Kind::Node => (self.node(name), Speech::RedisLog),
            Kind::Resource => (self.resource(name), Speech::Json),
        };
        let job = Job {
            bench: process::id(),
            role,
        };
        let who = Who {
            host: name.clone(),
            start: starts + 1,
        };
        let ear = self.ear.clone();
        let child = Child::start(&self.programs.locklab, &job, who.clone(), speech, ear);
        let child = child.map_err(|source| ConfirmError::Start {
            host: name.clone(),
            source,
        })?;
        if let Some(host) = self.hosts.get_mut(name) {
            if host.pauses > 0 {
                child.stop();
            }
            host.starts = who.start;
            host.child = Some(child);
        }
        Ok(who)
    }

    /// Ends everything; what had happened by `end_ns`, in the order of true time.
    pub(super) fn finish(mut self, end_ns: u64) -> Vec<Record> {
        self.hosts.clear();
        let mut records = std::mem::take(&mut *self.ear.records());
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
            if let Some((who, News::Ready)) = self.hear(left)? {
                missing.remove(&who.host);
            }
        }
        Ok(())
    }

    /// The process that spoke, if it is still the one that runs.
    fn child(&mut self, who: &Who) -> Option<&mut Child> {
        let host = self.hosts.get_mut(&who.host)?;
        if host.starts == who.start {
            host.child.as_mut()
        } else {
            None
        }
    }

    fn client(&self, name: &Name, earlier_starts: u32) -> Role {
        let (mut calls, mut grants) = (0, 0);
        for record in self.ear.records().iter().filter(|r| r.host == *name) {
            match record.event {
                Event::Invoke { call, .. } => calls = calls.max(call),
                Event::BeliefBegins { grant, .. } => grants = grants.max(grant),
                _ => {}
            }
        }
        Role::Client(Box::new(ClientJob {
            name: name.clone(),
            seed: self.seed,
            earlier_starts,
            lock: self.scenario.lock.clone(),
            workload: self.scenario.workload.of(name),
            nodes: self.nodes.clone(),
            addresses: self.addresses.clone(),
            watched: self.watched.get(name).cloned().unwrap_or_default(),
            calls,
            grants,
        }))
    }

    /// A Redis server that writes no file.
    fn node(&self, name: &Name) -> Role {
        let address = self.addresses[name];
        let (ip, port) = (address.ip().to_string(), address.port().to_string());
        let options = [
            ["--port", &port],
            ["--bind", &ip],
            ["--save", ""],
            ["--appendonly", "no"],
            ["--daemonize", "no"],
            ["--logfile", ""],
        ];
        let options = options.as_flattened().iter().map(OsString::from);
        let directory = ["--dir".into(), env::temp_dir().into()];
        Role::Guard {
            program: self.programs.redis_server.clone().into(),
            arguments: options.chain(directory).collect(),
        }
    }

    fn resource(&self, name: &Name) -> Role {
        Role::Resource {
            address: self.addresses[name],
            register: register(&self.ear.records(), self.scenario.resource.fencing),
        }
    }
}

impl Host {
    fn new(kind: Kind) -> Self {
        Self {
            kind,
            child: None,
            starts: 0,
            pauses: 0,
        }
    }
}

/// The version of a Redis server, as it says itself: `7.0.15`.
pub(super) fn redis_version(program: &Path) -> Result<String, ConfirmError> {
    let output = Command::new(program).arg("--version").output();
    let output = output.map_err(|source| ConfirmError::NoRedis {
        program: program.into(),
        source,
    })?;
    let answer = String::from_utf8_lossy(&output.stdout);
    // Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=…
    let version = answer
        .split_whitespace()
        .find_map(|word| word.strip_prefix("v="));
    match version {
        Some(version) => Ok(version.into()),
        None => Err(ConfirmError::NotRedis {
            program: program.into(),
            answer: answer.lines().next().unwrap_or_default().into(),
        }),
    }
}

fn names(prefix: &str, count: u32) -> Vec<Name> {
    (1..=count).map(|i| format!("{prefix}{i}").into()).collect()
}

/// Per client, the points at which a fault may be due.
fn watched(schedule: &Schedule) -> BTreeMap<Name, BTreeSet<Name>> {
    let mut watched: BTreeMap<Name, BTreeSet<Name>> = BTreeMap::new();
    for fault in &schedule.faults {
        if let Start::After { client, point, .. } = &fault.start {
            let points = watched.entry(client.clone()).or_default();
            points.insert(point.clone());
        }
    }
    watched
}

/// The resource as it stands after all that was asked of it.
fn register(records: &[Record], fencing: Fencing) -> Register {
    let mut register = Register::new(fencing);
    for record in records {
        if let Event::Access { access, token, .. } = &record.event {
            match access {
                Access::Read { .. } => register.read(*token),
                Access::Write { .. } => register.write(*token),
            };
        }
    }
    register
}
