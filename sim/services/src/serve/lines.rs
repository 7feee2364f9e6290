//! The sockets of simulated hosts, for servers that send little; and the receiving side of their
//! connections.

use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::sync::Notify;
use turmoil_net::shim::tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};

use locklab_redis::lines::{self, Sockets};
use locklab_world::{Host, HostId};

/// The connections of a server.
pub(super) type Lines<K> = RefCell<lines::Lines<K, Simulated>>;

/// The sockets of simulated hosts.
pub(super) struct Simulated;

impl Sockets for Simulated {
    type Writer = OwnedWriteHalf;
    type Receiver = Rc<Notify>;

    fn write(writer: &OwnedWriteHalf, bytes: &[u8]) -> io::Result<usize> {
        writer.try_write(bytes)
    }

    fn end(receiver: &Rc<Notify>) {
        receiver.notify_one();
    }
}

/// Connects, sends the data kept for the connection, and returns the receiving side; `None` if
/// that fails, or if the connection is ended first.
pub(super) async fn open<K: Ord>(
    lines: &Lines<K>,
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
    let is_open = lines.borrow_mut().connected(&key, writer);
    is_open.then_some(reader)
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
