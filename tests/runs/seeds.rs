//! A seed also determines, besides latencies and faults, when servers do their periodic work, which
//! of two ready tasks runs first, and the phase of the wall clock at the start of a run.

use std::collections::BTreeSet;

use locklab_history::{Event, History, Phase};
use locklab_model::fault::expand;
use locklab_model::scenario::parse;
use locklab_results::{Cell, Detail};
use locklab_runner::batch::Job;
use locklab_runner::judged;
use locklab_runner::simulate::{Keep, simulate};

const SEEDS: u64 = 10;

fn run(scenario: &str, seed: u64) -> History {
    let scenario = parse("t.toml", scenario, &[]).expect("a sound scenario");
    let schedule = expand(&scenario.fault, seed);
    let run = simulate(&scenario, seed, &schedule, Keep::MESSAGES);
    run.expect("it ends").history
}

/// A replica reports its offset once a second, and nothing else happens: the time of the report
/// within a second, in microseconds. A replica is killed during the run.
const REPLICATION: &str = r#"
    headline = "lease"
    title = "A replica reports"
    about = "A master, and a replica whose process starts twice."
    source = "this test"
    horizon_ms = 20_000
    topology = { nodes = 1, replicas = 1, clients = 1 }
    network = { latency_ms = 1 }
    lock = { name = "set-nx-px", ttl_ms = 1000 }
    workload = { start_ms = 19_000 }
    fault.again = { kind = "kill", on = "n1r1", at_ms = 10_000, duration_ms = 1 }
"#;

/// The phase of the replica's reports in the span, in microseconds of a second.
fn phase_us(history: &History, from_s: u64, to_s: u64) -> u64 {
    let reports = history.messages.iter().filter(|message| {
        &*message.from == "n1r1"
            && message.label.starts_with("REPLCONF ACK")
            && (from_s..to_s).contains(&(message.sent_ns / 1_000_000_000))
    });
    let phases: BTreeSet<u64> = reports
        .map(|report| report.sent_ns / 1_000 % 1_000_000)
        .collect();
    let apart = phases.last().zip(phases.first());
    let (last, first) = apart.expect("a replica reports once a second");
    assert!(last - first <= 1, "one report a second: {phases:?}");
    *first
}

#[test]
fn a_server_ticks_otherwise_in_each_run_and_after_each_start() {
    let runs: Vec<History> = (0..SEEDS).map(|seed| run(REPLICATION, seed)).collect();
    let first: BTreeSet<u64> = runs.iter().map(|run| phase_us(run, 3, 10)).collect();
    let second: BTreeSet<u64> = runs.iter().map(|run| phase_us(run, 13, 19)).collect();
    assert_eq!(first.len() as u64, SEEDS, "{first:?}");
    assert_eq!(second.len() as u64, SEEDS, "{second:?}");
    assert!(first.is_disjoint(&second), "{first:?} {second:?}");
    // Ten uniform draws from a second all fall into the same half once in 500 times.
    assert!(first.first() < Some(&500_000) && first.last() > Some(&500_000));
}

#[test]
fn the_same_seed_is_the_same_run() {
    assert_eq!(run(REPLICATION, 7), run(REPLICATION, 7));
}

/// Two clients ask for a lock at the same instant, over links that are equally long.
const RACE: &str = r#"
    headline = "lease"
    title = "Two at once"
    about = "Two clients of one lock begin at the same instant."
    source = "this test"
    topology = { nodes = 1, clients = 2 }
    network = { latency_ms = 1 }
    lock = { name = "set-nx-px", ttl_ms = 1000 }
    workload = { hold_ms = 20 }
"#;

#[test]
fn order_of_simultaneously_ready_tasks_is_drawn() {
    let winner = |seed| {
        let history = run(RACE, seed);
        let mut records = history.records.iter();
        let granted = records.find(|r| matches!(r.event, Event::BeliefBegins { .. }));
        granted.expect("somebody gets it").host.to_string()
    };
    let wins = (0..40).filter(|seed| winner(*seed) == "c1").count();
    // 20 expected; 3.2 is one standard deviation.
    assert!((8..33).contains(&wins), "{wins}");
}

#[test]
fn a_run_begins_anywhere_in_a_second_of_the_clock() {
    let begins = |seed| {
        let history = run(RACE, seed);
        let record = &history.records[0];
        (record.wall_ns - record.at_ns) % 1_000_000_000
    };
    let begins: BTreeSet<u64> = (0..SEEDS).map(begins).collect();
    assert_eq!(begins.len() as u64, SEEDS, "{begins:?}");
    assert!(begins.first() < Some(&500_000_000) && begins.last() > Some(&500_000_000));
}

/// What a seed draws: latencies, when a client begins, and when a fault does.
const DRAWS: &str = r#"
    headline = "lease"
    title = "Everything is drawn"
    about = "Two clients of one lock begin at some time, and one is paused."
    source = "this test"
    topology = { nodes = 1, clients = 2 }
    network = { latency_ms = { uniform = [1, 5] } }
    lock = { name = "set-nx-px", ttl_ms = 1000 }
    workload = { hold_ms = 20, start_ms = { uniform = [100, 200] } }
    fault.gc = { kind = "pause", on = "c1", at_ms = { uniform = [0, 90] }, duration_ms = 1 }
"#;

/// The runs behind a published rate are as many as it says: seeds that differ in any one of their 64
/// bits draw other latencies, other workloads and other faults.
#[test]
fn every_bit_of_a_seed_counts() {
    let scenario = parse("t.toml", DRAWS, &[]).expect("a sound scenario");
    let seeds: Vec<u64> = [0].into_iter().chain((0..64).map(|bit| 1 << bit)).collect();
    let mut drawn = [(); 3].map(|()| BTreeSet::new());
    let mut cell = Cell::default();
    for &seed in &seeds {
        let job = Job::of(&scenario, seed..seed);
        { job.add(seed, Detail::Runs, &mut cell) }.expect("it has a result");
        let run = judged::run(&scenario, seed, Keep::default()).expect("it has a result");
        let first_ns = |is_it: fn(&Event) -> bool| {
            let mut records = run.history.records.iter();
            records
                .find(|record| is_it(&record.event))
                .expect("it happens")
                .at_ns
        };
        let asked_ns = first_ns(|event| matches!(event, Event::Invoke { .. }));
        let granted_ns = first_ns(|event| matches!(event, Event::BeliefBegins { .. }));
        drawn[0].insert(asked_ns);
        drawn[1].insert(granted_ns - asked_ns);
    }
    drawn[2].extend(cell.runs.iter().map(|run| run.began[0].1));
    assert_eq!(drawn.map(|times| times.len()), [seeds.len(); 3]);
}

/// A sentinel detects the loss of its master by pings, one a second.
const SENTINELS: &str = r#"
    headline = "lease"
    title = "A master dies"
    about = "Three sentinels notice it."
    source = "this test"
    horizon_ms = 20_000
    topology = { nodes = 1, replicas = 1, sentinels = 3, clients = 1 }
    network = { latency_ms = 1 }
    sentinel = { down_after_ms = 1000 }
    lock = { name = "set-nx-px", ttl_ms = 1000 }
    workload = { start_ms = 19_000 }
    fault.death = { kind = "crash", on = "n1", at_ms = 6_000 }
"#;

#[test]
fn sentinels_notice_a_death_otherwise_in_each_run() {
    let noticed = |seed| -> u64 {
        let history = run(SENTINELS, seed);
        let mut records = history.records.iter();
        let is_down = |event: &Event| matches!(event, Event::Reached { point } if point.to_string() == "+sdown");
        let record = records.find(|r| &*r.host == "s1" && is_down(&r.event));
        record.expect("it is noticed").at_ns / 1_000_000
    };
    let noticed: Vec<u64> = (0..SEEDS).map(noticed).collect();
    let (first, last) = (noticed.iter().min(), noticed.iter().max());
    // The unanswered ping was sent at any time in the second after the death.
    assert!(
        last.zip(first)
            .is_some_and(|(last, first)| last - first > 400),
        "{noticed:?}"
    );
}

#[test]
fn time_of_a_fault_does_not_depend_on_other_draws() {
    let begins = |seed| {
        let history = run(REPLICATION, seed);
        let is_begin = |event: &Event| {
            matches!(
                event,
                Event::Fault {
                    phase: Phase::Begins,
                    ..
                }
            )
        };
        let record = history.records.iter().find(|r| is_begin(&r.event)).cloned();
        record.expect("it strikes").at_ns
    };
    assert!((0..3).all(|seed| begins(seed) == 10_000_000_000));
}
