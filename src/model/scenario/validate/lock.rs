//! Checks the locks' parameters.

use super::Problem;
use crate::scenario::Scenario;

pub(super) fn validate(scenario: &Scenario) -> Result<(), Problem> {
    let checked = scenario.lock.check(&scenario.topology);
    checked.map_err(|impossible| Problem::at(&impossible.path, impossible.why))
}
