//! The connections of a server that sends little, such as a sentinel: the common part of its
//! drivers.
//!
//! Data sent before a connection is established is queued. A connection that accepts no more data
//! is considered dead and closed. [`Lines`] does no input or output: its driver implements
//! [`Sockets`], which writes and notifies receivers of closed connections.

use std::io;

use bytes::Bytes;
use locklab_vecmap::VecMap;

/// The sockets of a driver.
pub trait Sockets {
    /// The sending side of an established connection.
    type Writer;
    /// The receiver of the bytes of a connection, or of the connection itself.
    type Receiver;

    /// Writes as much as the connection accepts without waiting, and returns how much that is.
    ///
    /// # Errors
    ///
    /// If the connection is broken, or accepts nothing now.
    fn write(writer: &Self::Writer, bytes: &[u8]) -> io::Result<usize>;

    /// Tells the receiver that its connection has ended.
    fn end(receiver: &Self::Receiver);
}

/// The connections of a server, each with an id.
pub struct Lines<K, S: Sockets>(VecMap<K, Line<S>>);

struct Line<S: Sockets> {
    /// `None` until it is established.
    writer: Option<S::Writer>,
    /// The data to send once it is established.
    early: Vec<Bytes>,
    receiver: S::Receiver,
}

impl<K, S: Sockets> Default for Lines<K, S> {
    fn default() -> Self {
        Lines(VecMap::new())
    }
}

impl<K: Ord, S: Sockets> Lines<K, S> {
    /// Adds a connection that is established.
    pub fn accept(&mut self, key: K, writer: S::Writer, receiver: S::Receiver) {
        self.add(key, Some(writer), receiver);
    }

    /// Adds a connection that is not established yet.
    pub fn connect(&mut self, key: K, receiver: S::Receiver) {
        self.add(key, None, receiver);
    }

    fn add(&mut self, key: K, writer: Option<S::Writer>, receiver: S::Receiver) {
        let early = Vec::new();
        let line = Line {
            writer,
            early,
            receiver,
        };
        self.0.insert(key, line);
    }

    /// Reports that a connection is established, and sends what has waited for that. Returns
    /// whether it is of any use: not if it has ended before, or does not accept the data.
    pub fn connected(&mut self, key: &K, writer: S::Writer) -> bool {
        let Some(line) = self.0.get_mut(key) else {
            return false;
        };
        line.writer = Some(writer);
        let mut early = std::mem::take(&mut line.early).into_iter();
        early.try_for_each(|bytes| line.send(bytes)).is_ok()
    }

    /// Sends data on a connection, or keeps it until the connection is established. Ends the
    /// connection if it does not accept all of it.
    pub fn send(&mut self, key: &K, bytes: Bytes) {
        let line = self.0.get_mut(key);
        if line.is_some_and(|line| line.send(bytes).is_err()) {
            self.end(key);
        }
    }

    /// Closes a connection and notifies its receiver.
    pub fn end(&mut self, key: &K) {
        if let Some(line) = self.0.remove(key) {
            S::end(&line.receiver);
        }
    }

    /// Drops a connection whose receiver knows that it is closed.
    pub fn forget(&mut self, key: &K) {
        self.0.remove(key);
    }
}

impl<S: Sockets> Line<S> {
    fn send(&mut self, bytes: Bytes) -> io::Result<()> {
        match &self.writer {
            None => self.early.push(bytes),
            Some(writer) if S::write(writer, &bytes)? == bytes.len() => {}
            Some(_) => return Err(io::ErrorKind::WriteZero.into()),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};
    use std::rc::Rc;

    use super::*;

    /// Connections that accept eight bytes.
    struct Narrow;

    type Written = Rc<RefCell<Vec<u8>>>;

    impl Sockets for Narrow {
        type Writer = Written;
        type Receiver = Rc<Cell<bool>>;

        fn write(writer: &Written, bytes: &[u8]) -> io::Result<usize> {
            let mut written = writer.borrow_mut();
            let accepted = bytes.len().min(8 - written.len());
            written.extend(&bytes[..accepted]);
            match accepted {
                0 => Err(io::ErrorKind::WouldBlock.into()),
                _ => Ok(accepted),
            }
        }

        fn end(ended: &Rc<Cell<bool>>) {
            ended.set(true);
        }
    }

    #[derive(Default)]
    struct Peer {
        lines: Lines<u8, Narrow>,
        written: Written,
        ended: Rc<Cell<bool>>,
    }

    impl Peer {
        /// Connection 1 is established.
        fn accepted() -> Peer {
            let mut peer = Peer::default();
            let (written, ended) = (peer.written.clone(), peer.ended.clone());
            peer.lines.accept(1, written, ended);
            peer
        }

        /// Connection 1 is not established yet.
        fn connecting() -> Peer {
            let mut peer = Peer::default();
            peer.lines.connect(1, peer.ended.clone());
            peer
        }

        fn sends(&mut self, text: &'static str) {
            self.lines.send(&1, text.into());
        }

        fn connected(&mut self) -> bool {
            self.lines.connected(&1, self.written.clone())
        }

        #[track_caller]
        fn expect(&self, written: &str, ended: bool) {
            assert_eq!(*self.written.borrow(), written.as_bytes());
            assert_eq!(self.ended.get(), ended);
        }
    }

    #[test]
    fn data_is_sent_immediately_on_an_established_connection() {
        let mut peer = Peer::accepted();
        peer.sends("PING");
        peer.sends("INFO");
        peer.expect("PINGINFO", false);
    }

    #[test]
    fn data_waits_in_order_for_the_connection() {
        let mut peer = Peer::connecting();
        peer.sends("PING");
        peer.sends("IN");
        peer.expect("", false);
        assert!(peer.connected());
        peer.sends("FO");
        peer.expect("PINGINFO", false);
    }

    #[test]
    fn connection_that_accepts_no_more_data_is_closed() {
        let mut peer = Peer::accepted();
        peer.sends("PING");
        peer.sends("PUBLISH");
        peer.expect("PINGPUBL", true);
        peer.sends("PING");
        peer.expect("PINGPUBL", true);
        let mut full = Peer::accepted();
        full.sends("PINGINFO");
        full.expect("PINGINFO", false);
        full.sends("PING");
        full.expect("PINGINFO", true);
    }

    #[test]
    fn connection_that_does_not_accept_queued_data_is_not_established() {
        let mut peer = Peer::connecting();
        peer.sends("PING");
        peer.sends("PUBLISH");
        assert!(!peer.connected());
        // The result reports it to the driver.
        peer.expect("PINGPUBL", false);
    }

    #[test]
    fn closed_connection_is_not_established_later() {
        let mut peer = Peer::connecting();
        peer.sends("PING");
        peer.lines.end(&1);
        peer.expect("", true);
        assert!(!peer.connected());
        peer.expect("", true);
    }

    #[test]
    fn receiver_of_a_forgotten_connection_is_not_notified() {
        let mut peer = Peer::accepted();
        peer.lines.forget(&1);
        peer.sends("PING");
        peer.lines.end(&1);
        peer.expect("", false);
    }
}
