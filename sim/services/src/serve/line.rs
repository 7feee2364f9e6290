//! Connections of a server that sends little: if a socket accepts no more data, the server
//! considers the connection dead and closes it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use tokio::io::AsyncReadExt;
use tokio::sync::Notify;
use turmoil_net::shim::tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};

use locklab_world::{Host, HostId};

/// The sending side of a connection.
pub(super) struct Line {
    /// `None` until it is connected.
    writer: Option<OwnedWriteHalf>,
    /// The data to send once it is connected.
    early: Vec<Bytes>,
    /// Notifies the receiving side that the connection ended.
    pub(super) ended: Rc<Notify>,
}

impl Line {
    /// A connection that is established if there is a writer, and otherwise not yet.
    pub(super) fn new(writer: Option<OwnedWriteHalf>) -> Self {
        Line {
            writer,
            early: Vec::new(),
            ended: Rc::default(),
        }
    }

    /// Sends the bytes, or keeps them until the connection is established.
    fn send(&mut self, bytes: Bytes) -> io::Result<()> {
        match &self.writer {
            None => self.early.push(bytes),
            Some(writer) if writer.try_write(&bytes)? == bytes.len() => {}
            Some(_) => return Err(io::ErrorKind::WriteZero.into()),
        }
        Ok(())
    }

    /// The connection is established: sends the bytes kept for it.
    fn connected(&mut self, writer: OwnedWriteHalf) -> io::Result<()> {
        self.writer = Some(writer);
        let mut early = std::mem::take(&mut self.early).into_iter();
        early.try_for_each(|bytes| self.send(bytes))
    }
}

/// Connects, sends the data kept for the connection, and returns the receiving side; `None` if
/// that fails, or if the connection is ended first.
pub(super) async fn open<K: Ord>(
    lines: &RefCell<BTreeMap<K, Line>>,
    key: K,
    host: &Host,
    (to, port): (HostId, u16),
    ended: &Notify,
) -> Option<OwnedReadHalf> {
    let stream = tokio::select! {
        biased;
        () = ended.notified() => return None,
        stream = host.connect(to, port) => stream.ok()?,
    };
    // The acknowledgement that ends the handshake must travel alone: turmoil-net loses data
    // that arrives with it.
    host.sleep(Duration::from_nanos(1)).await;
    let (reader, writer) = stream.into_split();
    lines.borrow_mut().get_mut(&key)?.connected(writer).ok()?;
    Some(reader)
}

/// Sends on a connection; ends it if the socket accepts no more data.
pub(super) fn send<K: Ord>(lines: &RefCell<BTreeMap<K, Line>>, key: K, bytes: Bytes) {
    let mut lines = lines.borrow_mut();
    if lines
        .get_mut(&key)
        .is_some_and(|line| line.send(bytes).is_err())
    {
        lines.remove(&key).inspect(|line| line.ended.notify_one());
    }
}

/// Ends a connection.
pub(super) fn end<K: Ord>(lines: &RefCell<BTreeMap<K, Line>>, key: K) {
    if let Some(line) = lines.borrow_mut().remove(&key) {
        line.ended.notify_one();
    }
}

/// Waits for bytes; `None` when either end has ended the connection.
pub(super) async fn receive(
    reader: &mut OwnedReadHalf,
    bytes: &mut [u8],
    ended: &Notify,
) -> Option<usize> {
    tokio::select! {
        biased;
        () = ended.notified() => None,
        count = reader.read(bytes) => count.ok().filter(|count| *count > 0),
    }
}
