//! Contents of nodes, written by hand: the transcripts in `contents/`, whose format is in
//! `tests/testing/src/transcript.rs`. Below each run stand the leases: value, owner, beginning and end in milliseconds,
//! and why and by whom it ended.
//!
//! | | |
//! |---|---|
//! | `10 c1 sets a 100` | by the request of this host, `-` if none is known, the key of n1 has this value from now on, and this time to live in milliseconds, if any |
//! | `50 c2 deletes`, `300/155 c2 deletes` | the key is deleted; when n1's wall clock shows 155 ms |
//! | `60 n1 begins`, `70 n1 ends` | a crash of n1; `missed` and `before` only read its clocks |
//! | `20 c1 sends GET a` | a request arrives at n1 |

use std::path::Path;

use locklab_testing::{check_transcript, transcripts};

use super::*;
use crate::{Event, FaultKind, KeyChange, Message, Phase, Record};

const MS: u64 = 1_000_000;

/// A run of clients and nodes whose clocks show true time, up to 1000 ms.
struct Run {
    history: History,
    contents: Contents,
}

impl Default for Run {
    fn default() -> Self {
        Run {
            history: History {
                end_ns: 1000 * MS,
                ..History::default()
            },
            contents: Contents::default(),
        }
    }
}

impl Run {
    fn told(self, events: &str) -> Self {
        events.split("; ").fold(self, Run::tell)
    }

    fn tell(mut self, event: &str) -> Self {
        let ms = |word: &str| word.parse::<u64>().expect("milliseconds");
        let words: Vec<&str> = event.split(' ').collect();
        let (at_ms, wall_ms) = words[0].split_once('/').unwrap_or((words[0], words[0]));
        let (at_ns, wall_ns) = (ms(at_ms) * MS, ms(wall_ms) * MS);
        match words[1..] {
            [by, "sets", value, ref ttl_ms @ ..] => {
                let expires = ttl_ms.first().map(|ttl_ms| Deadline {
                    clock: ClockKind::Wall,
                    at_ns: wall_ns + ms(ttl_ms) * MS,
                });
                let now = KeyState {
                    has_several: false,
                    value: value.replace('_', " "),
                    expires,
                };
                self.shows(at_ns, wall_ns, by, Some(now));
            }
            [by, "deletes"] => self.shows(at_ns, wall_ns, by, None),
            [from, "sends", ref payload @ ..] => {
                self.history.messages.push(Message {
                    sent_ns: at_ns - MS,
                    arrived_ns: Some(at_ns),
                    from: from.into(),
                    to: "n1".into(),
                    label: String::new(),
                });
                self.contents.payloads.push(payload.join(" ").into());
            }
            [host, phase] => self.history.records.push(Record {
                at_ns,
                host: host.into(),
                wall_ns,
                mono_ns: at_ns,
                event: Event::Fault {
                    fault: "fault".into(),
                    kind: FaultKind::Crash,
                    phase: match phase {
                        "begins" => Phase::Begins,
                        "ends" => Phase::Ends,
                        "missed" => Phase::Missed,
                        _ => Phase::Before,
                    },
                    links: None,
                },
            }),
            _ => panic!("no event: {event:?}"),
        }
        self
    }

    /// The key of n1 has this content from now on.
    fn shows(&mut self, at_ns: u64, wall_ns: u64, by: &str, now: Option<KeyState>) {
        let key = "lock".to_owned();
        self.contents.snapshots.push(KeySnapshot {
            at_ns,
            host: "n1".into(),
            by: (by != "-").then(|| by.into()),
            wall_ns,
            mono_ns: at_ns,
            changed: vec![KeyChange { key, now }],
        });
    }

    fn leases(&self) -> Vec<String> {
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
        found.iter().map(words).collect()
    }
}

fn check(path: &Path) {
    check_transcript(
        path,
        &["$ "],
        || (),
        |(), _, events| Run::default().told(events).leases(),
    );
}

transcripts! {
    "leases/contents", check:
    ends
    owners
}

/// A node that goes by its monotonic clock expires the key by that one, whatever its wall clock shows.
#[test]
fn a_lease_ends_by_the_clock_that_its_time_to_live_is_on() {
    for clock in [ClockKind::Wall, ClockKind::Monotonic] {
        let mut held = Run::default().told("10 c1 sets a 100");
        let expires = held.contents.snapshots[0].changed[0].now.as_mut();
        expires.expect("a value").expires = Some(Deadline {
            clock,
            at_ns: 110 * MS,
        });
        // At 60 ms the wall clock was set back by 50 ms.
        let mut later = held.told("60 n1 before; 400 n1 before");
        for record in &mut later.history.records {
            record.wall_ns -= 50 * MS;
        }
        match clock {
            ClockKind::Wall => assert_eq!(later.leases(), ["a of c1 10-160 Expired by nobody"]),
            ClockKind::Monotonic => {
                assert_eq!(later.leases(), ["a of c1 10-110 Expired by nobody"])
            }
        }
    }
}
