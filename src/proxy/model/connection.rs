//! A connection and the state of its two ends.

use locklab_history::Name;
use locklab_link::Flow;

use super::end::Side;
use super::flow::{Content, Parcel, Transit};

/// The state of the connection in the kernel of an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SocketState {
    /// Not created yet: the server before it has accepted.
    NotYet,
    /// It exists.
    Open,
    /// It no longer exists: arriving segments are answered with a reset.
    Gone,
}

/// The state of one end.
#[derive(Debug)]
pub(super) struct EndState {
    pub(super) host: Name,
    pub(super) socket: SocketState,
    /// The segments that it sends.
    pub(super) flow: Flow<Parcel>,
    /// Whether the end of its stream has arrived at its peer.
    pub(super) has_ended: bool,
}

/// The stage of a connection.
#[derive(Debug)]
pub(super) enum Stage {
    /// The handshake is under way.
    Opening {
        /// The SYN at the server, from its arrival until the SYN-ACK gets through.
        syn: Option<Transit>,
        /// The data that the connector sent before the SYN-ACK.
        early: Vec<Content>,
    },
    /// The SYN-ACK has arrived.
    Established,
}

/// A connection.
#[derive(Debug)]
pub(super) struct Connection {
    connector: EndState,
    server: EndState,
    pub(super) stage: Stage,
}

impl Connection {
    pub(super) fn new(connector: Name, server: Name) -> Self {
        Self {
            connector: EndState::new(connector, SocketState::Open),
            server: EndState::new(server, SocketState::NotYet),
            stage: Stage::Opening {
                syn: None,
                early: Vec::new(),
            },
        }
    }

    pub(super) fn established(connector: Name, server: Name) -> Self {
        Self {
            connector: EndState::new(connector, SocketState::Open),
            server: EndState::new(server, SocketState::Open),
            stage: Stage::Established,
        }
    }

    pub(super) fn at(&self, side: Side) -> &EndState {
        match side {
            Side::Connector => &self.connector,
            Side::Server => &self.server,
        }
    }

    pub(super) fn at_mut(&mut self, side: Side) -> &mut EndState {
        match side {
            Side::Connector => &mut self.connector,
            Side::Server => &mut self.server,
        }
    }

    /// Whether neither kernel has it.
    pub(super) fn is_forgotten(&self) -> bool {
        [&self.connector, &self.server]
            .iter()
            .all(|end| end.socket != SocketState::Open)
    }

    /// Whether both streams have ended.
    pub(super) fn is_over(&self) -> bool {
        self.connector.has_ended && self.server.has_ended
    }

    /// Whether this host is at one of its ends.
    pub(super) fn is_of(&self, host: &Name) -> bool {
        self.connector.host == *host || self.server.host == *host
    }

    pub(super) fn is_opening(&self) -> bool {
        matches!(self.stage, Stage::Opening { .. })
    }

    /// Takes the SYN that the server has and the connector would send again.
    pub(super) fn take_syn(&mut self) -> Option<Transit> {
        match &mut self.stage {
            Stage::Opening { syn, .. } => syn.take(),
            Stage::Established => None,
        }
    }
}

impl EndState {
    fn new(host: Name, socket: SocketState) -> Self {
        Self {
            host,
            socket,
            flow: Flow::default(),
            has_ended: false,
        }
    }
}
