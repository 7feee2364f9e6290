//! The schedules that seeds draw: as files, so that none changes unnoticed; and the joint distribution
//! of their numbers, since a number that is drawn twice, or in the place of another, leaves each of them
//! with its own distribution.

use insta::assert_snapshot;
use locklab_history::{Effect, Fault, LinkFault, Schedule, Start};
use locklab_model::fault::{FaultSpec, expand};
use locklab_values::dist::Dist;
use locklab_values::random::Stream;
use locklab_vecmap::VecMap;

/// Every way of placing a fault, and of drawing its numbers.
const PLACED: &str = r#"
    at = { kind = "pause", on = "c1", at_ms = { uniform = [0, 900] }, duration_ms = { exponential = 50 } }
    at-once = { kind = "reset", on = ["n1", "n2"], at_ms = 7 }
    after = { kind = "suspend", on = ["c1", "n1"], after = "c1 acquired #2", delay_ms = { uniform = [0, 30] }, duration_ms = { log_normal = { median = 3, sigma = 0.5 } } }
    between = { kind = "kill", on = "c2", between = ["c2 read", "c2 wrote"], duration_ms = { uniform = [5, 90] } }
    step = { kind = "crash", on = "n1", at_step = "c1 SET #2 arrives at n1", delay_ms = { exponential = 4 }, duration_ms = { uniform = [1, 2] } }
    slow = { kind = "slow-link", from = "c1", to = ["n1", "n2"], at_ms = { exponential = 300 }, extra_ms = { uniform = [1, 40] }, duration_ms = { mixture = [[0.9, 5], [0.1, { exponential = 50 }]] } }
    lossy = { kind = "loss", from = "c1", to = "n1", direction = "one-way", at_ms = { values = [12, 15.5, 300] }, probability = 0.25 }
    rate = { kind = "clock-rate", on = "n1", after = "c1 acquired", delay_ms = { exponential = 5 }, drift_ppm = -500, duration_ms = { uniform = [10, 20] } }
    stepped = { kind = "clock-step", on = ["n1", "n2", "n3"], at_ms = { uniform = [1, 2] }, step_ms = -5.5 }
"#;

/// Faults that come again and again.
const REPEATED: &str = r#"
    cut = { kind = "partition", from = ["c1", "c2"], to = ["n1", "n2"], every_ms = { uniform = [50, 250] }, until_ms = 800, duration_ms = { uniform = [10, 90] } }
    gc = { kind = "pause", on = "c1", every_ms = { exponential = 150 }, at_ms = { uniform = [0, 10] }, until_ms = 800, duration_ms = { exponential = 20 } }
    slow = { kind = "slow-link", from = "c1", to = "n1", every_ms = { uniform = [100, 300] }, until_ms = 800, extra_ms = { uniform = [1, 40] }, duration_ms = { uniform = [10, 90] } }
    tick = { kind = "clock-step", on = "n1", every_ms = 200, at_ms = 0, until_ms = 800, step_ms = 1 }
"#;

const SEEDS: std::ops::Range<u64> = 0..3;

fn specs(faults: &str) -> VecMap<String, FaultSpec> {
    toml::from_str(faults).expect("faults")
}

/// The schedules of these faults, a line for each fault.
fn schedules(faults: &str) -> String {
    let mut text = String::new();
    for seed in SEEDS {
        text += &format!("seed {seed}\n");
        for fault in expand(&specs(faults), seed).faults {
            text += &format!("  {}\n", serde_json::to_string(&fault).expect("it is JSON"));
        }
    }
    text
}

#[test]
fn placed_faults_are_drawn_as_before() {
    assert_snapshot!(schedules(PLACED));
}

#[test]
fn repeated_faults_are_drawn_as_before() {
    assert_snapshot!(schedules(REPEATED));
}

/// A campaign draws hosts, network and faults.
#[test]
fn a_campaigns_faults_are_drawn_as_before() {
    let scenario = locklab_model::scenario::load("problems/campaign", &[]).expect("it ships");
    let mut text = String::new();
    for seed in SEEDS {
        let drawn = scenario.drawn(seed);
        text += &format!("seed {seed}: {} nodes\n", drawn.scenario.topology.nodes);
        for fault in drawn.schedule.faults {
            text += &format!("  {}\n", serde_json::to_string(&fault).expect("it is JSON"));
        }
    }
    assert_snapshot!(text);
}

fn at_ns(fault: &Fault) -> u64 {
    match fault.start {
        Start::At { at_ns } => at_ns,
        Start::After { delay_ns, .. } | Start::AtStep { delay_ns, .. } => delay_ns,
    }
}

fn extra_ns(fault: &Fault) -> u64 {
    match &fault.effect {
        Effect::Links {
            fault: LinkFault::SlowLink { extra },
            ..
        } => *extra,
        other => panic!("no slow link: {other:?}"),
    }
}

/// A repeated fault by hand: from the fault's own stream come the first start, and then for each
/// occurrence in turn its duration, its amount, and the time to the next start.
#[test]
fn the_numbers_of_an_occurrence_are_drawn_together_and_in_order() {
    let slow = REPEATED
        .lines()
        .find(|line| line.contains("slow ="))
        .expect("it is there");
    for seed in 0..50 {
        let mut stream = Stream::new(seed, "faults/slow");
        let mut draw = |from: f64, to: f64| Dist::Uniform(from, to).sample_ns(&mut stream);
        let mut expected = Vec::new();
        let mut start_ns = draw(100.0, 300.0);
        while start_ns < 800_000_000 {
            let (duration_ns, extra_ns) = (draw(10.0, 90.0), draw(1.0, 40.0));
            expected.push((start_ns, Some(duration_ns), extra_ns));
            start_ns += draw(100.0, 300.0);
        }
        let faults = expand(&specs(slow), seed).faults;
        let found = faults
            .iter()
            .map(|it| (at_ns(it), it.duration_ns, extra_ns(it)));
        assert_eq!(found.collect::<Vec<_>>(), expected, "seed {seed}");
    }
}

/// The correlation of two quantities over many seeds. A number that is used twice gives 1 or -1.
fn correlation(faults: &str, pair: impl Fn(&Schedule) -> (u64, u64)) -> f64 {
    const RUNS: u64 = 2000;
    let specs = specs(faults);
    let pairs = (0..RUNS).map(|seed| pair(&expand(&specs, seed)));
    let pairs: Vec<(f64, f64)> = pairs
        .map(|(one, other)| (one as f64, other as f64))
        .collect();
    let mean = |of: fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>() / RUNS as f64;
    let (x, y) = (mean(|it| it.0), mean(|it| it.1));
    let sum =
        |of: &dyn Fn(f64, f64) -> f64| pairs.iter().map(|it| of(it.0 - x, it.1 - y)).sum::<f64>();
    sum(&|x, y| x * y) / (sum(&|x, _| x * x) * sum(&|_, y| y * y)).sqrt()
}

/// With independent numbers the standard error is 1 / √2000; this allows five.
#[track_caller]
fn check_independent(faults: &str, pair: impl Fn(&Schedule) -> (u64, u64)) {
    let found = correlation(faults, pair);
    assert!(found.abs() < 0.112, "{found}");
}

#[test]
fn start_duration_amount_and_interval_are_independent() {
    let drawn = "= { uniform = [0, 100] }";
    for placed in [
        "at_ms",
        "after = 'c1 read', delay_ms",
        "at_step = 'c1 SET #1 arrives at n1', delay_ms",
    ] {
        let fault = format!(
            "f = {{ kind = 'slow-link', from = 'c1', to = 'n1', {placed} {drawn}, duration_ms {drawn}, extra_ms {drawn} }}"
        );
        let lasts_ns = |fault: &Fault| fault.duration_ns.expect("drawn");
        check_independent(&fault, |it| (at_ns(&it.faults[0]), lasts_ns(&it.faults[0])));
        check_independent(&fault, |it| (at_ns(&it.faults[0]), extra_ns(&it.faults[0])));
        check_independent(&fault, |it| {
            (lasts_ns(&it.faults[0]), extra_ns(&it.faults[0]))
        });
        let two = format!("{fault}\n{}", fault.replacen('f', "g", 1));
        check_independent(&two, |it| (at_ns(&it.faults[0]), at_ns(&it.faults[1])));
        check_independent(&two, |it| {
            (lasts_ns(&it.faults[0]), lasts_ns(&it.faults[1]))
        });
    }
    let fault = format!(
        "f = {{ kind = 'slow-link', from = 'c1', to = 'n1', every_ms = {{ uniform = [100, 200] }}, until_ms = 700, \
         duration_ms {drawn}, extra_ms {drawn} }}"
    );
    let lasts_ns = |it: &Schedule, nth: usize| it.faults[nth].duration_ns.expect("drawn");
    let interval_ns =
        |it: &Schedule, nth: usize| at_ns(&it.faults[nth]) - at_ns(&it.faults[nth - 1]);
    check_independent(&fault, |it| (at_ns(&it.faults[0]), lasts_ns(it, 0)));
    check_independent(&fault, |it| (lasts_ns(it, 0), interval_ns(it, 1)));
    check_independent(&fault, |it| (extra_ns(&it.faults[0]), interval_ns(it, 1)));
    check_independent(&fault, |it| (interval_ns(it, 1), lasts_ns(it, 1)));
    check_independent(&fault, |it| (lasts_ns(it, 0), lasts_ns(it, 1)));
    check_independent(&fault, |it| (extra_ns(&it.faults[0]), lasts_ns(it, 1)));
    check_independent(&fault, |it| (interval_ns(it, 1), interval_ns(it, 2)));
}

/// Whatever else is in the scenario, and in whatever place.
#[test]
fn a_fault_is_drawn_as_if_it_were_alone() {
    for faults in [PLACED, REPEATED] {
        let all = specs(faults);
        for seed in 0..20 {
            let together = expand(&all, seed).faults;
            for (name, spec) in &all {
                let alone = VecMap::from([(name.clone(), spec.clone())]);
                let own = |fault: &&Fault| fault.name.split('#').next() == Some(name);
                let own: Vec<Fault> = together.iter().filter(own).cloned().collect();
                assert_eq!(own, expand(&alone, seed).faults, "{name}, seed {seed}");
            }
        }
    }
}
