//! Commands that a driver adds to a node, beyond those of Redis.

use std::rc::Rc;

use crate::wire::reply::{Error, Reply};

/// A driver's reply to a command of its own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ExtensionReply {
    /// `+OK`.
    Ok,
    /// Lines of text.
    Lines(Vec<String>),
    /// An error, code first.
    Error(String),
}

/// Answers the words of a request that names no command of the node; `None` if it names none of
/// the driver either. See [`Node::extend`](crate::Node::extend).
pub(in crate::engine) type Extension = Rc<dyn Fn(&[&[u8]]) -> Option<ExtensionReply>>;

impl From<ExtensionReply> for Reply {
    fn from(reply: ExtensionReply) -> Reply {
        match reply {
            ExtensionReply::Ok => Reply::OK,
            ExtensionReply::Lines(lines) => {
                Reply::Array(lines.into_iter().map(Reply::bulk).collect())
            }
            ExtensionReply::Error(text) => Error::new(text.replace(['\r', '\n'], " ")).into(),
        }
    }
}
