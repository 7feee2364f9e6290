//! Which faults, on which hosts, hinder clients that request the lock, and for how long.
//! [`deadlock`](super) describes the rule.

use locklab_values::units::NS_PER_S;

use super::RequestTracker;
use crate::ResourceRole;
use locklab_history::{FaultKind, FaultyLinks, Name, PacketFault, RESOURCE, Record, Symptom};

/// The faults that excuse a client's wait for a free lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Excuse {
    /// Those of its own host, of the lock's servers, and of the links among them.
    Servers,
    /// Those of its own host and its links only.
    OwnHost,
    /// None, except that a paused client requests nothing.
    Nothing,
}

/// A fault that may hinder clients that request the lock.
pub(super) struct Obstacle<'h> {
    fault: &'h Name,
    /// The host that it affects; `None`: links.
    host: Option<usize>,
    /// The hosts of the affected clients.
    clients: Vec<usize>,
    effect: Effect,
}

/// The effect on these clients.
#[derive(Clone, Copy)]
pub(super) enum Effect {
    /// They are stopped.
    Stops,
    /// They get no replies, but their requests arrive.
    Silences,
    /// Their packets are lost, and retransmitted.
    Cuts,
    /// Everything that the bound counts takes this much longer.
    Delays { by_ns: u64 },
}

/// A period in which packets of a client are lost, for one or several consecutive reasons.
#[derive(Clone, Copy, Default)]
pub(super) struct Silence {
    since_ns: u64,
    /// How many faults cause it now.
    causes: usize,
    /// The time by which every lost packet has been retransmitted, in nanoseconds.
    until_ns: u64,
}

impl Silence {
    fn begin(&mut self, now_ns: u64) {
        let goes_on = self.causes > 0 || now_ns < self.until_ns;
        if !goes_on {
            self.since_ns = now_ns;
        }
        self.causes += 1;
    }

    /// Returns the time by which every lost packet has been retransmitted, in nanoseconds.
    fn end(&mut self, now_ns: u64) -> u64 {
        self.causes -= 1;
        let lasted_ns = now_ns - self.since_ns;
        let again_ns = now_ns + lasted_ns.min(MAX_TIMEOUT_NS) + FIRST_TIMEOUT_NS;
        self.until_ns = self.until_ns.max(again_ns);
        self.until_ns
    }
}

/// The target of a kind of fault.
pub(super) enum Kind<'h> {
    /// Nothing that a client waits for.
    Harmless,
    /// The process of its host: this is the effect on clients that wait for its reply.
    OfProcess(Effect),
    /// These links.
    OfLinks(&'h FaultyLinks),
    /// Links of its host; the history is an old one and does not record which.
    OfUnnamedLinks,
    /// The connections of its host, for an instant.
    OfConnections,
}

pub(super) fn kind_of<'h>(kind: FaultKind, links: Option<&'h FaultyLinks>) -> Kind<'h> {
    match (kind.symptom(), links) {
        (_, Some(links)) => Kind::OfLinks(links),
        (Symptom::Links, None) => Kind::OfUnnamedLinks,
        (Symptom::Nothing, None) => Kind::Harmless,
        (Symptom::Loss, None) => Kind::OfProcess(Effect::Cuts),
        (Symptom::Silence | Symptom::Refusals, None) => Kind::OfProcess(Effect::Silences),
        (Symptom::Broken, None) => Kind::OfConnections,
    }
}

impl<'h> RequestTracker<'h> {
    /// Begins a fault: the clients that it hinders count as requesting nothing until it ends.
    pub(super) fn begin(
        &mut self,
        fault: &'h Name,
        host: usize,
        kind: Kind<'h>,
        record: &'h Record,
    ) {
        let is_known = |other: &Obstacle| other.host.is_none() && other.fault == fault;
        let (struck, clients, effect) = match kind {
            Kind::Harmless => return,
            Kind::OfProcess(_) if self.wanting[host].client.is_some() => {
                (Some(host), vec![host], Effect::Stops)
            }
            Kind::OfProcess(effect) if self.is_server(&record.host) => {
                (Some(host), self.all_if_excused(), effect)
            }
            Kind::OfProcess(_) => return,
            Kind::OfLinks(_) if self.obstacles.iter().any(is_known) => return,
            Kind::OfLinks(links) => (None, self.clients_of(links), self.effect(links)),
            Kind::OfUnnamedLinks => (Some(host), self.possibly_beside(host), Effect::Cuts),
            Kind::OfConnections => (Some(host), self.possibly_beside(host), Effect::Silences),
        };
        for &client in &clients {
            match effect {
                Effect::Delays { by_ns } => self.wanting[client].delay(record.at_ns, by_ns),
                Effect::Stops | Effect::Silences | Effect::Cuts => {
                    self.close(client, record.at_ns, false);
                    self.wanting[client].hindered += 1;
                }
            }
            if let Effect::Cuts = effect {
                self.wanting[client].silence.begin(record.at_ns);
            }
        }
        self.has_excused |= !clients.is_empty() && !matches!(effect, Effect::Stops);
        self.obstacles.push(Obstacle {
            fault,
            host: struck,
            clients,
            effect,
        });
    }

    /// Ends a fault. The clients that it hindered and that still request the lock do so unhindered as soon
    /// as the delayed packets have arrived.
    pub(super) fn end(&mut self, fault: &Name, host: usize, now_ns: u64) {
        let over = |obstacle: &Obstacle| {
            obstacle.fault == fault && obstacle.host.is_none_or(|struck| struck == host)
        };
        let Some(place) = self.obstacles.iter().position(over) else {
            return;
        };
        let obstacle = self.obstacles.swap_remove(place);
        let time_outs_ns = self.bounds.time_outs_ns;
        for client in obstacle.clients {
            let wanting = &mut self.wanting[client];
            if let Effect::Delays { by_ns } = obstacle.effect {
                wanting.delay_ns = wanting.delay_ns.saturating_sub(by_ns);
                continue;
            }
            wanting.hindered -= 1;
            let until_ns = match obstacle.effect {
                Effect::Stops => now_ns,
                Effect::Silences | Effect::Delays { .. } => now_ns + time_outs_ns,
                Effect::Cuts => wanting.silence.end(now_ns) + time_outs_ns,
            };
            wanting.hindered_until_ns = wanting.hindered_until_ns.max(until_ns);
            if wanting.requests {
                self.open(client, now_ns);
            }
        }
    }

    /// All clients, if a fault of the servers is an excuse.
    fn all_if_excused(&self) -> Vec<usize> {
        match self.excuse {
            Excuse::Servers => self.clients().collect(),
            Excuse::OwnHost | Excuse::Nothing => Vec::new(),
        }
    }

    /// The clients that a fault may hinder if only one host of its links is known.
    fn possibly_beside(&self, host: usize) -> Vec<usize> {
        match self.excuse {
            Excuse::Nothing => Vec::new(),
            _ if self.wanting[host].client.is_some() => vec![host],
            _ => self.all_if_excused(),
        }
    }

    /// The clients that a fault of these links hinders.
    fn clients_of(&self, links: &FaultyLinks) -> Vec<usize> {
        let between = |one: &dyn Fn(&Name) -> bool, other: &dyn Fn(&Name) -> bool| {
            let joins = |from: &[Name], to: &[Name]| from.iter().any(one) && to.iter().any(other);
            joins(&links.from, &links.to) || joins(&links.to, &links.from)
        };
        let is_server = |name: &Name| self.is_server(name);
        match self.excuse {
            Excuse::Nothing => Vec::new(),
            Excuse::Servers if between(&is_server, &is_server) => self.all_if_excused(),
            Excuse::Servers | Excuse::OwnHost => {
                let is_beside = |&host: &usize| {
                    let is_client = |name: &Name| self.wanting[host].client == Some(name);
                    between(&is_client, &is_server)
                };
                self.clients().filter(is_beside).collect()
            }
        }
    }

    /// The effect of a fault of links on the clients at their ends.
    fn effect(&self, links: &FaultyLinks) -> Effect {
        let round_trip_ns = match links.packets {
            PacketFault::Cut => return Effect::Cuts,
            PacketFault::Slow { extra_ns } if links.both_ways => extra_ns.saturating_mul(2),
            PacketFault::Slow { extra_ns } => extra_ns,
            PacketFault::Lossy { probability } => {
                let by_ns = retransmission_ns(probability);
                return match self.is_patient(by_ns) {
                    true => Effect::Delays { by_ns },
                    false => Effect::Cuts,
                };
            }
        };
        match self.is_patient(round_trip_ns) {
            true => Effect::Delays {
                by_ns: round_trip_ns.saturating_mul(u64::from(self.bounds.round_trips)),
            },
            false => Effect::Silences,
        }
    }

    /// Whether a client still waits for a reply with this delay.
    fn is_patient(&self, late_ns: u64) -> bool {
        self.bounds
            .reply_slack_ns
            .is_none_or(|slack_ns| late_ns <= slack_ns)
    }

    fn clients(&self) -> impl Iterator<Item = usize> {
        (0..self.wanting.len()).filter(|&host| self.wanting[host].client.is_some())
    }

    /// Whether the host of this name is one of the lock's servers.
    fn is_server(&self, name: &Name) -> bool {
        match &**name {
            RESOURCE => self.bounds.resource == ResourceRole::GivesTokens,
            _ => !self
                .wanting
                .iter()
                .any(|wanting| wanting.client == Some(name)),
        }
    }
}

/// The minimum delay of one transmission in a million on a link that loses this share of them;
/// infinite where nothing gets through.
///
/// This many are lost in a row, and before each retransmission TCP doubles its timeout,
/// beginning with a second (RFC 6298; an established connection begins with less).
pub fn retransmission_ns(probability: f64) -> u64 {
    const ONE_IN: f64 = 1e6;
    if probability <= 0.0 {
        return 0;
    }
    if probability >= 1.0 {
        return u64::MAX;
    }
    let in_a_row = (ONE_IN.ln() / -probability.ln()).ceil();
    // The cast saturates.
    ((in_a_row.exp2() - 1.0) * FIRST_TIMEOUT_NS as f64) as u64
}

/// TCP's first retransmission timeout (RFC 6298).
const FIRST_TIMEOUT_NS: u64 = NS_PER_S;

/// TCP's longest retransmission timeout (Linux, `TCP_RTO_MAX`).
const MAX_TIMEOUT_NS: u64 = 120_000_000_000;
