//! Converts a sweep's counts to the points of a chart.

use std::collections::BTreeMap;

use super::{
    super::Error,
    ChartOptions, RateAxis,
    x_axis::{Kind, XAxis, parameter_label},
};
use crate::{
    check::Property,
    results::{Cell, Seeding, Sweep},
};

/// The contents of a chart, in the units of its axes: percent on y.
pub(super) struct Plot {
    pub(super) title: String,
    pub(super) subtitle: String,
    pub(super) y_label: String,
    /// Percent at the top of the y axis.
    pub(super) top: f64,
    pub(super) x: XAxis,
    pub(super) series: Vec<Series>,
}

/// One line, or one colour of bars.
pub(super) struct Series {
    pub(super) label: String,
    pub(super) points: Vec<Point>,
}

/// One cell's rate, in percent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Point {
    pub(super) x: f64,
    pub(super) rate: f64,
    pub(super) low: f64,
    pub(super) high: f64,
    /// The share of inconclusive runs.
    pub(super) inconclusive: f64,
}

/// Converts the sweep to a chart.
pub(super) fn plot(sweep: &Sweep, options: &ChartOptions) -> Result<Plot, Error> {
    let properties = properties(sweep, options);
    let of_loss = options.properties.is_empty() && is_measured(sweep);
    let x_parameter = x_parameter(sweep);
    let x = x_axis(sweep, x_parameter);
    let series = match of_loss {
        true => losses(sweep, x_parameter, &x),
        false => series(sweep, &properties, x_parameter, &x),
    };
    if series.is_empty() {
        let asked: Vec<&str> = properties.iter().map(|&p| name(p)).collect();
        return Err(Error::NothingJudged {
            scenario: sweep.scenario.clone(),
            asked: match asked.is_empty() {
                true => "any property".to_owned(),
                false => asked.join(" or "),
            },
        });
    }
    Ok(Plot {
        title: sweep.title.clone(),
        subtitle: match of_loss {
            true => format!("{}; 95 % intervals over runs", seeds(sweep)),
            false => subtitle(sweep, &series),
        },
        y_label: match properties[..] {
            _ if of_loss => "share of acknowledged adds lost (%)".to_owned(),
            [only] => format!("share of all runs that violate {} (%)", name(only)),
            _ => "share of all runs that violate the property (%)".to_owned(),
        },
        top: top(&series, options.rate_axis),
        x,
        series,
    })
}

fn properties(sweep: &Sweep, options: &ChartOptions) -> Vec<Property> {
    if !options.properties.is_empty() {
        return options.properties.clone();
    }
    let mut judged: Vec<Property> = (sweep.cells.iter())
        .flat_map(|cell| &cell.tallies)
        .filter(|(_, tally)| tally.inconclusive < tally.runs())
        .map(|(&property, _)| property)
        .collect();
    judged.sort();
    judged.dedup();
    let headline: Vec<Property> = (judged.iter().copied())
        .filter(|property| matches!(property, Property::Lease | Property::Resource))
        .collect();
    match headline.is_empty() {
        true => judged,
        false => headline,
    }
}

/// The index of the first parameter with numeric values; otherwise of the first that varies;
/// otherwise of the first.
fn x_parameter(sweep: &Sweep) -> usize {
    let count = sweep.cells.first().map_or(0, |cell| cell.parameters.len());
    let numeric = |place: usize| values(sweep, place).all(|value| parse_number(value).is_some());
    let varies = |place: usize| values(sweep, place).any(|value| value != first(sweep, place));
    (0..count)
        .find(|&place| numeric(place) && varies(place))
        .or_else(|| (0..count).find(|&place| varies(place)))
        .unwrap_or(0)
}

fn values(sweep: &Sweep, place: usize) -> impl Iterator<Item = &str> {
    (sweep.cells.iter()).filter_map(move |cell| Some(cell.parameters.get(place)?.1.as_str()))
}

fn first(sweep: &Sweep, place: usize) -> &str {
    values(sweep, place).next().unwrap_or_default()
}

fn x_axis(sweep: &Sweep, place: usize) -> XAxis {
    let path = (sweep.cells.first())
        .and_then(|cell| cell.parameters.get(place))
        .map(|(path, _)| path.as_str());
    let numbers: Option<Vec<f64>> = values(sweep, place).map(parse_number).collect();
    match (path, numbers) {
        (Some(path), Some(numbers)) if !numbers.is_empty() => XAxis::numeric(path, numbers),
        (path, _) => {
            let mut words = Vec::new();
            for word in values(sweep, place).map(unquoted) {
                if !words.contains(&word) {
                    words.push(word);
                }
            }
            if words.is_empty() {
                words.push(String::new());
            }
            XAxis::words(path, &words)
        }
    }
}

/// The series in the order of the grid, and within a cell in the order of the properties.
fn series(sweep: &Sweep, properties: &[Property], place: usize, x: &XAxis) -> Vec<Series> {
    let mut order: Vec<String> = Vec::new();
    let mut points: BTreeMap<String, Vec<Point>> = BTreeMap::new();
    for cell in &sweep.cells {
        let Some(position) = position(cell, place, x) else {
            continue;
        };
        for &property in properties {
            let Some(point) = point(cell, property, position) else {
                continue;
            };
            let label = label(sweep, cell, place, property, properties.len());
            if !order.contains(&label) {
                order.push(label.clone());
            }
            points.entry(label).or_default().push(point);
        }
    }
    let in_order = order.into_iter().filter_map(|label| {
        let mut points = points.remove(&label)?;
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        let says_something = points.iter().any(|point| point.inconclusive < 100.0);
        says_something.then_some(Series { label, points })
    });
    in_order.collect()
}

/// Whether the sweep measured losses.
fn is_measured(sweep: &Sweep) -> bool {
    sweep.cells.iter().any(|cell| cell.loss.is_some())
}

/// The loss rate, as one series.
fn losses(sweep: &Sweep, place: usize, x: &XAxis) -> Vec<Series> {
    let point = |cell: &Cell| {
        let loss = cell.loss.as_ref()?;
        let interval = loss.interval();
        Some(Point {
            x: position(cell, place, x)?,
            rate: 100.0 * loss.rate(),
            low: 100.0 * interval.low,
            high: 100.0 * interval.high,
            inconclusive: 0.0,
        })
    };
    let points = sweep.cells.iter().filter_map(point).collect();
    vec![Series {
        label: "loss rate".to_owned(),
        points,
    }]
}

fn position(cell: &Cell, place: usize, x: &XAxis) -> Option<f64> {
    let value = (cell.parameters.get(place)).map_or("", |(_, value)| value.as_str());
    match x.kind {
        Kind::Proportional | Kind::Even => x.position(parse_number(value)?),
        Kind::Words => {
            let word = unquoted(value);
            let tick = x.ticks.iter().find(|(_, label)| *label == word)?;
            Some(tick.0)
        }
    }
}

/// A property's rate in a cell, over all its runs.
fn point(cell: &Cell, property: Property, x: f64) -> Option<Point> {
    let tally = cell.tallies.get(&property)?;
    let interval = tally.rate().interval();
    Some(Point {
        x,
        rate: 100.0 * tally.rate().share()?,
        low: 100.0 * interval.low,
        high: 100.0 * interval.high,
        inconclusive: 100.0 * tally.inconclusive_share(),
    })
}

/// The label that distinguishes a series: its property, if there are several, and the values of
/// the varying parameters other than the x axis.
fn label(sweep: &Sweep, cell: &Cell, x: usize, property: Property, properties: usize) -> String {
    let varied = cell
        .parameters
        .iter()
        .enumerate()
        .filter(|&(place, _)| {
            place != x && values(sweep, place).any(|value| value != first(sweep, place))
        })
        .map(|(_, (path, value))| format!("{} = {}", parameter_label(path), unquoted(value)));
    let mut parts: Vec<String> = varied.collect();
    if properties > 1 || parts.is_empty() {
        parts.insert(0, name(property).to_owned());
    }
    parts.join(", ")
}

fn seeds(sweep: &Sweep) -> String {
    let seeding = match (sweep.seeding, sweep.cells.len()) {
        (_, 0..=1) => "",
        (Seeding::Common, _) => ", the same seeds for each (common random numbers)",
        (Seeding::Independent, _) => ", different seeds for each",
    };
    match sweep.seeds {
        1 => format!("1 run for each point{seeding}"),
        runs => format!("{runs} runs for each point{seeding}"),
    }
}

fn subtitle(sweep: &Sweep, series: &[Series]) -> String {
    let points = series.iter().flat_map(|line| &line.points);
    let most = points.map(|point| point.inconclusive).fold(0.0, f64::max);
    let seeds = seeds(sweep);
    let intervals = "95 % Wilson intervals";
    match most {
        0.0 => format!("{seeds}; {intervals}"),
        _ => format!("{seeds}; {intervals}; grey dashes: inconclusive runs, up to {most:.1} %"),
    }
}

fn top(series: &[Series], axis: RateAxis) -> f64 {
    let points = series.iter().flat_map(|line| &line.points);
    let highest = points.map(|point| point.high).fold(0.0, f64::max);
    match axis {
        RateAxis::Full => 100.0,
        RateAxis::Fitted => [0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0]
            .into_iter()
            .find(|&top| highest <= top)
            .unwrap_or(100.0),
    }
}

/// The name of a property in charts.
fn name(property: Property) -> &'static str {
    match property {
        Property::Belief => "B∞ (one believer)",
        Property::Lease => "Bd (one holder within its lease)",
        Property::Resource => "R (resource intact)",
        Property::StaleWrite => "no stale write",
        Property::LostUpdate => "no lost update",
        Property::TokenRegression => "no token regression",
        Property::Progress => "progress",
        Property::ForeignRelease => "no foreign release",
        Property::Deadlock => "no deadlock",
        Property::Availability => "available",
        Property::AcknowledgedLost => "no acknowledged add lost",
        Property::Fifo => "first in, first out",
    }
}

/// Parses a number in TOML's notation; `None` if it is not a finite number.
fn parse_number(value: &str) -> Option<f64> {
    let number: f64 = value.replace('_', "").parse().ok()?;
    number.is_finite().then_some(number)
}

fn unquoted(value: &str) -> String {
    value.trim_matches('"').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::Loss;
    use crate::evidence::Tally;
    use crate::results::loss::LossRate;

    /// A cell with two runs that lost these shares of a hundred adds.
    fn cell(value: &str, lost: [u64; 2]) -> Cell {
        let mut loss = LossRate::default();
        for lost in lost {
            loss.add(Loss {
                acknowledged: 100,
                lost,
            });
        }
        let violated = Tally {
            violated: 2,
            ..Tally::default()
        };
        Cell {
            parameters: vec![("fault.split.duration_ms".into(), value.into())],
            tallies: [(Property::AcknowledgedLost, violated)].into(),
            loss: Some(loss),
            ..Cell::default()
        }
    }

    #[test]
    fn a_measured_loss_is_drawn_unless_a_property_is_asked_for() {
        let sweep = Sweep {
            seeds: 2,
            cells: vec![cell("1000", [20, 20]), cell("2000", [40, 60])],
            ..Sweep::default()
        };
        let rates = |options: &ChartOptions| {
            let plot = plot(&sweep, options).expect("something to draw");
            let rates = plot.series[0].points.iter().map(|point| point.rate);
            (plot.y_label, rates.collect::<Vec<f64>>())
        };
        let (label, measured) = rates(&ChartOptions::default());
        assert_eq!(label, "share of acknowledged adds lost (%)");
        assert_eq!(measured, [20.0, 50.0]);
        let asked = ChartOptions {
            properties: vec![Property::AcknowledgedLost],
            ..ChartOptions::default()
        };
        assert_eq!(rates(&asked).1, [100.0, 100.0]);
    }
}
