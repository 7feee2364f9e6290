//! Predictions, and whether runs confirm them.

use std::fmt;

use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};

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
/// `{ verdict = "violated", rate = [0.32, 0.35] }`.
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
    pub const VIOLATED: Prediction = Prediction::Violated { rate: None };

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
            Prediction::Violated { rate: None } => (tally.violated > 0, excluding.high < RAREST),
            Prediction::Violated { rate: Some([a, b]) } => {
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
            Prediction::Violated { rate: None } => Some(1),
            Prediction::Violated { rate: Some([a, b]) } => {
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
            Prediction::Violated { rate: Some([a, b]) } if !(0.0 <= a && a < b && b <= 1.0) => {
                Some(format!(
                    "\"rate\" is the lowest and the highest share of all runs that fits, such as \
                     [0.32, 0.35], not [{a}, {b}]; its width says how exactly it is to be shown"
                ))
            }
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

/// `holds`, `holds (≤ 1 %)`, `violated`, `violated (32–35 %)`.
impl fmt::Display for Prediction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.expected().name();
        // Three digits of a percentage, without trailing zeros.
        let percent = |share: f64| (share * 100_000.0).round() / 1_000.0;
        match *self {
            Prediction::HOLDS | Prediction::Violated { rate: None } => f.pad(name),
            Prediction::Holds { at_most } => f.pad(&format!("{name} (≤ {} %)", percent(at_most))),
            Prediction::Violated { rate: Some([a, b]) } => {
                f.pad(&format!("{name} ({}–{} %)", percent(a), percent(b)))
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
}

impl Serialize for Prediction {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let long = match *self {
            Prediction::HOLDS | Prediction::VIOLATED => {
                return self.expected().serialize(serializer);
            }
            Prediction::Holds { at_most } => (None, Some(at_most)),
            Prediction::Violated { rate } => (rate, None),
        };
        let (rate, at_most) = long;
        let verdict = self.expected();
        Long {
            verdict,
            rate,
            at_most,
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
        match (long.verdict, long.rate, long.at_most) {
            (Expected::Holds, None, at_most) => Ok(Prediction::Holds {
                at_most: at_most.unwrap_or(DEFAULT_AT_MOST),
            }),
            (Expected::Violated, rate, None) => Ok(Prediction::Violated { rate }),
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
mod tests {
    use super::Judgement::{AsPredicted, Differs, Inconclusive};
    use super::*;
    use crate::tally::tests::tally;

    fn at_rate(a: f64, b: f64) -> Prediction {
        Prediction::Violated { rate: Some([a, b]) }
    }

    #[track_caller]
    fn check(prediction: Prediction, counts: [u64; 3], expected: Judgement) {
        let judgement = prediction.judge(&tally(counts));
        assert_eq!(judgement, expected, "{prediction} of {counts:?}");
    }

    #[test]
    fn holds_is_shown_by_enough_runs_that_could_have_violated_it() {
        check(Prediction::HOLDS, [100, 0, 0], AsPredicted);
        check(Prediction::HOLDS, [13, 0, 187], Inconclusive);
        check(Prediction::HOLDS, [0, 0, 200], Inconclusive);
        check(Prediction::HOLDS, [999, 1, 0], Differs);
        let strict = Prediction::Holds { at_most: 0.01 };
        check(strict, [100, 0, 0], Inconclusive);
        check(strict, [400, 0, 0], AsPredicted);
    }

    #[test]
    fn too_few_runs_find_nothing() {
        assert_eq!(
            Prediction::HOLDS.finding(&tally([72, 0, 0])),
            Finding::Inconclusive
        );
        assert_eq!(
            Prediction::HOLDS.finding(&tally([73, 0, 0])),
            Finding::Holds
        );
        assert_eq!(
            Prediction::HOLDS.finding(&tally([72, 0, 900])),
            Finding::Inconclusive
        );
        assert_eq!(
            Prediction::HOLDS.finding(&tally([0, 1, 0])),
            Finding::Violated
        );
    }

    #[test]
    fn violated_without_a_rate_is_refuted_by_many_runs_alone() {
        check(Prediction::VIOLATED, [99, 1, 0], AsPredicted);
        check(Prediction::VIOLATED, [20, 0, 0], Inconclusive);
        check(Prediction::VIOLATED, [2_000, 0, 0], Differs);
    }

    #[test]
    fn a_rate_is_shown_by_an_interval_as_narrow_as_its_range() {
        let third = at_rate(0.32, 0.35);
        check(third, [6_660, 3_340, 0], AsPredicted);
        check(third, [66, 34, 0], Inconclusive);
        check(third, [5_950, 4_050, 0], Differs);
        check(third, [0, 0, 20], Inconclusive);
        // Nine tenths of its length: the result of a pause of 0.9 of the mean.
        check(third, [7_020, 2_980, 0], Differs);
    }

    #[test]
    fn predicted_high_rate_differs_when_violations_are_rare() {
        let always = at_rate(0.95, 1.0);
        check(always, [0, 1_000, 0], AsPredicted);
        check(always, [999, 1, 0], Differs);
        check(always, [0, 20, 0], Inconclusive);
        check(always, [0, 1, 0], Inconclusive);
    }

    /// A range that includes 0 still requires a violation.
    #[test]
    fn a_violation_has_to_be_seen() {
        check(at_rate(0.0, 0.02), [10_000, 0, 0], Inconclusive);
        check(at_rate(0.0, 0.02), [9_999, 1, 0], AsPredicted);
    }

    #[test]
    fn too_few_runs_are_inconclusive_and_report_the_number_needed() {
        for (prediction, counts, expected) in [
            (Prediction::HOLDS, [20, 0, 0], Some(53)),
            (Prediction::HOLDS, [10, 0, 10], Some(126)),
            (Prediction::HOLDS, [0, 0, 20], None),
            (Prediction::HOLDS, [100, 0, 0], None),
            (Prediction::VIOLATED, [20, 0, 0], Some(1_052)),
            (at_rate(0.95, 1.0), [0, 20, 0], Some(53)),
            // Inconclusive runs count in a rate.
            (at_rate(0.32, 0.36), [10, 34, 56], Some(2_052)),
        ] {
            let more = prediction.more_runs(&tally(counts));
            assert_eq!(more, expected, "{prediction} of {counts:?}");
        }
    }

    #[test]
    fn bounds_are_shares_between_0_and_1() {
        for at_most in [0.0, 1.0, -0.1, 1.1, f64::NAN] {
            assert!(
                Prediction::Holds { at_most }.problem().is_some(),
                "{at_most}"
            );
        }
        assert_eq!(Prediction::Holds { at_most: 0.01 }.problem(), None);
        for (a, b) in [(0.5, 0.5), (-0.1, 0.5), (0.5, 1.1), (0.6, 0.5)] {
            assert!(at_rate(a, b).problem().is_some(), "{a} to {b}");
        }
        assert_eq!(at_rate(0.0, 1.0).problem(), None);
    }

    /// The same words as in files.
    #[test]
    fn names_match_the_file_format() {
        for finding in [Finding::Holds, Finding::Violated, Finding::Inconclusive] {
            let written = serde_json::to_value(finding).expect("it is a word");
            assert_eq!(written, finding.name());
        }
        for judgement in [Judgement::Unpredicted, AsPredicted, Inconclusive, Differs] {
            let written = serde_json::to_value(judgement).expect("it is a word");
            assert_eq!(written, judgement.name());
        }
    }

    #[test]
    fn as_many_runs_as_are_needed_decide() {
        assert_eq!(Prediction::HOLDS.runs_needed(), 73);
        assert_eq!(Prediction::VIOLATED.runs_needed(), 1);
        assert_eq!(at_rate(0.95, 1.0).runs_needed(), 302);
        let needed = at_rate(0.32, 0.35).runs_needed();
        for share in [0.32, 0.335, 0.35] {
            let violated = (needed as f64 * share) as u64;
            check(
                at_rate(0.32, 0.35),
                [needed - violated, violated, 0],
                AsPredicted,
            );
        }
    }

    #[test]
    fn the_forms_of_a_file() {
        #[derive(Debug, PartialEq, Serialize, Deserialize)]
        struct File {
            p: Prediction,
        }
        for (text, prediction) in [
            ("p = \"holds\"", Prediction::HOLDS),
            ("p = \"violated\"", Prediction::VIOLATED),
            (
                "p = { verdict = \"violated\", rate = [0.32, 0.35] }",
                at_rate(0.32, 0.35),
            ),
            (
                "p = { verdict = \"holds\", at_most = 0.01 }",
                Prediction::Holds { at_most: 0.01 },
            ),
        ] {
            let file: File = toml::from_str(text).expect(text);
            assert_eq!(file.p, prediction);
            let json = serde_json::to_string(&file).expect("it can be written");
            assert_eq!(serde_json::from_str::<File>(&json).expect(&json), file);
        }
        for text in [
            "p = { verdict = \"holds\", rate = [0.1, 0.2] }",
            "p = { verdict = \"violated\", at_most = 0.1 }",
            "p = { rate = [0.1, 0.2] }",
            "p = 0.3",
        ] {
            assert!(toml::from_str::<File>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn impossible_numbers_are_rejected() {
        for (prediction, is_possible) in [
            (at_rate(0.0, 1.0), true),
            (at_rate(0.5, 0.5), false),
            (at_rate(0.6, 0.5), false),
            (at_rate(0.5, 1.1), false),
            (at_rate(f64::NAN, 1.0), false),
            (Prediction::Holds { at_most: 0.0 }, false),
            (Prediction::Holds { at_most: 1.0 }, false),
        ] {
            assert_eq!(prediction.problem().is_none(), is_possible, "{prediction}");
        }
    }

    #[test]
    fn a_prediction_reads_well() {
        for (prediction, expected) in [
            (Prediction::HOLDS, "holds"),
            (Prediction::VIOLATED, "violated"),
            (Prediction::Holds { at_most: 0.01 }, "holds (≤ 1 %)"),
            (at_rate(0.325, 0.35), "violated (32.5–35 %)"),
        ] {
            assert_eq!(prediction.to_string(), expected);
        }
    }
}
