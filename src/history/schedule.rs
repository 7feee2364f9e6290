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

#[cfg(test)]
mod tests {
    use super::*;

    fn names<const N: usize>(names: [&str; N]) -> Vec<Name> {
        names.map(Name::from).into()
    }

    fn links(from: &[&str], to: &[&str]) -> Target {
        let side = |hosts: &[&str]| hosts.iter().map(|&host| host.into()).collect();
        Target::Links(Links {
            from: side(from),
            to: side(to),
            both_ways: true,
        })
    }

    fn hosts(target: &Target) -> Vec<&str> {
        target.hosts().map(|host| &**host).collect()
    }

    #[test]
    fn links_have_the_hosts_of_both_sides() {
        assert_eq!(hosts(&links(&["c1", "c2"], &["n1"])), ["c1", "c2", "n1"]);
        assert_eq!(hosts(&Target::Hosts(names(["n2", "n1"]))), ["n2", "n1"]);
    }

    #[test]
    fn a_target_needs_a_host_and_links_one_on_each_side() {
        assert!(Target::Hosts(Vec::new()).is_empty());
        assert!(!Target::Hosts(names(["c1"])).is_empty());
        assert!(links(&["c1"], &[]).is_empty());
        assert!(links(&[], &["n1"]).is_empty());
        assert!(!links(&["c1"], &["n1"]).is_empty());
    }

    #[test]
    fn a_target_keeps_the_hosts_that_are_there_and_tells_whether_it_still_is_one() {
        let keep = |mut target: Target| {
            let is_left = target.keep_hosts(|host| host.ends_with('1'));
            (target, is_left)
        };
        let some = Target::Hosts(names(["c1", "c2"]));
        assert_eq!(keep(some), (Target::Hosts(names(["c1"])), true));
        let none = Target::Hosts(names(["c2"]));
        assert_eq!(keep(none), (Target::Hosts(Vec::new()), false));
        let both = links(&["c1", "c2"], &["n1", "n2"]);
        assert_eq!(keep(both), (links(&["c1"], &["n1"]), true));
        let one = links(&["c1", "c2"], &["n2"]);
        assert_eq!(keep(one), (links(&["c1"], &[]), false));
    }

    #[test]
    fn a_fault_of_links_does_to_packets_what_its_kind_says() {
        let fault = |kind, target| Fault {
            name: "fault".into(),
            start: Start::At { at_ns: 0 },
            duration_ns: None,
            kind,
            target,
        };
        let packets = |kind| {
            let faulty = fault(kind, links(&["c1"], &["n1"])).faulty_links();
            faulty.map(|links| links.packets)
        };
        let expected = FaultyLinks {
            from: names(["c1"]),
            to: names(["n1"]),
            both_ways: true,
            packets: PacketFault::Cut,
        };
        let cut = fault(FaultKind::Partition, links(&["c1"], &["n1"]));
        assert_eq!(cut.faulty_links(), Some(expected));
        assert_eq!(
            packets(FaultKind::SlowLink { extra: 7 }),
            Some(PacketFault::Slow { extra_ns: 7 })
        );
        let probability = 0.5;
        assert_eq!(
            packets(FaultKind::Loss { probability }),
            Some(PacketFault::Lossy { probability })
        );
        let pause = fault(FaultKind::Pause, Target::Hosts(names(["c1"])));
        assert_eq!(pause.faulty_links(), None);
    }
}
