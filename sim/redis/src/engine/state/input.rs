//! The input of a connection that is not handled yet.

use bytes::BytesMut;

use crate::wire::request::Parser;

/// A client's connection to one node. Also the client id that `CLIENT ID` returns. Never reused
/// within a node.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ConnId(pub(crate) u64);

/// The memory of a client's input, in bytes.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct InputSize {
    /// What the client has sent and the node keeps.
    pub bytes: usize,
    /// What is allocated for that: buffers grow by doubling, and a request in parts also takes the
    /// places of its arguments.
    pub allocated_bytes: usize,
}

/// The input state of a connection.
#[derive(Default)]
pub(in crate::engine) struct Input {
    pub(in crate::engine) parser: Parser,
    /// The query buffer: bytes received but not yet handled.
    pub(in crate::engine) pending: BytesMut,
    /// Whether the client has sent more while it waited for a turn. It may do so without end.
    pub(in crate::engine) has_grown: bool,
    /// The length of what was before these in the same allocation.
    handled_bytes: usize,
}

impl Input {
    /// Removes what was handled from the start. What is left moves if it is the smaller part, so that
    /// a few bytes keep no large allocation.
    pub(in crate::engine) fn drop_handled(&mut self, bytes: usize) {
        let _ = self.pending.split_to(bytes);
        self.handled_bytes += bytes;
        if self.handled_bytes > self.pending.len() {
            self.pending = BytesMut::from(&self.pending[..]);
            self.handled_bytes = 0;
        }
    }

    /// The memory that it takes.
    pub(in crate::engine) fn size(&self) -> InputSize {
        InputSize {
            bytes: self.pending.len(),
            allocated_bytes: self.handled_bytes
                + self.pending.capacity()
                + self.parser.allocated_bytes(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rest_of_a_long_input_keeps_no_long_buffer() {
        let mut input = Input::default();
        input.pending.extend_from_slice(&vec![b'x'; 100_000]);
        input.drop_handled(10);
        assert!(input.size().allocated_bytes >= 100_000);
        input.drop_handled(99_980);
        assert_eq!(input.pending, [b'x'; 10][..]);
        assert!(input.size().allocated_bytes < 100);
    }
}
