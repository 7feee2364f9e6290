//! How predictions are read, judged and told.

use locklab_vecmap::VecMap;

use super::Judgement::{AsPredicted, Differs, Inconclusive};
use super::*;
use crate::tally::tests::tally;

fn at_rate(a: f64, b: f64) -> Prediction {
    let rate = Some([a, b]);
    Prediction::Violated {
        rate,
        basis: Basis::of(rate),
    }
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
fn a_rate_says_what_it_rests_on() {
    let read = |text: &str| {
        let table: Result<VecMap<String, Prediction>, _> = toml::from_str(&format!("p = {text}"));
        table
            .map(|table| table["p"])
            .map_err(|error| error.message().to_owned())
    };
    for (text, basis) in [
        (r#""holds""#, Basis::Mechanism),
        (r#""violated""#, Basis::Mechanism),
        (
            r#"{ verdict = "violated", rate = [0.95, 1] }"#,
            Basis::Mechanism,
        ),
        (
            r#"{ verdict = "violated", rate = [0.3, 1] }"#,
            Basis::Measured,
        ),
        (
            r#"{ verdict = "violated", rate = [0.3, 0.4], basis = "calculated" }"#,
            Basis::Calculated,
        ),
    ] {
        let prediction = read(text).expect(text);
        assert_eq!(prediction.basis(), basis, "{text}");
        let written = toml::to_string(&VecMap::from([("p", prediction)])).expect("TOML");
        let again: VecMap<String, Prediction> = toml::from_str(&written).expect("its own");
        assert_eq!(again["p"], prediction);
    }
    let without = read(r#"{ verdict = "holds", basis = "measured" }"#);
    let why = without.expect_err("it has no rate");
    assert!(why.starts_with("\"basis\" needs a \"rate\""), "{why}");
}

#[test]
fn a_prediction_reads_well() {
    for (prediction, expected) in [
        (Prediction::HOLDS, "holds"),
        (Prediction::VIOLATED, "violated"),
        (Prediction::Holds { at_most: 0.01 }, "holds (≤ 1 %)"),
        (at_rate(0.325, 0.35), "violated (32.5–35 %, measured)"),
        (at_rate(0.95, 1.0), "violated (95–100 %)"),
    ] {
        assert_eq!(prediction.to_string(), expected);
    }
}
