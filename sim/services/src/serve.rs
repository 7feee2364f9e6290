//! A Redis node on a simulated host: the one place where [`redis`](locklab_redis) and
//! [`world`](locklab_world) meet.
//!
//! [`Endpoint`] buffers the data for a slow client, and decides when to disconnect it; data
//! that its socket does not accept is sent by a separate task. A node gets a timer only while
//! something is due, so a run that uses none of this has no cost from it.

pub mod consensus;
pub mod database;
mod inbound;
mod lines;
pub mod sentinel;

use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;
use std::time::Duration;

use locklab_values::units::NS_PER_US;
use locklab_vecmap::VecMap;
use tokio::io::AsyncWriteExt;
use tokio::sync::Notify;
use turmoil_net::shim::tokio::net::TcpStream;
use turmoil_net::shim::tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};

use crate::disk::Disk;
use locklab_redis::endpoint::{
    self, Action, Endpoint, Expiry, Limits, MAX_SLEEP, Now, TOO_MANY_CLIENTS,
};
use locklab_redis::{Addresses, ConnId, Node, NodeConfig, Parameters};
use locklab_world::{Host, HostId, host_of};

/// The setup of a node.
#[derive(Clone, Default)]
pub struct Setup {
    /// The configuration specific to this node.
    pub config: NodeConfig,
    /// The initial contents of its configuration file.
    pub parameters: Parameters,
    /// The hosts that the node can connect to, by name.
    pub hosts: Rc<VecMap<String, HostId>>,
    /// The node's disk, which survives its process.
    pub disk: Rc<RefCell<Disk>>,
    /// The clock for the expiry of keys.
    pub clock: Clock,
    /// How long a restarted process waits, by the host's wall clock, before it accepts
    /// connections.
    pub restart_delay: Duration,
    /// Looks at the node whenever it has done something.
    pub watch: Option<Watch>,
}

/// Looks at a node, after a request of the given host or for a reason of the node's own.
pub type Watch = Rc<dyn Fn(&Node, Option<HostId>)>;

/// The clock of the host that a node uses.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum Clock {
    /// The wall clock, as Redis does.
    #[default]
    Wall,
    /// The monotonic clock, as if it showed the time of day when the run began: what Redis
    /// would do if it had followed antirez's advice.
    Monotonic,
}

impl Clock {
    fn us(self, host: &Host) -> u64 {
        let ns = match self {
            Clock::Wall => host.wall_ns(),
            Clock::Monotonic => host.epoch_ns().saturating_add(host.mono_ns()),
        };
        ns / NS_PER_US
    }
}

/// A node to which nothing is due for longer than this is not woken to look at its clock. One that looks takes its turn
/// among the tasks of its world, so what the seeds of shorter runs mean depends on its looks.
const LOOKS_AWAY: Duration = Duration::from_secs(60);

/// Runs a Redis node on `host` until its process ends, or a client calls SHUTDOWN. It expires
/// keys by that host's wall clock; its memory is lost when it ends.
pub async fn redis(host: Host, config: NodeConfig, port: u16) {
    let setup = Setup {
        config,
        ..Setup::default()
    };
    run(host, setup, port).await;
}

/// Like [`redis()`], with the options of [`Setup`].
pub async fn run(host: Host, setup: Setup, port: u16) {
    let started_before = setup.disk.borrow_mut().start(&host);
    if started_before {
        wait_by_wall_clock(&host, setup.restart_delay).await;
    }
    let mut node = Node::new(setup.config);
    node.look_at_disk(setup.disk.borrow().fullness());
    // A node that has rewritten its configuration file starts with that version.
    let written = setup.disk.borrow().files().config.clone();
    node.configure_all(&written.unwrap_or(setup.parameters));
    node.load(setup.disk.borrow().files(), setup.clock.us(&host));
    let Ok(listener) = host.listen(port).await else {
        return;
    };
    let server = Rc::new(Server {
        host: host.clone(),
        clock: setup.clock,
        hosts: setup.hosts,
        disk: setup.disk,
        // The memory of a key that is never accessed again is not reclaimed: the run is short.
        endpoint: RefCell::new(Endpoint::new(node, Limits::PUBSUB, Expiry::WhenNoticed)),
        sockets: RefCell::default(),
        timer: Cell::default(),
        sooner: Notify::new(),
        exit: Notify::new(),
        watch: setup.watch,
    });
    server.show_to_watch(None);
    server.set_timer();
    loop {
        let stream = tokio::select! {
            biased;
            () = server.exit.notified() => return,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(_) => return,
            },
        };
        let now = server.now();
        let conn = (server.endpoint.borrow_mut()).accept(addresses(&stream), now);
        match conn {
            Some(conn) => server.begin(conn, stream),
            None => host.spawn(refuse(stream)),
        }
    }
}

/// Tells a client that the limit of connections is reached.
async fn refuse(mut stream: TcpStream) {
    // The connection ends whether the client receives this or not.
    let _ = stream.write_all(TOO_MANY_CLIENTS).await;
}

/// Sleeps until the wall clock has advanced by this duration. If the clock is stepped during the
/// sleep, the end shifts too: only this clock measures how long the process was down.
async fn wait_by_wall_clock(host: &Host, duration: Duration) {
    // As often as the process that waits before a real server begins.
    const NAP: Duration = Duration::from_millis(1);
    let until_ns = host.wall_ns().saturating_add(duration.as_nanos() as u64);
    loop {
        let left_ns = until_ns.saturating_sub(host.wall_ns());
        if left_ns == 0 {
            return;
        }
        host.sleep(Duration::from_nanos(left_ns).min(NAP)).await;
    }
}

fn addresses(stream: &TcpStream) -> Addresses {
    let unknown = Addresses::default();
    Addresses {
        peer: stream.peer_addr().unwrap_or(unknown.peer),
        local: stream.local_addr().unwrap_or(unknown.local),
    }
}

struct Server {
    host: Host,
    clock: Clock,
    hosts: Rc<VecMap<String, HostId>>,
    disk: Rc<RefCell<Disk>>,
    endpoint: RefCell<Endpoint>,
    sockets: RefCell<VecMap<ConnId, Socket>>,
    /// The wall-clock time, in microseconds, until which the timer's task sleeps; `None` if
    /// there is no timer.
    timer: Cell<Option<u64>>,
    /// Notifies the timer's task that something is due earlier.
    sooner: Notify,
    exit: Notify,
    watch: Option<Watch>,
}

/// The sending side of a connection.
struct Socket {
    /// `None` while a task sends the backlog.
    writer: Option<OwnedWriteHalf>,
    /// Notifies the receiving side that the connection ended.
    ended: Rc<Notify>,
}

impl Server {
    fn now(&self) -> Now {
        Now {
            wall_us: self.clock.us(&self.host),
            monotonic: Duration::from_nanos(self.host.mono_ns()),
        }
    }

    /// Starts a connection: spawns a task that receives on it.
    fn begin(self: &Rc<Self>, conn: ConnId, stream: TcpStream) {
        let peer = stream.peer_addr().ok().and_then(|peer| host_of(peer.ip()));
        let (reader, writer) = stream.into_split();
        let socket = Socket {
            writer: Some(writer),
            ended: Rc::new(Notify::new()),
        };
        let ended = socket.ended.clone();
        self.sockets.borrow_mut().insert(conn, socket);
        self.host
            .spawn(self.clone().serve_connection(conn, peer, reader, ended));
    }

    /// Connects to the node's master.
    async fn connect(self: Rc<Self>, conn: ConnId, host: String, port: u16) {
        let stream = match self.hosts.get(&host) {
            Some(id) => self.host.connect(*id, port).await.ok(),
            None => None,
        };
        match stream {
            Some(stream) => {
                // The acknowledgement that ends the handshake must travel alone: turmoil-net
                // loses data that arrives with it.
                self.host.sleep(Duration::from_nanos(1)).await;
                self.begin(conn, stream);
                self.endpoint.borrow_mut().connected(conn, self.now());
            }
            None => self.endpoint.borrow_mut().closed(conn),
        }
        self.execute_effects(None);
    }

    /// Serves one connection until it ends.
    async fn serve_connection(
        self: Rc<Self>,
        conn: ConnId,
        peer: Option<HostId>,
        mut reader: OwnedReadHalf,
        ended: Rc<Notify>,
    ) {
        loop {
            let count = tokio::select! {
                biased;
                () = ended.notified() => return,
                count = inbound::receive(&mut reader) => count,
            };
            let Ok(count @ 1..) = count else {
                break;
            };
            let now = self.now();
            inbound::with(count, |bytes| {
                (self.endpoint.borrow_mut()).receive(conn, bytes, now);
            });
            self.execute_effects(peer);
        }
        self.endpoint.borrow_mut().closed(conn);
        self.sockets.borrow_mut().remove(&conn);
        self.set_timer();
    }

    /// Executes pending actions, and schedules future ones, after a request of `peer` or for a
    /// reason of the node's own.
    fn execute_effects(self: &Rc<Self>, peer: Option<HostId>) {
        self.show_to_watch(peer);
        self.act();
        self.set_timer();
    }

    /// Shows the node to its watch.
    fn show_to_watch(&self, peer: Option<HostId>) {
        if let Some(watch) = &self.watch {
            watch(self.endpoint.borrow().node(), peer);
        }
    }

    fn act(self: &Rc<Self>) {
        loop {
            let Some(action) = self.endpoint.borrow_mut().poll() else {
                return;
            };
            match action {
                Action::Write { conn } => self.write(conn),
                Action::StopReading { conn } => {
                    if let Some(socket) = self.sockets.borrow().get(&conn) {
                        socket.ended.notify_one();
                    }
                }
                Action::Close { conn } => self.end(conn),
                Action::Connect { conn, host, port } => {
                    self.host.spawn(self.clone().connect(conn, host, port));
                }
                Action::Disk(write) => self.disk.borrow_mut().write(write, self.host.now_ns()),
                Action::Exit => {
                    for (_, socket) in std::mem::take(&mut *self.sockets.borrow_mut()) {
                        socket.ended.notify_one();
                    }
                    self.exit.notify_one();
                }
            }
        }
    }

    /// Writes pending output to a socket; a task sends what the socket does not accept.
    fn write(self: &Rc<Self>, conn: ConnId) {
        let mut endpoint = self.endpoint.borrow_mut();
        let mut sockets = self.sockets.borrow_mut();
        let (Some(socket), Some(bytes)) = (sockets.get_mut(&conn), endpoint.unwritten(conn)) else {
            return;
        };
        let written = match &socket.writer {
            Some(writer) => writer.try_write(bytes),
            None => Err(io::ErrorKind::WouldBlock.into()),
        };
        match written {
            Ok(count) => endpoint.wrote(conn, count),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => endpoint.wrote(conn, 0),
            Err(_) => {
                endpoint.closed(conn);
                drop(sockets);
                self.end(conn);
                return;
            }
        }
        if endpoint.unwritten(conn).is_some()
            && let Some(writer) = socket.writer.take()
        {
            self.host.spawn(self.clone().send_backlog(conn, writer));
        }
    }

    fn end(&self, conn: ConnId) {
        if let Some(socket) = self.sockets.borrow_mut().remove(&conn) {
            socket.ended.notify_one();
        }
    }

    /// Sends the backlog of a client as its socket accepts it.
    async fn send_backlog(self: Rc<Self>, conn: ConnId, mut writer: OwnedWriteHalf) {
        loop {
            let Some(bytes) = self.endpoint.borrow().unwritten(conn).cloned() else {
                if let Some(socket) = self.sockets.borrow_mut().get_mut(&conn) {
                    socket.writer = Some(writer);
                }
                return;
            };
            if writer.write_all(&bytes).await.is_err() {
                // The receiving side sees the error too, and ends the connection if it is still
                // reading.
                if self.endpoint.borrow().is_closing(conn) {
                    self.endpoint.borrow_mut().closed(conn);
                    self.end(conn);
                }
                return;
            }
            self.endpoint.borrow_mut().wrote(conn, bytes.len());
            self.act();
        }
    }

    /// Ensures that the node is called at the time that it requests.
    fn set_timer(self: &Rc<Self>) {
        let Some(wake_us) = self.endpoint.borrow_mut().next_wake_us(self.now()) else {
            return;
        };
        match self.timer.get() {
            None => {
                self.timer.set(Some(wake_us));
                self.host.spawn(self.clone().run_timer());
            }
            Some(set_us) if wake_us < set_us => self.sooner.notify_one(),
            Some(_) => {}
        }
    }

    /// Calls the node whenever something is due, as long as anything will be due.
    async fn run_timer(self: Rc<Self>) {
        loop {
            let next_us = self.endpoint.borrow_mut().next_wake_us(self.now());
            self.timer.set(next_us);
            let Some(wake_us) = next_us else {
                return;
            };
            let wall_us = self.clock.us(&self.host);
            if wall_us >= wake_us {
                self.endpoint.borrow_mut().wake(self.now());
                self.execute_effects(None);
                continue;
            }
            // The next reading may be a fraction of a microsecond short.
            let left = Duration::from_micros(wake_us - wall_us);
            let sleep = match self.clock {
                Clock::Wall if left > LOOKS_AWAY => {
                    let wall_ns = self.host.wall_ns().saturating_add(left.as_nanos() as u64);
                    self.host.sleep_until_wall(wall_ns, MAX_SLEEP)
                }
                Clock::Wall | Clock::Monotonic => {
                    self.host.sleep(endpoint::sleep(wake_us, wall_us))
                }
            };
            tokio::select! {
                biased;
                () = self.sooner.notified() => {}
                () = sleep => {}
            }
        }
    }
}
