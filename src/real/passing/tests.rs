//! Segments of clients and of a server, one after the other, and the steps that they are.

use std::sync::mpsc::{self, Receiver};

use locklab_history::{Effect, Fault, HostFault, Start};

use super::*;

/// Steps at which fault 0 is placed, and what they report.
fn placed_at(step: &str) -> (Steps, Receiver<(ProcessId, ChildEvent)>) {
    let (events, received) = mpsc::channel();
    let fault = Fault {
        name: "gc".into(),
        start: Start::at_step(step.parse().expect("a step"), 0),
        duration_ns: None,
        effect: Effect::Hosts {
            fault: HostFault::Pause,
            hosts: vec!["c1".into()],
        },
    };
    let triggers = StepTriggers::new(&Schedule {
        faults: vec![fault],
    });
    let clients = ["c1".into(), "c2".into()];
    let steps = Steps::new(&clients, triggers, false, events);
    (steps, received)
}

/// Sends these requests and replies one after the other over one connection for each client; returns the
/// place of the one that waits.
fn place(step: &str, segments: &[(&str, &str)]) -> Option<usize> {
    let (mut steps, received) = placed_at(step);
    let mut place = None;
    for (at, (way, words)) in segments.iter().enumerate() {
        let (from, to) = way.split_once(' ').expect("two hosts");
        let client = if from == "n1" { to } else { from };
        let payload = match from {
            "n1" => format!("{words}\r\n"),
            _ => {
                let words: Vec<&str> = words.split(' ').collect();
                let bulk = words
                    .iter()
                    .map(|word| format!("${}\r\n{word}\r\n", word.len()));
                format!("*{}\r\n{}", words.len(), bulk.collect::<String>())
            }
        };
        let (from, to): (Name, Name) = (from.into(), to.into());
        let passing = Passing {
            from: &from,
            to: &to,
            connection: u64::from(client == "c2"),
            payload: payload.as_bytes(),
        };
        steps.leaves(passing);
        if steps.arrives(passing) == Ruling::Waits {
            assert_eq!(place.replace(at), None, "it strikes once");
            assert_eq!(steps.arrives(passing), Ruling::Arrives, "it is asked again");
        }
    }
    let reported = received.try_iter().count();
    assert_eq!(reported, usize::from(place.is_some()));
    place
}

const TAKEN: &[(&str, &str)] = &[
    ("c1 n1", "GET data"),
    ("n1 c1", "$-1"),
    ("c2 n1", "SET data 1"),
    ("n1 c2", "+OK"),
    ("c2 n1", "SET lock b NX PX 60000"),
    ("n1 c2", "+OK"),
    ("c1 n1", "SET lock a NX PX 60000"),
    ("n1 c1", "$-1"),
    ("c2 n1", "DEL lock"),
    ("n1 c2", ":1"),
    ("c1 n1", "SET lock a NX PX 60000"),
    ("n1 c1", "+OK"),
    ("c1 n1", "DEL lock"),
    ("n1 c1", ":1"),
    (
        "c1 n1",
        "EVAL redis.call('set',KEYS[1],'a','PX',60000) 1 lock",
    ),
    ("n1 c1", "+OK"),
];

#[test]
fn requests_and_replies_are_counted_by_client_and_command() {
    for (step, expected) in [
        ("c1 SET #1 arrives at n1", Some(6)),
        ("c1 SET #2 reply arrives from n1", Some(11)),
        ("c2 SET #2 arrives at n1", Some(4)),
        ("c1 EVAL #1 reply arrives from n1", Some(15)),
        ("c1 SET #3 arrives at n1", None),
    ] {
        assert_eq!(place(step, TAKEN), expected, "{step}");
    }
}

#[test]
fn a_client_holds_from_the_reply_that_grants() {
    for (step, expected) in [
        ("c2 holds", Some(5)),
        ("c1 holds", Some(11)),
        ("c1 holds #2", Some(15)),
        ("c2 holds #2", None),
    ] {
        assert_eq!(place(step, TAKEN), expected, "{step}");
    }
}

#[test]
fn a_request_in_pieces_has_its_name_and_grants() {
    for step in ["c1 SET #1 arrives at n1", "c1 holds"] {
        let (mut steps, received) = placed_at(step);
        let (c1, n1): (Name, Name) = ("c1".into(), "n1".into());
        let segments = [
            (&c1, &n1, "*4\r\n"),
            (&c1, &n1, "$3\r\nSET\r\n$4\r\nlock\r\n$1\r\na\r\n"),
            (&c1, &n1, "$2\r\nNX\r\n"),
            (&n1, &c1, "+OK\r\n"),
        ];
        for (from, to, text) in segments {
            let passing = Passing {
                from,
                to,
                connection: 1,
                payload: text.as_bytes(),
            };
            steps.leaves(passing);
            if steps.arrives(passing) == Ruling::Waits {
                assert_eq!(steps.arrives(passing), Ruling::Arrives, "it waits once");
            }
        }
        assert_eq!(received.try_iter().count(), 1, "{step}");
    }
}

/// Each reply that grants a client the lock is reported, with its node, and nothing waits for that.
#[test]
fn grants_are_reported_where_they_are_asked_for() {
    let granted = |client: &str| (client.into(), ChildEvent::Granted("n1".into()));
    assert_eq!(reported(true), ["c1", "c2", "c2"].map(granted));
    assert_eq!(reported(false), []);
}

/// What is reported of three grants.
fn reported(tells_grants: bool) -> Vec<(Name, ChildEvent)> {
    let (events, received) = mpsc::channel();
    let clients = ["c1".into(), "c2".into()];
    let mut steps = Steps::new(&clients, StepTriggers::default(), tells_grants, events);
    for (client, taken) in [("c1", "a"), ("c2", "b"), ("c2", "c")] {
        let (client, n1): (Name, Name) = (client.into(), "n1".into());
        let set = format!("*4\r\n$3\r\nSET\r\n$1\r\n{taken}\r\n$1\r\nx\r\n$2\r\nNX\r\n");
        for (from, to, text) in [(&client, &n1, &*set), (&n1, &client, "+OK\r\n")] {
            let passing = Passing {
                from,
                to,
                connection: 1,
                payload: text.as_bytes(),
            };
            steps.leaves(passing);
            assert_eq!(steps.arrives(passing), Ruling::Arrives);
        }
    }
    let reported = received.try_iter().map(|(who, event)| (who.host, event));
    reported.collect()
}
