//! How often a lock was granted before, during and after the faults, over many runs.

use std::fmt;

use locklab_values::units::NS_PER_S;
use serde::{Deserialize, Serialize};

use locklab_check::{Pace, Part};
use locklab_evidence::{Interval, of_quantity};

/// The resolution of a rate: thousandths of a grant per second.
const PARTS: u64 = 1000;

/// The paces of several runs. They are whole numbers, so that the sum does not depend on the order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PaceCounts {
    /// Before the first fault.
    pub before: GrantRate,
    /// Between the beginning of the first fault and the end of the last one.
    pub during: GrantRate,
    /// After the last fault.
    pub after: GrantRate,
}

/// Grants per second, over several runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrantRate {
    /// The runs.
    pub runs: u64,
    /// Their grants per thousand seconds, summed.
    pub sum: u64,
    /// The squares of these numbers, summed.
    pub squares: u64,
}

impl PaceCounts {
    /// Counts one run.
    pub fn add(&mut self, pace: Pace) {
        self.before.add(pace.before);
        self.during.add(pace.during);
        self.after.add(pace.after);
    }

    /// Adds the paces of other runs.
    pub fn merge(&mut self, other: PaceCounts) {
        self.before.merge(other.before);
        self.during.merge(other.during);
        self.after.merge(other.after);
    }

    /// Readable text: `grants per second: 3.21 (3.10–3.32) before the first fault, 1.02 (0.88–1.16)
    /// until the end of the last, 3.05 (2.90–3.20) afterwards`.
    pub fn describe(&self) -> String {
        format!(
            "grants per second: {} before the first fault, {} until the end of the last, {} \
             afterwards",
            self.before, self.during, self.after
        )
    }
}

impl GrantRate {
    fn add(&mut self, part: Part) {
        let grants = u128::from(part.grants) * u128::from(PARTS) * u128::from(NS_PER_S);
        let Some(rate) = grants.checked_div(u128::from(part.lasts_ns)) else {
            return;
        };
        let rate = u64::try_from(rate).unwrap_or(u64::MAX);
        self.merge(GrantRate {
            runs: 1,
            sum: rate,
            squares: rate.saturating_mul(rate),
        });
    }

    fn merge(&mut self, other: GrantRate) {
        self.runs += other.runs;
        self.sum = self.sum.saturating_add(other.sum);
        self.squares = self.squares.saturating_add(other.squares);
    }

    /// The mean of the runs, in grants per second; `None` without a run.
    pub fn mean(&self) -> Option<f64> {
        (self.runs > 0).then(|| self.sum as f64 / self.runs as f64 / PARTS as f64)
    }

    /// The 95 % confidence interval of the mean; `None` with fewer than two runs.
    pub fn interval(&self) -> Option<Interval> {
        let parts = PARTS as f64;
        let (sum, squares) = (self.sum as f64 / parts, self.squares as f64 / parts / parts);
        of_quantity(self.runs, sum, squares)
    }
}

impl fmt::Display for GrantRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.mean(), self.interval()) {
            (None, _) => write!(f, "no measurement"),
            (Some(mean), None) => write!(f, "{mean:.2}"),
            (Some(mean), Some(Interval { low, high })) => {
                write!(f, "{mean:.2} ({low:.2}–{high:.2})")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(seconds: u64, grants: u64) -> Part {
        Part {
            lasts_ns: seconds * NS_PER_S,
            grants,
        }
    }

    #[test]
    fn a_rate_is_the_mean_of_the_runs() {
        let mut counts = PaceCounts::default();
        for (seconds, grants) in [(2, 4), (1, 4)] {
            counts.add(Pace {
                before: part(seconds, grants),
                during: part(0, 0),
                after: part(seconds, 0),
            });
        }
        // 2 and 4 a second: 3 ± 1.96 · √2 / √2.
        let expected = "grants per second: 3.00 (1.04–4.96) before the first fault, \
                        no measurement until the end of the last, 0.00 (0.00–0.00) afterwards";
        assert_eq!(counts.describe(), expected);
    }

    #[test]
    fn parts_add_up_to_the_whole() {
        let of = |grants: &[u64]| {
            let mut rate = GrantRate::default();
            for grants in grants {
                rate.add(part(3, *grants));
            }
            rate
        };
        let mut sum = of(&[1, 2]);
        sum.merge(of(&[5]));
        assert_eq!(sum, of(&[5, 1, 2]));
    }
}
