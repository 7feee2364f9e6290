//! What is not predicted of programs of others that cannot show it.

use locklab_check::Property;
use locklab_model::scenario::Scenario;

/// What is told where `resource` is not predicted.
pub(crate) const NO_RESOURCE: &str = "resource is not predicted: no run could show a violation, since the program does not use the resource, or its lock admits several clients";

/// The scenario without a prediction that nothing but the use of the resource can show, unless the user makes it.
/// `None` if it has no such prediction.
pub(crate) fn without_resource(scenario: &Scenario, sets: &[String]) -> Option<Scenario> {
    let predicted = scenario.expect.contains_key(&Property::Resource);
    if !predicted || is_set(Property::Resource, sets) {
        return None;
    }
    let mut scenario = scenario.clone();
    scenario.expect.remove(&Property::Resource);
    scenario.headline = scenario.headline.filter(|it| *it != Property::Resource);
    Some(scenario)
}

/// Whether the user predicts something of this property.
pub(crate) fn is_set(property: Property, sets: &[String]) -> bool {
    let path = format!("expect.{}", property.name());
    sets.iter().any(|set| {
        let rest = set.trim_start().strip_prefix(&path);
        rest.is_some_and(|rest| rest.trim_start().starts_with(['=', '.']))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use locklab_evidence::Prediction;

    #[test]
    fn what_the_user_predicts_of_the_resource_stays_predicted() {
        let mut scenario = locklab_model::scenario::load("kleppmann/k1", &[]).expect("it ships");
        scenario.headline = Some(Property::Resource);
        let predicted = [Property::Lease, Property::Resource];
        scenario.expect = predicted
            .map(|property| (property, Prediction::HOLDS))
            .into();
        let left = |sets: &[&str]| {
            let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
            let left = without_resource(&scenario, &sets)?;
            let predicted: Vec<Property> = left.expect.keys().copied().collect();
            Some((predicted, left.headline()))
        };
        assert_eq!(left(&[]), Some((vec![Property::Lease], Property::Lease)));
        assert_eq!(left(&["expect.resource=violated"]), None);
        assert_eq!(left(&["expect.resource.verdict=holds"]), None);
    }
}
