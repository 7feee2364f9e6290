//! Runs written by hand: a history, and what the servers held. Each situation has runs that meet it, and
//! runs that miss it by one detail: the transcripts in `runs/`, whose format is in `tests/testing/src/transcript.rs`.
//!
//! | | |
//! |---|---|
//! | `$ given 0 c1 tries; 10 c1 granted` | how the runs of the section begin |
//! | `$ 50 c1 releases; n1 held c1 5 105 expired` | how one goes on; below it, the situations that it meets; behind `- ` those that show without what the servers held |
//! | `n1 held c1 5 105 deleted c2` | a server had the lock for a client between these milliseconds; the client that ended it |
//! | `visit 110 c1 n1`, `notice 50 +odown` | a node executed a request; a sentinel logged this |
//! | `on 3 0` | the lock has so many nodes, with so many replicas each |
//!
//! `src/check/history_builder/told.rs` has the words for events.

use std::path::Path;
use std::sync::LazyLock;

use locklab_check::history_builder::{HistoryBuilder, MS};
use locklab_history::leases::End;
use locklab_history::{Event, History, Name, Point, Record, Topology, Visit};
use locklab_locks::Shape;
use locklab_testing::{check_transcript, transcripts};
use locklab_truth::{Holding, Holdings, Rule};

use crate::met_by;

static NAMES: LazyLock<Vec<Name>> = LazyLock::new(|| {
    let names = ["c1", "c2", "c3", "n1", "n2", "n3", "n1r1", "s1"];
    names.map(Name::from).into()
});

fn name(wanted: &str) -> &'static Name {
    let mut names = NAMES.iter();
    names.find(|it| &***it == wanted).expect("it is listed")
}

/// A run under construction.
#[derive(Clone)]
struct Run {
    history: HistoryBuilder,
    holdings: Vec<Holding<'static>>,
    visits: Vec<Visit>,
    /// When a sentinel logged what, in milliseconds.
    notices: Vec<(u64, Name)>,
    need: usize,
    topology: Topology,
}

/// On one node.
impl Default for Run {
    fn default() -> Self {
        Run {
            history: HistoryBuilder::default(),
            holdings: Vec::new(),
            visits: Vec::new(),
            notices: Vec::new(),
            need: 1,
            topology: Topology {
                clients: 3,
                ..Topology::default()
            },
        }
    }
}

impl Run {
    fn tell(mut self, event: &str) -> Run {
        let number = |word: &str| word.parse::<u64>().expect("a number");
        let words: Vec<&str> = event.split(' ').collect();
        match words[..] {
            [node, "held", client, from_ms, until_ms, end, ref by @ ..] => {
                self.holdings.push(Holding {
                    node: name(node),
                    client: name(client),
                    from_ns: number(from_ms) * MS,
                    until_ns: number(until_ms) * MS,
                    end: match end {
                        "expired" => End::Expired,
                        "deleted" => End::Deleted,
                        _ => End::Lost,
                    },
                    ended_by: by.first().map(|by| name(by)),
                });
            }
            ["visit", ms, client, node] => self.visits.push(Visit {
                at_ns: number(ms) * MS,
                node: name(node).clone(),
                by: name(client).clone(),
            }),
            ["notice", ms, notice] => self.notices.push((number(ms), notice.into())),
            ["on", nodes, replicas] => {
                self.topology.nodes = number(nodes) as u32;
                self.topology.replicas = number(replicas) as u32;
                self.topology.sentinels = u32::from(self.topology.replicas > 0);
                self.need = self.topology.nodes as usize / 2 + 1;
            }
            _ => self.history = self.history.told(event),
        }
        self
    }

    fn told(self, events: &str) -> Run {
        let events = events.split(';').map(str::trim);
        { events.filter(|event| !event.is_empty()) }.fold(self, Run::tell)
    }

    fn history(&self) -> History {
        let mut history = self.history.clone().history();
        for (ms, notice) in &self.notices {
            let before = history
                .records
                .partition_point(|record| record.at_ns <= ms * MS);
            let record = Record {
                at_ns: ms * MS,
                host: name("s1").clone(),
                wall_ns: 0,
                mono_ns: ms * MS,
                event: Event::Reached {
                    point: Point::Notice(notice.clone()),
                },
            };
            history.records.insert(before, record);
        }
        history
    }

    /// The situations that the run meets; without what the servers held if that was not kept.
    fn meets(mut self, is_kept: bool) -> Vec<String> {
        self.holdings.sort_by_key(|it| it.from_ns);
        let holdings = Holdings {
            rule: Rule {
                need: self.need,
                intersects: self.topology.replicas == 0,
                shape: Shape::Text,
            },
            all: self.holdings.clone(),
        };
        let holdings = is_kept.then_some(&holdings);
        let met = met_by(&self.history(), holdings, &self.visits, &self.topology);
        met.iter().map(|it| it.name().to_owned()).collect()
    }
}

fn check(path: &Path) {
    check_transcript(
        path,
        &["$ ", "- "],
        Run::default,
        |given, prompt, command| {
            if let Some(events) = command.strip_prefix("given ") {
                *given = given.clone().told(events);
                return Vec::new();
            }
            given.clone().told(command).meets(prompt == "$")
        },
    );
}

transcripts! {
    "runs", check:
    grants
    leases
}
