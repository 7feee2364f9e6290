//! The quantity that a chart shows for each cell: the rate of a property, or the loss rate.

use super::ChartOptions;
use locklab_check::Property;
use locklab_results::{Cell, Sweep};

/// A quantity that every cell has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Measure {
    /// The share of all runs that violate the property.
    Violations(Property),
    /// The share of acknowledged adds that were lost.
    Loss,
}

/// A measured rate, in percent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Rate {
    pub(super) rate: f64,
    pub(super) low: f64,
    pub(super) high: f64,
    /// The share of inconclusive runs.
    pub(super) inconclusive: f64,
}

impl Measure {
    /// The quantities to draw for a sweep.
    pub(super) fn wanted(sweep: &Sweep, options: &ChartOptions) -> Vec<Measure> {
        let is_measured = sweep.cells.iter().any(|cell| cell.loss.is_some());
        match (&options.properties[..], is_measured) {
            ([], true) => vec![Measure::Loss],
            ([], false) => (judged(sweep).into_iter().map(Measure::Violations)).collect(),
            (asked, _) => asked.iter().copied().map(Measure::Violations).collect(),
        }
    }

    /// Its value in a cell, if it was measured there.
    pub(super) fn of(self, cell: &Cell) -> Option<Rate> {
        let (rate, interval, inconclusive) = match self {
            Measure::Violations(property) => {
                let tally = cell.tallies.get(&property)?;
                let rate = tally.rate();
                (rate.share()?, rate.interval(), tally.inconclusive_share())
            }
            Measure::Loss => {
                let loss = cell.loss.as_ref()?;
                (loss.rate(), loss.interval(), 0.0)
            }
        };
        Some(Rate {
            rate: 100.0 * rate,
            low: 100.0 * interval.low,
            high: 100.0 * interval.high,
            inconclusive: 100.0 * inconclusive,
        })
    }

    /// Its name in legends and above panels.
    pub(super) fn name(self) -> &'static str {
        match self {
            Measure::Loss => "loss rate",
            Measure::Violations(property) => property.violated(),
        }
    }

    /// The title of the axis of rates.
    pub(super) fn axis_title(measures: &[Measure]) -> String {
        match measures {
            [Measure::Loss] => "share of acknowledged adds lost (%)".to_owned(),
            [Measure::Violations(only)] => format!("share of all runs that violate {only} (%)"),
            _ => "share of all runs that violate the property (%)".to_owned(),
        }
    }
}

/// `lease` and `resource`, if they were judged; if neither was, all that were.
fn judged(sweep: &Sweep) -> Vec<Property> {
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
