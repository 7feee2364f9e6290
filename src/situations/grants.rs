//! Situations of holders and waiters, by the history alone: *clock-stepped*, *holder-died*, *waiter-woke*.

use locklab_history::timeline::Timeline;
use locklab_history::{Event, Failpoint, FaultKind, Phase, Role, Topology};

/// Whether a clock was stepped while a client could rely on the lock: that of this client's host, or of a
/// server's that may hold the lock.
pub(super) fn is_clock_stepped(timeline: &Timeline, topology: &Topology) -> bool {
    let mut records = timeline.records();
    records.any(|(_, host, record)| {
        let Event::Fault {
            kind: FaultKind::ClockStep,
            phase: Phase::Begins,
            ..
        } = record.event
        else {
            return false;
        };
        let is_server = matches!(
            topology.role(&record.host),
            Some(Role::Node | Role::Replica { .. })
        );
        let mut grants = timeline.grants.iter();
        grants.any(|grant| {
            let is_lease = grant.begins_ns <= record.at_ns && record.at_ns <= grant.lapses_ns;
            is_lease && (is_server || grant.host == host)
        })
    })
}

/// Whether a client's process ended while it believed that it held the lock.
pub(super) fn has_holder_died(timeline: &Timeline) -> bool {
    let mut records = timeline.records();
    records.any(|(index, host, record)| {
        record.event.is_death() && timeline.believed(host, index).next().is_some()
    })
}

/// Whether a client listened for its turn and was granted the lock before it gave up.
pub(super) fn has_waiter_woken(timeline: &Timeline) -> bool {
    let mut listens = vec![false; timeline.hosts];
    let mut records = timeline.records();
    records.any(|(_, host, record)| {
        let event = &record.event;
        if event.is_reached(Failpoint::Waiting) {
            listens[host] = true;
        } else if event.is_reached(Failpoint::GivingUp) || event.is_death() {
            listens[host] = false;
        } else if matches!(event, Event::BeliefBegins { .. }) {
            return std::mem::take(&mut listens[host]);
        }
        false
    })
}
