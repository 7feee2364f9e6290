//! A node with its connections: what every driver of a [`Node`] would otherwise write
//! again.
//!
//! An [`Endpoint`] does no input or output and reads no clock. Its driver tells it of
//! connections, bytes and times, then calls [`Endpoint::poll`] until there is no
//! [`Action`] left, and carries each out before it asks for the next one. It calls
//! [`Endpoint::wake`] when [`Endpoint::next_wake_us`] says so.
//!
//! Nobody waits for a slow client. What its socket does not take is kept here, up to the
//! [`Limits`], and handed out by [`Endpoint::unwritten`] as the socket takes more. It knows
//! nothing of commands: what a client is answered is the node's.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use bytes::{Buf, Bytes};

use crate::engine::{Addresses, ConnId, DiskWrite, Effect, Node};

/// What a client is sent for which there is no room, before its connection is closed.
pub const TOO_MANY_CLIENTS: &[u8] = b"-ERR max number of clients reached\r\n";

/// The longest sleep until something is due. The wall clock may be set meanwhile: like
/// `serverCron`, look at it ten times a second.
pub const LONGEST_SLEEP: Duration = Duration::from_millis(100);

/// How long a driver may sleep until [`Endpoint::next_wake_us`]: zero if that is over.
pub fn sleep(wake_us: u64, wall_us: u64) -> Duration {
    Duration::from_micros(wake_us.saturating_sub(wall_us)).min(LONGEST_SLEEP)
}

/// What clients may have the endpoint keep, in bytes. A connection that goes beyond is
/// closed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// What one client sends without completing a request that can be handled:
    /// `client-query-buffer-limit`.
    pub query_bytes: usize,
    /// What one client leaves unread: the hard limit of `client-output-buffer-limit`.
    pub output_bytes: usize,
    /// What one client may leave unread for [`Limits::soft_for`] and no longer: the soft
    /// limit of `client-output-buffer-limit`.
    pub soft_bytes: usize,
    /// See [`Limits::soft_bytes`].
    pub soft_for: Duration,
    /// Both kinds for all clients together: `maxmemory-clients`.
    pub total_bytes: usize,
    /// Both kinds for a connection to a master or to a replica, which a whole data set
    /// passes; up to this the other limits do not hold for it.
    pub replication_bytes: usize,
}

impl Limits {
    /// As `client-output-buffer-limit pubsub 32mb 8mb 60` has it, for every connection, and
    /// no other limit.
    pub const PUBSUB: Limits = Limits {
        query_bytes: usize::MAX,
        output_bytes: 32 << 20,
        soft_bytes: 8 << 20,
        soft_for: Duration::from_secs(60),
        total_bytes: usize::MAX,
        replication_bytes: 0,
    };
}

impl Default for Limits {
    /// What a server for tests allows.
    fn default() -> Self {
        Limits {
            // Redis's 1 GB would let a few clients take a test machine's memory; this
            // is room for the largest value that a test has any business with.
            query_bytes: 64 << 20,
            output_bytes: 64 << 20,
            total_bytes: 512 << 20,
            replication_bytes: 256 << 20,
            ..Limits::PUBSUB
        }
    }
}

/// Which keys whose time is over wake the node.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Expiry {
    /// All, so that their memory is free again: for a server that lasts.
    #[default]
    Always,
    /// Those of whose end somebody would be told; others go when somebody asks for them.
    WhenNoticed,
}

/// The time, by both clocks of the node's machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Now {
    /// The wall clock, in microseconds since the Unix epoch.
    pub wall_us: u64,
    /// The monotonic clock, since whenever.
    pub monotonic: Duration,
}

/// What the driver has to do, in order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Action {
    /// Write what [`Endpoint::unwritten`] gives, as much as the connection takes without
    /// waiting, and report that to [`Endpoint::wrote`] before the next [`Endpoint::poll`].
    /// What is left then is to be written, and reported, as the connection takes it.
    Write {
        /// The connection, on which nothing was left to be written.
        conn: ConnId,
    },
    /// Read no more of this connection, and go on writing. [`Action::Close`] follows when
    /// all is written.
    StopReading {
        /// The connection.
        conn: ConnId,
    },
    /// Close a connection. The endpoint has forgotten it, and what was not written.
    Close {
        /// The connection.
        conn: ConnId,
    },
    /// Connect to the node's master; then call [`Endpoint::connected`], or
    /// [`Endpoint::closed`] if that fails.
    Connect {
        /// The connection to be.
        conn: ConnId,
        /// The master's name or address, as REPLICAOF gave it.
        host: String,
        /// Its port.
        port: u16,
    },
    /// Write to the node's disk.
    Disk(DiskWrite),
    /// The process ends, and all its connections with it.
    Exit,
}

/// A node with its connections.
pub struct Endpoint {
    node: Node,
    limits: Limits,
    expiry: Expiry,
    connections: BTreeMap<ConnId, Connection>,
    /// What is kept for all connections.
    held_bytes: usize,
    /// When it was last called, by the monotonic clock.
    monotonic: Duration,
    steps: VecDeque<Step>,
    /// Empty between two calls.
    effects: Vec<Effect>,
}

/// What is to be done.
enum Step {
    Effect(Effect),
    /// A connection is over a limit.
    Refuse(ConnId),
    /// A connection is forgotten.
    Close(ConnId),
}

#[derive(Default)]
struct Connection {
    /// What is not written yet.
    backlog: VecDeque<Bytes>,
    backlog_bytes: usize,
    /// What the node keeps of its requests.
    query_bytes: usize,
    /// Since when the backlog is over the soft limit.
    heavy_since: Option<Duration>,
    output: Output,
    /// The node closed it: what is in the backlog is still written.
    closing: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Output {
    /// Nothing is to be written.
    #[default]
    Idle,
    /// The driver was told to write, and has not reported.
    Offered,
    /// The socket takes no more for now.
    Full,
}

impl Endpoint {
    /// A node without connections, ready to serve.
    pub fn new(node: Node, limits: Limits, expiry: Expiry) -> Self {
        Endpoint {
            node,
            limits,
            expiry,
            connections: BTreeMap::new(),
            held_bytes: 0,
            monotonic: Duration::ZERO,
            steps: VecDeque::new(),
            effects: Vec::new(),
        }
    }

    /// A client connected. `None` if there are as many as `maxclients` allows: then the
    /// driver sends it [`TOO_MANY_CLIENTS`] and closes.
    pub fn accept(&mut self, addresses: Addresses, now: Now) -> Option<ConnId> {
        if self.connections.len() >= self.node.max_clients() {
            return None;
        }
        let conn = self.node.accept_from(addresses, now.wall_us);
        self.connections.insert(conn, Connection::default());
        Some(conn)
    }

    /// A connection that [`Action::Connect`] asked for is there.
    pub fn connected(&mut self, conn: ConnId, now: Now) {
        self.connections.insert(conn, Connection::default());
        self.node.connected(conn, now.wall_us, &mut self.effects);
        self.take_effects(now);
    }

    /// Bytes arrived on a connection.
    pub fn receive(&mut self, conn: ConnId, bytes: &[u8], now: Now) {
        self.node
            .receive(conn, bytes, now.wall_us, &mut self.effects);
        let may_stay = self.keep_query(conn);
        self.take_effects(now);
        if !may_stay {
            self.steps.push_back(Step::Refuse(conn));
        }
    }

    /// A connection ended, broke, or could not be made. Does nothing for one that is
    /// forgotten.
    pub fn closed(&mut self, conn: ConnId) {
        self.node.closed(conn);
        self.forget(conn);
    }

    /// Does what is due.
    pub fn wake(&mut self, now: Now) {
        self.node.wake(now.wall_us, &mut self.effects);
        self.take_effects(now);
    }

    /// The wall-clock time, in microseconds, at which [`Endpoint::wake`] is to be called if
    /// nothing arrives before; see [`Node::next_wake_us`].
    pub fn next_wake_us(&self) -> Option<u64> {
        let expiry_us = match self.expiry {
            Expiry::Always => self.node.next_expiry_us(),
            Expiry::WhenNoticed => None,
        };
        let times = [self.node.next_wake_us(), expiry_us];
        times.into_iter().flatten().min()
    }

    /// What is to be done next.
    pub fn poll(&mut self) -> Option<Action> {
        while let Some(step) = self.steps.pop_front() {
            let action = match step {
                Step::Effect(Effect::Send { conn, bytes }) => self.send(conn, bytes),
                Step::Effect(Effect::Close { conn }) => self.close(conn),
                Step::Effect(Effect::Connect { conn, host, port }) => {
                    Some(Action::Connect { conn, host, port })
                }
                Step::Effect(Effect::Disk(write)) => Some(Action::Disk(write)),
                Step::Effect(Effect::Exit) => {
                    self.connections.clear();
                    self.held_bytes = 0;
                    Some(Action::Exit)
                }
                Step::Refuse(conn) => self.refuse(conn).then_some(Action::Close { conn }),
                Step::Close(conn) => Some(Action::Close { conn }),
            };
            if action.is_some() {
                return action;
            }
        }
        None
    }

    /// What is to be written next on a connection, if anything is.
    pub fn unwritten(&self, conn: ConnId) -> Option<&Bytes> {
        self.connections.get(&conn)?.backlog.front()
    }

    /// The connection has taken so many bytes of what [`Endpoint::unwritten`] gave. Call
    /// [`Endpoint::poll`] after this, too.
    pub fn wrote(&mut self, conn: ConnId, bytes: usize) {
        let Some(connection) = self.connections.get_mut(&conn) else {
            return;
        };
        self.held_bytes -= bytes;
        let before = connection.output;
        connection.take(bytes, self.limits.soft_bytes);
        if connection.closing && connection.output == Output::Idle {
            self.forget(conn);
            self.steps.push_front(Step::Close(conn));
        } else if before == Output::Offered && self.is_over(conn) && self.refuse(conn) {
            self.steps.push_front(Step::Close(conn));
        }
    }

    /// Whether it knows a connection: it is not closed, and not forgotten.
    pub fn is_open(&self, conn: ConnId) -> bool {
        self.connections.contains_key(&conn)
    }

    /// Whether the node has closed a connection that still has something to be written.
    pub fn is_closing(&self, conn: ConnId) -> bool {
        let connection = self.connections.get(&conn);
        connection.is_some_and(|connection| connection.closing)
    }

    fn take_effects(&mut self, now: Now) {
        self.monotonic = now.monotonic;
        let effects = self.effects.drain(..);
        self.steps.extend(effects.map(Step::Effect));
    }

    fn send(&mut self, conn: ConnId, bytes: Bytes) -> Option<Action> {
        let connection = self.connections.get_mut(&conn)?;
        self.held_bytes += bytes.len();
        connection.backlog_bytes += bytes.len();
        connection.backlog.push_back(bytes);
        if connection.output == Output::Idle {
            connection.output = Output::Offered;
            return Some(Action::Write { conn });
        }
        (self.is_over(conn) && self.refuse(conn)).then_some(Action::Close { conn })
    }

    fn close(&mut self, conn: ConnId) -> Option<Action> {
        let connection = self.connections.get_mut(&conn)?;
        connection.closing = true;
        Some(match connection.output {
            Output::Idle => {
                self.forget(conn);
                Action::Close { conn }
            }
            Output::Offered | Output::Full => Action::StopReading { conn },
        })
    }

    /// Takes down what the node keeps of a client's requests; says whether the limits allow
    /// that.
    fn keep_query(&mut self, conn: ConnId) -> bool {
        let Some(connection) = self.connections.get_mut(&conn) else {
            return true;
        };
        let bytes = self.node.pending_bytes(conn);
        self.held_bytes = self.held_bytes - connection.query_bytes + bytes;
        connection.query_bytes = bytes;
        let is_over = self.held_bytes > self.limits.total_bytes;
        bytes == 0 || (bytes <= self.limits.query_bytes && !is_over)
    }

    /// Whether what was just sent to a connection is more than it may leave unread.
    fn is_over(&mut self, conn: ConnId) -> bool {
        let Limits {
            output_bytes,
            soft_bytes,
            soft_for,
            total_bytes,
            ..
        } = self.limits;
        let Some(connection) = self.connections.get_mut(&conn) else {
            return false;
        };
        let for_too_long = connection.backlog_bytes > soft_bytes && {
            let since = *connection.heavy_since.get_or_insert(self.monotonic);
            self.monotonic.saturating_sub(since) > soft_for
        };
        for_too_long || connection.backlog_bytes > output_bytes || self.held_bytes > total_bytes
    }

    /// Cuts a connection off that is over a limit, unless it is one of replication, which has
    /// a limit of its own; says whether it did.
    fn refuse(&mut self, conn: ConnId) -> bool {
        let Some(connection) = self.connections.get(&conn) else {
            return false;
        };
        let held_bytes = connection.held_bytes();
        if held_bytes <= self.limits.replication_bytes && self.node.is_replication(conn) {
            return false;
        }
        self.closed(conn);
        true
    }

    fn forget(&mut self, conn: ConnId) {
        if let Some(connection) = self.connections.remove(&conn) {
            self.held_bytes -= connection.held_bytes();
        }
    }
}

impl Connection {
    fn held_bytes(&self) -> usize {
        self.backlog_bytes + self.query_bytes
    }

    /// So many bytes are written.
    ///
    /// # Panics
    ///
    /// If they are more than the first of the backlog has.
    fn take(&mut self, bytes: usize, soft_bytes: usize) {
        if let Some(first) = self.backlog.front_mut() {
            first.advance(bytes);
            if first.is_empty() {
                self.backlog.pop_front();
            }
        }
        self.backlog_bytes -= bytes;
        if self.backlog_bytes <= soft_bytes {
            self.heavy_since = None;
        }
        self.output = match self.backlog.is_empty() {
            true => Output::Idle,
            false => Output::Full,
        };
    }
}
