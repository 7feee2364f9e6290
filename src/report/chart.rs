//! The rate chart: the violation rate of a property over the swept parameters.
//!
//! Each point is the share of all runs of one cell that violate one property, with its 95 %
//! Wilson interval; a grey dash is the share of inconclusive runs. The numeric parameter with
//! the most values is the x axis. Two numeric parameters with more than four values each form a
//! heat map; otherwise the other parameters and the properties form lines, in panels where one
//! would be crowded. If no parameter is numeric, the values of the first are drawn side by side
//! as bars. A sweep that measured losses shows the loss rate instead, unless properties are
//! requested.
//!
//! The chart does not rely on colours: lines have dashes and markers of their own, and markers at
//! one place are drawn side by side; heat maps have their values written into them.

mod axis_scale;
mod backend;
mod curves;
mod draw;
mod frame;
mod heat;
mod lines;
mod measure;
mod pen;
mod plot;

pub use self::curves::{Curve, Curves, Estimate, Quantity};

use super::{Drawing, Error, Sheet};
use locklab_check::Property;
use locklab_results::Sweep;

/// The options of a chart.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ChartOptions {
    /// The properties to draw. Empty: `lease` and `resource`, if judged (every lock with a
    /// lease violates `belief`); if neither was, all.
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

/// Draws the chart.
///
/// # Errors
///
/// [`Error::NothingJudged`] if no cell has a judged run of the properties.
pub fn draw(sweep: &Sweep, options: &ChartOptions, sheet: &Sheet) -> Result<Drawing, Error> {
    draw::drawing(&plot::plot(sweep, options)?, sheet)
}
