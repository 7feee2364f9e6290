//! Traffic that was never sent: requests and replies of clients, to nodes that know four commands; the transcripts
//! in `traffic/`, whose format is in `tests/testing/src/transcript.rs`.
//!
//! | | |
//! |---|---|
//! | `$ given 10 c1 n1 take` | how the traffic of the section begins |
//! | `$ certain: 100 c1 n1 DEL lock` | how it goes on; below it, who certainly has the lock, from when to when |
//! | `10/20/40 c1 n1 take` | when the request leaves, is executed, and its reply arrives; `10-` or `10/20-` if it is lost; one time is that of all three, one millisecond apart |
//! | `take`, `other` | `SET lock a NX PX 1000`, `SET lock b NX PX 1000` |
//! | `100 c1 begins kill`, `200 c1 ends kill` | faults; `cut:n1` is that of the link to this node |
//! | `100 c1 tells asks`, `has`, `released` | what the program of c1 tells |
//! | `nodes 3`, `ends 120`, `exits 200 c1`, `news 100` | what the run has: nodes, an end, a client's end, a message to c1 |

use std::path::Path;

use locklab_testing::{check_transcript, transcripts};
use locklab_vecmap::VecMap;

use super::*;
use crate::{
    ClockKind, Deadline, Event, FaultKind, FaultyLinks, KeyState, Message, Op, Outcome,
    PacketFault, Phase, Record,
};

const MS: u64 = 1_000_000;

/// A run of which all clocks are right.
#[derive(Clone)]
struct Traffic {
    nodes: usize,
    /// Per node and key: the value, and when it expires.
    keys: VecMap<(String, String), (String, Option<u64>)>,
    exchanges: Vec<Exchange>,
    history: History,
    ended: Vec<(Name, u64)>,
}

impl Default for Traffic {
    fn default() -> Self {
        Traffic {
            nodes: 1,
            keys: VecMap::new(),
            exchanges: Vec::new(),
            history: History {
                end_ns: 20_000 * MS,
                ..History::default()
            },
            ended: Vec::new(),
        }
    }
}

impl Traffic {
    /// A client sends a command to a node; the times are those of the request's departure, of its execution, and
    /// of the reply's arrival, if there are any.
    fn sends(mut self, [client, node]: [&str; 2], times_ms: &[u64], command: &str) -> Self {
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

    fn execute(&mut self, node: &str, now_ms: u64, command: &str) -> Vec<KeyChange> {
        let words: Vec<&str> = command.split(' ').collect();
        // The node knows the text of this script, which names the key.
        let key = words[1].replace("5d1f", "lock");
        let place = (node.to_owned(), key.clone());
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

    fn fault(mut self, at_ms: u64, host: &str, kind: FaultKind, phase: Phase) -> Self {
        if phase == Phase::Begins && kind.ends_process() {
            self.keys.retain(|(node, _), _| node != host);
        }
        self.record(at_ms, host, kind, phase, None);
        self
    }

    fn cut(mut self, at_ms: u64, host: &str, node: &str, phase: Phase) -> Self {
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

    fn wire(&self) -> Wire<'_> {
        Wire {
            exchanges: &self.exchanges,
            history: &self.history,
            ended: &self.ended,
            nodes: self.nodes,
            lapse: &|_, from_ns, ttl_ns| from_ns + ttl_ns,
        }
    }

    fn all(self, events: &str) -> Self {
        let events = events.split(';').map(str::trim);
        { events.filter(|event| !event.is_empty()) }.fold(self, Traffic::tell)
    }

    fn tell(mut self, event: &str) -> Self {
        let words: Vec<&str> = event.split(' ').collect();
        match words[..] {
            ["nodes", count] => self.nodes = number(count) as usize,
            ["ends", ms] => self.history.end_ns = number(ms) * MS,
            ["exits", ms, client] => self.ended.push((client.into(), number(ms) * MS)),
            ["news", ms] => self.history.messages.push(Message {
                sent_ns: number(ms) * MS,
                arrived_ns: Some(150 * MS),
                from: "n1".into(),
                to: "c1".into(),
                label: "news".into(),
            }),
            [ms, host, phase @ ("begins" | "ends"), fault] => {
                let phase = match phase {
                    "begins" => Phase::Begins,
                    _ => Phase::Ends,
                };
                return match fault.strip_prefix("cut:") {
                    Some(node) => self.cut(number(ms), host, node, phase),
                    None => {
                        let kind = FaultKind::of_name(fault).expect("a kind of fault");
                        self.fault(number(ms), host, kind, phase)
                    }
                };
            }
            [ms, client, "tells", what] => {
                let event = match what {
                    "asks" => Event::Invoke {
                        call: 1,
                        op: Op::Acquire,
                    },
                    "has" => Event::BeliefBegins {
                        grant: 1,
                        deadline: None,
                        token: None,
                        shared: false,
                    },
                    _ => Event::Complete {
                        call: 2,
                        op: Op::Release,
                        outcome: Outcome::Ok,
                        detail: String::new(),
                    },
                };
                let at_ns = number(ms) * MS;
                self.history.records.push(Record {
                    at_ns,
                    host: client.into(),
                    wall_ns: at_ns,
                    mono_ns: at_ns,
                    event,
                });
            }
            [times, client, node, ref command @ ..] => {
                let mut ms: Vec<u64> = { times.trim_end_matches('-').split('/') }
                    .map(number)
                    .collect();
                if ms.len() == 1 && !times.ends_with('-') {
                    ms.extend([ms[0] + 1, ms[0] + 2]);
                }
                let command = match *command {
                    ["take"] => "SET lock a NX PX 1000".to_owned(),
                    ["other"] => "SET lock b NX PX 1000".to_owned(),
                    _ => command.join(" "),
                };
                return self.sends([client, node], &ms, &command);
            }
            _ => panic!("no event: {event:?}"),
        }
        self
    }

    /// What the wire shows of this.
    fn shows(&self, asked: &str) -> Vec<String> {
        let answers = grants(&self.wire(), "lock");
        let granted = || {
            answers.iter().filter_map(|answer| match answer {
                Answer::Granted(grant) => Some(grant),
                Answer::Refused { .. } => None,
            })
        };
        match asked {
            "certain" => { granted().filter(|grant| grant.is_certain()) }
                .map(|it| format!("{} {} to {}", it.client, it.from_ns / MS, it.until_ns / MS))
                .collect(),
            "refused" => {
                let refused = answers.iter().filter_map(|answer| match answer {
                    Answer::Refused {
                        client,
                        from_ns,
                        to_ns,
                    } => Some(format!("{client} {} to {}", from_ns / MS, to_ns / MS)),
                    Answer::Granted(_) => None,
                });
                refused.collect()
            }
            "possible" => possible_pair(&answers, |grant| grant.gives_up_ns),
            "possible by leases" => {
                possible_pair(&answers, |grant| grant.lapse_ns.min(grant.gives_up_ns))
            }
            "doubt" => vec![format!("{:?}", granted().next().map(|grant| grant.doubt))],
            "removed" => {
                let mut of_c1 = granted().filter(|grant| *grant.client == *"c1");
                let release = of_c1.next().and_then(|grant| grant.release);
                vec![format!("{:?}", release.map(|release| release.removed))]
            }
            "renewed" => { wrong_renewals(&self.wire(), "lock").into_iter() }
                .map(|it| it.to_string())
                .collect(),
            "keys" => vec![format!("{:?}", granted_keys(&self.wire()).likely)],
            "events" => { events(&answers, |_, at_ns| at_ns).into_iter() }
                .map(|(at_ns, client, event)| format!("{} {client} {}", at_ns / MS, told(&event)))
                .collect(),
            _ => panic!("unknown question {asked:?}"),
        }
    }
}

/// The first pair of grants that may have overlapped.
fn possible_pair(answers: &[Answer], until_ns: impl Fn(&Grant) -> u64) -> Vec<String> {
    let found = possible(answers, until_ns);
    let pair = |it: Possible| format!("{}, {}", it.earlier.client, it.later.from_ns / MS);
    vec![found.map_or("none".into(), pair)]
}

fn told(event: &Event) -> String {
    match event {
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
    }
}

fn number(word: &str) -> u64 {
    word.parse().expect("a number")
}

fn check(path: &Path) {
    check_transcript(path, &["$ "], Traffic::default, |given, _, command| {
        if let Some(events) = command.strip_prefix("given ") {
            *given = given.clone().all(events);
            return Vec::new();
        }
        let (asked, events) = command.split_once(':').expect("a question and traffic");
        given.clone().all(events).shows(asked)
    });
}

transcripts! {
    "wire/traffic", check:
    answers
    certain
    takes
}
