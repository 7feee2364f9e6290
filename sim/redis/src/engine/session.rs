//! The state that the server keeps for one connection.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};

use bytes::Bytes;

use super::blocking::Blocked;
use super::needs::Needs;
use super::pubsub::Kind;
use super::tracking::Tracking;
use crate::wire::outbox::Outbox;
use crate::wire::reply::{Encoded, MAX_OUT_BYTES, Reply, Resp, array_header};

/// A client's state between two of its commands.
pub(super) struct Session {
    /// The number of its connection, which `CLIENT ID` returns.
    pub(super) id: u64,
    /// The name set by `CLIENT SETNAME`; empty if none was set.
    pub(super) name: Bytes,
    pub(super) addresses: Addresses,
    pub(super) resp: Resp,
    /// Whether the client is authenticated, or need not be.
    pub(super) authenticated: bool,
    /// The transaction between MULTI and EXEC.
    pub(super) transaction: Option<Transaction>,
    /// The number of the selected database.
    pub(super) db: usize,
    /// The keys watched with WATCH, each with the number of its database.
    pub(super) watched: Vec<(usize, Bytes)>,
    /// The memory of the names that it watches and subscribes to.
    pub(super) names_bytes: usize,
    pub(super) subscriptions: Subscriptions,
    /// The settings of CLIENT TRACKING, while it is on.
    pub(super) tracking: Option<Tracking>,
    /// The condition that the client waits for; its next requests wait as well.
    pub(super) blocked: Option<Blocked>,
    /// The memory of the names that it waits for, while it is blocked.
    pub(super) blocked_bytes: usize,
    /// CLIENT PAUSE defers its next request.
    pub(super) postponed: bool,
    pub(super) replies: Replies,
    pub(super) eviction: Eviction,
    pub(super) peer: Peer,
    /// The listening address that a replica announced with REPLCONF.
    pub(super) announced_ip: Bytes,
    pub(super) announced_port: u16,
    /// The progress of the server after the client's last command.
    pub(super) written: Written,
    /// How the connection ends, if it does.
    pub(super) closing: Option<Closing>,
    /// Its last command, as CLIENT LIST names it.
    pub(super) last_command: &'static str,
    /// The time of connection as far as the node has seen, in wall-clock microseconds.
    pub(super) since_us: u64,
    /// The time of its last command.
    pub(super) active_us: u64,
    /// The input that is being handled, or is kept because it is no whole request, in bytes.
    pub(super) query_bytes: usize,
    /// The pending output.
    pub(super) out: Outbox,
    /// The output is complete: it holds the last reply before the connection closes.
    ended: bool,
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
pub(super) struct Transaction {
    pub(super) queue: Vec<Vec<Bytes>>,
    /// The memory of the queue.
    bytes: usize,
    /// What the commands in the queue need.
    pub(super) needs: Needs,
    /// A command was rejected instead of queued, so EXEC will reject the transaction.
    pub(super) refused: bool,
}

impl Transaction {
    /// Appends a command to the queue.
    pub(super) fn push(&mut self, args: &[&[u8]], needs: Needs) {
        self.needs = self.needs | needs;
        self.bytes += args.iter().map(|arg| copy_bytes(arg)).sum::<usize>();
        let copy = args.iter().map(|arg| Bytes::copy_from_slice(arg));
        self.queue.push(copy.collect());
    }
}

/// About the memory that a copy of these bytes takes.
pub(super) fn copy_bytes(bytes: &[u8]) -> usize {
    // A `Bytes`, its allocation, and its place in a collection.
    const OVERHEAD: usize = 96;
    bytes.len() + OVERHEAD
}

/// The subscriptions of a client.
#[derive(Default)]
pub(super) struct Subscriptions {
    pub(super) channels: BTreeSet<Bytes>,
    pub(super) patterns: BTreeSet<Bytes>,
    pub(super) shard_channels: BTreeSet<Bytes>,
}

/// The progress of the server: clients wait until replicas or the disk have reached it.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Written {
    /// The end of the replication stream (`woff`), which replicas acknowledge.
    pub(super) offset: u64,
    /// The changes so far (`Effects::dirty`), for the server's own file: without replicas there
    /// is no stream.
    pub(super) changes: u64,
}

/// How a connection ends.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Closing {
    /// After the replies so far are sent.
    AfterReplies,
    /// Immediately, as when CLIENT KILL ends another connection.
    Now,
}

/// The mode set by CLIENT REPLY.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub(super) enum Replies {
    #[default]
    On,
    Off,
    /// No reply to the command after this one.
    SkipNext,
    /// No reply to this command.
    Skip,
}

/// The mode set by CLIENT NO-EVICT. Only CLIENT LIST shows it.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub(super) enum Eviction {
    #[default]
    Allowed,
    Refused,
}

/// The kind of peer at the other end of a connection.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub(super) enum Peer {
    #[default]
    Client,
    /// The server that this one follows.
    Master,
    /// A server that follows this one.
    Replica,
}

impl Subscriptions {
    /// The subscribed names of a kind.
    pub(super) fn of(&mut self, kind: Kind) -> &mut BTreeSet<Bytes> {
        match kind {
            Kind::Channel => &mut self.channels,
            Kind::Pattern => &mut self.patterns,
            Kind::Shard => &mut self.shard_channels,
        }
    }

    /// The number of channels and patterns, without shard channels.
    pub(super) fn count(&self) -> usize {
        self.channels.len() + self.patterns.len()
    }

    /// Whether there are any subscriptions (`CLIENT_PUBSUB`).
    pub(super) fn any(&self) -> bool {
        self.count() + self.shard_channels.len() > 0
    }
}

impl Session {
    /// The session of a client that has just connected.
    pub(super) fn new(id: u64, addresses: Addresses, authenticated: bool, now_us: u64) -> Self {
        Session {
            id,
            name: Bytes::new(),
            addresses,
            resp: Resp::V2,
            authenticated,
            transaction: None,
            db: 0,
            watched: Vec::new(),
            names_bytes: 0,
            subscriptions: Subscriptions::default(),
            tracking: None,
            blocked: None,
            blocked_bytes: 0,
            postponed: false,
            replies: Replies::On,
            eviction: Eviction::Allowed,
            peer: Peer::Client,
            announced_ip: Bytes::new(),
            announced_port: 0,
            written: Written::default(),
            closing: None,
            last_command: "NULL",
            since_us: now_us,
            active_us: now_us,
            query_bytes: 0,
            out: Outbox::default(),
            ended: false,
        }
    }

    /// Replies to a request. If CLIENT REPLY turned replies off, only confirmations of
    /// subscriptions are sent.
    pub(super) fn answer(&mut self, reply: &Reply) {
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
    pub(super) fn cut_off(&mut self) {
        self.out = Outbox::default();
        self.closing = Some(Closing::Now);
        self.ended = true;
    }

    /// Sends the head of an array whose items follow one by one.
    pub(super) fn answer_array_of(&mut self, len: usize) {
        if self.may_answer() {
            array_header(self.out.tail(), len);
        }
    }

    /// Sends a message that is no reply to a request, whatever the CLIENT REPLY mode.
    pub(super) fn push(&mut self, message: &Reply) {
        if !self.ended {
            self.append(message);
        }
    }

    /// Sends a message that other clients get too, in this client's protocol. Returns the memory
    /// that this took.
    pub(super) fn share(&mut self, message: &Encoded) -> usize {
        if self.ended {
            return 0;
        }
        let bytes = self.out.share(message.in_protocol(self.resp));
        self.limit_output();
        bytes
    }

    /// Sends bytes that other replicas get too. Their limit is the driver's.
    pub(super) fn share_raw(&mut self, bytes: &Bytes) -> usize {
        match self.ended {
            true => 0,
            false => self.out.share(bytes),
        }
    }

    /// CLIENT REPLY SKIP applies to one request: the next one, until it is answered.
    pub(super) fn request_is_over(&mut self) {
        self.replies = match self.replies {
            Replies::SkipNext => Replies::Skip,
            Replies::Skip => Replies::On,
            kept => kept,
        };
    }

    /// Whether replies are sent.
    pub(super) fn may_answer(&self) -> bool {
        !self.ended && matches!(self.replies, Replies::On | Replies::SkipNext)
    }

    /// Whether the session is in the state where RESP2 allows only few commands.
    pub(super) fn only_listens(&self) -> bool {
        self.resp == Resp::V2 && self.subscriptions.any()
    }

    /// The address of this replica, as far as it announced one.
    pub(super) fn replica_address(&self) -> (String, u16) {
        let ip = match self.announced_ip.is_empty() {
            true => self.addresses.peer.ip().to_string(),
            false => String::from_utf8_lossy(&self.announced_ip).into_owned(),
        };
        (ip, self.announced_port)
    }

    /// The memory that it takes apart from its output and its unhandled input.
    pub(super) fn kept_bytes(&self) -> usize {
        let queued = self.transaction.as_ref().map_or(0, |queued| queued.bytes);
        let blocked = match self.blocked {
            Some(_) => self.blocked_bytes,
            None => 0,
        };
        queued + self.names_bytes + blocked
    }

    /// Whether the client's next request may be handled.
    pub(super) fn is_free(&self) -> bool {
        self.blocked.is_none() && self.closing.is_none()
    }
}
