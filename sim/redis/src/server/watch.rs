//! Whoever looks on while a server executes what clients request.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;

use crate::endpoint::Now;
use crate::engine::{ConnId, Node};

/// Looks on while a server executes requests, on its thread; see [`Builder::watch`](super::Builder::watch).
pub trait Watch: Send + Sync {
    /// Another process of the server has begun.
    fn begins(&self, node: &Node);

    /// These bytes of a client have arrived, and are executed next. Meanwhile these keys were changed, as
    /// [`Node::take_changed`] has them.
    fn arrives(&self, client: ConnId, bytes: &[u8], changed: &[Bytes], node: &Node, now: Now);

    /// They were executed, which changed these keys. What was answered leaves next, so that whoever reads it finds this
    /// noted.
    fn executed(&self, client: ConnId, changed: &[Bytes], node: &Node);
}

/// A watcher, if there is one.
#[derive(Clone, Default)]
pub(super) struct Watcher(pub(super) Option<Arc<dyn Watch>>);

impl fmt::Debug for Watcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watcher").finish_non_exhaustive()
    }
}
