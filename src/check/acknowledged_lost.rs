//! Every acknowledged add is still there at the end.
//!
//! Clients add elements to a set, each element once, and at the end one client reads the set.
//! An add that was acknowledged before that read, and whose element is not in the set, is lost:
//! this is Jepsen's set test, and the share of such adds is the loss rate that Jepsen prints.
//! (An add of unknown outcome may be there or not; both are fine.)

use super::{Ms, Verdict, Violation};
use locklab_history::timeline::Timeline;
use locklab_history::{Event, History, Name, Op, Outcome, Record};
use locklab_vecmap::{VecMap, VecSet};

/// How much of a set was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Loss {
    /// Adds that were acknowledged before the set was read.
    pub acknowledged: u64,
    /// How many of these adds had elements that were not there.
    pub lost: u64,
}

/// The loss of a history in which a set was read; of the last read, if there are several.
pub fn loss(history: &History) -> Option<Loss> {
    let lost = Reading::last_of(&history.records)?.lost();
    Some(Loss {
        acknowledged: lost.acknowledged,
        lost: lost.adds.len() as u64,
    })
}

/// Whether clients of this history add elements to a set.
pub(super) fn applies_to(timeline: &Timeline) -> bool {
    let is_add = |record: &Record| matches!(record.event, Event::Invoke { op: Op::Add, .. });
    timeline.records().any(|(_, _, record)| is_add(record))
}

pub(super) fn check(timeline: &Timeline) -> Verdict {
    let inconclusive = |why: &str| Verdict::Inconclusive { why: why.into() };
    let records = timeline.all_records();
    let Some(reading) = Reading::last_of(records) else {
        return inconclusive("the set was never read");
    };
    let lost = reading.lost();
    if lost.acknowledged == 0 {
        return inconclusive("no add was acknowledged before the set was read");
    }
    let Some(first) = lost.adds.first() else {
        return Verdict::Holds;
    };
    let clients: VecSet<&Name> = lost.adds.iter().map(|add| &add.host).collect();
    Verdict::Violated(Violation {
        at_ns: first.at_ns,
        until_ns: reading.read.at_ns,
        clients: clients.into_iter().cloned().collect(),
        what: format!(
            "{} of {} acknowledged adds were not in the set that {} read at {}; the first of \
             them was {}'s, acknowledged at {}",
            lost.adds.len(),
            lost.acknowledged,
            reading.read.host,
            Ms(reading.read.at_ns),
            first.host,
            Ms(first.at_ns),
        ),
    })
}

/// One read of the set, and what happened before it.
struct Reading<'h> {
    before: &'h [Record],
    read: &'h Record,
    members: &'h VecMap<Name, Vec<u32>>,
}

struct Lost<'h> {
    acknowledged: u64,
    /// The acknowledgements of the lost adds, in order.
    adds: Vec<&'h Record>,
}

impl<'h> Reading<'h> {
    fn last_of(records: &'h [Record]) -> Option<Self> {
        let mut readings = records.iter().enumerate().rev();
        readings.find_map(|(place, read)| match &read.event {
            Event::Members { members } => Some(Reading {
                before: &records[..place],
                read,
                members,
            }),
            _ => None,
        })
    }

    fn lost(&self) -> Lost<'h> {
        let members: VecSet<(&str, u32)> = (self.members.iter())
            .flat_map(|(client, calls)| calls.iter().map(|call| (&**client, *call)))
            .collect();
        let mut acknowledged = 0;
        let mut adds = Vec::new();
        for record in self.before {
            if let Event::Complete {
                call,
                op: Op::Add,
                outcome: Outcome::Ok,
                ..
            } = record.event
            {
                acknowledged += 1;
                let is_there = members.contains(&(&*record.host, call));
                if !is_there {
                    adds.push(record);
                }
            }
        }
        Lost { acknowledged, adds }
    }
}
