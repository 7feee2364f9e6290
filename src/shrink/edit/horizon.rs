//! The end of the run, which the search brings forward to save time.

use locklab_model::scenario::Scenario;

/// With the usual end of a run, or at least a rounder one.
pub(crate) fn usual(scenario: &Scenario) -> Vec<Scenario> {
    let with = |horizon_ms| Scenario {
        horizon_ms,
        ..scenario.clone()
    };
    let second = scenario.horizon_ms.div_ceil(1000) * 1000;
    let candidates = [
        USUAL_MS,
        scenario.horizon_ms.next_multiple_of(10_000),
        second,
    ];
    { candidates.into_iter() }
        .filter(|horizon_ms| *horizon_ms != scenario.horizon_ms)
        .map(with)
        .collect()
}

/// The default, in milliseconds: a scenario does not write it.
const USUAL_MS: u64 = 60_000;
