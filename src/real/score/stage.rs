//! The servers, the proxy and the processes of one experiment.

use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use locklab_history::Name;
use locklab_link::{LinkEffect, LinkRule, RuleId};
use locklab_model::scenario::Persistence;
use locklab_proxy::{Greeting, Host, Keep, Options, Proxy};
use locklab_shim::ClockFile;
use locklab_values::dist::Dist;
use locklab_values::units::{NS_PER_MS, NS_PER_S};
use locklab_vecmap::VecMap;

use super::drill::Process;
use super::experiment::Springs;
use super::observer::Observer;
use super::protocol::{Line, Ready};
use super::wire::Wire;
use super::{Drilled, Event};
use crate::addresses::Addresses;
use crate::child::Child;
use crate::child_protocol::{self, DrillJob};
use crate::folder::Folder;
use crate::foreign::environment::{Surroundings, environment};
use crate::foreign::leftovers::{self, UnderWay};
use crate::{ConfirmError, Programs, servers};

/// The longest wait for a program to start, in seconds: a virtual machine on a busy computer.
const STARTED_S: u64 = 90;

/// The latency of the proxy, one way, in milliseconds.
const LATENCY_MS: f64 = 0.05;

/// What an experiment takes place on. Dropping it ends everything.
pub struct Stage {
    pub(super) processes: VecMap<Name, Process>,
    pub(super) can: Ready,
    proxy: Proxy,
    servers: VecMap<Name, Child>,
    pub(super) observers: VecMap<Name, Observer>,
    pub(super) wire: Wire,
    events: Receiver<Event>,
    /// Events that nobody has waited for yet.
    waiting: Vec<Event>,
    /// What makes links slow, if something does.
    slowed: Option<RuleId>,
    /// The clocks of the processes, if they may be wrong.
    clocks: VecMap<Name, ClockFile>,
    addresses: Addresses,
    _under_way: UnderWay,
    /// The last one, since its folder goes when all processes have ended.
    folder: Folder,
}

impl Stage {
    /// Starts servers, proxy and processes that ask for this lease, and waits until all are ready.
    pub(super) fn start(
        programs: &Programs,
        is: &Drilled,
        (nodes, clients): (u8, u8),
        lease_ms: u64,
        is_clock_bent: bool,
    ) -> Result<Stage, ConfirmError> {
        let under_way = UnderWay::begin();
        let nodes: Vec<Name> = names("n", nodes);
        let clients: Vec<Name> = names("c", clients);
        let hosts: Vec<Name> = nodes.iter().chain(&clients).cloned().collect();
        let addresses =
            Addresses::new(&hosts, clients.len() as u16).ok_or(ConfirmError::Addresses)?;
        let folder = Folder::new(programs)?;
        let scenario = servers::redis(Persistence::None);
        let servers = servers::start(programs, &scenario, &nodes, &addresses, &folder)?;
        let observers = nodes.iter().map(|node| {
            let observer = Observer::connect(addresses.hidden(node));
            Ok((node.clone(), observer.map_err(ConfirmError::Load)?))
        });
        let observers: VecMap<Name, Observer> = observers.collect::<Result<_, ConfirmError>>()?;
        let (sender, events) = channel();
        let wire = Wire::default();
        let proxy = proxy(&nodes, &clients, &addresses).map_err(ConfirmError::Proxy)?;
        let (watch, watched) = (wire.clone(), sender.clone());
        let of_clients = clients.clone();
        proxy.watch(move || watch.watch(&of_clients, watched));
        let mut stage = Stage {
            processes: VecMap::new(),
            can: Ready::default(),
            proxy,
            servers,
            observers,
            wire,
            events,
            waiting: Vec::new(),
            slowed: None,
            clocks: VecMap::new(),
            addresses,
            _under_way: under_way,
            folder,
        };
        if is_clock_bent {
            for client in &clients {
                let file = ClockFile::create(&stage.clock_file(client));
                let file = file.map_err(ConfirmError::Load)?;
                stage.clocks.insert(client.clone(), file);
            }
        }
        for (number, client) in (0..).zip(&clients) {
            let job = stage.job(is, lease_ms, &nodes, client, number)?;
            stage.start_process(programs, client, job, &sender)?;
        }
        for client in &clients {
            stage.can = stage.ready(client)?;
        }
        if let Some(key) = &stage.can.key {
            stage.wire.set_key(key.as_bytes());
        }
        Ok(stage)
    }

    /// The file that sets the clocks of a process.
    fn clock_file(&self, client: &Name) -> PathBuf {
        self.folder.path().join(format!("{client}.clock"))
    }

    /// What a process is to do.
    fn job(
        &self,
        is: &Drilled,
        lease_ms: u64,
        nodes: &[Name],
        client: &Name,
        number: u16,
    ) -> Result<DrillJob, ConfirmError> {
        let gate = |node: &Name| (node.clone(), self.addresses.gate(node, number));
        let nodes: VecMap<_, _> = nodes.iter().map(gate).collect();
        let around = Surroundings {
            host: client,
            nodes: nodes.values().copied().collect(),
            sentinels: vec![],
            certificate: None,
            is_cluster: false,
            resource: None,
            lease_ms: Some(lease_ms),
            seed: 0,
            folder: self.folder.path(),
        };
        let clock = self.clocks.get(client).map(|_| self.clock_file(client));
        let mut environment = environment(&around);
        if clock.is_some() {
            let library = locklab_shim::install(self.folder.path()).map_err(ConfirmError::Load)?;
            environment.extend(locklab_shim::environment(&library, clock.as_deref(), None));
        }
        Ok(DrillJob {
            environment,
            is: match is {
                Drilled::Program { name, arguments } => child_protocol::Drilled::Program {
                    name: name.clone(),
                    arguments: arguments.clone(),
                },
                Drilled::Lock(lock) => child_protocol::Drilled::Lock {
                    lock: Box::new(lock.forms(lease_ms)),
                    nodes,
                    name: client.clone(),
                    clock,
                },
            },
        })
    }

    fn start_process(
        &mut self,
        programs: &Programs,
        client: &Name,
        job: DrillJob,
        events: &Sender<Event>,
    ) -> Result<(), ConfirmError> {
        let started = Process::start(&programs.locklab, job, client.clone(), events.clone());
        let process = started.map_err(|source| ConfirmError::Start {
            host: client.clone(),
            source,
        })?;
        self.processes.insert(client.clone(), process);
        Ok(())
    }

    /// Waits until a process says that it is ready.
    fn ready(&mut self, client: &Name) -> Result<Ready, ConfirmError> {
        let found = self.find(Duration::from_secs(STARTED_S), |event| match event {
            Event::Said {
                by,
                line: Line::Ready(_),
                ..
            }
            | Event::Ended { by } => by == client,
            _ => false,
        });
        match found {
            Some(Event::Said {
                line: Line::Ready(ready),
                ..
            }) => Ok(ready),
            Some(_) => Err(ConfirmError::Drill(client.clone())),
            None => Err(ConfirmError::NotReady {
                host: client.clone(),
                seconds: STARTED_S,
            }),
        }
    }

    /// The first event of this kind, which is waited for; `None` if it does not come in time. What a trap does
    /// is done meanwhile.
    pub(super) fn find(
        &mut self,
        within: Duration,
        is_it: impl Fn(&Event) -> bool,
    ) -> Option<Event> {
        if let Some(place) = self.waiting.iter().position(&is_it) {
            return Some(self.waiting.remove(place));
        }
        let end = Instant::now() + within;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let event = match self.events.recv_timeout(left) {
                Ok(event) => event,
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return None,
            };
            if let Event::Sprung { by, springs } = &event {
                self.springs(by, *springs);
            }
            match is_it(&event) {
                true => return Some(event),
                false => self.waiting.push(event),
            }
        }
    }

    /// Lets time pass; what a trap does is done meanwhile.
    pub(super) fn sleep(&mut self, time: Duration) {
        let _ = self.find(time, |_| false);
    }

    fn springs(&mut self, by: &Name, springs: Springs) {
        match springs {
            Springs::Hold => {}
            Springs::Reset => {
                self.proxy.reset(by);
                self.proxy.wake(by);
            }
            Springs::Stop => {
                self.stop(by);
                self.proxy.wake(by);
            }
        }
    }

    /// Stops a process or a server; on return it has stopped.
    pub(super) fn stop(&self, host: &Name) {
        if let Some(process) = self.processes.get(host) {
            process.stop();
        }
        if let Some(server) = self.servers.get(host) {
            server.stop();
            server.await_stop();
        }
    }

    /// Lets it go on.
    pub(super) fn resume(&self, host: &Name) {
        self.processes
            .get(host)
            .into_iter()
            .for_each(Process::resume);
        self.servers.get(host).into_iter().for_each(Child::resume);
    }

    /// Ends a process or a server.
    pub(super) fn kill(&mut self, host: &Name) {
        self.processes.remove(host);
        if self.servers.remove(host).is_some() {
            self.observers.remove(host);
            self.proxy.withdraw(host);
        }
    }

    /// Resets all connections of a process.
    pub(super) fn reset(&self, host: &Name) {
        self.proxy.reset(host);
    }

    /// Steps the wall clock of a process by so many seconds.
    pub(super) fn step_clock(&mut self, host: &Name, by_s: i64) -> Result<(), ConfirmError> {
        let stepped = self.clocks.get_mut(host);
        let stepped = stepped.map_or(Ok(()), |clock| clock.step_wall(by_s * NS_PER_S as i64));
        stepped.map_err(ConfirmError::Load)
    }

    /// Ends the hold of a trap.
    pub(super) fn wake(&self, host: &Name) {
        self.proxy.wake(host);
    }

    /// Everything between processes and servers takes longer from now on, one way; or replies alone. By 0: as usual.
    pub(super) fn slow(&mut self, by_ms: u64, replies_only: bool) {
        if let Some(rule) = self.slowed.take() {
            self.proxy.lift(rule);
        }
        if by_ms == 0 {
            return;
        }
        let rule = LinkRule {
            from: self.servers.keys().cloned().collect(),
            to: self.processes.keys().cloned().collect(),
            both_ways: !replies_only,
            effect: LinkEffect::Slow {
                extra_ns: by_ms * NS_PER_MS,
            },
        };
        self.slowed = Some(self.proxy.install(rule));
    }

    /// Calls this with the observer of each of these servers; of all that run, if none is named.
    pub(super) fn each(
        &mut self,
        nodes: &[Name],
        mut call: impl FnMut(&mut Observer) -> io::Result<()>,
    ) -> Result<(), ConfirmError> {
        let is_meant = |node: &Name| nodes.is_empty() || nodes.contains(node);
        for (node, observer) in self.observers.iter_mut() {
            if is_meant(node) {
                call(observer).map_err(ConfirmError::Load)?;
            }
        }
        Ok(())
    }
}

fn names(prefix: &str, count: u8) -> Vec<Name> {
    (1..=count).map(|i| format!("{prefix}{i}").into()).collect()
}

fn proxy(nodes: &[Name], clients: &[Name], addresses: &Addresses) -> io::Result<Proxy> {
    let host = |name: &Name| {
        let host = Host {
            ip: addresses.ip(name),
            greeting: Greeting::None,
        };
        (name.clone(), host)
    };
    let numbered = || (0..).zip(clients);
    let gates = nodes.iter().flat_map(|node| {
        numbered().map(move |(number, client)| (addresses.gate(node, number), client.clone()))
    });
    let proxy = Proxy::start(Options {
        hosts: addresses.hosts().map(host).collect(),
        gates: gates.collect(),
        latency: Dist::Constant(LATENCY_MS),
        loss: 0.0,
        seed: 0,
        keep: Keep::Nothing,
    })?;
    for node in nodes {
        let hidden = addresses.hidden(node);
        let published: Vec<_> = numbered()
            .map(|(number, _)| (addresses.gate(node, number), hidden))
            .collect();
        proxy.publish(node, &published)?;
    }
    Ok(proxy)
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.processes.clear();
        // Those that have left the group of their drill, too.
        leftovers::end_adopted(self.folder.path());
        leftovers::end(self.folder.path());
    }
}
