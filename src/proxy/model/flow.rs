//! The contents of the segments of a flow.

use locklab_link::Kind;

use super::end::End;
use super::log::MessageId;
use super::payload::Payload;

/// The content of a segment.
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
    /// The sender does not have the connection, or no longer has it.
    Rst,
}

impl Content {
    /// The kind of its segment.
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

/// The data of a segment on a link.
#[derive(Debug)]
pub(super) struct Parcel {
    /// Its sender.
    pub(super) from: End,
    pub(super) content: Content,
    pub(super) message: Option<MessageId>,
}
