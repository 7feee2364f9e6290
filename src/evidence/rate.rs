//! A rate with its numerator and denominator.

use super::words::{decimals, percent, thousands};
use super::{Interval, wilson};

/// A number of violated runs among a number of runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// Runs that violate the property.
    pub violated: u64,
    /// All runs that are counted.
    pub runs: u64,
}

impl Rate {
    /// The share, from 0 to 1; `None` without runs.
    pub fn share(&self) -> Option<f64> {
        (self.runs > 0).then(|| self.violated.min(self.runs) as f64 / self.runs as f64)
    }

    /// The interval of the true rate, at 95 % confidence.
    pub fn interval(&self) -> Interval {
        wilson(self.violated, self.runs)
    }

    /// Formats the rate with its counts: `37.2 % (34.3–40.2 %), 372 of 1,000 runs`, or at the ends
    /// `0 of 1,000 runs (at most 0.38 %)` and `1,000 of 1,000 runs (at least 99.62 %)`.
    ///
    /// The width of the interval decides on the decimals: two of its digits say something.
    pub fn describe(&self, of_what: &str) -> String {
        let Some(share) = self.share() else {
            return format!("no {of_what}");
        };
        let Interval { low, high } = self.interval();
        let violated = self.violated.min(self.runs);
        let (violated, runs) = (thousands(violated), thousands(self.runs));
        let count = format!("{violated} of {runs} {of_what}");
        if self.violated == 0 {
            return format!("{count} (at most {} %)", percent(high, decimals(high)));
        }
        if self.violated >= self.runs {
            return format!("{count} (at least {} %)", percent(low, decimals(1.0 - low)));
        }
        let decimals = decimals(high - low);
        let [share, low, high] = [share, low, high].map(|share| percent(share, decimals));
        format!("{share} % ({low}–{high} %), {count}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_read_well() {
        for (violated, runs, expected) in [
            (372, 1_000, "37.2 % (34.3–40.2 %), 372 of 1,000 runs"),
            (0, 1_000, "0 of 1,000 runs (at most 0.38 %)"),
            (1_000, 1_000, "1,000 of 1,000 runs (at least 99.62 %)"),
            (1_126, 1_998, "56.4 % (54.2–58.5 %), 1,126 of 1,998 runs"),
            (3, 1_000, "0.30 % (0.10–0.88 %), 3 of 1,000 runs"),
            (
                1,
                1_000_000,
                "0.00010 % (0.00002–0.00057 %), 1 of 1,000,000 runs",
            ),
            (0, 10_000_000, "0 of 10,000,000 runs (at most 0.000038 %)"),
            (8, 24, "33 % (18–53 %), 8 of 24 runs"),
            (1, 8, "12 % (2–47 %), 1 of 8 runs"),
            (199, 200, "99.5 % (97.2–99.9 %), 199 of 200 runs"),
            (0, 1, "0 of 1 runs (at most 79 %)"),
            (0, 0, "no runs"),
            (9, 3, "3 of 3 runs (at least 44 %)"),
        ] {
            assert_eq!(Rate { violated, runs }.describe("runs"), expected);
        }
    }
}
