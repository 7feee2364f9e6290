//! Confidence intervals, at 95 % unless a [`Level`] is given.

use std::ops::RangeInclusive;

use locklab_values::normal::upper_quantile;
use serde::Serialize;

use super::words::{decimals, percent};

/// The 97.5 % quantile of the normal distribution: 95 % lie within ± this.
const Z: f64 = 1.959_963_984_540_054;

/// The 99.95 % quantile: 99.9 % lie within ± this.
const Z_STRICT: f64 = 3.290_526_731_491_896;

/// The probability that an interval at 95 % misses the true value.
const MISSES: f64 = 0.05;

/// How sure an interval is: the share of such intervals that contain the true value.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(into = "f64")]
pub struct Level {
    /// The probability that the interval misses.
    misses: f64,
    /// The interval ends where a standard normal variable would be this far from its mean.
    z: f64,
}

impl Level {
    /// 95 %, for an interval by itself.
    pub const SINGLE: Level = Level {
        misses: MISSES,
        z: Z,
    };

    /// So sure that this many intervals all contain their true values with 95 %, however they depend on
    /// each other: the probability to miss is divided among them (Bonferroni).
    pub fn joint(intervals: usize) -> Level {
        let misses = MISSES / intervals.max(1) as f64;
        Level {
            misses,
            z: upper_quantile(misses / 2.0).max(Z),
        }
    }

    /// The quantile of the normal distribution that belongs to it.
    pub(super) fn z(self) -> f64 {
        self.z
    }
}

impl From<Level> for f64 {
    fn from(level: Level) -> f64 {
        1.0 - level.misses
    }
}

/// As a percentage: `95 %`, `99.989 %`.
impl std::fmt::Display for Level {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let decimals = decimals(2.0 * self.misses);
        write!(formatter, "{} %", percent(1.0 - self.misses, decimals))
    }
}

/// The bounds of the true value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The lower bound.
    pub low: f64,
    /// The upper bound.
    pub high: f64,
}

impl Interval {
    /// The interval of a share without any trial: 0 to 1.
    const OF_A_SHARE: Interval = Interval {
        low: 0.0,
        high: 1.0,
    };

    /// The distance between the bounds.
    pub fn width(&self) -> f64 {
        self.high - self.low
    }

    /// Whether the interval and the range overlap.
    pub fn overlaps(&self, range: &RangeInclusive<f64>) -> bool {
        self.low <= *range.end() && *range.start() <= self.high
    }
}

/// The 95 % Wilson score interval of `successes` among `trials`: E. B. Wilson, "Probable
/// inference, the law of succession, and statistical inference", JASA 22 (1927).
/// Unlike the textbook interval it is sound for rates near 0 and 1, which are common in this
/// laboratory. Without trials the interval is 0 to 1. More successes than trials count as all
/// trials.
pub fn wilson(successes: u64, trials: u64) -> Interval {
    score(successes, trials, Z)
}

/// The same at 99.9 % confidence: a value outside is refuted, even though hundreds of rates are
/// judged together.
pub(super) fn strict(successes: u64, trials: u64) -> Interval {
    score(successes, trials, Z_STRICT)
}

/// The Wilson score interval that ends `z` standard errors away.
pub(super) fn score(successes: u64, trials: u64, z: f64) -> Interval {
    if trials == 0 {
        return Interval::OF_A_SHARE;
    }
    let successes = successes.min(trials);
    let n = trials as f64;
    let rate = successes as f64 / n;
    let square = z * z;
    let centre = rate + square / (2.0 * n);
    let margin = z * (rate * (1.0 - rate) / n + square / (4.0 * n * n)).sqrt();
    let scale = 1.0 + square / n;
    // At the ends the bound is exact; rounding must not move it off.
    Interval {
        low: if successes == 0 {
            0.0
        } else {
            (centre - margin) / scale
        },
        high: if successes == trials {
            1.0
        } else {
            (centre + margin) / scale
        },
    }
}

/// The interval for the mean of a quantity between 0 and 1, from the number of measurements, their
/// sum and their sum of squares: the mean ± 1.96 standard errors, which is accurate from some tens
/// of measurements on. With fewer than two measurements it is 0 to 1.
pub fn of_mean(count: u64, sum: f64, squares: f64) -> Interval {
    of_quantity(count, sum, squares).map_or(Interval::OF_A_SHARE, |interval| Interval {
        high: interval.high.min(1.0),
        ..interval
    })
}

/// The same for a quantity that is at least 0; `None` with fewer than two measurements.
pub fn of_quantity(count: u64, sum: f64, squares: f64) -> Option<Interval> {
    if count < 2 {
        return None;
    }
    let n = count as f64;
    let mean = sum / n;
    // Rounding may make it negative.
    let variance = ((squares - n * mean * mean) / (n - 1.0)).max(0.0);
    let margin = Z * (variance / n).sqrt();
    Some(Interval {
        low: (mean - margin).max(0.0),
        high: mean + margin,
    })
}

/// How often [`bootstrap`] draws: its bounds are then the sixth value from either end.
const RESAMPLES: usize = 200;

/// The interval for a quantity that is measured over `runs` runs together: the percentile
/// bootstrap (B. Efron, "Bootstrap methods: another look at the jackknife", 1979). It
/// repeatedly draws as many runs with replacement, and measures each sample; a run stays whole,
/// because its events are correlated. `below(n)` draws a number below n. `None` for fewer than
/// two runs, or where a sample has nothing to measure.
pub fn bootstrap(
    runs: usize,
    mut below: impl FnMut(u64) -> u64,
    mut measure: impl FnMut(&[usize]) -> Option<f64>,
) -> Option<Interval> {
    if runs < 2 {
        return None;
    }
    let mut draw = || below(runs as u64) as usize;
    let mut drawn = vec![0; runs];
    let mut values = Vec::with_capacity(RESAMPLES);
    for _ in 0..RESAMPLES {
        drawn.fill_with(&mut draw);
        values.push(measure(&drawn)?);
    }
    values.sort_unstable_by(f64::total_cmp);
    let tail = RESAMPLES / 40;
    Some(Interval {
        low: values[tail],
        high: values[RESAMPLES - 1 - tail],
    })
}

#[cfg(test)]
mod tests {
    use rand_xoshiro::SplitMix64;
    use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};

    use super::*;

    /// Compares to as many decimals as were published.
    #[track_caller]
    fn check(successes: u64, trials: u64, low: f64, high: f64, decimals: i32) {
        let interval = wilson(successes, trials);
        let tolerance = 0.5 * 10_f64.powi(-decimals) + 1e-12;
        let close = |a: f64, b: f64| (a - b).abs() <= tolerance;
        assert!(
            close(interval.low, low) && close(interval.high, high),
            "{successes} of {trials}: {interval:?}"
        );
    }

    /// R. G. Newcombe, "Two-sided confidence intervals for the single proportion",
    /// Statistics in Medicine 17 (1998), table I, method 3.
    #[test]
    fn intervals_match_those_published_by_newcombe() {
        check(81, 263, 0.2553, 0.3662, 4);
        check(15, 148, 0.0624, 0.1605, 4);
        check(0, 20, 0.0, 0.1611, 4);
        check(1, 29, 0.0061, 0.1718, 4);
    }

    /// With no successes the upper bound is z² / (n + z²).
    #[test]
    fn none_of_n_has_the_upper_bound_of_the_closed_form() {
        for trials in [1, 10, 1_000, 1_000_000] {
            let expected = Z * Z / (trials as f64 + Z * Z);
            check(0, trials, 0.0, expected, 12);
            check(trials, trials, 1.0 - expected, 1.0, 12);
        }
    }

    #[test]
    fn impossible_counts_give_a_sound_interval() {
        assert_eq!(wilson(0, 0), Interval::OF_A_SHARE);
        assert_eq!(wilson(9, 3), wilson(3, 3));
    }

    /// By another implementation: `statistics.NormalDist().inv_cdf(1 - 0.05 / (2 * n))` of Python.
    #[test]
    fn many_intervals_together_are_as_sure_as_one() {
        for (intervals, z, text) in [
            (0, 1.959_964, "95 %"),
            (1, 1.959_964, "95 %"),
            (3, 2.393_980, "98.3 %"),
            (469, 3.875_034, "99.989 %"),
        ] {
            let level = Level::joint(intervals);
            assert!((level.z() - z).abs() < 1e-6, "{intervals}: {}", level.z());
            assert_eq!(level.to_string(), text);
        }
        assert_eq!(Level::joint(1), Level::SINGLE);
    }

    #[test]
    fn the_strict_interval_is_the_wider_one() {
        for (successes, trials) in [(0, 10), (5, 10), (10, 10), (40, 1_000)] {
            let (usual, strict) = (wilson(successes, trials), strict(successes, trials));
            assert!(strict.low <= usual.low && usual.high <= strict.high);
            assert!(usual.width() < strict.width());
        }
    }

    /// The numbers 0, 1/4, 1/2, 3/4 and 1 have the mean 1/2 and the variance 5/32.
    #[test]
    fn the_interval_of_a_mean_is_196_standard_errors_each_way() {
        let near = |one: f64, other: f64| (one - other).abs() < 1e-4;
        let margin = 1.96 * (5.0_f64 / 32.0 / 5.0).sqrt();
        let interval = of_mean(5, 2.5, 1.875);
        assert!(near(interval.low, 0.5 - margin), "{interval:?}");
        assert!(
            (interval.high - (0.5 + margin)).abs() < 1e-4,
            "{interval:?}"
        );
        // Two values, 0 and 1: wider than there is room.
        assert_eq!(of_mean(2, 1.0, 1.0), Interval::OF_A_SHARE);
        // Two that are alike: no width, also where rounding goes below 0.
        let interval = of_mean(2, 1.4, 0.98);
        assert!(near(interval.low, 0.7) && near(interval.high, 0.7));
        for count in [0, 1] {
            assert_eq!(of_mean(count, 0.5, 0.25), Interval::OF_A_SHARE);
        }
    }

    /// Each draw measures as its number: of 0 to 199, five lie below the lower bound, and five
    /// above the upper one.
    #[test]
    fn the_bootstrap_leaves_a_fortieth_out_at_either_end() {
        let mut number = -1.0;
        let numbered = |_: &[usize]| {
            number += 1.0;
            Some(number)
        };
        let interval = bootstrap(2, |_| 0, numbered);
        let (low, high) = (5.0, 194.0);
        assert_eq!(interval, Some(Interval { low, high }));
    }

    /// For the mean of n values between 0 and 1 the standard error is known, and the bootstrap
    /// approximates it.
    #[test]
    fn bootstrap_interval_of_a_mean_matches_its_standard_error() {
        let mut random = SplitMix64::seed_from_u64(1);
        let mut below = move |n: u64| random.next_u64() % n;
        let values: Vec<f64> = (0..400).map(|place| f64::from(place % 20) / 19.0).collect();
        let mean = |drawn: &[usize]| {
            let sum: f64 = drawn.iter().map(|place| values[*place]).sum();
            Some(sum / drawn.len() as f64)
        };
        let interval = bootstrap(values.len(), &mut below, mean).expect("it can be measured");
        let deviation = (values.iter().map(|v| (v - 0.5).powi(2)).sum::<f64>() / 400.0).sqrt();
        let expected = 2.0 * Z * deviation / 400_f64.sqrt();
        assert!(interval.low < 0.5 && 0.5 < interval.high, "{interval:?}");
        let ratio = interval.width() / expected;
        assert!((0.8..1.25).contains(&ratio), "{interval:?}, {expected}");
        assert_eq!(bootstrap(1, &mut below, mean), None);
        assert!(bootstrap(2, &mut below, mean).is_some());
        assert_eq!(bootstrap(9, &mut below, |_| None), None);
    }
}
