//! Measured durations, and whether those of a model are like those of the real thing.

use locklab_evidence::{median, median_interval, quantile};
use serde::Serialize;

/// A model's median may be off by this share of the real one…
const SHARE: f64 = 0.1;

/// … or by this many milliseconds, a few of which are a machine's own.
const MARGIN_MS: f64 = 10.0;

/// Durations of one kind, in milliseconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Times {
    /// In ascending order.
    sorted_ms: Vec<f64>,
}

impl Times {
    /// These durations, in milliseconds.
    pub fn of(mut all_ms: Vec<f64>) -> Self {
        all_ms.sort_by(f64::total_cmp);
        Self { sorted_ms: all_ms }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.sorted_ms.len()
    }

    /// Their quantile; 0 if there are none.
    pub fn quantile_ms(&self, share: f64) -> f64 {
        quantile(&self.sorted_ms, share).unwrap_or(0.0)
    }

    /// Their median; 0 if there are none.
    pub fn median_ms(&self) -> f64 {
        median(&self.sorted_ms).unwrap_or(0.0)
    }

    /// Whether a model with these durations is like the real thing, as far as its durations show.
    pub fn agree_with(&self, real: &Times) -> Option<bool> {
        let model = median(&self.sorted_ms)?;
        let (low, high) = median_interval(&real.sorted_ms)?;
        let margin = (SHARE * real.median_ms()).max(MARGIN_MS);
        Some((low - margin..=high + margin).contains(&model))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agree(model: &[f64], real: &[f64]) -> Option<bool> {
        Times::of(model.to_vec()).agree_with(&Times::of(real.to_vec()))
    }

    #[test]
    fn a_tenth_is_near_enough() {
        assert_eq!(agree(&[200.0; 9], &[211.0; 9]), Some(true));
        assert_eq!(agree(&[200.0; 9], &[230.0; 9]), Some(false));
        assert_eq!(agree(&[600.0; 9], &[420.0; 9]), Some(false));
        assert_eq!(agree(&[2.0; 9], &[11.0; 9]), Some(true));
        assert_eq!(agree(&[2.0; 9], &[13.0; 9]), Some(false));
    }

    #[test]
    fn few_and_scattered_durations_agree_with_much() {
        let scattered: Vec<f64> = (0..9).map(|i| f64::from(i) * 100.0).collect();
        assert_eq!(agree(&[500.0; 9], &scattered), Some(true));
        assert_eq!(agree(&[900.0; 9], &scattered), Some(false));
        let many: Vec<f64> = (0..900).map(f64::from).collect();
        assert_eq!(agree(&[500.0; 9], &many), Some(true));
        assert_eq!(agree(&[600.0; 9], &many), Some(false));
    }

    #[test]
    fn no_measurements_give_no_result() {
        assert_eq!(agree(&[], &[1.0]), None);
        assert_eq!(agree(&[1.0], &[]), None);
    }
}
