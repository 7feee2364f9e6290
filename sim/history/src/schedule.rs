//! The fault schedule of a run, as data.

mod form;

use serde::{Deserialize, Serialize};

use crate::{Failpoint, FaultKind, FaultyLinks, Name, PacketFault};

/// All faults of one run, every number settled.
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
    /// For how long, in nanoseconds; `None`: to the end of the run. What [`Span`](crate::Span)
    /// makes of it depends on the kind.
    pub duration_ns: Option<u64>,
    /// What it does.
    pub kind: FaultKind,
    /// To whom; as the kind's [`Aim`](crate::Aim) has it.
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
    /// When `client` has reached `point` for the `nth` time, `delay_ns` later.
    After {
        /// The client.
        client: Name,
        /// The point of its program.
        point: Failpoint,
        /// The first time is 1.
        nth: u32,
        /// Nanoseconds of true time; at 0 the client does nothing in between.
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
    /// Whether the reverse direction is meant too.
    pub both_ways: bool,
}

impl Target {
    /// The hosts that it concerns; for links those of both sides.
    pub fn hosts(&self) -> impl Iterator<Item = &Name> {
        let (one, other): (&[Name], &[Name]) = match self {
            Target::Hosts(hosts) => (hosts, &[]),
            Target::Links(links) => (&links.from, &links.to),
        };
        one.iter().chain(other)
    }

    /// Whether it names no host where it has to.
    pub fn is_empty(&self) -> bool {
        match self {
            Target::Hosts(hosts) => hosts.is_empty(),
            Target::Links(links) => links.from.is_empty() || links.to.is_empty(),
        }
    }

    /// Forgets the hosts that are not there; says whether any remain to be struck.
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
    /// The links that it is on, and what becomes of packets there; `None` if it strikes hosts.
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
