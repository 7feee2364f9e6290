//! The state that the server keeps for one connection.

use std::collections::BTreeSet;
use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};

use bytes::Bytes;

use super::blocked::Blocked;
use super::requirements::Requirements;
use super::tracking::Tracking;
use super::write_position::WritePosition;
use crate::wire::outbox::Outbox;
use crate::wire::reply::{Encoded, Error, MAX_OUT_BYTES, Reply, Resp, array_header};

/// A client's state between two of its commands.
pub(in crate::engine) struct Session {
    /// The number of its connection, which `CLIENT ID` returns.
    pub(in crate::engine) id: u64,
    /// The name set by `CLIENT SETNAME`; empty if none was set.
    pub(in crate::engine) name: Bytes,
    pub(in crate::engine) library: Library,
    pub(in crate::engine) addresses: Addresses,
    pub(in crate::engine) resp: Resp,
    /// Whether the client is authenticated, or need not be.
    pub(in crate::engine) authenticated: bool,
    /// The transaction between MULTI and EXEC.
    pub(in crate::engine) transaction: Option<Transaction>,
    /// The number of commands in the transaction that EXEC is executing.
    pub(in crate::engine) executing: Option<usize>,
    /// The number of the selected database.
    pub(in crate::engine) db: usize,
    /// The keys watched with WATCH, each with the number of its database.
    pub(in crate::engine) watched: Vec<(usize, Bytes)>,
    /// The memory of the names that it watches and subscribes to.
    pub(in crate::engine) names_bytes: usize,
    pub(in crate::engine) subscriptions: Subscriptions,
    /// The settings of CLIENT TRACKING, while it is on.
    pub(in crate::engine) tracking: Option<Tracking>,
    /// The condition that the client waits for; its next requests wait as well.
    pub(in crate::engine) blocked: Option<Blocked>,
    /// The memory of the names that it waits for, while it is blocked.
    pub(in crate::engine) blocked_bytes: usize,
    /// CLIENT PAUSE defers its next request.
    pub(in crate::engine) postponed: bool,
    pub(in crate::engine) replies: Replies,
    pub(in crate::engine) peer: Peer,
    /// The listening address that a replica announced with REPLCONF.
    pub(in crate::engine) announced_ip: Bytes,
    pub(in crate::engine) announced_port: u16,
    /// The progress of the server after the client's last command.
    pub(in crate::engine) written: WritePosition,
    /// How the connection ends, if it does.
    pub(in crate::engine) closing: Option<Closing>,
    /// Its last command, as CLIENT LIST names it.
    pub(in crate::engine) last_command: &'static str,
    /// The time of connection as far as the node has seen, in wall-clock microseconds.
    pub(in crate::engine) since_us: u64,
    /// The time of its last command.
    pub(in crate::engine) active_us: u64,
    /// The input that is being handled, or is kept because it is no whole request, in bytes.
    pub(in crate::engine) query_bytes: usize,
    /// The pending output.
    pub(in crate::engine) out: Outbox,
    /// The output is complete: it holds the last reply before the connection closes.
    pub(in crate::engine) ended: bool,
    /// The client has ended the connection; its last requests are not handled yet.
    pub(in crate::engine) has_left: bool,
}

/// The library of a client, as CLIENT SETINFO names it.
#[derive(Default)]
pub(in crate::engine) struct Library {
    pub(in crate::engine) name: Bytes,
    pub(in crate::engine) version: Bytes,
}

impl fmt::Display for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [name, version] = [&self.name, &self.version].map(|it| String::from_utf8_lossy(it));
        write!(f, " lib-name={name} lib-ver={version}")
    }
}

/// The two addresses of a connection, as CLIENT LIST shows them.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Addresses {
    /// The client's address.
    pub peer: SocketAddr,
    /// The node's address.
    pub local: SocketAddr,
}

impl Default for Addresses {
    /// Unknown addresses: the loopback address, port 0.
    fn default() -> Self {
        let unknown = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        Addresses {
            peer: unknown,
            local: unknown,
        }
    }
}

/// The commands between MULTI and EXEC.
#[derive(Default)]
pub(in crate::engine) struct Transaction {
    pub(in crate::engine) queue: Vec<Vec<Bytes>>,
    /// The memory of the queue.
    pub(in crate::engine) bytes: usize,
    /// The requirements of the commands in the queue.
    pub(in crate::engine) requirements: Requirements,
    /// A command was rejected instead of queued, so EXEC will reject the transaction.
    pub(in crate::engine) refused: bool,
}

impl Transaction {
    /// Appends a command to the queue.
    pub(in crate::engine) fn push(&mut self, args: &[&[u8]], requirements: Requirements) {
        self.requirements = self.requirements | requirements;
        self.bytes += args.iter().map(|arg| copy_bytes(arg)).sum::<usize>();
        let copy = args.iter().map(|arg| Bytes::copy_from_slice(arg));
        self.queue.push(copy.collect());
    }
}

/// About the memory that a copy of these bytes takes.
pub(in crate::engine) fn copy_bytes(bytes: &[u8]) -> usize {
    // A `Bytes`, its allocation, and its place in a collection.
    const OVERHEAD: usize = 96;
    bytes.len() + OVERHEAD
}

/// The subscriptions of a client.
#[derive(Default)]
pub(in crate::engine) struct Subscriptions {
    pub(in crate::engine) channels: BTreeSet<Bytes>,
    pub(in crate::engine) patterns: BTreeSet<Bytes>,
}

/// The two sets of names that a client may subscribe to.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(in crate::engine) enum Kind {
    Channel,
    Pattern,
}

/// How a connection ends.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(in crate::engine) enum Closing {
    /// After the replies so far are sent.
    AfterReplies,
    /// Immediately, as when CLIENT KILL ends another connection.
    Now,
}

/// Whether a client gets replies.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub(in crate::engine) enum Replies {
    #[default]
    On,
    /// Of the master of a replica, and of what reads the append-only file.
    Off,
}

/// The kind of peer at the other end of a connection.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub(in crate::engine) enum Peer {
    #[default]
    Client,
    /// The server that this one follows.
    Master,
    /// A server that follows this one.
    Replica,
}

impl Subscriptions {
    /// The subscribed names of a kind.
    pub(in crate::engine) fn of(&mut self, kind: Kind) -> &mut BTreeSet<Bytes> {
        match kind {
            Kind::Channel => &mut self.channels,
            Kind::Pattern => &mut self.patterns,
        }
    }

    /// The number of channels and patterns.
    pub(in crate::engine) fn count(&self) -> usize {
        self.channels.len() + self.patterns.len()
    }

    /// Whether there are any subscriptions (`CLIENT_PUBSUB`).
    pub(in crate::engine) fn any(&self) -> bool {
        self.count() > 0
    }
}

impl Session {
    /// The session of a client that has just connected.
    pub(in crate::engine) fn new(
        id: u64,
        addresses: Addresses,
        authenticated: bool,
        now_us: u64,
    ) -> Self {
        Session {
            id,
            name: Bytes::new(),
            library: Library::default(),
            addresses,
            resp: Resp::V2,
            authenticated,
            transaction: None,
            executing: None,
            db: 0,
            watched: Vec::new(),
            names_bytes: 0,
            subscriptions: Subscriptions::default(),
            tracking: None,
            blocked: None,
            blocked_bytes: 0,
            postponed: false,
            replies: Replies::On,
            peer: Peer::Client,
            announced_ip: Bytes::new(),
            announced_port: 0,
            written: WritePosition::default(),
            closing: None,
            last_command: "NULL",
            since_us: now_us,
            active_us: now_us,
            query_bytes: 0,
            out: Outbox::default(),
            ended: false,
            has_left: false,
        }
    }

    /// Replies to a request.
    pub(in crate::engine) fn answer(&mut self, reply: &Reply) {
        match reply {
            Reply::Several(replies) => {
                for reply in replies {
                    self.answer(reply);
                }
            }
            Reply::Push(_) => self.push(reply),
            reply if self.may_answer() => self.append(reply),
            _ => {}
        }
        // The reply to the request that ended the connection is the last.
        self.ended = self.closing.is_some();
    }

    /// Appends to the pending output, and ends the connection if there is too much of it
    /// (`closeClientOnOutputBufferLimitReached`).
    fn append(&mut self, reply: &Reply) {
        reply.encode(self.resp, self.out.tail());
        self.limit_output();
    }

    fn limit_output(&mut self) {
        if self.out.len() > MAX_OUT_BYTES {
            self.cut_off();
        }
    }

    /// Ends the connection without sending its output.
    pub(in crate::engine) fn cut_off(&mut self) {
        self.out = Outbox::default();
        self.closing = Some(Closing::Now);
        self.ended = true;
    }

    /// Sends the head of an array whose items follow one by one.
    pub(in crate::engine) fn answer_array_of(&mut self, len: usize) {
        if self.may_answer() {
            array_header(self.out.tail(), len);
        }
    }

    /// Sends a message that is not a reply to a request.
    pub(in crate::engine) fn push(&mut self, message: &Reply) {
        if !self.ended {
            self.append(message);
        }
    }

    /// Sends a message that other clients get too, in this client's protocol. Returns the memory
    /// that this took.
    pub(in crate::engine) fn share(&mut self, message: &Encoded) -> usize {
        if self.ended {
            return 0;
        }
        let bytes = self.out.share(message.in_protocol(self.resp));
        self.limit_output();
        bytes
    }

    /// Sends bytes that other replicas get too. Their limit is the driver's.
    pub(in crate::engine) fn share_raw(&mut self, bytes: &Bytes) -> usize {
        match self.ended {
            true => 0,
            false => self.out.share(bytes),
        }
    }

    /// Whether replies are sent.
    pub(in crate::engine) fn may_answer(&self) -> bool {
        !self.ended && self.replies == Replies::On
    }

    /// Whether the session is in the state where RESP2 allows only few commands.
    pub(in crate::engine) fn only_listens(&self) -> bool {
        self.resp == Resp::V2 && self.subscriptions.any()
    }

    /// The address of this replica, as far as it announced one.
    pub(in crate::engine) fn replica_address(&self) -> (String, u16) {
        let ip = match self.announced_ip.is_empty() {
            true => self.addresses.peer.ip().to_string(),
            false => String::from_utf8_lossy(&self.announced_ip).into_owned(),
        };
        (ip, self.announced_port)
    }

    /// Its memory without its output and its unhandled input, in bytes.
    pub(in crate::engine) fn kept_bytes(&self) -> usize {
        let queued = self.transaction.as_ref().map_or(0, |queued| queued.bytes);
        let blocked = match self.blocked {
            Some(_) => self.blocked_bytes,
            None => 0,
        };
        queued + self.names_bytes + blocked
    }

    /// Whether the client's next request may be handled.
    pub(in crate::engine) fn is_free(&self) -> bool {
        self.blocked.is_none() && self.closing.is_none()
    }
}

/// Checks a name for CLIENT SETNAME, or for what its error calls `what`.
///
/// # Errors
///
/// The name contains a byte that CLIENT LIST could not show.
pub(in crate::engine) fn valid_name(what: &str, name: &[u8]) -> Result<Bytes, Error> {
    if !name.iter().all(u8::is_ascii_graphic) {
        return Err(Error::new(format!(
            "ERR {what} cannot contain spaces, newlines or special characters."
        )));
    }
    Ok(Bytes::copy_from_slice(name))
}
