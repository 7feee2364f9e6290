//! Predictions, and whether runs confirm them.

use std::fmt;

use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};

use super::basis::Basis;
use super::interval::strict;
use super::{Tally, wilson};

/// The default bound: a prediction that a property holds is confirmed by a rate of at most
/// this.
pub const DEFAULT_AT_MOST: f64 = 0.05;

/// A predicted violation without a rate is refuted by a rate that is shown to be lower than
/// this: a prediction of a rare violation has to give its rate.
const RAREST: f64 = 0.01;

/// Numbers of runs beyond this are not reported.
const MAX_RUNS: u64 = 100_000_000;

/// The expectation for a property over many runs, and how far it has to be shown.
///
/// In a scenario `"holds"`, `"violated"`, `{ verdict = "holds", at_most = 0.01 }` or
/// `{ verdict = "violated", rate = [0.32, 0.35], basis = "calculated" }`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Prediction {
    /// No run violates it, and the runs show that its rate is at most `at_most`.
    Holds {
        /// A share of all runs, above 0 and below 1.
        at_most: f64,
    },
    /// Runs violate it.
    Violated {
        /// The lowest and the highest rate that fits, as shares of all runs; if absent, any
        /// rate fits.
        rate: Option<[f64; 2]>,
        /// What it rests on.
        basis: Basis,
    },
}

/// The verdict that a prediction names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Expected {
    /// No run violates it.
    Holds,
    /// Some run violates it.
    Violated,
}

/// The finding of many runs of one scenario about a property.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Finding {
    /// No run violated it, and enough runs could have.
    Holds,
    /// Some run violated it.
    Violated,
    /// No run violated it, and too few runs could have.
    Inconclusive,
}

/// Whether runs confirm a prediction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Judgement {
    /// Nothing was predicted, and nothing needs to be reported.
    Unpredicted,
    /// The runs confirm the prediction, to its bound.
    AsPredicted,
    /// The runs are consistent with it, but too few to confirm it.
    Inconclusive,
    /// The runs refute it, or show a violation that was not predicted.
    Differs,
}

impl Prediction {
    /// The prediction that a property holds, to the default bound.
    pub const HOLDS: Prediction = Prediction::Holds {
        at_most: DEFAULT_AT_MOST,
    };

    /// The prediction that some run violates a property.
    pub const VIOLATED: Prediction = Prediction::Violated {
        rate: None,
        basis: Basis::Mechanism,
    };

    /// What it rests on.
    pub fn basis(self) -> Basis {
        match self {
            Prediction::Holds { .. } => Basis::Mechanism,
            Prediction::Violated { basis, .. } => basis,
        }
    }

    /// The predicted verdict.
    pub fn expected(self) -> Expected {
        match self {
            Prediction::Holds { .. } => Expected::Holds,
            Prediction::Violated { .. } => Expected::Violated,
        }
    }

    /// Judges the prediction by runs.
    ///
    /// - *Holds up to b*: differs with the first violation; as predicted when, of the runs
    ///   that could have shown one, the 95 % interval ends at b or below.
    /// - *Violated at a rate from a to b*: as predicted when some run violates it and the 95 %
    ///   interval of the rate meets the range and is no wider than that; differs when the 99.9 %
    ///   interval does not meet it. (The matrix judges some hundred rates together; 95 % intervals
    ///   would refute several correct ones.)
    /// - *Violated* without a rate: as predicted with the first violation; differs when the
    ///   99.9 % interval of the rate ends below 1 %.
    ///
    /// Any other result is inconclusive.
    pub fn judge(self, tally: &Tally) -> Judgement {
        let rate = tally.rate();
        let excluding = strict(rate.violated, rate.runs);
        let (is_shown, is_excluded) = match self {
            Prediction::Holds { at_most } => (tally.at_most() <= at_most, tally.violated > 0),
            Prediction::Violated { rate: None, .. } => {
                (tally.violated > 0, excluding.high < RAREST)
            }
            Prediction::Violated {
                rate: Some([a, b]), ..
            } => {
                let showing = rate.interval();
                let is_narrow = showing.width() <= b - a;
                let is_shown = tally.violated > 0 && is_narrow && showing.overlaps(&(a..=b));
                (is_shown, !excluding.overlaps(&(a..=b)))
            }
        };
        match (is_excluded, is_shown) {
            (true, _) => Judgement::Differs,
            (false, true) => Judgement::AsPredicted,
            (false, false) => Judgement::Inconclusive,
        }
    }

    /// The finding of all runs. It is `Holds` only if they show it to the bound of the prediction,
    /// or, if the prediction gives none, to the default bound.
    pub fn finding(self, tally: &Tally) -> Finding {
        let wanted = match self {
            Prediction::Holds { at_most } => at_most,
            Prediction::Violated { .. } => DEFAULT_AT_MOST,
        };
        match tally.violated {
            0 if tally.at_most() <= wanted => Finding::Holds,
            0 => Finding::Inconclusive,
            _ => Finding::Violated,
        }
    }

    /// How many more runs would decide it, if their results were like these; `None` if these
    /// runs decide it, or if no number would.
    pub fn more_runs(self, tally: &Tally) -> Option<u64> {
        if self.judge(tally) != Judgement::Inconclusive || tally.runs() == 0 {
            return None;
        }
        let is_decided = |runs| self.judge(&scaled(tally, runs)) != Judgement::Inconclusive;
        let enough = first(tally.runs(), is_decided)?;
        Some(enough - tally.runs())
    }

    /// How many runs show it if it is right and every run can show it: for a rate, the number
    /// for that value of its range which needs most.
    pub fn runs_needed(self) -> u64 {
        let needed = match self {
            Prediction::Holds { at_most } => first(1, |runs| wilson(0, runs).high <= at_most),
            Prediction::Violated { rate: None, .. } => Some(1),
            Prediction::Violated {
                rate: Some([a, b]), ..
            } => {
                // The widest interval is that of the rate closest to a half.
                let rate = 0.5_f64.clamp(a, b);
                let violated = |runs| (rate * runs as f64).round() as u64;
                first(1, |runs| wilson(violated(runs), runs).width() <= b - a)
            }
        };
        needed.unwrap_or(MAX_RUNS)
    }

    /// Why its numbers are invalid, if they are.
    pub fn problem(self) -> Option<String> {
        match self {
            Prediction::Holds { at_most } if !(at_most > 0.0 && at_most < 1.0) => Some(format!(
                "\"at_most\" is a share of all runs, above 0 and below 1, not {at_most}"
            )),
            Prediction::Violated {
                rate: Some([a, b]), ..
            } if !(0.0 <= a && a < b && b <= 1.0) => Some(format!(
                "\"rate\" is the lowest and the highest share of all runs that fits, such as \
                     [0.32, 0.35], not [{a}, {b}]; its width says how exactly it is to be shown"
            )),
            _ => None,
        }
    }
}

/// The smallest number from `start` on for which `is_enough` is true; it is true for larger
/// ones too.
fn first(start: u64, is_enough: impl Fn(u64) -> bool) -> Option<u64> {
    let mut high = start.max(1);
    while !is_enough(high) {
        high = high.checked_mul(2).filter(|runs| *runs <= MAX_RUNS)?;
    }
    let mut low = (high / 2).max(start);
    while low < high {
        let middle = low + (high - low) / 2;
        match is_enough(middle) {
            true => high = middle,
            false => low = middle + 1,
        }
    }
    Some(high)
}

/// This many runs with verdicts in the same proportions.
fn scaled(tally: &Tally, runs: u64) -> Tally {
    let part =
        |count: u64| (u128::from(count) * u128::from(runs) / u128::from(tally.runs())) as u64;
    let (holds, violated) = (part(tally.holds), part(tally.violated));
    Tally {
        holds,
        violated,
        inconclusive: runs - holds - violated,
        ..Tally::default()
    }
}

impl Finding {
    /// Its spelling in files and tables.
    pub fn name(self) -> &'static str {
        match self {
            Finding::Holds => "holds",
            Finding::Violated => "violated",
            Finding::Inconclusive => "inconclusive",
        }
    }
}

impl Judgement {
    /// Its spelling in files and tables.
    pub fn name(self) -> &'static str {
        match self {
            Judgement::Unpredicted => "unpredicted",
            Judgement::AsPredicted => "as-predicted",
            Judgement::Inconclusive => "inconclusive",
            Judgement::Differs => "differs",
        }
    }
}

impl Expected {
    /// Its spelling in scenarios and tables.
    pub fn name(self) -> &'static str {
        match self {
            Expected::Holds => "holds",
            Expected::Violated => "violated",
        }
    }
}

impl From<Expected> for Prediction {
    fn from(expected: Expected) -> Prediction {
        match expected {
            Expected::Holds => Prediction::HOLDS,
            Expected::Violated => Prediction::VIOLATED,
        }
    }
}

/// `holds`, `holds (≤ 1 %)`, `violated`, `violated (95–100 %)`, `violated (32–35 %, measured)`.
impl fmt::Display for Prediction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.expected().name();
        // Three digits of a percentage, without trailing zeros.
        let percent = |share: f64| (share * 100_000.0).round() / 1_000.0;
        match *self {
            Prediction::HOLDS | Prediction::Violated { rate: None, .. } => f.pad(name),
            Prediction::Holds { at_most } => f.pad(&format!("{name} (≤ {} %)", percent(at_most))),
            Prediction::Violated {
                rate: Some([a, b]),
                basis,
            } => {
                let basis = match basis {
                    Basis::Mechanism => String::new(),
                    Basis::Calculated | Basis::Measured => format!(", {}", basis.name()),
                };
                f.pad(&format!("{name} ({}–{} %{basis})", percent(a), percent(b)))
            }
        }
    }
}

/// The long form of a prediction.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Long {
    verdict: Expected,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rate: Option<[f64; 2]>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at_most: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    basis: Option<Basis>,
}

impl Serialize for Prediction {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let long = match *self {
            Prediction::HOLDS | Prediction::VIOLATED => {
                return self.expected().serialize(serializer);
            }
            Prediction::Holds { at_most } => (None, Some(at_most), None),
            Prediction::Violated { rate, basis } => (
                rate,
                None,
                Some(basis).filter(|basis| *basis != Basis::of(rate)),
            ),
        };
        let (rate, at_most, basis) = long;
        let verdict = self.expected();
        Long {
            verdict,
            rate,
            at_most,
            basis,
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Prediction {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Prediction;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "\"holds\", \"violated\", or a table such as \
             { verdict = \"violated\", rate = [0.32, 0.35] }",
        )
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Prediction, E> {
        Expected::deserialize(StrDeserializer::new(text)).map(Prediction::from)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Prediction, A::Error> {
        let long = Long::deserialize(MapAccessDeserializer::new(map))?;
        if long.rate.is_none() && long.basis.is_some() {
            return Err(de::Error::custom(
                "\"basis\" needs a \"rate\": what it follows from, or was measured in",
            ));
        }
        match (long.verdict, long.rate, long.at_most) {
            (Expected::Holds, None, at_most) => Ok(Prediction::Holds {
                at_most: at_most.unwrap_or(DEFAULT_AT_MOST),
            }),
            (Expected::Violated, rate, None) => Ok(Prediction::Violated {
                rate,
                basis: long.basis.unwrap_or(Basis::of(rate)),
            }),
            (Expected::Holds, Some(_), _) => Err(de::Error::custom(
                "\"rate\" needs the verdict \"violated\"; with \"holds\" write \"at_most\"",
            )),
            (Expected::Violated, _, Some(_)) => Err(de::Error::custom(
                "\"at_most\" needs the verdict \"holds\"; with \"violated\" write \"rate\"",
            )),
        }
    }
}

#[cfg(test)]
mod tests;
