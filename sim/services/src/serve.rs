//! A Redis node on a simulated host: the one place where [`redis`](locklab_redis) and
//! [`world`](locklab_world) meet.
//!
//! Nobody waits for a slow client: what its socket does not take is kept, up to a
//! limit, and sent by a task of its own. And a node that nothing is due for gets no
//! timer, so a run that uses none of this pays nothing for it.

pub mod consensus;
pub mod database;
mod line;
pub mod sentinel;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::rc::Rc;
use std::time::Duration;

use bytes::{Buf, Bytes};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::Notify;
use turmoil_net::shim::tokio::net::TcpStream;
use turmoil_net::shim::tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};

use crate::disk::Disk;
use locklab_plant::plant;
use locklab_redis::{Addresses, ConnId, Effect, Node, NodeConfig, Parameters};
use locklab_world::{Host, HostId};

/// A client for which more than this is kept is cut off: the hard limit of
/// `client-output-buffer-limit pubsub 32mb 8mb 60`.
const HARD_LIMIT_BYTES: usize = 32 << 20;
/// So is one for which more than this was kept for [`SOFT_LIMIT_NS`].
const SOFT_LIMIT_BYTES: usize = 8 << 20;
const SOFT_LIMIT_NS: u64 = 60 * 1_000_000_000;

/// The longest sleep until something is due. The wall clock may be set meanwhile:
/// like `serverCron`, look at it ten times a second.
const LONGEST_SLEEP: Duration = Duration::from_millis(100);

/// How a node is run, beside what distinguishes it from others.
#[derive(Clone, Default)]
pub struct Setup {
    /// What distinguishes it.
    pub config: NodeConfig,
    /// What its configuration file says at first.
    pub parameters: Parameters,
    /// The hosts that the node may name, to connect to them.
    pub hosts: Rc<BTreeMap<String, HostId>>,
    /// The node's disk, which outlives its process.
    pub disk: Rc<RefCell<Disk>>,
    /// The clock that keys expire by.
    pub clock: Clock,
    /// A process that is started again waits for so long, by the host's wall clock,
    /// before it serves anybody.
    pub restart_delay: Duration,
}

/// The clock of its host that a node goes by.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum Clock {
    /// The wall clock, as Redis does.
    #[default]
    Wall,
    /// The monotonic clock, as if it showed the time of day when the run began: what
    /// Redis would do had it taken antirez's advice.
    Monotonic,
}

impl Clock {
    fn us(self, host: &Host) -> u64 {
        let ns = match self {
            Clock::Wall => host.wall_ns(),
            Clock::Monotonic if plant("node-goes-by-the-wall-clock") => host.wall_ns(),
            Clock::Monotonic => host.epoch_ns().saturating_add(host.mono_ns()),
        };
        ns / 1_000
    }
}

/// Runs a Redis node on `host` until its process ends, or somebody calls SHUTDOWN. It
/// expires keys by that host's wall clock; its memory ends with it.
pub async fn redis(host: Host, config: NodeConfig, port: u16) {
    let setup = Setup {
        config,
        ..Setup::default()
    };
    run(host, setup, port).await;
}

/// As [`redis()`], with whatever of [`Setup`] makes a difference.
pub async fn run(host: Host, setup: Setup, port: u16) {
    let started_before = setup.disk.borrow_mut().start(&host);
    if started_before {
        wait_by_wall_clock(&host, setup.restart_delay).await;
    }
    let mut node = Node::new(setup.config);
    // A node that has written its configuration file starts with that.
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
        node: RefCell::new(node),
        clients: RefCell::default(),
        timer: Cell::default(),
        sooner: Notify::new(),
        exit: Notify::new(),
    });
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
        if server.is_full() {
            host.spawn(refuse(stream));
            continue;
        }
        let wall_us = server.clock.us(&host);
        let mut node = server.node.borrow_mut();
        let conn = node.accept_from(addresses(&stream), wall_us);
        drop(node);
        server.begin(conn, stream);
    }
}

/// Tells a client that there is no room for it.
async fn refuse(mut stream: TcpStream) {
    // Whether it hears it or not, the connection ends.
    let _ = stream
        .write_all(b"-ERR max number of clients reached\r\n")
        .await;
}

/// Sleeps until the wall clock is so much further. If it is set meanwhile, so is the
/// end: nothing but a clock says how long the process was down.
async fn wait_by_wall_clock(host: &Host, duration: Duration) {
    let until_ns = host.wall_ns().saturating_add(duration.as_nanos() as u64);
    loop {
        let left_ns = until_ns.saturating_sub(host.wall_ns());
        if left_ns == 0 {
            return;
        }
        host.sleep(Duration::from_nanos(left_ns).min(LONGEST_SLEEP))
            .await;
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
    hosts: Rc<BTreeMap<String, HostId>>,
    disk: Rc<RefCell<Disk>>,
    node: RefCell<Node>,
    clients: RefCell<BTreeMap<ConnId, Client>>,
    /// The wall-clock time, in microseconds, that the timer's task sleeps for, if
    /// there is one.
    timer: Cell<Option<u64>>,
    /// Something is due before that.
    sooner: Notify,
    exit: Notify,
}

/// The sending side of a connection.
struct Client {
    /// `None` while a task sends the backlog.
    writer: Option<OwnedWriteHalf>,
    /// What the socket did not take.
    backlog: VecDeque<Bytes>,
    backlog_bytes: usize,
    /// Since when the backlog is over the soft limit, by the monotonic clock.
    heavy_since_ns: Option<u64>,
    /// The node closed the connection; what is in the backlog is still sent.
    closing: bool,
    /// Tells the receiving side that the connection ended.
    ended: Rc<Notify>,
}

impl Server {
    /// Whether it has as many connections as it takes.
    fn is_full(&self) -> bool {
        self.clients.borrow().len() >= self.node.borrow().max_clients()
    }

    /// Takes up a connection: somebody hears what comes on it.
    fn begin(self: &Rc<Self>, conn: ConnId, stream: TcpStream) {
        let (reader, writer) = stream.into_split();
        let client = Client::new(writer);
        let ended = client.ended.clone();
        self.clients.borrow_mut().insert(conn, client);
        self.host.spawn(self.clone().converse(conn, reader, ended));
    }

    /// Connects to the node's master.
    async fn connect(self: Rc<Self>, conn: ConnId, host: String, port: u16) {
        let stream = match self.hosts.get(&host) {
            Some(id) => self.host.connect(*id, port).await.ok(),
            None => None,
        };
        let mut effects = Vec::new();
        match stream {
            Some(stream) => {
                // The acknowledgement that ends the handshake goes alone: in turmoil-net
                // what comes with it is lost.
                self.host.sleep(Duration::from_nanos(1)).await;
                self.begin(conn, stream);
                let now_us = self.clock.us(&self.host);
                self.node.borrow_mut().connected(conn, now_us, &mut effects);
            }
            None => self.node.borrow_mut().closed(conn),
        }
        self.carry_out(&mut effects);
    }

    /// Serves one connection until it ends.
    async fn converse(self: Rc<Self>, conn: ConnId, mut reader: OwnedReadHalf, ended: Rc<Notify>) {
        let mut bytes = [0; 4096];
        let mut effects = Vec::new();
        loop {
            let count = tokio::select! {
                biased;
                () = ended.notified() => return,
                count = reader.read(&mut bytes) => count,
            };
            let Ok(count @ 1..) = count else {
                break;
            };
            let wall_us = self.clock.us(&self.host);
            self.node
                .borrow_mut()
                .receive(conn, &bytes[..count], wall_us, &mut effects);
            self.carry_out(&mut effects);
        }
        self.node.borrow_mut().closed(conn);
        self.clients.borrow_mut().remove(&conn);
        self.set_timer();
    }

    fn carry_out(self: &Rc<Self>, effects: &mut Vec<Effect>) {
        for effect in effects.drain(..) {
            match effect {
                Effect::Send { conn, bytes } => self.send(conn, bytes),
                Effect::Close { conn } => self.close(conn),
                Effect::Connect { conn, host, port } => {
                    self.host.spawn(self.clone().connect(conn, host, port));
                }
                Effect::Disk(write) => self.disk.borrow_mut().write(write, self.host.now_ns()),
                Effect::Exit => {
                    for (_, client) in std::mem::take(&mut *self.clients.borrow_mut()) {
                        client.ended.notify_one();
                    }
                    self.exit.notify_one();
                }
            }
        }
        self.set_timer();
    }

    fn send(self: &Rc<Self>, conn: ConnId, bytes: Bytes) {
        let now_ns = self.host.mono_ns();
        let mut clients = self.clients.borrow_mut();
        let Some(client) = clients.get_mut(&conn) else {
            return;
        };
        if client.send(bytes, now_ns).is_err() {
            // The client is gone, or too slow.
            client.ended.notify_one();
            clients.remove(&conn);
            drop(clients);
            self.node.borrow_mut().closed(conn);
        } else if !client.backlog.is_empty()
            && let Some(writer) = client.writer.take()
        {
            self.host.spawn(self.clone().send_backlog(conn, writer));
        }
    }

    fn close(&self, conn: ConnId) {
        let mut clients = self.clients.borrow_mut();
        if let Some(client) = clients.get_mut(&conn) {
            client.ended.notify_one();
            client.closing = true;
            if client.backlog.is_empty() && client.writer.is_some() {
                clients.remove(&conn);
            }
        }
    }

    /// Sends what a client's socket did not take, as it does.
    async fn send_backlog(self: Rc<Self>, conn: ConnId, mut writer: OwnedWriteHalf) {
        loop {
            let bytes = {
                let mut clients = self.clients.borrow_mut();
                let Some(client) = clients.get_mut(&conn) else {
                    return;
                };
                match client.backlog.pop_front() {
                    Some(bytes) => bytes,
                    None if client.closing => {
                        clients.remove(&conn);
                        return;
                    }
                    None => {
                        client.writer = Some(writer);
                        return;
                    }
                }
            };
            if writer.write_all(&bytes).await.is_err() {
                // It shows on the receiving side as well, which ends things if it still
                // listens.
                let mut clients = self.clients.borrow_mut();
                if clients.get(&conn).is_some_and(|client| client.closing) {
                    clients.remove(&conn);
                }
                return;
            }
            if let Some(client) = self.clients.borrow_mut().get_mut(&conn) {
                client.sent(bytes.len());
            }
        }
    }

    /// Sees to it that the node is called when it wants to be.
    fn set_timer(self: &Rc<Self>) {
        let Some(wake_us) = self.node.borrow().next_wake_us() else {
            return;
        };
        match self.timer.get() {
            None => {
                self.timer.set(Some(wake_us));
                self.host.spawn(self.clone().keep_time());
            }
            Some(set_us) if wake_us < set_us => self.sooner.notify_one(),
            Some(_) => {}
        }
    }

    /// Calls the node whenever something is due, for as long as anything will be.
    async fn keep_time(self: Rc<Self>) {
        let mut effects = Vec::new();
        loop {
            let next_us = self.node.borrow().next_wake_us();
            self.timer.set(next_us);
            let Some(wake_us) = next_us else {
                return;
            };
            let wall_us = self.clock.us(&self.host);
            if wall_us >= wake_us {
                self.node.borrow_mut().wake(wall_us, &mut effects);
                self.carry_out(&mut effects);
                continue;
            }
            // The next reading may fall short by a part of a microsecond.
            let left = Duration::from_micros(wake_us - wall_us);
            let sleep = self.host.sleep(left.min(LONGEST_SLEEP));
            tokio::select! {
                biased;
                () = self.sooner.notified() => {}
                () = sleep => {}
            }
        }
    }
}

impl Client {
    fn new(writer: OwnedWriteHalf) -> Self {
        Client {
            writer: Some(writer),
            backlog: VecDeque::new(),
            backlog_bytes: 0,
            heavy_since_ns: None,
            closing: false,
            ended: Rc::new(Notify::new()),
        }
    }

    /// Hands bytes to the socket, or puts them behind those that it did not take.
    fn send(&mut self, mut bytes: Bytes, now_ns: u64) -> io::Result<()> {
        if let Some(writer) = self.writer.as_ref().filter(|_| self.backlog.is_empty()) {
            match writer.try_write(&bytes) {
                Ok(count) => bytes.advance(count),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
        if bytes.is_empty() {
            return Ok(());
        }
        self.backlog_bytes += bytes.len();
        self.backlog.push_back(bytes);
        if self.backlog_bytes <= SOFT_LIMIT_BYTES {
            return Ok(());
        }
        let since_ns = *self.heavy_since_ns.get_or_insert(now_ns);
        if self.backlog_bytes > HARD_LIMIT_BYTES || now_ns - since_ns > SOFT_LIMIT_NS {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        Ok(())
    }

    fn sent(&mut self, bytes: usize) {
        self.backlog_bytes -= bytes;
        if self.backlog_bytes <= SOFT_LIMIT_BYTES {
            self.heavy_since_ns = None;
        }
    }
}
