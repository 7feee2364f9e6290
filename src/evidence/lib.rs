//! Rates, intervals and predictions: the only place that turns runs into rates, computes their
//! intervals, and judges predictions.
//!
//! - A *rate* is violated runs over **all** runs. A run in which the fault never took effect, in which no
//!   clients contended when it could matter, or in which this property had no opportunity
//!   (`src/check/opportunity.rs`), counts as a run without a violation; the number of such
//!   *inconclusive* runs is printed beside the rate. (Rates over conclusive runs only were too high:
//!   every violation is conclusive, so the denominator shrank exactly where nothing happened.) See
//!   [`Tally`] and [`Rate`].
//! - A *conditional rate* names its condition, and the condition is a property of the run that does not
//!   depend on its outcome. There is one: every fault of the run began, which its schedule and the
//!   length of the run decide. With several faults, the harm of one may end a run before the next
//!   begins. So this rate is printed beside the other, and no prediction rests on it.
//! - Intervals are 95 % Wilson intervals; a quantity measured over many runs together (`locklab study cost`)
//!   has a percentile bootstrap interval over runs. All cells of a sweep or of the matrix use the same
//!   seeds (common random numbers): they compare well, and their errors are correlated.
//! - A *prediction* is a verdict and how strongly it has to be shown; see [`Prediction`]. *Holds up to b*
//!   (5 % unless stated) differs with the first violation; it is as predicted when, of the runs that
//!   could have shown a violation, the interval ends at or below b. *Violated at a rate from a to b* is
//!   as predicted when a run violates it and the interval meets the range and is no wider; it differs
//!   when the 99.9 % interval does not meet the range. *Violated* alone is as predicted with the first
//!   violation, and differs when the rate is shown to be below 1 %. It is 99.9 % because some hundred
//!   rates are judged together, and 95 % intervals would refute several correct ones.
//! - A prediction has a [`Basis`]. Where a rate follows from a calculation, the scenario says so, and
//!   `tests/paper/` compares the printed rate with it. A rate of `[0.95, 1]`, and *holds*, rest on the
//!   mechanism, which always or never strikes. Other rates are measured: they keep a rate from changing
//!   unnoticed, and prove nothing.
//! - The result of too few runs is *inconclusive* (exit code 3), with the number of runs that would
//!   decide. A campaign predicts nothing; there a property that no run violates is inconclusive also if
//!   its runs did not meet the situations that it needs (`src/situations`).
//! - Fisher's exact test says whether two rates may be equal; see [`same_rate`]. How far they may be
//!   apart is an interval of their difference, of [`Pairs`] of runs or of two samples
//!   ([`difference`]).
//! - Smirnov's test says whether one duration tends to be shorter than another; see [`smaller`]. The
//!   sign test does so for pairs; see [`heads`].
//! - A rate that is too rare to count is estimated from [`Weighted`] runs, or is the mean of independent
//!   estimates ([`Replicated`]). A [`Sum`] of their weights does not depend on the order of the runs. Where few
//!   violations decide it, its interval is that [`of_weights`].
//!
//! This crate does not depend on properties, scenarios or histories; no other crate turns
//! counts of runs into rates.

mod basis;
mod gamma;
mod interval;
mod mean;
mod pairs;
mod prediction;
mod quantile;
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
pub use gamma::of_weights;
pub use interval::{Interval, Level, bootstrap, of_mean, of_quantity, wilson};
pub use mean::Mean;
pub use pairs::{Pairs, difference, heads};
pub use prediction::{DEFAULT_AT_MOST, Expected, Finding, Judgement, Prediction};
pub use quantile::{median, median_interval, quantile};
pub use rate::Rate;
pub use replicated::{REPLICATIONS, Replicated};
pub use same::same_rate;
pub use smirnov::smaller;
pub use sum::Sum;
pub use tally::Tally;
pub use weighted::{LEAST_EFFECTIVE, Weighted};
pub use words::{p_equals, p_value, thousands};
