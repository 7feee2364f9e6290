//! The fault schedule of a run, as data.

mod form;

use serde::{Deserialize, Serialize};

use crate::{Failpoint, FaultKind, FaultyLinks, HostFault, LinkFault, Name, PacketFault, Step};

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
    /// Its kind and its targets.
    pub effect: Effect,
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
        /// Nanoseconds of true time; with 0 the client does nothing before the fault takes effect.
        delay_ns: u64,
    },
    /// `delay_ns` after a step of the run.
    AtStep {
        /// The step; never a failpoint, for which there is [`Start::After`].
        step: Step,
        /// Nanoseconds of true time; with 0 the fault takes effect before the host acts on the step.
        delay_ns: u64,
    },
}

impl Start {
    /// The start `delay_ns` after a step.
    pub fn at_step(step: Step, delay_ns: u64) -> Start {
        match step {
            Step::Failpoint(moment) => Start::After {
                client: moment.client,
                point: moment.point,
                nth: moment.nth,
                delay_ns,
            },
            step => Start::AtStep { step, delay_ns },
        }
    }
}

/// A fault with its targets. A scenario writes both sorts of fault in a form of its own.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect<OfHosts = HostFault, OfLinks = LinkFault> {
    /// A fault of hosts, or of their processes.
    Hosts {
        /// What it does to each.
        fault: OfHosts,
        /// The hosts.
        hosts: Vec<Name>,
    },
    /// A fault of links.
    Links {
        /// What it does to each.
        fault: OfLinks,
        /// The links.
        links: Links,
    },
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

impl<OfHosts, OfLinks> Effect<OfHosts, OfLinks> {
    /// The hosts affected by the fault; for links, the hosts of both sides.
    pub fn hosts(&self) -> impl Iterator<Item = &Name> {
        let (one, other): (&[Name], &[Name]) = match self {
            Effect::Hosts { hosts, .. } => (hosts, &[]),
            Effect::Links { links, .. } => (&links.from, &links.to),
        };
        one.iter().chain(other)
    }

    /// Whether the target lacks a host that it needs.
    pub fn is_empty(&self) -> bool {
        match self {
            Effect::Hosts { hosts, .. } => hosts.is_empty(),
            Effect::Links { links, .. } => links.from.is_empty() || links.to.is_empty(),
        }
    }

    /// Removes the hosts that do not exist; returns whether any target remains.
    pub fn keep_hosts(&mut self, is_there: impl Fn(&str) -> bool) -> bool {
        let keep = |hosts: &mut Vec<Name>| hosts.retain(|host| is_there(host));
        match self {
            Effect::Hosts { hosts, .. } => keep(hosts),
            Effect::Links { links, .. } => {
                keep(&mut links.from);
                keep(&mut links.to);
            }
        }
        !self.is_empty()
    }
}

impl<Step, Rate, Line, Delay, Share> Effect<HostFault<Step, Rate, Line>, LinkFault<Delay, Share>> {
    /// The kind of the fault.
    pub fn kind(&self) -> FaultKind {
        match self {
            Effect::Hosts { fault, .. } => fault.kind(),
            Effect::Links { fault, .. } => fault.kind(),
        }
    }
}

impl Fault {
    /// The kind of the fault.
    pub fn kind(&self) -> FaultKind {
        self.effect.kind()
    }

    /// The links affected by the fault, and its effect on packets; `None` if it affects hosts.
    pub fn faulty_links(&self) -> Option<FaultyLinks> {
        match &self.effect {
            Effect::Hosts { .. } => None,
            Effect::Links { fault, links } => Some(links.under(*fault)),
        }
    }
}

impl Links {
    /// These links while a fault affects them.
    pub fn under(&self, fault: LinkFault) -> FaultyLinks {
        FaultyLinks {
            from: self.from.clone(),
            to: self.to.clone(),
            both_ways: self.both_ways,
            packets: match fault {
                LinkFault::Partition => PacketFault::Cut,
                LinkFault::SlowLink { extra } => PacketFault::Slow { extra_ns: extra },
                LinkFault::Loss { probability } => PacketFault::Lossy { probability },
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names<const N: usize>(names: [&str; N]) -> Vec<Name> {
        names.map(Name::from).into()
    }

    fn links(from: &[&str], to: &[&str]) -> Effect {
        of_links(LinkFault::Partition, from, to)
    }

    fn of_links(fault: LinkFault, from: &[&str], to: &[&str]) -> Effect {
        let side = |hosts: &[&str]| hosts.iter().map(|&host| host.into()).collect();
        Effect::Links {
            fault,
            links: Links {
                from: side(from),
                to: side(to),
                both_ways: true,
            },
        }
    }

    fn of_hosts<const N: usize>(hosts: [&str; N]) -> Effect {
        Effect::Hosts {
            fault: HostFault::Pause,
            hosts: names(hosts),
        }
    }

    fn hosts(effect: &Effect) -> Vec<&str> {
        effect.hosts().map(|host| &**host).collect()
    }

    #[test]
    fn links_have_the_hosts_of_both_sides() {
        assert_eq!(hosts(&links(&["c1", "c2"], &["n1"])), ["c1", "c2", "n1"]);
        assert_eq!(hosts(&of_hosts(["n2", "n1"])), ["n2", "n1"]);
    }

    #[test]
    fn a_target_needs_a_host_and_links_one_on_each_side() {
        assert!(of_hosts([]).is_empty());
        assert!(!of_hosts(["c1"]).is_empty());
        assert!(links(&["c1"], &[]).is_empty());
        assert!(links(&[], &["n1"]).is_empty());
        assert!(!links(&["c1"], &["n1"]).is_empty());
    }

    #[test]
    fn keep_hosts_removes_unknown_hosts_and_reports_whether_a_target_remains() {
        let keep = |mut effect: Effect| {
            let is_left = effect.keep_hosts(|host| host.ends_with('1'));
            (effect, is_left)
        };
        assert_eq!(keep(of_hosts(["c1", "c2"])), (of_hosts(["c1"]), true));
        assert_eq!(keep(of_hosts(["c2"])), (of_hosts([]), false));
        let both = links(&["c1", "c2"], &["n1", "n2"]);
        assert_eq!(keep(both), (links(&["c1"], &["n1"]), true));
        let one = links(&["c1", "c2"], &["n2"]);
        assert_eq!(keep(one), (links(&["c1"], &[]), false));
    }

    #[test]
    fn link_fault_affects_packets_according_to_its_kind() {
        let fault = |effect| Fault {
            name: "fault".into(),
            start: Start::At { at_ns: 0 },
            duration_ns: None,
            effect,
        };
        let packets = |kind| {
            let faulty = fault(of_links(kind, &["c1"], &["n1"])).faulty_links();
            faulty.map(|links| links.packets)
        };
        let expected = FaultyLinks {
            from: names(["c1"]),
            to: names(["n1"]),
            both_ways: true,
            packets: PacketFault::Cut,
        };
        let cut = fault(links(&["c1"], &["n1"]));
        assert_eq!(cut.faulty_links(), Some(expected));
        assert_eq!(
            packets(LinkFault::SlowLink { extra: 7 }),
            Some(PacketFault::Slow { extra_ns: 7 })
        );
        let probability = 0.5;
        assert_eq!(
            packets(LinkFault::Loss { probability }),
            Some(PacketFault::Lossy { probability })
        );
        assert_eq!(fault(of_hosts(["c1"])).faulty_links(), None);
    }
}
