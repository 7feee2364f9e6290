//! The links between hosts: latency, loss, and the faults in force.
//!
//! The faults that apply to a transmission are those at the instant at which it leaves. Faults
//! that overlap add up: a link is cut if any of them cuts it, their delays are added, and a
//! transmission has to survive each of them. Within one host there is no network.

use locklab_values::dist::Dist;
use locklab_values::random::Stream;
use locklab_vecmap::VecSet;

/// The effect of a rule on the segments that match it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LinkEffect {
    /// Nothing gets through.
    Cut,
    /// Every segment takes longer.
    Slow {
        /// Nanoseconds, one way.
        extra_ns: u64,
    },
    /// Each transmission is lost with this probability.
    Lossy {
        /// From 0 to 1.
        probability: f64,
    },
}

/// A fault of the links from some hosts to others, in that direction.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkRule<H> {
    /// Senders.
    pub from: Vec<H>,
    /// Receivers.
    pub to: Vec<H>,
    /// Whether the reverse direction is affected too.
    pub both_ways: bool,
    /// The effect on segments.
    pub effect: LinkEffect,
}

/// Identifies an installed rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RuleId(u64);

/// The two hosts of a transmission.
#[derive(Debug)]
pub struct Hop<'a, H> {
    /// The sender.
    pub from: &'a H,
    /// The receiver.
    pub to: &'a H,
}

/// All links of a run.
#[derive(Debug)]
pub struct Links<H> {
    latency: Dist,
    loss: f64,
    random: Stream,
    rules: Vec<(RuleId, LinkRule<H>)>,
    next_rule: u64,
    /// Hosts without power: they neither send nor receive.
    silent: VecSet<H>,
}

impl<H: Ord> Links<H> {
    /// Links of this one-way latency, on which one transmission is lost with the probability
    /// `loss`. Both are drawn from `random`: for each transmission first whether it gets through,
    /// if that is not certain, then how long it takes.
    pub fn new(latency: Dist, loss: f64, random: Stream) -> Self {
        Self {
            latency,
            loss,
            random,
            rules: Vec::new(),
            next_rule: 0,
            silent: VecSet::new(),
        }
    }

    /// Installs a fault of links.
    pub fn install(&mut self, rule: LinkRule<H>) -> RuleId {
        let id = RuleId(self.next_rule);
        self.next_rule += 1;
        self.rules.push((id, rule));
        id
    }

    /// Ends a fault of links. Held segments are sent at their next retransmission.
    pub fn lift(&mut self, id: RuleId) {
        self.rules.retain(|(installed, _)| *installed != id);
    }

    /// Whether no fault is in force, and every host has power.
    pub fn are_undisturbed(&self) -> bool {
        self.rules.is_empty() && self.silent.is_empty()
    }

    /// Whether a host is without power.
    pub fn is_silent(&self, host: &H) -> bool {
        self.silent.contains(host)
    }

    /// Cuts the power of a host; returns whether it had power.
    pub fn silence(&mut self, host: H) -> bool {
        self.silent.insert(host)
    }

    /// Restores the power of a host.
    pub fn unsilence(&mut self, host: &H) {
        self.silent.remove(host);
    }

    /// The stream from which latency and loss are drawn.
    pub fn random(&self) -> &Stream {
        &self.random
    }

    /// Whether a transmission that leaves now arrives.
    pub(crate) fn gets_through(&mut self, hop: &Hop<'_, H>) -> bool {
        if self.silent.contains(hop.to) {
            return false;
        }
        if hop.from == hop.to {
            return true;
        }
        let mut survives = 1.0 - self.loss;
        for (_, rule) in self.rules.iter().filter(|(_, rule)| rule.concerns(hop)) {
            match rule.effect {
                LinkEffect::Cut => return false,
                LinkEffect::Lossy { probability } => survives *= 1.0 - probability,
                LinkEffect::Slow { .. } => {}
            }
        }
        survives >= 1.0 || self.random.chance(survives)
    }

    /// How long a transmission takes that leaves now, in nanoseconds.
    pub(crate) fn delay_ns(&mut self, hop: &Hop<'_, H>) -> u64 {
        if hop.from == hop.to {
            return 0;
        }
        let extra_ns = self
            .rules
            .iter()
            .filter(|(_, rule)| rule.concerns(hop))
            .map(|(_, rule)| match rule.effect {
                LinkEffect::Slow { extra_ns } => extra_ns,
                _ => 0,
            })
            .fold(0, u64::saturating_add);
        let latency_ns = self.latency.sample_ns(&mut self.random);
        latency_ns.saturating_add(extra_ns)
    }
}

impl<H: Eq> LinkRule<H> {
    fn concerns(&self, hop: &Hop<'_, H>) -> bool {
        let forth = self.from.contains(hop.from) && self.to.contains(hop.to);
        let back = self.both_ways && self.from.contains(hop.to) && self.to.contains(hop.from);
        forth || back
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CUT: LinkEffect = LinkEffect::Cut;

    fn links() -> Links<u8> {
        Links::new(Dist::Constant(3.0), 0.0, Stream::new(1, "network"))
    }

    fn rule(from: u8, to: u8, both_ways: bool, effect: LinkEffect) -> LinkRule<u8> {
        LinkRule {
            from: vec![from],
            to: vec![to],
            both_ways,
            effect,
        }
    }

    fn hop((from, to): &(u8, u8)) -> Hop<'_, u8> {
        Hop { from, to }
    }

    #[test]
    fn a_rule_applies_to_its_direction_or_to_both() {
        let mut links = links();
        links.install(rule(1, 2, false, CUT));
        links.install(rule(3, 4, true, CUT));
        let open =
            [(1, 2), (2, 1), (3, 4), (4, 3), (1, 4)].map(|ends| links.gets_through(&hop(&ends)));
        assert_eq!(open, [false, true, false, false, true]);
    }

    #[test]
    fn delays_of_overlapping_faults_add_up_and_saturate() {
        let mut links = links();
        let extra_ns = 10;
        links.install(rule(1, 2, false, LinkEffect::Slow { extra_ns }));
        let other = links.install(rule(1, 2, true, LinkEffect::Slow { extra_ns: 7 }));
        assert_eq!(links.delay_ns(&hop(&(1, 2))), 3_000_017);
        assert_eq!(links.delay_ns(&hop(&(2, 1))), 3_000_007);
        links.lift(other);
        assert_eq!(links.delay_ns(&hop(&(1, 2))), 3_000_010);
        links.install(rule(1, 2, false, LinkEffect::Slow { extra_ns: u64::MAX }));
        assert_eq!(links.delay_ns(&hop(&(1, 2))), u64::MAX);
    }

    #[test]
    fn link_stays_cut_until_the_last_fault_on_it_ends() {
        let mut links = links();
        let first = links.install(rule(1, 2, false, CUT));
        let second = links.install(rule(2, 1, true, CUT));
        links.lift(first);
        assert!(!links.gets_through(&hop(&(1, 2))));
        links.lift(second);
        assert!(links.gets_through(&hop(&(1, 2))));
    }

    /// One draw decides of all losses together; a cut link, and one without loss, take none.
    #[test]
    fn each_transmission_draws_once_regardless_of_loss_rules() {
        let half = LinkEffect::Lossy { probability: 0.5 };
        let mut links = links();
        links.gets_through(&hop(&(1, 2)));
        links.install(rule(1, 2, false, half));
        let cut = links.install(rule(1, 2, false, CUT));
        links.gets_through(&hop(&(1, 2)));
        let mut stream = Stream::new(1, "network");
        assert_eq!(*links.random(), stream);
        links.lift(cut);
        links.install(rule(1, 2, true, half));
        links.gets_through(&hop(&(1, 2)));
        stream.chance(0.25);
        assert_eq!(*links.random(), stream);
    }

    #[test]
    fn host_without_power_receives_nothing_even_from_itself() {
        let mut links = links();
        links.install(rule(1, 1, true, CUT));
        assert!(links.gets_through(&hop(&(1, 1))));
        assert_eq!(links.delay_ns(&hop(&(1, 1))), 0);
        assert!(links.silence(1) && !links.silence(1));
        assert!(!links.gets_through(&hop(&(1, 1))));
        assert!(!links.gets_through(&hop(&(2, 1))));
        links.unsilence(&1);
        assert!(links.gets_through(&hop(&(2, 1))));
    }
}
