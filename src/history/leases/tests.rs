//! Contents of nodes, written by hand.

use super::*;
use crate::{Event, FaultKind, KeyChange, Message, Phase, Record};

const MS: u64 = 1_000_000;

/// A run of clients and nodes whose clocks show true time, up to 1000 ms.
#[derive(Default)]
struct Run {
    history: History,
    contents: Contents,
}

fn run() -> Run {
    let history = History {
        end_ns: 1000 * MS,
        ..History::default()
    };
    Run {
        history,
        ..Run::default()
    }
}

impl Run {
    /// By the request of this host, if one is known, a key of n1 has this value from now on and this time to live in
    /// milliseconds; or it is deleted.
    fn sets(self, at_ms: u64, by: Option<&str>, now: Option<(&str, Option<u64>)>) -> Self {
        self.shows(at_ms, at_ms, by, now)
    }

    /// The same while n1's wall clock shows something else.
    fn shows(
        mut self,
        at_ms: u64,
        wall_ms: u64,
        by: Option<&str>,
        now: Option<(&str, Option<u64>)>,
    ) -> Self {
        let now = now.map(|(value, ttl_ms)| KeyState {
            has_several: false,
            value: value.into(),
            expires: ttl_ms.map(|ttl_ms| Deadline {
                clock: ClockKind::Wall,
                at_ns: (wall_ms + ttl_ms) * MS,
            }),
        });
        let key = "lock".to_owned();
        self.contents.snapshots.push(KeySnapshot {
            at_ns: at_ms * MS,
            host: "n1".into(),
            by: by.map(Name::from),
            wall_ns: wall_ms * MS,
            mono_ns: at_ms * MS,
            changed: vec![KeyChange { key, now }],
        });
        self
    }

    /// Records an event of n1, or only the readings of its clocks.
    fn n1(mut self, at_ms: u64, phase: Phase) -> Self {
        self.history.records.push(Record {
            at_ns: at_ms * MS,
            host: "n1".into(),
            wall_ns: at_ms * MS,
            mono_ns: at_ms * MS,
            event: Event::Fault {
                fault: "fault".into(),
                kind: FaultKind::Crash,
                phase,
                links: None,
            },
        });
        self
    }

    /// A request of a client arrives at n1.
    fn arrives(mut self, at_ms: u64, client: &str, payload: &str) -> Self {
        self.history.messages.push(Message {
            sent_ns: (at_ms - 1) * MS,
            arrived_ns: Some(at_ms * MS),
            from: client.into(),
            to: "n1".into(),
            label: String::new(),
        });
        self.contents.payloads.push(payload.into());
        self
    }

    /// The leases: value, owner, beginning and end in milliseconds, and why and by whom it ended.
    #[track_caller]
    fn check(&self, expected: &[&str]) {
        let topology = Topology {
            replicas: 1,
            sentinels: 1,
            ..Topology::default()
        };
        let found = leases(&self.history, &self.contents, &topology);
        let words = |lease: &Lease| {
            let owner = lease.owner.map_or("nobody", |owner| owner);
            let by = lease.ended_by.map_or("nobody", |by| by);
            let (from_ms, until_ms) = (lease.from_ns / MS, lease.until_ns / MS);
            format!(
                "{} of {owner} {from_ms}-{until_ms} {:?} by {by}",
                lease.value, lease.end
            )
        };
        assert_eq!(found.iter().map(words).collect::<Vec<_>>(), expected);
    }
}

/// A key with a time to live.
fn lives(value: &str, ttl_ms: u64) -> Option<(&str, Option<u64>)> {
    Some((value, Some(ttl_ms)))
}

/// A key without one.
fn stays(value: &str) -> Option<(&str, Option<u64>)> {
    Some((value, None))
}

#[test]
fn a_lease_lasts_until_the_node_deletes_replaces_or_loses_its_key() {
    let held = || run().sets(10, Some("c1"), stays("a"));
    held().check(&["a of c1 10-1000 Run by nobody"]);
    held()
        .sets(50, Some("c2"), None)
        .check(&["a of c1 10-50 Deleted by c2"]);
    held().sets(50, Some("c2"), stays("b")).check(&[
        "a of c1 10-50 Replaced by c2",
        "b of c2 50-1000 Run by nobody",
    ]);
    held()
        .n1(60, Phase::Begins)
        .check(&["a of c1 10-60 Lost by nobody"]);
    let again = held()
        .n1(60, Phase::Begins)
        .n1(70, Phase::Ends)
        .sets(80, Some("c2"), stays("a"));
    again.check(&[
        "a of c1 10-60 Lost by nobody",
        "a of c2 80-1000 Run by nobody",
    ]);
}

#[test]
fn a_lease_expires_by_the_clock_of_its_node_before_anybody_looks() {
    let held = || run().sets(10, Some("c1"), lives("a", 100));
    held()
        .sets(300, Some("c2"), None)
        .check(&["a of c1 10-110 Expired by nobody"]);
    held()
        .sets(110, Some("c2"), None)
        .check(&["a of c1 10-110 Deleted by c2"]);
    held().sets(300, Some("c1"), lives("a", 100)).check(&[
        "a of c1 10-110 Expired by nobody",
        "a of c1 300-1000 Run by nobody",
    ]);
    // The clock runs at a half of true time.
    held()
        .shows(300, 155, Some("c2"), None)
        .check(&["a of c1 10-210 Expired by nobody"]);
    // It shows less than the end when somebody asks, whatever it showed before.
    held()
        .n1(200, Phase::Missed)
        .shows(300, 50, Some("c2"), None)
        .check(&["a of c1 10-300 Deleted by c2"]);
}

#[test]
fn a_renewed_lease_is_one_lease_of_its_first_owner() {
    let renewed = run()
        .sets(10, Some("c1"), lives("a", 100))
        .sets(60, Some("c2"), lives("a", 100));
    renewed
        .sets(500, Some("c2"), None)
        .check(&["a of c1 10-160 Expired by nobody"]);
}

#[test]
fn a_value_that_no_request_of_a_client_set_is_that_of_who_sent_it() {
    let owner = |run: Run, value: &str, expected: &str| {
        // A replica gets it from its master, and a node from its files.
        for by in [Some("s1"), Some("resource"), None] {
            let run = Run {
                history: run.history.clone(),
                contents: run.contents.clone(),
            };
            let expected = format!("{value} of {expected} 50-1000 Run by nobody");
            run.sets(50, by, stays(value)).check(&[&expected]);
        }
    };
    let sent = |at_ms| {
        run()
            .arrives(20, "c1", "SET lock token-of-1 NX")
            .arrives(at_ms, "c2", "GET token-of-1")
            .arrives(at_ms, "n1r1", "token-of-1")
    };
    owner(sent(50), "token-of-1", "c2");
    owner(sent(51), "token-of-1", "c1");
    owner(sent(50), "token-of-1: 2", "c2");
    owner(sent(50), "token-of-2", "nobody");
    // Eight bytes identify a client, and seven do not.
    owner(sent(50), "token-of", "c2");
    owner(sent(50), "token-o", "nobody");
}

#[test]
fn a_value_that_a_client_has_set_stays_its_own() {
    let set = run()
        .sets(10, Some("c1"), stays("a"))
        .sets(20, Some("c2"), None);
    set.sets(30, None, stays("a")).check(&[
        "a of c1 10-20 Deleted by c2",
        "a of c1 30-1000 Run by nobody",
    ]);
}

/// A node that goes by its monotonic clock expires the key by that one, whatever its wall clock shows.
#[test]
fn a_lease_ends_by_the_clock_that_its_time_to_live_is_on() {
    for clock in [ClockKind::Wall, ClockKind::Monotonic] {
        let mut held = run().sets(10, Some("c1"), lives("a", 100));
        let expires = held.contents.snapshots[0].changed[0].now.as_mut();
        expires.expect("a value").expires = Some(Deadline {
            clock,
            at_ns: 110 * MS,
        });
        // At 60 ms the wall clock was set back by 50 ms.
        let mut later = held.n1(60, Phase::Before).n1(400, Phase::Before);
        for record in &mut later.history.records {
            record.wall_ns -= 50 * MS;
        }
        match clock {
            ClockKind::Wall => later.check(&["a of c1 10-160 Expired by nobody"]),
            ClockKind::Monotonic => later.check(&["a of c1 10-110 Expired by nobody"]),
        }
    }
}
