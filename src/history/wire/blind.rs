//! When the wire shows nothing of a client: its process stands still or is dead, its link to a node is disturbed,
//! or the node is down.

use locklab_vecmap::VecMap;

use super::Wire;
use crate::{Event, FaultKind, Name, Phase, Record};

/// A time of a run, in nanoseconds since it began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) from_ns: u64,
    /// `u64::MAX` if it does not end.
    pub(super) until_ns: u64,
}

/// The blind spots of a run.
#[derive(Default)]
pub(super) struct Blind<'a> {
    /// When the process of each host ended.
    deaths: VecMap<&'a Name, Vec<u64>>,
    /// When each process stood still.
    still: VecMap<&'a Name, Vec<Span>>,
    /// When each server was down, or its machine stood still.
    down: VecMap<&'a Name, Vec<Span>>,
    /// When each link of a host was disturbed: with which others.
    links: VecMap<&'a Name, Vec<(Span, Vec<&'a Name>)>>,
}

impl<'a> Blind<'a> {
    pub(super) fn of(wire: &Wire<'a>) -> Self {
        let mut blind = Blind::default();
        let records = &wire.history.records;
        for (place, record) in records.iter().enumerate() {
            let host = &record.host;
            let Event::Fault {
                fault,
                kind,
                phase: Phase::Begins,
                links,
            } = &record.event
            else {
                continue;
            };
            let span = Span {
                from_ns: record.at_ns,
                until_ns: end_of(fault, host, &records[place..]),
            };
            if let Some(links) = links {
                let others = links.from.iter().chain(&links.to).collect();
                blind.links.entry(host).or_default().push((span, others));
            } else if record.event.is_death() {
                blind.deaths.entry(host).or_default().push(record.at_ns);
                blind.down.entry(host).or_default().push(span);
            } else if kind.stands_still() {
                blind.still.entry(host).or_default().push(span);
                // The kernel of a machine that stands still accepts no connection.
                if *kind == FaultKind::Suspend {
                    blind.down.entry(host).or_default().push(span);
                }
            }
        }
        for (host, at_ns) in wire.ended {
            blind.deaths.entry(host).or_default().push(*at_ns);
        }
        blind
    }

    /// When the process of this host ended first, after this time.
    pub(super) fn death_after(&self, host: &Name, at_ns: u64) -> Option<u64> {
        let deaths = self.deaths.get(host).into_iter().flatten().copied();
        deaths.filter(|death_ns| *death_ns >= at_ns).min()
    }

    /// Whether the process of this host stood still at some time of these two and between them.
    pub(super) fn stood_still(&self, host: &Name, from_ns: u64, to_ns: u64) -> bool {
        let mut still = self.still.get(host).into_iter().flatten();
        still.any(|span| span.from_ns <= to_ns && span.until_ns >= from_ns)
    }

    /// From when on the link of a client to a node was disturbed, at this time or later.
    pub(super) fn link_disturbed(&self, client: &Name, node: &Name, at_ns: u64) -> Option<u64> {
        let links = self.links.get(client).into_iter().flatten();
        let of_node =
            links.filter(|(span, others)| others.contains(&node) && span.until_ns > at_ns);
        of_node.map(|(span, _)| span.from_ns).min()
    }

    /// Since when a request of a client to a node may have waited to be sent: the beginning of the first blind spot
    /// between the departures of the request before it and of this one; or its own departure.
    pub(super) fn waits_since(
        &self,
        client: &Name,
        node: &Name,
        before_ns: u64,
        sent_ns: u64,
    ) -> u64 {
        let links = self.links.get(client).into_iter().flatten();
        let of_node = links.filter(|(_, others)| others.contains(&node));
        let down = self.down.get(node).into_iter().flatten();
        let spots = of_node.map(|(span, _)| span).chain(down);
        let between = spots.filter(|span| span.from_ns < sent_ns && span.until_ns > before_ns);
        between.map(|span| span.from_ns).min().unwrap_or(sent_ns)
    }

    /// The first time that the node was down, at this time or later.
    pub(super) fn node_down(&self, node: &Name, at_ns: u64) -> Option<Span> {
        let down = self.down.get(node).into_iter().flatten().copied();
        { down.filter(|span| span.until_ns > at_ns) }.min_by_key(|span| span.from_ns)
    }
}

/// When the fault that begins with the first of these records ends on this host.
fn end_of(wanted: &Name, host: &Name, records: &[Record]) -> u64 {
    let mut after = records.iter().skip(1).filter(|it| it.host == *host);
    let end = after.find(|record| {
        matches!(&record.event, Event::Fault { fault, phase: Phase::Ends, .. } if fault == wanted)
    });
    end.map_or(u64::MAX, |record| record.at_ns)
}
