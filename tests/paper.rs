//! Rates from runs against rates calculated on paper.

use locklab::check::Property;
use locklab::runner::judged;
use locklab::runner::results::Cell;
use locklab::runner::simulate::Keep;
use locklab::scenario::load;

/// Runs of each point: 3.29 standard errors are then at most 2.6 percentage points.
const RUNS: u64 = 4000;

/// The rate of `kleppmann/k1-exponential`, derived in the scenario: times in
/// milliseconds.
///
/// The first client's key is set 5 latencies after the start (two connections, one after
/// the other, and the request), at a whole millisecond, so it lives to the end of the
/// millisecond T later. The second client gets it with its first attempt after that, R
/// later, and its read reaches the resource 2 latencies after its attempt reached the
/// node. The first client's pause begins 3 latencies after its key was set (reply, read,
/// reply), and its write arrives 1 latency after the pause. It comes too late if
/// 3 L + X + L > T + 1 + R + 2 L.
fn paper(ttl: f64, latency: f64, retry_delay: f64, mean: f64) -> f64 {
    let period = 2.0 * latency + retry_delay;
    let shortest = ttl + 1.0 - 2.0 * latency;
    (-shortest / mean).exp() * (mean / period) * (1.0 - (-period / mean).exp())
}

#[track_caller]
fn check(sets: &[&str], expected: f64) {
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    let scenario = load("kleppmann/k1-exponential", &sets).expect("a sound scenario");
    let mut cell = Cell::default();
    for seed in 0..RUNS {
        let run = judged::run(&scenario, seed, Keep::default());
        cell.add(seed, run.trace_hash, &run.verdicts);
    }
    let tally = cell.tallies[&Property::Resource];
    // A pause of a few milliseconds is over before the second client asks for the lock:
    // such a run was never contended, and counts here as one without a violation.
    assert_eq!(tally.judged() + tally.inconclusive, RUNS);
    let observed = tally.violated as f64 / RUNS as f64;
    let standard_error = (expected * (1.0 - expected) / RUNS as f64).sqrt();
    // 3.29 standard errors are exceeded by chance once in a thousand; the seeds are fixed.
    assert!(
        (observed - expected).abs() < 3.29 * standard_error,
        "observed {observed:.4}, calculated {expected:.4}, standard error {standard_error:.4}"
    );
}

#[test]
fn k1_with_exponential_pauses_has_the_rate_that_paper_says() {
    for mean in [300.0, 1000.0, 3000.0] {
        let set = format!("fault.gc.duration_ms.exponential={mean}");
        check(&[&set], paper(1000.0, 2.0, 196.0, mean));
    }
}

#[test]
fn the_formula_holds_for_other_leases_latencies_and_retries_too() {
    check(
        &[
            "lock.ttl_ms=400",
            "lock.retry_delay_ms=80",
            "network.latency_ms=10",
            "workload.client.c2.start_ms.uniform.0=100",
            "workload.client.c2.start_ms.uniform.1=200",
            "fault.gc.duration_ms.exponential=500",
        ],
        paper(400.0, 10.0, 80.0, 500.0),
    );
}

/// That the test can fail: a rate that is off by a seventh of itself is told apart.
#[test]
fn a_wrong_formula_would_be_noticed() {
    let wrong = std::panic::catch_unwind(|| check(&[], 1.15 * paper(1000.0, 2.0, 196.0, 1000.0)));
    assert!(wrong.is_err());
}
