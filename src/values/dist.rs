//! Distributions of durations, as written in scenarios and drawn by the simulator.
//!
//! In TOML a distribution is a number, for a constant, or a table with one key:
//! `{ uniform = [1, 5] }`, `{ exponential = 5 }`,
//! `{ log_normal = { median = 3, sigma = 0.5 } }`.

use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::normal::upper_quantile;
use super::random::{Rng, unit_f64};
use super::units::ns_from_fractional_ms;

/// A distribution of durations in milliseconds, never negative.
///
/// The same stream gives the same durations on every machine and in every build: the logarithms
/// come from the crate `libm`, not from the machine's math library. That is why the formulas
/// are here and not taken from `rand_distr`, which switches to the machine's library as soon as
/// any crate of the build enables that in `num-traits`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Dist {
    /// Every value from the first to the second is equally likely.
    Uniform(f64, f64),
    /// Exponential, by its mean: the pauses between independent events.
    Exponential(f64),
    /// Log-normal: mostly near the median, occasionally far above it, like latencies in a data
    /// centre.
    LogNormal {
        /// Half of all values are below it, in milliseconds.
        median: f64,
        /// The standard deviation of the value's natural logarithm.
        sigma: f64,
    },
    /// Always this value.
    #[serde(untagged)]
    Constant(f64),
}

impl Dist {
    /// Draws a duration, in nanoseconds, rounded to the nearest.
    ///
    /// Always takes the same number of draws from `rng`: none if constant, two if log-normal,
    /// otherwise one. A value that no scenario could have given (negative, not finite) counts
    /// as 0.
    pub fn sample_ns(&self, rng: &mut impl Rng) -> u64 {
        let ms = match *self {
            Dist::Constant(value) => value,
            Dist::Uniform(low, high) => low + (high - low) * unit_f64(rng),
            Dist::Exponential(mean) => mean * exponential(rng),
            Dist::LogNormal { median, sigma } => median * libm::exp(sigma * normal(rng)),
        };
        // The cast saturates: negative values and NaN become 0.
        ns_from_fractional_ms(ms) as u64
    }

    /// The distribution with a mean (of a log-normal one: a median) that is longer by this many
    /// milliseconds. A constant and a uniform one are shifted.
    #[must_use]
    pub fn longer_by_ms(self, ms: f64) -> Dist {
        match self {
            Dist::Constant(value) => Dist::Constant(value + ms),
            Dist::Uniform(low, high) => Dist::Uniform(low + ms, high + ms),
            Dist::Exponential(mean) => Dist::Exponential(mean + ms),
            Dist::LogNormal { median, sigma } => Dist::LogNormal {
                median: median + ms,
                sigma,
            },
        }
    }

    /// The value that is exceeded with this probability, in (0, 1], in milliseconds: the inverse of the
    /// survival function. A constant has only its value.
    ///
    /// If the probability is drawn uniformly, the value has this distribution.
    pub fn at_tail_ms(&self, tail: f64) -> f64 {
        match *self {
            Dist::Constant(value) => value,
            Dist::Uniform(low, high) => high - (high - low) * tail,
            Dist::Exponential(mean) => -mean * libm::log(tail),
            // Certainly exceeded is only the lower end, which the quantile cannot name.
            Dist::LogNormal { .. } if tail >= 1.0 => 0.0,
            Dist::LogNormal { median, sigma } => median * libm::exp(sigma * upper_quantile(tail)),
        }
    }

    /// [`Dist::at_tail_ms`] in nanoseconds, rounded to the nearest.
    pub fn at_tail_ns(&self, tail: f64) -> u64 {
        // The cast saturates: negative values and NaN become 0.
        ns_from_fractional_ms(self.at_tail_ms(tail)) as u64
    }

    /// Whether it has more than one value.
    pub fn is_random(&self) -> bool {
        match *self {
            Dist::Constant(_) => false,
            Dist::Uniform(low, high) => low < high,
            Dist::Exponential(mean) => mean > 0.0,
            Dist::LogNormal { median, sigma } => median > 0.0 && sigma > 0.0,
        }
    }

    /// Whether values far above the common ones are possible, and rare.
    pub fn has_tail(&self) -> bool {
        self.is_random() && !matches!(self, Dist::Uniform(..))
    }

    /// Why this is not a valid distribution of durations, if it is not.
    pub fn problem(&self) -> Option<String> {
        let (what, values) = match *self {
            Dist::Constant(value) => ("duration", vec![value]),
            Dist::Uniform(low, high) => ("bound", vec![low, high]),
            Dist::Exponential(mean) => ("mean", vec![mean]),
            Dist::LogNormal { median, sigma } => ("median or sigma", vec![median, sigma]),
        };
        if let Some(value) = values.iter().find(|value| !value.is_finite()) {
            return Some(format!("a {what} must be finite, not {value}"));
        }
        if let Some(value) = values.iter().find(|value| **value < 0.0) {
            return Some(format!("a {what} cannot be negative: {value}"));
        }
        match *self {
            Dist::Uniform(low, high) if low > high => Some(format!(
                "the lower bound {low} is above the upper bound {high}"
            )),
            _ => None,
        }
    }
}

/// Exponential with mean 1, by inversion.
fn exponential(rng: &mut impl Rng) -> f64 {
    // One minus a number below one is positive, so the logarithm is finite.
    -libm::log(1.0 - unit_f64(rng))
}

/// Normal with mean 0 and deviation 1, by Box and Muller; their second number is discarded.
fn normal(rng: &mut impl Rng) -> f64 {
    let radius = libm::sqrt(2.0 * exponential(rng));
    radius * libm::cos(std::f64::consts::TAU * unit_f64(rng))
}

impl Default for Dist {
    /// Zero.
    fn default() -> Self {
        Dist::Constant(0.0)
    }
}

impl<'de> Deserialize<'de> for Dist {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let dist = deserializer.deserialize_any(DistVisitor)?;
        match dist.problem() {
            None => Ok(dist),
            Some(problem) => Err(D::Error::custom(problem)),
        }
    }
}

/// Reads a number as a constant, and a table as [`Table`].
struct DistVisitor;

impl<'de> Visitor<'de> for DistVisitor {
    type Value = Dist;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(
            "milliseconds as a number, or one of { uniform = [low, high] }, \
             { exponential = mean }, { log_normal = { median = …, sigma = … } }",
        )
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Dist, E> {
        Ok(Dist::Constant(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Dist, E> {
        Ok(Dist::Constant(value as f64))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Dist, E> {
        Ok(Dist::Constant(value as f64))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Dist, A::Error> {
        Table::deserialize(MapAccessDeserializer::new(map)).map(|table| match table {
            Table::Uniform([low, high]) => Dist::Uniform(low, high),
            Table::Exponential(mean) => Dist::Exponential(mean),
            Table::LogNormal { median, sigma } => Dist::LogNormal { median, sigma },
        })
    }
}

/// The distributions written as a table with one key.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Table {
    Uniform([f64; 2]),
    Exponential(f64),
    LogNormal { median: f64, sigma: f64 },
}

#[cfg(test)]
mod tests {
    use super::super::random::Stream;
    use super::super::units::fractional_ms_from_ns;
    use super::*;

    fn draws(dist: Dist) -> Vec<u64> {
        let mut stream = Stream::new(1, "dist");
        (0..10_001).map(|_| dist.sample_ns(&mut stream)).collect()
    }

    /// Computed by a second implementation: the first, second and 10 001st draw.
    #[test]
    fn a_stream_gives_the_same_durations_everywhere() {
        let log_normal = Dist::LogNormal {
            median: 3.0,
            sigma: 0.5,
        };
        let first = [Dist::Uniform(1.0, 5.0), Dist::Exponential(5.0), log_normal]
            .map(|dist| [draws(dist)[0], draws(dist)[1], draws(dist)[10_000]]);
        assert_eq!(
            first,
            [
                [1_632_431, 2_944_004, 2_554_726],
                [860_516, 3_327_671, 2_460_686],
                [2_239_832, 2_026_069, 6_092_661],
            ]
        );
    }

    #[test]
    fn a_longer_distribution_has_a_longer_mean() {
        for dist in [
            Dist::Constant(3.0),
            Dist::Uniform(1.0, 5.0),
            Dist::Exponential(3.0),
            Dist::LogNormal {
                median: 3.0,
                sigma: 0.01,
            },
        ] {
            let (before, after) = (draws(dist), draws(dist.longer_by_ms(2.0)));
            let longer = mean_ms(&after) - mean_ms(&before);
            assert!((1.9..2.1).contains(&longer), "{dist:?}: {longer}");
        }
    }

    #[test]
    fn value_at_a_tail_is_exceeded_with_that_probability() {
        let log_normal = Dist::LogNormal {
            median: 3.0,
            sigma: 0.5,
        };
        let mut stream = Stream::new(2, "tail");
        for dist in [Dist::Uniform(1.0, 5.0), Dist::Exponential(5.0), log_normal] {
            for tail in [0.9, 0.5, 0.1] {
                let above = |_: &u32| dist.sample_ns(&mut stream) > dist.at_tail_ns(tail);
                let above = (0..10_000).filter(above).count();
                // Four standard deviations of a count with probability 1/2 are 200.
                let expected = 10_000.0 * tail;
                assert!(
                    (above as f64 - expected).abs() < 200.0,
                    "{dist:?} {tail}: {above}"
                );
            }
        }
        // By survival functions of another implementation.
        for (dist, tail, expected) in [
            (Dist::Constant(2.5), 1e-9, 2.5),
            (Dist::Uniform(1.0, 5.0), 1e-3, 4.996),
            (Dist::Exponential(5.0), 1e-12, 138.155_105_579_642_74),
            (Dist::Exponential(5.0), 1.0, 0.0),
            (log_normal, 0.5, 3.0),
            (log_normal, 1.0, 0.0),
            (log_normal, 1e-15, 159.060_550_702_401_1),
        ] {
            let found = dist.at_tail_ms(tail);
            assert!(
                (found - expected).abs() <= 1e-9 * expected,
                "{dist:?} {tail}: {found}"
            );
        }
    }

    #[test]
    fn each_distribution_has_its_shape() {
        assert!(draws(Dist::Constant(1.5)).iter().all(|&ns| ns == 1_500_000));

        let uniform = draws(Dist::Uniform(1.0, 5.0));
        assert!(
            uniform
                .iter()
                .all(|ns| (1_000_000..=5_000_000).contains(ns))
        );
        assert!(mean_ms(&uniform) > 2.9 && mean_ms(&uniform) < 3.1);

        // The mean of 10 001 draws is off by more than four standard errors (0.2 ms)
        // once in 16 000 streams; this stream is fixed.
        let exponential = draws(Dist::Exponential(5.0));
        assert!((mean_ms(&exponential) - 5.0).abs() < 0.2);

        let mut log_normal = draws(Dist::LogNormal {
            median: 3.0,
            sigma: 0.5,
        });
        log_normal.sort_unstable();
        assert!((fractional_ms_from_ns(log_normal[5000]) - 3.0).abs() < 0.1);
    }

    #[test]
    fn impossible_distributions_are_named_and_drawn_without_panic() {
        for (dist, problem) in [
            (Dist::Constant(-1.0), "a duration cannot be negative: -1"),
            (
                Dist::Exponential(f64::INFINITY),
                "a mean must be finite, not inf",
            ),
            (
                Dist::Uniform(5.0, 1.0),
                "the lower bound 5 is above the upper bound 1",
            ),
        ] {
            assert_eq!(dist.problem().as_deref(), Some(problem));
            draws(dist);
        }
        assert_eq!(draws(Dist::Constant(-1.0))[0], 0);
        assert_eq!(Dist::Uniform(1.0, 1.0).problem(), None);
    }

    fn mean_ms(values: &[u64]) -> f64 {
        values
            .iter()
            .map(|&ns| fractional_ms_from_ns(ns))
            .sum::<f64>()
            / values.len() as f64
    }
}
