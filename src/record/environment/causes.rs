//! The causes that were looked for, each with the events that were seen, perhaps none.

use serde::Serialize;

use super::seconds;
use crate::events::Events;
use crate::logs::Runtime;
use crate::recorded::{Live, Log, Recorded};
use crate::values::Values;

/// Something that threatens a lock.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cause {
    /// Its name in the file.
    pub name: &'static str,
    /// It in words.
    pub title: String,
    /// The kind of fault of a scenario.
    pub fault: &'static str,
    /// The role of the host that it strikes.
    pub on: &'static str,
    /// What was seen.
    pub events: Events,
    /// What is large about each event.
    pub amount: Amount,
    /// The name of the file with how large each was.
    pub file: &'static str,
    /// How it was measured.
    pub source: String,
}

/// What is large about an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Amount {
    /// It lasts.
    Duration,
    /// A clock jumps ahead.
    StepForwards,
    /// A clock jumps back.
    StepBackwards,
}

impl Amount {
    /// Its key in the file.
    pub fn key(self) -> &'static str {
        match self {
            Amount::Duration => "duration_ms",
            Amount::StepForwards | Amount::StepBackwards => "step_ms",
        }
    }

    /// Where a clock jumps to.
    pub fn direction(self) -> Option<&'static str> {
        match self {
            Amount::Duration => None,
            Amount::StepForwards => Some("forwards"),
            Amount::StepBackwards => Some("backwards"),
        }
    }
}

/// What was looked for, in the order of the file.
pub fn causes(recorded: &Recorded) -> Vec<Cause> {
    let live = recorded.live.iter().flat_map(of_machine);
    live.chain(recorded.logs.iter().flat_map(of_log)).collect()
}

fn of_machine(live: &Live) -> Vec<Cause> {
    let pulse = &live.pulse;
    let heartbeat = |events: &Events, what: String| {
        format!(
            "locklab record, {}, a heartbeat of 1 ms; {what}",
            seconds(events.watched_s)
        )
    };
    let pauses = format!(
        "{} longer than {} ms",
        counted(pulse.pauses.count(), "pause"),
        pulse.threshold_ms
    );
    let mut causes = vec![
        Cause {
            name: "pause",
            title: "the process of a client stands still".into(),
            fault: "pause",
            on: "client",
            source: heartbeat(&pulse.pauses, pauses),
            events: pulse.pauses.clone(),
            amount: Amount::Duration,
            file: "pauses.txt",
        },
        Cause {
            name: "suspend",
            title: "the machine of a client is suspended".into(),
            fault: "suspend",
            on: "client",
            source: heartbeat(
                &pulse.suspends,
                counted(pulse.suspends.count(), "suspension"),
            ),
            events: pulse.suspends.clone(),
            amount: Amount::Duration,
            file: "suspends.txt",
        },
    ];
    let of_client =
        |amount, name, file| steps("client", amount, (name, file), &pulse.steps_ms, live);
    causes.push(of_client(
        Amount::StepForwards,
        "clock-step-forwards",
        "clock-steps-forwards.txt",
    ));
    causes.push(of_client(
        Amount::StepBackwards,
        "clock-step-backwards",
        "clock-steps-backwards.txt",
    ));
    if let Some(clock) = &live.peer_clock {
        let of_node =
            |amount, name, file| steps("node", amount, (name, file), &clock.steps_ms, live);
        causes.push(of_node(
            Amount::StepForwards,
            "node-clock-step-forwards",
            "node-clock-steps-forwards.txt",
        ));
        causes.push(of_node(
            Amount::StepBackwards,
            "node-clock-step-backwards",
            "node-clock-steps-backwards.txt",
        ));
    }
    causes
}

/// The steps of a clock in one direction.
fn steps(
    on: &'static str,
    amount: Amount,
    (name, file): (&'static str, &'static str),
    all_ms: &[f64],
    live: &Live,
) -> Cause {
    let is_forwards = amount == Amount::StepForwards;
    let these = { all_ms.iter() }.filter(|ms| (**ms > 0.0) == is_forwards);
    let durations_ms = Values::of(these.map(|ms| ms.abs()).collect());
    let how = match on {
        "client" => "against the monotonic clock",
        _ => "by TIME of Redis",
    };
    Cause {
        name,
        title: format!(
            "the clock of a {on} jumps {}",
            amount.direction().unwrap_or_default()
        ),
        fault: "clock-step",
        on,
        source: format!(
            "locklab record, {}, {how}; {}",
            seconds(live.seconds),
            counted(durations_ms.count(), "step")
        ),
        events: Events {
            watched_s: live.seconds,
            durations_ms,
        },
        amount,
        file,
    }
}

fn of_log(log: &Log) -> Vec<Cause> {
    let (name, title, file) = match log.runtime {
        Runtime::Jvm => (
            "gc",
            "the JVM of a client stops its threads",
            "gc-pauses.txt",
        ),
        Runtime::Node => ("node-gc", "V8 stops a client", "node-gc-pauses.txt"),
        Runtime::Go => ("go-gc", "Go's runtime stops a client", "go-gc-pauses.txt"),
    };
    let cause = |name, title: &str, events: &Events, unit, file| Cause {
        name,
        title: title.into(),
        fault: "pause",
        on: "client",
        source: format!(
            "{}, {}; {}",
            log.files.join(", "),
            seconds(events.watched_s),
            counted(events.count(), unit)
        ),
        events: events.clone(),
        amount: Amount::Duration,
        file,
    };
    let mut causes = vec![cause(name, title, &log.pauses, "pause", file)];
    if log.stalls.count() > 0 {
        causes.push(cause(
            "gc-stall",
            "a thread of a client waits until its JVM has memory: each as if it were the holder's",
            &log.stalls,
            "stall",
            "gc-stalls.txt",
        ));
    }
    causes
}

/// `1 pause`, `17 pauses`.
pub(super) fn counted(count: usize, unit: &str) -> String {
    match count {
        1 => format!("1 {unit}"),
        _ => format!("{count} {unit}s"),
    }
}
