//! Rates of violations, and how far they can be trusted.
//!
//! A rate from N runs is printed with its 95 % Wilson score interval, and a rate of 0
//! with the upper bound of that: "never seen" in a hundred runs is not "never".

/// The 97.5 % quantile of the normal distribution: 95 % lie within ± this.
const Z: f64 = 1.959_963_984_540_054;

/// Between which rates the true one lies, at 95 % confidence. Both are from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The lower bound.
    pub low: f64,
    /// The upper bound.
    pub high: f64,
}

/// The Wilson score interval of `successes` among `trials`: E. B. Wilson, "Probable
/// inference, the law of succession, and statistical inference", JASA 22 (1927).
///
/// Unlike the textbook interval it is sound for rates near 0 and 1, of which this
/// laboratory is full. Without trials nothing is known: 0 to 1. More successes than
/// trials count as all of them.
pub fn wilson(successes: u64, trials: u64) -> Interval {
    if trials == 0 {
        return Interval {
            low: 0.0,
            high: 1.0,
        };
    }
    let successes = successes.min(trials);
    let n = trials as f64;
    let rate = successes as f64 / n;
    let square = Z * Z;
    let centre = rate + square / (2.0 * n);
    let margin = Z * (rate * (1.0 - rate) / n + square / (4.0 * n * n)).sqrt();
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

/// Where the mean of a quantity between 0 and 1 lies, from so many measurements of which
/// the sum and the sum of squares are known: the mean ± 1.96 standard errors, which is
/// good for some tens of measurements. With fewer than two nothing is known: 0 to 1.
pub fn of_mean(count: u64, sum: f64, squares: f64) -> Interval {
    if count < 2 {
        return wilson(0, 0);
    }
    let n = count as f64;
    let mean = sum / n;
    // Rounding may put it below 0.
    let variance = ((squares - n * mean * mean) / (n - 1.0)).max(0.0);
    let margin = Z * (variance / n).sqrt();
    Interval {
        low: (mean - margin).max(0.0),
        high: (mean + margin).min(1.0),
    }
}

/// A rate for a person to read: `37.2 % (34.3–40.2 %), 372 of 1,000`, or at the ends
/// `0 of 1,000 (at most 0.38 %)` and `1,000 of 1,000 (at least 99.62 %)`.
///
/// Rates within a percent of 0 or 100 % have as many decimals as they need to differ
/// from it.
pub fn rate(successes: u64, trials: u64) -> String {
    if trials == 0 {
        return "no runs".into();
    }
    let successes = successes.min(trials);
    let Interval { low, high } = wilson(successes, trials);
    let count = format!("{} of {}", thousands(successes), thousands(trials));
    if successes == 0 {
        return format!("{count} (at most {} %)", percent(high, decimals(high)));
    }
    if successes == trials {
        return format!("{count} (at least {} %)", percent(low, decimals(low)));
    }
    let rate = successes as f64 / trials as f64;
    let decimals = decimals(rate);
    let [rate, low, high] = [rate, low, high].map(|rate| percent(rate, decimals));
    format!("{rate} % ({low}–{high} %), {count}")
}

/// A count with its thousands separated by commas: `1,234,567`.
pub fn thousands(count: u64) -> String {
    let digits = count.to_string();
    let mut separated = String::with_capacity(digits.len() * 4 / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            separated.push(',');
        }
        separated.push(digit);
    }
    separated
}

fn percent(rate: f64, decimals: usize) -> String {
    format!("{:.decimals$}", rate * 100.0)
}

/// One decimal, and one more for each power of ten that the rate is closer than 1 % to
/// 0 or to 100 %.
fn decimals(rate: f64) -> usize {
    let distance = rate.min(1.0 - rate);
    // Nineteen digits are all that a count has.
    (1..19)
        .find(|&decimals| distance * 10_f64.powi(decimals + 1) >= 1.0)
        .unwrap_or(19) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    /// To as many decimals as were published.
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
    fn intervals_are_those_that_newcombe_published() {
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
        assert_eq!(
            wilson(0, 0),
            Interval {
                low: 0.0,
                high: 1.0
            }
        );
        assert_eq!(wilson(9, 3), wilson(3, 3));
        assert_eq!(rate(9, 3), rate(3, 3));
    }

    #[test]
    fn rates_read_well() {
        for (successes, trials, expected) in [
            (372, 1_000, "37.2 % (34.3–40.2 %), 372 of 1,000"),
            (0, 1_000, "0 of 1,000 (at most 0.38 %)"),
            (1_000, 1_000, "1,000 of 1,000 (at least 99.62 %)"),
            (1_126, 1_998, "56.4 % (54.2–58.5 %), 1,126 of 1,998"),
            (3, 1_000, "0.30 % (0.10–0.88 %), 3 of 1,000"),
            (
                1,
                1_000_000,
                "0.00010 % (0.00002–0.00057 %), 1 of 1,000,000",
            ),
            (0, 10_000_000, "0 of 10,000,000 (at most 0.000038 %)"),
            (0, 1, "0 of 1 (at most 79.3 %)"),
            (0, 0, "no runs"),
        ] {
            assert_eq!(rate(successes, trials), expected);
        }
    }

    #[test]
    fn thousands_are_separated() {
        for (count, expected) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1,000"),
            (123_456, "123,456"),
            (u64::MAX, "18,446,744,073,709,551,615"),
        ] {
            assert_eq!(thousands(count), expected);
        }
    }
}
