//! Measured times, and the quantiles that so many of them can tell.

use locklab_evidence::quantile;
use serde::ser::{Serialize, SerializeMap, Serializer};

/// The quantiles that are stated, and the share of values that do not exceed each.
const STATED: [(&str, f64); 5] = [
    ("p50", 0.5),
    ("p90", 0.9),
    ("p99", 0.99),
    ("p99.9", 0.999),
    ("p99.99", 0.9999),
];

/// A quantile above the median is stated if at least this many values lie beyond it. With fewer, one
/// value more or less would move it far.
const LEAST_BEYOND: f64 = 5.0;

/// Measured times in milliseconds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Values {
    sorted_ms: Vec<f64>,
}

impl Values {
    /// These times, in any order.
    pub fn of(mut all_ms: Vec<f64>) -> Self {
        all_ms.sort_by(f64::total_cmp);
        Self { sorted_ms: all_ms }
    }

    /// All of them, in ascending order.
    pub fn sorted_ms(&self) -> &[f64] {
        &self.sorted_ms
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.sorted_ms.len()
    }

    /// The least value that at least this share of all do not exceed; `None` if there are no values.
    pub fn quantile_ms(&self, share: f64) -> Option<f64> {
        quantile(&self.sorted_ms, share)
    }

    /// The longest; `None` if there are no values.
    pub fn max_ms(&self) -> Option<f64> {
        self.sorted_ms.last().copied()
    }

    /// The quantiles that so many values can tell, by name, and `max`.
    pub fn quantiles(&self) -> Vec<(&'static str, f64)> {
        let beyond = |share: f64| (1.0 - share) * self.count() as f64 + 1e-9;
        let is_told = |share: f64| share <= 0.5 || beyond(share) >= LEAST_BEYOND;
        let told = STATED.iter().filter(|(_, share)| is_told(*share));
        let told = told.filter_map(|(name, share)| Some((*name, self.quantile_ms(*share)?)));
        told.chain(self.max_ms().map(|max| ("max", max))).collect()
    }
}

/// As how many there are, and their quantiles.
impl Serialize for Values {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let quantiles = self.quantiles();
        let mut map = serializer.serialize_map(Some(quantiles.len() + 1))?;
        map.serialize_entry("count", &self.count())?;
        for (name, value) in quantiles {
            map.serialize_entry(name, &value)?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn up_to(count: u32) -> Values {
        Values::of((1..=count).rev().map(f64::from).collect())
    }

    #[test]
    fn a_quantile_that_few_values_decide_is_not_stated() {
        let names = |count| -> Vec<&str> {
            let quantiles = up_to(count).quantiles();
            quantiles.into_iter().map(|(name, _)| name).collect()
        };
        assert_eq!(names(0), [""; 0]);
        assert_eq!(names(1), ["p50", "max"]);
        assert_eq!(names(49), ["p50", "max"]);
        assert_eq!(names(50), ["p50", "p90", "max"]);
        assert_eq!(names(499), ["p50", "p90", "max"]);
        assert_eq!(names(500), ["p50", "p90", "p99", "max"]);
        assert_eq!(names(5000), ["p50", "p90", "p99", "p99.9", "max"]);
    }
}
