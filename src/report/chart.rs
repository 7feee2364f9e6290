//! The rate chart: how often a property was violated, over the swept parameters.
//!
//! Each point is the share of all runs of one cell that violate one property, with its 95 %
//! Wilson interval; a grey dash is the share of inconclusive runs. The first swept parameter
//! with numeric values is the x axis; the other parameters and the properties form the series.
//! If no parameter is numeric, the values of the first are drawn side by side as bars. A sweep
//! that measured losses shows the loss rate instead, unless properties are requested.

mod draw;
mod series;
mod x_axis;

use super::Error;
use crate::{check::Property, results::Sweep};

/// The options of a chart.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ChartOptions {
    /// The properties to draw. Empty: those of Bd and R that were judged (every lock with a
    /// lease violates B∞); if neither was, all.
    pub properties: Vec<Property>,
    /// The upper end of the rate axis.
    pub rate_axis: RateAxis,
}

/// The upper end of the rate axis.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RateAxis {
    /// 100 %, so that charts are easy to compare.
    #[default]
    Full,
    /// Just above the highest interval, for rare violations.
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
