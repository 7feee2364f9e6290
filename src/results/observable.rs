//! Durations of a run that simulated and real runs are compared by, one value of each in a run.
//!
//! A rate of 0 or 100 % is the same for many wrong models; a duration is not. Runs are independent
//! of one another, the durations within one are not: so a run has at most one of each.

use locklab_check::{Property, Verdict};
use locklab_evidence::median;
use locklab_history::{Event, History, Name, Op, Outcome, Point, Record};
use locklab_vecmap::{VecMap, VecSet};
use serde::{Deserialize, Serialize};

/// The event of a sentinel that ends a failover.
const SWITCHED: &str = "+switch-master";

/// A duration of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Observable {
    /// From the first request for the lock to the first grant.
    Grant,
    /// A call of release, read or write that succeeded: the median of the run.
    Reply,
    /// From the first grant to the first one of another client.
    Takeover,
    /// From the beginning of the first fault to the first call that returned without a reply.
    Notice,
    /// From the beginning of the first fault to the first grant after it.
    Recovery,
    /// From the beginning of the first fault to the first sentinel that has switched to another
    /// master.
    Failover,
    /// From the first request for the lock to the last call that returned. A run in which a call is
    /// still under way at its end has none: how far its clients have come then says nothing of them.
    Finish,
}

impl Observable {
    /// All of them.
    pub const ALL: [Observable; 7] = [
        Observable::Grant,
        Observable::Reply,
        Observable::Takeover,
        Observable::Notice,
        Observable::Recovery,
        Observable::Failover,
        Observable::Finish,
    ];

    /// The name in results.
    pub fn name(self) -> &'static str {
        match self {
            Observable::Grant => "grant",
            Observable::Reply => "reply",
            Observable::Takeover => "takeover",
            Observable::Notice => "notice",
            Observable::Recovery => "recovery",
            Observable::Failover => "failover",
            Observable::Finish => "finish",
        }
    }

    /// Its value in a run that was cut off at `horizon_ns` if it took so long, in nanoseconds of true time; `None` if
    /// the run has none.
    pub fn of(self, history: &History, horizon_ns: u64) -> Option<u64> {
        let records = &history.records[..];
        match self {
            Observable::Grant => between(records, is_request, |_, record| is_grant(record)),
            Observable::Reply => median(&replies(records)),
            Observable::Takeover => between(records, is_grant, |first, record| {
                is_grant(record) && record.host != first.host
            }),
            Observable::Notice => between(records, is_fault, |_, record| {
                let Event::Complete { outcome, .. } = record.event else {
                    return false;
                };
                outcome == Outcome::Unknown
            }),
            Observable::Recovery => between(records, is_fault, |_, record| is_grant(record)),
            Observable::Failover => between(records, is_fault, |_, record| {
                let Event::Reached { point } = &record.event else {
                    return false;
                };
                matches!(point, Point::Notice(notice) if **notice == *SWITCHED)
            }),
            // The last call of a run that is cut off shows where in its rounds that was.
            Observable::Finish if history.end_ns >= horizon_ns => None,
            Observable::Finish if has_open_calls(records) => None,
            Observable::Finish => {
                let first = records.iter().find(|record| is_request(record))?;
                let returned = |record: &&Record| matches!(record.event, Event::Complete { .. });
                let last = records.iter().rev().find(returned)?;
                last.at_ns.checked_sub(first.at_ns)
            }
        }
    }
}

fn is_request(record: &Record) -> bool {
    let Event::Invoke { op, .. } = record.event else {
        return false;
    };
    op == Op::Acquire
}

fn is_grant(record: &Record) -> bool {
    matches!(record.event, Event::BeliefBegins { .. })
}

fn is_fault(record: &Record) -> bool {
    record.event.is_fault_beginning()
}

/// Whether some call has not returned.
fn has_open_calls(records: &[Record]) -> bool {
    let mut open: VecSet<(&Name, u32)> = VecSet::new();
    for record in records {
        match record.event {
            Event::Invoke { call, .. } => drop(open.insert((&record.host, call))),
            Event::Complete { call, .. } => drop(open.remove(&(&record.host, call))),
            _ => {}
        }
    }
    !open.is_empty()
}

/// The time from the first record of one kind to the first one of another that follows it.
fn between(
    records: &[Record],
    begins: impl Fn(&Record) -> bool,
    ends: impl Fn(&Record, &Record) -> bool,
) -> Option<u64> {
    let place = records.iter().position(begins)?;
    let (first, after) = (&records[place], &records[place + 1..]);
    let last = after.iter().find(|record| ends(first, record))?;
    Some(last.at_ns - first.at_ns)
}

/// How long calls took that ask and are answered once, in ascending order.
fn replies(records: &[Record]) -> Vec<u64> {
    let mut called: VecMap<(&Name, u32), u64> = VecMap::new();
    let mut took_ns = Vec::new();
    for record in records {
        match record.event {
            Event::Invoke {
                call,
                op: Op::Release | Op::Read | Op::Write,
            } => {
                called.insert((&record.host, call), record.at_ns);
            }
            Event::Complete {
                call,
                outcome: Outcome::Ok,
                ..
            } => {
                let from_ns = called.remove(&(&record.host, call));
                took_ns.extend(from_ns.map(|from_ns| record.at_ns - from_ns));
            }
            _ => {}
        }
    }
    took_ns.sort_unstable();
    took_ns
}

/// What a comparison keeps of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sketch {
    /// The properties that it violated.
    pub violated: Vec<Property>,
    /// Its durations, in nanoseconds.
    pub durations_ns: VecMap<Observable, u64>,
    /// The hash of every event of the simulator; 0 for a real run.
    pub trace_hash: u64,
}

impl Sketch {
    /// Of a run with this history and these verdicts, which was cut off at `horizon_ns` if it took so long.
    pub fn of(run: &crate::Judged<'_>, horizon_ns: u64) -> Sketch {
        let is_violated =
            |(_, verdict): &(&Property, &Verdict)| matches!(verdict, Verdict::Violated(_));
        let duration = |it: Observable| Some((it, it.of(run.history, horizon_ns)?));
        Sketch {
            violated: { run.verdicts.iter().filter(is_violated) }
                .map(|(property, _)| *property)
                .collect(),
            durations_ns: Observable::ALL.into_iter().filter_map(duration).collect(),
            trace_hash: run.trace_hash,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use locklab_history::{FaultKind, Phase};

    fn record(at_ns: u64, host: &str, event: Event) -> Record {
        Record {
            at_ns,
            host: host.into(),
            wall_ns: at_ns,
            mono_ns: at_ns,
            event,
        }
    }

    fn asks(at_ns: u64, host: &str, call: u32, op: Op) -> Record {
        record(at_ns, host, Event::Invoke { call, op })
    }

    fn returns(at_ns: u64, host: &str, call: u32, op: Op, outcome: Outcome) -> Record {
        let event = Event::Complete {
            call,
            op,
            outcome,
            detail: String::new(),
        };
        record(at_ns, host, event)
    }

    fn granted(at_ns: u64, host: &str, grant: u32) -> Record {
        let event = Event::BeliefBegins {
            grant,
            deadline: None,
            token: None,
            shared: false,
        };
        record(at_ns, host, event)
    }

    fn strikes(at_ns: u64) -> Record {
        let event = Event::Fault {
            fault: "crash".into(),
            kind: FaultKind::Crash,
            phase: Phase::Begins,
            links: None,
        };
        record(at_ns, "n1", event)
    }

    fn notice(at_ns: u64, notice: &str) -> Record {
        let point = Point::Notice(notice.into());
        record(at_ns, "s1", Event::Reached { point })
    }

    fn durations(records: Vec<Record>) -> Vec<(Observable, u64)> {
        let history = History {
            records,
            ..History::default()
        };
        let of = |observable: Observable| Some((observable, observable.of(&history, 1000)?));
        Observable::ALL.into_iter().filter_map(of).collect()
    }

    #[test]
    fn a_run_has_one_duration_of_each_kind_that_occurs() {
        use Observable::{Failover, Finish, Grant, Notice, Recovery, Reply, Takeover};
        let all = durations(vec![
            asks(10, "c1", 1, Op::Acquire),
            granted(15, "c1", 1),
            returns(15, "c1", 1, Op::Acquire, Outcome::Ok),
            asks(20, "c1", 2, Op::Read),
            returns(23, "c1", 2, Op::Read, Outcome::Ok),
            strikes(30),
            asks(40, "c1", 3, Op::Write),
            returns(45, "c1", 3, Op::Write, Outcome::Failed),
            asks(50, "c1", 4, Op::Release),
            returns(57, "c1", 4, Op::Release, Outcome::Unknown),
            granted(60, "c1", 2),
            notice(70, "+sdown"),
            notice(75, "+switch-master"),
            granted(90, "c2", 1),
            granted(99, "c2", 2),
        ]);
        let expected = [
            (Grant, 5),
            (Reply, 3),
            (Takeover, 75),
            (Notice, 27),
            (Recovery, 30),
            (Failover, 45),
            (Finish, 47),
        ];
        assert_eq!(all, expected);
    }

    #[test]
    fn a_run_that_is_cut_off_has_not_finished() {
        let mut records = vec![
            asks(5, "c1", 1, Op::Acquire),
            returns(9, "c1", 1, Op::Acquire, Outcome::Failed),
        ];
        assert_eq!(durations(records.clone()), [(Observable::Finish, 4)]);
        let cut_off = History {
            records: records.clone(),
            end_ns: 1000,
            ..History::default()
        };
        assert_eq!(
            Observable::Finish.of(&cut_off, 1000),
            None,
            "between two calls"
        );
        assert_eq!(Observable::Finish.of(&cut_off, 1001), Some(4));
        records.push(asks(10, "c2", 1, Op::Acquire));
        assert_eq!(durations(records.clone()), []);
        records.push(returns(12, "c2", 1, Op::Acquire, Outcome::Failed));
        assert_eq!(durations(records), [(Observable::Finish, 7)]);
    }

    #[test]
    fn a_run_without_a_fault_or_a_grant_has_none_of_them() {
        assert_eq!(durations(vec![]), []);
        assert_eq!(durations(vec![asks(1, "c1", 1, Op::Acquire)]), []);
        assert_eq!(
            durations(vec![granted(5, "c1", 1), notice(9, "+switch-master")]),
            []
        );
    }
}
