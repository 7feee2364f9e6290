//! The sockets of a node's connections.

use std::cell::RefCell;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::task::Waker;
use std::time::Duration;

use locklab_vecmap::VecMap;
use socket2::{SockRef, TcpKeepalive};
use tokio::net::{TcpSocket, TcpStream};

use crate::engine::{Addresses, ConnId};

/// The idle time before a keepalive probe: `tcp-keepalive 300`.
const KEEPALIVE: Duration = Duration::from_secs(300);

/// The sockets of all connections.
#[derive(Default)]
pub(super) struct Sockets {
    pub(super) open: RefCell<VecMap<ConnId, Socket>>,
    /// The connections that were accepted while a script ran, of which the endpoint does not know
    /// yet.
    pub(super) newcomers: RefCell<Vec<ConnId>>,
}

/// The socket of a connection.
pub(super) struct Socket {
    pub(super) stream: TcpStream,
    /// It has not taken all output, so nothing may be sent past what waits.
    pub(super) is_full: bool,
    /// The waker of the connection's task.
    waker: Option<Waker>,
}

impl Sockets {
    /// A connection begins.
    pub(super) fn begin(&self, conn: ConnId, stream: TcpStream) {
        set_options(&stream);
        let socket = Socket {
            stream,
            is_full: false,
            waker: None,
        };
        self.open.borrow_mut().insert(conn, socket);
    }
}

impl Socket {
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
pub(super) fn addresses(stream: &TcpStream) -> Addresses {
    let unknown = Addresses::default();
    Addresses {
        peer: stream.peer_addr().unwrap_or(unknown.peer),
        local: stream.local_addr().unwrap_or(unknown.local),
    }
}
