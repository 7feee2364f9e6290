//! How long a client could be certain that one node held the key for it.

use std::collections::BTreeMap;

use super::blind::Blind;
use super::visits::{Visit, later};
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
    /// Whether the request that gave it up asks for the key again.
    pub(super) asks_again: bool,
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

/// All grants of nodes, by the places of the requests.
pub(super) fn holds<'a>(
    wire: &Wire<'a>,
    visits: &[Visit<'a>],
    blind: &Blind<'a>,
) -> BTreeMap<usize, Hold<'a>> {
    let granting = visits.iter().enumerate().filter(|(_, visit)| visit.grants);
    granting
        .map(|(place, _)| (place, hold(wire, visits, place, blind)))
        .collect()
}

fn hold<'a>(wire: &Wire<'a>, visits: &[Visit<'a>], grant: usize, blind: &Blind<'a>) -> Hold<'a> {
    let own = &visits[grant];
    let (client, sent_ns) = (&own.exchange.client, own.exchange.sent_ns);
    let before_ns = own
        .before
        .map_or(0, |before| visits[before].exchange.sent_ns);
    let counts_ns = blind.waits_since(client, &own.exchange.node, before_ns, sent_ns);
    let Course {
        from_ns,
        lapse_ns,
        ends_ns,
    } = course((wire, blind), visits, grant, counts_ns);
    let died_ns = blind.death_after(client, sent_ns).unwrap_or(u64::MAX);
    let heard_ns = heard_ns(wire, visits, grant);
    let back = handed_back(visits, grant);
    let back_ns = back.map_or(u64::MAX, executed_ns);
    let replaced_ns = replaced_ns(visits, grant);
    let ends_ns = ends_ns.min(lapse_ns).min(died_ns).min(heard_ns);
    let mut until_ns = ends_ns.min(back_ns).min(replaced_ns);
    let mut doubt = None;
    if let Some(begins_ns) = from_ns {
        let is_late = own.answered_ns() > Some(sent_ns.saturating_add(PATIENCE_NS))
            || blind.stood_still(client, sent_ns, begins_ns);
        let unseen_ns = unseen_ns(visits, grant, blind);
        if is_late {
            (until_ns, doubt) = (begins_ns, Some(Doubt::LateReply));
        } else if unseen_ns < until_ns {
            (until_ns, doubt) = (unseen_ns, Some(Doubt::Unseen));
        }
    }
    let mut later = later(visits, grant);
    let gives_up = later.find(|visit| visit.names && !visit.keeps(grant));
    let gives_up_ns = gives_up.map_or(u64::MAX, |visit| visit.exchange.sent_ns);
    let asks_again = gives_up.is_some_and(|visit| visit.asks);
    // Who looked at the key may have its value from there.
    let surely_back = back.filter(|back| !has_looked(visits, grant, &back.exchange.client));
    let surely_back_ns = surely_back.map_or(u64::MAX, executed_ns);
    Hold {
        client,
        grant,
        from_ns,
        counts_ns,
        ttl_ns: own.set_ttl_ns.flatten(),
        lapse_ns,
        until_ns,
        gives_up_ns: gives_up_ns.min(died_ns).min(surely_back_ns),
        asks_again,
        doubt,
    }
}

/// What follows from the requests of the client alone.
struct Course {
    /// When the grant was complete for the client, if it was.
    from_ns: Option<u64>,
    /// When the lease was over.
    lapse_ns: u64,
    /// When a request left that ends the belief; the end of the process or of the run, if none did.
    ends_ns: u64,
}

fn course(
    (wire, blind): (&Wire, &Blind),
    visits: &[Visit],
    grant: usize,
    counts_ns: u64,
) -> Course {
    let own = &visits[grant];
    let (client, node) = (&own.exchange.client, &own.exchange.node);
    let lease_ns = |from_ns, ttl_ns: Option<u64>| match ttl_ns {
        Some(ttl_ns) => (wire.lapse)(client, from_ns, ttl_ns),
        None => u64::MAX,
    };
    let ttl_ns = own.set_ttl_ns.flatten();
    let (mut from_ns, mut lapse_ns) = (own.answered_ns(), lease_ns(counts_ns, ttl_ns));
    let kept: Vec<&Visit> = later(visits, grant)
        .take_while(|visit| visit.keeps(grant))
        .collect();
    let end = later(visits, grant).nth(kept.len());
    // What would have followed, nobody knows.
    let died_ns = blind.death_after(client, own.exchange.sent_ns);
    let over_ns = died_ns.unwrap_or(u64::MAX).min(wire.history.end_ns);
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
        ends_ns: look_ns(&kept, end.map_or(over_ns, |end| end.exchange.sent_ns)),
    }
}

/// When the first request left that may belong to the one that gives the key up at this time: the looks at the key
/// before it, each answered just before the next one left.
fn look_ns(kept: &[&Visit], gives_up_ns: u64) -> u64 {
    let mut next_ns = gives_up_ns;
    for visit in kept.iter().rev().filter(|visit| visit.names) {
        let is_followed = { visit.answered_ns() }
            .is_none_or(|at_ns| next_ns <= at_ns.saturating_add(PATIENCE_NS));
        if visit.set_ttl_ns.is_some() || !is_followed {
            break;
        }
        next_ns = next_ns.min(visit.exchange.sent_ns);
    }
    next_ns
}

/// The request with which another client deleted the key in the client's name.
fn handed_back<'v, 'a>(visits: &'v [Visit<'a>], grant: usize) -> Option<&'v Visit<'a>> {
    let mut visits = visits[grant..].iter();
    visits.find(|visit| visit.hands_back && visit.deleted == Some(Some(grant)))
}

/// Whether this client read the key while the node held it by the grant.
fn has_looked(visits: &[Visit], grant: usize, client: &Name) -> bool {
    let mut held = { visits[grant..].iter() }.filter(|visit| visit.keeps(grant));
    held.any(|visit| visit.names && visit.exchange.client == *client)
}

/// When another client replaced the value of a key without a time to live; `u64::MAX` if none did. The value may be the
/// time at which such a lock is over, so that this takes it over.
fn replaced_ns(visits: &[Visit], grant: usize) -> u64 {
    let own = &visits[grant];
    if own.set_ttl_ns.flatten().is_some() {
        return u64::MAX;
    }
    let mut visits = visits[grant..].iter();
    let by_another = visits.find(|visit| {
        let is_anothers = visit.exchange.client != own.exchange.client;
        visit.replaces == Some(grant) && is_anothers && !visit.grants
    });
    by_another.map_or(u64::MAX, executed_ns)
}

fn executed_ns(visit: &Visit) -> u64 {
    let executed = visit.exchange.executed.as_ref();
    executed.map_or(u64::MAX, |executed| executed.at_ns)
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
    // They are in the order in which they were sent.
    let messages = &wire.history.messages;
    let first = messages.partition_point(|message| message.sent_ns < taken_ns);
    let messages = messages[first..].iter();
    let told = messages.filter(|message| {
        (&message.from, &message.to) == (&own.node, &own.client) && message.sent_ns >= taken_ns
    });
    told.filter_map(|message| message.arrived_ns)
        .min()
        .unwrap_or(u64::MAX)
}

/// From when on the program may have given the key up without a message; `u64::MAX` if it cannot.
fn unseen_ns(visits: &[Visit], grant: usize, blind: &Blind) -> u64 {
    let own = visits[grant].exchange;
    let (client, node, sent_ns) = (&own.client, &own.node, own.sent_ns);
    let disturbed_ns = blind
        .link_disturbed(client, node, sent_ns)
        .unwrap_or(u64::MAX);
    let down_ns = blind.node_down(node, sent_ns).map_or(u64::MAX, |down| {
        let later = later(visits, grant);
        let mut after = later.filter(|visit| visit.exchange.sent_ns >= down.until_ns);
        let about = after.find(|visit| visit.names);
        let is_its_own = about.is_some_and(|visit| {
            !visit.asks && visit.exchange.sent_ns >= down.until_ns.saturating_add(RETRIES_NS)
        });
        if is_its_own { u64::MAX } else { down.from_ns }
    });
    disturbed_ns.min(down_ns)
}
