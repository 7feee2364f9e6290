//! Histories made by hand after Kleppmann's examples.

use locklab_check::Violation;
use locklab_history::{
    Access, ClockKind, Deadline, Event, Failpoint, FaultKind, History, Message, Op, Outcome, Phase,
    Record,
};

/// A history under construction; all times in milliseconds of true time.
#[derive(Default)]
pub struct HistoryBuilder {
    history: History,
    /// How far each host's wall clock is ahead.
    ahead_ms: Vec<(&'static str, f64)>,
    calls: u32,
}

pub fn ns(ms: f64) -> u64 {
    (ms * 1e6).round() as u64
}

impl HistoryBuilder {
    pub fn record(&mut self, at_ms: f64, host: &str, event: Event) {
        let ahead = self.ahead_ms.iter().filter(|(name, _)| *name == host);
        let ahead_ms: f64 = ahead.map(|(_, ahead_ms)| ahead_ms).sum();
        self.history.records.push(Record {
            at_ns: ns(at_ms),
            host: host.into(),
            wall_ns: ns(at_ms + 1_000_000.0 + ahead_ms),
            mono_ns: ns(at_ms),
            event,
        });
    }

    pub fn message(
        &mut self,
        sent_ms: f64,
        arrived_ms: Option<f64>,
        way: (&str, &str),
        label: &str,
    ) {
        self.history.messages.push(Message {
            sent_ns: ns(sent_ms),
            arrived_ns: arrived_ms.map(ns),
            from: way.0.into(),
            to: way.1.into(),
            label: label.to_owned(),
        });
    }

    /// A request and its reply, each on its way for `flight_ms`.
    pub fn exchange(
        &mut self,
        at_ms: f64,
        flight_ms: f64,
        (from, to): (&str, &str),
        said: [&str; 2],
    ) {
        let turn_ms = at_ms + flight_ms;
        self.message(at_ms, Some(turn_ms), (from, to), said[0]);
        self.message(turn_ms, Some(turn_ms + flight_ms), (to, from), said[1]);
    }

    pub fn invoke(&mut self, at_ms: f64, client: &str, op: Op) {
        self.calls += 1;
        let call = self.calls;
        self.record(at_ms, client, Event::Invoke { call, op });
    }

    pub fn complete(&mut self, at_ms: f64, client: &str, op: Op, outcome: Outcome) {
        let (call, detail) = (self.calls, String::new());
        let event = Event::Complete {
            call,
            op,
            outcome,
            detail,
        };
        self.record(at_ms, client, event);
    }

    pub fn holds(&mut self, at_ms: f64, client: &str, lease_ms: Option<f64>, token: Option<u64>) {
        let deadline = lease_ms.map(|lease_ms| Deadline {
            clock: ClockKind::Monotonic,
            at_ns: ns(at_ms + lease_ms),
        });
        let event = Event::BeliefBegins {
            grant: 1,
            deadline,
            token,
            shared: false,
        };
        self.record(at_ms, client, event);
    }

    pub fn releases(&mut self, at_ms: f64, client: &str) {
        self.record(at_ms, client, Event::BeliefEnds { grant: 1 });
    }

    pub fn fault(&mut self, at_ms: f64, host: &str, name: &str, kind: &str, phase: Phase) {
        let event = Event::Fault {
            fault: name.into(),
            kind: FaultKind::of_name(kind).expect("a kind of fault"),
            phase,
            links: None,
        };
        self.record(at_ms, host, event);
    }

    /// An access under the client's first grant, 1.5 ms to the resource and back.
    pub fn access(
        &mut self,
        at_ms: f64,
        client: &str,
        access: Access,
        token: Option<u64>,
        ok: bool,
    ) {
        let (request, reply) = match access {
            Access::Read { version } => ("read".to_owned(), format!("v{version}")),
            Access::Write { based_on, .. } => {
                let reply = if ok { "done" } else { "refused" };
                (format!("write over v{based_on}"), reply.to_owned())
            }
        };
        self.exchange(at_ms, 1.5, (client, "resource"), [&request, &reply]);
        let event = Event::Access {
            client: client.into(),
            grant: 1,
            access,
            token,
            accepted: ok,
        };
        self.record(at_ms + 1.5, "resource", event);
    }

    pub fn end(mut self, at_ms: f64) -> History {
        self.history.records.sort_by_key(|record| record.at_ns);
        self.history.messages.sort_by_key(|message| message.sent_ns);
        self.history.end_ns = ns(at_ms);
        self.history
    }
}

pub fn violation(at_ms: f64, until_ms: f64, clients: &[&str], what: &str) -> Violation {
    Violation {
        at_ns: ns(at_ms),
        until_ns: ns(until_ms),
        clients: clients.iter().map(|&client| client.into()).collect(),
        what: what.to_owned(),
    }
}

const READ_0: Access = Access::Read { version: 0 };
const WRITE_1: Access = Access::Write {
    based_on: 0,
    version: 1,
};

/// A garbage-collection pause of the holder outlasts the lease.
pub fn pause(fenced: bool) -> (History, Violation) {
    let token = |number| fenced.then_some(number);
    let mut story = HistoryBuilder::default();
    story.invoke(9.0, "c1", Op::Acquire);
    story.exchange(9.0, 1.5, ("c1", "n1"), ["SET lock 5f2e NX PX 1000", "OK"]);
    story.complete(12.0, "c1", Op::Acquire, Outcome::Ok);
    story.holds(12.0, "c1", Some(997.0), token(33));
    story.access(12.2, "c1", READ_0, token(33), true);
    story.record(15.2, "c1", Event::reached(Failpoint::Checked));
    story.fault(15.2, "c1", "gc", "pause", Phase::Begins);
    for attempt in 0..5 {
        let at_ms = 13.5 + 200.0 * f64::from(attempt);
        story.invoke(at_ms, "c2", Op::Acquire);
        story.exchange(
            at_ms,
            1.4,
            ("c2", "n1"),
            ["SET lock 90ab NX PX 1000", "nil"],
        );
        story.complete(at_ms + 2.8, "c2", Op::Acquire, Outcome::Failed);
    }
    story.invoke(1013.5, "c2", Op::Acquire);
    story.exchange(
        1013.5,
        1.5,
        ("c2", "n1"),
        ["SET lock 90ab NX PX 1000", "OK"],
    );
    story.complete(1016.5, "c2", Op::Acquire, Outcome::Ok);
    story.holds(1016.5, "c2", Some(997.0), token(34));
    story.access(1016.6, "c2", READ_0, token(34), true);
    story.access(1020.0, "c2", WRITE_1, token(34), true);
    story.fault(1515.2, "c1", "gc", "pause", Phase::Ends);
    let stale = Access::Write {
        based_on: 0,
        version: if fenced { 1 } else { 2 },
    };
    story.access(1515.4, "c1", stale, token(33), !fenced);
    story.releases(1519.0, "c1");
    story.exchange(
        1519.0,
        1.3,
        ("c1", "n1"),
        ["EVAL if get == 5f2e then del", "0"],
    );
    story.releases(1623.0, "c2");
    story.exchange(
        1623.0,
        1.6,
        ("c2", "n1"),
        ["EVAL if get == 90ab then del", "1"],
    );
    let what = "c1 wrote version 2 over version 0, after c2, who had been granted the lock \
                later, had written version 1: c2's write is lost.";
    (
        story.end(30_000.0),
        violation(1516.9, 1516.9, &["c1", "c2"], what),
    )
}

/// Five nodes, two clients, a partition each, and one clock that jumps.
pub fn jump() -> (History, Violation) {
    let mut story = HistoryBuilder::default();
    let nodes = ["n1", "n2", "n3", "n4", "n5"];
    let flight = |client: usize, node: usize| 0.9 + 0.17 * ((node * 3 + client * 2) % 5) as f64;
    for node in ["n4", "n5"] {
        story.fault(0.0, node, "cut-1", "partition", Phase::Begins);
        story.fault(60.0, node, "cut-1", "partition", Phase::Ends);
    }
    story.invoke(20.0, "c1", Op::Acquire);
    for (index, node) in nodes.into_iter().enumerate() {
        if index < 3 {
            story.exchange(
                20.0,
                flight(0, index),
                ("c1", node),
                ["SET lock 5f2e NX PX 10000", "OK"],
            );
        } else {
            story.message(20.0, None, ("c1", node), "SET lock 5f2e NX PX 10000");
        }
    }
    story.complete(30.0, "c1", Op::Acquire, Outcome::Ok);
    story.holds(30.0, "c1", Some(9889.0), None);
    story.fault(45.0, "n3", "jump", "clock-step", Phase::Before);
    story.ahead_ms.push(("n3", 11_000.0));
    story.fault(45.0, "n3", "jump", "clock-step", Phase::Begins);
    story.fault(45.0, "n3", "jump", "clock-step", Phase::Ends);
    for node in ["n1", "n2"] {
        story.fault(60.0, node, "cut-2", "partition", Phase::Begins);
        story.fault(9_000.0, node, "cut-2", "partition", Phase::Ends);
    }
    for attempt in 0..4 {
        let at_ms = 22.0 + 9.0 * f64::from(attempt);
        story.invoke(at_ms, "c2", Op::Acquire);
        for (index, node) in nodes.into_iter().enumerate() {
            let reply = if index < 3 { "nil" } else { "OK" };
            story.exchange(
                at_ms,
                flight(1, index),
                ("c2", node),
                ["SET lock 90ab NX PX 10000", reply],
            );
        }
        story.complete(at_ms + 4.0, "c2", Op::Acquire, Outcome::Failed);
    }
    story.invoke(70.0, "c2", Op::Acquire);
    for (index, node) in nodes.into_iter().enumerate() {
        if index >= 2 {
            story.exchange(
                70.0,
                flight(1, index),
                ("c2", node),
                ["SET lock 90ab NX PX 10000", "OK"],
            );
        } else {
            story.message(70.0, None, ("c2", node), "SET lock 90ab NX PX 10000");
        }
    }
    story.complete(80.0, "c2", Op::Acquire, Outcome::Ok);
    story.holds(80.0, "c2", Some(9889.0), None);
    story.releases(240.0, "c1");
    story.releases(310.0, "c2");
    let what = "c1 and c2 both held the lock within their leases for 160 ms: c1 by n1, n2, n3; \
                c2 by n3, n4, n5.";
    (
        story.end(12_000.0),
        violation(80.0, 240.0, &["c1", "c2"], what),
    )
}

/// The replies wait for a paused client; it reads them after the keys have expired.
pub fn late_replies() -> (History, Violation) {
    let mut story = HistoryBuilder::default();
    let nodes = ["n1", "n2", "n3", "n4", "n5"];
    story.invoke(10.0, "c1", Op::Acquire);
    story.fault(10.5, "c1", "gc", "pause", Phase::Begins);
    for (index, node) in nodes.into_iter().enumerate() {
        let flight_ms = 1.0 + 0.2 * index as f64;
        story.exchange(
            10.0,
            flight_ms,
            ("c1", node),
            ["SET lock 5f2e NX PX 10000", "OK"],
        );
    }
    story.invoke(10_030.0, "c2", Op::Acquire);
    for (index, node) in nodes.into_iter().enumerate() {
        let flight_ms = 1.1 + 0.15 * index as f64;
        story.exchange(
            10_030.0,
            flight_ms,
            ("c2", node),
            ["SET lock 90ab NX PX 10000", "OK"],
        );
    }
    story.complete(10_033.6, "c2", Op::Acquire, Outcome::Ok);
    story.holds(10_033.6, "c2", Some(9_895.0), None);
    story.access(10_034.0, "c2", READ_0, None, true);
    story.fault(15_010.5, "c1", "gc", "pause", Phase::Ends);
    story.complete(15_010.6, "c1", Op::Acquire, Outcome::Ok);
    story.holds(15_010.6, "c1", None, None);
    story.access(15_011.0, "c1", READ_0, None, true);
    story.access(15_014.5, "c1", WRITE_1, None, true);
    story.releases(15_018.0, "c1");
    let what = "c2 and c1 both held the lock: c1 counted five replies that had waited for it \
                for 15 s, and did not look at its clock.";
    (
        story.end(16_000.0),
        violation(15_010.6, 15_018.0, &["c2", "c1"], what),
    )
}

/// The write, not the client, is delayed: an arrow of 90 s beside bursts of 10 ms.
pub fn late_write() -> (History, Violation) {
    let mut story = HistoryBuilder::default();
    story.invoke(9.0, "c1", Op::Acquire);
    story.exchange(9.0, 1.5, ("c1", "n1"), ["SET lock 5f2e NX PX 30000", "OK"]);
    story.complete(12.0, "c1", Op::Acquire, Outcome::Ok);
    story.holds(12.0, "c1", Some(29_900.0), None);
    story.access(12.3, "c1", READ_0, None, true);
    story.fault(15.5, "c1", "backbone", "slow-link", Phase::Begins);
    story.fault(60_000.0, "c1", "backbone", "slow-link", Phase::Ends);
    let way = ("c1", "resource");
    story.message(16.0, Some(90_016.0), way, "write over v0");
    let write = Event::Access {
        client: "c1".into(),
        grant: 1,
        access: Access::Write {
            based_on: 0,
            version: 2,
        },
        token: None,
        accepted: true,
    };
    story.record(90_016.0, "resource", write);
    story.releases(29_000.0, "c1");
    for attempt in 0..140 {
        let at_ms = 20.0 + 200.0 * f64::from(attempt);
        story.invoke(at_ms, "c2", Op::Acquire);
        story.exchange(
            at_ms,
            1.4,
            ("c2", "n1"),
            ["SET lock 90ab NX PX 30000", "nil"],
        );
        story.complete(at_ms + 2.8, "c2", Op::Acquire, Outcome::Failed);
    }
    story.invoke(30_010.0, "c2", Op::Acquire);
    story.exchange(
        30_010.0,
        1.5,
        ("c2", "n1"),
        ["SET lock 90ab NX PX 30000", "OK"],
    );
    story.complete(30_013.0, "c2", Op::Acquire, Outcome::Ok);
    story.holds(30_013.0, "c2", Some(29_900.0), None);
    story.access(30_013.5, "c2", READ_0, None, true);
    story.access(30_017.0, "c2", WRITE_1, None, true);
    story.releases(30_021.0, "c2");
    let what = "c1's write over version 0 arrived 90 s late, after c2, the later holder, had \
                written version 1.";
    (
        story.end(100_000.0),
        violation(90_016.0, 90_016.0, &["c1", "c2"], what),
    )
}
