//! What is inferred from the wire alone, compared with what the clients of the simulator believe: nothing is
//! certain that no client believed.
//!
//! `LOCKLAB_LONG=1` takes many seeds. With `--nocapture` each test prints how many grants there were, and of how
//! many the wire makes something certain.

use std::collections::{BTreeMap, VecDeque};

use bytes::BytesMut;
use locklab_history::timeline::{Timeline, reached};
use locklab_history::wire::{Answer, Exchange, Executed, Grant, Wire, grants};
use locklab_history::{Contents, History, KeySnapshot, Name, Record};
use locklab_locks::KEY;
use locklab_model::scenario::load;
use locklab_real::why_not_repeated;
use locklab_redis::resp::next_words;
use locklab_runner::judged::{self, JudgedRun};
use locklab_runner::simulate::Keep;
use locklab_testing::at_once;

/// The readings of the clocks of a host, by true time: wall clock and monotonic clock.
struct Readings(BTreeMap<Name, Vec<(u64, [u64; 2])>>);

impl Readings {
    fn of(history: &History, contents: &Contents) -> Self {
        let mut all: BTreeMap<Name, Vec<(u64, [u64; 2])>> = BTreeMap::new();
        let mut take = |host: &Name, at_ns, wall_ns, mono_ns| {
            let of_host = all.entry(host.clone()).or_default();
            of_host.push((at_ns, [wall_ns, mono_ns]));
        };
        for Record {
            host,
            at_ns,
            wall_ns,
            mono_ns,
            ..
        } in &history.records
        {
            take(host, *at_ns, *wall_ns, *mono_ns);
        }
        for KeySnapshot {
            host,
            at_ns,
            wall_ns,
            mono_ns,
            ..
        } in &contents.snapshots
        {
            take(host, *at_ns, *wall_ns, *mono_ns);
        }
        all.values_mut()
            .for_each(|readings| readings.sort_by_key(|(at_ns, _)| *at_ns));
        Readings(all)
    }

    /// The readings at this time, between two that are known.
    fn at(&self, host: &Name, at_ns: u64) -> [u64; 2] {
        let known = &self.0[host];
        let next = known.partition_point(|(known_ns, _)| *known_ns <= at_ns);
        let (from, to) = (
            known[next.saturating_sub(1)],
            known[next.min(known.len() - 1)],
        );
        if to.0 <= from.0 {
            return from.1.map(|reading| reading + at_ns.saturating_sub(from.0));
        }
        [0, 1].map(|clock| {
            let course = i128::from(to.1[clock]) - i128::from(from.1[clock]);
            let share = course * i128::from(at_ns - from.0) / i128::from(to.0 - from.0);
            (i128::from(from.1[clock]) + share) as u64
        })
    }

    /// The first time at which any clock says that this much time has passed since then.
    fn lapse(&self, host: &Name, from_ns: u64, ttl_ns: u64) -> u64 {
        let known = &self.0[host];
        let begun = (from_ns, self.at(host, from_ns));
        let first = known.partition_point(|(at_ns, _)| *at_ns <= from_ns);
        let course: Vec<_> = [begun]
            .into_iter()
            .chain(known[first..].iter().copied())
            .collect();
        let by_clock = [0, 1].into_iter().filter_map(|clock| {
            let deadline_ns = begun.1[clock] + ttl_ns;
            let mut pairs = course.windows(2);
            pairs.find_map(|pair| {
                let [one, two] = [pair[0], pair[1]].map(|(at_ns, both)| (at_ns, both[clock]));
                reached(deadline_ns, one, two)
            })
        });
        by_clock
            .chain([from_ns + ttl_ns])
            .min()
            .expect("one of them")
    }
}

/// The requests of a simulated run, each with its reply: those of a client and a node are in the same order.
fn exchanges(
    history: &History,
    contents: &Contents,
    readings: &Readings,
    nodes: &[Name],
) -> Vec<Exchange> {
    let deaths = |node: &Name, at_ns: u64| {
        let of_node = history
            .records
            .iter()
            .filter(|it| it.host == *node && it.event.is_death());
        of_node.filter(|it| it.at_ns <= at_ns).count()
    };
    let mut pending: BTreeMap<(&Name, &Name), VecDeque<Exchange>> = BTreeMap::new();
    let mut done: Vec<(u64, Exchange)> = Vec::new();
    // Both when they leave, and when they arrive.
    let mut order: Vec<(u64, usize, bool)> = Vec::new();
    for (place, message) in history.messages.iter().enumerate() {
        if nodes.contains(&message.to) && message.from.starts_with('c') {
            order.push((message.arrived_ns.unwrap_or(u64::MAX), place, false));
        } else if nodes.contains(&message.from) && message.to.starts_with('c') {
            order.push((message.sent_ns, place, true));
        }
    }
    order.sort_unstable_by_key(|(at_ns, place, is_reply)| (*at_ns, *is_reply, *place));
    for (at_ns, place, is_reply) in order {
        let (message, payload) = (&history.messages[place], &contents.payloads[place]);
        if !is_reply {
            let mut left = BytesMut::from(&payload[..]);
            let mut commands = Vec::new();
            while let Ok(Some(words)) = next_words(&mut left) {
                commands.push(words.iter().map(|word| word.to_vec()).collect());
            }
            let exchange = Exchange {
                client: message.from.clone(),
                node: message.to.clone(),
                sent_ns: message.sent_ns,
                commands,
                executed: None,
            };
            match message.arrived_ns {
                None => done.push((u64::MAX, exchange)),
                Some(_) => pending
                    .entry((&message.from, &message.to))
                    .or_default()
                    .push_back(exchange),
            }
            continue;
        }
        if payload.starts_with(b"*3\r\n$7\r\nmessage") {
            continue;
        }
        let waiting = pending.entry((&message.to, &message.from)).or_default();
        let Some(mut exchange) = waiting.pop_front() else {
            continue;
        };
        let node = &message.from;
        let [wall_ns, mono_ns] = readings.at(node, at_ns);
        exchange.executed = Some(Executed {
            at_ns,
            wall_ns,
            mono_ns,
            process: deaths(node, at_ns),
            changed: vec![],
            answered_ns: message.arrived_ns,
        });
        done.push((at_ns, exchange));
    }
    done.extend(
        pending
            .into_values()
            .flatten()
            .map(|exchange| (u64::MAX, exchange)),
    );
    done.sort_by_key(|(at_ns, _)| *at_ns);
    let mut exchanges: Vec<Exchange> = done.into_iter().map(|(_, exchange)| exchange).collect();
    for snapshot in contents
        .snapshots
        .iter()
        .filter(|it| !it.changed.is_empty())
    {
        let by = exchanges.iter_mut().find(|exchange| {
            let names = exchange.commands.iter().flatten();
            let mut names = names.map(|word| String::from_utf8_lossy(word));
            Some(&exchange.client) == snapshot.by.as_ref()
                && exchange.node == snapshot.host
                && names.any(|word| word.contains(KEY))
                && exchange.executed.as_ref().is_some_and(|executed| {
                    executed.at_ns == snapshot.at_ns && executed.changed.is_empty()
                })
        });
        if let Some(executed) = by.and_then(|exchange| exchange.executed.as_mut()) {
            executed.changed.clone_from(&snapshot.changed);
            (executed.wall_ns, executed.mono_ns) = (snapshot.wall_ns, snapshot.mono_ns);
        }
    }
    exchanges
}

/// How long a client of the simulator believes.
#[derive(Clone, Copy)]
enum Until {
    /// To its call of release.
    Release,
    /// To the deadline that its lock gives it.
    Deadline,
}

/// What came of the runs of a lock.
#[derive(Default)]
struct Tally {
    runs: u64,
    believed: usize,
    certain: usize,
    wrong: Vec<String>,
}

fn tally(run: &JudgedRun, nodes: usize, (name, until): (&str, Until), tally: &mut Tally) {
    let (history, contents) = (&run.history, run.contents.as_ref().expect("they were kept"));
    let readings = Readings::of(history, contents);
    let servers: Vec<Name> = (1..=nodes).map(|node| format!("n{node}").into()).collect();
    let exchanges = exchanges(history, contents, &readings, &servers);
    let wire = Wire {
        exchanges: &exchanges,
        history,
        ended: &[],
        nodes,
        lapse: &|client, from_ns, ttl_ns| readings.lapse(client, from_ns, ttl_ns),
    };
    let timeline = Timeline::of(history);
    let is_believed = |grant: &Grant| {
        let mut stretches = timeline
            .grants
            .iter()
            .filter(|it| *it.client == grant.client);
        stretches.any(|it| {
            let ends_ns = match until {
                Until::Release => it.ends_ns,
                Until::Deadline => it.lapses_ns,
            };
            it.begins_ns <= grant.from_ns && grant.until_ns <= ends_ns.min(history.end_ns)
        })
    };
    tally.runs += 1;
    tally.believed += timeline.grants.len();
    for answer in grants(&wire, KEY) {
        let Answer::Granted(mut grant) = answer else {
            continue;
        };
        grant.until_ns = grant.until_ns.min(history.end_ns);
        if grant.is_certain() {
            tally.certain += 1;
            if !is_believed(&grant) {
                let own = timeline
                    .grants
                    .iter()
                    .filter(|it| *it.client == grant.client);
                let near = own.filter(|it| {
                    it.ends_ns + 50_000_000 > grant.from_ns
                        && it.begins_ns < grant.until_ns + 50_000_000
                });
                let near: Vec<_> = near.map(|it| (it.begins_ns, it.ends_ns)).collect();
                tally
                    .wrong
                    .push(format!("{name}: {grant:?}, believed {near:?}"));
            }
        }
    }
}

fn seeds() -> u64 {
    if std::env::var_os("LOCKLAB_LONG").is_some() {
        400
    } else {
        40
    }
}

/// The lock in random faults of every kind, on servers of which the contents follow from the wire.
fn check(nodes: usize, lock: &str, until: Until) {
    let sets = [
        "topology.replicas=0".to_owned(),
        "topology.sentinels=0".to_owned(),
        "campaign.hosts='given'".to_owned(),
        format!("topology.nodes={nodes}"),
        "topology.clients=3".to_owned(),
        format!("lock={lock}"),
    ];
    let scenario = load("problems/campaign", &sets).expect("it fits");
    let jobs: Vec<u64> = (0..seeds()).collect();
    let tallies = at_once(2, &jobs, |&seed| {
        let mut found = Tally::default();
        if why_not_repeated(&scenario.drawn(seed).scenario).is_none() {
            let run = judged::run(&scenario, seed, Keep::CONTENTS).expect("it ends");
            tally(&run, nodes, (&format!("seed {seed}"), until), &mut found);
        }
        found
    });
    let (mut runs, mut believed, mut certain, mut wrong) = (0, 0, 0, Vec::new());
    for one in tallies {
        runs += one.runs;
        believed += one.believed;
        certain += one.certain;
        wrong.extend(one.wrong);
    }
    println!("{lock}: {runs} runs, {believed} grants, {certain} certain");
    assert!(
        wrong.is_empty(),
        "{} of {certain}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(
        certain * 2 > believed,
        "{certain} of {believed} are certain"
    );
}

#[test]
fn nothing_is_certain_that_a_client_of_one_node_does_not_believe() {
    for (lock, until) in [
        ("{ name = 'set-nx-px', ttl_ms = 1000 }", Until::Deadline),
        (
            "{ name = 'set-nx-px', ttl_ms = 1000, release = 'get-del' }",
            Until::Deadline,
        ),
        ("{ name = 'setnx-expire', ttl_ms = 1000 }", Until::Deadline),
        // Its deadline counts from the call, in which a client may have waited for its turn.
        ("{ name = 'redisson', lease_ms = 1000 }", Until::Release),
        ("{ name = 'redisson', watchdog_ms = 1000 }", Until::Release),
    ] {
        check(1, lock, until);
    }
}

#[test]
fn nothing_is_certain_that_a_client_of_a_majority_does_not_believe() {
    for nodes in [3, 5] {
        check(
            nodes,
            "{ name = 'redlock', ttl_ms = 1000 }",
            Until::Deadline,
        );
    }
}
