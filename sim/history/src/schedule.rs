//! The fault schedule of a run, as data.

mod form;

use serde::{Deserialize, Serialize};

use crate::{Failpoint, FaultKind, FaultyLinks, Name, PacketFault};

/// All faults of one run, with fixed values for all numbers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Schedule {
    /// In the order of their names.
    pub faults: Vec<Fault>,
}

/// One fault of a schedule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "form::Fault", into = "form::Fault")]
pub struct Fault {
    /// Its name in the scenario.
    pub name: Name,
    /// When it takes effect.
    pub start: Start,
    /// The duration in nanoseconds; `None`: to the end of the run. Its meaning for this kind is
    /// given by [`Span`](crate::Span).
    pub duration_ns: Option<u64>,
    /// The kind of fault.
    pub kind: FaultKind,
    /// The target, of the type that the kind's [`Aim`](crate::Aim) requires.
    pub target: Target,
}

/// When a fault takes effect.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Start {
    /// At this true time in nanoseconds since the run began.
    At {
        /// Nanoseconds.
        at_ns: u64,
    },
    /// `delay_ns` after `client` reaches `point` for the `nth` time.
    After {
        /// The client.
        client: Name,
        /// The failpoint in its program.
        point: Failpoint,
        /// Counted from 1.
        nth: u32,
        /// Nanoseconds of true time; with 0 the client does nothing before the fault strikes.
        delay_ns: u64,
    },
}

/// What a fault strikes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// These hosts, or their processes.
    Hosts(Vec<Name>),
    /// These links.
    Links(Links),
}

/// The links from every host of one side to every host of the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Links {
    /// One side.
    pub from: Vec<Name>,
    /// The other side.
    pub to: Vec<Name>,
    /// Whether the reverse direction is affected too.
    pub both_ways: bool,
}

impl Target {
    /// The hosts affected by the fault; for links, the hosts of both sides.
    pub fn hosts(&self) -> impl Iterator<Item = &Name> {
        let (one, other): (&[Name], &[Name]) = match self {
            Target::Hosts(hosts) => (hosts, &[]),
            Target::Links(links) => (&links.from, &links.to),
        };
        one.iter().chain(other)
    }

    /// Whether the target lacks a host that it needs.
    pub fn is_empty(&self) -> bool {
        match self {
            Target::Hosts(hosts) => hosts.is_empty(),
            Target::Links(links) => links.from.is_empty() || links.to.is_empty(),
        }
    }

    /// Removes the hosts that do not exist; returns whether any target remains.
    pub fn keep_hosts(&mut self, is_there: impl Fn(&str) -> bool) -> bool {
        let keep = |hosts: &mut Vec<Name>| hosts.retain(|host| is_there(host));
        match self {
            Target::Hosts(hosts) => keep(hosts),
            Target::Links(links) => {
                keep(&mut links.from);
                keep(&mut links.to);
            }
        }
        !self.is_empty()
    }
}

impl Fault {
    /// The links affected by the fault, and its effect on packets; `None` if it strikes hosts.
    pub fn faulty_links(&self) -> Option<FaultyLinks> {
        let packets = match self.kind {
            FaultKind::Partition => PacketFault::Cut,
            FaultKind::SlowLink { extra } => PacketFault::Slow { extra_ns: extra },
            FaultKind::Loss { probability } => PacketFault::Lossy { probability },
            FaultKind::Pause
            | FaultKind::Suspend
            | FaultKind::Kill
            | FaultKind::Crash
            | FaultKind::ClockStep { .. }
            | FaultKind::ClockRate { .. }
            | FaultKind::Failover => return None,
        };
        match &self.target {
            Target::Hosts(_) => None,
            Target::Links(links) => Some(FaultyLinks {
                from: links.from.clone(),
                to: links.to.clone(),
                both_ways: links.both_ways,
                packets,
            }),
        }
    }
}
