//! Traffic that was never sent: requests and replies of clients, to nodes that know four commands.

use locklab_vecmap::VecMap;

use super::*;
use crate::{
    ClockKind, Deadline, Event, FaultKind, FaultyLinks, KeyState, Message, PacketFault, Phase,
    Record,
};

mod takes;

const MS: u64 = 1_000_000;

/// A run of which all clocks are right.
#[derive(Default)]
struct Traffic {
    nodes: usize,
    /// Per node and key: the value, and when it expires.
    keys: VecMap<(&'static str, String), (String, Option<u64>)>,
    exchanges: Vec<Exchange>,
    history: History,
    ended: Vec<(Name, u64)>,
}

fn on(nodes: usize) -> Traffic {
    let history = History {
        end_ns: 20_000 * MS,
        ..History::default()
    };
    Traffic {
        nodes,
        history,
        ..Traffic::default()
    }
}

fn one_node() -> Traffic {
    on(1)
}

impl Traffic {
    /// A client sends a command to a node; the times are those of the request's departure, of its execution, and
    /// of the reply's arrival, if there are any.
    fn sends(mut self, way: &'static str, times_ms: &[u64], command: &str) -> Self {
        let (client, node) = way.split_once(' ').expect("two hosts");
        let executed = times_ms.get(1).map(|executed_ms| Executed {
            at_ns: executed_ms * MS,
            wall_ns: executed_ms * MS,
            mono_ns: executed_ms * MS,
            process: self.deaths(node),
            changed: self.execute(node, *executed_ms, command),
            answered_ns: times_ms.get(2).map(|ms| ms * MS),
        });
        self.exchanges.push(Exchange {
            client: client.into(),
            node: node.into(),
            sent_ns: times_ms[0] * MS,
            commands: vec![command.split(' ').map(|word| word.into()).collect()],
            executed,
        });
        self
    }

    /// The same, executed and answered one millisecond later each.
    fn calls(self, way: &'static str, at_ms: u64, command: &str) -> Self {
        self.sends(way, &[at_ms, at_ms + 1, at_ms + 2], command)
    }

    fn execute(&mut self, node: &'static str, now_ms: u64, command: &str) -> Vec<KeyChange> {
        let words: Vec<&str> = command.split(' ').collect();
        // The node knows the text of this script, which names the key.
        let key = words[1].replace("5d1f", "lock");
        let place = (node, key.clone());
        if let Some((_, Some(end_ms))) = self.keys.get(&place)
            && now_ms > *end_ms
        {
            self.keys.remove(&place);
        }
        let before = self.keys.get(&place).cloned();
        let end_ms = |word: &str| word.parse::<u64>().ok().map(|ttl_ms| now_ms + ttl_ms);
        match (words[0], &before) {
            ("SET", _) | ("EVALSHA", None) if before.is_none() || words[3] != "NX" => {
                let new = (words[2].to_owned(), end_ms(words[words.len() - 1]));
                self.keys.insert(place.clone(), new);
            }
            ("PSETEX", _) => {
                let new = (words[3].to_owned(), end_ms(words[2]));
                self.keys.insert(place.clone(), new);
            }
            ("SETNX" | "HSETNX", None) => {
                let new = (words[2..].join(" "), None);
                self.keys.insert(place.clone(), new);
            }
            ("PEXPIRE", Some((value, _))) => {
                let new = (value.clone(), end_ms(words[2]));
                self.keys.insert(place.clone(), new);
            }
            ("DEL", _) => drop(self.keys.remove(&place)),
            _ => {}
        }
        let after = self.keys.get(&place);
        if before.as_ref() == after {
            return vec![];
        }
        let now = after.map(|(value, end_ms)| KeyState {
            has_several: false,
            value: value.clone(),
            expires: end_ms.map(|end_ms| Deadline {
                clock: ClockKind::Wall,
                at_ns: (end_ms + 1) * MS,
            }),
        });
        vec![KeyChange { key, now }]
    }

    fn deaths(&self, node: &str) -> usize {
        let deaths = self.history.records.iter().filter(|it| it.event.is_death());
        deaths.filter(|it| *it.host == *node).count()
    }

    fn fault(mut self, at_ms: u64, host: &'static str, kind: FaultKind, phase: Phase) -> Self {
        if phase == Phase::Begins && kind.ends_process() {
            self.keys.retain(|(node, _), _| *node != host);
        }
        self.record(at_ms, host, kind, phase, None);
        self
    }

    fn cut(mut self, at_ms: u64, host: &'static str, node: &'static str, phase: Phase) -> Self {
        let links = FaultyLinks {
            from: vec![host.into()],
            to: vec![node.into()],
            both_ways: true,
            packets: PacketFault::Cut,
        };
        self.record(at_ms, host, FaultKind::Partition, phase, Some(links));
        self
    }

    fn record(
        &mut self,
        at_ms: u64,
        host: &str,
        kind: FaultKind,
        phase: Phase,
        links: Option<FaultyLinks>,
    ) {
        let fault = "fault".into();
        self.history.records.push(Record {
            at_ns: at_ms * MS,
            host: host.into(),
            wall_ns: at_ms * MS,
            mono_ns: at_ms * MS,
            event: Event::Fault {
                fault,
                kind,
                phase,
                links: links.map(Box::new),
            },
        });
    }

    fn answers(&self) -> Vec<Answer> {
        grants(&self.wire(), "lock")
    }

    fn wire(&self) -> Wire<'_> {
        Wire {
            exchanges: &self.exchanges,
            history: &self.history,
            ended: &self.ended,
            nodes: self.nodes,
            lapse: &|_, from_ns, ttl_ns| from_ns + ttl_ns,
        }
    }

    /// The certain beliefs: client, beginning and end in milliseconds.
    #[track_caller]
    fn check(&self, expected: &[(&str, u64, u64)]) {
        let answers = self.answers();
        let certain: Vec<(String, u64, u64)> = { answers.iter() }
            .filter_map(|answer| match answer {
                Answer::Granted(grant) if grant.is_certain() => Some((
                    grant.client.to_string(),
                    grant.from_ns / MS,
                    grant.until_ns / MS,
                )),
                _ => None,
            })
            .collect();
        let expected: Vec<_> = { expected.iter() }
            .map(|(client, from_ms, until_ms)| ((*client).to_owned(), *from_ms, *until_ms))
            .collect();
        assert_eq!(certain, expected, "{answers:#?}");
    }
}

const TAKE: &str = "SET lock a NX PX 1000";
const OTHER: &str = "SET lock b NX PX 1000";

/// c1 has a lease from 10 to 1010 ms, of which it knows at 12 ms.
fn taken() -> Traffic {
    one_node().calls("c1 n1", 10, TAKE)
}

#[test]
fn a_lease_is_certain_from_the_reply_and_counts_from_the_request() {
    taken().check(&[("c1", 12, 1010)]);
    one_node()
        .sends("c1 n1", &[10, 20, 40], TAKE)
        .check(&[("c1", 40, 1010)]);
}

#[test]
fn a_grant_without_a_reply_or_with_a_late_one_gives_nothing() {
    one_node().sends("c1 n1", &[10], TAKE).check(&[]);
    one_node().sends("c1 n1", &[10, 11], TAKE).check(&[]);
    one_node()
        .sends("c1 n1", &[10, 11, 60], TAKE)
        .check(&[("c1", 60, 1010)]);
    one_node().sends("c1 n1", &[10, 11, 61], TAKE).check(&[]);
}

#[test]
fn a_refused_request_and_a_key_without_an_end_give_nothing() {
    let both = taken().calls("c2 n1", 20, OTHER);
    both.check(&[("c1", 12, 1010)]);
    assert!(both.answers().contains(&Answer::Refused {
        client: "c2".into(),
        from_ns: 20 * MS,
        to_ns: 22 * MS,
    }));
    one_node().calls("c1 n1", 10, "SET lock a").check(&[]);
}

#[test]
fn a_release_ends_it_when_it_leaves_whether_it_arrives_or_not() {
    taken()
        .calls("c1 n1", 100, "DEL lock")
        .check(&[("c1", 12, 100)]);
    taken()
        .sends("c1 n1", &[100], "DEL lock")
        .check(&[("c1", 12, 100)]);
    // Another key, but the request never arrives: what it is, nobody knows.
    taken()
        .sends("c1 n1", &[100], "SET data x")
        .check(&[("c1", 12, 100)]);
    taken()
        .calls("c1 n1", 100, "SET data x")
        .check(&[("c1", 12, 1010)]);
}

#[test]
fn a_look_that_a_deletion_follows_is_the_beginning_of_a_release() {
    let looks = || taken().calls("c1 n1", 100, "GET lock");
    looks().check(&[("c1", 12, 1010)]);
    let mut ends = looks();
    ends.history.end_ns = 120 * MS;
    ends.check(&[("c1", 12, 100)]);
    looks()
        .calls("c1 n1", 103, "DEL lock")
        .check(&[("c1", 12, 100)]);
    looks()
        .calls("c1 n1", 300, "DEL lock")
        .check(&[("c1", 12, 300)]);
}

#[test]
fn a_client_that_asks_again_does_not_have_it() {
    taken().calls("c1 n1", 300, TAKE).check(&[("c1", 12, 300)]);
    // Before the first reply, since it has given up waiting.
    one_node()
        .sends("c1 n1", &[10, 30, 40], TAKE)
        .sends("c1 n1", &[35, 36, 41], TAKE)
        .check(&[]);
}

#[test]
fn a_renewal_counts_from_its_own_departure_once_it_is_answered() {
    const RENEW: &str = "PEXPIRE lock 1000";
    taken()
        .calls("c1 n1", 500, RENEW)
        .check(&[("c1", 12, 1500)]);
    taken()
        .sends("c1 n1", &[500, 501], RENEW)
        .check(&[("c1", 12, 1010)]);
    taken()
        .sends("c1 n1", &[990, 991, 1020], RENEW)
        .check(&[("c1", 12, 1010)]);
    taken()
        .calls("c1 n1", 500, "PEXPIRE lock 100")
        .check(&[("c1", 12, 600)]);
    // Another client's is not its own.
    taken()
        .calls("c2 n1", 500, RENEW)
        .check(&[("c1", 12, 1010)]);
}

#[test]
fn a_grant_in_two_steps_begins_with_the_second() {
    let set = || one_node().calls("c1 n1", 10, "SETNX lock a");
    set().check(&[("c1", 12, 20_000)]);
    set()
        .calls("c1 n1", 12, "PEXPIRE lock 1000")
        .check(&[("c1", 14, 1012)]);
    set().sends("c1 n1", &[12], "PEXPIRE lock 1000").check(&[]);
}

#[test]
fn a_client_learns_of_its_loss_from_what_the_node_sends_then() {
    let mut lost = taken().calls("c2 n1", 100, "DEL lock");
    lost.check(&[("c1", 12, 1010)]);
    for (sent_ms, until_ms) in [(100, 1010), (101, 150)] {
        lost.history.messages = vec![Message {
            sent_ns: sent_ms * MS,
            arrived_ns: Some(150 * MS),
            from: "n1".into(),
            to: "c1".into(),
            label: "news".into(),
        }];
        lost.check(&[("c1", 12, until_ms)]);
    }
}

#[test]
fn a_process_that_ends_or_stands_still_believes_nothing_new() {
    taken()
        .fault(100, "c1", FaultKind::Kill, Phase::Begins)
        .check(&[("c1", 12, 100)]);
    let mut ended = taken();
    ended.ended.push(("c1".into(), 200 * MS));
    ended.check(&[("c1", 12, 200)]);
    for kind in [FaultKind::Pause, FaultKind::Suspend] {
        let stopped = |ms| taken().fault(ms, "c1", kind, Phase::Begins);
        stopped(12).check(&[]);
        stopped(13).check(&[("c1", 12, 1010)]);
    }
}

#[test]
fn a_release_that_cannot_be_sent_is_not_on_the_wire() {
    let cut = |phase| taken().cut(100, "c1", "n1", phase);
    cut(Phase::Begins).check(&[("c1", 12, 100)]);
    taken()
        .cut(100, "c1", "n2", Phase::Begins)
        .check(&[("c1", 12, 1010)]);
    let down = || {
        one_node()
            .calls("c1 n1", 10, "SET lock a NX PX 9000")
            .fault(100, "n1", FaultKind::Kill, Phase::Begins)
            .fault(200, "n1", FaultKind::Kill, Phase::Ends)
            .calls("c2 n1", 300, "SET lock b NX PX 9000")
    };
    // Its request may have waited for the node.
    let second = ("c2", 302, 9100);
    down().check(&[("c1", 12, 100), second]);
    // A library may have sent it again.
    down()
        .calls("c1 n1", 2100, "DEL lock")
        .check(&[("c1", 12, 100), second]);
    let late = down().calls("c1 n1", 2200, "DEL lock");
    late.check(&[("c1", 12, 2200), second]);
}

#[test]
fn the_first_request_after_a_blind_spot_may_have_waited_since_its_beginning() {
    let after_cut = || {
        one_node()
            .cut(600, "c1", "n1", Phase::Begins)
            .cut(900, "c1", "n1", Phase::Ends)
    };
    after_cut()
        .calls("c1 n1", 1000, TAKE)
        .check(&[("c1", 1002, 1600)]);
    let second = after_cut()
        .calls("c1 n1", 950, "GET lock")
        .calls("c1 n1", 1000, TAKE);
    second.check(&[("c1", 1002, 2000)]);
    let down = one_node()
        .fault(100, "n1", FaultKind::Kill, Phase::Begins)
        .fault(200, "n1", FaultKind::Kill, Phase::Ends);
    down.calls("c1 n1", 300, TAKE).check(&[("c1", 302, 1100)]);
}

#[test]
fn more_than_half_of_the_nodes_grant_the_lock() {
    // From the last answer; 1 % and 2 ms less than the lease from the first request.
    let ends_ms = 10 + 1000 - 10 - 2;
    let two = || {
        on(3)
            .calls("c1 n1", 10, TAKE)
            .calls("c1 n2", 14, TAKE)
            .calls("c2 n3", 10, OTHER)
    };
    two().check(&[("c1", 16 + 100, ends_ms)]);
    two().calls("c1 n3", 18, TAKE).check(&[("c1", 20, ends_ms)]);
    two()
        .sends("c1 n3", &[18], TAKE)
        .check(&[("c1", 16 + 100, ends_ms)]);
    let released = two()
        .calls("c1 n3", 18, TAKE)
        .calls("c1 n2", 500, "DEL lock");
    released.check(&[("c1", 20, 500)]);
    // It may have waited for the third node first.
    let released = two().calls("c1 n2", 500, "DEL lock");
    released.check(&[("c1", 16 + 100, 500 - 100)]);
    on(3).calls("c1 n1", 10, TAKE).check(&[]);
    // Its second attempt asks a node again.
    let again = on(3).calls("c1 n1", 10, TAKE).calls("c1 n1", 300, TAKE);
    again.calls("c1 n2", 302, TAKE).check(&[]);
}

#[test]
fn leases_that_leave_nothing_are_not_granted() {
    let short = "SET lock a NX PX 40";
    let two = on(3).calls("c1 n1", 10, short).calls("c1 n2", 12, short);
    two.check(&[]);
}

#[test]
fn a_grant_that_may_have_lasted_longer_is_possible_until_it_is_given_up() {
    let to_release = |grant: &Grant| grant.gives_up_ns;
    let pair = |traffic: &Traffic| {
        let answers = traffic.answers();
        let found = possible(&answers, to_release);
        found.map(|found| (found.earlier.client.to_string(), found.later.from_ns / MS))
    };
    let lapsed = || taken().calls("c2 n1", 1100, OTHER);
    assert_eq!(pair(&lapsed()), Some(("c1".into(), 1102)));
    assert_eq!(
        pair(&lapsed().calls("c1 n1", 1500, "DEL lock")),
        Some(("c1".into(), 1102))
    );
    let given = taken()
        .calls("c1 n1", 1050, "DEL lock")
        .calls("c2 n1", 1100, OTHER);
    assert_eq!(pair(&given), None);
    // What is certain is a violation, and nothing is left open.
    let certain = taken()
        .calls("c2 n1", 100, "DEL lock")
        .calls("c2 n1", 110, OTHER);
    assert_eq!(pair(&certain), None);
    certain.check(&[("c1", 12, 1010), ("c2", 112, 1110)]);
    let by_lease = |grant: &Grant| grant.lapse_ns.min(grant.gives_up_ns);
    assert_eq!(possible(&lapsed().answers(), by_lease), None);
}

#[test]
fn a_grant_says_why_less_is_certain_than_its_lease() {
    let doubt = |traffic: Traffic| {
        let answers = traffic.answers();
        answers.iter().find_map(|answer| match answer {
            Answer::Granted(grant) => Some(grant.doubt),
            Answer::Refused { .. } => None,
        })
    };
    assert_eq!(doubt(taken()), Some(None));
    let late = one_node().sends("c1 n1", &[10, 11, 61], TAKE);
    assert_eq!(doubt(late), Some(Some(Doubt::LateReply)));
    let cut = || taken().cut(100, "c1", "n1", Phase::Begins);
    assert_eq!(doubt(cut()), Some(Some(Doubt::Unseen)));
    // It gave the key up before.
    let given = taken().calls("c1 n1", 50, "DEL lock");
    assert_eq!(doubt(given.cut(100, "c1", "n1", Phase::Begins)), Some(None));
}

#[test]
fn a_link_that_has_healed_when_the_request_leaves_hides_nothing() {
    let cut = |until_ms| {
        one_node()
            .cut(5, "c1", "n1", Phase::Begins)
            .cut(until_ms, "c1", "n1", Phase::Ends)
            .calls("c1 n1", 10, TAKE)
    };
    // The request may have waited for the end, so its lease may count from the beginning.
    cut(10).check(&[("c1", 12, 1005)]);
    cut(11).check(&[]);
}

#[test]
fn a_key_is_gone_at_the_reading_that_is_its_end() {
    // By the node's clock the key of 10 ms, set at 11 ms, is over when the clock shows 22 ms.
    let lapsed = one_node().calls("c1 n1", 10, "SET lock a NX PX 10");
    lapsed
        .calls("c2 n1", 21, OTHER)
        .check(&[("c1", 12, 20), ("c2", 23, 1021)]);
}

#[test]
fn a_call_may_begin_when_the_last_one_returns() {
    let traffic = taken()
        .calls("c2 n1", 20, OTHER)
        .calls("c2 n1", 22, OTHER)
        .sends("c2 n1", &[23, 26, 27], OTHER);
    let calls: Vec<u64> = events(&traffic.answers(), |_, at_ns| at_ns)
        .into_iter()
        .filter(|(_, client, event)| **client == *"c2" && matches!(event, Event::Invoke { .. }))
        .map(|(at_ns, ..)| at_ns / MS)
        .collect();
    // The third overlaps with the second.
    assert_eq!(calls, [20, 22]);
}

#[test]
fn a_release_says_whose_key_it_deleted() {
    let removed = |traffic: Traffic| {
        let answers = traffic.answers();
        let first = answers.iter().find_map(|answer| match answer {
            Answer::Granted(grant) if *grant.client == *"c1" => grant.release,
            _ => None,
        });
        first.map(|release| release.removed)
    };
    assert_eq!(removed(taken()), None);
    assert_eq!(
        removed(taken().calls("c1 n1", 100, "DEL lock")),
        Some(Some(1))
    );
    assert_eq!(
        removed(taken().calls("c1 n1", 1100, "DEL lock")),
        Some(Some(0))
    );
    let foreign = taken()
        .calls("c2 n1", 1100, OTHER)
        .calls("c1 n1", 1200, "DEL lock");
    assert_eq!(removed(foreign), Some(Some(1)));
    // It looks first, and deletes what it has seen to be another's.
    let looks = taken()
        .calls("c2 n1", 1100, OTHER)
        .calls("c1 n1", 1200, "GET lock");
    assert_eq!(
        removed(looks.calls("c1 n1", 1300, "DEL lock")),
        Some(Some(1))
    );
}

#[test]
fn a_key_is_a_lock_if_it_was_granted_twice() {
    let keys = |traffic: &Traffic| granted_keys(&traffic.wire());
    let data = || {
        taken()
            .calls("c1 n1", 20, "SET data x")
            .calls("c1 n1", 30, "SET cache y PX 500")
    };
    assert_eq!(keys(&data()), ["cache", "lock"]);
    let twice = data()
        .calls("c1 n1", 100, "DEL lock")
        .calls("c1 n1", 110, TAKE);
    assert_eq!(keys(&twice), ["lock"]);
    let by_two = data().calls("c2 n1", 1100, OTHER);
    assert_eq!(keys(&by_two), ["lock"]);
    assert!(keys(&one_node().calls("c1 n1", 1, "SET data x")).is_empty());
}

#[test]
fn answers_become_calls_and_beliefs_of_which_none_overlap() {
    let traffic = taken()
        .calls("c2 n1", 20, OTHER)
        .calls("c1 n1", 100, "DEL lock")
        .calls("c2 n1", 110, OTHER);
    let told: Vec<String> = events(&traffic.answers(), |_, at_ns| at_ns)
        .into_iter()
        .map(|(at_ns, client, event)| {
            let event = match event {
                Event::Invoke { op, .. } => format!("calls {op:?}"),
                Event::Complete { op, outcome, .. } => format!("{op:?} returns {outcome:?}"),
                Event::BeliefBegins {
                    grant, deadline, ..
                } => {
                    format!("has {grant} to {:?}", deadline.map(|it| it.at_ns / MS))
                }
                Event::BeliefEnds { grant } => format!("ends {grant}"),
                Event::Released { removed, .. } => format!("removed {removed}"),
                Event::Reached { point } => format!("is at {point}"),
                other => format!("{other:?}"),
            };
            format!("{} {client} {event}", at_ns / MS)
        })
        .collect();
    let expected = [
        "10 c1 calls Acquire",
        "12 c1 Acquire returns Ok",
        "12 c1 has 1 to Some(1010)",
        "20 c2 calls Acquire",
        "22 c2 Acquire returns Failed",
        "22 c2 is at giving-up",
        "100 c1 ends 1",
        "100 c1 calls Release",
        "100 c1 is at deleting",
        "102 c1 Release returns Ok",
        "102 c1 removed 1",
        "110 c2 calls Acquire",
        "112 c2 Acquire returns Ok",
        "112 c2 has 1 to Some(1110)",
        "1110 c2 ends 1",
    ];
    assert_eq!(told, expected);
}
