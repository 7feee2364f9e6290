//! The faults of links that are in force.

use locklab_history::{FaultyLinks, Name, PacketFault};

/// Identifies an installed fault of links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RuleId(u64);

/// The installed faults.
#[derive(Debug, Default)]
pub(super) struct Rules {
    installed: Vec<(RuleId, FaultyLinks)>,
    next: u64,
}

impl Rules {
    pub(super) fn install(&mut self, links: FaultyLinks) -> RuleId {
        let id = RuleId(self.next);
        self.next += 1;
        self.installed.push((id, links));
        id
    }

    pub(super) fn lift(&mut self, id: RuleId) {
        self.installed.retain(|(installed, _)| *installed != id);
    }

    /// The probability that no fault loses a transmission; `None` if the link is cut.
    pub(super) fn survival(&self, from: &Name, to: &Name) -> Option<f64> {
        let mut survives = 1.0;
        for packets in self.concerning(from, to) {
            match packets {
                PacketFault::Cut => return None,
                PacketFault::Lossy { probability } => survives *= 1.0 - probability,
                PacketFault::Slow { .. } => {}
            }
        }
        Some(survives)
    }

    /// The delay that the faults add, in nanoseconds.
    pub(super) fn extra_ns(&self, from: &Name, to: &Name) -> u64 {
        self.concerning(from, to)
            .map(|packets| match packets {
                PacketFault::Slow { extra_ns } => extra_ns,
                PacketFault::Cut | PacketFault::Lossy { .. } => 0,
            })
            .fold(0, u64::saturating_add)
    }

    fn concerning(&self, from: &Name, to: &Name) -> impl Iterator<Item = PacketFault> {
        let rules = self.installed.iter().map(|(_, links)| links);
        rules
            .filter(|links| concerns(links, from, to))
            .map(|links| links.packets)
    }
}

fn concerns(links: &FaultyLinks, from: &Name, to: &Name) -> bool {
    let forth = links.from.contains(from) && links.to.contains(to);
    let back = links.both_ways && links.from.contains(to) && links.to.contains(from);
    forth || back
}
