//! Two results of a suite, set side by side.

use serde::Serialize;

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
    /// Cases whose runs of one seed are not the same any more.
    pub unlike: Vec<String>,
    /// Cases that only the first has.
    pub gone: Vec<String>,
    /// Cases that only the second has.
    pub new: Vec<String>,
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
        !self.unlike.is_empty() || self.changes.iter().any(is_worse)
    }
}

/// What is different in `after`: judgements, and rates that Fisher's exact test finds different.
pub fn compare(before: &Results, after: &Results) -> Comparison {
    let find = |results: &'_ Results, id: &str| results.cases.iter().position(|case| case.id == id);
    let lacks = |results, case: &&CaseResult| find(results, &case.id).is_none();
    let ids = |cases: &mut dyn Iterator<Item = &CaseResult>| cases.map(|c| c.id.clone()).collect();
    let both =
        { after.cases.iter() }.filter_map(|is| Some((&before.cases[find(before, &is.id)?], is)));
    Comparison {
        changes: { both.clone() }
            .flat_map(|(was, is)| changes(was, is))
            .collect(),
        unlike: ids(&mut { both }
            .filter(|(was, is)| was.unlike.is_none() && is.unlike.is_some())
            .map(|(_, is)| is)),
        gone: ids(&mut before.cases.iter().filter(|case| lacks(after, case))),
        new: ids(&mut after.cases.iter().filter(|case| lacks(before, case))),
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
    use crate::Kind;
    use crate::results::PropertyResult;
    use locklab_evidence::{Finding, Prediction};

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
    }
}
