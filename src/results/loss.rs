//! How much acknowledged data was lost, over many runs.
//!
//! The adds of one run are not independent trials: one failover loses a whole stretch of them.
//! So the interval is computed from the variation between runs, not from the number of adds.

use serde::{Deserialize, Serialize};

use locklab_check::Loss;
use locklab_evidence::{Interval, of_mean, thousands};

/// The resolution of a run's rate: hundredths of a percent.
const PARTS: u64 = 10_000;

/// The combined losses of several runs. They are whole numbers, so that the sum does not depend
/// on the order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LossRate {
    /// Runs in which a set was read and at least one add had been acknowledged.
    pub runs: u64,
    /// Their acknowledged adds.
    pub acknowledged: u64,
    /// The acknowledged adds that were lost.
    pub lost: u64,
    /// The rates of the runs in hundredths of a percent, summed.
    pub sum: u64,
    /// The squares of these rates, summed.
    pub squares: u64,
}

impl LossRate {
    /// Counts one run.
    pub fn add(&mut self, loss: Loss) {
        let Some(rate) = (loss.lost * PARTS).checked_div(loss.acknowledged) else {
            return;
        };
        self.merge(LossRate {
            runs: 1,
            acknowledged: loss.acknowledged,
            lost: loss.lost,
            sum: rate,
            squares: rate * rate,
        });
    }

    /// Adds the losses of other runs.
    pub fn merge(&mut self, other: LossRate) {
        self.runs += other.runs;
        self.acknowledged += other.acknowledged;
        self.lost += other.lost;
        self.sum += other.sum;
        self.squares += other.squares;
    }

    /// The share of acknowledged adds that were lost, 0 to 1.
    pub fn rate(&self) -> f64 {
        match self.acknowledged {
            0 => 0.0,
            all => self.lost as f64 / all as f64,
        }
    }

    /// The 95 % confidence interval of the mean rate of a run; all of 0 to 1 with fewer than
    /// two runs.
    pub fn interval(&self) -> Interval {
        let parts = PARTS as f64;
        let (sum, squares) = (self.sum as f64 / parts, self.squares as f64 / parts / parts);
        of_mean(self.runs, sum, squares)
    }

    /// Readable text: `0.5636 (0.5610–0.5662 over 100 runs), 112,600 of 199,800 acknowledged
    /// adds`.
    pub fn describe(&self) -> String {
        self.describe_of("acknowledged adds")
    }

    /// The same of something else that can be lost.
    pub(super) fn describe_of(&self, what: &str) -> String {
        let Interval { low, high } = self.interval();
        let runs = match self.runs {
            1 => "1 run, no interval".to_owned(),
            runs => format!("{low:.4}–{high:.4} over {} runs", thousands(runs)),
        };
        format!(
            "{:.4} ({runs}), {} of {} {what}",
            self.rate(),
            thousands(self.lost),
            thousands(self.acknowledged)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(losses: &[(u64, u64)]) -> LossRate {
        let mut rate = LossRate::default();
        for &(lost, acknowledged) in losses {
            rate.add(Loss { acknowledged, lost });
        }
        rate
    }

    #[test]
    fn loss_rate_is_over_all_adds_and_its_interval_over_runs() {
        let rate = of(&[(40, 100), (50, 100), (60, 100)]);
        assert_eq!(
            rate.describe(),
            // The standard deviation is 0.1, and 1.96 of it over the root of 3 is 0.1132.
            "0.5000 (0.3868–0.6132 over 3 runs), 150 of 300 acknowledged adds"
        );
    }

    #[test]
    fn one_run_has_no_interval_and_one_without_adds_does_not_count() {
        let rate = of(&[(1126, 1998), (0, 0)]);
        assert_eq!(
            rate.describe(),
            "0.5636 (1 run, no interval), 1,126 of 1,998 acknowledged adds"
        );
        assert_eq!(of(&[]).rate(), 0.0);
    }

    #[test]
    fn parts_add_up_to_the_whole() {
        let mut parts = of(&[(1, 3), (2, 3)]);
        parts.merge(of(&[(3, 7)]));
        assert_eq!(parts, of(&[(3, 7), (2, 3), (1, 3)]));
    }
}
