//! Statistics of rates: plain functions over counts.

/// The normal quantile of a two-sided 95 % interval.
const Z: f64 = 1.959_963_984_540_054;

/// An interval of a rate, both ends in `0..=1`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// The 95 % score interval of a rate (Wilson 1927): of `trials` runs `successes`
/// showed the thing counted. Without trials nothing is known: `0..=1`.
pub fn wilson(successes: u64, trials: u64) -> Interval {
    if trials == 0 {
        return Interval {
            low: 0.0,
            high: 1.0,
        };
    }
    let n = trials as f64;
    let rate = successes as f64 / n;
    let centre = rate + Z * Z / (2.0 * n);
    let margin = Z * (rate * (1.0 - rate) / n + Z * Z / (4.0 * n * n)).sqrt();
    let scale = 1.0 + Z * Z / n;
    Interval {
        low: if successes == 0 {
            0.0
        } else {
            ((centre - margin) / scale).max(0.0)
        },
        high: if successes == trials {
            1.0
        } else {
            ((centre + margin) / scale).min(1.0)
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(successes: u64, trials: u64, low: f64, high: f64) {
        let interval = wilson(successes, trials);
        assert!((interval.low - low).abs() < 5e-5, "{interval:?}");
        assert!((interval.high - high).abs() < 5e-5, "{interval:?}");
    }

    /// Expected values from Newcombe (1998), table I, method 3.
    #[test]
    fn agrees_with_the_published_table() {
        check(81, 263, 0.2553, 0.3662);
        check(15, 148, 0.0624, 0.1605);
        check(0, 20, 0.0, 0.1611);
        check(1, 29, 0.0061, 0.1718);
    }

    #[test]
    fn nothing_is_known_without_trials() {
        check(0, 0, 0.0, 1.0);
    }
}
