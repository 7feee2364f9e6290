//! [`Env`] in the simulator.

use std::cell::RefCell;
use std::future::Future;
use std::io;
use std::rc::Rc;
use std::time::Duration;

use locklab_values::random::{Rng, Stream};
use locklab_vecmap::VecMap;
use locklab_world::{Host, HostId, TcpStream};

use locklab_env::redis::{ClientOptions, Target};
use locklab_env::{Env, Points, no_points};
use locklab_history::{ClockKind, Failpoint, Name};

/// The port on which every server of a simulated scenario listens: hosts do not share
/// addresses.
pub const PORT: u16 = 6379;

/// The hosts of a simulated scenario by name.
pub type Directory = Rc<VecMap<Name, HostId>>;

/// A process of a simulated host.
#[derive(Clone)]
pub struct SimulatedEnv {
    host: Host,
    directory: Directory,
    random: Rc<RefCell<Stream>>,
    points: Points,
    sentinels: Rc<[Name]>,
    client: ClientOptions,
    timers_late: Duration,
}

impl SimulatedEnv {
    /// The process called `name` on `host`; it has its own stream of random numbers.
    pub fn new(host: Host, directory: Directory, name: &str) -> Self {
        let random = Rc::new(RefCell::new(host.stream(&format!("clients/{name}"))));
        Self {
            host,
            directory,
            random,
            points: no_points(),
            sentinels: Rc::default(),
            client: ClientOptions::default(),
            timers_late: Duration::ZERO,
        }
    }

    /// The same process, with an observer that is notified of the points it reaches.
    pub fn watched(self, points: Points) -> Self {
        Self { points, ..self }
    }

    /// The same process, in a scenario where these sentinels know which node is the master.
    pub fn with_sentinels(self, sentinels: Rc<[Name]>) -> Self {
        Self { sentinels, ..self }
    }

    /// The same process, whose clients treat their connections to servers like this.
    pub fn with_client_options(self, client: ClientOptions) -> Self {
        Self { client, ..self }
    }

    /// The same process, whose timers fire late by this.
    pub fn with_late_timers(self, timers_late: Duration) -> Self {
        Self {
            timers_late,
            ..self
        }
    }
}

impl Env for SimulatedEnv {
    type Stream = TcpStream;

    fn now_ns(&self, clock: ClockKind) -> u64 {
        match clock {
            ClockKind::Wall => self.host.wall_ns(),
            ClockKind::Monotonic => self.host.mono_ns(),
        }
    }

    fn sleep(&self, duration: Duration) -> impl Future<Output = ()> + 'static {
        self.host.sleep(duration.saturating_add(self.timers_late))
    }

    fn connect(&self, to: &Name) -> impl Future<Output = io::Result<TcpStream>> + 'static {
        let host = self.host.clone();
        let id = self.directory.get(to).copied();
        let to = to.clone();
        async move {
            let id = id.ok_or_else(|| {
                io::Error::new(io::ErrorKind::NotFound, format!("no host is called {to}"))
            })?;
            host.connect(id, PORT).await
        }
    }

    fn target(&self, name: &Name) -> Target {
        Target::of(name, &self.sentinels)
    }

    fn client_options(&self, name: &Name) -> ClientOptions {
        self.client.of(name)
    }

    fn spawn(&self, task: impl Future<Output = ()> + 'static) {
        self.host.spawn(task);
    }

    fn random(&self) -> u64 {
        self.random.borrow_mut().next_u64()
    }

    fn reach(&self, point: Failpoint) -> impl Future<Output = ()> {
        (self.points)(point)
    }
}
