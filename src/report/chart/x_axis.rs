//! The x axis: the positions of the values of the swept parameter, and their labels.

/// A parameter as the axis of a chart.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct XAxis {
    /// The parameter with its unit, such as `duration (ms)`.
    pub(super) label: String,
    /// Position and text of each tick, in ascending order of position.
    pub(super) ticks: Vec<(f64, String)>,
    /// The positions at the two ends.
    pub(super) range: (f64, f64),
    pub(super) kind: Kind,
    /// The swept values in the order of their positions; empty if not numeric.
    values: Vec<f64>,
}

/// How values are converted to positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A number is at the position of its value.
    Proportional,
    /// Numbers that are too unevenly spread for that are evenly spaced, in order.
    Even,
    /// Words are evenly spaced, in the order of the sweep, and are not joined by lines.
    Words,
}

/// Values whose widest gap is more than this many times the narrowest are evenly spaced: drawn
/// to scale, the close ones would overlap.
const UNEVEN: f64 = 24.0;

/// The maximum number of swept values that each get a tick.
const MOST_TICKS_AT_VALUES: usize = 13;

impl XAxis {
    /// An axis of numbers.
    pub(super) fn numeric(path: &str, mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        values.dedup();
        let gaps: Vec<f64> = values.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let widest = gaps.iter().copied().fold(0.0, f64::max);
        let narrowest = gaps.iter().copied().fold(f64::INFINITY, f64::min);
        let label = parameter_label(path);
        if widest > UNEVEN * narrowest {
            return XAxis {
                label: format!("{label}, evenly spaced"),
                ticks: one_apart(values.iter().map(f64::to_string)),
                range: (-0.3, values.len() as f64 - 0.7),
                kind: Kind::Even,
                values,
            };
        }
        let (first, last) = match (values.first(), values.last()) {
            (Some(&first), Some(&last)) => (first, last),
            _ => (0.0, 0.0),
        };
        let margin = match last - first {
            0.0 => 0.5,
            span => span * 0.02,
        };
        let at = if values.len() <= MOST_TICKS_AT_VALUES && widest <= 4.0 * narrowest {
            values.clone()
        } else {
            round_values(first, last)
        };
        XAxis {
            label,
            ticks: at.iter().map(|&value| (value, value.to_string())).collect(),
            range: (first - margin, last + margin),
            kind: Kind::Proportional,
            values,
        }
    }

    /// An axis of words; `path` is `None` when nothing was swept.
    pub(super) fn words(path: Option<&str>, words: &[String]) -> Self {
        XAxis {
            label: path.map(parameter_label).unwrap_or_default(),
            ticks: one_apart(words.iter().cloned()),
            range: (-0.5, words.len() as f64 - 0.5),
            kind: Kind::Words,
            values: Vec::new(),
        }
    }

    /// The position of a swept number; `None` for any other number.
    pub(super) fn position(&self, value: f64) -> Option<f64> {
        let place = self.values.iter().position(|swept| *swept == value)?;
        Some(match self.kind {
            Kind::Proportional => value,
            Kind::Even | Kind::Words => place as f64,
        })
    }
}

/// The last part of a parameter's path, with its unit in parentheses: `faults.gc.duration_ms`
/// becomes `duration (ms)`.
pub(super) fn parameter_label(path: &str) -> String {
    // "name" alone is not informative: `lock.name` becomes `lock`.
    let path = path.strip_suffix(".name").unwrap_or(path);
    let name = path.rsplit('.').next().unwrap_or(path);
    let (stem, unit) = match name.rsplit_once('_') {
        Some((stem, "ns")) => (stem, " (ns)"),
        Some((stem, "us")) => (stem, " (µs)"),
        Some((stem, "ms")) => (stem, " (ms)"),
        Some((stem, "s")) => (stem, " (s)"),
        Some((stem, "ppm")) => (stem, " (ppm)"),
        Some((stem, "percent")) => (stem, " (%)"),
        Some((stem, "bytes")) => (stem, " (bytes)"),
        _ => (name, ""),
    };
    format!("{}{unit}", stem.replace(['_', '-'], " "))
}

fn one_apart(labels: impl Iterator<Item = String>) -> Vec<(f64, String)> {
    (0..).map(f64::from).zip(labels).collect()
}

/// About eight round values within the range: multiples of 1, 2 or 5 times a power of ten.
fn round_values(first: f64, last: f64) -> Vec<f64> {
    let raw = (last - first) / 8.0;
    let power = 10f64.powf(raw.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|factor| factor * power)
        .find(|&step| step >= raw)
        .unwrap_or(raw);
    let from = (first / step).ceil() as i64;
    let to = (last / step).floor() as i64;
    // Dividing by the inverse keeps 0.3 from becoming 0.30000000000000004.
    let exact = |n: i64| match step < 1.0 {
        true => n as f64 / (1.0 / step).round(),
        false => n as f64 * step,
    };
    (from..=to).map(exact).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_set_the_unit_apart() {
        assert_eq!(parameter_label("faults.gc.duration_ms"), "duration (ms)");
        assert_eq!(parameter_label("lock.drift_ppm"), "drift (ppm)");
        assert_eq!(
            parameter_label("lock.check_elapsed_time"),
            "check elapsed time"
        );
        assert_eq!(parameter_label("clients"), "clients");
        assert_eq!(parameter_label("lock.name"), "lock");
    }

    #[test]
    fn regular_values_stand_to_scale() {
        let axis = XAxis::numeric("a_ms", vec![0.0, 100.0, 200.0]);
        assert_eq!(axis.kind, Kind::Proportional);
        assert_eq!(axis.position(100.0), Some(100.0));
        assert_eq!(axis.position(150.0), None);
    }

    #[test]
    fn decades_stand_one_apart() {
        let axis = XAxis::numeric("a_ppm", vec![10_000.0, 0.0, 10.0, 100.0, 1000.0]);
        assert_eq!(axis.kind, Kind::Even);
        let positions = [0.0, 10.0, 55.0, 100.0].map(|value| axis.position(value));
        assert_eq!(positions, [Some(0.0), Some(1.0), None, Some(2.0)]);
    }

    #[test]
    fn ticks_are_round() {
        assert_eq!(round_values(0.0, 2.0).len(), 5);
        assert_eq!(round_values(0.0, 0.8)[3], 0.3);
        assert_eq!(round_values(30.0, 1530.0)[0], 200.0);
    }

    #[test]
    fn a_single_value_has_an_axis() {
        let axis = XAxis::numeric("n", vec![5.0]);
        assert!(axis.range.0 < 5.0 && axis.range.1 > 5.0);
        assert_eq!(axis.ticks, [(5.0, "5".to_owned())]);
    }
}
