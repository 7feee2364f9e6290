//! The script that keeps a node busy, and how long scripts take.

use super::now::Now;
use crate::wire::reply::Error;

/// Reads the clocks of a node's machine.
pub(in crate::engine) type Clock = std::rc::Rc<dyn Fn() -> Now>;

/// The speed of a node's scripts. A real machine is about ten times as fast, but here an endless
/// script can only be detected by running it.
pub(in crate::engine) const INSTRUCTIONS_PER_US: u64 = 10;

/// The cost of a command that a client or a script calls, in instructions of a script.
pub(in crate::engine) const INSTRUCTIONS_PER_COMMAND: u64 = 100;

/// The work, in instructions, after which a node that reads a clock looks at it again: a look takes
/// as long as some commands do.
pub(in crate::engine) const INSTRUCTIONS_PER_LOOK: u64 = 10_000;

/// A script that runs for at most this many instructions takes no time.
pub(in crate::engine) const FREE_INSTRUCTIONS: u64 = 1_000_000;

/// How long a script takes, in microseconds, that has run this many instructions.
pub(in crate::engine) fn taken_us(instructions: u64) -> u64 {
    match instructions <= FREE_INSTRUCTIONS {
        true => 0,
        false => instructions / INSTRUCTIONS_PER_US,
    }
}

/// A script whose time has not passed yet. Its times are those of [`State::process_us`](super::State::process_us).
pub(in crate::engine) struct Busy {
    /// The client that runs it, which waits.
    pub(in crate::engine) client: u64,
    /// When the node starts to answer other clients.
    pub(in crate::engine) answers_from_us: u64,
    /// When it ends; `None` for never.
    pub(in crate::engine) ends_us: Option<u64>,
    /// It called a command that writes.
    pub(in crate::engine) wrote: bool,
    /// The reply to its client if it is killed.
    pub(in crate::engine) killed: Error,
    /// The position and length in bytes of its reply, in the pending output of its client.
    pub(in crate::engine) reply: (usize, usize),
}
