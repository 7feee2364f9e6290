//! Trace events for Perfetto, and the log for ShiViz.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::shown::Shown;

/// Runs with pauses, clock steps, partitions, crashes, late and lost messages.
const RUNS: &[(&str, u64)] = &[
    ("kleppmann/k1", 3),
    ("kleppmann/k10", 3),
    ("redis-docs/r4", 35),
    ("redisson/fair", 3),
];

fn whole_ns(us: &Value) -> u64 {
    (us.as_f64().expect("microseconds") * 1000.0).round() as u64
}

/// The rules of the trace-event format that a viewer relies on.
fn check_trace(name: &str, trace: &Value, messages: usize, arrived: usize) {
    let events = trace["traceEvents"].as_array().expect("events");
    let mut slices: BTreeMap<u64, Vec<(u64, u64)>> = BTreeMap::new();
    let mut flows: BTreeMap<u64, Vec<(String, u64, u64)>> = BTreeMap::new();
    let mut processes_of: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
    let mut named = BTreeSet::new();
    for event in events {
        let (pid, tid) = (event["pid"].as_u64(), event["tid"].as_u64());
        let (pid, tid) = (pid.expect("a process"), tid.expect("a thread"));
        let ts = whole_ns(&event["ts"]);
        match event["ph"].as_str().expect("a phase") {
            "X" => slices
                .entry(tid)
                .or_default()
                .push((ts, ts + whole_ns(&event["dur"]))),
            flow @ ("s" | "f") => {
                let id = event["id"].as_u64().expect("an id");
                flows
                    .entry(id)
                    .or_default()
                    .push((flow.to_owned(), tid, ts));
                assert_eq!(event["bp"] == "e", flow == "f", "{event}");
            }
            "i" => assert_eq!(event["s"], "t"),
            "M" => {
                named.insert((event["name"].to_string(), pid, tid));
                continue;
            }
            other => panic!("{name}: phase {other}"),
        }
        processes_of.entry(tid).or_default().insert(pid);
    }
    for (tid, pids) in &processes_of {
        assert_eq!(pids.len(), 1, "{name}: thread {tid} belongs to one process");
        let pid = *pids.first().expect("one");
        assert!(
            named.contains(&("\"thread_name\"".into(), pid, *tid)),
            "{name}: {tid} is named"
        );
        assert!(
            named.contains(&("\"process_name\"".into(), pid, 0)),
            "{name}: {pid} is named"
        );
    }
    for (tid, slices) in &mut slices {
        slices.sort_by_key(|&(from, until)| (from, std::cmp::Reverse(until)));
        for pair in slices.windows(2) {
            let [(_, until), (from, inner)] = [pair[0], pair[1]];
            assert!(
                from >= until || inner <= until,
                "{name}: thread {tid} does not nest: {pair:?}"
            );
        }
    }
    assert_eq!(
        flows.len(),
        arrived,
        "{name}: a flow for each message that arrived"
    );
    let sends = events.iter().filter(|event| {
        event["ph"] == "X"
            && event["name"]
                .as_str()
                .is_some_and(|name| name.starts_with("sends"))
    });
    assert_eq!(sends.count(), messages, "{name}");
    for (id, ends) in &flows {
        let [(first, sender, left), (second, receiver, came)] = &ends[..] else {
            panic!("{name}: flow {id} has {} ends", ends.len())
        };
        assert_eq!(
            (first.as_str(), second.as_str()),
            ("s", "f"),
            "{name}: flow {id}"
        );
        assert!(left <= came, "{name}: flow {id}");
        for (tid, at) in [(sender, left), (receiver, came)] {
            let around = slices[tid]
                .iter()
                .any(|(from, until)| from <= at && at < until);
            assert!(around, "{name}: flow {id} is bound to no slice at {at}");
        }
    }
}

#[test]
fn trace_events_have_the_format_of_perfetto() {
    for (name, seed) in RUNS {
        let shown = Shown::of(name, *seed);
        let trace: Value =
            serde_json::from_str(&locklab_view::trace(&shown.subject())).expect("JSON");
        let messages = &shown.recording.history.messages;
        let arrived = messages
            .iter()
            .filter(|message| message.arrived_ns.is_some());
        check_trace(name, &trace, messages.len(), arrived.count());
    }
}

/// Slices of one thread may not overlap, even if messages leave within a microsecond.
#[test]
fn messages_close_together_have_slices_that_nest() {
    let mut shown = Shown::of("kleppmann/k1", 3);
    let messages = &mut shown.recording.history.messages;
    for (place, message) in (0..).zip(messages.iter_mut()) {
        (message.from, message.to) = ("c1".into(), "n1".into());
        message.sent_ns = 300 * place;
        message.arrived_ns = Some(5_000_000 + 300 * place);
    }
    let count = messages.len();
    let trace: Value = serde_json::from_str(&locklab_view::trace(&shown.subject())).expect("JSON");
    check_trace("close together", &trace, count, count);
}

#[test]
fn trace_contains_leases_and_faults() {
    let shown = Shown::of("kleppmann/k1", 3);
    let trace: Value = serde_json::from_str(&locklab_view::trace(&shown.subject())).expect("JSON");
    let events = trace["traceEvents"].as_array().expect("events");
    let lasts = |name: &str| {
        let found = events
            .iter()
            .find(|event| event["ph"] == "X" && event["name"] == name);
        found.unwrap_or_else(|| panic!("{name}"))["dur"]
            .as_f64()
            .expect("microseconds")
    };
    assert_eq!(lasts("gc: pause 1.50 s"), 1_500_000.0);
    assert!(lasts("holds the lock") > 1_500_000.0);
    assert!((1_000_000.0..1_002_000.0).contains(&lasts("lock")));
}

type Clock = BTreeMap<String, u64>;

/// Whether a vector clock is at least another one in every component.
fn dominates(one: &Clock, other: &Clock) -> bool {
    let count = |host| one.get(host).copied().unwrap_or(0);
    other.iter().all(|(host, known)| count(host) >= *known)
}

#[test]
fn vector_clocks_match_happened_before() {
    for (name, seed) in RUNS {
        let shown = Shown::of(name, *seed);
        let log = locklab_view::log(&shown.subject());
        let mut lines = log.lines();
        let expression = lines.next().expect("the expression");
        for group in ["(?<host>", "(?<clock>", "(?<event>"] {
            assert!(expression.contains(group), "{expression}");
        }
        assert_eq!(lines.next(), Some(""), "there is one execution");
        let mut last: BTreeMap<String, Clock> = BTreeMap::new();
        let mut under_way: BTreeMap<(String, String, String), Vec<Clock>> = BTreeMap::new();
        let (mut sent, mut received) = (0, 0);
        for line in lines {
            let (host, rest) = line.split_once(' ').expect("a host");
            let (clock, rest) = rest.split_at(rest.find('}').expect("a clock") + 1);
            let clock: Clock = serde_json::from_str(clock).expect("a clock is JSON");
            let (_, event) = rest.split_once(" ms ").expect("a time");
            let before = last.get(host).cloned().unwrap_or_default();
            let own = before.get(host).copied().unwrap_or(0);
            assert_eq!(clock[host], own + 1, "{name}: {line}");
            assert!(dominates(&clock, &before), "{name}: {line}");
            // No host has a higher component for another host than that host itself.
            for (other, known) in clock.iter().filter(|(other, _)| *other != host) {
                let happened = last.get(other).map_or(0, |clock| clock[other]);
                assert!(*known <= happened, "{name}: {line}");
            }
            if let Some((to, label)) = event
                .strip_prefix("sends ")
                .and_then(|e| e.split_once(": "))
            {
                let way = (host.to_owned(), to.to_owned(), label.to_owned());
                under_way.entry(way).or_default().push(clock.clone());
                sent += 1;
            }
            let receives = event.strip_prefix("receives from ");
            if let Some((from, label)) = receives.and_then(|event| event.split_once(": ")) {
                let way = (from.to_owned(), host.to_owned(), label.to_owned());
                let sends = under_way.get_mut(&way).expect("it was sent");
                let known = sends.iter().position(|send| dominates(&clock, send));
                sends.remove(known.unwrap_or_else(|| panic!("{name}: unknown cause of {line}")));
                received += 1;
            }
            last.insert(host.to_owned(), clock);
        }
        let messages = &shown.recording.history.messages;
        let arrived = messages
            .iter()
            .filter(|message| message.arrived_ns.is_some());
        assert_eq!(
            (sent, received),
            (messages.len(), arrived.count()),
            "{name}"
        );
    }
}

/// The actions of a process on the arrival of a message are effects of it, at the same instant.
#[test]
fn an_acquire_succeeds_after_the_nodes_answer() {
    let shown = Shown::of("kleppmann/k1", 3);
    let log = locklab_view::log(&shown.subject());
    let granted = log.lines().find(|line| line.ends_with("acquire succeeded"));
    let granted = granted.expect("c1 is granted the lock");
    // n1 received the request and sent its answer.
    assert!(granted.starts_with("c1 {\"c1\":4,\"n1\":2}"), "{granted}");
}
