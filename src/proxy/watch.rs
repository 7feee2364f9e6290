//! Somebody who sees the data that passes a proxy, and may stop it before it arrives.

use locklab_history::Name;

/// A segment with data between two hosts.
#[derive(Debug, Clone, Copy)]
pub struct Passing<'a> {
    /// The sender.
    pub from: &'a Name,
    /// The receiver.
    pub to: &'a Name,
    /// The number of its connection in the run; see [`Segment::connection`](crate::Segment).
    pub connection: u64,
    /// Its data.
    pub payload: &'a [u8],
}

/// Whether a segment may arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ruling {
    /// It arrives.
    Arrives,
    /// It waits, and its receiver is suspended as by [`Proxy::suspend`](crate::Proxy::suspend), until
    /// [`Proxy::wake`](crate::Proxy::wake). Then the watch is asked about it again.
    Waits,
}

/// Sees what passes, on the proxy's thread. It must not call the proxy.
pub trait Watch {
    /// A segment leaves, once, however often it is transmitted.
    fn leaves(&mut self, passing: Passing<'_>);

    /// A segment is about to reach its receiver's kernel.
    fn arrives(&mut self, passing: Passing<'_>) -> Ruling;
}
