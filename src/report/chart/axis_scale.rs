//! An axis for the values of a swept parameter: their positions, and the labels.

use locklab_results::Axis;

/// A parameter as the axis of a chart.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Scale {
    /// The quantity with its unit, such as `pause (ms)`.
    pub(super) label: String,
    /// Position and text of each tick, in ascending order of position.
    pub(super) ticks: Vec<(f64, String)>,
    /// The positions at the two ends.
    pub(super) range: (f64, f64),
    pub(super) kind: Kind,
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
const MAX_TICKS_AT_VALUES: usize = 13;

impl Scale {
    /// An axis of numbers, in ascending order and without repetition.
    pub(super) fn numeric(axis: &Axis, values: &[f64]) -> Self {
        let (widest, narrowest) = gaps(values);
        if widest > UNEVEN * narrowest {
            return Scale::steps(axis, values);
        }
        let (first, last) = match (values.first(), values.last()) {
            (Some(&first), Some(&last)) => (first, last),
            _ => (0.0, 0.0),
        };
        let margin = match last - first {
            0.0 => 0.5,
            span => span * 0.02,
        };
        let at = if values.len() <= MAX_TICKS_AT_VALUES && widest <= 4.0 * narrowest {
            values.to_vec()
        } else {
            round_values(first, last)
        };
        Scale {
            label: axis.title(),
            ticks: at
                .iter()
                .map(|&value| (value, format_value(value)))
                .collect(),
            range: (first - margin, last + margin),
            kind: Kind::Proportional,
        }
    }

    /// The axis of rates up to `top`, in percent, with about five ticks.
    pub(super) fn of_rates(top: f64) -> Self {
        let decimals = match top {
            top if top < 1.0 => 2,
            top if top < 5.0 => 1,
            _ => 0,
        };
        let tick = |fifth: i32| {
            let at = top * f64::from(fifth) / 5.0;
            (at, format!("{at:.decimals$}"))
        };
        Scale {
            label: String::new(),
            ticks: (0..=5).map(tick).collect(),
            range: (0.0, top),
            kind: Kind::Proportional,
        }
    }

    /// A logarithmic axis from one power of ten to another, with at most nine ticks. Positions are
    /// logarithms to the base ten.
    pub(super) fn decades(from: i32, to: i32) -> Self {
        let step = (to - from).div_euclid(9) + 1;
        let ticks = (from..=to).filter(|decade| (to - decade) % step == 0);
        Scale {
            label: String::new(),
            ticks: ticks
                .map(|decade| (f64::from(decade), power_of_ten(decade)))
                .collect(),
            range: (f64::from(from), f64::from(to)),
            kind: Kind::Proportional,
        }
    }

    /// A logarithmic axis with a tick at each of these positive numbers, which ascend. One whose label would meet that of
    /// the tick before it has none.
    pub(super) fn logarithmic(label: &str, values: &[f64]) -> Self {
        let at = |value: Option<&f64>| value.map_or(0.0, |value| value.log10());
        let (first, last) = (at(values.first()), at(values.last()));
        let margin = ((last - first) * 0.03).max(0.1);
        // What a label takes of the axis.
        let width = (last - first) * 0.12;
        let mut ticks: Vec<(f64, String)> = Vec::new();
        for value in values {
            let place = value.log10();
            if ticks
                .last()
                .is_none_or(|(before, _)| place - before >= width)
            {
                ticks.push((place, format_value(*value)));
            }
        }
        Scale {
            label: label.to_owned(),
            ticks,
            range: (first - margin, last + margin),
            kind: Kind::Proportional,
        }
    }

    /// An axis with a step for each number, as in heat maps. Numbers are in ascending order.
    pub(super) fn steps(axis: &Axis, values: &[f64]) -> Self {
        let (widest, narrowest) = gaps(values);
        Scale {
            // The gaps of 0.1, 0.2, 0.3 are not equal to the last digit.
            label: match widest > 1.001 * narrowest {
                true => format!("{}, evenly spaced", axis.title()),
                false => axis.title(),
            },
            ticks: one_apart(values.iter().copied().map(format_value)),
            range: (-0.5, values.len() as f64 - 0.5),
            kind: Kind::Even,
        }
    }

    /// An axis of words; without an axis where nothing was swept.
    pub(super) fn words(axis: Option<&Axis>, words: &[String]) -> Self {
        Scale {
            label: axis.map(Axis::title).unwrap_or_default(),
            ticks: one_apart(words.iter().cloned()),
            range: (-0.5, words.len() as f64 - 0.5),
            kind: Kind::Words,
        }
    }

    /// The position of `value`, which has the index `place`.
    pub(super) fn position(&self, value: f64, place: usize) -> f64 {
        match self.kind {
            Kind::Proportional => value,
            Kind::Even | Kind::Words => place as f64,
        }
    }
}

/// The widest and the narrowest gap between neighbours.
fn gaps(values: &[f64]) -> (f64, f64) {
    let gaps = || values.windows(2).map(|pair| pair[1] - pair[0]);
    (
        gaps().fold(0.0, f64::max),
        gaps().fold(f64::INFINITY, f64::min),
    )
}

/// A number with at most four decimals.
fn format_value(value: f64) -> String {
    ((value * 1e4).round() / 1e4).to_string()
}

/// `0.01`, `100`, `1e-6`.
fn power_of_ten(decade: i32) -> String {
    match decade {
        -3..0 => format!("{:.*}", decade.unsigned_abs() as usize, 10f64.powi(decade)),
        0..=4 => format!("{:.0}", 10f64.powi(decade)),
        _ => format!("1e{decade}"),
    }
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

    fn of(values: &[f64]) -> Scale {
        Scale::numeric(&Axis::of_key("lock.drift_ppm"), values)
    }

    #[test]
    fn regular_values_are_placed_to_scale() {
        let scale = of(&[0.0, 100.0, 200.0]);
        assert_eq!(scale.kind, Kind::Proportional);
        assert_eq!(scale.position(100.0, 1), 100.0);
        assert_eq!(scale.label, "drift (ppm)");
    }

    #[test]
    fn decades_are_one_unit_apart() {
        let scale = of(&[0.0, 10.0, 100.0, 1000.0, 10_000.0]);
        assert_eq!(scale.kind, Kind::Even);
        assert_eq!(scale.position(100.0, 2), 2.0);
        assert_eq!(scale.label, "drift (ppm), evenly spaced");
    }

    #[test]
    fn steps_report_whether_they_are_even() {
        let axis = Axis::of_key("lock.drift_factor");
        let tenths = [0.1, 0.2, 0.30000000000000004];
        assert_eq!(Scale::steps(&axis, &tenths).label, "drift factor");
        assert_eq!(Scale::steps(&axis, &tenths).ticks[2].1, "0.3");
        let uneven = Scale::steps(&axis, &[0.1, 0.2, 0.4]);
        assert_eq!(uneven.label, "drift factor, evenly spaced");
    }

    #[test]
    fn ticks_are_round() {
        assert_eq!(round_values(0.0, 2.0).len(), 5);
        assert_eq!(round_values(0.0, 0.8)[3], 0.3);
        assert_eq!(round_values(30.0, 1530.0)[0], 200.0);
    }

    #[test]
    fn decades_have_at_most_nine_ticks() {
        let ticks = |from, to| -> Vec<String> {
            let scale = Scale::decades(from, to);
            scale.ticks.into_iter().map(|(_, text)| text).collect()
        };
        assert_eq!(ticks(-2, 1), ["0.01", "0.1", "1", "10"]);
        assert_eq!(ticks(-12, 2).len(), 8);
        assert_eq!(ticks(-12, 2)[0], "1e-12");
    }

    #[test]
    fn labels_on_a_logarithmic_axis_do_not_meet() {
        let ticks = |values: &[f64]| -> Vec<String> {
            let scale = Scale::logarithmic("t (ms)", values);
            scale.ticks.into_iter().map(|(_, text)| text).collect()
        };
        assert_eq!(ticks(&[0.18, 0.22, 1.4, 9.5]), ["0.18", "1.4", "9.5"]);
        assert_eq!(ticks(&[1.0, 3.0, 10.0, 30.0]), ["1", "3", "10", "30"]);
        assert_eq!(ticks(&[5.0]), ["5"]);
    }

    #[test]
    fn a_single_value_has_an_axis() {
        let scale = of(&[5.0]);
        assert!(scale.range.0 < 5.0 && scale.range.1 > 5.0);
        assert_eq!(scale.ticks, [(5.0, "5".to_owned())]);
    }
}
