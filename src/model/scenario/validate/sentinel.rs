//! Checks the numbers and options of sentinels.

use super::{Problem, require};
use crate::scenario::Scenario;

/// The maximum number of sentinels: names of one digit.
const MAX_SENTINELS: u32 = 9;

pub(super) fn validate(scenario: &Scenario) -> Result<(), Problem> {
    let topology = &scenario.topology;
    let sentinels = topology.sentinels;
    require(
        sentinels <= MAX_SENTINELS,
        &["topology", "sentinels"],
        format!("there can be 0 to {MAX_SENTINELS} sentinels, not {sentinels}"),
    )?;
    if topology.sentinels == 0 {
        return Ok(());
    }
    require(
        topology.nodes == 1,
        &["topology", "sentinels"],
        format!(
            "sentinels monitor one master, but there are {} nodes; write \"nodes = 1\"",
            topology.nodes
        ),
    )?;
    let options = &scenario.sentinel;
    if let Some(quorum) = options.quorum {
        require(
            (1..=topology.sentinels).contains(&quorum),
            &["sentinel", "quorum"],
            format!(
                "the quorum of {} sentinels is 1 to {0}, not {quorum}",
                topology.sentinels
            ),
        )?;
    }
    for (key, value) in [
        ("down_after_ms", options.down_after_ms),
        ("failover_timeout_ms", options.failover_timeout_ms),
        ("parallel_syncs", options.parallel_syncs.into()),
    ] {
        require(
            value > 0,
            &["sentinel", key],
            format!("\"{key}\" is a positive number"),
        )?;
    }
    Ok(())
}
