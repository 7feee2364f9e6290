//! One node behind a listener: its connections, its master, its clock, its end.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::panic;
use std::rc::Rc;
use std::time::Duration;

use locklab_redis::{Addresses, ConnId, Effect, Node, NodeConfig};
use socket2::{SockRef, TcpKeepalive};
use tokio::net::{TcpListener, TcpSocket, TcpStream, lookup_host};
use tokio::sync::Notify;
use tokio::sync::mpsc::{self, UnboundedSender};
use tokio::task::{JoinSet, LocalSet, yield_now};
use tokio::time::sleep;

use super::client::{Clients, Refusal, Turn};
use super::{Limits, Place, Role};
use crate::backend::machine::read_clock;
use crate::history::ClockKind;

/// What is read at once; a client that has sent more waits until others had a turn.
const READ_BYTES: usize = 64 << 10;

/// The longest sleep until something is due. The wall clock may be set meanwhile:
/// like `serverCron`, look at it ten times a second.
const LONGEST_SLEEP: Duration = Duration::from_millis(100);

/// How long to leave clients waiting when the system has no descriptor for one more.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);

/// After what silence a peer is asked whether it is still there: `tcp-keepalive 300`.
const KEEPALIVE: Duration = Duration::from_secs(300);

/// How a node is run.
pub(super) struct Setup {
    /// Names this start of it.
    pub(super) seed: u64,
    /// Whether there are replicas beside it from the start.
    pub(super) replicated: bool,
    pub(super) limits: Limits,
}

/// Serves a node until somebody calls SHUTDOWN.
///
/// # Errors
///
/// If there can be no event loop.
///
/// # Panics
///
/// If the node does.
pub(super) fn run(place: Place, setup: Setup) -> io::Result<()> {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_io().enable_time().build()?;
    LocalSet::new().block_on(&runtime, serve(place, setup))
}

async fn serve(place: Place, setup: Setup) -> io::Result<()> {
    let node = node(&place, &setup).map_err(io::Error::other)?;
    place.listener.set_nonblocking(true)?;
    let listener = TcpListener::from_std(place.listener)?;
    let (connect, mut connects) = mpsc::unbounded_channel();
    let server = Rc::new(Server {
        node: RefCell::new(node),
        clients: RefCell::default(),
        ip: place.address.ip(),
        limits: setup.limits,
        buffer: RefCell::new(vec![0; READ_BYTES]),
        connect,
        called: Notify::new(),
        exit: Notify::new(),
        shut_down: Cell::new(false),
    });
    let mut tasks = JoinSet::new();
    tasks.spawn_local(server.clone().keep_time());
    while !server.shut_down.get() {
        tokio::select! {
            biased;
            () = server.exit.notified() => {}
            Some(ended) = tasks.join_next() => {
                // The runtime caught it; nobody may go on as if nothing had been.
                if let Err(Ok(panicked)) = ended.map_err(|error| error.try_into_panic()) {
                    panic::resume_unwind(panicked);
                }
            }
            Some(master) = connects.recv() => {
                tasks.spawn_local(server.clone().follow(master));
            }
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    if let Some(conn) = server.welcome(stream) {
                        tasks.spawn_local(server.clone().converse(conn));
                    }
                }
                Err(_) => sleep(ACCEPT_PAUSE).await,
            },
        }
    }
    Ok(())
}

/// The node, configured as a server in this place would be.
fn node(place: &Place, setup: &Setup) -> Result<Node, String> {
    let mut node = Node::new(NodeConfig {
        run_id_seed: setup.seed,
    });
    node.configure("port", &place.address.port().to_string())?;
    node.configure("maxclients", &setup.limits.clients.to_string())?;
    if setup.replicated {
        // Nobody waits five seconds for more replicas: there will be none.
        node.configure("repl-diskless-sync-delay", "0")?;
    }
    if let Role::Replica { of } = place.role {
        node.configure("replicaof", &format!("{} {}", of.ip(), of.port()))?;
    }
    Ok(node)
}

/// A connection to be made: to a node's master.
struct Master {
    conn: ConnId,
    host: String,
    port: u16,
}

struct Server {
    node: RefCell<Node>,
    clients: RefCell<Clients>,
    /// Where the node listens, and connects from.
    ip: IpAddr,
    limits: Limits,
    /// Where every connection reads, one after the other.
    buffer: RefCell<Vec<u8>>,
    /// Tells of connections to be made.
    connect: UnboundedSender<Master>,
    /// The node was called, so something may be due sooner.
    called: Notify,
    exit: Notify,
    shut_down: Cell<bool>,
}

impl Server {
    /// Takes a connection in, unless there are too many.
    fn welcome(&self, stream: TcpStream) -> Option<ConnId> {
        let mut clients = self.clients.borrow_mut();
        if clients.len() >= self.node.borrow().max_clients() {
            // As in Redis it is a courtesy: who does not get it sees the end.
            let _ = stream.try_write(b"-ERR max number of clients reached\r\n");
            return None;
        }
        set_options(&stream);
        let mut node = self.node.borrow_mut();
        let conn = node.accept_from(addresses(&stream), wall_us());
        clients.insert(conn, stream);
        Some(conn)
    }

    /// Connects to the node's master, and hears it until the connection ends.
    async fn follow(self: Rc<Self>, master: Master) {
        let conn = master.conn;
        let Ok(stream) = self.open(&master).await else {
            self.node.borrow_mut().closed(conn);
            self.called.notify_one();
            return;
        };
        set_options(&stream);
        self.clients.borrow_mut().insert(conn, stream);
        let mut effects = Vec::new();
        self.node
            .borrow_mut()
            .connected(conn, wall_us(), &mut effects);
        self.carry_out(&mut effects);
        self.converse(conn).await;
    }

    async fn open(&self, master: &Master) -> io::Result<TcpStream> {
        let mut addresses = lookup_host((&*master.host, master.port)).await?;
        let address = addresses.next().ok_or(io::ErrorKind::NotFound)?;
        let socket = match address {
            SocketAddr::V4(_) => TcpSocket::new_v4()?,
            SocketAddr::V6(_) => TcpSocket::new_v6()?,
        };
        // On another loopback address than the usual one a master has to see who it is.
        if address.ip().is_loopback() && address.is_ipv4() == self.ip.is_ipv4() {
            socket.bind(SocketAddr::new(self.ip, 0))?;
        }
        socket.connect(address).await
    }

    /// Serves one connection until it ends.
    async fn converse(self: Rc<Self>, conn: ConnId) {
        let mut effects = Vec::new();
        loop {
            // Nothing runs between the end of this wait and what follows it, so the
            // buffer is still this connection's.
            let turn = poll_fn(|context| {
                let mut clients = self.clients.borrow_mut();
                clients.poll(conn, context, &mut self.buffer.borrow_mut())
            });
            let Turn::Received(count) = turn.await else {
                break;
            };
            self.receive(conn, count, &mut effects);
            if count == READ_BYTES {
                yield_now().await;
            }
        }
        self.node.borrow_mut().closed(conn);
        self.clients.borrow_mut().remove(conn);
        self.called.notify_one();
    }

    fn receive(&self, conn: ConnId, count: usize, effects: &mut Vec<Effect>) {
        let pending_bytes = {
            let mut node = self.node.borrow_mut();
            let buffer = self.buffer.borrow();
            node.receive(conn, &buffer[..count], wall_us(), effects);
            node.pending_bytes(conn)
        };
        let mut clients = self.clients.borrow_mut();
        let kept = clients.keep_query(conn, pending_bytes, &self.limits);
        drop(clients);
        self.carry_out(effects);
        if let Err(refusal) = kept {
            self.refuse(conn, refusal);
        }
        self.called.notify_one();
    }

    fn carry_out(&self, effects: &mut Vec<Effect>) {
        for effect in effects.drain(..) {
            match effect {
                Effect::Send { conn, bytes } => {
                    let mut clients = self.clients.borrow_mut();
                    let sent = clients.send(conn, bytes, &self.limits);
                    drop(clients);
                    if let Err(refusal) = sent {
                        self.refuse(conn, refusal);
                    }
                }
                Effect::Close { conn } => self.clients.borrow_mut().close(conn),
                Effect::Connect { conn, host, port } => {
                    // If nobody listens, the node is about to end.
                    let _ = self.connect.send(Master { conn, host, port });
                }
                // There is no disk.
                Effect::Disk(_) => {}
                Effect::Exit => {
                    self.shut_down.set(true);
                    self.exit.notify_one();
                }
            }
        }
    }

    /// Ends a connection that broke, or that a limit forbids: replication has a limit of
    /// its own.
    fn refuse(&self, conn: ConnId, refusal: Refusal) {
        let mut clients = self.clients.borrow_mut();
        if refusal == Refusal::TooMuch
            && clients.held_bytes(conn) <= self.limits.replication_bytes
            && self.node.borrow().is_replication(conn)
        {
            return;
        }
        self.node.borrow_mut().closed(conn);
        clients.cut_off(conn);
    }

    /// When something is due, or there is memory to be freed.
    fn next_wake_us(&self) -> Option<u64> {
        let node = self.node.borrow();
        let times = [node.next_wake_us(), node.next_expiry_us()];
        times.into_iter().flatten().min()
    }

    /// Calls the node whenever something is due. It looks for that after each round of
    /// clients, not after each request.
    async fn keep_time(self: Rc<Self>) {
        let mut effects = Vec::new();
        loop {
            let Some(wake_us) = self.next_wake_us() else {
                self.called.notified().await;
                continue;
            };
            let now_us = wall_us();
            if now_us >= wake_us {
                self.node.borrow_mut().wake(now_us, &mut effects);
                self.carry_out(&mut effects);
                yield_now().await;
                continue;
            }
            let left = Duration::from_micros(wake_us - now_us).min(LONGEST_SLEEP);
            tokio::select! {
                biased;
                () = self.called.notified() => {}
                () = sleep(left) => {}
            }
        }
    }
}

/// A connection does without these if it must.
fn set_options(stream: &TcpStream) {
    let _ = stream.set_nodelay(true);
    let keepalive = TcpKeepalive::new().with_time(KEEPALIVE);
    let _ = SockRef::from(stream).set_tcp_keepalive(&keepalive);
}

fn addresses(stream: &TcpStream) -> Addresses {
    let unknown = Addresses::default();
    Addresses {
        peer: stream.peer_addr().unwrap_or(unknown.peer),
        local: stream.local_addr().unwrap_or(unknown.local),
    }
}

/// The machine's wall clock, in microseconds since the Unix epoch.
fn wall_us() -> u64 {
    read_clock(ClockKind::Wall) / 1_000
}
