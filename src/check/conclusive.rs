//! Whether a run could have shown a violation at all.
//!
//! A run is no evidence if its fault never took effect or met no client, if its clients never contended while
//! the fault mattered, or if its lock lacks an operation that a client requested: such a run could not
//! have violated any property.
//!
//! A repeated fault (`NAME#1`, `NAME#2`, …) took effect if one instance did. [`Effects`] says whom a fault met,
//! and until when it mattered.
//!
//! Clients contend while one requests the lock and another holds or requests it too. A client
//! requests the lock from its first attempt until it is granted the lock, gives up or dies, and
//! holds it until its release has returned. A client that has died still counts, because the lock
//! it held or requested outlives it.

use locklab_history::timeline::Timeline;
use locklab_history::{Event, Failpoint, History, Op, Outcome, Phase, Record};

use locklab_vecmap::VecSet;

use super::effects::Effects;

/// The reason why this history proves nothing about a property that holds in it; `None` if it is
/// conclusive.
pub(super) fn doubt(timeline: &Timeline, effects: &Effects) -> Option<String> {
    missed(timeline)
        .or_else(|| unsupported(timeline))
        .or_else(|| effects.is_idle().then(|| IDLE.to_owned()))
        .or_else(|| uncontended(timeline, effects))
}

const IDLE: &str = "no fault met a client that used the lock";

/// Whether every fault of the run took effect, each at least once if it repeats.
pub fn struck(history: &History) -> bool {
    missed_in(&history.records).is_none()
}

/// The doubt if a fault never took effect.
pub(super) fn missed(timeline: &Timeline) -> Option<String> {
    missed_in(timeline.all_records())
}

fn missed_in(records: &[Record]) -> Option<String> {
    let (mut began, mut missed) = (VecSet::new(), VecSet::new());
    for record in records {
        match &record.event {
            Event::Fault {
                fault,
                phase: Phase::Begins,
                ..
            } => began.insert(repeated(fault)),
            Event::Fault {
                fault,
                phase: Phase::Missed,
                ..
            } => missed.insert(repeated(fault)),
            _ => false,
        };
    }
    let fault = missed.difference(&began).next()?;
    Some(format!("fault {fault} never took effect"))
}

/// The doubt if the lock does not support an operation that a client requested: then the run
/// differs from the scenario.
fn unsupported(timeline: &Timeline) -> Option<String> {
    let mut records = timeline.all_records().iter();
    records.find_map(|record| match &record.event {
        Event::Complete {
            outcome: Outcome::Unsupported,
            detail,
            ..
        } => Some(detail.clone()),
        _ => None,
    })
}

/// The name that a scenario gives to a fault, without the number of its instance.
fn repeated(fault: &str) -> &str {
    match fault.rsplit_once('#') {
        Some((name, number)) if number.parse::<u32>().is_ok() => name,
        _ => fault,
    }
}

/// The doubt if the clients never contended while a fault mattered.
fn uncontended(timeline: &Timeline, effects: &Effects) -> Option<String> {
    let mut clients: Vec<Client> = Vec::new();
    clients.resize_with(timeline.hosts, Client::default);
    let mut ever = false;
    // How many clients request the lock, and how many request or hold it.
    let (mut wanting, mut active) = (0, 0);
    for (index, host, record) in timeline.records() {
        let client = &mut clients[host];
        let before = (client.wants, client.wants || client.has);
        match &record.event {
            Event::Invoke {
                op: Op::Acquire, ..
            } => client.wants = true,
            Event::Complete {
                op: Op::Acquire, ..
            } => client.wants = timeline.asks_again(index),
            event if event.is_reached(Failpoint::GivingUp) => client.wants = false,
            Event::Invoke {
                op: Op::Release, ..
            } => client.releases = true,
            Event::Complete {
                op: Op::Release, ..
            } => client.releases = false,
            event if event.is_death() => {
                let had = timeline.believed(host, index).next().is_some();
                client.left |= client.wants || client.releases || had;
                (client.wants, client.releases) = (false, false);
            }
            Event::Fault { .. } | Event::BeliefBegins { .. } | Event::BeliefEnds { .. } => {}
            _ => continue,
        }
        // Only this client has changed.
        let believes = timeline.believed(host, index + 1).next().is_some();
        client.has = client.releases || client.left || believes;
        wanting += usize::from(client.wants);
        wanting -= usize::from(before.0);
        active += usize::from(client.wants || client.has);
        active -= usize::from(before.1);
        if wanting > 0 && active > 1 {
            ever = true;
            if effects.matter_at(index, record.at_ns) {
                return None;
            }
        }
    }
    Some(match ever {
        true => "the lock was never contended where a fault could matter".into(),
        false => "the lock was never contended".into(),
    })
}

#[derive(Default)]
struct Client {
    /// Whether it has requested the lock and continues to.
    wants: bool,
    /// Whether it is in a call of `release`.
    releases: bool,
    /// Whether it died while it requested or held the lock.
    left: bool,
    /// Whether it holds the lock, or may have died holding it.
    has: bool,
}
