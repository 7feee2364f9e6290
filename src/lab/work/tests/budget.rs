//! Further rounds until a budget is over, by a clock that the runs move.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use locklab_values::random::Stream;

use super::*;

/// The runs that are asked for.
const ASKED: u64 = 16;

/// The time in which they end for certain, since a run takes at most 10.
const BUDGET: u64 = 160;

/// The share of runs that violate something. Such a run takes ten times as long as any other.
const RATE: f64 = 0.3;

/// Some runs, and how many of them are violated.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Violated {
    runs: u64,
    violated: u64,
}

impl Part for Violated {
    fn join(&mut self, other: Self) {
        self.runs += other.runs;
        self.violated += other.violated;
    }
}

/// The runs that count when the time is over.
fn counted(seed: u64) -> Made<Violated> {
    static BY_USER: AtomicBool = AtomicBool::new(false);
    let mut bench = Bench::new("budget");
    bench.0.stop = Stop::within(&BY_USER, Some(Duration::from_secs(3600)));
    let time = AtomicU64::new(0);
    let run = |_, number, all: &mut Violated| {
        let is_violated = Stream::new(seed, &format!("run-{number}")).chance(RATE);
        let takes = if is_violated { 10 } else { 1 };
        if time.fetch_add(takes, Ordering::Relaxed) + takes > BUDGET {
            bench.0.stop.now();
            return Err("the time is over");
        }
        all.runs += 1;
        all.violated += u64::from(is_violated);
        Ok(())
    };
    let stage = Stage {
        part: 1,
        ..Stage::SIMULATED
    };
    let work = bench.work();
    let asked = 0..ASKED;
    let bug = |broken: Broken| anyhow!(broken);
    let made = work.runs(&stage, std::slice::from_ref(&asked), 1, run, &bug);
    made.expect("they are made").remove(0)
}

/// Which rounds count depends on how long their runs took, and a violation takes longer. The mean is that of all runs
/// nevertheless, and no part of an unfinished round counts.
#[test]
fn a_budget_does_not_bias_the_rate_although_violations_take_longer() {
    const TRIALS: u64 = 200;
    let mut rounds = vec![ASKED];
    while rounds.last().is_some_and(|runs| *runs < BUDGET) {
        let so_far = *rounds.last().expect("one");
        rounds.push(so_far + so_far.div_ceil(8));
    }
    let (mut sum, mut squares) = (0.0, 0.0);
    for seed in 0..TRIALS {
        let Made {
            result,
            runs,
            planned,
        } = counted(seed);
        assert_eq!((result.runs, planned), (runs, runs));
        assert!(rounds.contains(&runs), "{runs} in {rounds:?}");
        let rate = result.violated as f64 / runs as f64;
        sum += rate;
        squares += rate * rate;
    }
    let mean = sum / TRIALS as f64;
    let error = ((squares / TRIALS as f64 - mean * mean) / TRIALS as f64).sqrt();
    assert!((mean - RATE).abs() < 3.0 * error, "{mean} ± {error}");
    // Had every further run been counted until one took too long, there would be too few violations: the test would
    // notice a bias of a twentieth.
    assert!(error < 0.05 * RATE / 2.0, "{error}");
}
