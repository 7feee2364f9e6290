//! Two results of a suite, set side by side.

use serde::Serialize;

use super::results::{CaseResult, PropertyResult, Results};
use crate::check::Property;
use crate::evidence::{Judgement, Tally, same_rate};

/// Below this p-value two rates are taken for different. A suite compares some hundred of them.
const DIFFERENT: f64 = 0.001;

/// What is different between two results.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Comparison {
    /// The properties, in the order of the suite.
    pub changes: Vec<Change>,
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
        { self.changes.iter() }.any(|change| change.newly_fails() || change.is_worse())
    }
}

/// What is different in `after`: judgements, and rates that Fisher's exact test finds different.
pub fn compare(before: &Results, after: &Results) -> Comparison {
    let mut comparison = Comparison::default();
    let find =
        |results: &'_ Results, id: &str| results.cases.iter().find(|case| case.id == id).cloned();
    for case in &before.cases {
        if find(after, &case.id).is_none() {
            comparison.gone.push(case.id.clone());
        }
    }
    for case in &after.cases {
        match find(before, &case.id) {
            None => comparison.new.push(case.id.clone()),
            Some(was) => comparison.changes.extend(changes(&was, case)),
        }
    }
    comparison
}

fn changes(was: &CaseResult, is: &CaseResult) -> Vec<Change> {
    let of = |case: &CaseResult, property: Property| {
        let found = case
            .properties
            .iter()
            .find(|found| found.property == property);
        found.cloned()
    };
    let change = |property| {
        let (was, is) = (of(was, property), of(is, property));
        let tally = |found: &Option<PropertyResult>| found.as_ref().map(|found| found.tally);
        let judgement = |found: &Option<PropertyResult>| found.as_ref().map(|f| f.judgement);
        let (before, after) = (tally(&was), tally(&is));
        // Where a property was not of interest, nothing is known of its rate.
        let p = match (before, after) {
            (Some(before), Some(after)) => same_rate(before.rate(), after.rate()),
            _ => 1.0,
        };
        Change {
            id: String::new(),
            property,
            before: judgement(&was),
            after: judgement(&is),
            tally_before: before.unwrap_or_default(),
            tally_after: after.unwrap_or_default(),
            p,
        }
    };
    let changes = Property::ALL.into_iter().map(change);
    changes
        .filter(|change| change.before != change.after || change.is_shown())
        .map(|change| Change {
            id: is.id.clone(),
            ..change
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::{Finding, Prediction};
    use crate::suite::Kind;

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
    fn cases_that_only_one_has_are_named() {
        let other = compare(&results("a", 100), &results("b", 100));
        assert_eq!(
            (other.gone, other.new),
            (vec!["a".into()], vec!["b".into()])
        );
    }
}
