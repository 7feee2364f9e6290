//! Distributions of durations, as written in scenarios and drawn by the simulator.
//!
//! In TOML a distribution is a number, for a constant, or a table with one key:
//! `{ uniform = [1, 5] }`, `{ exponential = 5 }`,
//! `{ log_normal = { median = 3, sigma = 0.5 } }`, `{ quantiles = { p50 = 50, p99 = 300 } }`,
//! `{ mixture = [[0.9, 5], [0.1, { exponential = 50 }]] }`, `{ values = [12, 15.5, 300] }`.

mod form;
mod measured;
mod mixture;
mod quantiles;
mod signed;

use serde::Serialize;

use super::normal::upper_quantile;
use super::random::{Rng, unit_f64};
use super::units::ns_from_fractional_ms;
pub use quantiles::Quantiles;
pub use signed::Signed;

/// A distribution of durations in milliseconds, never negative.
///
/// The same stream gives the same durations on every machine and in every build: the logarithms
/// come from the crate `libm`, not from the machine's math library. That is why the formulas
/// are here and not taken from `rand_distr`, which switches to the machine's library as soon as
/// any crate of the build enables that in `num-traits`.
#[derive(Debug, Clone, PartialEq, Serialize)]
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
    /// By some of its quantiles.
    Quantiles(Quantiles),
    /// One of several, each with its weight.
    Mixture(Vec<(f64, Dist)>),
    /// One of these measured values, in milliseconds; they ascend.
    Values(Vec<f64>),
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
        // The cast saturates: negative values and NaN become 0.
        ns_from_fractional_ms(self.sample_ms(rng)) as u64
    }

    /// Draws a value in milliseconds.
    fn sample_ms(&self, rng: &mut impl Rng) -> f64 {
        match *self {
            Dist::Constant(value) => value,
            Dist::Uniform(low, high) => low + (high - low) * unit_f64(rng),
            Dist::Exponential(mean) => mean * exponential(rng),
            Dist::LogNormal { median, sigma } => median * libm::exp(sigma * normal(rng)),
            Dist::Quantiles(_) | Dist::Mixture(_) | Dist::Values(_) => {
                self.at_tail_ms(1.0 - unit_f64(rng))
            }
        }
    }

    /// The distribution with a mean (of a log-normal one: a median) that is longer by this many
    /// milliseconds. Those that have neither are shifted.
    #[must_use]
    pub fn longer_by_ms(&self, ms: f64) -> Dist {
        self.map(&|value| value + ms)
    }

    /// The distribution of so many times the duration.
    #[must_use]
    pub fn times(&self, factor: f64) -> Dist {
        self.map(&|value| value * factor)
    }

    /// The same form with each of its milliseconds changed.
    fn map(&self, change: &dyn Fn(f64) -> f64) -> Dist {
        match *self {
            Dist::Constant(value) => Dist::Constant(change(value)),
            Dist::Uniform(low, high) => Dist::Uniform(change(low), change(high)),
            Dist::Exponential(mean) => Dist::Exponential(change(mean)),
            Dist::LogNormal { median, sigma } => Dist::LogNormal {
                median: change(median),
                sigma,
            },
            Dist::Quantiles(ref quantiles) => Dist::Quantiles(quantiles.map(change)),
            Dist::Mixture(ref parts) => {
                let changed = |(weight, dist): &(f64, Dist)| (*weight, dist.map(change));
                Dist::Mixture(parts.iter().map(changed).collect())
            }
            Dist::Values(ref values) => {
                Dist::Values(values.iter().map(|value| change(*value)).collect())
            }
        }
    }

    /// The value that is exceeded with this probability, in (0, 1], in milliseconds: the inverse of the
    /// survival function. A constant has only its value.
    ///
    /// If the probability is drawn uniformly, the value has this distribution.
    pub fn at_tail_ms(&self, tail: f64) -> f64 {
        if let Some(mirrored) = self.mirrored() {
            return -mirrored.at_tail_ms((1.0 - tail).max(f64::MIN_POSITIVE));
        }
        match *self {
            Dist::Constant(value) => value,
            Dist::Uniform(low, high) => high - (high - low) * tail,
            Dist::Exponential(mean) => -mean * libm::log(tail),
            // Certainly exceeded is only the lower end, which the quantile cannot name.
            Dist::LogNormal { .. } if tail >= 1.0 => 0.0,
            Dist::LogNormal { median, sigma } => median * libm::exp(sigma * upper_quantile(tail)),
            Dist::Quantiles(ref quantiles) => quantiles.at_tail_ms(tail),
            Dist::Mixture(ref parts) => mixture::at_tail_ms(parts, tail),
            Dist::Values(ref values) => measured::at_tail_ms(values, tail),
        }
    }

    /// The probability that this many milliseconds are exceeded.
    pub fn tail_at(&self, ms: f64) -> f64 {
        if let Some(mirrored) = self.mirrored() {
            return 1.0 - mirrored.tail_at(-ms);
        }
        match *self {
            Dist::Constant(value) => f64::from(u8::from(ms < value)),
            Dist::Uniform(low, high) if low < high => ((high - ms) / (high - low)).clamp(0.0, 1.0),
            Dist::Uniform(low, _) => Dist::Constant(low).tail_at(ms),
            Dist::Mixture(ref parts) => mixture::tail_at(parts, ms),
            Dist::Values(ref values) => measured::tail_at(values, ms),
            _ if ms < 0.0 => 1.0,
            Dist::Exponential(0.0) => 0.0,
            Dist::Exponential(mean) => libm::exp(-ms / mean),
            Dist::LogNormal { median, sigma } if median > 0.0 && sigma > 0.0 => {
                let deviations = libm::log(ms / median) / sigma;
                libm::erfc(deviations / std::f64::consts::SQRT_2) / 2.0
            }
            Dist::LogNormal { median, .. } => Dist::Constant(median).tail_at(ms),
            Dist::Quantiles(ref quantiles) => quantiles.tail_at(ms),
        }
    }

    /// The distribution of which this one has the negative values, if it has only those and its
    /// formulas are of the others.
    fn mirrored(&self) -> Option<Dist> {
        match *self {
            Dist::Exponential(mean) if mean < 0.0 => Some(Dist::Exponential(-mean)),
            Dist::LogNormal { median, sigma } if median < 0.0 => Some(Dist::LogNormal {
                median: -median,
                sigma,
            }),
            _ => None,
        }
    }

    /// [`Dist::at_tail_ms`] in nanoseconds, rounded to the nearest.
    pub fn at_tail_ns(&self, tail: f64) -> u64 {
        // The cast saturates: negative values and NaN become 0.
        ns_from_fractional_ms(self.at_tail_ms(tail)) as u64
    }

    /// The mean of a thousand quantiles: about the mean, and less where few values make up much of it.
    pub fn mean_ms(&self) -> f64 {
        const QUANTILES: u32 = 1000;
        let tails = (0..QUANTILES).map(|nth| (f64::from(nth) + 0.5) / f64::from(QUANTILES));
        tails.map(|tail| self.at_tail_ms(tail)).sum::<f64>() / f64::from(QUANTILES)
    }

    /// The largest value; `None` if there is none.
    pub fn max_ms(&self) -> Option<f64> {
        match *self {
            Dist::Constant(value) | Dist::Uniform(_, value) => Some(value),
            Dist::Exponential(_) | Dist::LogNormal { .. } if self.is_random() => None,
            Dist::Exponential(_) | Dist::LogNormal { .. } => Some(self.at_tail_ms(0.5)),
            Dist::Quantiles(ref quantiles) => quantiles.max,
            Dist::Mixture(ref parts) => {
                let all = parts.iter().map(|(_, it)| it.max_ms());
                all.reduce(|one, other| Some(one?.max(other?)))?
            }
            Dist::Values(ref values) => values.last().copied(),
        }
    }

    /// Whether it has more than one value.
    pub fn is_random(&self) -> bool {
        match *self {
            Dist::Constant(_) => false,
            Dist::Uniform(low, high) => low < high,
            Dist::Exponential(mean) => mean != 0.0,
            Dist::LogNormal { median, sigma } => median != 0.0 && sigma > 0.0,
            Dist::Quantiles(ref quantiles) => quantiles.is_random(),
            Dist::Mixture(ref parts) => {
                parts.len() > 1 || parts.iter().any(|(_, it)| it.is_random())
            }
            Dist::Values(ref values) => values.first() < values.last(),
        }
    }

    /// Whether values far above the common ones are possible, and rare.
    pub fn has_tail(&self) -> bool {
        self.is_random() && !matches!(self, Dist::Uniform(..))
    }

    /// Why this is not a valid distribution of durations, if it is not.
    pub fn problem(&self) -> Option<String> {
        self.problem_of(Sign::Positive)
    }

    /// Why this is not a valid distribution of values with these signs, if it is not.
    fn problem_of(&self, sign: Sign) -> Option<String> {
        let (what, values) = match *self {
            Dist::Constant(value) => (sign.noun(), vec![value]),
            Dist::Uniform(low, high) => ("bound", vec![low, high]),
            Dist::Exponential(mean) => ("mean", vec![mean]),
            Dist::LogNormal { median, .. } => ("median or sigma", vec![median]),
            Dist::Quantiles(ref quantiles) => return quantiles.problem(),
            Dist::Mixture(ref parts) => return mixture::problem(parts, sign),
            Dist::Values(ref values) => return measured::problem(values, sign),
        };
        let sigma = match *self {
            Dist::LogNormal { sigma, .. } => Some(sigma),
            _ => None,
        };
        let all = values.iter().chain(&sigma);
        if let Some(value) = { all }.find(|value| !value.is_finite()) {
            return Some(format!("a {what} must be finite, not {value}"));
        }
        let unsigned = values.iter().filter(|_| sign == Sign::Positive);
        if let Some(value) = { unsigned.chain(&sigma) }.find(|value| **value < 0.0) {
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

/// Which values a distribution may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sign {
    /// Durations: 0 and above.
    Positive,
    /// Amounts: also those below 0.
    Any,
}

impl Sign {
    fn noun(self) -> &'static str {
        match self {
            Sign::Positive => "duration",
            Sign::Any => "value",
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

#[cfg(test)]
mod tests {
    use std::borrow::Borrow;

    use super::super::random::Stream;
    use super::super::units::fractional_ms_from_ns;
    use super::*;

    fn draws(dist: impl Borrow<Dist>) -> Vec<u64> {
        let dist = dist.borrow();
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
            .map(|dist| [draws(&dist)[0], draws(&dist)[1], draws(&dist)[10_000]]);
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
            let (before, after) = (draws(&dist), draws(dist.longer_by_ms(2.0)));
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
        for dist in [
            Dist::Uniform(1.0, 5.0),
            Dist::Exponential(5.0),
            log_normal.clone(),
        ] {
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
            (log_normal.clone(), 0.5, 3.0),
            (log_normal.clone(), 1.0, 0.0),
            (log_normal, 1e-15, 159.060_550_702_401_1),
        ] {
            let found = dist.at_tail_ms(tail);
            assert!(
                (found - expected).abs() <= 1e-9 * expected,
                "{dist:?} {tail}: {found}"
            );
        }
    }

    /// Of each form in TOML: what it is when read, written and read again, and its value at a tail of 0.1.
    #[test]
    fn every_form_survives_being_written_and_read() {
        #[derive(Debug, PartialEq, Serialize, serde::Deserialize)]
        struct Written {
            ms: Dist,
        }
        for (text, at_a_tenth) in [
            ("5", 5.0),
            ("{ uniform = [0, 10] }", 9.0),
            ("{ exponential = 2 }", 4.605_170),
            ("{ quantiles = { p50 = 10, p99 = 490 } }", 49.586_144),
            (
                "{ quantiles = { min = 2, p90 = 7, \"p99.9\" = 9, max = 10 } }",
                7.0,
            ),
            (
                "{ mixture = [[0.5, 1], [0.5, { uniform = [0, 10] }]] }",
                8.0,
            ),
            ("{ values = [8, 1, 3, 2, 4, 5, 6, 7, 9, 10] }", 9.0),
        ] {
            let read: Written = toml::from_str(&format!("ms = {text}")).expect(text);
            let written = toml::to_string(&read).expect(text);
            assert_eq!(toml::from_str(&written).as_ref(), Ok(&read), "{written}");
            let found = read.ms.at_tail_ms(0.1);
            assert!((found - at_a_tenth).abs() < 1e-3, "{text}: {found}");
            let thrice = read.ms.times(3.0).at_tail_ms(0.1);
            assert!((thrice - 3.0 * found).abs() < 1e-9, "{text}: {thrice}");
            let back = read.ms.tail_at(found - 1e-9);
            assert!((0.1 - 1e-6..=1.0).contains(&back), "{text}: {back}");
        }
    }

    #[test]
    fn a_mistake_in_a_form_says_what_to_write() {
        let refused = |text: &str| {
            let read = toml::from_str::<std::collections::BTreeMap<String, Dist>>(text);
            read.expect_err(text).message().to_owned()
        };
        for (text, expected) in [
            (
                "a = { quantiles = { p50 = 1, p99.9 = 5 } }",
                "needs quotes: \"p99.9\" = 300",
            ),
            (
                "a = { quantiles = { p50 = 1, most = 5 } }",
                "\"most\" is no quantile",
            ),
            (
                "a = { quantiles = { p50 = 1 } }",
                "write a second quantile, or max",
            ),
            (
                "a = { mixture = [[0.5, 1], [0.4, 2]] }",
                "add up to 1, not to 0.9",
            ),
            (
                "a = { mixture = [[1, { values = [] }]] }",
                "values need at least one",
            ),
            ("a = { file = \"x\" }", "write { values = […] } here"),
        ] {
            let found = refused(text);
            assert!(found.contains(expected), "{found}");
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
            draws(&dist);
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
