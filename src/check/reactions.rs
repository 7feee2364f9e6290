//! How the clients of a lock reacted in a run: measurements, not properties, of what their users
//! notice first.

use locklab_history::timeline::{Grant, Timeline};
use locklab_history::{Event, Failpoint, History, Op, Outcome};
use locklab_vecmap::VecMap;

/// What happened in a run, each in the order of the history.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reactions {
    /// A holder lost its lock, since another client was granted it: how long it took until the
    /// holder was told so, in nanoseconds; `None` if it released the lock or the run ended first.
    pub notices_ns: Vec<Option<u64>>,
    /// A client released the lock while another waited for it: how long it took from the call until
    /// another client was granted the lock, in nanoseconds; `None` if nobody was.
    pub wakes_ns: Vec<Option<u64>>,
    /// A call was under way when a fault struck the servers or the network: how it returned; `None`
    /// if it had not by the end of the run.
    pub calls: Vec<Option<Outcome>>,
}

/// Measures the reactions of a history.
pub fn reactions(history: &History) -> Reactions {
    let timeline = Timeline::of(history);
    let grants = timeline.grants.iter();
    Reactions {
        notices_ns: { grants.clone() }
            .filter_map(|grant| notice_ns(&timeline, grant))
            .collect(),
        wakes_ns: grants
            .filter_map(|grant| wake_ns(&timeline, grant))
            .collect(),
        calls: struck_calls(history),
    }
}

/// How long the holder of this grant did not know that another client had been granted the lock.
fn notice_ns(timeline: &Timeline, grant: &Grant) -> Option<Option<u64>> {
    let later = timeline.grants.iter().filter(|other| {
        let during = other.began > grant.began && other.begins_ns < grant.ends_ns;
        during && grant.excludes(other)
    });
    let lost_ns = later.map(|other| other.begins_ns).min()?;
    let mut told = timeline.records().filter(|(index, host, record)| {
        let is_believed = *index > grant.began && grant.ended.is_none_or(|ended| *index <= ended);
        *host == grant.host && is_believed && record.event.is_reached(Failpoint::Stopped)
    });
    Some(
        told.next()
            .map(|(.., record)| record.at_ns.saturating_sub(lost_ns)),
    )
}

/// How long it took from the release of this grant to the next grant of another client, if one
/// waited.
fn wake_ns(timeline: &Timeline, grant: &Grant) -> Option<Option<u64>> {
    let records = timeline.all_records();
    let released = grant.ended?;
    let Event::BeliefEnds { .. } = records[released].event else {
        return None;
    };
    let mut waiting = VecMap::new();
    for (index, host, record) in timeline.records().take(released) {
        match record.event {
            Event::Invoke {
                op: Op::Acquire, ..
            } => {
                waiting.insert(host, index);
            }
            Event::Complete {
                op: Op::Acquire, ..
            } => {
                waiting.remove(&host);
            }
            ref event if event.is_death() => {
                waiting.remove(&host);
            }
            _ => {}
        }
    }
    waiting.remove(&grant.host);
    if waiting.is_empty() {
        return None;
    }
    let mut next = timeline.grants.iter().filter(|other| {
        let is_after = other.began > released;
        is_after && other.host != grant.host
    });
    Some(
        next.next()
            .map(|other| other.begins_ns - records[released].at_ns),
    )
}

/// How the calls returned that were under way when a fault of others struck.
fn struck_calls(history: &History) -> Vec<Option<Outcome>> {
    struct Call {
        began: usize,
        is_struck: bool,
        outcome: Option<Outcome>,
    }
    let mut open = VecMap::new();
    let mut over = Vec::new();
    for (began, record) in history.records.iter().enumerate() {
        let client = &record.host;
        match &record.event {
            Event::Invoke { call, .. } => {
                let call = (client, *call);
                let (is_struck, outcome) = (false, None);
                open.insert(
                    call,
                    Call {
                        began,
                        is_struck,
                        outcome,
                    },
                );
            }
            Event::Complete { call, outcome, .. } => {
                let call = open.remove(&(client, *call));
                over.extend(call.map(|call| Call {
                    outcome: Some(*outcome),
                    ..call
                }));
            }
            event @ Event::Fault { links, .. } if event.is_fault_beginning() => {
                open.retain(|(caller, _), _| !event.is_death() || *caller != client);
                for ((caller, _), call) in &mut open {
                    call.is_struck |= links.is_some() || *caller != client;
                }
            }
            _ => {}
        }
    }
    over.extend(open.into_values());
    over.retain(|call| call.is_struck);
    over.sort_by_key(|call| call.began);
    over.into_iter().map(|call| call.outcome).collect()
}
