//! Situations after a restart or a failover: *forgotten-grant*, *failed-over*, *token-after-restart*.

use locklab_history::leases::End;
use locklab_history::timeline::Timeline;
use locklab_history::{Event, Name, Phase, Point, Record, Role, Topology};
use locklab_truth::Holding;
use locklab_vecmap::VecMap;

use crate::holders::Holders;

/// Whether a server lost an entry with its process, and the next entry that it had was another client's,
/// while the first could still rely on the lock.
pub(super) fn is_grant_forgotten(timeline: &Timeline, holders: &Holders) -> bool {
    let mut lost: VecMap<&Name, &Holding> = VecMap::new();
    // In the order of their beginnings, so a server's later entry comes after those that it has lost.
    holders.holdings().iter().any(|holding| {
        let before = lost.remove(holding.node);
        if holding.end == End::Lost {
            lost.insert(holding.node, holding);
        }
        before.is_some_and(|before| {
            before.client != holding.client && can_rely(timeline, before.client, holding.from_ns)
        })
    })
}

/// Whether this client could rely on the lock at this time.
fn can_rely(timeline: &Timeline, client: &Name, at_ns: u64) -> bool {
    let mut grants = timeline.grants.iter();
    grants.any(|it| it.client == client && it.begins_ns <= at_ns && at_ns < it.lapses_ns)
}

/// Whether sentinels replaced the master while a client believed that it held the lock.
pub(super) fn is_failed_over(timeline: &Timeline) -> bool {
    let mut switches = timeline.all_records().iter().filter(|it| is_switch(it));
    switches.any(|switch| {
        let mut grants = timeline.grants.iter();
        grants.any(|it| it.begins_ns <= switch.at_ns && switch.at_ns < it.ends_ns)
    })
}

/// Whether a client asked for the lock after a failover, or after a server had restarted, and was granted
/// it with a token.
pub(super) fn is_token_drawn_late(timeline: &Timeline, topology: &Topology) -> bool {
    let records = timeline.all_records();
    let is_change = |record: &&Record| is_switch(record) || is_restart(record, topology);
    let Some(first) = records.iter().find(is_change) else {
        return false;
    };
    timeline.grants.iter().any(|grant| {
        let asked_ns = grant
            .asked
            .map_or(grant.begins_ns, |asked| records[asked].at_ns);
        grant.token.is_some() && asked_ns > first.at_ns
    })
}

/// Whether sentinels replaced the master then.
pub fn is_switch(record: &Record) -> bool {
    let Event::Reached {
        point: Point::Notice(notice),
    } = &record.event
    else {
        return false;
    };
    &**notice == "+switch-master"
}

fn is_restart(record: &Record, topology: &Topology) -> bool {
    let Event::Fault {
        kind,
        phase: Phase::Ends,
        ..
    } = &record.event
    else {
        return false;
    };
    let role = topology.role(&record.host);
    kind.ends_process() && matches!(role, Some(Role::Node | Role::Replica { .. }))
}
