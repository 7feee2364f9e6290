//! Rates of rare violations: the mean of runs with weights.

use serde::{Deserialize, Serialize};

use super::interval::of_quantity;
use super::{Interval, Sum};

/// With fewer violating runs than this, counted by [`Weighted::effective`], there is no interval: the
/// normal distribution would be a bad approximation of so few.
pub const LEAST_EFFECTIVE: f64 = 100.0;

/// Runs that were drawn from another distribution than the one of interest, each with the ratio of the two
/// densities as its weight. The mean of the weights of violating runs, over all runs, is the rate.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Weighted {
    /// All runs.
    pub runs: u64,
    /// Those that violate the property.
    pub violated: u64,
    sum: Sum,
    squares: Sum,
}

impl Weighted {
    /// Adds a run: its weight if it violates the property.
    pub fn add(&mut self, violating: Option<f64>) {
        self.runs += 1;
        if let Some(weight) = violating {
            self.violated += 1;
            self.sum.add(weight);
            self.squares.add(weight * weight);
        }
    }

    /// Adds other runs.
    pub fn join(&mut self, other: &Weighted) {
        self.runs += other.runs;
        self.violated += other.violated;
        self.sum.join(&other.sum);
        self.squares.join(&other.squares);
    }

    /// Why these cannot be so many runs; `None` if they can.
    pub fn why_not(&self, runs: u64) -> Option<String> {
        let Weighted {
            violated,
            sum,
            squares,
            ..
        } = self;
        let (sum, squares) = (sum.value(), squares.value());
        // Cauchy's inequality, but for rounding.
        let most = (*violated as f64 * squares).sqrt() * (1.0 + 1e-9);
        match () {
            () if self.runs != runs => Some(format!("it has {} runs of {runs}", self.runs)),
            () if *violated > runs => Some(format!("{violated} of {runs} runs are violated")),
            () if !(0.0..=most).contains(&sum) => Some(format!(
                "{violated} weights have the sum {sum} and the squares {squares}"
            )),
            () => None,
        }
    }

    /// The rate; 0 without runs.
    pub fn rate(&self) -> f64 {
        self.sum.value() / self.runs.max(1) as f64
    }

    /// The sum of the squares of the weights.
    pub fn squares(&self) -> f64 {
        self.squares.value()
    }

    /// The variance of the rate, as an estimate; 0 with fewer than two runs.
    pub fn variance(&self) -> f64 {
        if self.runs < 2 {
            return 0.0;
        }
        let n = self.runs as f64;
        let rate = self.rate();
        ((self.squares.value() / n - rate * rate) / (n - 1.0)).max(0.0)
    }

    /// How many violating runs of equal weight would be as good: L. Kish, "Survey Sampling" (1965).
    pub fn effective(&self) -> f64 {
        let (sum, squares) = (self.sum.value(), self.squares.value());
        match squares > 0.0 {
            true => sum * sum / squares,
            false => 0.0,
        }
    }

    /// The interval of the true rate, at 95 % confidence; `None` if too few runs are effective.
    pub fn interval(&self) -> Option<Interval> {
        let interval = of_quantity(self.runs, self.sum.value(), self.squares.value());
        interval.filter(|_| self.effective() >= LEAST_EFFECTIVE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_weights_are_counted_as_they_are() {
        let mut of = Weighted::default();
        for number in 0..1000 {
            of.add((number % 5 == 0).then_some(0.01));
        }
        assert!((of.rate() - 0.002).abs() < 1e-12);
        assert!((of.effective() - 200.0).abs() < 1e-9);
        let interval = of.interval().expect("enough");
        // 0.01 (0.2 ± 1.96 √(0.2 · 0.8 / 999))
        assert!((interval.low - 0.001_752).abs() < 1e-6, "{interval:?}");
        assert!((interval.high - 0.002_248).abs() < 1e-6, "{interval:?}");
        let margin = 1.96 * of.variance().sqrt();
        assert!((margin - 0.000_248).abs() < 1e-6, "{margin}");
    }

    #[test]
    fn one_heavy_run_is_no_evidence() {
        let mut of = Weighted::default();
        (0..1000).for_each(|_| of.add(Some(1e-9)));
        of.add(Some(1.0));
        assert!(of.effective() < 1.1);
        assert_eq!(of.interval(), None);
        assert_eq!(Weighted::default().interval(), None);
    }

    #[test]
    fn an_interval_needs_a_hundred_effective_runs() {
        let of = |violated: u32| {
            let mut of = Weighted::default();
            (0..1000).for_each(|number| of.add((number < violated).then_some(0.5)));
            of
        };
        assert_eq!(of(99).interval(), None);
        assert!(of(100).interval().is_some());
    }

    #[test]
    fn runs_that_cannot_be_are_refused() {
        let mut of = Weighted::default();
        (0..10).for_each(|number| of.add((number > 2).then_some(0.5)));
        assert_eq!(of.why_not(10), None);
        assert!(of.why_not(9).is_some());
        for (from, to) in [
            ("\"violated\":7", "\"violated\":3"),
            ("\"violated\":7", "\"violated\":11"),
        ] {
            let text = serde_json::to_string(&of).expect("it can be written");
            let edited: Weighted = serde_json::from_str(&text.replace(from, to)).expect(&text);
            assert!(edited.why_not(10).is_some(), "{to}");
        }
    }
}
