//! Checks a scenario whose programs speak to their nodes over TLS.

use super::{Problem, require};
use crate::fault::Placement;
use crate::scenario::Scenario;
use locklab_history::Step;

/// Checks that the locks of this project are not to speak TLS.
pub(super) fn none(scenario: &Scenario) -> Result<(), Problem> {
    require(
        !scenario.node.tls,
        &["node", "tls"],
        "the locks of Locklab do not speak TLS; a program that does is run by `locklab attack --tls`",
    )
}

/// Checks that nothing is wanted of the wire, which shows nothing.
pub(super) fn validate(scenario: &Scenario) -> Result<(), Problem> {
    if !scenario.node.tls {
        return Ok(());
    }
    let topology = &scenario.topology;
    require(
        topology.replicas == 0 && topology.sentinels == 0 && scenario.cluster.is_none(),
        &["node", "tls"],
        "only nodes without replicas, sentinels and a cluster speak TLS here",
    )?;
    scenario.fault.iter().try_for_each(|(name, spec)| {
        let is_seen = match &spec.placement {
            Placement::AtStep { step, .. } => {
                !matches!(step, Step::Message { .. } | Step::Holds { .. })
            }
            _ => true,
        };
        require(
            is_seen,
            &["fault", name],
            "over TLS nobody sees which request passes: place the fault with \"at_ms\", or at what the program tells \
             (after = \"c1 acquired\")",
        )
    })
}
