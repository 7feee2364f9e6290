//! The recording side of a simulated run: who is where, and what happened.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use locklab_world::random::Stream;
use locklab_world::{Host, HostId};

use super::injector::Faults;
use crate::backend::world::Directory;
use crate::history::{Event, Failpoint, Name, Record};
use crate::history::{Role, Topology};
use crate::observe::Observer;

/// How many records a run may have: some hundred megabytes.
pub(super) const MOST_RECORDS: usize = 1_000_000;

/// What the hosts of one simulated run share with whoever records it.
pub(super) struct Lab {
    pub(super) directory: Directory,
    pub(super) records: RefCell<Vec<Record>>,
    clients: BTreeSet<Name>,
    topology: Topology,
    /// How often a process of each server has started.
    starts: RefCell<BTreeMap<Name, u32>>,
    /// Whether processes are being killed: what they drop, they have not forgotten.
    killing: Cell<bool>,
    /// Clients that have not finished their rounds, and may still.
    working: RefCell<BTreeSet<Name>>,
}

impl Lab {
    pub(super) fn new(directory: Directory, topology: &Topology, clients: &[Name]) -> Rc<Self> {
        Rc::new(Self {
            directory,
            records: RefCell::default(),
            clients: clients.iter().cloned().collect(),
            topology: topology.clone(),
            starts: RefCell::default(),
            killing: Cell::new(false),
            working: RefCell::new(clients.iter().cloned().collect()),
        })
    }

    /// The host of this name. Names come from a validated scenario.
    pub(super) fn id(&self, name: &Name) -> HostId {
        self.directory[name]
    }

    /// What the server of this name is, if it is one.
    pub(super) fn role(&self, name: &Name) -> Option<Role> {
        self.topology.role(name)
    }

    /// A process of the server `name` starts: what is random in it comes from a stream of
    /// its own, so that no two starts of one server are alike, nor of two servers.
    pub(super) fn starts(&self, name: &Name, host: &Host) -> Stream {
        let mut starts = self.starts.borrow_mut();
        let nth = starts.entry(name.clone()).or_default();
        *nth += 1;
        host.stream(&format!("nodes/{name}/start-{nth}"))
    }

    /// Takes an event down. A history that is full ends the run.
    pub(super) fn record(&self, host: &Host, name: &Name, event: Event) {
        let mut records = self.records.borrow_mut();
        if records.len() >= MOST_RECORDS {
            host.stop_world();
            return;
        }
        records.push(Record {
            at_ns: host.now_ns(),
            host: name.clone(),
            wall_ns: host.wall_ns(),
            mono_ns: host.mono_ns(),
            event,
        });
    }

    /// Whether there was more to take down than a history takes.
    pub(super) fn is_full(&self) -> bool {
        self.records.borrow().len() >= MOST_RECORDS
    }

    /// Runs `kill`, which drops what processes have; nothing of that is taken down.
    pub(super) fn without_recording(&self, kill: impl FnOnce()) {
        self.killing.set(true);
        kill();
        self.killing.set(false);
    }

    /// Whether `host` has a process that a fault can strike: a client that has finished
    /// its rounds has none.
    pub(super) fn is_running(&self, host: &Name) -> bool {
        !self.clients.contains(host) || self.working.borrow().contains(host)
    }

    /// A client has finished its rounds: the run ends with the last of them.
    pub(super) fn finished(&self, client: &Name, host: &Host) {
        self.working.borrow_mut().remove(client);
        self.stop_if_idle(host);
    }

    /// The processes of these hosts have died; whether they will start again.
    pub(super) fn died(&self, hosts: &[Name], comes_back: bool, host: &Host) {
        if !comes_back {
            let mut working = self.working.borrow_mut();
            hosts.iter().for_each(|name| {
                working.remove(name);
            });
        }
        self.stop_if_idle(host);
    }

    fn stop_if_idle(&self, host: &Host) {
        if self.working.borrow().is_empty() {
            host.stop_world();
        }
    }
}

/// Watches one process of a simulated run.
#[derive(Clone)]
pub(super) struct WorldObserver {
    host: Host,
    name: Name,
    lab: Rc<Lab>,
    faults: Rc<Faults>,
    numbers: Rc<Numbers>,
}

#[derive(Default)]
struct Numbers {
    calls: Cell<u32>,
    grants: Cell<u32>,
}

impl WorldObserver {
    pub(super) fn new(host: Host, name: Name, lab: Rc<Lab>, faults: Rc<Faults>) -> Self {
        Self {
            host,
            name,
            lab,
            faults,
            numbers: Rc::default(),
        }
    }
}

impl Observer for WorldObserver {
    fn record(&self, event: Event) {
        if !self.lab.killing.get() {
            self.lab.record(&self.host, &self.name, event);
        }
    }

    async fn reach(&self, point: Failpoint) {
        let due = self.faults.reached(&self.name, point);
        if !due.is_empty() {
            let faults = self.faults.clone();
            self.host
                .interrupt(move |world| faults.strike(&due, world))
                .await;
        }
    }

    fn next_call(&self) -> u32 {
        increment(&self.numbers.calls)
    }

    fn next_grant(&self) -> u32 {
        increment(&self.numbers.grants)
    }
}

fn increment(number: &Cell<u32>) -> u32 {
    number.set(number.get() + 1);
    number.get()
}
