//! A mixture of distributions: each of them is drawn from with its weight.

use super::{Dist, Sign};

/// A distribution, and its weight.
pub(super) type Part = (f64, Dist);

/// How often the interval that contains the value is halved: until no number lies within.
const HALVINGS: u32 = 200;

/// The value that is exceeded with this probability.
pub(super) fn at_tail_ms(parts: &[Part], tail: f64) -> f64 {
    let values = parts.iter().map(|(_, dist)| dist.at_tail_ms(tail));
    // At the greatest of these values no part is exceeded more often, and at the least one none is less.
    let (mut low, mut high) = values
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(value), high.max(value))
        });
    if tail_at(parts, low) <= tail {
        return low;
    }
    for _ in 0..HALVINGS {
        let middle = low + (high - low) / 2.0;
        if middle <= low || middle >= high {
            break;
        }
        match tail_at(parts, middle) > tail {
            true => low = middle,
            false => high = middle,
        }
    }
    high
}

/// The probability that a value is exceeded.
pub(super) fn tail_at(parts: &[Part], ms: f64) -> f64 {
    let tails = parts.iter().map(|(weight, dist)| weight * dist.tail_at(ms));
    tails.sum()
}

/// Why this is not a distribution, if it is not.
pub(super) fn problem(parts: &[Part], sign: Sign) -> Option<String> {
    if parts.is_empty() {
        return Some(
            "a mixture needs parts, such as [[0.9, 5], [0.1, { exponential = 50 }]]".into(),
        );
    }
    let weights = parts.iter().map(|(weight, _)| *weight);
    if let Some(weight) = weights.clone().find(|it| !(*it > 0.0 && *it <= 1.0)) {
        return Some(format!("a weight lies above 0 and is at most 1: {weight}"));
    }
    let sum: f64 = weights.sum();
    if (sum - 1.0).abs() > 1e-9 {
        return Some(format!(
            "the weights of a mixture add up to 1, not to {sum}"
        ));
    }
    parts.iter().find_map(|(_, dist)| dist.problem_of(sign))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_at_a_tail_is_exceeded_by_the_parts_together() {
        let log_normal = Dist::LogNormal {
            median: 3.0,
            sigma: 0.5,
        };
        let parts = [(0.99, log_normal), (0.01, Dist::Exponential(100.0))];
        for tail in [0.9, 0.1, 1e-3, 1e-6, 1e-12] {
            let value = at_tail_ms(&parts, tail);
            let back = tail_at(&parts, value);
            assert!((back / tail - 1.0).abs() < 1e-6, "{tail}: {value}, {back}");
        }
        // Far out only the second counts: 100 ln(0.01 / 1e-12).
        let far = at_tail_ms(&parts, 1e-12);
        assert!((far - 2_302.585_092_994).abs() < 1e-6, "{far}");
    }

    #[test]
    fn constants_in_a_mixture_are_met() {
        let parts = [(0.75, Dist::Constant(1.0)), (0.25, Dist::Constant(5.0))];
        for (tail, expected) in [(0.9, 1.0), (0.26, 1.0), (0.24, 5.0), (1e-9, 5.0)] {
            let found = at_tail_ms(&parts, tail);
            assert!((found - expected).abs() < 1e-12, "{tail}: {found}");
        }
    }

    #[test]
    fn weights_add_up_to_one() {
        let of = |weights: &[f64]| {
            let parts = weights.iter().map(|it| (*it, Dist::Constant(1.0)));
            problem(&parts.collect::<Vec<_>>(), Sign::Positive)
        };
        assert_eq!(of(&[0.7, 0.2, 0.1]), None);
        let wrong = of(&[0.7, 0.2]).expect("they do not");
        assert!(
            wrong.starts_with("the weights of a mixture add up to 1"),
            "{wrong}"
        );
        assert!(of(&[]).is_some() && of(&[1.5, -0.5]).is_some());
    }
}
