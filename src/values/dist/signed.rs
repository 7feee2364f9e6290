//! A distribution of amounts that may be negative: how far a clock steps, and by how much it runs wrong.
//!
//! It is written as one of durations. `{ exponential = -100 }` has the negative values of
//! `{ exponential = 100 }`, and so has a log-normal one with a negative median. Quantiles, whose
//! logarithms are interpolated, are of values above 0.

use serde::Serialize;

use super::{Dist, Sign};
use crate::random::Rng;

/// A distribution of values of any sign, without a unit.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Signed(Dist);

impl Signed {
    /// Always this value.
    pub fn constant(value: f64) -> Signed {
        Signed(Dist::Constant(value))
    }

    /// The distribution with these values.
    ///
    /// # Errors
    ///
    /// If one is not finite, or it is not a distribution.
    pub fn new(dist: Dist) -> Result<Signed, String> {
        match dist.problem_of(Sign::Any) {
            None => Ok(Signed(dist)),
            Some(problem) => Err(problem),
        }
    }

    /// Draws a value. Takes as many draws from `rng` as [`Dist::sample_ns`]: none if constant.
    pub fn sample(&self, rng: &mut impl Rng) -> f64 {
        self.0.sample_ms(rng)
    }

    /// The value, if there is only one.
    pub fn as_constant(&self) -> Option<f64> {
        match self.0 {
            Dist::Constant(value) => Some(value),
            _ => None,
        }
    }

    /// No value is below this.
    pub fn least(&self) -> f64 {
        least(&self.0)
    }
}

fn least(dist: &Dist) -> f64 {
    match *dist {
        Dist::Constant(value) => value,
        Dist::Uniform(low, _) => low,
        Dist::Exponential(middle) | Dist::LogNormal { median: middle, .. } => match middle < 0.0 {
            true => f64::NEG_INFINITY,
            false => 0.0,
        },
        Dist::Quantiles(ref quantiles) => quantiles.min,
        Dist::Mixture(ref parts) => {
            let parts = parts.iter().map(|(_, dist)| least(dist));
            parts.fold(f64::INFINITY, f64::min)
        }
        Dist::Values(ref values) => values.first().copied().unwrap_or(0.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Stream, unit_f64};

    #[derive(Debug, PartialEq, Serialize, serde::Deserialize)]
    struct Written {
        by: Signed,
    }

    fn read(text: &str) -> Result<Signed, String> {
        let read: Result<Written, _> = toml::from_str(&format!("by = {text}"));
        read.map(|it| it.by)
            .map_err(|error| error.message().to_owned())
    }

    /// Of each form: its least value, and the share of its values below 0 and below -100.
    #[test]
    fn every_form_may_be_negative_and_keeps_its_shape() {
        for (text, least, negative, below) in [
            ("-5", -5.0, 1.0, 0.0),
            ("{ uniform = [-300, 100] }", -300.0, 0.75, 0.5),
            (
                "{ exponential = -100 }",
                f64::NEG_INFINITY,
                1.0,
                (-1.0_f64).exp(),
            ),
            ("{ exponential = 100 }", 0.0, 0.0, 0.0),
            (
                "{ log_normal = { median = -100, sigma = 0.5 } }",
                f64::NEG_INFINITY,
                1.0,
                0.5,
            ),
            ("{ values = [5, -200, -100, 10] }", -200.0, 0.5, 0.25),
            ("{ quantiles = { p50 = 10, p99 = 490 } }", 0.0, 0.0, 0.0),
            (
                "{ mixture = [[0.5, { exponential = -100 }], [0.25, 50], [0.25, { uniform = [-200, 0] }]] }",
                f64::NEG_INFINITY,
                0.75,
                0.5 * (-1.0_f64).exp() + 0.125,
            ),
        ] {
            let by = read(text).expect(text);
            assert_eq!(by.least(), least, "{text}");
            let mut stream = Stream::new(3, "signed");
            let values: Vec<f64> = (0..20_000).map(|_| by.sample(&mut stream)).collect();
            let share = |limit: f64| {
                let below = values.iter().filter(|value| **value < limit).count();
                below as f64 / values.len() as f64
            };
            for (limit, expected) in [(0.0, negative), (-100.0, below)] {
                // Four standard deviations of a share of one half are 0.014.
                let found = share(limit);
                assert!(
                    (found - expected).abs() < 0.015,
                    "{text} below {limit}: {found}"
                );
            }
            let written = toml::to_string(&Written { by: by.clone() }).expect(text);
            assert_eq!(toml::from_str(&written), Ok(Written { by }), "{written}");
        }
    }

    /// With X = -E and E exponential with mean 100, P(X > x) = 1 - exp(x / 100).
    #[test]
    fn tail_of_a_mirrored_distribution_is_that_of_its_negative_values() {
        for text in [
            "{ exponential = -100 }",
            "{ mixture = [[1, { exponential = -100 }]] }",
        ] {
            let by = read(text).expect(text);
            for tail in [0.01_f64, 0.25, 0.9] {
                let expected = 100.0 * (1.0 - tail).ln();
                let found = by.0.at_tail_ms(tail);
                assert!((found - expected).abs() < 1e-6, "{text} at {tail}: {found}");
                assert!(
                    (by.0.tail_at(found) - tail).abs() < 1e-9,
                    "{text} at {found}"
                );
            }
        }
    }

    #[test]
    fn a_constant_draws_nothing_and_another_as_much_as_a_duration_does() {
        for (text, draws) in [
            ("-5", 0),
            ("{ uniform = [-3, -1] }", 1),
            ("{ exponential = -3 }", 1),
            ("{ log_normal = { median = -3, sigma = 0.5 } }", 2),
            ("{ values = [-3, -1] }", 1),
        ] {
            let [mut one, mut other] = [(); 2].map(|()| Stream::new(5, "draws"));
            read(text).expect(text).sample(&mut one);
            for _ in 0..draws {
                unit_f64(&mut other);
            }
            let next = [&mut one, &mut other].map(unit_f64);
            assert_eq!(next[0], next[1], "{text}");
        }
    }

    #[test]
    fn what_is_no_distribution_is_refused_with_words() {
        for (text, expected) in [
            ("inf", "a value must be finite, not inf"),
            (
                "{ uniform = [5, -5] }",
                "the lower bound 5 is above the upper bound -5",
            ),
            (
                "{ log_normal = { median = -3, sigma = -1 } }",
                "a median or sigma cannot be negative: -1",
            ),
            (
                "{ quantiles = { p50 = -5, p99 = -1 } }",
                "a quantile must be finite",
            ),
            (
                "{ values = [-1, nan] }",
                "a measured value must be finite: NaN",
            ),
            (
                "{ mixture = [[0.5, -1], [0.4, 2]] }",
                "the weights of a mixture",
            ),
            ("\"fast\"", "expected a number, or one of"),
        ] {
            let found = read(text).expect_err(text);
            assert!(found.contains(expected), "{text}: {found}");
        }
        let duration: Result<Dist, _> = serde::Deserialize::deserialize(toml::Value::Float(-1.0));
        assert!(duration.is_err());
    }
}
