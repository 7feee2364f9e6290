//! [`Env`] on a real machine: tokio on a current-thread runtime with a local set.

use std::cell::RefCell;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::time::Duration;

use locklab_shim::ClockReader;
use locklab_values::random::{Rng, Stream};
use locklab_values::units::NS_PER_S;
use locklab_vecmap::VecMap;
use nix::time::{ClockId, clock_gettime};
use tokio::io::AsyncReadExt;
use tokio::net::{TcpSocket, TcpStream};

use crate::postgres::driver;
use locklab_env::any::ByteStream;
use locklab_env::redis::{ClientOptions, Target};
use locklab_env::{Coordination, Env, Points, no_points};
use locklab_history::{ClockKind, Failpoint, Name, RESOURCE};

/// A process of this machine.
#[derive(Clone)]
pub struct RealEnv {
    directory: Rc<VecMap<Name, SocketAddr>>,
    random: Rc<RefCell<Stream>>,
    points: Points,
    /// The source address of its connections, if they go through a proxy.
    source: Option<IpAddr>,
    clocks: Clocks,
    sentinels: Rc<[Name]>,
    client: ClientOptions,
    timers_late: Duration,
    /// Its servers are databases.
    has_databases: bool,
}

impl RealEnv {
    /// The process called `name` in the run of `seed`, with the addresses of the other
    /// processes.
    pub fn new(directory: VecMap<Name, SocketAddr>, seed: u64, name: &str) -> Self {
        let random = Stream::new(seed, &format!("clients/{name}"));
        Self {
            directory: Rc::new(directory),
            random: Rc::new(RefCell::new(random)),
            points: no_points(),
            source: None,
            clocks: Clocks::default(),
            sentinels: Rc::default(),
            client: ClientOptions::default(),
            timers_late: Duration::ZERO,
            has_databases: false,
        }
    }

    /// The same process, with an observer that is notified of the points it reaches.
    pub fn watched(self, points: Points) -> Self {
        Self { points, ..self }
    }

    /// The same process, whose connections come from this address and go through the proxy of a
    /// real run, which says with a byte that a connection is open.
    pub fn behind_proxy(self, source: IpAddr) -> Self {
        let source = Some(source);
        Self { source, ..self }
    }

    /// The same process, on a host with these clocks.
    pub fn with_clocks(self, clocks: Clocks) -> Self {
        Self { clocks, ..self }
    }

    /// The same process, in a scenario where these sentinels know which node is the master.
    pub fn with_sentinels(self, sentinels: Rc<[Name]>) -> Self {
        Self { sentinels, ..self }
    }

    /// The same process, whose clients treat their connections to servers like this.
    pub fn with_client_options(self, client: ClientOptions) -> Self {
        Self { client, ..self }
    }

    /// The same process, whose timers fire late by this, and by what the machine adds.
    pub fn with_late_timers(self, timers_late: Duration) -> Self {
        Self {
            timers_late,
            ..self
        }
    }

    /// The same process, whose servers may be databases.
    pub fn with_databases(self, has_databases: bool) -> Self {
        Self {
            has_databases,
            ..self
        }
    }

    /// The address of a process: by its name, or, as sentinels name it, by its IP address.
    fn address_of(&self, to: &Name) -> Option<SocketAddr> {
        let by_ip = || {
            let ip: IpAddr = to.parse().ok()?;
            let mut addresses = self.directory.values();
            addresses.find(|address| address.ip() == ip).copied()
        };
        self.directory.get(to).copied().or_else(by_ip)
    }
}

impl Env for RealEnv {
    type Stream = Box<dyn ByteStream>;

    fn now_ns(&self, clock: ClockKind) -> u64 {
        self.clocks.now_ns(clock)
    }

    fn sleep(&self, duration: Duration) -> impl Future<Output = ()> + 'static {
        let late = duration.saturating_add(self.timers_late);
        self.clocks.clone().sleep(late)
    }

    fn connect(&self, to: &Name) -> impl Future<Output = io::Result<Self::Stream>> + 'static {
        let address = self.address_of(to);
        let (to, source) = (to.clone(), self.source);
        let is_database = self.has_databases && *to != *RESOURCE;
        async move {
            let address = address.ok_or_else(|| {
                io::Error::new(
                    io::ErrorKind::NotFound,
                    format!("no process is called {to}"),
                )
            })?;
            let stream = connect(address, source).await?;
            if is_database {
                return Ok(Box::new(driver::connect(stream).await?) as Self::Stream);
            }
            Ok(Box::new(stream) as Self::Stream)
        }
    }

    fn target(&self, name: &Name) -> Target {
        Target::of(name, &self.sentinels)
    }

    fn client_options(&self, name: &Name) -> ClientOptions {
        self.client.of(name)
    }

    /// ZooKeeper: no real server speaks the protocol of the simulator's service.
    fn coordination(&self) -> Coordination {
        Coordination::ZooKeeper
    }

    fn spawn(&self, task: impl Future<Output = ()> + 'static) {
        tokio::task::spawn_local(task);
    }

    fn random(&self) -> u64 {
        self.random.borrow_mut().next_u64()
    }

    fn reach(&self, point: Failpoint) -> impl Future<Output = ()> {
        (self.points)(point)
    }
}

/// Connects to a process. With a `source` the connection goes through a proxy: that has accepted
/// it before the process behind it does, so the proxy says with a byte that it is open.
async fn connect(address: SocketAddr, source: Option<IpAddr>) -> io::Result<TcpStream> {
    let Some(source) = source else {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        return Ok(stream);
    };
    let socket = TcpSocket::new_v4()?;
    socket.bind((source, 0).into())?;
    let mut stream = socket.connect(address).await?;
    stream.set_nodelay(true)?;
    match stream.read_u8().await {
        Ok(_) => Ok(stream),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            Err(io::ErrorKind::ConnectionRefused.into())
        }
        Err(error) => Err(error),
    }
}

/// The clocks of a host: those of the machine, or wrong ones.
#[derive(Clone, Default)]
pub struct Clocks(Option<Rc<ClockReader>>);

impl Clocks {
    /// Clocks that another process sets.
    pub fn set_by(reader: ClockReader) -> Self {
        Self(Some(Rc::new(reader)))
    }

    /// Whether the host's client is to stand still, while the other tasks of its process run.
    pub fn is_stalled(&self) -> bool {
        self.0.as_ref().is_some_and(|reader| reader.is_stalled())
    }

    /// Reads one of them, in nanoseconds.
    pub fn now_ns(&self, clock: ClockKind) -> u64 {
        match &self.0 {
            None => read_clock(clock),
            Some(reader) => match clock {
                ClockKind::Wall => reader.now().wall_ns,
                ClockKind::Monotonic => reader.now().mono_ns,
            },
        }
    }

    /// Sleeps by the monotonic clock, whose rate may change during the sleep.
    ///
    /// Data that has arrived by the end is handled first, as in the simulator. Otherwise a process
    /// that was stopped would handle its timers before it reads the available replies: `epoll_wait`
    /// returns without events when a stopped process continues (signal(7)).
    async fn sleep(self, duration: Duration) {
        self.sleep_alone(duration).await;
        // The runtime looks at its sockets before it continues here.
        tokio::task::yield_now().await;
    }

    async fn sleep_alone(self, duration: Duration) {
        /// The longest sleep without reading the clock again.
        const LAST: Duration = Duration::from_millis(4);
        if self.0.is_none() {
            return tokio::time::sleep(duration).await;
        }
        let duration_ns = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        let end_ns = self
            .now_ns(ClockKind::Monotonic)
            .saturating_add(duration_ns);
        loop {
            let left_ns = end_ns.saturating_sub(self.now_ns(ClockKind::Monotonic));
            if left_ns == 0 {
                return;
            }
            let left = Duration::from_nanos(left_ns);
            let step = if left > LAST { left / 2 } else { left };
            tokio::time::sleep(step).await;
        }
    }
}

/// Reads a clock of the machine. All processes of one machine share both clocks, so the
/// monotonic one also serves as true time.
pub fn read_clock(clock: ClockKind) -> u64 {
    let id = match clock {
        ClockKind::Wall => ClockId::CLOCK_REALTIME,
        ClockKind::Monotonic => ClockId::CLOCK_MONOTONIC,
    };
    let time = clock_gettime(id).expect("every Linux and macOS has these two clocks");
    time.tv_sec() as u64 * NS_PER_S + time.tv_nsec() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::runtime::Builder;

    #[test]
    fn a_late_timer_ends_no_sooner() {
        let late = Duration::from_millis(20);
        let env = RealEnv::new(VecMap::new(), 1, "c1").with_late_timers(late);
        let runtime = Builder::new_current_thread().enable_time().build();
        let start_ns = env.now_ns(ClockKind::Monotonic);
        runtime
            .expect("it needs a clock only")
            .block_on(env.sleep(Duration::ZERO));
        let took_ns = env.now_ns(ClockKind::Monotonic) - start_ns;
        assert!(Duration::from_nanos(took_ns) >= late, "{took_ns} ns");
    }
}
