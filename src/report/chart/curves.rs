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
    /// The names of the curves, for the legend.
    pub names: Vec<String>,
    /// The panels. A panel in which no curve has a point is left out.
    pub panels: Vec<Quantity>,
}

/// A panel: what its vertical axis measures.
#[derive(Debug, Clone, PartialEq)]
pub struct Quantity {
    /// The quantity with its unit.
    pub y: String,
    /// A curve for each name.
    pub curves: Vec<Curve>,
}

/// One curve.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Curve {
    /// Its points, by their number on the horizontal axis, ascending. Where there is no estimate there
    /// is no point.
    pub points: Vec<(f64, Estimate)>,
    /// The number on the horizontal axis of the point that has a ring.
    pub ring: Option<f64>,
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
        let panels: Vec<_> = self.panels.iter().filter_map(Quantity::panel).collect();
        let curves = self.panels.iter().flat_map(|panel| &panel.curves);
        let points = curves.flat_map(|curve| &curve.points);
        let mut xs: Vec<f64> = points.map(|(x, _)| *x).collect();
        xs.sort_by(f64::total_cmp);
        xs.dedup();
        let first = panels.first().and_then(|panel| panel.upright.clone());
        let (y, rates) = first.ok_or_else(|| Error::Chart("no curve has a point".to_owned()))?;
        Ok(Plot {
            title: self.title.clone(),
            overrides: String::new(),
            subtitle: self.subtitle.clone(),
            rates,
            top: y.range.1,
            y,
            x: Scale::logarithmic(&self.x, &xs),
            legend: self.names.clone(),
            panels,
        })
    }
}

impl Quantity {
    /// Whether there is anything to draw.
    pub fn has_points(&self) -> bool {
        self.curves.iter().any(|curve| !curve.points.is_empty())
    }

    /// The panel; `None` if no curve has a point.
    fn panel(&self) -> Option<Panel> {
        let points = || self.curves.iter().flat_map(|curve| &curve.points);
        let (mut least, mut most) = (f64::INFINITY, 0.0_f64);
        for (_, estimate) in points() {
            // An interval that reaches 0 is cut a decade below its estimate.
            least = least.min(estimate.low.max(estimate.value / 10.0));
            most = most.max(estimate.high);
        }
        if most == 0.0 {
            return None;
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
        let ring = |curve: &Curve| {
            let mut points = curve.points.iter();
            let (x, estimate) = points.find(|(x, _)| Some(*x) == curve.ring)?;
            Some((x.log10(), at(estimate.value)))
        };
        Some(Panel {
            heading: String::new(),
            body: Body::Lines(self.curves.iter().enumerate().map(line).collect()),
            upright: Some((Scale::decades(from, to), self.y.clone())),
            rings: self.curves.iter().filter_map(ring).collect(),
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
            names: vec!["lock".into()],
            panels: vec![Quantity {
                y: "a year".into(),
                curves: vec![Curve {
                    points: points.iter().map(point).collect(),
                    ring: points.last().map(|(x, ..)| *x),
                }],
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
        assert_eq!(plot.panels[0].rings, [(2.0, -1.0)]);
        let ticks: Vec<&str> = plot.x.ticks.iter().map(|(_, text)| &**text).collect();
        assert_eq!(ticks, ["1", "100"]);
    }

    #[test]
    fn each_panel_has_its_own_scale_and_one_without_points_is_left_out() {
        let mut chart = curves(&[(1.0, 10.0, 5.0, 20.0)]);
        let more = curves(&[(1.0, 3000.0, 2000.0, 4000.0)]).panels;
        chart.panels.extend(more);
        chart.panels.extend(curves(&[]).panels);
        let plot = chart.plot().expect("points");
        let ranges = plot.panels.iter().filter_map(|panel| panel.upright.clone());
        let ranges: Vec<_> = ranges.map(|(scale, _)| scale.range).collect();
        assert_eq!(ranges, [(0.0, 2.0), (3.0, 4.0)]);
    }

    #[test]
    fn every_panel_is_drawn_with_its_own_axis() {
        let mut chart = curves(&[(1.0, 10.0, 5.0, 20.0)]);
        let more = curves(&[(1.0, 3000.0, 2000.0, 4000.0)]).panels;
        chart.panels.extend(more);
        let drawing = chart.draw(&Sheet::SCREEN).expect("points");
        let svg = crate::svg(&drawing);
        for tick in ["100", "10000"] {
            assert!(svg.contains(&format!("\n{tick}\n")), "{tick}: {svg}");
        }
    }

    #[test]
    fn without_a_point_there_is_no_chart() {
        assert!(curves(&[]).draw(&Sheet::SCREEN).is_err());
        assert!(curves(&[(5.0, 1.0, 0.5, 2.0)]).draw(&Sheet::SCREEN).is_ok());
    }
}
