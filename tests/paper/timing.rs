//! How bad timing has to be beside the lease before it does harm (K3, K15, A9), from runs and
//! on paper. Times are in milliseconds.

use locklab_check::Property;
use locklab_evidence::same_rate;

use super::{MANY, check, printed, runs, some_of, some_points};

const LEASE: f64 = 1000.0;
const LATENCY: f64 = 2.0;
/// The second client tries once in this time.
const PERIOD: f64 = 200.0;
/// The longest work of K15's first client.
const WORK: f64 = 900.0;

/// The mean of `of` over one period of the second client's attempts.
fn mean_over_a_period(of: impl Fn(f64) -> f64) -> f64 {
    const STEPS: u32 = 10_000;
    let at = |step: u32| PERIOD * (f64::from(step) + 0.5) / f64::from(STEPS);
    (0..STEPS).map(|step| of(at(step))).sum::<f64>() / f64::from(STEPS)
}

/// The rate of `kleppmann/k15-delay` and `kleppmann/k15-pause`, derived in the first of them.
fn late_write(delay: f64) -> f64 {
    let harmful = |noticed: f64| WORK + delay - LEASE - 0.5 + 2.0 * LATENCY - noticed;
    mean_over_a_period(|noticed| (harmful(noticed) / WORK).clamp(0.0, 1.0))
}

/// The rate of `kleppmann/k15-clock`, derived there; times since the first client asked.
fn early_expiry(step: f64) -> f64 {
    let expires = (LEASE + 0.5 - step + LATENCY).max(2.0 * LATENCY);
    mean_over_a_period(|phase| {
        let first = 10.0 + phase + LATENCY;
        let missed = ((expires - first) / PERIOD).ceil().max(0.0);
        let granted = first + missed * PERIOD + LATENCY;
        if granted >= 0.99 * LEASE - 2.0 {
            return 0.0;
        }
        ((WORK + 6.0 * LATENCY - granted) / WORK).clamp(0.0, 1.0)
    })
}

#[test]
fn redlock_fails_in_proportion_to_a_delay_and_to_a_pause() {
    for &late in some_points(&[200.0, 600.0, 1000.0, 1500.0]) {
        let expected = late_write(late);
        for (name, key) in [
            ("kleppmann/k15-delay", "fault.delay.extra_ms"),
            ("kleppmann/k15-pause", "fault.gc.duration_ms"),
        ] {
            let set = format!("{key}={late}");
            check(name, &[&set], Property::Resource, expected);
        }
    }
}

#[test]
fn redlock_fails_in_proportion_to_a_clock_error() {
    for step in [200.0, 600.0, 1000.0, 1500.0] {
        let set = format!("fault.jump.step_ms={step}");
        let expected = early_expiry(step);
        check("kleppmann/k15-clock", &[&set], Property::Lease, expected);
    }
}

/// K3: of the four causes only one lasts, each in turn. The harm is the same.
#[test]
fn the_cause_of_a_pause_is_a_label() {
    const CAUSES: [&str; 4] = [
        "page-fault",
        "read-from-a-network-disk",
        "cpu-contention",
        "sigstop",
    ];
    let runs = some_of(300);
    for lasting in CAUSES {
        let others = CAUSES.iter().filter(|cause| **cause != lasting);
        let sets: Vec<String> = others
            .map(|cause| format!("fault.{cause}.duration_ms=1"))
            .collect();
        let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
        let rate = printed("kleppmann/k3", &sets, Property::StaleWrite, runs);
        assert_eq!(rate.violated, runs, "{lasting}: {}", rate.describe("runs"));
    }
    let none = CAUSES.map(|cause| format!("fault.{cause}.duration_ms=1"));
    let none: Vec<&str> = none.iter().map(String::as_str).collect();
    let rate = printed("kleppmann/k3", &none, Property::StaleWrite, runs);
    assert_eq!(rate.violated, 0, "{}", rate.describe("runs"));
}

/// A9: the rate derived in the scenario, and equal among the three locks.
#[test]
fn a_pause_after_the_check_hurts_every_lock_alike() {
    const LONGEST: f64 = 4000.0;
    let outlasts = LEASE + 0.5 + PERIOD / 2.0 - 20.0 - 2.0 * LATENCY;
    let expected = (LONGEST - outlasts) / LONGEST;
    let names = ["antirez/a9", "antirez/a9-one-node", "antirez/a9-consensus"];
    for name in names {
        check(name, &[], Property::Resource, expected);
    }
    let rates = names.map(|name| printed(name, &[], Property::Resource, runs()));
    for other in &rates[1..] {
        let p = same_rate(rates[0], *other);
        assert!(p > 0.001, "{rates:?}: p = {p}");
    }
}

/// Shows that the comparison can fail: a shorter session protects its holder for less long.
#[test]
fn with_a_shorter_session_the_rates_differ() {
    let lease = printed("antirez/a9", &[], Property::Resource, some_of(MANY));
    let sets = ["lock.session_ms=800"];
    let session = printed(
        "antirez/a9-consensus",
        &sets,
        Property::Resource,
        some_of(MANY),
    );
    let p = same_rate(lease, session);
    assert!(p < 0.001, "{lease:?} {session:?}: p = {p}");
}

/// Shows that these tests can fail: a lease that is a tenth longer has another rate.
#[test]
fn a_wrong_lease_would_be_noticed() {
    let rate = printed(
        "kleppmann/k15-delay",
        &["fault.delay.extra_ms=600"],
        Property::Resource,
        some_of(MANY),
    );
    assert!(!super::agrees(rate, late_write(500.0)));
}
