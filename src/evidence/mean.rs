//! The mean of a quantity, of which each run has one value.

use serde::{Deserialize, Serialize};

use super::interval::of_quantity;
use super::{Interval, Sum};

/// The mean of the values of some runs, with its interval. It does not depend on their order.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Mean {
    /// The number of values.
    pub count: u64,
    sum: Sum,
    squares: Sum,
}

impl Mean {
    /// Adds a value.
    pub fn add(&mut self, value: f64) {
        self.count += 1;
        self.sum.add(value);
        self.squares.add(value * value);
    }

    /// Adds the values of other runs.
    pub fn join(&mut self, other: &Mean) {
        self.count += other.count;
        self.sum.join(&other.sum);
        self.squares.join(&other.squares);
    }

    /// The mean; `None` without values.
    pub fn value(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum.value() / self.count as f64)
    }

    /// Its 95 % interval; `None` with fewer than two values.
    pub fn interval(&self) -> Option<Interval> {
        of_quantity(self.count, self.sum.value(), self.squares.value())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_and_interval_are_those_of_all_values() {
        let part = |numbers: std::ops::Range<u32>| {
            let mut mean = Mean::default();
            numbers.for_each(|number| mean.add(f64::from(number % 2)));
            mean
        };
        let mut joined = part(3..100);
        joined.join(&part(0..3));
        assert_eq!(joined, part(0..100));
        assert_eq!((joined.count, joined.value()), (100, Some(0.5)));
        let interval = joined.interval().expect("many values");
        // 0.5 ± 1.96 · 0.5025 / 10
        assert!((interval.high - 0.5985).abs() < 1e-4, "{interval:?}");
        assert_eq!(Mean::default().value(), None);
    }
}
