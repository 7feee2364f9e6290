//! The sockets of a node while a script runs on it.
//!
//! The node is in the middle of a call, so the event loop stands still: what has happened is asked for here, and
//! the sockets are read and written directly. What is left to do is news again, behind what has come meanwhile.

use std::cell::RefCell;
use std::io::{ErrorKind, Read as _, Write as _};
use std::rc::Rc;
use std::sync::Arc;

use bytes::{Buf as _, Bytes};

use super::Surroundings;
use super::machine::Machine;
use super::news::{News, Place};
use super::sockets::{Rest, Sockets};
use super::thread::Stop;
use crate::engine::{Arrival, ConnId, OtherClients};

/// The most bytes per read: requests that make sense now are short.
const READ_BYTES: usize = 4096;

/// The clients of a node.
pub(super) struct SocketClients {
    sockets: Arc<Sockets>,
    news: Rc<RefCell<News>>,
    machine: Machine,
    stop: Stop,
    /// In a round the kernel is asked once, so that clients that send without end do not keep the
    /// script from going on.
    in_round: bool,
}

impl SocketClients {
    pub(super) fn new(
        sockets: Arc<Sockets>,
        news: Rc<RefCell<News>>,
        around: &Surroundings,
    ) -> Self {
        SocketClients {
            sockets,
            news,
            machine: around.machine.clone(),
            stop: around.stop.clone(),
            in_round: false,
        }
    }

    /// Accepts one connection.
    fn accept(&self) -> Option<Arrival> {
        let mut news = self.news.borrow_mut();
        let accepted = news.listener.accept();
        if !matches!(&accepted, Err(error) if error.kind() == ErrorKind::WouldBlock) {
            news.watch_listener();
        }
        let addresses = self.sockets.lock().accepted(accepted.ok()?.0);
        Some(Arrival::Connected(addresses))
    }

    /// Reads from a connection.
    fn read(&self, conn: ConnId, listens: bool) -> Option<Arrival> {
        let mut sockets = self.sockets.lock();
        if sockets.open.get(&conn)?.rest == Rest::Script {
            sockets.keep_rest(conn, Rest::None);
        }
        let socket = sockets.open.get(&conn)?;
        let mut bytes = vec![0; READ_BYTES];
        if listens && !socket.is_full() {
            match (&socket.stream).read(&mut bytes) {
                Ok(count @ 1..) => {
                    bytes.truncate(count);
                    // There may be more, or the end of the connection.
                    sockets.watch(conn);
                    return Some(Arrival::Received { conn, bytes });
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return None,
                _ => {
                    sockets.leavers.push(conn);
                    return Some(Arrival::Left(conn));
                }
            }
        }
        // What it may not send yet is found again when the script is over.
        sockets.watch(conn);
        None
    }
}

impl OtherClients for SocketClients {
    fn is_process_ended(&self) -> bool {
        self.machine.stand_still(&self.stop);
        self.stop.is_signalled()
    }

    fn poll(&mut self, listens: &dyn Fn(ConnId) -> bool) -> Option<Arrival> {
        if !self.in_round {
            self.in_round = true;
            self.news.borrow_mut().look();
            let waiting = self.sockets.lock().accept_waiting();
            if let Some(addresses) = waiting {
                return Some(Arrival::Connected(addresses));
            }
        }
        loop {
            let place = self.news.borrow_mut().next();
            let arrival = match place {
                Some(Place::Listener) => self.accept(),
                Some(Place::Client(conn)) => self.read(conn, listens(conn)),
                None => {
                    self.in_round = false;
                    return None;
                }
            };
            if arrival.is_some() {
                return arrival;
            }
        }
    }

    fn accepted(&mut self, conn: Option<ConnId>) {
        let mut sockets = self.sockets.lock();
        sockets.begin_newest(conn);
        sockets.newcomers.extend(conn);
    }

    fn send(&mut self, conn: ConnId, mut bytes: Bytes) -> Bytes {
        let mut sockets = self.sockets.lock();
        let Some(socket) = sockets.open.get(&conn) else {
            return Bytes::new();
        };
        while !socket.is_full() && !bytes.is_empty() {
            match (&socket.stream).write(&bytes) {
                Ok(count) => bytes.advance(count),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        if !socket.is_full() && !bytes.is_empty() {
            sockets.keep_rest(conn, Rest::Script);
        }
        bytes
    }
}
