//! A varied parameter as a chart names it: quantity and unit.

use serde::Serialize;

/// A varied parameter of a sweep.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Axis {
    /// Its path in the scenario: `fault.gc.duration_ms`.
    pub path: String,
    /// What it is, in words: `pause`.
    pub name: String,
    /// The unit of its values on the axis, such as `ms`; empty if they have none.
    pub unit: String,
    /// Values in the scenario are divided by this: 1 unless the axis has a unit of its own.
    pub per: f64,
}

impl Axis {
    /// The last key of a path, with the unit that its suffix says: of `lock.retry_delay_ms`,
    /// `retry delay` in `ms`.
    pub fn of_key(path: &str) -> Axis {
        let key = path.rsplit('.').next().unwrap_or(path);
        let (stem, unit) = match key.rsplit_once('_') {
            Some((stem, "ns")) => (stem, "ns"),
            Some((stem, "us")) => (stem, "µs"),
            Some((stem, "ms")) => (stem, "ms"),
            Some((stem, "s")) => (stem, "s"),
            Some((stem, "ppm")) => (stem, "ppm"),
            Some((stem, "percent")) => (stem, "%"),
            Some((stem, "bytes")) => (stem, "bytes"),
            _ => (key, ""),
        };
        Axis {
            path: path.to_owned(),
            name: stem.replace(['_', '-'], " "),
            unit: unit.to_owned(),
            per: 1.0,
        }
    }

    /// Quantity and unit: `mean pause (ms)`.
    pub fn title(&self) -> String {
        match self.unit.as_str() {
            "" => self.name.clone(),
            unit => format!("{} ({unit})", self.name),
        }
    }

    /// A value with its unit: `500 ms`.
    pub fn measure(&self, value: &str) -> String {
        match self.unit.as_str() {
            "" => value.to_owned(),
            unit => format!("{value} {unit}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unit_is_set_apart() {
        for (path, expected) in [
            ("lock.retry_delay_ms", "retry delay (ms)"),
            ("lock.drift_ppm", "drift (ppm)"),
            ("lock.check_elapsed_time", "check elapsed time"),
            ("topology.clients", "clients"),
        ] {
            assert_eq!(Axis::of_key(path).title(), expected);
        }
    }
}
