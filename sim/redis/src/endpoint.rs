//! A node with its connections: the common part of every driver of a [`Node`].
//!
//! An [`Endpoint`] does no input or output and reads no clock. Its driver reports
//! connections, bytes and times, then calls [`Endpoint::poll`] until no [`Action`] is left,
//! and carries out each action before it polls the next one. It calls [`Endpoint::wake`] at
//! the time of [`Endpoint::next_wake_us`].
//!
//! A slow client blocks no other. Data that its socket does not accept is buffered here, up
//! to the [`Limits`], and returned by [`Endpoint::unwritten`] as the socket accepts more. The
//! endpoint does not interpret commands: replies come from the node.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::{Buf, Bytes};
use locklab_vecmap::VecMap;

pub use crate::engine::Now;
use crate::engine::{Addresses, ConnId, DiskWrite, Effect, Node, OtherClients};
use crate::wire::memory_usage::{Chunk, MemoryUsage};

/// The message to a client beyond the limit, before its connection is closed.
pub const TOO_MANY_CLIENTS: &[u8] = b"-ERR max number of clients reached\r\n";

/// The longest sleep before the clock is read again. The wall clock may be set during a sleep, so
/// it is read ten times a second, as `serverCron` does.
pub const MAX_SLEEP: Duration = Duration::from_millis(100);

/// How long a driver may sleep until [`Endpoint::next_wake_us`]: zero if that is in the past.
pub fn sleep(wake_us: u64, wall_us: u64) -> Duration {
    Duration::from_micros(wake_us.saturating_sub(wall_us)).min(MAX_SLEEP)
}

/// Limits on the memory that clients take, in bytes. A connection that exceeds one of its own
/// is closed; if all together exceed theirs, the one that takes most is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// The input of one client that is not executed yet (`client-query-buffer-limit`), with the
    /// queue of its transaction and the names that it watches, subscribes to and waits for.
    pub query_bytes: usize,
    /// The unread output of one client: the hard limit of `client-output-buffer-limit`.
    pub output_bytes: usize,
    /// The unread output that one client may have for at most [`Limits::soft_for`]: the soft
    /// limit of `client-output-buffer-limit`.
    pub soft_bytes: usize,
    /// See [`Limits::soft_bytes`].
    pub soft_for: Duration,
    /// Input and output of all connections together: `maxmemory-clients`. What is allocated counts,
    /// also what buffers have in reserve. Output that several share counts once.
    pub total_bytes: usize,
    /// Input and output of a connection to a master or a replica, which transfers a whole data
    /// set; up to this limit the other limits of one client do not apply to it.
    pub replication_bytes: usize,
}

impl Limits {
    /// `client-output-buffer-limit pubsub 32mb 8mb 60` for every connection, and no other
    /// limit.
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
    /// The limits of a server for tests.
    fn default() -> Self {
        Limits {
            // With Redis's 1 GB a few clients could exhaust a test machine's memory; this is
            // enough for the largest value that a test needs.
            query_bytes: 64 << 20,
            output_bytes: 64 << 20,
            total_bytes: 512 << 20,
            replication_bytes: 256 << 20,
            ..Limits::PUBSUB
        }
    }
}

/// Which expired keys wake the node.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Expiry {
    /// All of them, so that their memory is freed: for a long-running server.
    #[default]
    Always,
    /// Keys whose expiry has an observer; the others are deleted on access.
    WhenNoticed,
}

/// An action for the driver. Actions are carried out in order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Action {
    /// Write the data of [`Endpoint::unwritten`], as much as the connection accepts without
    /// waiting, and report it to [`Endpoint::wrote`] before the next [`Endpoint::poll`].
    /// Write and report the rest as the connection accepts it.
    Write {
        /// The connection, which had no unwritten data before.
        conn: ConnId,
    },
    /// Stop reading from this connection and continue writing. [`Action::Close`] follows when
    /// all data is written.
    StopReading {
        /// The connection.
        conn: ConnId,
    },
    /// Close a connection. The endpoint has dropped it and its unwritten data.
    Close {
        /// The connection.
        conn: ConnId,
    },
    /// Connect to the node's master; then call [`Endpoint::connected`], or
    /// [`Endpoint::closed`] if that fails.
    Connect {
        /// The id of the new connection.
        conn: ConnId,
        /// The master's name or address, as REPLICAOF gave it.
        host: String,
        /// Its port.
        port: u16,
    },
    /// Write to the node's disk.
    Disk(DiskWrite),
    /// The process exits, which closes all its connections.
    Exit,
}

/// A node with its connections.
pub struct Endpoint {
    node: Node,
    limits: Limits,
    expiry: Expiry,
    connections: VecMap<ConnId, Connection>,
    /// The memory of all connections.
    memory: MemoryUsage,
    /// The connections that exceed the soft limit, and since when.
    heavy: VecMap<ConnId, Duration>,
    /// The time of the last call.
    now: Now,
    steps: VecDeque<Step>,
    /// Empty between two calls.
    effects: Vec<Effect>,
}

/// A pending step.
enum Step {
    Effect(Effect),
    /// Disconnect a connection that exceeds a limit.
    Refuse(ConnId),
    /// Disconnect connections until all together are within their limit.
    LimitTotal,
    /// Close a connection that was dropped.
    Close(ConnId),
}

#[derive(Default)]
struct Connection {
    /// The unwritten data.
    backlog: VecDeque<Unwritten>,
    backlog_bytes: usize,
    /// The memory that is allocated for its input in the node.
    input_bytes: usize,
    output: Output,
    /// The node closed it: the backlog is still written.
    closing: bool,
}

/// A part of the output that has not been written completely.
struct Unwritten {
    bytes: Bytes,
    /// The chunk that it is a part of.
    chunk: Chunk,
}

#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Output {
    /// There is no data to write.
    #[default]
    Idle,
    /// The driver was asked to write, and has not reported yet.
    Offered,
    /// The socket accepts no more data for now.
    Full,
}

impl Endpoint {
    /// A node without connections, ready to serve.
    pub fn new(node: Node, limits: Limits, expiry: Expiry) -> Self {
        Endpoint {
            node,
            limits,
            expiry,
            connections: VecMap::new(),
            memory: MemoryUsage::default(),
            heavy: VecMap::new(),
            now: Now::default(),
            steps: VecDeque::new(),
            effects: Vec::new(),
        }
    }

    /// Accepts a client. `None` if the number of clients has reached `maxclients`: then the
    /// driver sends [`TOO_MANY_CLIENTS`] and closes the connection.
    pub fn accept(&mut self, addresses: Addresses, now: Now) -> Option<ConnId> {
        if self.connections.len() >= self.node.max_clients() {
            return None;
        }
        let conn = self.node.accept_from(addresses, now.wall_us);
        self.connections.insert(conn, Connection::default());
        Some(conn)
    }

    /// Lets the node attend to its other clients while a script runs; see [`Node::attend`]. Report
    /// each connection that these clients accept to [`Endpoint::accepted`] after the call during
    /// which they did, before the next [`Endpoint::poll`].
    pub fn attend(&mut self, other_clients: impl OtherClients + 'static) {
        self.node.attend(other_clients);
    }

    /// Reports a connection that was accepted while a script ran.
    pub fn accepted(&mut self, conn: ConnId) {
        self.connections.insert(conn, Connection::default());
    }

    /// Reports that a connection requested by [`Action::Connect`] is established.
    pub fn connected(&mut self, conn: ConnId, now: Now) {
        self.connections.insert(conn, Connection::default());
        self.node.see_clocks(now);
        self.node.connected(conn, now.wall_us, &mut self.effects);
        self.take_effects(now);
    }

    /// Reports bytes that arrived on a connection.
    pub fn receive(&mut self, conn: ConnId, bytes: &[u8], now: Now) {
        self.node.see_clocks(now);
        self.node
            .receive(conn, bytes, now.wall_us, &mut self.effects);
        self.take_effects(now);
        if self.measure_input(conn) > self.limits.query_bytes {
            self.steps.push_back(Step::Refuse(conn));
        }
        self.steps.push_back(Step::LimitTotal);
    }

    /// Reports that a connection ended, broke, or could not be established. Does nothing for
    /// an unknown connection.
    pub fn closed(&mut self, conn: ConnId) {
        self.node.closed(conn);
        self.forget(conn);
    }

    /// For how long the process reads nothing from now on; see [`Node::asleep_for`].
    pub fn asleep_for(&mut self, now: Now) -> Option<Duration> {
        self.node.see_clocks(now);
        self.node.asleep_for(now.wall_us)
    }

    /// Does the work that is due.
    pub fn wake(&mut self, now: Now) {
        self.node.see_clocks(now);
        self.node.wake(now.wall_us, &mut self.effects);
        self.take_effects(now);
        let heavy: Vec<ConnId> = self.heavy.keys().copied().collect();
        for conn in heavy {
            if self.is_over(conn) {
                self.steps.push_back(Step::Refuse(conn));
            }
        }
    }

    /// The wall-clock time, in microseconds, at which to call [`Endpoint::wake`] if nothing
    /// arrives before, as it seems now; see [`Node::next_wake_us`].
    pub fn next_wake_us(&mut self, now: Now) -> Option<u64> {
        self.node.see_clocks(now);
        let expiry_us = match self.expiry {
            Expiry::Always => self.node.next_expiry_us(),
            Expiry::WhenNoticed => None,
        };
        let times = [self.node.next_wake_us(), expiry_us, self.next_limit_us(now)];
        times.into_iter().flatten().min()
    }

    /// The next action for the driver.
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
                    self.heavy.clear();
                    self.memory = MemoryUsage::default();
                    Some(Action::Exit)
                }
                Step::Refuse(conn) => self.refuse(conn).then_some(Action::Close { conn }),
                Step::LimitTotal => {
                    self.limit_total();
                    None
                }
                Step::Close(conn) => Some(Action::Close { conn }),
            };
            if action.is_some() {
                return action;
            }
        }
        None
    }

    /// The next data to write on a connection, if there is any.
    pub fn unwritten(&self, conn: ConnId) -> Option<&Bytes> {
        let first = self.connections.get(&conn)?.backlog.front()?;
        Some(&first.bytes)
    }

    /// Reports how many bytes of [`Endpoint::unwritten`] the connection has accepted. Call
    /// [`Endpoint::poll`] after this, too.
    pub fn wrote(&mut self, conn: ConnId, bytes: usize) {
        let Some(connection) = self.connections.get_mut(&conn) else {
            return;
        };
        let before = connection.output;
        connection.take(bytes, &mut self.memory);
        if connection.backlog_bytes <= self.limits.soft_bytes {
            self.heavy.remove(&conn);
        }
        if connection.closing && connection.output == Output::Idle {
            self.forget(conn);
            self.steps.push_front(Step::Close(conn));
        } else if before == Output::Offered {
            self.limit(conn);
        }
    }

    /// The node.
    pub fn node(&self) -> &Node {
        &self.node
    }

    /// See [`Node::note_changes`].
    pub fn note_changes(&mut self) {
        self.node.note_changes();
    }

    /// See [`Node::take_changed`].
    pub fn take_changed(&mut self) -> Vec<Bytes> {
        self.node.take_changed()
    }

    /// Whether a connection is known and not closed by the node.
    pub fn is_open(&self, conn: ConnId) -> bool {
        self.connections.contains_key(&conn)
    }

    /// Whether the node has closed a connection that still has unwritten data.
    pub fn is_closing(&self, conn: ConnId) -> bool {
        let connection = self.connections.get(&conn);
        connection.is_some_and(|connection| connection.closing)
    }

    fn take_effects(&mut self, now: Now) {
        self.now = now;
        for effect in std::mem::take(&mut self.effects) {
            // The replies may be to requests that had to wait.
            if let Effect::Send { conn, .. } = &effect {
                self.measure_input(*conn);
            }
            self.steps.push_back(Step::Effect(effect));
        }
    }

    fn send(&mut self, conn: ConnId, bytes: Bytes) -> Option<Action> {
        let connection = self.connections.get_mut(&conn)?;
        connection.backlog_bytes += bytes.len();
        let chunk = Chunk::of(&bytes);
        self.memory.add(chunk);
        connection.backlog.push_back(Unwritten { bytes, chunk });
        if connection.output == Output::Idle {
            connection.output = Output::Offered;
            return Some(Action::Write { conn });
        }
        self.limit(conn);
        None
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

    /// Updates the memory of a client's input in the node; returns how much of it the client sent.
    fn measure_input(&mut self, conn: ConnId) -> usize {
        let Some(connection) = self.connections.get_mut(&conn) else {
            return 0;
        };
        let size = self.node.input_size(conn);
        self.memory
            .replace(connection.input_bytes, size.allocated_bytes);
        connection.input_bytes = size.allocated_bytes;
        size.bytes
    }

    /// Disconnects a connection whose output exceeds a limit, and others until all together do
    /// not.
    fn limit(&mut self, conn: ConnId) {
        if self.is_over(conn) && self.refuse(conn) {
            self.steps.push_front(Step::Close(conn));
        }
        self.limit_total();
    }

    /// Whether the unread output of a connection now exceeds a limit.
    fn is_over(&mut self, conn: ConnId) -> bool {
        let limits = &self.limits;
        let Some(connection) = self.connections.get(&conn) else {
            return false;
        };
        let for_too_long = connection.backlog_bytes > limits.soft_bytes && {
            let since = *self.heavy.entry(conn).or_insert(self.now.monotonic);
            self.now.monotonic.saturating_sub(since) > limits.soft_for
        };
        for_too_long || connection.backlog_bytes > limits.output_bytes
    }

    /// The wall-clock time at which a connection will have exceeded the soft limit for too long.
    fn next_limit_us(&self, now: Now) -> Option<u64> {
        let since = self.heavy.values().min()?;
        let due = *since + self.limits.soft_for + Duration::from_micros(1);
        let left = due.saturating_sub(now.monotonic);
        Some(now.wall_us.saturating_add(left.as_micros() as u64))
    }

    /// Disconnects the connections that take most, as long as all together exceed their limit;
    /// of several that take as much, the latest.
    fn limit_total(&mut self) {
        while self.memory.bytes() > self.limits.total_bytes {
            let sizes = self.connections.iter();
            let Some((conn, _)) = sizes.max_by_key(|(_, connection)| connection.bytes()) else {
                return;
            };
            let conn = *conn;
            self.disconnect(conn);
            self.steps.push_front(Step::Close(conn));
        }
    }

    /// Disconnects a connection that exceeds a limit, unless it is a replication connection,
    /// which has its own limit; returns whether it did.
    fn refuse(&mut self, conn: ConnId) -> bool {
        let Some(connection) = self.connections.get(&conn) else {
            return false;
        };
        let bytes = connection.bytes();
        if bytes <= self.limits.replication_bytes && self.node.is_replication(conn) {
            return false;
        }
        self.disconnect(conn);
        true
    }

    fn disconnect(&mut self, conn: ConnId) {
        self.node.disconnect(conn);
        self.forget(conn);
    }

    fn forget(&mut self, conn: ConnId) {
        self.heavy.remove(&conn);
        if let Some(connection) = self.connections.remove(&conn) {
            self.memory.replace(connection.input_bytes, 0);
            for Unwritten { chunk, .. } in connection.backlog {
                self.memory.remove(chunk);
            }
        }
    }
}

impl Connection {
    /// Its memory in bytes, including shared chunks.
    fn bytes(&self) -> usize {
        self.backlog_bytes + self.input_bytes
    }

    /// Removes written bytes from the backlog.
    ///
    /// # Panics
    ///
    /// If there are more of them than in the first element of the backlog.
    fn take(&mut self, bytes: usize, memory: &mut MemoryUsage) {
        if let Some(first) = self.backlog.front_mut() {
            first.bytes.advance(bytes);
            if first.bytes.is_empty() {
                memory.remove(first.chunk);
                self.backlog.pop_front();
            }
        }
        self.backlog_bytes -= bytes;
        self.output = match self.backlog.is_empty() {
            true => Output::Idle,
            false => Output::Full,
        };
    }
}
