//! The predictions of a scenario, and the number of runs that decide them.

use locklab_check::Property;
use locklab_evidence::Expected;

use super::Scenario;

/// The default minimum number of seeds for a scenario.
const USUAL_SEEDS: u64 = 100;

impl Scenario {
    /// The property that the scenario is about: its headline; otherwise the first one with a
    /// predicted violation; otherwise the first one with any prediction; B∞ last.
    pub fn headline(&self) -> Property {
        let first = |wanted: Option<Expected>| {
            let mut predictions = self.expect.iter();
            predictions
                .find(|(property, prediction)| {
                    **property != Property::Belief
                        && wanted.is_none_or(|wanted| wanted == prediction.expected())
                })
                .map(|(property, _)| *property)
        };
        self.headline
            .or_else(|| first(Some(Expected::Violated)))
            .or_else(|| first(None))
            .unwrap_or(Property::Lease)
    }

    /// The default number of seeds: enough to decide each prediction if every run can show it,
    /// and at least a hundred.
    pub fn usual_seeds(&self) -> u64 {
        let needed = self
            .expect
            .values()
            .map(|prediction| prediction.runs_needed());
        needed.max().unwrap_or(0).max(USUAL_SEEDS)
    }

    /// Whether the scenario predicts that the tokens of its lock keep the resource safe.
    pub fn relies_on_tokens(&self) -> bool {
        self.lock.gives_tokens() && self.predicts(Property::Resource, Expected::Holds)
    }

    /// Whether the scenario predicts this verdict of `property`.
    pub fn predicts(&self, property: Property, expected: Expected) -> bool {
        let prediction = self.expect.get(&property);
        prediction.is_some_and(|prediction| prediction.expected() == expected)
    }
}
