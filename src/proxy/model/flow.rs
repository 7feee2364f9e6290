//! What the segments of a flow carry.

use locklab_link::Kind;

use super::connection::End;
use super::log::MessageId;
use super::payload::Payload;

/// What a segment carries.
#[derive(Debug)]
pub(crate) enum Content {
    /// The connector wants to connect.
    Syn,
    /// The server accepts.
    SynAck,
    /// Data.
    Data(Payload),
    /// The end of the sender's stream.
    Fin,
    /// The sender knows nothing of the connection, or not any more.
    Rst,
}

impl Content {
    /// What its segment is to TCP.
    pub(super) fn kind(&self) -> Kind {
        match self {
            Content::Syn | Content::SynAck => Kind::Opening,
            Content::Data(_) | Content::Fin => Kind::Data,
            Content::Rst => Kind::Reset,
        }
    }

    /// Whether it belongs to the opening handshake.
    pub(super) fn opens(&self) -> bool {
        self.kind() == Kind::Opening
    }
}

/// A segment under way, or to be sent again.
pub(super) type Transit = locklab_link::Transit<Parcel>;

/// What the link carries for the proxy.
#[derive(Debug)]
pub(super) struct Parcel {
    /// Its sender.
    pub(super) from: End,
    pub(super) content: Content,
    pub(super) message: Option<MessageId>,
}
