//! The results as JUnit XML, which CI services read. It has no times, so that the same results are
//! the same bytes.
//!
//! A case is a test suite; its determinism, if it was run twice, and each of its properties is a test
//! case. A verdict that
//! differs is a failure. One that too few runs were made for is an error of the type `inconclusive`,
//! since the command does not end with 0 then either.

use quick_junit::{NonSuccessKind, Report, SerializeError, TestCase, TestCaseStatus, TestSuite};

use super::results::{CaseResult, PropertyResult, Results};
use locklab_evidence::Judgement;

/// The file's text.
///
/// # Errors
///
/// If the XML cannot be written.
pub fn junit(results: &Results) -> Result<String, SerializeError> {
    let mut report = Report::new("locklab");
    report.add_test_suites(results.cases.iter().map(|case| suite(results, case)));
    report.to_string()
}

fn suite(results: &Results, case: &CaseResult) -> TestSuite {
    let mut suite = TestSuite::new(case.id.as_str());
    suite.add_property(("title", case.title.as_str()));
    suite.add_property(("runs", case.runs.to_string().as_str()));
    let mut tests = Vec::new();
    if case.repeated > 0 {
        tests.push(TestCase::new("determinism", determinism(case)));
    }
    tests.extend(
        case.properties
            .iter()
            .map(|found| TestCase::new(found.property.name(), of_property(results, found))),
    );
    for mut test in tests {
        test.set_classname(case.id.as_str());
        suite.add_test_case(test);
    }
    suite
}

fn determinism(case: &CaseResult) -> TestCaseStatus {
    let Some(difference) = &case.unlike else {
        return TestCaseStatus::success();
    };
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
    status.set_type("not-deterministic");
    status.set_message(difference.as_str());
    status
}

fn of_property(results: &Results, found: &PropertyResult) -> TestCaseStatus {
    let kind = match found.judgement {
        Judgement::AsPredicted | Judgement::Unpredicted => return TestCaseStatus::success(),
        Judgement::Inconclusive => NonSuccessKind::Error,
        Judgement::Differs => NonSuccessKind::Failure,
    };
    let mut status = TestCaseStatus::non_success(kind);
    status.set_type(found.judgement.name());
    status.set_message(found.sentence());
    if let Some(evidence) = &found.evidence {
        status.set_description(format!(
            "{}\nseed {}\nreplay: {}\nrecording: {}\npicture: {}",
            evidence.what,
            evidence.seed,
            results.command(evidence),
            evidence.recording,
            evidence.picture
        ));
    }
    status
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kind;

    #[test]
    fn what_is_not_deterministic_is_an_error_whatever_it_shows() {
        let results = Results {
            suite: 1,
            cases: vec![CaseResult {
                place: 0,
                id: "mine.toml".into(),
                kind: Kind::Scenario,
                title: "A lock that reads the machine's clock".into(),
                claim: None,
                runs: 100,
                fingerprint: String::new(),
                repeated: 2,
                unlike: Some("seed 0, run twice: the runs diverge at event 7".into()),
                properties: vec![],
            }],
            ..Results::default()
        };
        assert_eq!(results.judgement(), Judgement::Differs);
        let text = junit(&results).expect("it can be written");
        assert!(text.contains("errors=\"1\""), "{text}");
        assert!(text.contains("type=\"not-deterministic\""), "{text}");
        assert!(super::super::markdown(&results).contains("run twice"));
        let annotations = super::super::annotations(&results);
        assert!(annotations[0].starts_with("::error "), "{annotations:?}");
    }
}
