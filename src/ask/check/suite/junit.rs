//! The results as JUnit XML, which CI services read. It has no times, so that the same results are
//! the same bytes.
//!
//! A case is a test suite; its determinism, if it was run twice, and each of its properties is a test
//! case. A verdict that
//! differs is a failure. One that too few runs were made for is an error of the type `inconclusive`,
//! since the command does not end with 0 then either.

use std::fmt::{self, Write};

use super::results::{CaseResult, PropertyResult, Results};
use super::xml;
use locklab_evidence::Judgement;

/// The file's text.
pub fn junit(results: &Results) -> String {
    let mut file = String::new();
    write(results, &mut file).expect("a String takes all that is written to it");
    file
}

/// A test case: what it is called, and why it did not pass.
type Test<'r> = (&'r str, Option<Bad>);

/// Why a test case did not pass.
struct Bad {
    element: Element,
    kind: &'static str,
    message: String,
    details: Option<String>,
}

/// The name of the element that says so.
#[derive(Clone, Copy, PartialEq)]
enum Element {
    Failure,
    Error,
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Element::Failure => "failure",
            Element::Error => "error",
        })
    }
}

fn write(results: &Results, file: &mut String) -> fmt::Result {
    let suites: Vec<_> = { results.cases.iter() }
        .map(|case| (case, tests(results, case)))
        .collect();
    let all = || suites.iter().flat_map(|(_, tests)| tests);
    let (failures, errors) = (count(all(), Element::Failure), count(all(), Element::Error));
    writeln!(file, r#"<?xml version="1.0" encoding="UTF-8"?>"#)?;
    writeln!(
        file,
        r#"<testsuites name="locklab" tests="{}" skipped="0" failures="{failures}" errors="{errors}">"#,
        all().count()
    )?;
    for (case, tests) in &suites {
        suite(case, tests, file)?;
    }
    writeln!(file, "</testsuites>")
}

fn count<'t>(tests: impl Iterator<Item = &'t Test<'t>>, element: Element) -> usize {
    let bad = tests.filter_map(|(_, bad)| bad.as_ref());
    bad.filter(|bad| bad.element == element).count()
}

fn suite(case: &CaseResult, tests: &[Test], file: &mut String) -> fmt::Result {
    let (id, title) = (xml::quoted(&case.id), xml::quoted(&case.title));
    let errors = count(tests.iter(), Element::Error);
    let failures = count(tests.iter(), Element::Failure);
    writeln!(
        file,
        r#"    <testsuite name={id} tests="{}" skipped="0" errors="{errors}" failures="{failures}">
        <properties>
            <property name="title" value={title}/>
            <property name="runs" value="{}"/>
        </properties>"#,
        tests.len(),
        case.runs
    )?;
    for (name, bad) in tests {
        let name = xml::quoted(name);
        write!(file, "        <testcase name={name} classname={id}")?;
        let Some(bad) = bad else {
            writeln!(file, "/>")?;
            continue;
        };
        let (element, kind) = (bad.element, xml::quoted(bad.kind));
        let message = xml::quoted(&bad.message);
        writeln!(file, ">")?;
        write!(file, "            <{element} message={message} type={kind}")?;
        match &bad.details {
            Some(details) => writeln!(file, ">{}</{element}>", xml::text(details))?,
            None => writeln!(file, "/>")?,
        }
        writeln!(file, "        </testcase>")?;
    }
    writeln!(file, "    </testsuite>")
}

fn tests<'r>(results: &Results, case: &'r CaseResult) -> Vec<Test<'r>> {
    let mut tests = Vec::new();
    if case.repeated > 0 {
        tests.push(("determinism", determinism(case)));
    }
    let properties = case.properties.iter();
    tests.extend(properties.map(|found| (found.property.name(), of_property(results, found))));
    tests
}

fn determinism(case: &CaseResult) -> Option<Bad> {
    Some(Bad {
        element: Element::Error,
        kind: "not-deterministic",
        message: case.unlike.clone()?,
        details: None,
    })
}

fn of_property(results: &Results, found: &PropertyResult) -> Option<Bad> {
    let element = match found.judgement {
        Judgement::AsPredicted | Judgement::Unpredicted => return None,
        Judgement::Inconclusive => Element::Error,
        Judgement::Differs => Element::Failure,
    };
    let details = found.evidence.as_ref().map(|evidence| {
        format!(
            "{}\nseed {}\nreplay: {}\nrecording: {}\npicture: {}",
            evidence.what,
            evidence.seed,
            results.command(evidence),
            evidence.recording,
            evidence.picture
        )
    });
    Some(Bad {
        element,
        kind: found.judgement.name(),
        message: found.sentence(),
        details,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::suite::Kind;
    use crate::check::suite::results::Evidence;
    use locklab_check::Property;
    use locklab_evidence::{Finding, Tally};

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
                scenario: serde_json::Value::Null,
                runs: 100,
                fingerprint: String::new(),
                repeated: 2,
                unlike: Some("seed 0, run twice: the runs diverge at event 7".into()),
                properties: vec![],
            }],
            ..Results::default()
        };
        assert_eq!(results.judgement(), Judgement::Differs);
        let text = junit(&results);
        assert!(text.contains("errors=\"1\""), "{text}");
        assert!(text.contains("type=\"not-deterministic\""), "{text}");
        assert!(super::super::markdown(&results).contains("run twice"));
        let annotations = super::super::annotations(&results);
        assert!(annotations[0].starts_with("::error "), "{annotations:?}");
    }

    /// Names that would end the attribute, the element or the file.
    #[test]
    fn hostile_names_stay_text() {
        const HOSTILE: &str = "]]> <script> ' \" & &amp; <!--\t\n\u{1b}[31m\0\u{fffe}";
        const READ: &str = "]]> <script> ' \" & &amp; <!--\t\n";
        let tally = Tally {
            violated: 1,
            ..Tally::default()
        };
        let differs = PropertyResult {
            property: Property::Belief,
            predicted: None,
            tally,
            observed: Finding::Violated,
            judgement: Judgement::Differs,
            more_runs: None,
            shortest: None,
            line: None,
            evidence: Some(Evidence {
                seed: 1,
                what: HOSTILE.into(),
                prevents: HOSTILE.into(),
                replay: vec!["run".into()],
                recording: HOSTILE.into(),
                picture: HOSTILE.into(),
                smallest: None,
            }),
        };
        let results = Results {
            cases: vec![CaseResult {
                place: 0,
                id: HOSTILE.into(),
                kind: Kind::Scenario,
                title: HOSTILE.into(),
                claim: None,
                scenario: serde_json::Value::Null,
                runs: 1,
                fingerprint: String::new(),
                repeated: 2,
                unlike: Some(HOSTILE.into()),
                properties: vec![differs],
            }],
            ..Results::default()
        };
        let file = junit(&results);
        let document = roxmltree::Document::parse(&file).expect("well-formed");
        let element = |name: &str| {
            let mut elements = document.descendants();
            elements.find(|node| node.has_tag_name(name)).expect(name)
        };
        assert_eq!(element("testsuite").attribute("name"), Some(READ));
        assert_eq!(element("property").attribute("value"), Some(READ));
        assert_eq!(element("testcase").attribute("classname"), Some(READ));
        assert_eq!(element("error").attribute("message"), Some(READ));
        let details = element("failure").text().expect("the evidence");
        assert!(
            details.starts_with(&format!("{READ}\nseed 1\n")),
            "{details}"
        );
        assert!(
            details.ends_with(&format!("\npicture: {READ}")),
            "{details}"
        );
        assert_eq!(element("testsuites").attribute("tests"), Some("2"));
        assert_eq!(
            document
                .descendants()
                .filter(|n| n.has_tag_name("script"))
                .count(),
            0
        );
    }
}
