//! Compares rates from runs with calculated rates. The observed rate is the one that the tool
//! prints: violated runs divided by all runs.
//!
//! Without `LOCKLAB_LONG=1` each point has some of the runs: an eighth where there are thousands, a quarter
//! otherwise. Of the points that are simulated slowest it is every second one.

use std::collections::BTreeMap;
use std::env;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use locklab_check::Property;
use locklab_evidence::{Basis, Rate};
use locklab_model::scenario::{SHIPPED, load};
use locklab_results::Cell;
use locklab_runner::batch::{BatchOptions, Job, run};

mod acquisition;
mod drift;
mod everysec;
mod loss;
mod model;
mod retries;
mod timing;
mod write_back;

/// With so many runs of a point, 3.29 standard errors are at most 2.6 percentage points.
const MANY: u64 = 4000;

/// The number of runs of each point.
fn runs() -> u64 {
    match is_long() {
        true => MANY,
        false => MANY / 8,
    }
}

/// So many runs, or a quarter of them.
fn some_of(runs: u64) -> u64 {
    match is_long() {
        true => runs,
        false => runs / 4,
    }
}

/// All of these points, or every second one.
fn some_points<T>(all: &[T]) -> impl Iterator<Item = &T> {
    all.iter().step_by(if is_long() { 1 } else { 2 })
}

fn is_long() -> bool {
    env::var_os("LOCKLAB_LONG").is_some()
}

/// The rate of `kleppmann/k1-exponential`, derived in the scenario: times in
/// milliseconds.
///
/// The first client's key is set 5 latencies after the start (two connections in turn, and the
/// request), at a random point within a millisecond of the node's clock, and lives to the end of
/// the millisecond T later: for T + 1/2 on average, which is as good as the exact mean of the
/// exponential if the pauses last hundreds of milliseconds. The second client gets the lock with
/// its first attempt after that, R later, and its read reaches the resource 2 latencies after its
/// attempt reached the node. The first client's pause begins 3 latencies after its key was set
/// (reply, read, reply), and its write arrives 1 latency after the pause. The write comes too late
/// if 3 L + X + L > T + 1/2 + R + 2 L.
fn paper(ttl: f64, latency: f64, retry_delay: f64, mean: f64) -> f64 {
    let period = 2.0 * latency + retry_delay;
    let shortest = ttl + 0.5 - 2.0 * latency;
    (-shortest / mean).exp() * (mean / period) * (1.0 - (-period / mean).exp())
}

/// The rate of a property that the tool prints for a shipped scenario with the overrides `sets`.
fn printed(name: &str, sets: &[&str], property: Property, runs: u64) -> Rate {
    cell(name, sets, runs).tallies[&property].rate()
}

/// All that this many runs of a shipped scenario with the overrides `sets` come to. What several
/// tests ask for is run once.
fn cell(name: &str, sets: &[&str], runs: u64) -> Arc<Cell> {
    static CELLS: Mutex<BTreeMap<Asked, Arc<OnceLock<Arc<Cell>>>>> = Mutex::new(BTreeMap::new());
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    let asked = (name.to_owned(), sets, runs);
    let mut cells = CELLS.lock().unwrap_or_else(PoisonError::into_inner);
    let cell = Arc::clone(cells.entry(asked.clone()).or_default());
    drop(cells);
    Arc::clone(cell.get_or_init(|| Arc::new(simulated(&asked))))
}

/// A scenario's name, overrides, and the number of runs.
type Asked = (String, Vec<String>, u64);

fn simulated((name, sets, runs): &Asked) -> Cell {
    let job = Job {
        scenario: load(name, sets).expect("a sound scenario"),
        parameters: vec![],
        seeds: 0..*runs,
    };
    let stop = AtomicBool::new(false);
    let cells = run(&[job], &BatchOptions::quiet(2, &stop)).expect("no panic");
    cells[0].clone().expect("the run was not stopped")
}

/// Whether a rate equals the calculated one except for chance: a deviation of 3.29 standard
/// errors occurs once in a thousand, and the seeds are fixed.
fn agrees(rate: Rate, expected: f64) -> bool {
    let observed = rate.share().expect("there are runs");
    let standard_error = (expected * (1.0 - expected) / rate.runs as f64).sqrt();
    (observed - expected).abs() <= 3.29 * standard_error
}

#[track_caller]
fn check(name: &str, sets: &[&str], property: Property, expected: f64) {
    let rate = printed(name, sets, property, runs());
    let told = rate.describe("runs");
    assert!(agrees(rate, expected), "{told}, calculated {expected:.4}");
}

#[track_caller]
fn check_k1(sets: &[&str], expected: f64) {
    check(
        "kleppmann/k1-exponential",
        sets,
        Property::Resource,
        expected,
    );
}

#[test]
fn k1_with_exponential_pauses_has_the_rate_that_paper_says() {
    for mean in [300.0, 1000.0, 3000.0] {
        let set = format!("fault.gc.duration_ms.exponential={mean}");
        check_k1(&[&set], paper(1000.0, 2.0, 196.0, mean));
    }
}

#[test]
fn it_has_it_for_other_leases_and_retries() {
    for (ttl, retry_delay, mean) in [(500.0, 96.0, 700.0), (2000.0, 396.0, 1500.0)] {
        let sets = [
            format!("lock.ttl_ms={ttl}"),
            format!("lock.retry_delay_ms={retry_delay}"),
            format!(
                "workload.client.c2.start_ms.uniform.1={}",
                104.0 + retry_delay
            ),
            format!("fault.gc.duration_ms.exponential={mean}"),
        ];
        let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
        check_k1(&sets, paper(ttl, 2.0, retry_delay, mean));
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

/// K2 with a pause that begins at any time of the work: derived in the scenario.
#[test]
fn a_look_at_the_clock_makes_the_harm_as_rare_as_its_place_in_the_work() {
    for (before, after) in [(0.0, 100.0), (100.0, 100.0), (300.0, 100.0), (380.0, 20.0)] {
        let sets = [
            format!("workload.hold_ms={before}"),
            format!("workload.after_check_ms={after}"),
            format!("fault.gc.delay_ms.uniform.1={}", before + after),
        ];
        let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
        let expected = after / (before + after);
        check("kleppmann/k2-uniform", &sets, Property::Resource, expected);
    }
}

/// K2's sweep: the closer the check is to the write, the rarer the harm, in proportion.
#[test]
fn the_rate_falls_with_the_time_between_check_and_write() {
    for after in [10.0, 50.0, 100.0] {
        let set = format!("workload.after_check_ms={after}");
        let expected = after / 400.0;
        check(
            "kleppmann/k2-uniform",
            &[&set],
            Property::Resource,
            expected,
        );
    }
}

/// F1, with the latency and the retries of K1's formula, so that the second client's read comes R
/// after the earliest possible time, R uniform in 0 to P. The first client's pause is uniform over
/// 600 ms. Of the orders of two reads and two writes the pause leaves three: the first client's
/// write comes before the second's read, between the second's read and write, or after both.
#[test]
fn of_two_writes_as_many_are_lost_as_the_resources_rule_lets_through() {
    const LATENCY: f64 = 2.0;
    const RETRY_DELAY: f64 = 196.0;
    const WORK: f64 = 20.0;
    const PAUSE: [f64; 2] = [900.0, 1500.0];
    let width = PAUSE[1] - PAUSE[0];
    // From its read to its write: the reply, the work, the request.
    let between = (150.0 + 2.0 * LATENCY) / width;
    // As in K1 the pause and the work after it must outlast the lease, half a millisecond and R.
    let earliest = 1000.0 + 0.5 - 2.0 * LATENCY - WORK;
    let mean_r = (2.0 * LATENCY + RETRY_DELAY) / 2.0;
    let after_the_read = (PAUSE[1] - earliest - mean_r) / width;
    for (fencing, expected) in [
        ("none", after_the_read),
        ("writes", between),
        ("reads-and-writes", 0.0),
    ] {
        let fencing = format!("resource.fencing=\"{fencing}\"");
        let sets = [
            fencing.as_str(),
            "network.latency_ms=2",
            "lock.retry_delay_ms=196",
            "lock.retry_jitter_ms=0",
            "workload.client.c2.start_ms.uniform.0=100",
            "workload.client.c2.start_ms.uniform.1=300",
        ];
        check("kleppmann/f1", &sets, Property::LostUpdate, expected);
    }
}

/// A6: nodes whose clocks run 10 % fast expire the keys after T / 1.1 (and half a millisecond,
/// the precision of Redis's expiry). The keys are set a latency after the first client asked; it
/// counts its lease from when it asked, less the allowance d T and 2 ms. The second client asks
/// once in P (retry delay, a round trip to ask, one to release) and believes a latency after its
/// request reached the nodes; so of P, a part of T (1 - d) - 2 ms - 2 L - T / 1.1 lets it in too
/// early.
#[test]
fn fast_clocks_break_the_lease_as_far_as_the_allowance_is_short_of_their_error() {
    const LATENCY: f64 = 2.0;
    const PERIOD: f64 = 192.0 + 4.0 * LATENCY;
    for allowance in [0.0, 0.01, 0.05, 0.1] {
        let allowed = format!("lock.drift_factor={allowance}");
        let sets = [
            allowed.as_str(),
            "network.latency_ms=2",
            "lock.retry_delay_ms=192",
            "lock.retry_jitter_ms=0",
            "workload.client.c2.start_ms.uniform.0=100",
            "workload.client.c2.start_ms.uniform.1=300",
        ];
        let expires = (1000.0 + 0.5) / 1.1;
        let window = 1000.0 * (1.0 - allowance) - 2.0 - 2.0 * LATENCY - expires;
        check(
            "antirez/a6",
            &sets,
            Property::Lease,
            window.max(0.0) / PERIOD,
        );
    }
}

/// R4: TCP retransmits 0.2, 0.4, 0.8 or 1.6 s after the first transmission, and the lag is the first of
/// these at which the link is up; the master crashes up to 2 s after the client learned of its
/// grant, a latency (3 ms on average) after the key was set.
#[test]
fn a_lock_is_lost_if_the_master_dies_before_tcp_tries_again() {
    for (down_ms, lag_ms) in some_points(&[(200, 200.0), (500, 400.0), (1000, 1600.0)]) {
        let down = format!("fault.lag.duration_ms={down_ms}");
        let rate = printed("redis-docs/r4", &[&down], Property::Lease, some_of(1000));
        let expected = (lag_ms - 3.0) / 2000.0;
        let told = rate.describe("runs");
        assert!(
            agrees(rate, expected),
            "{down}: {told}, calculated {expected:.4}"
        );
    }
}

/// K6 and A3: of two rightful holders the second gets the lower random value half of the time; of n
/// holders, one gets a lower value than its predecessor unless the values come in ascending order,
/// which is one of n! orders.
#[test]
fn random_values_order_grants_as_chance_does() {
    for (name, property) in [
        ("kleppmann/k6", Property::TokenRegression),
        ("kleppmann/k6", Property::Resource),
        ("kleppmann/k6-fenced", Property::Progress),
        ("antirez/a3", Property::TokenRegression),
        ("antirez/a3-takeover", Property::TokenRegression),
    ] {
        check(name, &[], property, 0.5);
    }
}

/// A prediction says that its rate is calculated only if a function here names both its scenario and its
/// property, to compare the two.
#[test]
fn every_calculated_rate_is_compared() {
    let tests = [
        include_str!("main.rs"),
        include_str!("drift.rs"),
        include_str!("everysec.rs"),
        include_str!("loss.rs"),
        include_str!("retries.rs"),
        include_str!("timing.rs"),
        include_str!("write_back.rs"),
    ];
    let is_compared = |name: &str, property: Property| {
        let (name, property) = (format!("\"{name}\""), format!("Property::{property:?}"));
        let mut functions = tests.iter().flat_map(|text| text.split("\nfn "));
        functions.any(|text| text.contains(&name) && text.contains(&property))
    };
    let mut calculated = 0;
    for (name, _) in SHIPPED {
        for (property, prediction) in load(name, &[]).expect("it ships").expect {
            if prediction.basis() == Basis::Calculated {
                assert!(is_compared(name, property), "{name}, {property}");
                calculated += 1;
            }
        }
    }
    assert!(calculated > 15, "{calculated}");
}

/// Shows that the test can fail: it detects a rate that is wrong by a seventh.
#[test]
fn a_wrong_formula_would_be_noticed() {
    let mean = "fault.gc.duration_ms.exponential=1000";
    let rate = printed(
        "kleppmann/k1-exponential",
        &[mean],
        Property::Resource,
        some_of(MANY),
    );
    assert!(!agrees(rate, 1.15 * paper(1000.0, 2.0, 196.0, 1000.0)));
}
