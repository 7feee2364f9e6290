//! The deterministic simulator: hosts, clocks, a network, and virtual time.
//!
//! [`turmoil_net`] gives each host a kernel with real TCP and leaves scheduling to its user. [`World::run`]
//! does it, on one thread: it polls ready tasks until none is left, handles what is due at this instant,
//! collects the kernels' outgoing packets (once per instant), puts them into the event queue with the
//! network's latency, and moves virtual time straight to the next event. Events are ordered by (time,
//! sequence number). Nothing here reads the machine's clock, so a run is a function of its seed and of
//! its programs.
//!
//! All events due at one instant are handled before any task that they made ready runs, and those tasks
//! run in an order drawn from the seed: the order of simultaneous events is random, as it is on a real
//! machine.
//!
//! Three ways to stop a host affect a lock differently and are therefore three faults: *pause* (the
//! process stands still, kernel and clocks go on), *suspend* (the machine stands still with its
//! monotonic clock, and arriving packets wait in the network card) and *crash*. A *kill* ends the
//! process and lets the kernel close its sockets.
//!
//! One world exists per thread at a time, because turmoil-net keeps its kernels in a
//! thread-local.
//!
//! ```
//! use locklab_world::{Config, HostConfig, World};
//! use tokio::io::{AsyncReadExt, AsyncWriteExt};
//!
//! let mut world = World::new(Config::default(), &[HostConfig::default(); 2]);
//! let [server, client] = world.hosts()[..] else { unreachable!() };
//! world.start(server, |host| async move {
//!     let listener = host.listen(7).await.unwrap();
//!     let (mut stream, _) = listener.accept().await.unwrap();
//!     stream.write_all(b"hello").await.unwrap();
//! });
//! world.start(client, move |host| async move {
//!     let mut stream = host.connect(server, 7).await.unwrap();
//!     let mut text = String::new();
//!     stream.read_to_string(&mut text).await.unwrap();
//!     assert_eq!(text, "hello");
//!     host.stop_world();
//! });
//! world.run(1_000_000_000);
//! assert!(world.now_ns() > 0);
//! ```

pub mod clock;
mod host;
mod kernel_io;
mod network;
mod packet;
mod power;
mod task;
mod trace;
mod watch;
mod window;

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use locklab_link::{EventQueue, Links};
use locklab_values::dist::Dist;
use locklab_values::random::{Renewals, Stream};
use turmoil_net::{EnterGuard, KernelConfig, Net, Packet};

pub use self::host::{Host, Sleep};
pub use self::network::SentMessage;
pub use self::packet::host_of;
pub use self::trace::{Trace, TraceEvent, first_difference};
pub use self::watch::{Moment, Segment, Watcher};
pub use turmoil_net::shim::tokio::net::{TcpListener, TcpStream};

use self::clock::{Clocks, EPOCH_NS};
use self::network::{Network, Transit};
use self::packet::Route;
use self::task::{BoxFuture, Key, ReadyQueue, Slots, Task, TaskWaker, Timer};
use self::window::Windows;

/// Identifies a host of a world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostId(u16);

impl HostId {
    /// Its index among the hosts given to [`World::new`].
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// The configuration of a world.
#[derive(Debug, Clone)]
pub struct Config {
    /// The seed of every random stream of the run.
    pub seed: u64,
    /// When the streams begin anew, in ascending order. Before the first renewal the run is the same as
    /// without any; after it, it draws other numbers.
    pub renewals: Vec<Renewal>,
    /// One-way latency of every link.
    pub latency: Dist,
    /// Probability that one transmission is lost.
    pub loss: f64,
    /// The reading of a right wall clock when the run begins, in nanoseconds since the Unix
    /// epoch.
    pub epoch_ns: u64,
    /// The order in which tasks run that are ready at the same instant.
    pub order: TaskOrder,
    /// Whether to keep every message, for [`World::take_messages`].
    pub keep_messages: bool,
    /// Whether the trace keeps every event, to find where two runs diverge.
    pub keep_trace: bool,
}

impl Default for Config {
    /// Seed 0; a network in one data centre, 1 to 5 ms one way, without loss; clocks that start
    /// at a whole second.
    fn default() -> Self {
        Self {
            seed: 0,
            renewals: Vec::new(),
            latency: Dist::Uniform(1.0, 5.0),
            loss: 0.0,
            epoch_ns: EPOCH_NS,
            order: TaskOrder::Shuffled,
            keep_messages: false,
            keep_trace: false,
        }
    }
}

/// A time from which on every stream of a run draws anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Renewal {
    /// Virtual time in nanoseconds since the run began. This instant already draws other numbers.
    pub at_ns: u64,
    /// The seed of the streams from then on.
    pub seed: u64,
}

/// The order in which tasks run that are ready at the same instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskOrder {
    /// In the order in which they became ready.
    FirstInFirstOut,
    /// Drawn from the random stream `order`. The order of two processes is undefined, so every seed
    /// has its own.
    Shuffled,
}

/// The initial error of a host's clocks.
#[derive(Debug, Clone, Copy, Default)]
pub struct HostConfig {
    /// How far its wall clock is ahead of true time, in nanoseconds.
    pub offset_ns: i64,
    /// The rate error of both its clocks in parts per million.
    pub drift_ppm: i64,
}

/// A simulation.
pub struct World {
    core: Rc<Core>,
    network: Network,
    net: EnterGuard,
    net_hosts: Vec<turmoil_net::HostId>,
    ready: Arc<ReadyQueue>,
    shuffle: Option<Stream>,
    /// Whether a kernel may have packets to send.
    needs_flush: bool,
    /// Whether a handshake reached its last packet at this instant.
    opening: bool,
    windows: Windows,
    outbound: Vec<Packet>,
    watcher: Option<Rc<dyn Watcher>>,
    /// The number of segments that the watcher has seen leave.
    watched: u32,
    /// The number of events and polls at this instant.
    steps: u32,
}

/// The maximum number of events and polls at one instant. The busiest runs that ship have a few
/// hundred; a run that reaches this bound is in an endless loop, since no time passes in it.
pub const MAX_STEPS: u32 = 1_000_000;

/// The maximum number of messages kept: some hundred megabytes.
pub const MAX_MESSAGES: usize = 1_000_000;

/// The state that the programs of a world share with it.
struct Core {
    seed: u64,
    renewals: Option<Arc<Renewals>>,
    epoch_ns: u64,
    now_ns: Cell<u64>,
    stopped: Cell<bool>,
    hosts: RefCell<Vec<HostState>>,
    tasks: RefCell<Slots<Task>>,
    timers: RefCell<Slots<Timer>>,
    event_queue: RefCell<EventQueue<Event>>,
    deferred: RefCell<Vec<Callback>>,
    trace: RefCell<Trace>,
    ready: Arc<ReadyQueue>,
}

/// A deferred operation on the world.
type Callback = Box<dyn FnOnce(&mut World)>;

/// Starts a host's process, at first and after a kill or crash.
type Program = Rc<dyn Fn(Host) -> BoxFuture>;

/// An event on the event queue.
enum Event {
    Timer(Key),
    Arrival(Box<Transit>),
    Retry(Route),
    Callback(Callback),
}

/// One host.
struct HostState {
    clocks: Clocks,
    program: Option<Program>,
    /// The number of kills and crashes from which it has not recovered.
    outages: u32,
    /// When the host last lost power.
    crashed_ns: Option<u64>,
    /// The number of faults that pause its process.
    pauses: u32,
    /// The number of these that suspend the machine.
    suspensions: u32,
    /// Tasks that became ready while its process was paused, in order.
    parked: Vec<Key>,
    /// Packets that arrived at a suspended machine, in order.
    inbox: Vec<Transit>,
}

impl World {
    /// A world with these hosts at virtual time 0; no programs are running yet.
    ///
    /// # Panics
    /// If this thread already has a world, or for more than 65 535 hosts.
    pub fn new(config: Config, hosts: &[HostConfig]) -> Self {
        // The network model does retransmission: see `network`.
        let kernels = KernelConfig::default()
            .retx_threshold(u32::MAX)
            .recv_buf_cap(window::BUFFER);
        let mut net = Net::with_config(kernels);
        let net_hosts = (0..hosts.len())
            .map(|index| net.add_host(packet::address_of(HostId::of(index))))
            .collect();
        let ready = Arc::new(ReadyQueue::default());
        let core = Core {
            seed: config.seed,
            renewals: renewals(&config.renewals),
            epoch_ns: config.epoch_ns,
            now_ns: Cell::new(0),
            stopped: Cell::new(false),
            hosts: RefCell::new(
                hosts
                    .iter()
                    .map(|host| HostState::new(config.epoch_ns, host))
                    .collect(),
            ),
            tasks: RefCell::new(Slots::new()),
            timers: RefCell::new(Slots::new()),
            event_queue: RefCell::new(EventQueue::new()),
            deferred: RefCell::default(),
            trace: RefCell::new(Trace::new(config.keep_trace)),
            ready: ready.clone(),
        };
        let random = core.stream("network");
        let shuffle = match config.order {
            TaskOrder::FirstInFirstOut => None,
            TaskOrder::Shuffled => Some(core.stream("order")),
        };
        if let Some(renewals) = &core.renewals {
            // The first events of their instants.
            for Renewal { at_ns, .. } in &config.renewals {
                let renewals = renewals.clone();
                core.schedule(*at_ns, Event::Callback(Box::new(move |_| renewals.renew())));
            }
        }
        let links = Links::new(config.latency, config.loss, random);
        Self {
            core: Rc::new(core),
            network: Network::new(links, config.keep_messages),
            net: net.enter(),
            net_hosts,
            ready,
            shuffle,
            needs_flush: false,
            opening: false,
            windows: Windows::default(),
            outbound: Vec::new(),
            watcher: None,
            watched: 0,
            steps: 0,
        }
    }

    /// The hosts in the order in which they were given to [`World::new`].
    pub fn hosts(&self) -> Vec<HostId> {
        (0..self.net_hosts.len()).map(HostId::of).collect()
    }

    /// Virtual time in nanoseconds since the run began.
    pub fn now_ns(&self) -> u64 {
        self.core.now_ns.get()
    }

    /// The interface of the host for programs on it.
    pub fn host(&self, id: HostId) -> Host {
        Host {
            core: self.core.clone(),
            id,
        }
    }

    /// Tells `watcher` from now on what happens. It changes nothing, unless the watcher does.
    pub fn watched_by(&mut self, watcher: Rc<dyn Watcher>) {
        self.watcher = Some(watcher);
    }

    /// Calls `act` at virtual time `at_ns`, or now if that time has passed.
    pub fn at(&mut self, at_ns: u64, act: impl FnOnce(&mut World) + 'static) {
        self.core.schedule(at_ns, Event::Callback(Box::new(act)));
    }

    /// Runs until a program calls [`Host::stop_world`], no event is left, or virtual time reaches
    /// `horizon_ns`; or until the run exceeds a limit and would not end.
    pub fn run(&mut self, horizon_ns: u64) -> Ending {
        loop {
            self.run_ready_tasks();
            if self.core.stopped.get() {
                return Ending::Stopped;
            }
            if self.steps >= MAX_STEPS {
                return Ending::Stalled;
            }
            if self.handle_due() {
                continue;
            }
            // The instant is over: the packets in the kernels leave now, once.
            if self.flush_kernels() {
                continue;
            }
            if self.network.messages() > MAX_MESSAGES {
                return Ending::MessagesFull;
            }
            let next_ns = self.core.event_queue.borrow().next_ns();
            match next_ns {
                None => return Ending::Idle,
                Some(next_ns) if next_ns > horizon_ns => {
                    self.core.now_ns.set(horizon_ns.max(self.now_ns()));
                    return Ending::Horizon;
                }
                Some(next_ns) => {
                    self.core.now_ns.set(next_ns);
                    self.steps = 0;
                }
            }
        }
    }

    /// The hash of all events so far, and their number.
    pub fn fingerprint(&self) -> (u64, u64) {
        let trace = self.core.trace.borrow();
        (trace.hash(), trace.events())
    }

    /// The events so far, if the trace kept them.
    pub fn take_trace(&mut self) -> Vec<TraceEvent> {
        self.core.trace.replace(Trace::new(false)).into_log()
    }

    /// The messages so far, if they were kept.
    pub fn take_messages(&mut self) -> Vec<SentMessage> {
        self.network.take_messages()
    }

    /// Mixes an event of the user into the fingerprint.
    pub fn note(&mut self, what: &'static str, which: (u64, u64)) {
        self.core
            .trace
            .borrow_mut()
            .event(self.now_ns(), what, which, &[]);
    }

    fn run_ready_tasks(&mut self) {
        while self.steps < MAX_STEPS
            && let Some(key) = self.ready.pop(self.shuffle.as_mut())
        {
            self.steps += 1;
            self.poll(key);
            while !self.core.deferred.borrow().is_empty() {
                let acts = self.core.deferred.take();
                for act in acts {
                    act(self);
                }
            }
        }
    }

    fn poll(&mut self, key: Key) {
        let Some((host, mut future, waker)) = self.take_for_poll(key) else {
            return;
        };
        self.watch(Moment::Continues(host));
        turmoil_net::set_current(self.net_hosts[host.index()]);
        self.needs_flush = true;
        let poll = future.as_mut().poll(&mut Context::from_waker(&waker));
        let mut tasks = self.core.tasks.borrow_mut();
        match poll {
            Poll::Ready(()) => {
                let done = tasks.remove(key);
                drop(tasks);
                drop((done, future));
            }
            Poll::Pending => match tasks.get_mut(key) {
                Some(task) => task.future = Some(future),
                None => drop(tasks),
            },
        }
    }

    /// The future of a ready task, unless its process is paused or gone.
    fn take_for_poll(&mut self, key: Key) -> Option<(HostId, BoxFuture, Waker)> {
        let mut tasks = self.core.tasks.borrow_mut();
        let task = tasks.get_mut(key)?;
        let mut hosts = self.core.hosts.borrow_mut();
        let state = &mut hosts[task.host.index()];
        if state.is_paused() {
            state.parked.push(key);
            return None;
        }
        task.alarm.reset();
        Some((task.host, task.future.take()?, task.waker.clone()))
    }

    /// Handles all events due at this instant; returns whether there were any. Tasks that become
    /// ready run afterwards, because the order of simultaneous events is undefined.
    fn handle_due(&mut self) -> bool {
        let mut any = false;
        loop {
            let due = self.core.event_queue.borrow_mut().pop_due(self.now_ns());
            let Some(event) = due else {
                return any;
            };
            any = true;
            self.steps += 1;
            self.handle(event);
        }
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Timer(key) => {
                let timer = self.core.timers.borrow_mut().remove(key);
                if let Some(timer) = timer {
                    self.trace("timer", (timer.host.0.into(), 0), &[]);
                    self.watch(Moment::Timer(timer.host));
                    timer.waker.wake();
                }
            }
            Event::Arrival(transit) => self.arrive(*transit),
            Event::Retry(route) => {
                self.needs_flush = true;
                self.watch(Moment::Transmits(route.from, route.to));
                for delivery in self.network.retry(route, self.now_ns()) {
                    self.follow(route, delivery);
                }
            }
            Event::Callback(act) => act(self),
        }
    }

    fn trace(&self, what: &'static str, which: (u64, u64), contents: &[u8]) {
        self.core
            .trace
            .borrow_mut()
            .event(self.now_ns(), what, which, contents);
    }
}

/// Why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// A program stopped it.
    Stopped,
    /// No event was left.
    Idle,
    /// The horizon was reached.
    Horizon,
    /// No time passed in [`MAX_STEPS`] events and polls.
    Stalled,
    /// [`MAX_MESSAGES`] messages were kept.
    MessagesFull,
}

impl Drop for World {
    /// Tasks are dropped first, because their sockets close into the kernels.
    fn drop(&mut self) {
        for host in self.hosts() {
            self.drop_tasks(host);
        }
        let leftovers = (
            self.core.event_queue.replace(EventQueue::new()),
            self.core.deferred.take(),
        );
        drop(leftovers);
        for state in self.core.hosts.borrow_mut().iter_mut() {
            state.program = None;
        }
    }
}

fn renewals(all: &[Renewal]) -> Option<Arc<Renewals>> {
    let seeds: Vec<u64> = all.iter().map(|renewal| renewal.seed).collect();
    (!seeds.is_empty()).then(|| Renewals::new(seeds))
}

impl Core {
    /// The random stream with this name, from its beginning.
    fn stream(&self, name: &str) -> Stream {
        match &self.renewals {
            None => Stream::new(self.seed, name),
            Some(renewals) => Stream::renewed(self.seed, name, renewals.clone()),
        }
    }

    fn schedule(&self, at_ns: u64, event: Event) {
        self.event_queue
            .borrow_mut()
            .schedule(at_ns.max(self.now_ns.get()), event);
    }

    fn spawn(&self, host: HostId, future: BoxFuture) {
        let ready = self.ready.clone();
        let key = self.tasks.borrow_mut().insert_with(|key| {
            let alarm = TaskWaker::new(key, ready);
            let waker = Waker::from(alarm.clone());
            Task {
                host,
                future: Some(future),
                waker,
                alarm,
            }
        });
        if let Some(task) = self.tasks.borrow_mut().get_mut(key) {
            task.waker.wake_by_ref();
        }
    }
}

impl HostState {
    fn new(epoch_ns: u64, config: &HostConfig) -> Self {
        Self {
            clocks: Clocks::new(epoch_ns, config.offset_ns, config.drift_ppm),
            program: None,
            outages: 0,
            crashed_ns: None,
            pauses: 0,
            suspensions: 0,
            parked: Vec::new(),
            inbox: Vec::new(),
        }
    }

    fn is_paused(&self) -> bool {
        self.pauses > 0
    }
}

impl HostId {
    fn of(index: usize) -> Self {
        Self(u16::try_from(index).expect("a world has at most 65 535 hosts"))
    }
}

/// Wraps the program of a host, so that the host can be started again.
fn program<F, Fut>(program: F) -> Program
where
    F: Fn(Host) -> Fut + 'static,
    Fut: Future<Output = ()> + 'static,
{
    Rc::new(move |host| Box::pin(program(host)))
}
