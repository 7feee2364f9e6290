//! The history of a run: the recorded events, in the order of true time.
//!
//! A history is the only input of a check. It does not depend on where it was recorded: in the
//! simulator true time is virtual, on real Redis it is the machine's `CLOCK_MONOTONIC`, which all
//! processes of one machine share.

mod contents;
mod failpoint;
mod fault;
pub mod leases;
mod schedule;
mod step;
pub mod timeline;
mod told;
mod topology;
pub mod wire;

use std::sync::Arc;

use locklab_values::units::NS_PER_MS;
use locklab_vecmap::VecMap;
use serde::{Deserialize, Serialize};

pub use self::contents::{Contents, KeyChange, KeySnapshot, KeyState, Visit};
pub use self::failpoint::{Failpoint, Moment, Point};
pub use self::fault::{
    Aim, Family, FaultKind, HARMLESS_COMMANDS, HostFault, LinkFault, Span, Symptom, command_words,
    is_harmless,
};
pub use self::schedule::{Effect, Fault, Links, Schedule, Start};
pub use self::step::{Leg, Request, Step};
pub use self::told::{At, Told};
pub use self::topology::{RESOURCE, Role, Server, Topology};

/// The name of a host or process: `c1` (client), `n1` (node), `resource`.
pub type Name = Arc<str>;

/// One event, with true time and the readings of the host's own clocks.
///
/// Whenever the course of a host's clocks changes (a step, a rate, a suspension), one record of
/// that host comes directly before the change and one directly after it. Between two records of
/// a host its clocks are therefore linear, and a reading in between can be interpolated.
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
    /// The event.
    #[serde(flatten)]
    pub event: Event,
}

/// A foreign history of a million events becomes half as many records again, which are in memory at once.
const _: () = assert!(size_of::<Record>() <= 104);

/// The content of a record.
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
    /// An operation returned. A call without completion means that its client died.
    Complete {
        /// The number given at the invocation.
        call: u32,
        /// The operation.
        op: Op,
        /// The client's knowledge about the effect.
        outcome: Outcome,
        /// The result that the client received, as readable text; also the reason for a failure.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        detail: String,
    },
    /// A client begins to believe that it holds the lock: `acquire` returned.
    BeliefBegins {
        /// The number of this grant among its client's grants.
        grant: u32,
        /// When the belief ends by the client's own clock; `None` if the algorithm gives its
        /// user no deadline.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        deadline: Option<Deadline>,
        /// The fencing token that came with the grant, if the lock gives one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        token: Option<u64>,
        /// Whether the grant is for reading only and can be shared with other readers.
        #[serde(default, skip_serializing_if = "is_false")]
        shared: bool,
    },
    /// The client's belief ends: it calls `release`, or its process ends.
    BeliefEnds {
        /// The grant that ends.
        grant: u32,
    },
    /// A release returned the number of keys it deleted, summed over the nodes.
    Released {
        /// The grant that was released.
        grant: u32,
        /// Keys deleted; 0 if no key was left to delete.
        removed: u32,
    },
    /// A guard was dropped without releasing its lock: the client has forgotten the lock.
    Dropped {
        /// The grant that was forgotten.
        grant: u32,
    },
    /// A client reached a failpoint, such as `checked`, or a sentinel reported an event.
    Reached {
        /// The point.
        point: Point,
    },
    /// The resource served a request. Recorded on the resource's host.
    Access {
        /// The client that sent the request.
        client: Name,
        /// The client's grant for this access.
        grant: u32,
        /// The kind of access.
        access: Access,
        /// The fencing token presented, if any.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        token: Option<u64>,
        /// Whether the resource executed it.
        accepted: bool,
    },
    /// A client read the set that clients add to: per client, the numbers of the calls whose
    /// elements are in the set, ascending.
    Members {
        /// The calls by client.
        members: VecMap<Name, Vec<u32>>,
    },
    /// A fault took effect on this host, ended on it, or never took effect.
    Fault {
        /// The fault's name in the scenario.
        fault: Name,
        /// The kind of the fault.
        kind: FaultKind,
        /// Beginning or end.
        phase: Phase,
        /// The affected links and the effect on their packets; `None` if the fault affects the host
        /// itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        links: Option<Box<FaultyLinks>>,
    },
    /// The run is over. Each client's host has one, with its clock readings.
    RunEnds,
}

impl Event {
    /// A client reached this failpoint.
    pub fn reached(point: Failpoint) -> Event {
        let point = Point::Failpoint(point);
        Event::Reached { point }
    }

    /// Whether this event is a client reaching this failpoint.
    pub fn is_reached(&self, wanted: Failpoint) -> bool {
        matches!(self, Event::Reached { point: Point::Failpoint(point) } if *point == wanted)
    }

    /// Whether this event is the beginning of a fault.
    pub fn is_fault_beginning(&self) -> bool {
        matches!(
            self,
            Event::Fault {
                phase: Phase::Begins,
                ..
            }
        )
    }

    /// Whether this event ends the process on its host and with it the process's belief.
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

/// An operation of a lab client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Op {
    /// One attempt to take the lock.
    Acquire,
    /// Extend the lease.
    Extend,
    /// Release the lock.
    Release,
    /// Read the protected resource.
    Read,
    /// Write the protected resource.
    Write,
    /// Add an element to a set, one per call.
    Add,
    /// Read that set.
    Members,
}

/// A client's knowledge about the effect of an operation that returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It took effect.
    Ok,
    /// It did not take effect.
    Failed,
    /// No reply came: it may have taken effect, or may still do so.
    Unknown,
    /// The lock has no such operation.
    Unsupported,
}

/// An access to the resource, a register that remembers its last writer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Access {
    /// The version returned to the reader; 0 is the version before any write.
    Read {
        /// The version returned.
        version: u64,
    },
    /// A write computed from version `based_on`, and the resulting version.
    Write {
        /// The version that the writer had read.
        based_on: u64,
        /// The version after this write; if the write was refused, the version before it.
        version: u64,
    },
}

impl Access {
    /// The name for sentences: `read` or `write`.
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
    /// The reading at which the deadline has passed, in nanoseconds of that clock.
    pub at_ns: u64,
}

impl Deadline {
    /// The first reading of a node's wall clock at which a key has expired: for `keyIsExpired` this is one
    /// millisecond after the key's expiry time.
    pub fn of_key(expires_at_ms: i64) -> Deadline {
        let over_ms = u64::try_from(expires_at_ms).unwrap_or(0).saturating_add(1);
        Deadline {
            clock: ClockKind::Wall,
            at_ns: over_ms.saturating_mul(NS_PER_MS),
        }
    }
}

/// The two clocks of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClockKind {
    /// Time of day; it may be stepped, and it keeps running during a suspension.
    Wall,
    /// Time since some origin; it is never stepped, and it stops during a suspension.
    Monotonic,
}

/// A phase of a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// The record taken directly before a clock's course changes.
    Before,
    /// The fault takes effect now.
    Begins,
    /// The fault ends now.
    Ends,
    /// The run ended before the fault's trigger occurred.
    Missed,
}

/// The links from every host of one side to every host of the other, while a fault affects
/// them. Each host of both sides has a record of the fault.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FaultyLinks {
    /// One side.
    pub from: Vec<Name>,
    /// The other side.
    pub to: Vec<Name>,
    /// Whether the reverse direction is affected too.
    pub both_ways: bool,
    /// The effect on a packet.
    pub packets: PacketFault,
}

/// The effect of a fault on the packets of a link.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PacketFault {
    /// No packet gets through.
    Cut,
    /// Each packet takes longer.
    Slow {
        /// The extra delay in nanoseconds.
        extra_ns: u64,
    },
    /// Each transmission may be lost, and is repeated after the retransmission timeout.
    Lossy {
        /// The share that is lost, 0 to 1.
        probability: f64,
    },
}

/// A message of the run, for the space-time diagram; checks never read messages.
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
    /// Its contents, shortened for readability: `SET lock … NX PX 1000`.
    pub label: String,
}

impl Message {
    /// With this the label begins of a message by which a client library gets to know a server, or of the answer.
    pub const HANDSHAKE: &str = "(handshake) ";

    /// Whether it is one.
    pub fn is_handshake(&self) -> bool {
        self.label.starts_with(Message::HANDSHAKE)
    }
}

/// Everything that happened in a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct History {
    /// Ordered by true time; at equal times in the order of occurrence.
    pub records: Vec<Record>,
    /// Messages in the order in which they were sent; empty unless the run kept them.
    pub messages: Vec<Message>,
    /// True time at the end of the run, in nanoseconds.
    pub end_ns: u64,
}

impl History {
    /// When each fault first took effect, by its name: true time in nanoseconds since the run began.
    pub fn faults_began_ns(&self) -> VecMap<&str, u64> {
        let mut began_ns = VecMap::new();
        for record in &self.records {
            if let Event::Fault { fault, .. } = &record.event
                && record.event.is_fault_beginning()
            {
                began_ns.entry(&**fault).or_insert(record.at_ns);
            }
        }
        began_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes the record and reads it again; returns the event's keys in the file.
    fn written(event: Event) -> String {
        let record = Record {
            at_ns: 1,
            host: "c1".into(),
            wall_ns: 2,
            mono_ns: 3,
            event,
        };
        let text = serde_json::to_string(&record).unwrap();
        assert_eq!(serde_json::from_str::<Record>(&text).unwrap(), record);
        let stamp = r#"{"at_ns":1,"host":"c1","wall_ns":2,"mono_ns":3,"#;
        let event = text.strip_prefix(stamp).expect(&text);
        event.strip_suffix('}').expect(&text).to_owned()
    }

    #[test]
    fn absent_values_of_a_grant_are_not_in_the_file() {
        let grant = |shared, token| Event::BeliefBegins {
            grant: 4,
            deadline: None,
            token,
            shared,
        };
        assert_eq!(
            written(grant(false, None)),
            r#""event":"belief-begins","grant":4"#
        );
        assert_eq!(
            written(grant(true, Some(33))),
            r#""event":"belief-begins","grant":4,"token":33,"shared":true"#
        );
    }
}
