//! A distribution that is known by some of its quantiles, as publications give them.
//!
//! Between two given quantiles the logarithm of the value is linear in the logarithm of the tail, the
//! probability to be exceeded. From the least value to the first quantile the value itself is linear in
//! the tail. The greatest value, if it is given, is reached at a tenth of the last quantile's tail;
//! otherwise the last segment is continued without end, as a Pareto distribution.

/// A distribution by its quantiles, in milliseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct Quantiles {
    /// The least value.
    pub min: f64,
    /// Percentages, and the values below which so many percent of all values are; both ascend.
    pub points: Vec<(f64, f64)>,
    /// The greatest value.
    pub max: Option<f64>,
}

/// The tail at which the greatest value is reached, as a share of the last quantile's.
const MAX_AT: f64 = 0.1;

impl Quantiles {
    /// The value that is exceeded with this probability.
    pub(super) fn at_tail_ms(&self, tail: f64) -> f64 {
        let knots = self.knots();
        let (first_tail, first) = knots[0];
        if tail >= first_tail {
            return self.min + (first - self.min) * (1.0 - tail) / (1.0 - first_tail);
        }
        let last = knots[knots.len() - 1];
        if self.max.is_some() && tail <= last.0 {
            return last.1;
        }
        let after = knots.iter().position(|(knot, _)| *knot <= tail);
        let after = after.unwrap_or(knots.len() - 1);
        let [(tail_0, value_0), (tail_1, value_1)] = [knots[after - 1], knots[after]];
        let along = libm::log(tail / tail_0) / libm::log(tail_1 / tail_0);
        value_0 * libm::exp(along * libm::log(value_1 / value_0))
    }

    /// The probability that a value is exceeded.
    pub(super) fn tail_at(&self, ms: f64) -> f64 {
        let knots = self.knots();
        let (first_tail, first) = knots[0];
        if ms < self.min {
            return 1.0;
        }
        if ms < first {
            return 1.0 - (1.0 - first_tail) * (ms - self.min) / (first - self.min);
        }
        let last = knots[knots.len() - 1];
        if self.max.is_some() && ms >= last.1 {
            return 0.0;
        }
        let after = knots.iter().position(|(_, value)| *value > ms);
        let after = after.unwrap_or(knots.len() - 1).max(1);
        let [(tail_0, value_0), (tail_1, value_1)] = [knots[after - 1], knots[after]];
        if value_1 <= value_0 {
            return 0.0;
        }
        let along = libm::log(ms / value_0) / libm::log(value_1 / value_0);
        tail_0 * libm::exp(along * libm::log(tail_1 / tail_0))
    }

    /// The given tails, falling, each with the value that is exceeded so often; at least two.
    fn knots(&self) -> Vec<(f64, f64)> {
        let given = self.points.iter();
        let mut knots: Vec<(f64, f64)> = given
            .map(|(percent, value)| ((100.0 - percent) / 100.0, *value))
            .collect();
        if let (Some(max), Some((last, _))) = (self.max, knots.last()) {
            knots.push((last * MAX_AT, max));
        }
        knots
    }

    /// The same percentages with each value changed.
    pub(super) fn map(&self, change: &dyn Fn(f64) -> f64) -> Quantiles {
        let points = self.points.iter();
        Quantiles {
            min: change(self.min),
            points: points
                .map(|(percent, value)| (*percent, change(*value)))
                .collect(),
            max: self.max.map(change),
        }
    }

    /// Whether there is more than one value.
    pub(super) fn is_random(&self) -> bool {
        let values = self.points.iter().map(|(_, value)| *value);
        values.chain(self.max).any(|value| value > self.min)
    }

    /// Why this is not a distribution, if it is not.
    pub(super) fn problem(&self) -> Option<String> {
        let percents = self.points.iter().map(|(percent, _)| *percent);
        if let Some(percent) = percents.clone().find(|it| !(*it > 0.0 && *it < 100.0)) {
            return Some(format!(
                "a quantile lies between p0 and p100, not at p{percent}; write min or max for these"
            ));
        }
        match (self.points.len(), self.max) {
            (0, _) => return Some("quantiles need at least one, such as p50 = 20".into()),
            (1, None) => {
                let what = "with one quantile alone, nothing says how long the longest values are; write a \
                            second quantile, or max";
                return Some(what.into());
            }
            _ => {}
        }
        let values = self.points.iter().map(|(_, value)| *value).chain(self.max);
        let values: Vec<f64> = [self.min].into_iter().chain(values).collect();
        if let Some(value) = values.iter().find(|it| !it.is_finite() || **it < 0.0) {
            return Some(format!(
                "a quantile must be finite and not negative: {value}"
            ));
        }
        if values[1..].contains(&0.0) {
            return Some("only min may be 0; write the value of a quantile above it".into());
        }
        let falls = values.windows(2).find(|pair| pair[1] < pair[0]);
        falls.map(|pair| format!("quantiles rise: {} cannot come after {}", pair[1], pair[0]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pauses(max: Option<f64>) -> Quantiles {
        Quantiles {
            min: 10.0,
            points: vec![(50.0, 50.0), (99.0, 300.0)],
            max,
        }
    }

    #[track_caller]
    fn check(of: &Quantiles, tail: f64, expected: f64) {
        let value = of.at_tail_ms(tail);
        assert!((value / expected - 1.0).abs() < 1e-9, "{tail}: {value}");
        let back = of.tail_at(value);
        assert!((back / tail - 1.0).abs() < 1e-6, "{tail}: {back}");
    }

    #[test]
    fn given_quantiles_are_kept_and_values_between_are_interpolated() {
        for of in [pauses(None), pauses(Some(1000.0))] {
            check(&of, 1.0, 10.0);
            check(&of, 0.75, 30.0);
            check(&of, 0.5, 50.0);
            check(&of, 0.01, 300.0);
            // The geometric mean of both tails, and of both values.
            check(&of, 0.005_f64.sqrt(), 15_000.0_f64.sqrt());
        }
    }

    #[test]
    fn beyond_the_last_quantile_the_segment_goes_on_or_ends_at_the_maximum() {
        // The same step of the tail's logarithm, the same step of the value's.
        check(&pauses(None), 0.01 * 0.02, 300.0 * 6.0);
        let ends = pauses(Some(1000.0));
        check(&ends, 0.01 * 0.1_f64.sqrt(), 300_000.0_f64.sqrt());
        assert_eq!(ends.at_tail_ms(1e-9), 1000.0);
        assert_eq!(ends.tail_at(1000.0), 0.0);
    }

    #[test]
    fn what_is_no_distribution_is_named() {
        let of = |min, points: &[(f64, f64)], max| Quantiles {
            min,
            points: points.to_vec(),
            max,
        };
        for (quantiles, problem) in [
            (of(0.0, &[], None), "quantiles need at least one"),
            (of(0.0, &[(50.0, 1.0)], None), "with one quantile alone"),
            (
                of(0.0, &[(100.0, 1.0)], Some(2.0)),
                "a quantile lies between",
            ),
            (of(0.0, &[(50.0, 0.0)], Some(2.0)), "only min may be 0"),
            (
                of(0.0, &[(50.0, 5.0), (99.0, 2.0)], None),
                "quantiles rise: 2",
            ),
            (of(9.0, &[(50.0, 5.0)], Some(6.0)), "quantiles rise: 5"),
            (
                of(0.0, &[(50.0, -5.0)], Some(6.0)),
                "a quantile must be finite",
            ),
        ] {
            let found = quantiles.problem().unwrap_or_default();
            assert!(found.starts_with(problem), "{found}");
        }
        assert_eq!(pauses(None).problem(), None);
        assert_eq!(of(0.0, &[(50.0, 1.0)], Some(1.0)).problem(), None);
    }
}
