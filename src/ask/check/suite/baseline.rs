//! Two results of a suite, set side by side.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;

use super::results::{CaseResult, Results};
use locklab_check::Property;
use locklab_evidence::{Judgement, Tally, same_rate};

/// Below this p-value two rates are taken for different. A suite compares some hundred of them.
const DIFFERENT: f64 = 0.001;

/// What is different between two results.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Comparison {
    /// The properties, in the order of the suite.
    pub changes: Vec<Change>,
    /// What has changed in the scenarios themselves.
    pub edits: Vec<Edit>,
    /// Cases whose runs of one seed are not the same any more.
    pub unlike: Vec<String>,
    /// Cases that only the first has.
    pub gone: Vec<String>,
    /// Cases that only the second has.
    pub new: Vec<String>,
    /// Those of them that fail.
    pub new_failing: Vec<String>,
}

/// A value of a scenario that is not what it was.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Edit {
    /// The case.
    pub id: String,
    /// The path of the value, as in an override: `lock.ttl_ms`.
    pub path: String,
    /// What it was; absent: it was not there.
    pub before: Option<Value>,
    /// What it is; absent: it is not there.
    pub after: Option<Value>,
}

/// A property that is not what it was.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// The case.
    pub id: String,
    /// The property.
    pub property: Property,
    /// What the judgement was; absent: the property was neither predicted nor violated.
    pub before: Option<Judgement>,
    /// What it is.
    pub after: Option<Judgement>,
    /// The counts before.
    pub tally_before: Tally,
    /// The counts after.
    pub tally_after: Tally,
    /// The p-value of Fisher's exact test of equal rates.
    pub p: f64,
}

impl Change {
    /// Whether it fails now and did not before.
    pub fn newly_fails(&self) -> bool {
        self.after == Some(Judgement::Differs) && self.before != Some(Judgement::Differs)
    }

    /// Whether it failed before and does not now.
    pub fn newly_holds(&self) -> bool {
        self.before == Some(Judgement::Differs) && self.after != Some(Judgement::Differs)
    }

    /// Whether the rates are different.
    pub fn is_shown(&self) -> bool {
        self.p < DIFFERENT
    }

    /// Whether it is violated more often, beyond chance.
    pub fn is_worse(&self) -> bool {
        let share = |tally: &Tally| tally.rate().share().unwrap_or(0.0);
        self.is_shown() && share(&self.tally_after) > share(&self.tally_before)
    }
}

impl Comparison {
    /// Whether something newly fails, or is violated more often.
    pub fn is_worse(&self) -> bool {
        let is_worse = |change: &Change| change.newly_fails() || change.is_worse();
        !self.unlike.is_empty() || !self.new_failing.is_empty() || self.changes.iter().any(is_worse)
    }
}

/// What is different in `after`: judgements, and rates that Fisher's exact test finds different.
pub fn compare(before: &Results, after: &Results) -> Comparison {
    let find = |results: &'_ Results, id: &str| results.cases.iter().position(|case| case.id == id);
    let lacks = |results, case: &&CaseResult| find(results, &case.id).is_none();
    let ids = |cases: &mut dyn Iterator<Item = &CaseResult>| cases.map(|c| c.id.clone()).collect();
    let both =
        { after.cases.iter() }.filter_map(|is| Some((&before.cases[find(before, &is.id)?], is)));
    let new = after.cases.iter().filter(|case| lacks(before, case));
    Comparison {
        changes: { both.clone() }
            .flat_map(|(was, is)| changes(was, is))
            .collect(),
        edits: { both.clone() }
            .flat_map(|(was, is)| edits(was, is))
            .collect(),
        unlike: ids(&mut { both }
            .filter(|(was, is)| was.unlike.is_none() && is.unlike.is_some())
            .map(|(_, is)| is)),
        gone: ids(&mut before.cases.iter().filter(|case| lacks(after, case))),
        new: ids(&mut new.clone()),
        new_failing: ids(&mut new.filter(|case| case.judgement() == Judgement::Differs)),
    }
}

/// What of a scenario does not change its runs.
const PROSE: [&str; 4] = ["title", "claim", "source", "about"];

fn edits(was: &CaseResult, is: &CaseResult) -> Vec<Edit> {
    if was.scenario.is_null() || is.scenario.is_null() {
        return vec![];
    }
    let (mut before, mut after) = (BTreeMap::new(), BTreeMap::new());
    leaves(&was.scenario, "", &mut before);
    leaves(&is.scenario, "", &mut after);
    let paths: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let edit = |path: &String| Edit {
        id: is.id.clone(),
        path: path.clone(),
        before: before.get(path).map(|value| (*value).clone()),
        after: after.get(path).map(|value| (*value).clone()),
    };
    let edits = paths.into_iter().map(edit);
    edits
        .filter(|edit| edit.before != edit.after && !PROSE.contains(&&*edit.path))
        .collect()
}

/// The values of a scenario that are no tables, by their paths.
fn leaves<'v>(value: &'v Value, path: &str, found: &mut BTreeMap<String, &'v Value>) {
    let Value::Object(table) = value else {
        found.insert(path.into(), value);
        return;
    };
    for (key, value) in table {
        let path = match path {
            "" => key.clone(),
            path => format!("{path}.{key}"),
        };
        leaves(value, &path, found);
    }
}

fn changes(was: &CaseResult, is: &CaseResult) -> Vec<Change> {
    let change = |property| {
        let of = |case: &'_ CaseResult| -> Option<(Judgement, Tally)> {
            let mut all = case.properties.iter();
            let found = all.find(|found| found.property == property)?;
            Some((found.judgement, found.tally))
        };
        let (before, after) = (of(was), of(is));
        Change {
            id: is.id.clone(),
            property,
            before: before.map(|(judgement, _)| judgement),
            after: after.map(|(judgement, _)| judgement),
            tally_before: before.unzip().1.unwrap_or_default(),
            tally_after: after.unzip().1.unwrap_or_default(),
            // Where a property was not of interest, nothing is known of its rate.
            p: match (before, after) {
                (Some((_, before)), Some((_, after))) => same_rate(before.rate(), after.rate()),
                _ => 1.0,
            },
        }
    };
    let changes = Property::ALL.into_iter().map(change);
    changes
        .filter(|change| change.before != change.after || change.is_shown())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::suite::Kind;
    use crate::check::suite::results::PropertyResult;
    use locklab_evidence::{Finding, Prediction};
    use serde_json::json;

    /// A suite with one case, whose lease was violated in so many of ten thousand runs.
    fn results(id: &str, violated: u64) -> Results {
        let tally = Tally {
            holds: 10_000 - violated,
            violated,
            ..Tally::default()
        };
        let found = PropertyResult {
            property: Property::Lease,
            predicted: Some(Prediction::VIOLATED),
            tally,
            observed: Finding::Violated,
            judgement: Prediction::VIOLATED.judge(&tally),
            more_runs: None,
            shortest: None,
            line: None,
            evidence: None,
        };
        Results {
            suite: 1,
            cases: vec![CaseResult {
                place: 0,
                id: id.into(),
                kind: Kind::Scenario,
                title: String::new(),
                claim: None,
                scenario: Value::Null,
                runs: 10_000,
                fingerprint: String::new(),
                repeated: 2,
                unlike: None,
                properties: vec![found],
            }],
            ..Results::default()
        }
    }

    #[test]
    fn a_rate_that_chance_explains_is_no_change() {
        let same = compare(&results("a", 100), &results("a", 115));
        assert_eq!(same, Comparison::default());
        let more = compare(&results("a", 100), &results("a", 200));
        assert!(more.is_worse() && !more.changes[0].newly_fails());
        let fewer = compare(&results("a", 200), &results("a", 100));
        assert!(!fewer.is_worse() && fewer.changes.len() == 1);
    }

    #[test]
    fn what_differs_now_newly_fails_and_the_reverse() {
        // Violated was predicted, and 0 of 10,000 refutes it.
        let worse = compare(&results("a", 150), &results("a", 0));
        assert!(worse.changes[0].newly_fails() && worse.is_worse());
        let better = compare(&results("a", 0), &results("a", 150));
        assert!(better.changes[0].newly_holds() && !better.changes[0].newly_fails());
    }

    #[test]
    fn changed_values_of_a_scenario_are_named_by_their_paths() {
        let with = |scenario: Value| {
            let mut results = results("a", 100);
            results.cases[0].scenario = scenario;
            results
        };
        let before = with(json!({
            "title": "old", "lock": { "name": "set-nx-px", "ttl_ms": 2000 }, "fault": {},
        }));
        let after = with(json!({
            "title": "new", "lock": { "name": "set-nx-px", "ttl_ms": 1000, "resend": 2 }, "fault": {},
        }));
        let compared = compare(&before, &after);
        assert!(!compared.is_worse() && compared.changes.is_empty());
        let edit = |path: &str, before: Option<u64>, after: Option<u64>| Edit {
            id: "a".into(),
            path: path.into(),
            before: before.map(Value::from),
            after: after.map(Value::from),
        };
        let expected = [
            edit("lock.resend", None, Some(2)),
            edit("lock.ttl_ms", Some(2000), Some(1000)),
        ];
        assert_eq!(compared.edits, expected);
        // A file of an earlier version has no scenarios.
        assert_eq!(compare(&results("a", 100), &after), Comparison::default());
    }

    #[test]
    fn a_case_that_is_not_deterministic_any_more_is_worse() {
        let mut after = results("a", 100);
        after.cases[0].unlike = Some("seed 0".into());
        let worse = compare(&results("a", 100), &after);
        assert!(worse.is_worse() && worse.unlike == ["a"]);
        assert_eq!(compare(&after, &after), Comparison::default());
    }

    #[test]
    fn cases_that_only_one_has_are_named() {
        let other = compare(&results("a", 100), &results("b", 100));
        assert_eq!(
            (other.gone, other.new),
            (vec!["a".into()], vec!["b".into()])
        );
        assert_eq!(other.new_failing, [""; 0]);
    }

    #[test]
    fn a_case_that_is_new_and_fails_is_worse() {
        let worse = compare(&results("a", 100), &results("b", 0));
        assert!(worse.is_worse() && worse.new_failing == ["b"]);
    }
}
