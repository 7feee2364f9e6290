//! The run in Chrome's trace-event format, which Perfetto (ui.perfetto.dev) and `chrome://tracing`
//! open: hosts as processes, what lasts as complete events, messages as flows.
//!
//! The format is that of the "Trace Event Format" document, which Perfetto's documentation refers
//! to. Slices of one thread must nest, so what overlaps without nesting is put on further threads.
//! A flow connects slices, so each message has a short one where it leaves and where it arrives.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::data::Places;
use super::role::role;
use super::{Subject, data, resp, sentences};
use locklab_history::leases;
use locklab_history::timeline::Timeline;
use locklab_report::spacetime::faults::faults;
use locklab_report::spacetime::holds::holds;

/// The longest slice of a message, in nanoseconds: shorter than any latency, long enough to see.
const MESSAGE_NS: u64 = 1_000;

/// The run as trace-event JSON.
pub fn trace(subject: &Subject) -> String {
    let events = events(subject);
    let header = &subject.recording.header;
    let trace = json!({
        "displayTimeUnit": "ns",
        "otherData": {
            "title": data::title(subject),
            "scenario": subject.scenario,
            "seed": header.seed,
            "locklab": header.locklab,
        },
        "traceEvents": events,
    });
    trace.to_string()
}

/// One event. Times are microseconds; three decimals keep the nanoseconds.
#[derive(Serialize)]
struct Event {
    ph: &'static str,
    name: String,
    #[serde(skip_serializing_if = "str::is_empty")]
    cat: &'static str,
    pid: usize,
    tid: usize,
    ts: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<f64>,
    #[serde(flatten)]
    more: Map<String, Value>,
}

fn us(ns: u64) -> f64 {
    ns as f64 / 1000.0
}

fn more(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

/// Kinds of what lasts, each on threads of its own. Numbers of threads leave room for overlaps.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Track {
    Holds,
    Keys,
    Faults,
    Messages,
    Records,
}

impl Track {
    fn name(self) -> &'static str {
        match self {
            Track::Holds => "believes that it holds the lock",
            Track::Keys => "holds keys",
            Track::Faults => "faults",
            Track::Messages => "messages",
            Track::Records => "events",
        }
    }
}

/// The threads in use: per host and track, when the last slice of each thread ends.
#[derive(Default)]
struct Threads(BTreeMap<(usize, Track), Vec<u64>>);

impl Threads {
    /// A thread that is free from `from_ns` on.
    fn free(&mut self, host: usize, track: Track, (from_ns, until_ns): (u64, u64)) -> usize {
        let ends = self.0.entry((host, track)).or_default();
        let free = ends.iter().position(|end_ns| *end_ns <= from_ns);
        let place = free.unwrap_or(ends.len());
        match free {
            Some(place) => ends[place] = until_ns,
            None => ends.push(until_ns),
        }
        tid(host, track, place)
    }
}

/// No two threads have the same number, also in different processes. A host rarely does two things
/// of a kind at the same time, and never a thousand.
fn tid(host: usize, track: Track, place: usize) -> usize {
    10_000 * (host + 1) + 1_000 * track as usize + place
}

fn events(subject: &Subject) -> Vec<Event> {
    let history = &subject.recording.history;
    let mut places = Places::new(subject.topology.hosts());
    let mut threads = Threads::default();
    let mut events = Vec::new();

    let mut lasts = |host: usize, track, name: String, span: (u64, u64), args: Value| Event {
        ph: "X",
        name,
        cat: "",
        pid: host + 1,
        tid: threads.free(host, track, span),
        ts: us(span.0),
        dur: Some(us(span.1.saturating_sub(span.0))),
        more: more(json!({ "args": args })),
    };
    for hold in holds(&Timeline::of(history)) {
        let host = places.of(hold.client);
        let span = (hold.from_ns, hold.until_ns);
        let args = json!({ "token": hold.token, "shared": hold.shared,
                           "deadline_us": hold.deadline_ns.map(us) });
        events.push(lasts(
            host,
            Track::Holds,
            "holds the lock".into(),
            span,
            args,
        ));
    }
    if let Some(contents) = subject.contents {
        for lease in leases::leases(history, contents, subject.topology) {
            let host = places.of(lease.node);
            let span = (lease.from_ns, lease.until_ns);
            let args = json!({ "value": lease.value, "owner": lease.owner,
                               "end": lease.end.name() });
            events.push(lasts(host, Track::Keys, lease.key.into(), span, args));
        }
    }
    for fault in faults(history) {
        let host = places.of(fault.host);
        let span = (fault.from_ns, fault.until_ns);
        events.push(lasts(host, Track::Faults, fault.label, span, json!({})));
    }
    events.extend(flows(subject, &mut places));
    for record in &history.records {
        let host = places.of(&record.host);
        events.push(Event {
            ph: "i",
            name: sentences::text(record),
            cat: sentences::kind(&record.event),
            pid: host + 1,
            tid: tid(host, Track::Records, 0),
            ts: us(record.at_ns),
            dur: None,
            more: more(json!({ "s": "t" })),
        });
    }
    let names = names(subject, &places, &events);
    events.splice(0..0, names);
    events
}

/// Each message as two short slices, and a flow from one to the other. One that never arrived has
/// no flow.
fn flows(subject: &Subject, places: &mut Places) -> Vec<Event> {
    let history = &subject.recording.history;
    // Per host, the instants at which a message leaves or arrives.
    let mut instants: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
    for message in &history.messages {
        instants
            .entry(places.of(&message.from))
            .or_default()
            .push(message.sent_ns);
        if let Some(arrived_ns) = message.arrived_ns {
            instants
                .entry(places.of(&message.to))
                .or_default()
                .push(arrived_ns);
        }
    }
    for instants in instants.values_mut() {
        instants.sort_unstable();
        instants.dedup();
    }
    // A slice ends before the next begins; those of one instant have the same length, and nest.
    let length_ns = |host: usize, at_ns: u64| {
        let instants = &instants[&host];
        let next = instants.partition_point(|&instant| instant <= at_ns);
        let gap_ns = instants.get(next).map_or(MESSAGE_NS, |next| next - at_ns);
        gap_ns.min(MESSAGE_NS)
    };
    let mut events = Vec::new();
    for (id, message) in history.messages.iter().enumerate() {
        let payload = subject
            .contents
            .and_then(|contents| contents.payloads.get(id));
        let args = json!({
            "from": message.from,
            "to": message.to,
            "text": payload.map(|payload| resp::text(payload)),
        });
        let mut end = |host: usize, at_ns, verb, flow: Option<Value>| {
            let event = |ph, name, dur, more| Event {
                ph,
                name,
                cat: "message",
                pid: host + 1,
                tid: tid(host, Track::Messages, 0),
                ts: us(at_ns),
                dur,
                more,
            };
            let dur = Some(us(length_ns(host, at_ns)));
            let name = format!("{verb}: {}", message.label);
            events.push(event("X", name, dur, more(json!({ "args": args }))));
            if let Some(flow) = flow {
                let ph = if verb == "sends" { "s" } else { "f" };
                events.push(event(ph, message.label.clone(), None, more(flow)));
            }
        };
        let begins = message.arrived_ns.map(|_| json!({ "id": id }));
        end(places.of(&message.from), message.sent_ns, "sends", begins);
        if let Some(arrived_ns) = message.arrived_ns {
            // Bound to the slice around it, and not to the next one.
            let ends = json!({ "id": id, "bp": "e" });
            end(places.of(&message.to), arrived_ns, "receives", Some(ends));
        }
    }
    events
}

/// The names of processes and threads, and the order of the processes.
fn names(subject: &Subject, places: &Places, events: &[Event]) -> Vec<Event> {
    let name = |ph: &'static str, pid, tid, args: Value| Event {
        ph: "M",
        name: ph.to_owned(),
        cat: "",
        pid,
        tid,
        ts: 0.0,
        dur: None,
        more: more(json!({ "args": args })),
    };
    let mut named = Vec::new();
    for (place, host) in places.names.iter().enumerate() {
        let title = format!("{host} ({})", role(subject.topology, host));
        named.push(name("process_name", place + 1, 0, json!({ "name": title })));
        named.push(name(
            "process_sort_index",
            place + 1,
            0,
            json!({ "sort_index": place }),
        ));
    }
    let mut threads: Vec<(usize, usize)> =
        events.iter().map(|event| (event.pid, event.tid)).collect();
    threads.sort_unstable();
    threads.dedup();
    let tracks = [
        Track::Holds,
        Track::Keys,
        Track::Faults,
        Track::Messages,
        Track::Records,
    ];
    for (pid, tid) in threads {
        let track = tracks[tid % 10_000 / 1_000];
        named.push(name(
            "thread_name",
            pid,
            tid,
            json!({ "name": track.name() }),
        ));
    }
    named
}
