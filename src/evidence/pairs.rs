//! How far two rates may be apart: intervals of their difference, and tests of their equality, for
//! runs in pairs and for two separate samples.

use serde::{Deserialize, Serialize};

use super::interval::score;
use super::{Interval, Level, Rate};

/// How often the bounds are halved: more than the bits of a number.
const HALVINGS: u32 = 60;

/// Runs of two kinds in pairs that share what can be shared, by whether each violated a property.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pairs {
    /// Both violated it.
    pub both: u64,
    /// Only the first did.
    pub only_first: u64,
    /// Only the second did.
    pub only_second: u64,
    /// Neither did.
    pub neither: u64,
}

impl Pairs {
    /// Adds a pair.
    pub fn add(&mut self, first: bool, second: bool) {
        *match (first, second) {
            (true, true) => &mut self.both,
            (true, false) => &mut self.only_first,
            (false, true) => &mut self.only_second,
            (false, false) => &mut self.neither,
        } += 1;
    }

    /// All pairs.
    pub fn count(&self) -> u64 {
        self.both + self.only_first + self.only_second + self.neither
    }

    /// The pairs whose runs have different outcomes.
    pub fn discordant(&self) -> u64 {
        self.only_first + self.only_second
    }

    /// The two-sided p-value of McNemar's exact test of equal rates: given the number of
    /// discordant pairs, each falls on either side with probability one half. (Q. McNemar, "Note on
    /// the sampling error of the difference between correlated proportions", Psychometrika 12,
    /// 1947; the exact conditional form.)
    pub fn same_rate(&self) -> f64 {
        let more = self.only_first.max(self.only_second);
        (2.0 * heads(more, self.discordant())).min(1.0)
    }

    /// The interval of the second rate minus the first, from -1 to 1: T. Tango, "Equivalence
    /// test and confidence interval for the difference in proportions for the paired-sample
    /// design", Statistics in Medicine 17 (1998). It is sound without any discordant pair, where
    /// its bounds are ± z² / (n + z²). -1 to 1 without pairs.
    pub fn difference(&self, level: Level) -> Interval {
        let z = level.z();
        let n = self.count() as f64;
        if n == 0.0 {
            return WHOLE;
        }
        let (gained, lost) = (self.only_second as f64, self.only_first as f64);
        let score = |difference: f64| {
            // The share of pairs that only the first violates, most likely with this difference.
            let a = 2.0 * n;
            let b = (2.0 * n - gained + lost) * difference - gained - lost;
            let c = -lost * difference * (1.0 - difference);
            let share = ((b * b - 4.0 * a * c).max(0.0).sqrt() - b) / (2.0 * a);
            let variance = n * (2.0 * share + difference * (1.0 - difference));
            let excess = gained - lost - n * difference;
            match variance > 0.0 {
                true => excess / variance.sqrt(),
                false if excess == 0.0 => 0.0,
                false => f64::INFINITY.copysign(excess),
            }
        };
        let observed = (gained - lost) / n;
        Interval {
            low: boundary(-1.0, observed, |difference| score(difference) > z),
            high: boundary(1.0, observed, |difference| score(difference) < -z),
        }
    }
}

/// The probability of at least so many heads among these throws of a coin: the p-value of the sign
/// test that this is no more than half of them.
pub fn heads(least: u64, throws: u64) -> f64 {
    let mut exactly = 0.5_f64.powf(throws as f64);
    let mut tail = 0.0;
    // From all heads downwards.
    for tails in 0..=throws.saturating_sub(least) {
        tail += exactly;
        exactly *= (throws - tails) as f64 / (tails + 1) as f64;
    }
    tail.min(1.0)
}

/// Two rates may be any distance apart.
const WHOLE: Interval = Interval {
    low: -1.0,
    high: 1.0,
};

/// Where, between a value that is excluded or the last possible one and a value that is not
/// excluded, the excluded ones begin.
fn boundary(mut outside: f64, mut inside: f64, is_excluded: impl Fn(f64) -> bool) -> f64 {
    if !is_excluded(outside) {
        return outside;
    }
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(outside, inside);
        *match is_excluded(middle) {
            true => &mut outside,
            false => &mut inside,
        } = middle;
    }
    inside
}

/// The interval of the second rate minus the first, of two samples that share nothing:
/// R. G. Newcombe, "Interval estimation for the difference between independent proportions",
/// Statistics in Medicine 17 (1998), method 10, which joins two Wilson intervals. -1 to 1 if one of
/// them has no runs.
pub fn difference(first: Rate, second: Rate, level: Level) -> Interval {
    let (Some(one), Some(two)) = (first.share(), second.share()) else {
        return WHOLE;
    };
    let of_one = score(first.violated, first.runs, level.z());
    let of_two = score(second.violated, second.runs, level.z());
    Interval {
        low: two - one - (two - of_two.low).hypot(of_one.high - one),
        high: two - one + (of_two.high - two).hypot(one - of_one.low),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The 97.5 % quantile of the normal distribution.
    const Z: f64 = 1.959_963_984_540_054;

    fn pairs([both, only_first, only_second, neither]: [u64; 4]) -> Pairs {
        Pairs {
            both,
            only_first,
            only_second,
            neither,
        }
    }

    #[track_caller]
    fn check(interval: Interval, low: f64, high: f64, digits: i32) {
        let tolerance = 0.5 * 10_f64.powi(-digits) + 1e-12;
        let is_close = (interval.low - low).abs() < tolerance;
        assert!(
            is_close && (interval.high - high).abs() < tolerance,
            "{interval:?}"
        );
    }

    /// Airway hyper-responsiveness before and after stem cell transplantation, the example of
    /// M. W. Fagerland, S. Lydersen and P. Laake, "Recommended tests and confidence intervals for
    /// paired binomial proportions", Statistics in Medicine 33 (2014).
    #[test]
    fn paired_results_match_those_published() {
        let airways = pairs([1, 7, 1, 12]);
        check(airways.difference(Level::SINGLE), -0.517, -0.026, 3);
        assert!((airways.same_rate() - 0.0703).abs() < 5e-5);
        let mirrored = pairs([1, 1, 7, 12]);
        check(mirrored.difference(Level::SINGLE), 0.026, 0.517, 3);
        assert_eq!(mirrored.same_rate(), airways.same_rate());
    }

    #[test]
    fn pairs_that_all_agree_leave_room_for_the_closed_form() {
        for count in [1, 20, 60, 1_000] {
            let bound = Z * Z / (count as f64 + Z * Z);
            check(
                pairs([0, 0, 0, count]).difference(Level::SINGLE),
                -bound,
                bound,
                9,
            );
            check(
                pairs([count, 0, 0, 0]).difference(Level::SINGLE),
                -bound,
                bound,
                9,
            );
        }
        let sixty = pairs([30, 0, 0, 30]).difference(Level::SINGLE);
        check(sixty, -0.060, 0.060, 3);
    }

    #[test]
    fn nothing_is_known_without_pairs() {
        assert_eq!(pairs([0; 4]).difference(Level::SINGLE), WHOLE);
        assert_eq!(pairs([0; 4]).same_rate(), 1.0);
        assert_eq!(pairs([9, 0, 0, 9]).same_rate(), 1.0);
    }

    #[test]
    fn the_sign_test_counts_the_throws() {
        for (least, throws, expected) in [
            (0, 0, 1.0),
            (0, 5, 1.0),
            (5, 5, 1.0 / 32.0),
            (4, 5, 6.0 / 32.0),
            (3, 4, 5.0 / 16.0),
        ] {
            assert_eq!(heads(least, throws), expected, "{least} of {throws}");
        }
    }

    #[test]
    fn pairs_that_all_disagree_are_far_apart() {
        let far = pairs([0, 0, 20, 0]);
        assert_eq!(far.difference(Level::SINGLE).high, 1.0);
        // As many heads of 20 throws: the Wilson bound of their share, doubled, less one.
        let bound = (20.0 - Z * Z) / (20.0 + Z * Z);
        check(far.difference(Level::SINGLE), bound, 1.0, 9);
        assert_eq!(far.same_rate(), 2.0 * 0.5_f64.powi(20));
    }

    /// However the outcomes of a pair hang together, the interval contains the true difference in
    /// about 95 of 100 samples: all samples of 12 pairs, by their exact probability.
    #[test]
    fn the_paired_interval_covers_the_truth() {
        for shares in [
            [0.3, 0.1, 0.2, 0.4],
            [0.25, 0.25, 0.25, 0.25],
            [0.0, 0.05, 0.05, 0.9],
            [0.5, 0.0, 0.3, 0.2],
        ] {
            let truth = shares[2] - shares[1];
            let mut covered = 0.0;
            for both in 0..=12_u64 {
                for first in 0..=12 - both {
                    for second in 0..=12 - both - first {
                        let counts = [both, first, second, 12 - both - first - second];
                        let Interval { low, high } = pairs(counts).difference(Level::SINGLE);
                        if (low..=high).contains(&truth) {
                            covered += probability(counts, shares);
                        }
                    }
                }
            }
            assert!(covered > 0.93, "{shares:?}: {covered}");
        }
    }

    /// The multinomial probability.
    fn probability(counts: [u64; 4], shares: [f64; 4]) -> f64 {
        let mut probability = 1.0;
        let mut drawn = 0.0;
        for (count, share) in counts.into_iter().zip(shares) {
            for k in 1..=count {
                drawn += 1.0;
                probability *= share * drawn / k as f64;
            }
        }
        probability
    }

    /// R. G. Newcombe, the paper cited above, table II, method 10.
    #[test]
    fn unpaired_results_match_those_published() {
        let of = |(one, runs_one), (two, runs_two)| {
            let rate = |violated, runs| Rate { violated, runs };
            difference(rate(two, runs_two), rate(one, runs_one), Level::SINGLE)
        };
        check(of((56, 70), (48, 80)), 0.0524, 0.3339, 4);
        check(of((9, 10), (3, 10)), 0.1705, 0.8090, 4);
        check(of((5, 56), (0, 29)), -0.0381, 0.1926, 4);
        assert_eq!(of((0, 0), (1, 2)), WHOLE);
    }
}
