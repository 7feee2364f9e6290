//! The allowance for drift against the drift (A7, R8), from runs and on paper.

use locklab_check::Property;

use super::{agrees, printed, some_of};

/// The rate at which a client that tries once in 200 ms finds the gap between the end of the keys
/// and the end of the holder's belief, as `antirez/a7-edge` derives it. The latency is 2 ms.
fn paper(ttl_ms: f64, allowance: f64, drift: f64) -> f64 {
    let believed = ttl_ms * (1.0 - allowance) - 2.0;
    let expires = (ttl_ms + 0.5) / (1.0 + drift);
    ((believed - 2.0 * 2.0 - expires) / 200.0).clamp(0.0, 1.0)
}

#[test]
fn slewed_clocks_break_the_lease_from_about_the_allowance_on() {
    // A run lasts for half a minute: fewer of them.
    for (ppm, runs) in [(500, 100), (10_000, 100), (15_000, 800), (20_000, 100)] {
        let set = format!("fault.slew.drift_ppm={ppm}");
        let rate = printed("antirez/a7-edge", &[&set], Property::Lease, some_of(runs));
        let expected = paper(30_000.0, 0.01, f64::from(ppm) / 1e6);
        let told = rate.describe("runs");
        assert!(
            agrees(rate, expected),
            "{ppm} ppm: {told}, calculated {expected:.4}"
        );
    }
}

/// R8's edge: an allowance d suffices if 1 - d is at most 1 / (1 + drift).
#[test]
fn an_allowance_suffices_from_the_drift_on() {
    for (ppm, drift) in [(50_000, 0.05_f64), (100_000, 0.1), (200_000, 0.2)] {
        let edge = 1.0 - 1.0 / (1.0 + drift);
        let runs = |allowance: f64| {
            let sets = [
                format!("lock.drift_factor={allowance}"),
                format!("fault.drift.drift_ppm={ppm}"),
            ];
            let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
            printed("redis-docs/r8", &sets, Property::Lease, some_of(300)).violated
        };
        assert_eq!(runs(edge), 0, "{ppm} ppm");
        assert!(runs(edge - 0.03) > 0, "{ppm} ppm");
    }
}
