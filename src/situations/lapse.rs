//! *lapsed-while-stopped* and *lapsed-while-cut-off*: a lease was over while its holder could not know,
//! or could not renew it.
//!
//! A lease *lapses* at true time t if its client believes just before t that it holds the lock, and
//! - by the client's own clock the deadline is reached at t, or
//! - a server's entry for the client expires at t by that server's clock, and the servers that are left do
//!   not hold the lock for the client any more. Among a master and its replicas any entry counts, because
//!   each may be the master.
//!
//! Its holder is *cut off* if a partition separates it from the server on which the entry expired; for a
//! deadline, from every node.

use locklab_history::leases::End;
use locklab_history::timeline::{Grant, Timeline};
use locklab_history::{Name, Role, Topology};

use crate::faults::Faults;
use crate::holders::Holders;

/// The end of a lease before its holder gave the lock back.
pub(super) struct Lapse<'a> {
    client: &'a Name,
    at_ns: u64,
    /// The server on which it ended; `None`: by the client's clock.
    server: Option<&'a Name>,
}

/// All lapses of a run.
pub(super) fn lapses<'a>(
    timeline: &Timeline<'a>,
    holders: Option<&Holders<'_, 'a>>,
) -> Vec<Lapse<'a>> {
    let early = |grant: &&Grant| grant.lapses_ns < grant.ends_ns;
    let by_clock = timeline.grants.iter().filter(early).map(|grant| Lapse {
        client: grant.client,
        at_ns: grant.lapses_ns,
        server: None,
    });
    let mut all: Vec<Lapse> = by_clock.collect();
    let Some(holders) = holders else {
        return all;
    };
    let intersects = holders.rule().intersects;
    holders.each_end(&mut |holding, is_held| {
        let is_over = holding.end == End::Expired && !(is_held && intersects);
        if is_over && is_believed(timeline, holding.client, holding.until_ns) {
            all.push(Lapse {
                client: holding.client,
                at_ns: holding.until_ns,
                server: Some(holding.node),
            });
        }
    });
    all
}

/// Whether this client believes at this time that it holds the lock.
pub(super) fn is_believed(timeline: &Timeline, client: &Name, at_ns: u64) -> bool {
    let mut grants = timeline.grants.iter();
    grants.any(|it| it.client == client && it.begins_ns <= at_ns && at_ns < it.ends_ns)
}

pub(super) fn while_stopped(lapses: &[Lapse], faults: &Faults) -> bool {
    let mut lapses = lapses.iter();
    lapses.any(|lapse| faults.is_stopped(lapse.client, lapse.at_ns))
}

pub(super) fn while_cut_off(lapses: &[Lapse], faults: &Faults, topology: &Topology) -> bool {
    let servers = topology.servers().into_iter();
    let nodes = servers.filter(|server| server.role == Role::Node);
    let nodes: Vec<String> = nodes.map(|server| server.name).collect();
    lapses.iter().any(|lapse| {
        let is_cut = |server: &str| faults.is_cut(lapse.client, server, lapse.at_ns);
        match lapse.server {
            Some(server) => is_cut(server),
            None => !nodes.is_empty() && nodes.iter().all(|node| is_cut(node)),
        }
    })
}
