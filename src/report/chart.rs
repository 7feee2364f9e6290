//! The rate chart: how often a property was violated, against what was swept.
//!
//! Each point is the share of all runs of one cell that violate one property, with its
//! 95 % Wilson interval; a grey dash is the share of runs that could not have shown it. The first swept parameter with numeric values is the
//! x axis; the other parameters and the properties make the series. Where no
//! parameter is numeric, the values of the first stand side by side as bars. A sweep that
//! measured how much was lost shows that rate instead, unless it is asked for properties.

mod draw;
mod series;
mod x_axis;

use super::Error;
use crate::{check::Property, results::Sweep};

/// What a chart shows beside the data.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ChartOptions {
    /// The properties to draw. Empty: Bd and R, those of them that were judged,
    /// since B∞ is broken by every lock with a lease; without either, all.
    pub properties: Vec<Property>,
    /// How far up the rate axis goes.
    pub rate_axis: RateAxis,
}

/// How far up the rate axis goes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RateAxis {
    /// To 100 %, so that charts can be compared at a glance.
    #[default]
    Full,
    /// To just above the highest interval, for rare violations.
    Fitted,
}

/// Draws the chart, as SVG.
///
/// # Errors
///
/// [`Error::NothingJudged`] if no cell has a judged run of the properties.
pub fn draw(sweep: &Sweep, options: &ChartOptions) -> Result<String, Error> {
    draw::svg(&series::plot(sweep, options)?)
}
