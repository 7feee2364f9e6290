//! The actions that a sentinel asks of its driver.

use bytes::Bytes;

use super::address::Address;
use super::file::SentinelFile;

/// A connection that the sentinel opened. Never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinkId(pub(super) u64);

/// A connection that a client opened to the sentinel. Never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConnId(pub(super) u64);

/// An action for the driver of a sentinel. Actions are carried out in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Connect. Commands sent before the connection is established are queued for it.
    Connect {
        /// The id of the new link.
        link: LinkId,
        /// The address to connect to.
        to: Address,
    },
    /// Send a command on a link.
    Send {
        /// The link.
        link: LinkId,
        /// One complete command.
        bytes: Bytes,
    },
    /// Close a link. The sentinel no longer knows it.
    Hangup {
        /// The link.
        link: LinkId,
    },
    /// Send a reply or a message to a client.
    Reply {
        /// The client's connection.
        conn: ConnId,
        /// One or more complete replies.
        bytes: Bytes,
    },
    /// Close a client's connection after the pending replies are sent.
    Close {
        /// The connection.
        conn: ConnId,
    },
    /// Write the configuration file durably, before carrying out any later effect.
    Write(SentinelFile),
    /// An event for the log; subscribers already got it by [`Effect::Reply`].
    Event(Notice),
}

/// An event as Sentinel logs and publishes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// The channel: `+sdown`.
    pub channel: &'static str,
    /// The message: `master mymaster n1 6379`.
    pub text: String,
}
