//! Durations in a history, taken in the same way from simulated and from real runs.

use locklab_values::units::fractional_ms_from_ns;
use locklab_vecmap::VecMap;

use locklab_history::{Event, History, Op, Outcome, Point, Record};

/// Durations of one kind, in milliseconds, found in one history.
pub type Observe = fn(&History) -> Vec<f64>;

/// An observed duration: its name, its beginning and end, and the way to find them.
pub type Observed = (&'static str, &'static str, Observe);

/// A duration of the scenario `sentinels.toml`.
pub const OF_SENTINELS: &[Observed] = &[
    (
        "Sentinel: PING to a master",
        "between one and the next",
        |h| intervals(h, "s1", "n1", "PING"),
    ),
    (
        "Sentinel: INFO to a master",
        "between one and the next",
        |h| intervals(h, "s1", "n1", "INFO"),
    ),
    ("Sentinel: hello message", "between one and the next", |h| {
        intervals(h, "s1", "n1", "PUBLISH")
    }),
    ("replica: REPLCONF ACK", "between one and the next", |h| {
        intervals(h, "n1r1", "n1", "ACK")
    }),
    (
        "master: PING to a replica",
        "between one and the next",
        |h| intervals(h, "n1", "n1r1", "PING"),
    ),
    (
        "Sentinel: +sdown",
        "from the loss of power to the first, with down-after-milliseconds 1000",
        |h| step(h, None, "+sdown"),
    ),
    (
        "Sentinel: +odown",
        "from the first +sdown to the first",
        |h| step(h, Some("+sdown"), "+odown"),
    ),
    ("Sentinel: +elected-leader", "from the first +odown", |h| {
        step(h, Some("+odown"), "+elected-leader")
    }),
    ("Sentinel: +promoted-slave", "from +elected-leader", |h| {
        step(h, Some("+elected-leader"), "+promoted-slave")
    }),
    (
        "Sentinel: +switch-master",
        "from +promoted-slave to the first",
        |h| step(h, Some("+promoted-slave"), "+switch-master"),
    ),
    (
        "Sentinel: failover",
        "from the loss of power to the first +switch-master",
        |h| step(h, None, "+switch-master"),
    ),
];

/// A duration of the scenario `disk.toml`.
pub const OF_A_DISK: &[Observed] = &[(
    "node: appendfsync everysec",
    "from the first acknowledged write that is lost to the loss of power",
    lost_for,
)];

/// The time at which the fault took effect, in nanoseconds.
fn struck(history: &History) -> Option<u64> {
    let mut records = history.records.iter();
    let begins = records.find(|record| record.event.is_fault_beginning())?;
    Some(begins.at_ns)
}

/// The times between messages with this word, before the fault.
fn intervals(history: &History, from: &str, to: &str, word: &str) -> Vec<f64> {
    let until_ns = struck(history).unwrap_or(history.end_ns);
    let mut sent_ns: Vec<u64> = (history.messages.iter())
        .filter(|message| *message.from == *from && *message.to == *to)
        .filter(|message| message.sent_ns < until_ns)
        .filter(|message| {
            message
                .label
                .split(' ')
                .any(|said| said.eq_ignore_ascii_case(word))
        })
        .map(|message| message.sent_ns)
        .collect();
    sent_ns.sort_unstable();
    let pairs = sent_ns.windows(2);
    pairs
        .map(|pair| fractional_ms_from_ns(pair[1] - pair[0]))
        .collect()
}

/// The time from the first notice `from`, or from the fault, to the first notice `to` after it.
fn step(history: &History, from: Option<&str>, to: &str) -> Vec<f64> {
    let measure = || {
        let struck_ns = struck(history)?;
        let from_ns = match from {
            None => struck_ns,
            Some(from) => first_notice(&history.records, from, struck_ns)?,
        };
        let to_ns = first_notice(&history.records, to, from_ns)?;
        Some(fractional_ms_from_ns(to_ns - from_ns))
    };
    measure().into_iter().collect()
}

/// When the first Sentinel reported this, at `after_ns` or later.
fn first_notice(records: &[Record], wanted: &str, after_ns: u64) -> Option<u64> {
    let is_wanted = |record: &&Record| match &record.event {
        Event::Reached {
            point: Point::Notice(notice),
        } => **notice == *wanted && record.at_ns >= after_ns,
        _ => false,
    };
    records.iter().find(is_wanted).map(|record| record.at_ns)
}

/// For how long before the loss of power no write had become durable.
fn lost_for(history: &History) -> Vec<f64> {
    let measure = || {
        let struck_ns = struck(history)?;
        let kept = history
            .records
            .iter()
            .find_map(|record| match &record.event {
                Event::Members { members } => Some(members),
                _ => None,
            })?;
        let mut adds = VecMap::new();
        for record in &history.records {
            match record.event {
                Event::Invoke { call, op: Op::Add } => {
                    adds.insert((&record.host, call), None);
                }
                Event::Complete {
                    call,
                    op: Op::Add,
                    outcome: Outcome::Ok,
                    ..
                } if record.at_ns < struck_ns => {
                    adds.insert((&record.host, call), Some(record.at_ns));
                }
                _ => {}
            }
        }
        let is_lost = |host, call| !kept.get(host).is_some_and(|calls| calls.contains(call));
        let lost = adds
            .iter()
            .filter(|((host, call), _)| is_lost(*host, call))
            .filter_map(|(_, acknowledged_ns)| *acknowledged_ns);
        Some(fractional_ms_from_ns(struck_ns - lost.min()?))
    };
    measure().into_iter().collect()
}
