//! The node: its connections, and what goes in and out of them.

use std::collections::BTreeMap;

use bytes::{Bytes, BytesMut};

use super::dispatch;
use super::request::{Parsed, Parser};
use super::session::Session;
use super::state::State;

/// What distinguishes one node from another when it starts.
#[derive(Clone, Debug, Default)]
pub struct NodeConfig {
    /// Determines the 40-digit run id that `INFO` shows, and what RANDOMKEY, SPOP and
    /// SRANDMEMBER draw. A restarted server has
    /// a new run id, so give every start of a node its own seed.
    pub run_id_seed: u64,
}

/// A client's connection to one [`Node`]; also its client id, as `CLIENT ID`
/// answers it. Never reused within a node.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ConnId(u64);

/// What the driver of a [`Node`] has to do, in order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Effect {
    /// Send these bytes to a client.
    Send {
        /// The client's connection.
        conn: ConnId,
        /// One or more whole replies.
        bytes: Bytes,
    },
    /// Close a connection, after what was sent on it. The node has forgotten it.
    Close {
        /// The connection to close.
        conn: ConnId,
    },
}

/// One `redis-server`. Dropping it is the server's power loss: nothing persists.
pub struct Node {
    state: State,
    conns: BTreeMap<ConnId, Connection>,
    next_conn: u64,
}

#[derive(Default)]
struct Connection {
    parser: Parser,
    /// The query buffer: what arrived and is not yet a whole request.
    pending: BytesMut,
    session: Session,
}

impl Node {
    /// A server that has just started, with an empty keyspace.
    pub fn new(config: NodeConfig) -> Self {
        Node {
            state: State::new(config.run_id_seed),
            conns: BTreeMap::new(),
            next_conn: 1,
        }
    }

    /// A client connected.
    pub fn accept(&mut self) -> ConnId {
        let id = ConnId(self.next_conn);
        self.next_conn += 1;
        self.conns.insert(
            id,
            Connection {
                session: Session::new(id.0),
                ..Connection::default()
            },
        );
        self.state.connected_clients = self.conns.len();
        id
    }

    /// A client went away. Its transaction and its watches are discarded.
    /// Does nothing for a connection that the node does not know (any more).
    pub fn closed(&mut self, conn: ConnId) {
        if let Some(mut connection) = self.conns.remove(&conn) {
            connection.session.reset(&mut self.state.db);
            self.state.connected_clients = self.conns.len();
        }
    }

    /// Bytes from a client, at the node's wall-clock time `wall_us`
    /// (microseconds since the Unix epoch).
    ///
    /// Handles every request that is complete in the connection's query buffer,
    /// and keeps the rest. Appends at most one [`Effect::Send`], with all replies
    /// one after another, and an [`Effect::Close`] if the connection ends here
    /// (after `QUIT` or a protocol error). Bytes on an unknown connection are
    /// ignored.
    pub fn receive(&mut self, conn: ConnId, bytes: &[u8], wall_us: u64, effects: &mut Vec<Effect>) {
        let Some(connection) = self.conns.get_mut(&conn) else {
            return;
        };
        let mut out = BytesMut::new();
        // As a rule nothing is pending and `bytes` are whole requests: then they
        // are handled where they lie.
        if connection.pending.is_empty() {
            let used = connection.run(&mut self.state, bytes, wall_us, &mut out);
            connection.pending.extend_from_slice(&bytes[used..]);
        } else {
            let mut pending = std::mem::take(&mut connection.pending);
            pending.extend_from_slice(bytes);
            let used = connection.run(&mut self.state, &pending, wall_us, &mut out);
            let _ = pending.split_to(used);
            connection.pending = pending;
        }
        let close = connection.session.closing;
        if !out.is_empty() {
            effects.push(Effect::Send {
                conn,
                bytes: out.freeze(),
            });
        }
        if close {
            effects.push(Effect::Close { conn });
            self.closed(conn);
        }
    }
}

impl Connection {
    /// Handles the whole requests at the start of `input`; returns their length.
    fn run(&mut self, state: &mut State, input: &[u8], wall_us: u64, out: &mut BytesMut) -> usize {
        let mut used = 0;
        while !self.session.closing {
            match self.parser.next(&input[used..]) {
                Parsed::Multibulk { args, len } => {
                    used += len;
                    self.answer(state, &args, wall_us, out);
                }
                Parsed::Inline { args, len } => {
                    used += len;
                    let args: Vec<&[u8]> = args.iter().map(Vec::as_slice).collect();
                    self.answer(state, &args, wall_us, out);
                }
                Parsed::Incomplete => break,
                Parsed::Malformed(error) => {
                    error.encode(out);
                    self.session.closing = true;
                }
            }
        }
        used
    }

    fn answer(&mut self, state: &mut State, args: &[&[u8]], wall_us: u64, out: &mut BytesMut) {
        if !args.is_empty() {
            dispatch::process(state, &mut self.session, args, wall_us).encode(out);
        }
    }
}
