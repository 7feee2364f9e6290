//! Rates from runs against rates calculated on paper. The rate of a run is the one that the
//! tool prints: violated runs over all runs.

use std::sync::atomic::AtomicBool;

use locklab::check::Property;
use locklab::evidence::Rate;
use locklab::runner::batch::{Conduct, Job, run};
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

/// The rate of a property that the tool prints for a shipped scenario, changed as `sets`
/// say.
fn printed(name: &str, sets: &[&str], property: Property, runs: u64) -> Rate {
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    let job = Job {
        scenario: load(name, &sets).expect("a sound scenario"),
        parameters: vec![],
        seeds: 0..runs,
    };
    let stop = AtomicBool::new(false);
    let cells = run(&[job], &Conduct::quiet(2, &stop)).expect("no panic");
    let cell = cells[0].as_ref().expect("nobody stopped it");
    cell.tallies[&property].rate()
}

/// Whether a rate is the calculated one but for chance: 3.29 standard errors are exceeded
/// once in a thousand, and the seeds are fixed.
fn agrees(rate: Rate, expected: f64) -> bool {
    let observed = rate.share().expect("there are runs");
    let standard_error = (expected * (1.0 - expected) / rate.runs as f64).sqrt();
    (observed - expected).abs() <= 3.29 * standard_error
}

#[track_caller]
fn check(name: &str, sets: &[&str], property: Property, expected: f64) {
    let rate = printed(name, sets, property, RUNS);
    let told = rate.describe("runs");
    assert!(agrees(rate, expected), "{told}, calculated {expected:.4}");
}

#[track_caller]
fn check_k1(sets: &[&str], expected: f64) {
    check("kleppmann/k1-exponential", sets, Property::Resource, expected);
}

#[test]
fn k1_with_exponential_pauses_has_the_rate_that_paper_says() {
    for mean in [300.0, 1000.0, 3000.0] {
        let set = format!("fault.gc.duration_ms.exponential={mean}");
        check_k1(&[&set], paper(1000.0, 2.0, 196.0, mean));
    }
}

#[test]
fn the_formula_holds_for_other_leases_latencies_and_retries_too() {
    check_k1(
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
    let rate = printed("kleppmann/k1-exponential", &[], Property::Resource, RUNS);
    assert!(!agrees(rate, 1.15 * paper(1000.0, 2.0, 196.0, 1000.0)));
}
