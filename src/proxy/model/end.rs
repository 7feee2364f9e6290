//! The identifiers of connections and of their ends.

/// Identifies a connection; no two have the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ConnectionId(pub(super) u64);

/// A side of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Side {
    /// The host that connected.
    Connector,
    /// The host to which it connected.
    Server,
}

/// One end of a connection; also the flow that it sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct End {
    pub(crate) connection: ConnectionId,
    pub(crate) side: Side,
}

impl End {
    /// The other end.
    pub(crate) fn peer(self) -> End {
        let side = match self.side {
            Side::Connector => Side::Server,
            Side::Server => Side::Connector,
        };
        End { side, ..self }
    }
}

impl ConnectionId {
    /// The number that identifies it in the run.
    pub(crate) fn number(self) -> u64 {
        self.0
    }

    /// The end of the host that connected.
    pub(crate) fn connector(self) -> End {
        End {
            connection: self,
            side: Side::Connector,
        }
    }

    /// The end of the host to which it connected.
    pub(crate) fn server(self) -> End {
        End {
            connection: self,
            side: Side::Server,
        }
    }
}
