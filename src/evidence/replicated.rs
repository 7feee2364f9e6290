//! The mean of independent estimates of a rate.

use serde::{Deserialize, Serialize};

use super::student::half_width;
use super::{Interval, Sum};

/// The least number of independent estimates of a rate: with so many the interval is 5 % wider than it would be if
/// their scatter were known.
pub const REPLICATIONS: u64 = 25;

/// Independent estimates of a rate, each without bias. What they come to does not depend on their order.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Replicated {
    /// How many there are.
    pub estimates: u64,
    sum: Sum,
    squares: Sum,
}

impl Replicated {
    /// Adds an estimate.
    pub fn add(&mut self, rate: f64) {
        self.estimates += 1;
        self.sum.add(rate);
        self.squares.add(rate * rate);
    }

    /// Adds other estimates.
    pub fn join(&mut self, other: &Replicated) {
        self.estimates += other.estimates;
        self.sum.join(&other.sum);
        self.squares.join(&other.squares);
    }

    /// Why these cannot be estimates of a rate; `None` if they can.
    pub fn why_not(&self) -> Option<String> {
        let (sum, squares) = (self.sum.value(), self.squares.value());
        // Cauchy's inequality, but for rounding.
        let most = (self.estimates as f64 * squares).sqrt() * (1.0 + 1e-9);
        let is_wrong = !(0.0..=most).contains(&sum);
        is_wrong.then(|| {
            format!(
                "{} estimates have the sum {sum} and the squares {squares}",
                self.estimates
            )
        })
    }

    /// The mean; 0 without estimates.
    pub fn rate(&self) -> f64 {
        self.sum.value() / self.estimates.max(1) as f64
    }

    /// The interval of the true rate by Student's distribution, at 95 % confidence. There is none if the
    /// effective number of estimates is below half: then few of them have decided the mean, and their scatter
    /// says little.
    pub fn interval(&self) -> Option<Interval> {
        let n = self.estimates as f64;
        let (sum, squares, mean) = (self.sum.value(), self.squares.value(), self.rate());
        let is_even = squares > 0.0 && sum * sum / squares >= n / 2.0;
        if self.estimates < 2 || !is_even {
            return None;
        }
        let variance = ((squares - n * mean * mean) / (n - 1.0)).max(0.0);
        let margin = half_width(self.estimates - 1) * (variance / n).sqrt();
        Some(Interval {
            low: (mean - margin).max(0.0),
            high: mean + margin,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(rates: impl IntoIterator<Item = f64>) -> Replicated {
        let mut all = Replicated::default();
        rates.into_iter().for_each(|rate| all.add(rate));
        all
    }

    #[test]
    fn estimates_that_few_have_decided_have_no_interval() {
        let zeros = [0.0; REPLICATIONS as usize];
        assert_eq!((of(zeros).rate(), of(zeros).interval()), (0.0, None));
        let mut one = zeros;
        one[3] = 1.0;
        assert_eq!((of(one).rate(), of(one).interval()), (0.04, None));
        let even = (0..REPLICATIONS).map(|nth| 0.9 + 0.2 * (nth % 2) as f64);
        let even = of(even);
        let interval = even.interval().expect("they agree");
        assert!((even.rate() - 0.996).abs() < 1e-12);
        // The deviation is 0.102.
        let margin = interval.high - even.rate();
        assert!((margin - 0.0421).abs() < 1e-4, "{interval:?}");
    }

    /// With more estimates Student's distribution is narrower too.
    #[test]
    fn more_estimates_have_a_narrower_interval() {
        let margin = |estimates: u64| {
            let all = of((0..estimates).map(|nth| 1.0 + 0.1 * (nth % 2) as f64));
            let interval = all.interval().expect("they agree");
            interval.high - all.rate()
        };
        // √(15/29), and 2.048 instead of 2.145 standard errors.
        assert!(
            (margin(29) / margin(15) - 0.676).abs() < 0.005,
            "{}",
            margin(29) / margin(15)
        );
    }

    #[test]
    fn parts_of_estimates_join_to_the_whole_in_any_order() {
        let rates: Vec<f64> = (0..29).map(|nth| 1.0 / f64::from(nth + 3)).collect();
        let whole = of(rates.clone());
        let mut joined = of(rates[17..].iter().copied());
        joined.join(&of(rates[..17].iter().copied()));
        assert_eq!(joined, whole);
        assert_eq!(joined.why_not(), None);
    }

    #[test]
    fn estimates_that_cannot_be_are_refused() {
        assert_eq!(of([0.5, 0.25]).why_not(), None);
        assert!(of([-0.5, 0.25]).why_not().is_some());
        let text = serde_json::to_string(&of([0.5, 0.25])).expect("it can be written");
        let fewer = text.replace("\"estimates\":2", "\"estimates\":1");
        let fewer: Replicated = serde_json::from_str(&fewer).expect(&text);
        assert!(fewer.why_not().is_some());
    }
}
