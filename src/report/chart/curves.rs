//! Curves over several powers of ten, such as violations a year against the lease: both axes are
//! logarithmic.

use super::super::{Drawing, Error, Sheet};
use super::axis_scale::Scale;
use super::draw;
use super::measure::Rate;
use super::plot::{Body, Line, Panel, Plot};

/// A chart of curves. All numbers are positive.
#[derive(Debug, Clone, PartialEq)]
pub struct Curves {
    /// The title.
    pub title: String,
    /// What it is true of, in smaller print.
    pub subtitle: String,
    /// The quantity of the horizontal axis with its unit: `lease (s)`.
    pub x: String,
    /// That of the vertical axis.
    pub y: String,
    /// The curves.
    pub curves: Vec<Curve>,
}

/// One curve.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// Its name in the legend.
    pub name: String,
    /// Its points, by their number on the horizontal axis, ascending. Where there is no estimate there
    /// is no point.
    pub points: Vec<(f64, Estimate)>,
}

/// A number with its 95 % interval, whose lower end may be 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The estimate.
    pub value: f64,
    /// The ends of the interval.
    pub low: f64,
    /// See `low`.
    pub high: f64,
}

impl Curves {
    /// Draws the chart.
    ///
    /// # Errors
    ///
    /// [`Error::Chart`] if no curve has a point.
    pub fn draw(&self, sheet: &Sheet) -> Result<Drawing, Error> {
        draw::drawing(&self.plot()?, sheet)
    }

    fn plot(&self) -> Result<Plot, Error> {
        let points = || self.curves.iter().flat_map(|curve| &curve.points);
        let (mut least, mut most) = (f64::INFINITY, 0.0_f64);
        for (_, estimate) in points() {
            // An interval that reaches 0 is cut a decade below its estimate.
            least = least.min(estimate.low.max(estimate.value / 10.0));
            most = most.max(estimate.high);
        }
        if most == 0.0 {
            return Err(Error::Chart("no curve has a point".to_owned()));
        }
        let from = least.log10().floor() as i32;
        let to = (most.log10().ceil() as i32).max(from + 1);
        let at = |value: f64| value.max(10f64.powi(from)).log10();
        let line = |(number, curve): (usize, &Curve)| {
            let point = |(x, estimate): &(f64, Estimate)| {
                let rate = Rate {
                    rate: at(estimate.value),
                    low: at(estimate.low),
                    high: at(estimate.high),
                    inconclusive: 0.0,
                };
                (x.log10(), rate)
            };
            Line {
                number,
                points: curve.points.iter().map(point).collect(),
            }
        };
        let mut xs: Vec<f64> = points().map(|(x, _)| *x).collect();
        xs.sort_by(f64::total_cmp);
        xs.dedup();
        let y = Scale::decades(from, to);
        Ok(Plot {
            title: self.title.clone(),
            overrides: String::new(),
            subtitle: self.subtitle.clone(),
            rates: self.y.clone(),
            top: y.range.1,
            y,
            x: Scale::logarithmic(&self.x, &xs),
            legend: self.curves.iter().map(|curve| curve.name.clone()).collect(),
            panels: vec![Panel {
                heading: String::new(),
                body: Body::Lines(self.curves.iter().enumerate().map(line).collect()),
            }],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curves(points: &[(f64, f64, f64, f64)]) -> Curves {
        let point =
            |&(x, value, low, high): &(f64, f64, f64, f64)| (x, Estimate { value, low, high });
        Curves {
            title: "t".into(),
            subtitle: String::new(),
            x: "lease (s)".into(),
            y: "a year".into(),
            curves: vec![Curve {
                name: "lock".into(),
                points: points.iter().map(point).collect(),
            }],
        }
    }

    #[test]
    fn positions_are_logarithms() {
        let plot = curves(&[(1.0, 10.0, 5.0, 20.0), (100.0, 0.1, 0.0, 0.2)])
            .plot()
            .expect("points");
        let Body::Lines(lines) = &plot.panels[0].body else {
            panic!("lines");
        };
        let places: Vec<f64> = lines[0]
            .points
            .iter()
            .map(|(x, rate)| x + rate.rate)
            .collect();
        assert_eq!(places, [1.0, 1.0]);
        // The interval that reaches 0 ends at the axis.
        assert_eq!(plot.y.range, (-2.0, 2.0));
        assert_eq!(lines[0].points[1].1.low, -2.0);
        let ticks: Vec<&str> = plot.x.ticks.iter().map(|(_, text)| &**text).collect();
        assert_eq!(ticks, ["1", "100"]);
    }

    #[test]
    fn without_a_point_there_is_no_chart() {
        assert!(curves(&[]).draw(&Sheet::SCREEN).is_err());
        assert!(curves(&[(5.0, 1.0, 0.5, 2.0)]).draw(&Sheet::SCREEN).is_ok());
    }
}
