//! One socket at an end of a connection.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::rc::Rc;

use bytes::Bytes;
use tokio::io::Interest;
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::select;
use tokio::sync::Notify;
use tokio::task::{AbortHandle, JoinHandle};

use super::Relay;
use crate::model::{End, Meter, Payload};
use crate::options::Greeting;

/// The most reads in a row from one socket. Together they take more than may be under way.
const MAX_READS: u32 = 32;

/// A socket, and what is still to be written to it.
pub(super) struct Port {
    read: OwnedReadHalf,
    /// `None` once the stream to the process has ended.
    write: RefCell<Option<OwnedWriteHalf>>,
    waiting: RefCell<VecDeque<Piece>>,
    /// Whether the process has ended its stream.
    has_ended: Cell<bool>,
    /// Whether the host has lost power: nothing more is read or written, and the process does not
    /// notice.
    is_detached: Cell<bool>,
    pub(super) greeting: Greeting,
    /// The data that was read here and is in transit.
    pub(super) meter: Rc<Meter>,
    /// The task has to look at this again.
    changed: Rc<Notify>,
    task: RefCell<Option<AbortHandle>>,
}

/// A pending write.
enum Piece {
    /// Data, and how much of it has been written.
    Data(Data, usize),
    /// The end of the stream.
    End,
}

enum Data {
    Ours(Bytes),
    Theirs(Payload),
}

impl Port {
    pub(super) fn new(stream: TcpStream, greeting: Greeting) -> Self {
        let (read, write) = stream.into_split();
        let changed = Rc::new(Notify::new());
        Self {
            read,
            write: RefCell::new(Some(write)),
            waiting: RefCell::default(),
            has_ended: Cell::new(false),
            is_detached: Cell::new(false),
            greeting,
            meter: Meter::new(changed.clone()),
            changed,
            task: RefCell::default(),
        }
    }

    /// Stores the handle of its task.
    pub(super) fn run(&self, task: JoinHandle<()>) {
        *self.task.borrow_mut() = Some(task.abort_handle());
    }

    /// Writes data of the proxy.
    pub(super) fn write(&self, bytes: Bytes) -> io::Result<()> {
        self.push(Piece::Data(Data::Ours(bytes), 0))
    }

    /// Writes data of the peer.
    pub(super) fn write_payload(&self, payload: Payload) -> io::Result<()> {
        self.push(Piece::Data(Data::Theirs(payload), 0))
    }

    /// Ends the stream to the process, after everything that waits.
    pub(super) fn end_stream(&self) -> io::Result<()> {
        self.push(Piece::End)
    }

    /// Resets the connection to the process.
    pub(super) fn reset(&self) {
        // Fails only on a socket that is already disconnected.
        let _ = self.read.as_ref().set_zero_linger();
        if let Some(write) = self.write.take() {
            // Dropped, it would end the stream first.
            write.forget();
        }
        // The task has the socket, and drops it.
        if let Some(task) = self.task.take() {
            task.abort();
        }
    }

    /// Freezes the socket until the process has ended.
    pub(super) fn detach(&self) {
        self.is_detached.set(true);
        self.waiting.borrow_mut().clear();
        self.changed.notify_one();
    }

    fn push(&self, piece: Piece) -> io::Result<()> {
        self.waiting.borrow_mut().push_back(piece);
        self.flush()?;
        self.changed.notify_one();
        Ok(())
    }

    /// Writes as much as the socket takes.
    fn flush(&self) -> io::Result<()> {
        let mut waiting = self.waiting.borrow_mut();
        let mut write = self.write.borrow_mut();
        while let Some(piece) = waiting.front_mut() {
            match (piece, write.as_ref()) {
                (Piece::End, _) | (_, None) => *write = None,
                (Piece::Data(data, written), Some(half)) => {
                    let bytes = match data {
                        Data::Ours(bytes) => bytes,
                        Data::Theirs(payload) => payload.bytes(),
                    };
                    match half.try_write(bytes.get(*written..).unwrap_or_default()) {
                        Ok(count) => *written += count,
                        Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                        Err(error) => return Err(error),
                    }
                    if *written < bytes.len() {
                        continue;
                    }
                }
            }
            waiting.pop_front();
        }
        Ok(())
    }

    /// Whether data of the process would be read now.
    fn is_readable(&self) -> bool {
        !self.has_ended.get() && (self.is_detached.get() || self.meter.has_room())
    }

    /// The event that the task waits for; `None` if nothing more can happen.
    fn interest(&self) -> Option<Interest> {
        let is_detached = self.is_detached.get();
        if self.has_ended.get() && (is_detached || self.write.borrow().is_none()) {
            return None;
        }
        // A reset is an error, and arrives even while the connection is frozen.
        let mut interest = Interest::ERROR;
        if self.is_readable() {
            interest |= Interest::READABLE;
        }
        if !is_detached && !self.waiting.borrow().is_empty() {
            interest |= Interest::WRITABLE;
        }
        Some(interest)
    }
}

/// The outcome of a read.
enum Read {
    Something,
    NothingYet,
}

/// The task of a port: reads the process's data, and writes the data that the socket did not accept
/// immediately.
pub(super) async fn run(relay: Rc<Relay>, end: End, port: Rc<Port>) {
    while let Some(interest) = port.interest() {
        let ready = select! {
            biased;
            () = port.changed.notified() => continue,
            ready = port.read.as_ref().ready(interest) => ready,
        };
        let result = ready.and_then(|ready| {
            if ready.is_readable() && interest.is_readable() {
                relay.read(end, &port)?;
            } else if ready.is_error() {
                return Err(ErrorKind::ConnectionReset.into());
            }
            if ready.is_writable() && !port.is_detached.get() {
                port.flush()?;
            }
            Ok(())
        });
        if result.is_err() {
            relay.on_broken(end, &port);
            return;
        }
    }
    if !port.is_detached.get() {
        relay.take_port(end);
    }
}

impl Relay {
    /// Reads what every process has written so far, as far as there is room for it.
    pub(super) fn read_all(self: &Rc<Self>) {
        let ports = self.ports.borrow().clone();
        for (end, port) in ports {
            // The task does not wait for a process that continues to write.
            for _ in 0..MAX_READS {
                match port.is_readable().then(|| self.read(end, &port)) {
                    Some(Ok(Read::Something)) => continue,
                    Some(Ok(Read::NothingYet)) | None => {}
                    Some(Err(_)) => self.on_broken(end, &port),
                }
                break;
            }
        }
    }

    /// Reads once from the socket of `end`.
    fn read(self: &Rc<Self>, end: End, port: &Port) -> io::Result<Read> {
        let read = port.read.try_read(&mut self.buffer.borrow_mut());
        let len = match read {
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(Read::NothingYet),
            read => read?,
        };
        port.has_ended.set(len == 0);
        if port.is_detached.get() {
            // Its data is lost.
        } else if len == 0 {
            self.act(|network, now_ns| network.ended(end, now_ns));
        } else {
            self.on_write(end, len, port);
        }
        Ok(Read::Something)
    }

    /// Handles a reset of the socket of `end` by its process.
    fn on_broken(self: &Rc<Self>, end: End, port: &Port) {
        if port.is_detached.get() {
            return;
        }
        self.take_port(end);
        port.reset();
        self.act(|network, now_ns| network.on_broken(end, now_ns));
    }
}
