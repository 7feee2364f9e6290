//! One node behind a listener: its connections, its clock, its end.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::io;
use std::net;
use std::panic;
use std::rc::Rc;
use std::time::Duration;

use locklab_sim::redis::{Addresses, ConnId, Effect, Node, NodeConfig};
use socket2::{SockRef, TcpKeepalive};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::{JoinSet, LocalSet, yield_now};
use tokio::time::sleep;

use super::Limits;
use super::client::{Clients, Turn};
use crate::env::machine::read_clock;
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

/// Serves a node until somebody calls SHUTDOWN.
///
/// # Errors
///
/// If there can be no event loop.
///
/// # Panics
///
/// If the node does.
pub(super) fn run(
    listener: net::TcpListener,
    config: NodeConfig,
    limits: Limits,
) -> io::Result<()> {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_io().enable_time().build()?;
    LocalSet::new().block_on(&runtime, serve(listener, config, limits))
}

async fn serve(listener: net::TcpListener, config: NodeConfig, limits: Limits) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let listener = TcpListener::from_std(listener)?;
    let server = Rc::new(Server {
        node: RefCell::new(Node::new(config)),
        clients: RefCell::default(),
        limits,
        buffer: RefCell::new(vec![0; READ_BYTES]),
        received: Notify::new(),
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

struct Server {
    node: RefCell<Node>,
    clients: RefCell<Clients>,
    limits: Limits,
    /// Where every connection reads, one after the other.
    buffer: RefCell<Vec<u8>>,
    /// The node was called, so something may be due sooner.
    received: Notify,
    exit: Notify,
    shut_down: Cell<bool>,
}

impl Server {
    /// Takes a connection in, unless there are too many.
    fn welcome(&self, stream: TcpStream) -> Option<ConnId> {
        let mut clients = self.clients.borrow_mut();
        if clients.len() >= self.limits.clients {
            // As in Redis it is a courtesy: who does not get it sees the end.
            let _ = stream.try_write(b"-ERR max number of clients reached\r\n");
            return None;
        }
        // A connection does without either if it must.
        let _ = stream.set_nodelay(true);
        let keepalive = TcpKeepalive::new().with_time(KEEPALIVE);
        let _ = SockRef::from(&stream).set_tcp_keepalive(&keepalive);
        let conn = self.node.borrow_mut().accept_from(addresses(&stream));
        clients.insert(conn, stream);
        Some(conn)
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
        self.received.notify_one();
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
        if kept.is_err() {
            self.cut_off(conn);
        }
        self.received.notify_one();
    }

    fn carry_out(&self, effects: &mut Vec<Effect>) {
        for effect in effects.drain(..) {
            match effect {
                Effect::Send { conn, bytes } => {
                    let mut clients = self.clients.borrow_mut();
                    let sent = clients.send(conn, bytes, &self.limits);
                    drop(clients);
                    if sent.is_err() {
                        self.cut_off(conn);
                    }
                }
                Effect::Close { conn } => self.clients.borrow_mut().close(conn),
                // A served node finds no master: replication is the world's for now.
                Effect::Connect { conn, .. } => self.node.borrow_mut().closed(conn),
                // Nor has it a disk.
                Effect::Disk(_) => {}
                Effect::Exit => {
                    self.shut_down.set(true);
                    self.exit.notify_one();
                }
            }
        }
    }

    /// Ends a connection that broke, or that a limit forbids.
    fn cut_off(&self, conn: ConnId) {
        self.node.borrow_mut().closed(conn);
        self.clients.borrow_mut().cut_off(conn);
    }

    /// Calls the node whenever something is due. It looks for that after each round of
    /// clients, not after each request.
    async fn keep_time(self: Rc<Self>) {
        let mut effects = Vec::new();
        loop {
            let next_us = self.node.borrow().next_wake_us();
            let Some(wake_us) = next_us else {
                self.received.notified().await;
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
                () = self.received.notified() => {}
                () = sleep(left) => {}
            }
        }
    }
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
