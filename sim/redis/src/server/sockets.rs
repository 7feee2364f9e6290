//! The sockets of a node's connections.
//!
//! Another thread may lend some and take them back, also while the node stands still in the middle of a
//! command. So a lock guards them, which the node holds only to accept, to read and to write.

use std::collections::VecDeque;
use std::io::{self, Write as _};
use std::net::{self, IpAddr, Ipv4Addr, Shutdown, SocketAddr};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::Duration;

use locklab_vecmap::VecMap;
use socket2::{SockRef, TcpKeepalive};
use tokio::net::{TcpSocket, TcpStream};
use tokio::runtime::Handle;
use tokio::sync::Notify;

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
    /// The event loop of the node that runs.
    event_loop: Option<Handle>,
}

/// The socket of a connection.
pub(super) struct Socket {
    pub(super) stream: TcpStream,
    /// It has not taken all output, so nothing may be sent past what waits.
    pub(super) is_full: bool,
    /// Another thread may take it back.
    is_lent: bool,
    /// The waker of the connection's task.
    waker: Option<Waker>,
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

    /// A node runs, on the current event loop.
    pub(super) fn begin(&self) {
        self.lock().event_loop = Some(Handle::current());
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
        let _inside = guarded.event_loop.as_ref().map(Handle::enter);
        let sockets = guarded.open.values_mut().chain(&mut guarded.newest);
        let sockets = sockets.filter(|socket| socket.is_lent);
        let waiting = guarded.waiting.iter_mut().filter(|waiting| waiting.is_lent);
        let taken = sockets.map(Socket::give_back);
        taken
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
        let addresses = self.accepted(TcpStream::from_std(stream).ok()?);
        self.newest.as_mut()?.is_lent = is_lent;
        Some(addresses)
    }

    /// The accepted connection begins with this id, or ends if there are too many.
    pub(super) fn begin_newest(&mut self, conn: Option<ConnId>) {
        match (self.newest.take(), conn) {
            (Some(socket), Some(conn)) => drop(self.open.insert(conn, socket)),
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
            is_full: false,
            is_lent: false,
            waker: None,
        }
    }

    /// Replaces the connection; it ends if the machine has no more sockets.
    fn give_back(&mut self) -> io::Result<TakenBack> {
        self.is_lent = false;
        let replacement =
            pair().and_then(|(ours, theirs)| Ok((TcpStream::from_std(ours)?, theirs)));
        let (ours, theirs) = replacement.inspect_err(|_| end(&self.stream))?;
        set_options(&ours);
        let client = std::mem::replace(&mut self.stream, ours);
        // Its task still waits for the former socket.
        self.wake();
        Ok((client.into_std()?, theirs))
    }

    pub(super) fn set_waker(&mut self, waker: &Waker) {
        match &mut self.waker {
            Some(kept) => kept.clone_from(waker),
            None => self.waker = Some(waker.clone()),
        }
    }

    pub(super) fn wake(&self) {
        if let Some(waker) = &self.waker {
            waker.wake_by_ref();
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
    let listener = net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
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
pub(super) async fn connect(from: IpAddr, to: SocketAddr) -> io::Result<TcpStream> {
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
