//! The recording side of a simulated run: hosts, roles and events.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use locklab_values::random::Stream;
use locklab_vecmap::{VecMap, VecSet};
use locklab_world::{Host, HostId};

use crate::simulated_env::Directory;
use locklab_history::{Event, Name, Record, Role, Topology};

/// The maximum number of records in a run: some hundred megabytes.
pub(super) const MAX_RECORDS: usize = 1_000_000;

/// State that the hosts of one simulated run share with the recorder.
pub(super) struct Recorder {
    pub(super) directory: Directory,
    pub(super) records: RefCell<Vec<Record>>,
    /// How many records there may be.
    most: Cell<usize>,
    clients: VecSet<Name>,
    topology: Topology,
    /// The number of process starts of each server.
    starts: RefCell<VecMap<Name, u32>>,
    /// Whether processes are being killed. Guards dropped then do not count as forgotten.
    killing: Cell<bool>,
    /// Clients that have not finished their rounds and are not dead for good.
    working: RefCell<VecSet<Name>>,
}

impl Recorder {
    pub(super) fn new(directory: Directory, topology: &Topology, clients: &[Name]) -> Rc<Self> {
        Rc::new(Self {
            directory,
            // The number of records in a short run.
            records: RefCell::new(Vec::with_capacity(64)),
            most: Cell::new(MAX_RECORDS),
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

    /// The role of the server with this name; `None` if there is no such server.
    pub(super) fn role(&self, name: &Name) -> Option<Role> {
        self.topology.role(name)
    }

    /// Notes a start of the server `name` and returns a random stream for it. Each start of each
    /// server has its own stream.
    pub(super) fn starts(&self, name: &Name, host: &Host) -> Stream {
        let mut starts = self.starts.borrow_mut();
        let nth = starts.entry(name.clone()).or_default();
        *nth += 1;
        host.stream(&format!("nodes/{name}/start-{nth}"))
    }

    /// Records an event. A full history ends the run.
    pub(super) fn record(&self, host: &Host, name: &Name, event: Event) {
        let mut records = self.records.borrow_mut();
        if records.len() >= self.most.get() {
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

    /// Whether processes are being killed, which is not recorded.
    pub(super) fn is_killing(&self) -> bool {
        self.killing.get()
    }

    /// Whether the run produced more records than a history can hold.
    pub(super) fn is_full(&self) -> bool {
        self.records.borrow().len() >= self.most.get()
    }

    /// Lets a full history have its last records, those that follow from the end of the run.
    pub(super) fn lift_limit(&self) {
        self.most.set(usize::MAX);
    }

    /// Runs `kill`, which drops the values of processes, without recording the dropped guards.
    pub(super) fn without_recording(&self, kill: impl FnOnce()) {
        self.killing.set(true);
        kill();
        self.killing.set(false);
    }

    /// Whether `host` has a process that a fault can affect: a client that has finished its rounds
    /// has none.
    pub(super) fn is_running(&self, host: &Name) -> bool {
        !self.clients.contains(host) || self.working.borrow().contains(host)
    }

    /// Notes that a client has finished its rounds: the run ends with the last one.
    pub(super) fn finished(&self, client: &Name, host: &Host) {
        self.working.borrow_mut().remove(client);
        self.stop_if_idle(host);
    }

    /// Notes that the processes of these hosts have died, and whether they will restart.
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
