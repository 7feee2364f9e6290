//! The grants of the lock: of a node, or of a majority of several.

use super::attempts::{Attempt, attempts};
use super::blind::Blind;
pub use super::holds::Doubt;
use super::holds::{Hold, holds};
use super::visits::{Visit, later, visits};
use super::{WAIT_NS, Wire, drift_ns};
use crate::Name;

/// A grant of the lock, or an attempt that was refused. Times are true, in nanoseconds since the run began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// The client.
    pub client: Name,
    /// When its request left, the first of several.
    pub asked_ns: u64,
    /// When it knew the answer.
    pub from_ns: u64,
    /// The end of what is certain; not after `from_ns`, if nothing is.
    pub until_ns: u64,
    /// When its lease was over at the earliest; `u64::MAX` if it has no end.
    pub lapse_ns: u64,
    /// Until when it may have relied on the lock: it gave it up on the wire, or ended. `u64::MAX`: to the end.
    pub gives_up_ns: u64,
    /// Whether the request that gave it up asks for the lock again. Any other is a release, or finds out that it is lost.
    pub asks_again: bool,
    /// Why less is certain than the lease.
    pub doubt: Option<Doubt>,
    /// The request with which it gave the lock up, if there is one node.
    pub release: Option<Release>,
}

impl Grant {
    /// Whether the client held the lock for certain at some time.
    pub fn is_certain(&self) -> bool {
        self.until_ns > self.from_ns
    }
}

/// A request that gives the lock up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Release {
    /// When it left.
    pub sent_ns: u64,
    /// When the reply had arrived, if it did.
    pub answered_ns: Option<u64>,
    /// Whether it deleted the key, of this grant or of another client; `None` if it was the client's own key, by
    /// another grant.
    pub removed: Option<u32>,
}

/// The answer to an attempt to take the lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Enough nodes granted the key.
    Granted(Grant),
    /// Too few did, and the client knew it at `to_ns`.
    Refused {
        /// The client.
        client: Name,
        /// When its first request left.
        from_ns: u64,
        /// When the last answer arrived.
        to_ns: u64,
    },
}

/// All answers about this key, in the order in which they were given.
pub fn grants(wire: &Wire, key: &str) -> Vec<Answer> {
    let visits = visits(wire, key);
    let blind = Blind::of(wire);
    let holds = holds(wire, &visits, &blind);
    let mut answers = Vec::new();
    for client in wire.clients() {
        for attempt in attempts(&visits, client) {
            let asks = attempt.asks.iter();
            let held: Vec<&Hold> = asks.filter_map(|ask| holds.get(ask)).collect();
            answers.extend(answer(wire, &visits, &attempt, &held));
        }
    }
    answers.sort_by_key(|answer| match answer {
        Answer::Granted(grant) => grant.from_ns,
        Answer::Refused { to_ns, .. } => *to_ns,
    });
    answers
}

fn answer(wire: &Wire, visits: &[Visit], attempt: &Attempt, held: &[&Hold]) -> Option<Answer> {
    let asked_ns = attempt.sent_ns(visits);
    let answered: Vec<&Hold> = held
        .iter()
        .copied()
        .filter(|it| it.from_ns.is_some())
        .collect();
    if answered.len() < wire.need() {
        let client = &visits[*attempt.asks.first()?].exchange.client;
        // An attempt of which the end is not known may be under way still.
        let is_over = attempt.is_prompt(visits) && held.is_empty();
        return is_over.then(|| Answer::Refused {
            client: client.clone(),
            from_ns: asked_ns,
            to_ns: attempt.answered_ns(visits),
        });
    }
    let client = answered.first()?.client;
    let last_ns = answered.iter().filter_map(|hold| hold.from_ns).max()?;
    // A program may wait for the other nodes, also for those that it cannot connect to.
    let missing = wire.nodes.saturating_sub(attempt.answers(visits));
    let from_ns = last_ns.max(attempt.answered_ns(visits)) + missing as u64 * WAIT_NS;
    let mut ends_ns: Vec<u64> = answered.iter().map(|hold| hold.until_ns).collect();
    ends_ns.sort_unstable_by(|one, other| other.cmp(one));
    let counts_ns = answered.iter().map(|hold| hold.counts_ns).min()?;
    let lapse_ns = lease_ns(wire, asked_ns.min(counts_ns), &answered);
    let gives_up = held.iter().min_by_key(|hold| hold.gives_up_ns)?;
    let gives_up_ns = gives_up.gives_up_ns;
    // A release may wait for them too, before it comes to a node that is in sight.
    let lost = answered.iter().filter(|hold| hold.doubt.is_some()).count();
    let released_ns = match wire.nodes {
        1 => gives_up_ns,
        _ => gives_up_ns.saturating_sub((missing + lost) as u64 * WAIT_NS),
    };
    let until_ns = ends_ns[wire.need() - 1].min(lapse_ns).min(released_ns);
    let doubt = answered.iter().find_map(|hold| hold.doubt);
    Some(Answer::Granted(Grant {
        client: client.clone(),
        asked_ns,
        from_ns,
        until_ns,
        lapse_ns,
        gives_up_ns,
        asks_again: gives_up.asks_again,
        doubt: doubt.filter(|_| until_ns < lapse_ns.min(gives_up_ns)),
        release: match (wire.nodes, held) {
            (1, [hold]) => release(visits, hold),
            _ => None,
        },
    }))
}

/// When the lease of a grant is over. Of one node it is that of its key, with its renewals; of several it counts
/// from the first request, and renewals add nothing.
fn lease_ns(wire: &Wire, counts_ns: u64, held: &[&Hold]) -> u64 {
    if let (1, [hold]) = (wire.nodes, held) {
        return hold.lapse_ns;
    }
    let ttl_ns = held.iter().filter_map(|hold| hold.ttl_ns).min();
    ttl_ns.map_or(u64::MAX, |ttl_ns| {
        let left_ns = ttl_ns.saturating_sub(drift_ns(ttl_ns));
        (wire.lapse)(held[0].client, counts_ns, left_ns)
    })
}

/// The request with which the client gave the key up: the one that deleted it, or else the first that names it and
/// did not find it in the client's hands; before the client asks again. What it deletes in another's name is none.
fn release(visits: &[Visit], hold: &Hold) -> Option<Release> {
    let until_asked = later(visits, hold.grant).take_while(|visit| !visit.asks);
    let mut until_asked = until_asked.filter(|visit| !visit.hands_back);
    let gives_up = |visit: &&Visit| visit.names && !visit.keeps(hold.grant);
    let visit = { until_asked.clone() }
        .find(|visit| visit.deleted.is_some())
        .or_else(|| until_asked.find(gives_up))?;
    let removed = match visit.deleted {
        None => Some(0),
        Some(None) => None,
        Some(Some(owner)) if owner == hold.grant => Some(1),
        Some(Some(owner)) => (visits[owner].exchange.client != *hold.client).then_some(1),
    };
    Some(Release {
        sent_ns: visit.exchange.sent_ns,
        answered_ns: visit.answered_ns(),
        removed,
    })
}
