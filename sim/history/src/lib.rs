//! What happened in a run: the recorded events, in the order of true time.
//!
//! A history is all that a check may read. It knows nothing of where it was taken:
//! in the world true time is virtual, on real Redis it is the machine's
//! `CLOCK_MONOTONIC`, which all processes of one machine share.

mod failpoint;
mod fault;
mod schedule;
pub mod timeline;
mod topology;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use self::failpoint::{Failpoint, Moment, Point};
pub use self::fault::{Aim, Amounts, Bare, Convert, Family, FaultKind, Settled, Span, Symptom};
pub use self::schedule::{Fault, Links, Schedule, Start, Target};
pub use self::topology::{RESOURCE, Role, Server, Topology};

/// The name of a host or process: `c1` (client), `n1` (node), `resource`.
pub type Name = Arc<str>;

/// One event, stamped with true time and with what the host's own clocks said.
///
/// Whenever a host's clocks change their course (a step, a rate, a suspension),
/// one record of that host stands directly before the change and one directly
/// after it; between two records of a host its clocks therefore run straight, and
/// a reading in between can be interpolated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// True time in nanoseconds since the run began.
    pub at_ns: u64,
    /// The host on which it happened.
    pub host: Name,
    /// The host's wall clock, nanoseconds since the Unix epoch.
    pub wall_ns: u64,
    /// The host's monotonic clock, nanoseconds since an origin of its own.
    pub mono_ns: u64,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
}

/// What a record tells.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// A client calls an operation. `call` numbers the calls of one client.
    Invoke {
        /// The number of this call among its client's calls.
        call: u32,
        /// The operation.
        op: Op,
    },
    /// The operation returned. A call without completion is one whose client died.
    Complete {
        /// The number given at the invocation.
        call: u32,
        /// The operation.
        op: Op,
        /// What the client knows of it now.
        outcome: Outcome,
        /// What the client was told, for a person to read; also why it failed.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        detail: String,
    },
    /// A client begins to believe that it holds the lock: `acquire` returned.
    BeliefBegins {
        /// The number of this grant among its client's grants.
        grant: u32,
        /// When the client stops believing by its own clock; `None` if the
        /// algorithm gives its user no deadline.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        deadline: Option<Deadline>,
        /// The fencing token that came with the grant, if the lock gives one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        token: Option<u64>,
        /// Whether it was taken to read only, beside others who do.
        #[serde(default, skip_serializing_if = "is_false")]
        shared: bool,
    },
    /// The client stops believing: it calls `release`, or its process ends.
    BeliefEnds {
        /// The grant that ends.
        grant: u32,
    },
    /// A release returned and says how many keys it deleted, summed over the nodes.
    Released {
        /// The grant that was released.
        grant: u32,
        /// Keys deleted; 0 when nothing was there to delete any more.
        removed: u32,
    },
    /// A guard was dropped and its lock not released: the client has forgotten it.
    Dropped {
        /// The grant that was forgotten.
        grant: u32,
    },
    /// A client reached a failpoint, such as `checked`; a sentinel told of an event.
    Reached {
        /// The point.
        point: Point,
    },
    /// The resource served a request. Recorded on the resource's host.
    Access {
        /// Who asked.
        client: Name,
        /// Under which of its grants.
        grant: u32,
        /// What it asked.
        access: Access,
        /// The fencing token shown, if any.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        token: Option<u64>,
        /// Whether the resource did it.
        accepted: bool,
    },
    /// A client read the set that clients add to: per client, the numbers of those of its
    /// calls whose elements are in it, ascending.
    Members {
        /// Who added what.
        members: BTreeMap<Name, Vec<u32>>,
    },
    /// A fault took effect on this host, ended on it, or never came to effect.
    Fault {
        /// The fault's name in the scenario.
        fault: Name,
        /// What kind it is.
        kind: FaultKind<Bare>,
        /// Beginning or end.
        phase: Phase,
        /// The links that it concerns and what it does to them; `None`: it strikes the host
        /// itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        links: Option<FaultyLinks>,
    },
    /// The run is over. Each client's host says so, with what its clocks say.
    RunEnds,
}

impl Event {
    /// A client reached this failpoint.
    pub fn reached(point: Failpoint) -> Event {
        let point = Point::Failpoint(point);
        Event::Reached { point }
    }

    /// Whether a client reached this failpoint with it.
    pub fn is_reached(&self, wanted: Failpoint) -> bool {
        matches!(self, Event::Reached { point: Point::Failpoint(point) } if *point == wanted)
    }

    /// Whether a fault takes effect with it.
    pub fn is_fault_beginning(&self) -> bool {
        matches!(
            self,
            Event::Fault {
                phase: Phase::Begins,
                ..
            }
        )
    }

    /// Whether it ends the process on its host, and with it what that believes.
    pub fn is_death(&self) -> bool {
        matches!(
            self,
            Event::Fault { kind, phase: Phase::Begins, .. } if kind.ends_process()
        )
    }
}

fn is_false(value: &bool) -> bool {
    !value
}

/// What a client of the lab does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Op {
    /// One attempt to take the lock.
    Acquire,
    /// Prolong the lease.
    Extend,
    /// Give the lock back.
    Release,
    /// Read the protected resource.
    Read,
    /// Write the protected resource.
    Write,
    /// Add an element to a set, one for each call.
    Add,
    /// Read that set.
    Members,
}

/// What a client knows when an operation returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It took effect.
    Ok,
    /// It did not take effect.
    Failed,
    /// No reply came: it may have taken effect, or may still.
    Unknown,
}

/// An access to the resource, a register that remembers its last writer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Access {
    /// The version that the reader was given; 0 is the version before any write.
    Read {
        /// The version returned.
        version: u64,
    },
    /// A write computed from version `based_on`, and the version that it made.
    Write {
        /// The version that the writer had read.
        based_on: u64,
        /// The version after this write; the one before it if it was refused.
        version: u64,
    },
}

impl Access {
    /// In a sentence: `read` or `write`.
    pub fn name(&self) -> &'static str {
        match self {
            Access::Read { .. } => "read",
            Access::Write { .. } => "write",
        }
    }
}

/// An instant on a client's own clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deadline {
    /// Which of the two clocks.
    pub clock: ClockKind,
    /// The reading at which the deadline is over, in nanoseconds of that clock.
    pub at_ns: u64,
}

/// The two clocks of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClockKind {
    /// Time of day; may be stepped and runs on under suspension.
    Wall,
    /// Time since some origin; never stepped, stands still under suspension.
    Monotonic,
}

/// Where in its life a fault is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// The record taken directly before a clock changes its course.
    Before,
    /// It takes effect now.
    Begins,
    /// It is over now.
    Ends,
    /// The run ended before its trigger came.
    Missed,
}

/// The links from every host of one side to every host of the other while a fault is on them.
/// Each host of both sides has a record of the fault.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FaultyLinks {
    /// One side.
    pub from: Vec<Name>,
    /// The other side.
    pub to: Vec<Name>,
    /// Whether the reverse direction is concerned too.
    pub both_ways: bool,
    /// What becomes of a packet.
    pub packets: PacketFault,
}

/// What becomes of the packets on a link with a fault.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PacketFault {
    /// None gets through.
    Cut,
    /// Each takes longer.
    Slow {
        /// By so many nanoseconds.
        extra_ns: u64,
    },
    /// Each transmission may be lost, and is repeated after the retransmission timeout.
    Lossy {
        /// The share that is lost, 0 to 1.
        probability: f64,
    },
}

/// A message of the run, for the space-time diagram; checks never read these.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// True time at which it left.
    pub sent_ns: u64,
    /// True time at which it arrived; `None` if it never did.
    pub arrived_ns: Option<u64>,
    /// The sending host.
    pub from: Name,
    /// The receiving host.
    pub to: Name,
    /// Its contents, shortened for a person to read: `SET lock … NX PX 1000`.
    pub label: String,
}

/// All that happened in a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct History {
    /// Ordered by true time; at equal times in the order in which they happened.
    pub records: Vec<Record>,
    /// Messages in the order of their sending; empty unless the run kept them.
    pub messages: Vec<Message>,
    /// True time at the end of the run, in nanoseconds.
    pub end_ns: u64,
}
