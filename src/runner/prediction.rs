//! The results of many runs, compared with the predictions.

use serde::Serialize;

use locklab_check::{Property, Verdict};
use locklab_evidence::{Expected, Finding, Judgement, Prediction, Tally};
use locklab_model::scenario::Scenario;
use locklab_results::Cell;
use locklab_vecmap::VecMap;

/// A property of a scenario: predicted and observed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// The property.
    pub property: Property,
    /// The scenario's prediction, if it has one.
    pub predicted: Option<Prediction>,
    /// The finding from the runs.
    pub observed: Finding,
    /// The counts.
    pub tally: Tally,
    /// The judgement of the comparison.
    pub judgement: Judgement,
    /// If the judgement is inconclusive: the number of additional runs that would decide.
    pub more_runs: Option<u64>,
}

impl Comparison {
    /// Compares runs with the prediction for a property, if there is one.
    pub fn of(property: Property, predicted: Option<Prediction>, tally: Tally) -> Comparison {
        let judgement = match predicted {
            Some(prediction) => prediction.judge(&tally),
            None if tally.violated > 0 => Judgement::Differs,
            None => Judgement::Unpredicted,
        };
        Comparison {
            property,
            predicted,
            observed: predicted.unwrap_or(Prediction::HOLDS).finding(&tally),
            tally,
            judgement,
            more_runs: predicted.and_then(|prediction| prediction.more_runs(&tally)),
        }
    }

    /// The finding for a property whose violation needs no prediction.
    pub fn unpredicted(property: Property, tally: Tally) -> Comparison {
        Comparison {
            judgement: Judgement::Unpredicted,
            ..Comparison::of(property, None, tally)
        }
    }
}

/// Compares every property that was judged.
pub fn compare(scenario: &Scenario, cell: &Cell) -> Vec<Comparison> {
    let judge = |(&property, &tally): (&Property, &Tally)| {
        let predicted = scenario.expect.get(&property).copied();
        let mut comparison = Comparison::of(property, predicted, tally);
        if predicted.is_none() && is_implied(property, scenario) {
            comparison.judgement = Judgement::Unpredicted;
        }
        comparison
    };
    cell.tallies.iter().map(judge).collect()
}

/// The worst judgement of these comparisons.
pub fn worst(comparisons: &[Comparison]) -> Judgement {
    let judgements = comparisons.iter().map(|comparison| comparison.judgement);
    judgements.max().unwrap_or(Judgement::Inconclusive)
}

/// Whether a violation of `property` is expected without a prediction of its own.
fn is_implied(property: Property, scenario: &Scenario) -> bool {
    let is_part = Property::PARTS_OF_RESOURCE.contains(&property);
    let is_violated = |predicted| scenario.predicts(predicted, Expected::Violated);
    !property.surprises()
        || is_part && is_violated(Property::Resource)
        || property == Property::Resource
            && Property::PARTS_OF_RESOURCE.into_iter().any(is_violated)
}

/// The property that a run is looked at for, unless the user names one: the scenario's headline if the run
/// violates it, otherwise the first violated one that needs a prediction, or else any.
pub fn usual_property(
    scenario: &Scenario,
    verdicts: &VecMap<Property, Verdict>,
) -> Option<Property> {
    let violated =
        |property: &Property| matches!(verdicts.get(property), Some(Verdict::Violated(_)));
    let all = || Property::ALL.into_iter().filter(violated);
    Some(scenario.headline())
        .filter(violated)
        .or_else(|| all().find(|property| property.surprises()))
        .or_else(|| all().next())
}

#[cfg(test)]
mod tests {
    use super::*;
    use locklab_model::scenario::parse;

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
                    holds: 99,
                    ..Tally::default()
                }
            } else {
                Tally {
                    holds: 2000,
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
    fn implied_violation_needs_no_prediction_of_its_own() {
        let lost = [Property::Belief, Property::Resource, Property::LostUpdate];
        check("resource = \"violated\"", &lost, Judgement::AsPredicted);
        check("lost-update = \"violated\"", &lost, Judgement::AsPredicted);
        check("stale-write = \"holds\"", &lost, Judgement::Differs);
        check("", &[Property::Belief], Judgement::Unpredicted);
    }
}
