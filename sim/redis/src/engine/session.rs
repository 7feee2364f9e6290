//! What the server keeps for one connection.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};

use bytes::{Bytes, BytesMut};

use super::blocking::Blocked;
use super::pubsub::Kind;
use super::tracking::Tracking;
use crate::wire::reply::{MAX_OUT_BYTES, Reply, Resp, array_header};

/// A client's state between two of its commands.
pub(super) struct Session {
    /// Its connection's number, which `CLIENT ID` answers.
    pub(super) id: u64,
    /// What `CLIENT SETNAME` set; empty when nothing did.
    pub(super) name: Bytes,
    pub(super) addresses: Addresses,
    pub(super) resp: Resp,
    /// Whether it need not authenticate (any more).
    pub(super) authenticated: bool,
    /// The transaction between MULTI and EXEC.
    pub(super) transaction: Option<Transaction>,
    /// The keys that WATCH named.
    pub(super) watched: Vec<Bytes>,
    pub(super) subscriptions: Subscriptions,
    /// What CLIENT TRACKING set, while it is on.
    pub(super) tracking: Option<Tracking>,
    /// What it waits for; its next requests wait as well.
    pub(super) blocked: Option<Blocked>,
    /// CLIENT PAUSE holds its next request back.
    pub(super) postponed: bool,
    pub(super) replies: Replies,
    pub(super) eviction: Eviction,
    pub(super) peer: Peer,
    /// Where a replica says that it listens: REPLCONF.
    pub(super) announced_ip: Bytes,
    pub(super) announced_port: u16,
    /// How far the server was after its last command.
    pub(super) written: Written,
    /// The connection ends.
    pub(super) closing: Option<Closing>,
    /// Its last command, as CLIENT LIST names it.
    pub(super) last_command: &'static str,
    /// When it connected, as far as the node has seen, in wall-clock microseconds.
    pub(super) since_us: u64,
    /// When it sent its last command.
    pub(super) active_us: u64,
    /// What is to be sent to it.
    pub(super) out: BytesMut,
    /// Nothing more is: the last reply before the connection's end is there.
    ended: bool,
}

/// The two ends of a connection, as CLIENT LIST shows them.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Addresses {
    /// The client's.
    pub peer: SocketAddr,
    /// The node's.
    pub local: SocketAddr,
}

impl Default for Addresses {
    /// Not known: the loopback, port 0.
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
    /// A command was refused when it should have been queued, so EXEC will refuse
    /// them all.
    pub(super) refused: bool,
}

/// What a client listens to.
#[derive(Default)]
pub(super) struct Subscriptions {
    pub(super) channels: BTreeSet<Bytes>,
    pub(super) patterns: BTreeSet<Bytes>,
    pub(super) shard_channels: BTreeSet<Bytes>,
}

/// How far the server is: what a client that waits for others to have its writes waits for.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Written {
    /// The end of the replication stream (`woff`), for which replicas speak.
    pub(super) offset: u64,
    /// The changes so far (`Effects::dirty`), for the server's own file: without replicas
    /// there is no stream.
    pub(super) changes: u64,
}

/// How a connection ends.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Closing {
    /// After the replies so far.
    AfterReplies,
    /// At once, as CLIENT KILL ends others.
    Now,
}

/// What CLIENT REPLY set.
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

/// What CLIENT NO-EVICT set. Only CLIENT LIST shows it.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub(super) enum Eviction {
    #[default]
    Allowed,
    Refused,
}

/// Who is at the other end of a connection.
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
    /// The names of a kind.
    pub(super) fn of(&mut self, kind: Kind) -> &mut BTreeSet<Bytes> {
        match kind {
            Kind::Channel => &mut self.channels,
            Kind::Pattern => &mut self.patterns,
            Kind::Shard => &mut self.shard_channels,
        }
    }

    /// How many channels and patterns, shard channels not counted.
    pub(super) fn count(&self) -> usize {
        self.channels.len() + self.patterns.len()
    }

    /// Whether there are any (`CLIENT_PUBSUB`).
    pub(super) fn any(&self) -> bool {
        self.count() + self.shard_channels.len() > 0
    }
}

impl Session {
    /// A client that has just connected.
    pub(super) fn new(id: u64, addresses: Addresses, authenticated: bool, now_us: u64) -> Self {
        Session {
            id,
            name: Bytes::new(),
            addresses,
            resp: Resp::V2,
            authenticated,
            transaction: None,
            watched: Vec::new(),
            subscriptions: Subscriptions::default(),
            tracking: None,
            blocked: None,
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
            out: BytesMut::new(),
            ended: false,
        }
    }

    /// Answers a request. If CLIENT REPLY says not to, only what confirms
    /// subscriptions is sent.
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
        // After the reply to what ended the connection.
        self.ended = self.closing.is_some();
    }

    /// Appends to what is to be sent, and ends the connection if that is too much
    /// (`closeClientOnOutputBufferLimitReached`).
    fn append(&mut self, reply: &Reply) {
        reply.encode(self.resp, &mut self.out);
        if self.out.len() > MAX_OUT_BYTES {
            self.out = BytesMut::new();
            self.closing = Some(Closing::Now);
            self.ended = true;
        }
    }

    /// The head of an array whose items come one by one.
    pub(super) fn answer_array_of(&mut self, len: usize) {
        if self.may_answer() {
            array_header(&mut self.out, len);
        }
    }

    /// Sends what answers no request, whatever CLIENT REPLY says.
    pub(super) fn push(&mut self, message: &Reply) {
        if !self.ended {
            self.append(message);
        }
    }

    /// CLIENT REPLY SKIP is for one request: the next one, until it is answered.
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

    /// Whether it is in the state where RESP2 allows few commands.
    pub(super) fn only_listens(&self) -> bool {
        self.resp == Resp::V2 && self.subscriptions.any()
    }

    /// Where this replica is to be found, as far as it said.
    pub(super) fn replica_address(&self) -> (String, u16) {
        let ip = match self.announced_ip.is_empty() {
            true => self.addresses.peer.ip().to_string(),
            false => String::from_utf8_lossy(&self.announced_ip).into_owned(),
        };
        (ip, self.announced_port)
    }

    /// Whether its next request may be handled.
    pub(super) fn is_free(&self) -> bool {
        self.blocked.is_none() && self.closing.is_none()
    }
}
