//! The calls of a run's clients.

use locklab_history::timeline::Timeline;
use locklab_history::{Event, Name, Op, Outcome};

/// A call of a client.
pub(super) struct Call<'a> {
    pub(super) client: &'a Name,
    pub(super) from_ns: u64,
    /// When it ended, or else the run.
    pub(super) to_ns: u64,
    pub(super) end: CallEnd,
}

/// How a call ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum CallEnd {
    Returned(Outcome),
    /// Its client died.
    Died,
    /// The run ended first.
    Open,
}

/// All calls of an operation, in the order of their beginnings.
pub(super) fn calls<'a>(timeline: &Timeline<'a>, wanted: Op) -> Vec<Call<'a>> {
    let mut calls: Vec<Call> = Vec::new();
    let mut open: Vec<Option<usize>> = vec![None; timeline.hosts];
    for (_, host, record) in timeline.records() {
        let end = match record.event {
            Event::Invoke { op, .. } if op == wanted => {
                open[host] = Some(calls.len());
                calls.push(Call {
                    client: &record.host,
                    from_ns: record.at_ns,
                    to_ns: timeline.end_ns,
                    end: CallEnd::Open,
                });
                continue;
            }
            Event::Complete { op, outcome, .. } if op == wanted => CallEnd::Returned(outcome),
            ref event if event.is_death() => CallEnd::Died,
            _ => continue,
        };
        if let Some(place) = open[host].take() {
            (calls[place].to_ns, calls[place].end) = (record.at_ns, end);
        }
    }
    calls
}
