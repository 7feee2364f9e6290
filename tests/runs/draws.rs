//! What else is drawn otherwise if a client, a node or a fault is left out of a scenario: `docs/shrink.md`,
//! "Seeds", says it, and this test guards it.

use std::collections::BTreeMap;

use locklab_history::{Event, Op};
use locklab_model::scenario::{Scenario, parse};
use locklab_runner::judged::{self, JudgedRun};
use locklab_runner::simulate::Keep;

/// Everything that a run draws: latency, loss, starts, work, pauses between rounds, jitter, tokens, and the times
/// of two faults.
const DRAWS: &str = r#"
    headline = "lease"
    title = "Everything is drawn"
    about = "Three clients of Redlock on five nodes, a pause and a partition."
    source = "this test"
    topology = { nodes = 5, clients = 3 }
    network = { latency_ms = { uniform = [1, 5] }, loss = 0.05 }
    lock = { name = "redlock", ttl_ms = 1000 }
    [workload]
    rounds = 3
    start_ms = { uniform = [0, 400] }
    hold_ms = { uniform = [10, 30] }
    think_ms = { uniform = [100, 900] }
    [fault.cut]
    kind = "partition"
    from = "c1"
    to = "n5"
    at_ms = { uniform = [500, 900] }
    duration_ms = { uniform = [100, 300] }
    [fault.gc]
    kind = "pause"
    on = "c2"
    at_ms = { uniform = [500, 900] }
    duration_ms = { uniform = [100, 300] }
"#;

const SEEDS: std::ops::Range<u64> = 0..3;

/// What was drawn, by its name: `start c1`, `think c1 #2`, `fault gc begins`, `link c1 n2 #7`, `token c1`.
type Draws = BTreeMap<String, u64>;

type Change = fn(&mut Scenario);

const WITHOUT_C3: Change = |it| it.topology.clients = 2;
const WITHOUT_N5: Change = |it| {
    it.topology.nodes = 4;
    it.fault.remove("cut");
};
const WITHOUT_CUT: Change = |it| {
    it.fault.remove("cut");
};
const WITHOUT_GC: Change = |it| {
    it.fault.remove("gc");
};

/// With constant links, so that each time of a client is its own draw.
const CONSTANT: Change = |it| {
    it.network = parse(
        "t.toml",
        &DRAWS.replace("{ uniform = [1, 5] }, loss = 0.05", "2"),
        &[],
    )
    .expect("a sound scenario")
    .network;
};

/// Without faults, which make a client late.
const CALM: Change = |it| it.fault.clear();

fn scenario(changes: &[Change]) -> Scenario {
    let mut scenario = parse("t.toml", DRAWS, &[]).expect("a sound scenario");
    changes.iter().for_each(|change| change(&mut scenario));
    scenario
}

fn run(changes: &[Change], seed: u64) -> JudgedRun {
    judged::run(&scenario(changes), seed, Keep::CONTENTS).expect("it ends")
}

/// How many draws of both runs are the same, and how many differ, by the first word of their names.
fn compared(before: &[Change], after: &[Change], draws: fn(&JudgedRun) -> Draws) -> [usize; 2] {
    let mut counts = [0; 2];
    for seed in SEEDS {
        let (before, after) = (draws(&run(before, seed)), draws(&run(after, seed)));
        for (name, value) in &after {
            if let Some(other) = before.get(name) {
                counts[usize::from(value != other)] += 1;
            }
        }
    }
    counts
}

/// When each fault begins and how long it lasts.
fn faults(run: &JudgedRun) -> Draws {
    let begin = run.history.faults_began_ns().into_iter();
    let mut draws: Draws = begin
        .map(|(name, at_ns)| (format!("fault {name} begins"), at_ns))
        .collect();
    for fault in &run.schedule.faults {
        let lasts_ns = fault.duration_ns.expect("it has an end");
        draws.insert(format!("fault {} lasts", fault.name), lasts_ns);
    }
    draws
}

/// When each client begins, and how long it waits between a release and the next round.
fn programs(run: &JudgedRun) -> Draws {
    let mut draws = Draws::new();
    let mut rounds: BTreeMap<String, (u32, Option<u64>)> = BTreeMap::new();
    for record in &run.history.records {
        let client = record.host.to_string();
        let (nth, released_ns) = rounds.entry(client.clone()).or_default();
        match &record.event {
            Event::Invoke {
                op: Op::Acquire, ..
            } if *nth == 0 => {
                draws.insert(format!("start {client}"), record.at_ns);
                *nth = 1;
            }
            Event::Invoke {
                op: Op::Acquire, ..
            } => {
                if let Some(then_ns) = released_ns.take() {
                    draws.insert(format!("think {client} #{nth}"), record.at_ns - then_ns);
                    *nth += 1;
                }
            }
            Event::Complete {
                op: Op::Release, ..
            } => *released_ns = Some(record.at_ns),
            _ => {}
        }
    }
    draws
}

/// The value of each client's first `SET`.
fn tokens(run: &JudgedRun) -> Draws {
    let mut draws = Draws::new();
    let payloads = &run.contents.as_ref().expect("they are kept").payloads;
    for (message, bytes) in run.history.messages.iter().zip(payloads) {
        let text = String::from_utf8_lossy(bytes);
        let mut words = text.split("\r\n").skip_while(|word| *word != "SET").skip(4);
        if let Some(token) = words.next() {
            let value = u64::from_str_radix(&token[..16], 16).expect("digits");
            draws
                .entry(format!("token {}", message.from))
                .or_insert(value);
        }
    }
    draws
}

/// How long each message of a link takes.
fn links(run: &JudgedRun) -> Draws {
    let mut draws = Draws::new();
    let mut nth: BTreeMap<String, u32> = BTreeMap::new();
    for message in &run.history.messages {
        let link = format!("link {} {}", message.from, message.to);
        let nth = nth.entry(link.clone()).or_default();
        *nth += 1;
        if let Some(arrived_ns) = message.arrived_ns {
            draws.insert(format!("{link} #{nth}"), arrived_ns - message.sent_ns);
        }
    }
    draws
}

const ALL: [Change; 4] = [WITHOUT_C3, WITHOUT_N5, WITHOUT_CUT, WITHOUT_GC];

#[test]
fn what_is_left_out_shifts_no_other_fault() {
    for without in ALL {
        let [same, differ] = compared(&[], &[without], faults);
        assert!(same >= 6, "{same}");
        assert_eq!(differ, 0);
    }
}

#[test]
fn what_is_left_out_shifts_no_token_of_another_client() {
    for without in ALL {
        let [same, differ] = compared(&[], &[without], tokens);
        assert!(same >= 6, "{same}");
        assert_eq!(differ, 0);
    }
}

#[test]
fn a_host_that_is_left_out_shifts_no_time_of_another_clients_program() {
    for without in [WITHOUT_C3, WITHOUT_N5] {
        let before = [CONSTANT, CALM];
        let after = [CONSTANT, CALM, without];
        let [same, differ] = compared(&before, &after, programs);
        assert!(same >= 18, "{same}");
        assert_eq!(differ, 0);
    }
}

/// All links draw from one stream. If this fails because they do not any more, `docs/shrink.md` is to be changed.
#[test]
fn a_host_that_is_left_out_shifts_the_links_of_all_others() {
    for without in [WITHOUT_C3, WITHOUT_N5] {
        let [same, differ] = compared(&[CALM], &[CALM, without], links);
        assert!(differ > 100 && same < differ / 10, "{same} {differ}");
    }
}

#[test]
fn a_fault_that_is_left_out_shifts_links_only_after_it_has_begun() {
    for (name, without) in [("cut", WITHOUT_CUT), ("gc", WITHOUT_GC)] {
        let [_, differ] = compared(&[], &[without], links);
        assert!(differ > 100, "{differ}");
        for seed in SEEDS {
            let (before, after) = (run(&[], seed), run(&[without], seed));
            let began_ns = before.history.faults_began_ns()[name];
            let until = |run: JudgedRun| {
                let messages = run.history.messages.into_iter();
                // One that is lost before is sent again after, and arrives then.
                let sent = messages.map(|it| (it.from, it.to, it.sent_ns));
                sent.take_while(|it| it.2 < began_ns).collect::<Vec<_>>()
            };
            let (before, after) = (until(before), until(after));
            assert!(before.len() > 20, "{}", before.len());
            assert_eq!(before, after, "{name}, seed {seed}");
        }
    }
}
