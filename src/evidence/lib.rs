//! Rates, intervals and predictions: the only place that turns runs into rates, computes their
//! intervals, and judges predictions.
//!
//! - A *rate* is violated runs over **all** runs. A run whose fault never took effect, or in
//!   which no clients contended, is a run without a violation; the number of such runs is
//!   reported beside the rate. See [`Tally`] and [`Rate`].
//! - A *conditional rate* names its condition, and the condition is a property of the run that
//!   does not depend on its outcome. There is one: every fault of the run took effect.
//! - A *prediction* is a verdict and the evidence that it needs; see [`Prediction`].
//! - Fisher's exact test says whether two rates may be equal; see [`same_rate`]. How far they may be
//!   apart is an interval of their difference, of [`Pairs`] of runs or of two samples
//!   ([`difference`]).
//! - Smirnov's test says whether one duration tends to be shorter than another; see [`smaller`]. The
//!   sign test does so for pairs; see [`heads`].
//! - A rate that is too rare to count is estimated from [`Weighted`] runs, or is the mean of independent
//!   estimates ([`Replicated`]). A [`Sum`] of their weights does not depend on the order of the runs.
//! - The result of too few runs is *inconclusive*, with the number of runs that would decide.
//!
//! This crate does not depend on properties, scenarios or histories; no other crate turns
//! counts of runs into rates.

mod basis;
mod interval;
mod mean;
mod pairs;
mod prediction;
mod rate;
mod replicated;
mod same;
mod smirnov;
mod student;
mod sum;
mod tally;
mod weighted;
mod words;

pub use basis::Basis;
pub use interval::{Interval, Level, bootstrap, of_mean, of_quantity, wilson};
pub use mean::Mean;
pub use pairs::{Pairs, difference, heads};
pub use prediction::{DEFAULT_AT_MOST, Expected, Finding, Judgement, Prediction};
pub use rate::Rate;
pub use replicated::{REPLICATIONS, Replicated};
pub use same::same_rate;
pub use smirnov::smaller;
pub use sum::Sum;
pub use tally::Tally;
pub use weighted::{LEAST_EFFECTIVE, Weighted};
pub use words::{p_equals, p_value, thousands};
