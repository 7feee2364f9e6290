//! What a number means: the one place where runs become rates, rates get intervals, and
//! predictions are judged by them.
//!
//! - A *rate* is violated runs over **all** runs. A run whose fault never struck, or in
//!   which nobody contended, is a run without a violation; how many there were stands
//!   beside the rate. See [`Tally`] and [`Rate`].
//! - A *conditional rate* names its condition, and the condition is a property of the run
//!   that does not depend on its outcome. There is one: every fault of the run took effect.
//! - A *prediction* is a verdict and how far it has to be shown; see [`Prediction`].
//! - What too few runs say is *inconclusive*, with the number of runs that would decide.
//!
//! Nothing here knows properties, scenarios or histories; nobody else turns counts of runs
//! into rates.

mod interval;
mod prediction;
mod rate;
mod tally;
mod words;

pub use interval::{Interval, bootstrap, of_mean, wilson};
pub use prediction::{DEFAULT_AT_MOST, Expected, Judgement, Prediction};
pub use rate::Rate;
pub use tally::{Finding, Tally};
pub use words::thousands;
