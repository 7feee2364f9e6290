//! The sockets of a node's connections.
//!
//! Another thread may lend some and take them back, also while the node stands still in the middle of a
//! command. So a lock guards them, which the node holds only to accept, to read and to write.

use std::collections::VecDeque;
use std::io::{self, Write as _};
use std::net::{self, IpAddr, Ipv4Addr, Shutdown, SocketAddr};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use locklab_vecmap::VecMap;
use mio::net::TcpStream;
use mio::{Interest, Registry};
use socket2::{SockRef, TcpKeepalive};
use tokio::net::TcpSocket;
use tokio::sync::Notify;

use super::any_port::bind;
use super::news::token;
use crate::endpoint::TOO_MANY_CLIENTS;
use crate::engine::{Addresses, ConnId};

/// The idle time before a keepalive probe: `tcp-keepalive 300`.
const KEEPALIVE: Duration = Duration::from_secs(300);

/// The sockets of a node that runs, and those that wait for it.
#[derive(Default)]
pub(super) struct Sockets {
    guarded: Mutex<Guarded>,
    /// Signals that a connection waits.
    pub(super) arrived: Notify,
}

#[derive(Default)]
pub(super) struct Guarded {
    pub(super) open: VecMap<ConnId, Socket>,
    /// The connection that was accepted last, without an id.
    newest: Option<Socket>,
    /// The connections that were lent and are to be accepted.
    waiting: VecDeque<Waiting>,
    /// The connections that were accepted while a script ran, of which the endpoint does not know
    /// yet.
    pub(super) newcomers: Vec<ConnId>,
    /// The connections that ended while a script ran, of which the endpoint does not know yet.
    pub(super) leavers: Vec<ConnId>,
    /// Where the node that runs hears of its sockets.
    registry: Option<Registry>,
}

/// The socket of a connection.
pub(super) struct Socket {
    pub(super) stream: TcpStream,
    pub(super) rest: Rest,
    /// Another thread may take it back.
    is_lent: bool,
}

/// Who has the output that a socket has not taken. Nothing may be sent past it.
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub(super) enum Rest {
    /// There is none.
    None,
    /// The endpoint, until the script that runs is over.
    Endpoint,
    /// The script that runs, which sends it as soon as the socket takes more.
    Script,
}

/// A socket of no event loop.
struct Waiting {
    stream: net::TcpStream,
    is_lent: bool,
}

/// A socket to a client that was lent, and the far end of the one that replaces it.
type TakenBack = (net::TcpStream, net::TcpStream);

impl Sockets {
    pub(super) fn lock(&self) -> MutexGuard<'_, Guarded> {
        // It is valid even after a panic: each change is complete.
        self.guarded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A node runs, and hears of its sockets from here.
    pub(super) fn begin(&self, registry: Registry) {
        self.lock().registry = Some(registry);
    }

    /// The node has ended, and its kernel closes its connections.
    pub(super) fn end(&self) {
        *self.lock() = Guarded::default();
    }

    /// Lets a connection wait that another thread has accepted.
    pub(super) fn lend(&self, stream: net::TcpStream) {
        let is_lent = true;
        self.lock().waiting.push_back(Waiting { stream, is_lent });
        self.arrived.notify_one();
    }

    /// Takes back what was lent.
    pub(super) fn take_back(&self) -> Vec<TakenBack> {
        let guarded = &mut *self.lock();
        let registry = &guarded.registry;
        let open = guarded.open.iter_mut().filter(|(_, socket)| socket.is_lent);
        let newest = guarded.newest.iter_mut().filter(|socket| socket.is_lent);
        let waiting = guarded.waiting.iter_mut().filter(|waiting| waiting.is_lent);
        open.map(|(conn, socket)| socket.give_back(registry.as_ref().zip(Some(*conn))))
            .chain(newest.map(|socket| socket.give_back(None)))
            .chain(waiting.map(Waiting::give_back))
            .flatten()
            .collect()
    }
}

impl Guarded {
    /// A connection has been accepted; returns its addresses.
    pub(super) fn accepted(&mut self, stream: TcpStream) -> Addresses {
        let socket = self.newest.insert(Socket::new(stream));
        addresses(&socket.stream)
    }

    /// Accepts a connection that waits; returns its addresses.
    pub(super) fn accept_waiting(&mut self) -> Option<Addresses> {
        let Waiting { stream, is_lent } = self.waiting.pop_front()?;
        let addresses = self.accepted(TcpStream::from_std(stream));
        self.newest.as_mut()?.is_lent = is_lent;
        Some(addresses)
    }

    /// A connection begins with this id.
    pub(super) fn begin(&mut self, conn: ConnId, mut socket: Socket) {
        if let Some(registry) = &self.registry {
            socket.register(registry, conn);
        }
        self.open.insert(conn, socket);
    }

    /// Says who has the output that a connection has not taken: then there is news of it when it takes more.
    pub(super) fn keep_rest(&mut self, conn: ConnId, rest: Rest) {
        if let Some(socket) = self.open.get_mut(&conn) {
            let was_full = socket.is_full();
            socket.rest = rest;
            if socket.is_full() != was_full {
                self.watch(conn);
            }
        }
    }

    /// The connections that began, and those that ended, while a script ran.
    pub(super) fn take_changes(&mut self) -> [Vec<ConnId>; 2] {
        [&mut self.newcomers, &mut self.leavers].map(std::mem::take)
    }

    /// What is left to do with a connection is news again, behind that of all others.
    pub(super) fn watch(&mut self, conn: ConnId) {
        if let (Some(registry), Some(socket)) = (&self.registry, self.open.get_mut(&conn)) {
            let interest = socket.interest();
            // It is registered, so this fails only if it has ended.
            let _ = registry.reregister(&mut socket.stream, token(conn), interest);
        }
    }

    /// The accepted connection begins with this id, or ends if there are too many.
    pub(super) fn begin_newest(&mut self, conn: Option<ConnId>) {
        match (self.newest.take(), conn) {
            (Some(socket), Some(conn)) => self.begin(conn, socket),
            // Best effort, as in Redis: a client that does not receive it sees the connection
            // close.
            (Some(socket), None) => drop((&*SockRef::from(&socket.stream)).write(TOO_MANY_CLIENTS)),
            (None, _) => {}
        }
    }
}

impl Waiting {
    /// Replaces the connection; it ends if the machine has no more sockets.
    fn give_back(&mut self) -> io::Result<TakenBack> {
        self.is_lent = false;
        let (ours, theirs) = pair().inspect_err(|_| end(&self.stream))?;
        Ok((std::mem::replace(&mut self.stream, ours), theirs))
    }
}

impl Socket {
    pub(super) fn new(stream: TcpStream) -> Self {
        set_options(&stream);
        Socket {
            stream,
            rest: Rest::None,
            is_lent: false,
        }
    }

    /// Replaces the connection, which may be registered; it ends if the machine has no more sockets.
    fn give_back(&mut self, registered: Option<(&Registry, ConnId)>) -> io::Result<TakenBack> {
        self.is_lent = false;
        let (ours, theirs) = pair().inspect_err(|_| end(&self.stream))?;
        let ours = TcpStream::from_std(ours);
        set_options(&ours);
        let mut client = std::mem::replace(&mut self.stream, ours);
        if let Some((registry, conn)) = registered {
            registry.deregister(&mut client)?;
            self.register(registry, conn);
        }
        Ok((client.into(), theirs))
    }

    fn register(&mut self, registry: &Registry, conn: ConnId) {
        let interest = self.interest();
        if registry
            .register(&mut self.stream, token(conn), interest)
            .is_err()
        {
            // The kernel has no memory for it.
            end(&self.stream);
        }
    }

    /// The news that matters: as in Redis only input, unless output waits.
    /// Whether it has not taken all output.
    pub(super) fn is_full(&self) -> bool {
        self.rest != Rest::None
    }

    fn interest(&self) -> Interest {
        match self.is_full() {
            true => Interest::READABLE | Interest::WRITABLE,
            false => Interest::READABLE,
        }
    }
}

/// Socket options; failures are ignored, because a connection works without them.
fn set_options(stream: &TcpStream) {
    let _ = stream.set_nodelay(true);
    let keepalive = TcpKeepalive::new().with_time(KEEPALIVE);
    let _ = SockRef::from(stream).set_tcp_keepalive(&keepalive);
}

fn end<'s>(stream: impl Into<SockRef<'s>>) {
    // Fails if the client has ended it.
    let _ = stream.into().shutdown(Shutdown::Both);
}

/// Both ends of a connection to ourselves.
fn pair() -> io::Result<(net::TcpStream, net::TcpStream)> {
    let listener = bind((Ipv4Addr::LOCALHOST, 0).into())?;
    let one = net::TcpStream::connect(listener.local_addr()?)?;
    loop {
        let (other, from) = listener.accept()?;
        // Anybody may connect.
        if from == one.local_addr()? {
            one.set_nonblocking(true)?;
            other.set_nonblocking(true)?;
            return Ok((one, other));
        }
    }
}

/// Connects from the loopback address of a server, so that its peer sees who it is.
pub(super) async fn connect(from: IpAddr, to: SocketAddr) -> io::Result<tokio::net::TcpStream> {
    let socket = match to {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    if to.ip().is_loopback() && to.is_ipv4() == from.is_ipv4() {
        socket.bind(SocketAddr::new(from, 0))?;
    }
    socket.connect(to).await
}

/// The addresses of both ends.
fn addresses(stream: &TcpStream) -> Addresses {
    let unknown = Addresses::default();
    Addresses {
        peer: stream.peer_addr().unwrap_or(unknown.peer),
        local: stream.local_addr().unwrap_or(unknown.local),
    }
}
