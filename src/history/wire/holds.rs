//! How long a client could be certain that one node held the key for it.

use super::blind::Blind;
use super::visits::Visit;
use super::{PATIENCE_NS, RETRIES_NS, Wire};
use crate::Name;

/// A key that a node granted to a client.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hold<'a> {
    pub(super) client: &'a Name,
    /// The place of the request that was granted among the visits.
    pub(super) grant: usize,
    /// When the reply had arrived; `None` if it did not.
    pub(super) from_ns: Option<u64>,
    /// From when on the lease may count: the departure of the request, or before, if it may have waited.
    pub(super) counts_ns: u64,
    /// The time to live at the grant, in nanoseconds; `None` if there was none.
    pub(super) ttl_ns: Option<u64>,
    /// When the lease was over, renewals included; `u64::MAX` if it has no end.
    pub(super) lapse_ns: u64,
    /// The end of what is certain; not after the beginning, if nothing is.
    pub(super) until_ns: u64,
    /// When the client gave the key up on the wire; `u64::MAX` if it did not.
    pub(super) gives_up_ns: u64,
    /// Why less is certain than the lease.
    pub(super) doubt: Option<Doubt>,
}

/// Why less is certain of a grant than its lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doubt {
    /// The reply came late, or to a process that stood still: the program may not have waited for it.
    LateReply,
    /// A link was disturbed, or a node was down: the program may have given up without a message.
    Unseen,
}

/// All grants of nodes, in the order of the wire.
pub(super) fn holds<'a>(wire: &Wire<'a>, visits: &[Visit<'a>], blind: &Blind<'a>) -> Vec<Hold<'a>> {
    let granting = visits.iter().enumerate().filter(|(_, visit)| visit.grants);
    granting
        .map(|(place, _)| hold(wire, visits, place, blind))
        .collect()
}

fn hold<'a>(wire: &Wire<'a>, visits: &[Visit<'a>], grant: usize, blind: &Blind<'a>) -> Hold<'a> {
    let own = &visits[grant];
    let (client, sent_ns) = (&own.exchange.client, own.exchange.sent_ns);
    let later = later(visits, grant);
    let counts_ns = {
        let before_ns = before_ns(visits, own);
        blind.waits_since(client, &own.exchange.node, before_ns, sent_ns)
    };
    let Course {
        from_ns,
        lapse_ns,
        ends_ns,
    } = course((wire, blind), (own, counts_ns), grant, &later);
    let died_ns = blind.death_after(client, sent_ns).unwrap_or(u64::MAX);
    let heard_ns = heard_ns(wire, visits, grant);
    let mut until_ns = ends_ns.min(lapse_ns).min(died_ns).min(heard_ns);
    let mut doubt = None;
    if let Some(begins_ns) = from_ns {
        let is_late = own.answered_ns() > Some(sent_ns.saturating_add(PATIENCE_NS))
            || blind.stood_still(client, sent_ns, begins_ns);
        let unseen_ns = unseen_ns(visits, grant, &later, blind);
        if is_late {
            (until_ns, doubt) = (begins_ns, Some(Doubt::LateReply));
        } else if unseen_ns < until_ns {
            (until_ns, doubt) = (unseen_ns, Some(Doubt::Unseen));
        }
    }
    let mut gives_up = later
        .iter()
        .filter(|visit| visit.names && !visit.keeps(grant));
    let gives_up_ns = gives_up
        .next()
        .map_or(u64::MAX, |visit| visit.exchange.sent_ns);
    Hold {
        client,
        grant,
        from_ns,
        counts_ns,
        ttl_ns: own.set_ttl_ns.flatten(),
        lapse_ns,
        until_ns,
        gives_up_ns: gives_up_ns.min(died_ns),
        doubt,
    }
}

/// What follows from the requests of the client alone.
struct Course {
    /// When the grant was complete for the client, if it was.
    from_ns: Option<u64>,
    /// When the lease was over.
    lapse_ns: u64,
    /// When a request left that ends the belief; `u64::MAX` if none did.
    ends_ns: u64,
}

fn course(
    (wire, blind): (&Wire, &Blind),
    (own, counts_ns): (&Visit, u64),
    grant: usize,
    later: &[&Visit],
) -> Course {
    let (client, node) = (&own.exchange.client, &own.exchange.node);
    let lease_ns = |from_ns, ttl_ns: Option<u64>| match ttl_ns {
        Some(ttl_ns) => (wire.lapse)(client, from_ns, ttl_ns),
        None => u64::MAX,
    };
    let ttl_ns = own.set_ttl_ns.flatten();
    let (mut from_ns, mut lapse_ns) = (own.answered_ns(), lease_ns(counts_ns, ttl_ns));
    let end = later.iter().position(|visit| !visit.keeps(grant));
    let kept = &later[..end.unwrap_or(later.len())];
    let mut before_ns = own.exchange.sent_ns;
    for (place, visit) in kept.iter().enumerate() {
        let left_ns = visit.exchange.sent_ns;
        let counts_ns = blind.waits_since(client, node, before_ns, left_ns);
        before_ns = left_ns;
        let Some(set_ttl_ns) = visit.set_ttl_ns else {
            continue;
        };
        let renewed_ns = lease_ns(counts_ns, set_ttl_ns);
        let answered_ns = visit.answered_ns();
        let is_in_time = answered_ns.is_some_and(|at_ns| at_ns < lapse_ns);
        if place == 0 && ttl_ns.is_none() {
            // The second step of a grant.
            (from_ns, lapse_ns) = (answered_ns, renewed_ns);
        } else if renewed_ns < lapse_ns || is_in_time {
            lapse_ns = renewed_ns;
        }
    }
    Course {
        from_ns,
        lapse_ns,
        ends_ns: end.map_or(u64::MAX, |end| look_ns(&later[..=end])),
    }
}

/// When the first of these requests left that may belong to the last one, which gives the key up: looks at the key,
/// each answered just before the next one left.
fn look_ns(visits: &[&Visit]) -> u64 {
    let mut next_ns = visits[visits.len() - 1].exchange.sent_ns;
    for visit in visits[..visits.len() - 1]
        .iter()
        .rev()
        .filter(|visit| visit.names)
    {
        let is_followed = { visit.answered_ns() }
            .is_none_or(|at_ns| next_ns <= at_ns.saturating_add(PATIENCE_NS));
        if visit.set_ttl_ns.is_some() || !is_followed {
            break;
        }
        next_ns = next_ns.min(visit.exchange.sent_ns);
    }
    next_ns
}

/// The later requests of the same client to the same node, in the order in which they left.
pub(super) fn later<'v, 'a>(visits: &'v [Visit<'a>], grant: usize) -> Vec<&'v Visit<'a>> {
    let own = visits[grant].exchange;
    let mut later: Vec<(u64, usize)> = { visits.iter().enumerate() }
        .filter(|(_, visit)| {
            (&visit.exchange.client, &visit.exchange.node) == (&own.client, &own.node)
        })
        .map(|(place, visit)| (visit.exchange.sent_ns, place))
        .filter(|order| *order > (own.sent_ns, grant))
        .collect();
    later.sort_unstable();
    later.into_iter().map(|(_, place)| &visits[place]).collect()
}

/// When the request left that the client sent to the same node before this one; 0 if there is none.
fn before_ns(visits: &[Visit], own: &Visit) -> u64 {
    let is_same = |other: &&Visit| {
        (&other.exchange.client, &other.exchange.node) == (&own.exchange.client, &own.exchange.node)
    };
    let sent_ns = { visits.iter().filter(is_same) }.map(|visit| visit.exchange.sent_ns);
    let before = sent_ns.filter(|sent_ns| *sent_ns < own.exchange.sent_ns);
    before.max().unwrap_or(0)
}

/// When a message arrived that the node had sent after another client took the key away; `u64::MAX` if none did.
fn heard_ns(wire: &Wire, visits: &[Visit], grant: usize) -> u64 {
    let own = visits[grant].exchange;
    let held = |visit: &Visit| visit.holder == Some(grant);
    let mut after = visits[grant..]
        .iter()
        .filter(|visit| visit.exchange.node == own.node && visit.exchange.executed.is_some());
    let taken = after.find(|visit| !held(visit));
    let taken = taken.filter(|visit| visit.exchange.client != own.client);
    let Some(taken_ns) = taken.and_then(|visit| Some(visit.exchange.executed.as_ref()?.at_ns))
    else {
        return u64::MAX;
    };
    let messages = wire.history.messages.iter();
    let told = messages.filter(|message| {
        (&message.from, &message.to) == (&own.node, &own.client) && message.sent_ns >= taken_ns
    });
    told.filter_map(|message| message.arrived_ns)
        .min()
        .unwrap_or(u64::MAX)
}

/// From when on the program may have given the key up without a message; `u64::MAX` if it cannot.
fn unseen_ns(visits: &[Visit], grant: usize, later: &[&Visit], blind: &Blind) -> u64 {
    let own = visits[grant].exchange;
    let (client, node, sent_ns) = (&own.client, &own.node, own.sent_ns);
    let disturbed_ns = blind
        .link_disturbed(client, node, sent_ns)
        .unwrap_or(u64::MAX);
    let down_ns = blind.node_down(node, sent_ns).map_or(u64::MAX, |down| {
        let after = later
            .iter()
            .filter(|visit| visit.exchange.sent_ns >= down.until_ns);
        let about = { after }.find(|visit| visit.names);
        let is_its_own = about.is_some_and(|visit| {
            !visit.asks && visit.exchange.sent_ns >= down.until_ns.saturating_add(RETRIES_NS)
        });
        if is_its_own { u64::MAX } else { down.from_ns }
    });
    disturbed_ns.min(down_ns)
}
