//! What a lock library does in the situations that lose locks: one deterministic experiment a cell of the scorecard.
//!
//! The library is driven by a *drill*, a program of some thirty lines that does what it is ordered to (`protocol.rs`).
//! All knowledge is here: an experiment (`experiment.rs`) is data, a list of steps and the rules of its verdict, and is
//! played ([`play()`]) on real servers behind the proxy of all real runs (`stage.rs`). A verdict rests on what passed on
//! the wire (`wire.rs`), on the key of the lock as an observer on the server sees it (`observer.rs`), and on the drill's
//! answers; never on logs.
//!
//! Each play has servers and processes of its own. First every process takes the lock once and releases it: that
//! shows which key is the lock's. Three plays make a cell ([`cell()`]).

mod cell;
mod drill;
mod experiment;
mod facts;
mod observer;
pub(crate) mod own;
mod play;
mod protocol;
mod stage;
mod turns;
mod wire;

use locklab_history::Name;

pub use self::cell::{Cell, Range, cell};
use self::experiment::Springs;
pub use self::experiment::{Experiment, Plan, Rule, experiments};
pub use self::facts::{Fact, Facts};
pub use self::own::OwnLock;
pub use self::play::{Passed, Played, Verdict, calls, play};
use self::protocol::Line;
pub use self::protocol::Word;

/// What is examined.
#[derive(Debug, Clone, PartialEq)]
pub struct Drill {
    /// The program.
    pub is: Drilled,
    /// The lease that it is to ask for, in milliseconds.
    pub lease_ms: u64,
}

/// A program that follows the drill protocol.
#[derive(Debug, Clone, PartialEq)]
pub enum Drilled {
    /// One of somebody else.
    Program {
        /// Its name or path.
        name: String,
        /// Its arguments.
        arguments: Vec<String>,
    },
    /// A lock of the catalogue.
    Lock(OwnLock),
}

/// Something happened.
#[derive(Debug, Clone, PartialEq)]
enum Event {
    /// A process has written a line.
    Said {
        by: Name,
        line: Line,
        /// When it was read, by the machine's monotonic clock.
        at_ns: u64,
    },
    /// A process has ended.
    Ended { by: Name },
    /// A granting reply has reached a trap.
    Sprung { by: Name, springs: Springs },
}
