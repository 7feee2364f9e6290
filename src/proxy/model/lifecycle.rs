//! The life of a connection: opened, established, used, broken, forgotten.

use locklab_history::Name;

use super::connection::{Connection, SocketState, Stage};
use super::end::{ConnectionId, End, Side};
use super::flow::{Content, Transit};
use super::network::{Effect, Network};
use super::payload::Payload;

impl Network {
    /// `connector` connects to `server`.
    pub(crate) fn open(&mut self, connector: Name, server: Name, now_ns: u64) -> ConnectionId {
        let id = self.next_id();
        if self.links.is_silent(&connector) {
            // Its process does not know yet that its power is cut.
            self.effects.push_back(Effect::Detach(id.connector()));
            return id;
        }
        self.connections
            .insert(id, Connection::new(connector, server));
        self.leave(id.connector(), Content::Syn, now_ns);
        id
    }

    /// A connection that was established without the network passes it from now on.
    pub(crate) fn adopt(&mut self, connector: Name, server: Name) -> ConnectionId {
        let id = self.next_id();
        let connection = Connection::established(connector, server);
        self.connections.insert(id, connection);
        id
    }

    fn next_id(&mut self) -> ConnectionId {
        let id = ConnectionId(self.opened);
        self.opened += 1;
        id
    }

    /// Handles the server process's accept, the answer to [`Effect::Connect`].
    pub(crate) fn connected(&mut self, id: ConnectionId, now_ns: u64) {
        let Some(connection) = self.connections.get_mut(&id) else {
            // The connector gave up.
            self.effects.push_back(Effect::Reset(id.server()));
            return;
        };
        let server = connection.at_mut(Side::Server);
        if self.links.is_silent(&server.host) {
            self.effects.push_back(Effect::Detach(id.server()));
            self.send_syn_again(id, now_ns);
            return;
        }
        server.socket = SocketState::Open;
        self.leave(id.server(), Content::SynAck, now_ns);
    }

    /// No process accepts: the other answer to [`Effect::Connect`].
    pub(crate) fn refused(&mut self, id: ConnectionId, now_ns: u64) {
        let Some(connection) = self.connections.get_mut(&id) else {
            return;
        };
        let server = connection.at(Side::Server).host.clone();
        let Some(syn) = connection.take_syn() else {
            return;
        };
        if self.links.is_silent(&server) || self.suspended.contains_key(&server) {
            self.arrive(syn, now_ns);
        } else {
            self.answer_with_reset(syn, now_ns);
        }
    }

    /// Handles data that the process at `end` has written.
    pub(crate) fn on_write(&mut self, end: End, payload: Payload, now_ns: u64) {
        self.send(end, Content::Data(payload), now_ns);
    }

    /// Handles the end of the stream of the process at `end`.
    pub(crate) fn ended(&mut self, end: End, now_ns: u64) {
        if self.is_connecting(end) {
            self.stop_connecting(end, now_ns);
        } else {
            self.send(end, Content::Fin, now_ns);
        }
    }

    /// Handles a reset by the process at `end`, or its end without reading all its data.
    pub(crate) fn on_broken(&mut self, end: End, now_ns: u64) {
        if self.is_connecting(end) {
            self.stop_connecting(end, now_ns);
        } else if self.socket(end) == Some(SocketState::Open) {
            self.forget(end, now_ns);
            if self.socket(end) == Some(SocketState::Gone) {
                self.leave(end, Content::Rst, now_ns);
            }
        }
    }

    /// Resets every connection of `host` at both ends.
    pub(crate) fn reset(&mut self, host: &Name) {
        let effects = &mut self.effects;
        self.connections.retain(|id, connection| {
            let is_theirs = connection.is_of(host);
            if is_theirs {
                effects.extend([id.connector(), id.server()].map(Effect::Reset));
            }
            !is_theirs
        });
    }

    fn send(&mut self, end: End, content: Content, now_ns: u64) {
        let Some(connection) = self.connections.get_mut(&end.connection) else {
            return;
        };
        if connection.at(end.side).socket != SocketState::Open {
            return;
        }
        match &mut connection.stage {
            Stage::Opening { early, .. } if end.side == Side::Connector => early.push(content),
            _ => self.leave(end, content, now_ns),
        }
    }

    fn is_connecting(&self, end: End) -> bool {
        let connection = self.connections.get(&end.connection);
        end.side == Side::Connector && connection.is_some_and(Connection::is_opening)
    }

    /// A connector gives up. If the server has already accepted, its SYN-ACK will be answered
    /// with a reset.
    fn stop_connecting(&mut self, connector: End, now_ns: u64) {
        self.effects.push_back(Effect::Reset(connector));
        self.forget(connector, now_ns);
    }

    pub(super) fn syn_arrived(&mut self, transit: Transit) {
        let id = transit.segment.from.connection;
        let Some(connection) = self.connections.get_mut(&id) else {
            return;
        };
        if let Stage::Opening { syn, .. } = &mut connection.stage {
            *syn = Some(transit);
            self.effects.push_back(Effect::Connect(id));
        }
    }

    /// Establishes the connection; the connector sends the data that it has written so far.
    pub(super) fn syn_ack_arrived(&mut self, id: ConnectionId, now_ns: u64) {
        let Some(connection) = self.connections.get_mut(&id) else {
            return;
        };
        let stage = std::mem::replace(&mut connection.stage, Stage::Established);
        let Stage::Opening { early, .. } = stage else {
            return;
        };
        self.effects.push_back(Effect::Greet(id));
        for content in early {
            self.leave(id.connector(), content, now_ns);
        }
    }

    /// Removes the connection from the kernel of `end`, with its unsent data.
    pub(super) fn forget(&mut self, end: End, now_ns: u64) {
        let Some(connection) = self.connections.get_mut(&end.connection) else {
            return;
        };
        let state = connection.at_mut(end.side);
        state.socket = SocketState::Gone;
        let mut answer_is_lost = state.flow.holds_opening();
        state.flow.clear();
        if let Some(suspension) = self.suspended.get_mut(&state.host) {
            answer_is_lost |= suspension.drop_flow(end);
        }
        match (&mut connection.stage, end.side) {
            (Stage::Opening { early, .. }, Side::Connector) => early.clear(),
            (Stage::Opening { .. }, Side::Server) if answer_is_lost => {
                connection.at_mut(Side::Server).socket = SocketState::NotYet;
                self.send_syn_again(end.connection, now_ns);
            }
            _ => {}
        }
        let connection = self.connections.get(&end.connection);
        if connection.is_some_and(Connection::is_forgotten) {
            self.connections.remove(&end.connection);
        }
    }

    /// Nobody will answer the SYN at the server: the connector sends it again.
    fn send_syn_again(&mut self, id: ConnectionId, now_ns: u64) {
        let connection = self.connections.get_mut(&id);
        if let Some(syn) = connection.and_then(Connection::take_syn) {
            self.hold(syn, now_ns);
        }
    }

    fn socket(&self, end: End) -> Option<SocketState> {
        let connection = self.connections.get(&end.connection)?;
        Some(connection.at(end.side).socket)
    }
}
