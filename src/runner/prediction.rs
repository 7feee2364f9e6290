//! What came of many runs, set against what was predicted.

use serde::Serialize;

use super::results::{Cell, Finding, Tally};
use crate::check::Property;
use crate::scenario::{Expected, Scenario};

/// A property of a scenario: predicted and observed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// The property.
    pub property: Property,
    /// What the scenario predicts, if it does.
    pub predicted: Option<Expected>,
    /// What the runs say.
    pub observed: Finding,
    /// How often.
    pub tally: Tally,
    /// What that means.
    pub judgement: Judgement,
}

/// Whether the runs bear a prediction out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Judgement {
    /// Nothing was predicted, and nothing needs to be said.
    Unpredicted,
    /// Observed as predicted.
    AsPredicted,
    /// No run could show it.
    Inconclusive,
    /// The opposite was observed, or a violation that nobody predicted.
    Differs,
}

/// Compares every property that was judged.
pub fn compare(scenario: &Scenario, cell: &Cell) -> Vec<Comparison> {
    let judge = |(&property, &tally): (&Property, &Tally)| {
        let predicted = scenario.expect.get(&property).copied();
        let observed = tally.finding();
        let judgement = match predicted {
            None if is_implied(property, scenario) => Judgement::Unpredicted,
            predicted => judge(predicted, observed),
        };
        Comparison {
            property,
            predicted,
            observed,
            tally,
            judgement,
        }
    };
    cell.tallies.iter().map(judge).collect()
}

/// Whether an observation bears a prediction out, or would have needed one.
pub fn judge(predicted: Option<Expected>, observed: Finding) -> Judgement {
    match (predicted, observed) {
        (Some(_), Finding::Inconclusive) => Judgement::Inconclusive,
        (Some(Expected::Holds), Finding::Holds) | (Some(Expected::Violated), Finding::Violated) => {
            Judgement::AsPredicted
        }
        (Some(_), _) | (None, Finding::Violated) => Judgement::Differs,
        (None, _) => Judgement::Unpredicted,
    }
}

/// The worst of these judgements.
pub fn worst(comparisons: &[Comparison]) -> Judgement {
    let judgements = comparisons.iter().map(|comparison| comparison.judgement);
    judgements.max().unwrap_or(Judgement::Inconclusive)
}

/// Whether a violation of `property` needs no prediction of its own.
fn is_implied(property: Property, scenario: &Scenario) -> bool {
    match property {
        // Every lock with a lease breaks it as soon as a holder outlives the lease.
        Property::Belief => true,
        // So does every lock whose nodes are all out of reach.
        Property::Availability => true,
        // Few locks promise an order.
        Property::Fifo => true,
        Property::StaleWrite | Property::LostUpdate | Property::TokenRegression => {
            scenario.expect.get(&Property::Resource) == Some(&Expected::Violated)
        }
        Property::Resource => Property::PARTS_OF_RESOURCE
            .iter()
            .any(|part| scenario.expect.get(part) == Some(&Expected::Violated)),
        Property::Lease
        | Property::ForeignRelease
        | Property::Deadlock
        | Property::AcknowledgedLost => false,
    }
}

impl Scenario {
    /// The property that the scenario is about: its headline, or else the first that it
    /// predicts a violation of, or any prediction; B∞ last.
    pub fn headline(&self) -> Property {
        let first = |wanted: Option<Expected>| {
            let mut predictions = self.expect.iter();
            predictions
                .find(|(property, expected)| {
                    **property != Property::Belief && wanted.is_none_or(|w| w == **expected)
                })
                .map(|(property, _)| *property)
        };
        self.headline
            .or_else(|| first(Some(Expected::Violated)))
            .or_else(|| first(None))
            .unwrap_or(Property::Lease)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::parse;

    fn check(expect: &str, violated: &[Property], expected: Judgement) {
        let text = format!(
            "title = \"t\"\n[lock]\nname = \"set-nx-px\"\nttl_ms = 1000\n[expect]\n{expect}"
        );
        let scenario = parse("t.toml", &text, &[]).expect("a sound scenario");
        let mut cell = Cell::default();
        for property in Property::ALL {
            let tally = if violated.contains(&property) {
                Tally {
                    violated: 1,
                    holds: 9,
                    ..Tally::default()
                }
            } else {
                Tally {
                    holds: 10,
                    ..Tally::default()
                }
            };
            cell.tallies.insert(property, tally);
        }
        assert_eq!(worst(&compare(&scenario, &cell)), expected, "{expect}");
    }

    #[test]
    fn a_violation_must_be_predicted_and_a_prediction_observed() {
        check("lease = \"holds\"", &[], Judgement::AsPredicted);
        check("lease = \"violated\"", &[], Judgement::Differs);
        check("lease = \"holds\"", &[Property::Lease], Judgement::Differs);
        check("", &[Property::Deadlock], Judgement::Differs);
        check("", &[], Judgement::Unpredicted);
    }

    #[test]
    fn what_a_prediction_implies_needs_no_other() {
        let lost = [Property::Belief, Property::Resource, Property::LostUpdate];
        check("resource = \"violated\"", &lost, Judgement::AsPredicted);
        check("lost-update = \"violated\"", &lost, Judgement::AsPredicted);
        check("stale-write = \"holds\"", &lost, Judgement::Differs);
        check("", &[Property::Belief], Judgement::Unpredicted);
    }
}
