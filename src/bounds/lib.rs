//! What is accepted of foreign bytes: how deep they nest, how large they are, and how many elements
//! they have.
//!
//! Foreign bytes are those that another program sends or has written: requests, replies, histories.
//! A parser that recurses overflows its stack on input that nests deeply enough, and nothing catches
//! that. So every parser of foreign bytes has [`Bounds`], and refuses what exceeds them before it
//! recurses or reserves memory. [`resp`] is the only decoder of RESP outside the Redis node, whose
//! parser does not recurse. The inputs that each entry point is tested with are in
//! `tests/testing/src/hostile.rs`.

use std::error::Error;
use std::fmt;

pub mod json;
pub mod resp;

/// The bounds of one value: a frame of RESP, an event of a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// How many arrays or maps may be open at once.
    pub depth: usize,
    /// The length, in bytes.
    pub bytes: usize,
    /// The elements of all its arrays and maps together.
    pub elements: usize,
}

impl Bounds {
    /// A frame of a client or a server. No lock sends or gets as much; Redis allows as many elements.
    pub const FRAME: Bounds = Bounds {
        depth: 64,
        bytes: 16 << 20,
        elements: 1 << 20,
    };
    /// A request to the protected resource: a command, a key and a value.
    pub const REQUEST: Bounds = Bounds {
        bytes: 1 << 20,
        ..Bounds::FRAME
    };
    /// An order at the control port of served nodes: a few words.
    pub const ORDER: Bounds = Bounds {
        bytes: 64 << 10,
        elements: 1 << 10,
        ..Bounds::FRAME
    };
    /// An event of a history that is judged.
    pub const EVENT: Bounds = Bounds::FRAME;
}

/// How much a run keeps of what attacked programs tell and do. A program that does nothing but write fills it within a
/// second or two; one that takes and releases a lock in a loop, at a millisecond for each, needs a minute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kept {
    /// The lines that all programs together tell.
    pub lines: u64,
    /// Their accesses to the resource.
    pub accesses: u64,
    /// The commands that the servers execute for them.
    pub commands: u64,
    /// The bytes of these commands.
    pub command_bytes: u64,
}

impl Kept {
    /// A run of a program of somebody else. A loop that tells lines takes 190 MB in all; what the proxy keeps has a bound
    /// of its own.
    pub const RUN: Kept = Kept {
        lines: 250_000,
        accesses: 100_000,
        commands: 250_000,
        command_bytes: 64 << 20,
    };
}

/// Why bytes are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// They violate their format.
    Malformed,
    /// They nest deeper than this.
    Deep(usize),
    /// They are longer than this, or say that they will be.
    Large(usize),
    /// They have more elements than this, or say that they will have.
    Many(usize),
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::Malformed => write!(f, "malformed"),
            Refused::Deep(most) => write!(f, "values are nested more than {most} deep"),
            Refused::Large(most) => write!(f, "longer than {most} bytes"),
            Refused::Many(most) => write!(f, "more than {most} elements"),
        }
    }
}

impl Error for Refused {}
