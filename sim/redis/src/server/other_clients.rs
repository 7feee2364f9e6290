//! The sockets of a node while a script runs on it.
//!
//! The node is in the middle of a call, so the event loop stands still: the sockets are read and
//! written directly. Whatever the event loop believes of them, it finds out when it tries.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net;
use std::sync::Arc;

use bytes::{Buf as _, Bytes};
use socket2::SockRef;
use tokio::net::TcpStream;

use super::Surroundings;
use super::machine::Machine;
use super::sockets::Sockets;
use super::thread::Stop;
use crate::engine::{Addresses, Arrival, ConnId, OtherClients};

/// The most bytes per read: requests that make sense now are short.
const READ_BYTES: usize = 4096;

/// The clients of a node.
pub(super) struct SocketClients {
    sockets: Arc<Sockets>,
    listener: net::TcpListener,
    machine: Machine,
    stop: Stop,
    /// The connection that was read last: the next one has its turn.
    last: Option<ConnId>,
}

impl SocketClients {
    pub(super) fn new(
        sockets: Arc<Sockets>,
        listener: net::TcpListener,
        around: &Surroundings,
    ) -> Self {
        SocketClients {
            sockets,
            listener,
            machine: around.machine.clone(),
            stop: around.stop.clone(),
            last: None,
        }
    }

    fn accept(&mut self) -> Option<Addresses> {
        let mut sockets = self.sockets.lock();
        let Ok((stream, _)) = self.listener.accept() else {
            return sockets.accept_waiting();
        };
        stream.set_nonblocking(true).ok()?;
        Some(sockets.accepted(TcpStream::from_std(stream).ok()?))
    }

    /// Bytes of the next of these connections that has any. Each is read once a round, so that a
    /// client that sends without end does not keep the script from going on.
    fn read(&mut self, listens: &dyn Fn(ConnId) -> bool) -> Option<Arrival> {
        let sockets = &self.sockets.lock().open;
        let from = self
            .last
            .map_or(std::ops::Bound::Unbounded, std::ops::Bound::Excluded);
        for (conn, socket) in sockets.range((from, std::ops::Bound::Unbounded)) {
            self.last = Some(*conn);
            if socket.is_full || !listens(*conn) {
                continue;
            }
            let mut bytes = vec![0; READ_BYTES];
            // The end of a connection, and its errors, are found again when the script is over.
            if let Ok(count @ 1..) = (&*SockRef::from(&socket.stream)).read(&mut bytes) {
                bytes.truncate(count);
                return Some(Arrival::Received { conn: *conn, bytes });
            }
        }
        self.last = None;
        None
    }
}

impl OtherClients for SocketClients {
    fn is_process_ended(&self) -> bool {
        self.machine.stand_still(&self.stop);
        self.stop.is_signalled()
    }

    fn poll(&mut self, listens: &dyn Fn(ConnId) -> bool) -> Option<Arrival> {
        // At the beginning of a round.
        if self.last.is_none()
            && let Some(addresses) = self.accept()
        {
            return Some(Arrival::Connected(addresses));
        }
        self.read(listens)
    }

    fn accepted(&mut self, conn: Option<ConnId>) {
        let mut sockets = self.sockets.lock();
        sockets.begin_newest(conn);
        sockets.newcomers.extend(conn);
    }

    fn send(&mut self, conn: ConnId, mut bytes: Bytes) -> Bytes {
        let mut sockets = self.sockets.lock();
        let Some(socket) = sockets.open.get_mut(&conn) else {
            return Bytes::new();
        };
        while !socket.is_full && !bytes.is_empty() {
            match (&*SockRef::from(&socket.stream)).write(&bytes) {
                Ok(count) => bytes.advance(count),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => socket.is_full = true,
            }
        }
        bytes
    }
}
