//! A lock history: for each lock the calls of `acquire`, `release` and `extend`, and in the order of
//! time what else happened.

use locklab_history::{Name, Told};
use locklab_vecmap::VecMap;

use crate::models::Act;
use crate::raw::{Header, RawClock};

/// The name of a lock that a history does not name.
pub const ONLY_KEY: &str = "lock";

/// A history of some locks.
#[derive(Debug, Clone)]
pub struct LockHistory {
    /// What to judge it by.
    pub header: Header,
    /// One history for each lock, in the order of its first appearance.
    pub keys: Vec<KeyHistory>,
    /// How its times are told.
    pub told: Told,
    /// How many operations were passed over, since they are not a lock's: those of Jepsen's nemesis.
    pub skipped: usize,
    /// How else it was read than it is written: fields that were passed over, and returns that are refusals.
    pub notes: Vec<String>,
}

/// The history of one lock.
#[derive(Debug, Clone, Default)]
pub struct KeyHistory {
    /// Its name.
    pub key: String,
    /// Its processes and owners, by their numbers.
    pub names: Vec<Name>,
    /// Every call, in the order of invocation.
    pub calls: Vec<Call>,
    /// Everything that happened, in the order of time.
    pub points: Vec<Point>,
    /// The accesses, by their numbers.
    pub accesses: Vec<Access>,
    /// What the holder's clocks showed at a point, by its place, where its line says so.
    pub(crate) shown: VecMap<usize, Shown>,
    /// Why the order of accesses to the resource is unknown, if it is.
    pub accesses_doubt: Option<String>,
    /// Per holder: on which clocks its deadlines are.
    pub(crate) clocks: Vec<[bool; 3]>,
}

impl KeyHistory {
    /// Whether deadlines of this holder are on this clock.
    pub fn uses(&self, holder: u32, clock: Clock) -> bool {
        let clocks = self.clocks.get(holder as usize);
        clocks.is_some_and(|clocks| clocks[clock as usize])
    }

    /// Adds what happened at an instant.
    pub(crate) fn push(&mut self, at_ns: u64, line: u32, holder: u32, shown: Shown, what: What) {
        if shown != Shown::default() {
            self.shown.insert(self.points.len(), shown);
        }
        self.points.push(Point {
            at_ns,
            line,
            holder,
            what,
        });
    }

    /// Notes on which clocks the deadlines of each holder are.
    pub(crate) fn note_clocks(&mut self) {
        for call in &self.calls {
            let holder = call.holder as usize;
            if let Some(deadline) = call.deadline {
                self.clocks
                    .resize(self.clocks.len().max(holder + 1), [false; 3]);
                self.clocks[holder][deadline.clock as usize] = true;
            }
        }
    }
}

/// A call of `acquire`, `release` or `extend`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The process that called, a number of [`KeyHistory::names`].
    pub process: u32,
    /// The identity that holds the lock: the owner, or the process.
    pub holder: u32,
    /// The operation.
    pub act: Act,
    /// When it was called, in nanoseconds since the first event.
    pub invoked_ns: u64,
    /// The line of the call.
    pub invoked_line: u32,
    /// When it returned, and the line of that; `None` if nobody knows that it did.
    pub returned: Option<(u64, u32)>,
    /// What is known of its effect.
    pub outcome: Outcome,
    /// The fencing token of a grant.
    pub token: Option<u64>,
    /// When the grant ends, as the process knows.
    pub deadline: Option<Deadline>,
    /// Whether it is a reader's.
    pub shared: bool,
    /// How many permits it takes or returns.
    pub permits: u32,
}

impl Call {
    /// The lines of the call and of its return.
    pub fn lines(&self) -> impl Iterator<Item = u32> {
        let returned = self.returned.map(|(_, line)| line);
        [self.invoked_line].into_iter().chain(returned)
    }
}

/// What is known of a call's effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It took effect before it returned.
    Ok,
    /// It took none.
    Failed,
    /// It may take effect at any time after the call, or never.
    Unknown,
}

/// An instant on a clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadline {
    /// The clock.
    pub clock: Clock,
    /// Its reading, in nanoseconds.
    pub at_ns: u64,
}

/// A clock.
pub type Clock = RawClock;

/// An instant of the history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Point {
    /// When, in nanoseconds since the first event.
    pub at_ns: u64,
    /// The line.
    pub line: u32,
    /// The process's identity as a holder.
    pub holder: u32,
    /// What happened.
    pub what: What,
}

/// A history may have a million of them.
const _: () = assert!(size_of::<Point>() <= 24);

/// What the clocks of a holder showed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Shown {
    /// Its wall clock.
    pub wall_ns: Option<u64>,
    /// Its monotonic clock.
    pub mono_ns: Option<u64>,
}

/// What happened at an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// The call of this index was made.
    Invoked(u32),
    /// It returned.
    Returned(u32),
    /// The holder knows that it holds nothing any more.
    Lost,
    /// Its clocks were read, and nothing else.
    Clocks,
    /// The resource served the access of this index.
    Access(u32),
}

/// An access to the resource that the lock protects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    /// Whether it is a write.
    pub writes: bool,
    /// Whether the resource executed it.
    pub accepted: bool,
    /// The token that it showed.
    pub token: Option<u64>,
    /// The version read or made.
    pub version: Option<u64>,
    /// The version that a write was computed from.
    pub based_on: Option<u64>,
}
