//! One sentinel behind a listener: its clients, its links to monitored instances, its timer.

use std::cell::RefCell;
use std::io;
use std::net::{self, IpAddr, Ipv4Addr, SocketAddr};
use std::panic;
use std::rc::Rc;
use std::time::Duration;

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};
use tokio::io::AsyncReadExt;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream, lookup_host};
use tokio::sync::Notify;
use tokio::sync::mpsc::{self, UnboundedSender};
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::machine::Machine;
use super::sockets::connect;
use super::thread::{self, Stop, Thread};
use super::{StartError, listen, seed};
use crate::lines::{Lines, Sockets};
use crate::sentinel::{Address, ConnId, Effect, LinkId, Monitor, Sentinel, SentinelConfig, Uptime};

/// A sentinel asks a master for its replicas at its start and then every ten seconds. This
/// delay lets the replicas connect before the first request.
const START_AFTER: Duration = Duration::from_secs(1);

/// The pause before the next accept when the system has no file descriptor left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);

/// The maximum of incomplete request data from a client. No valid request to a sentinel is
/// longer.
const MAX_REQUEST_BYTES: usize = 1 << 20;

/// A Redis Sentinel that listens on a port until it is dropped.
///
/// ```
/// use locklab_redis::sentinel::Monitor;
/// use locklab_redis::{SentinelServer, Server};
///
/// let redis = Server::start()?;
/// let quorum = 1;
/// let monitor = Monitor::new("mymaster", redis.address().into(), quorum);
/// let sentinel = SentinelServer::builder().monitor(monitor).start()?;
/// assert_ne!(sentinel.address(), redis.address());
/// # Ok::<(), locklab_redis::server::StartError>(())
/// ```
#[derive(Debug)]
pub struct SentinelServer {
    address: SocketAddr,
    _thread: Thread,
}

/// The configuration of a [`SentinelServer`].
#[derive(Clone, Debug)]
pub struct SentinelBuilder {
    address: SocketAddr,
    announced: Option<SocketAddr>,
    monitors: Vec<Monitor>,
}

impl SentinelServer {
    /// A builder for a sentinel on a free port of 127.0.0.1 that monitors nothing yet.
    pub fn builder() -> SentinelBuilder {
        SentinelBuilder {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            announced: None,
            monitors: Vec::new(),
        }
    }

    /// The address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl SentinelBuilder {
    /// Listens on this port of 127.0.0.1. 0, the default, means a free port.
    pub fn port(self, port: u16) -> Self {
        let address = SocketAddr::new(self.address.ip(), port);
        SentinelBuilder { address, ..self }
    }

    /// Tells the other sentinels to connect at this address, if that is not the one on which it
    /// listens: `sentinel announce-ip` and `announce-port`.
    pub fn announce(self, address: SocketAddr) -> Self {
        let announced = Some(address);
        SentinelBuilder { announced, ..self }
    }

    /// Adds a master to monitor.
    pub fn monitor(mut self, monitor: Monitor) -> Self {
        self.monitors.push(monitor);
        self
    }

    /// Starts the sentinel on a thread. It connects to its masters a second later, when their
    /// replicas are connected.
    ///
    /// # Errors
    ///
    /// If it cannot listen on its address, or the machine cannot start another thread.
    pub fn start(self) -> Result<SentinelServer, StartError> {
        let listener = listen(self.address)?;
        let address = listener.local_addr().map_err(StartError::Thread)?;
        let name = format!("sentinel {}", address.port());
        let serve = move |stop| self.serve_on(listener, &Machine::default(), &stop);
        Ok(SentinelServer {
            address,
            _thread: Thread::start(&name, serve)?,
        })
    }

    /// Serves on the calling thread until the program ends.
    ///
    /// # Errors
    ///
    /// If the event loop cannot be created.
    ///
    /// # Panics
    ///
    /// If the sentinel panics.
    pub fn serve(self, listener: net::TcpListener) -> io::Result<()> {
        self.serve_on(listener, &Machine::default(), &Stop::default())
    }

    /// Serves on the calling thread, with the clock of `machine`, until `stop` is signalled.
    ///
    /// # Errors
    ///
    /// If the event loop cannot be created.
    ///
    /// # Panics
    ///
    /// If the sentinel panics.
    pub fn serve_on(
        self,
        listener: net::TcpListener,
        machine: &Machine,
        stop: &Stop,
    ) -> io::Result<()> {
        thread::run(serve(listener, self, machine.clone(), stop.clone()))
    }
}

async fn serve(
    listener: net::TcpListener,
    builder: SentinelBuilder,
    machine: Machine,
    stop: Stop,
) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let listener = TcpListener::from_std(listener)?;
    let address = listener.local_addr()?;
    let mut random = SplitMix64::seed_from_u64(seed());
    let config = SentinelConfig {
        announce: builder.announced.unwrap_or(address).into(),
        monitor: builder.monitors,
        // By multiplication and shift: the bias is below n / 2^64.
        random: Box::new(move |n| ((u128::from(random.next_u64()) * u128::from(n)) >> 64) as u64),
        // Its state is lost when it ends.
        file: None,
        uptime: Uptime::Zero,
    };
    tokio::select! {
        biased;
        () = stop.signalled() => return Ok(()),
        () = sleep(START_AFTER) => {}
    }
    let (connect, mut connects) = mpsc::unbounded_channel();
    let server = Rc::new(Server {
        sentinel: RefCell::new(Sentinel::new(config, now_ms(&machine))),
        clients: RefCell::default(),
        links: RefCell::default(),
        connect,
        ip: address.ip(),
        machine,
        stop: stop.clone(),
    });
    let mut tasks = JoinSet::new();
    tasks.spawn_local(server.clone().run_timer());
    tasks.spawn_local(server.clone().keep_pauses());
    loop {
        tokio::select! {
            biased;
            () = stop.signalled() => return Ok(()),
            Some(ended) = tasks.join_next() => {
                // The runtime caught the panic; it must not be ignored.
                if let Err(Ok(panicked)) = ended.map_err(|error| error.try_into_panic()) {
                    panic::resume_unwind(panicked);
                }
            }
            Some(link) = connects.recv() => {
                tasks.spawn_local(server.clone().keep_link(link));
            }
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    tasks.spawn_local(server.clone().serve_connection(stream));
                }
                Err(_) => sleep(ACCEPT_PAUSE).await,
            },
        }
    }
}

/// A request to connect a link.
struct Link {
    id: LinkId,
    to: Address,
    ended: Rc<Notify>,
}

struct Server {
    sentinel: RefCell<Sentinel>,
    clients: RefCell<Lines<ConnId, Tcp>>,
    links: RefCell<Lines<LinkId, Tcp>>,
    /// Requests to connect links.
    connect: UnboundedSender<Link>,
    /// The address from which it connects.
    ip: IpAddr,
    machine: Machine,
    stop: Stop,
}

/// The system's sockets.
struct Tcp;

impl Sockets for Tcp {
    type Writer = OwnedWriteHalf;
    type Receiver = Rc<Notify>;

    fn write(writer: &OwnedWriteHalf, bytes: &[u8]) -> io::Result<usize> {
        writer.try_write(bytes)
    }

    fn end(receiver: &Rc<Notify>) {
        receiver.notify_one();
    }
}

impl Server {
    /// Serves one client.
    async fn serve_connection(self: Rc<Self>, stream: TcpStream) {
        let conn = self.sentinel.borrow_mut().accept();
        let (mut reader, writer) = stream.into_split();
        let ended = Rc::<Notify>::default();
        self.clients
            .borrow_mut()
            .accept(conn, writer, ended.clone());
        let mut bytes = [0; 4096];
        while let Some(count) = receive(&mut reader, &mut bytes, &ended).await {
            let mut effects = Vec::new();
            let pending_bytes = {
                let mut sentinel = self.sentinel.borrow_mut();
                sentinel.receive(conn, &bytes[..count], self.now_ms(), &mut effects);
                sentinel.pending_bytes(conn)
            };
            self.execute_effects(effects);
            if pending_bytes > MAX_REQUEST_BYTES {
                break;
            }
        }
        self.sentinel.borrow_mut().closed(conn);
        self.clients.borrow_mut().forget(&conn);
    }

    /// Runs one of the sentinel's own links.
    async fn keep_link(self: Rc<Self>, link: Link) {
        if let Some(mut reader) = self.open(&link).await {
            let mut bytes = [0; 4096];
            while let Some(count) = receive(&mut reader, &mut bytes, &link.ended).await {
                let mut effects = Vec::new();
                self.sentinel.borrow_mut().link_received(
                    link.id,
                    &bytes[..count],
                    self.now_ms(),
                    &mut effects,
                );
                self.execute_effects(effects);
            }
        }
        self.links.borrow_mut().forget(&link.id);
        self.sentinel
            .borrow_mut()
            .link_closed(link.id, self.now_ms());
    }

    async fn open(&self, link: &Link) -> Option<OwnedReadHalf> {
        let stream = tokio::select! {
            biased;
            () = link.ended.notified() => return None,
            stream = self.connect(&link.to) => stream.ok()?,
        };
        let (reader, writer) = stream.into_split();
        let is_open = self.links.borrow_mut().connected(&link.id, writer);
        is_open.then_some(reader)
    }

    async fn connect(&self, to: &Address) -> io::Result<TcpStream> {
        let mut addresses = lookup_host((&*to.host, to.port)).await?;
        let address = addresses.next().ok_or(io::ErrorKind::NotFound)?;
        connect(self.ip, address).await
    }

    /// The time of what the sentinel does next; it does nothing while it is paused.
    fn now_ms(&self) -> i64 {
        self.machine.stand_still(&self.stop);
        now_ms(&self.machine)
    }

    async fn keep_pauses(self: Rc<Self>) {
        self.machine.keep_pauses(&self.stop).await;
    }

    fn execute_effects(&self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Connect { link: id, to } => {
                    let ended = Rc::<Notify>::default();
                    self.links.borrow_mut().connect(id, ended.clone());
                    // If the receiver is gone, the program is about to end.
                    let _ = self.connect.send(Link { id, to, ended });
                }
                Effect::Send { link, bytes } => self.links.borrow_mut().send(&link, bytes),
                Effect::Reply { conn, bytes } => self.clients.borrow_mut().send(&conn, bytes),
                Effect::Hangup { link } => self.links.borrow_mut().end(&link),
                Effect::Close { conn } => self.clients.borrow_mut().end(&conn),
                // Clients subscribe to events, and there is no configuration file.
                Effect::Event(_) | Effect::Write(_) => {}
            }
        }
    }

    /// Runs the sentinel's timer.
    async fn run_timer(self: Rc<Self>) {
        loop {
            let mut effects = Vec::new();
            let now_ms = self.now_ms();
            let next_ms = {
                let mut sentinel = self.sentinel.borrow_mut();
                sentinel.wake(now_ms, &mut effects);
                sentinel.next_wake_ms()
            };
            self.execute_effects(effects);
            // The wall clock may be set during the wait, so the wait is at most that of Redis's
            // timer.
            let left_ms = (next_ms - now_ms).clamp(1, 100) as u64;
            sleep(Duration::from_millis(left_ms)).await;
        }
    }
}

/// Waits for bytes; `None` when either end has closed the connection.
async fn receive(reader: &mut OwnedReadHalf, bytes: &mut [u8], ended: &Notify) -> Option<usize> {
    tokio::select! {
        biased;
        () = ended.notified() => None,
        count = reader.read(bytes) => count.ok().filter(|count| *count > 0),
    }
}

/// The machine's wall clock, in milliseconds since the Unix epoch.
fn now_ms(machine: &Machine) -> i64 {
    (machine.now().wall_us / 1_000) as i64
}
