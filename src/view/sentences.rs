//! Describes records as text for people.

use locklab_history::timeline::reading;
use locklab_history::{Access, ClockKind, Event, Op, Outcome, Phase, Record};
use locklab_report::spacetime::duration;

/// The kind of a record, which determines its mark in a viewer.
pub(super) fn kind(event: &Event) -> &'static str {
    match event {
        Event::Invoke { .. } => "call",
        Event::Complete { .. } => "return",
        Event::BeliefBegins { .. } | Event::BeliefEnds { .. } | Event::Dropped { .. } => "belief",
        Event::Released { .. } => "release",
        Event::Reached { .. } => "point",
        Event::Access { accepted: true, .. } => "access",
        Event::Access { .. } => "refusal",
        Event::Members { .. } => "access",
        Event::Fault { .. } => "fault",
        Event::RunEnds => "end",
    }
}

/// The record as a sentence without its subject, which is the host.
pub(super) fn text(record: &Record) -> String {
    match &record.event {
        Event::Invoke { op, .. } => format!("calls {}", name(*op)),
        Event::Complete {
            op,
            outcome,
            detail,
            ..
        } => {
            let outcome = match outcome {
                Outcome::Ok => "succeeded",
                Outcome::Failed => "failed",
                Outcome::Unknown => "has an unknown outcome",
                Outcome::Unsupported => "is not supported",
            };
            let detail = match detail.as_str() {
                "" => String::new(),
                detail => format!(": {detail}"),
            };
            format!("{} {outcome}{detail}", name(*op))
        }
        Event::BeliefBegins {
            grant,
            deadline,
            token,
            shared,
        } => {
            let mut text = format!("believes that it holds the lock (grant {grant}");
            if *shared {
                text += ", for reading";
            }
            if let Some(token) = token {
                text += &format!(", token {token}");
            }
            if let Some(deadline) = deadline {
                let left_ns = deadline
                    .at_ns
                    .saturating_sub(reading(record, deadline.clock));
                let clock = match deadline.clock {
                    ClockKind::Wall => "wall",
                    ClockKind::Monotonic => "monotonic",
                };
                text += &format!(", for {} by its {clock} clock", duration(left_ns));
            }
            text + ")"
        }
        Event::BeliefEnds { grant } => {
            format!("no longer believes that it holds the lock (grant {grant})")
        }
        Event::Released { grant, removed: 0 } => {
            format!("released grant {grant}: there was nothing left to delete")
        }
        Event::Released { grant, removed } => {
            let keys = if *removed == 1 { "key" } else { "keys" };
            format!("released grant {grant}: {removed} {keys} deleted")
        }
        Event::Dropped { grant } => format!("forgets the lock (grant {grant})"),
        Event::Reached { point } => format!("reaches \"{point}\""),
        Event::Access {
            client,
            grant,
            access,
            token,
            accepted,
        } => {
            let what = match access {
                Access::Read { version } => format!("read of version {version}"),
                Access::Write { based_on, version } if *accepted => {
                    format!("write of version {version}, computed from version {based_on}")
                }
                Access::Write { based_on, .. } => {
                    format!("write computed from version {based_on}")
                }
            };
            let token = token.map_or(String::new(), |token| format!(", token {token}"));
            let verb = if *accepted { "accepts" } else { "refuses" };
            format!("{verb} {client}'s {what} (grant {grant}{token})")
        }
        Event::Members { members } => {
            let count: usize = members.values().map(Vec::len).sum();
            format!("read a set of {count} elements")
        }
        Event::Fault {
            fault, kind, phase, ..
        } => {
            let phase = match phase {
                Phase::Before => "is about to begin",
                Phase::Begins => "begins",
                Phase::Ends => "ends",
                Phase::Missed => "never took effect",
            };
            format!("fault {fault} ({}) {phase}", kind.name())
        }
        Event::RunEnds => "the run is over".to_owned(),
    }
}

fn name(op: Op) -> &'static str {
    match op {
        Op::Acquire => "acquire",
        Op::Extend => "extend",
        Op::Release => "release",
        Op::Read => "read",
        Op::Write => "write",
        Op::Add => "add",
        Op::Members => "members",
    }
}
