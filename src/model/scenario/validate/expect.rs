//! Checks the predictions.

use super::Problem;
use crate::scenario::Scenario;
use crate::workload::WorkloadKind;
use locklab_check::Property;
use locklab_evidence::Expected;

/// Checks each prediction individually, and whether its property is judged; and since `resource`
/// combines three properties, that its prediction agrees with theirs.
pub(super) fn validate(scenario: &Scenario) -> Result<(), Problem> {
    if let Some(why) = scenario
        .headline
        .and_then(|headline| scenario.why_not_judged(headline))
    {
        return Err(Problem::at(&["headline"], why));
    }
    for (property, prediction) in &scenario.expect {
        if let Some(why) = scenario.why_not_judged(*property) {
            return Err(Problem::at(&["expect", property.name()], why));
        }
        if let Some(what) = prediction.problem() {
            return Err(Problem::at(&["expect", property.name()], what));
        }
    }
    let expected = |property| Some(scenario.expect.get(&property)?.expected());
    let violated = Property::PARTS_OF_RESOURCE
        .into_iter()
        .find(|part| expected(*part) == Some(Expected::Violated));
    match (expected(Property::Resource), violated) {
        (Some(Expected::Holds), Some(part)) => Err(Problem::at(
            &["expect", "resource"],
            format!("\"resource\" cannot hold when \"{part}\" is violated, which is part of it"),
        )),
        _ => Ok(()),
    }
}

impl Scenario {
    /// The reason why runs of the scenario are not judged by a property; `None` if they are. See
    /// [`judge`](locklab_check::judge).
    pub fn why_not_judged(&self, property: Property) -> Option<String> {
        let adds = self.workload.kind == WorkloadKind::Adds;
        let why = match property {
            Property::AcknowledgedLost if adds => return None,
            Property::AcknowledgedLost => {
                "is judged where clients add to a set; write kind = \"adds\" in [workload]"
            }
            _ if adds => {
                "is about a lock, and clients that add to a set take none; write \
                 \"acknowledged-lost\""
            }
            Property::Recovery if self.settle_ms.is_none() => {
                "is judged some time after the last fault; write \"settle_ms\" above all tables"
            }
            _ => return None,
        };
        Some(format!("\"{property}\" {why}"))
    }
}
