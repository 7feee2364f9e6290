//! Round numbers: times and amounts with fewer digits, and then smaller ones.

use serde_json::json;

use crate::edit::faults::with;
use crate::json::{pointer, replaced};
use crate::size::{collect, digits};
use crate::trial::Best;
use locklab_check::Property;
use locklab_history::Span;
use locklab_model::scenario::Scenario;

/// With one number rounder, or one fault that lasts to the end of the run.
pub(crate) fn rounder(best: &Best, _: Property) -> Vec<Scenario> {
    let mut candidates = Vec::new();
    for (name, fault) in &best.scenario.fault {
        if fault.duration_ms.is_some() && fault.kind().span() != Span::Momentary {
            let mut endless = fault.clone();
            endless.duration_ms = None;
            candidates.push(with(&best.scenario, name, endless));
        }
    }
    let value = best.scenario.to_json();
    let mut numbers = Vec::new();
    collect(&value, &mut Vec::new(), &mut numbers);
    for (path, number) in numbers {
        // Without any delay, many things happen at one instant: nobody could read that.
        let is_latency = path.iter().any(|key| key == "latency_ms");
        let least = if is_latency {
            LEAST_LATENCY_MS
        } else {
            f64::MIN
        };
        let with = |rounder: f64| {
            let is_whole = value
                .pointer(&pointer(&path))
                .is_some_and(|it| it.is_u64() || it.is_i64());
            let rounder = match is_whole {
                true => json!(rounder as i64),
                false => json!(rounder),
            };
            replaced(&best.scenario, &value, &path, rounder)
        };
        candidates.extend(
            simpler(number)
                .into_iter()
                .filter(|it| *it >= least)
                .filter_map(with),
        );
    }
    candidates
}

/// The least delay of a message, in milliseconds.
pub(crate) const LEAST_LATENCY_MS: f64 = 1.0;

/// Numbers that are simpler than this one, the simplest first: with fewer digits, or with as many and
/// smaller.
fn simpler(number: f64) -> Vec<f64> {
    let size = number.abs();
    let mut found = vec![0.0];
    // 1, 2, 5, 10, … below it.
    let mut unit = 1.0;
    while unit < size {
        found.extend([1.0, 2.0, 5.0].map(|first| first * unit));
        unit *= 10.0;
    }
    for kept in 1..digits(size) {
        // The unit of the last digit that is kept.
        let unit = 10_f64.powi(size.log10().floor() as i32 + 1 - kept as i32);
        found.extend([(size / unit).floor() * unit, (size / unit).ceil() * unit]);
    }
    let cost = |number: &f64| (digits(*number), (number * 1000.0).round() as u64);
    found.retain(|other| cost(other) < cost(&size));
    found.sort_by_key(cost);
    found.dedup_by_key(|number| cost(number));
    // Six decimals, so that no number shows how it was computed.
    let decimals = 10_f64.powi(6);
    let signed = |it: f64| (it.copysign(number) * decimals).round() / decimals + 0.0;
    found.into_iter().map(signed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use locklab_model::scenario::load;
    use locklab_runner::judged;
    use locklab_runner::simulate::Keep;

    #[test]
    fn how_long_a_lock_may_be_free_is_no_number_to_round() {
        let scenario = load("redis-docs/r10", &["bound_ms=2100".into()]).expect("it is valid");
        let run = judged::run(&scenario, 0, Keep::default()).expect("it ends");
        let best = Best {
            scenario,
            seed: 0,
            run,
        };
        let candidates = rounder(&best, Property::Deadlock);
        assert!(candidates.len() > 10);
        assert!(candidates.iter().all(|it| it.bound_ms == Some(2100)));
    }

    #[test]
    fn simpler_numbers_have_fewer_digits_or_are_smaller() {
        assert_eq!(simpler(0.0), Vec::<f64>::new());
        assert_eq!(simpler(1.0), [0.0]);
        assert_eq!(simpler(5.0), [0.0, 1.0, 2.0]);
        assert_eq!(simpler(-20.0), [0.0, -1.0, -2.0, -5.0, -10.0]);
        let of = simpler(1487.3);
        assert_eq!(of[..5], [0.0, 1.0, 2.0, 5.0, 10.0]);
        assert_eq!(
            of[of.len() - 6..],
            [1400.0, 1500.0, 1480.0, 1490.0, 1487.0, 1488.0]
        );
    }
}
