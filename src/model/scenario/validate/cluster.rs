//! Checks the numbers and options of a Redis Cluster.

use super::{Problem, require};
use crate::scenario::Scenario;
use locklab_history::{Effect, HostFault, Name, Role};

/// A majority that survives the loss of a master.
const FEWEST_MASTERS: u32 = 3;

/// Checks that the locks of this project are not to run on a cluster.
pub(super) fn none(scenario: &Scenario) -> Result<(), Problem> {
    require(
        scenario.cluster.is_none(),
        &["cluster"],
        "the locks of Locklab speak to single nodes; a program that knows Redis Cluster is run by `locklab attack`",
    )
}

/// Checks a cluster for programs of others, if there is one.
pub(super) fn validate(scenario: &Scenario) -> Result<(), Problem> {
    let Some(cluster) = &scenario.cluster else {
        return Ok(());
    };
    let topology = &scenario.topology;
    require(
        topology.nodes >= FEWEST_MASTERS,
        &["topology", "nodes"],
        format!(
            "a cluster of {} masters has no majority without one of them; write \"nodes = {FEWEST_MASTERS}\"",
            topology.nodes
        ),
    )?;
    require(
        topology.sentinels == 0,
        &["topology", "sentinels"],
        "a cluster has no sentinels: its masters elect a replica; write \"sentinels = 0\"",
    )?;
    require(
        cluster.node_timeout_ms > 0,
        &["cluster", "node_timeout_ms"],
        "\"node_timeout_ms\" is a positive number",
    )?;
    let is_replica = |host: &Name| matches!(topology.role(host), Some(Role::Replica { .. }));
    scenario
        .fault
        .iter()
        .try_for_each(|(name, spec)| match &spec.effect {
            Effect::Hosts {
                fault: HostFault::Failover,
                hosts,
            } => require(
                hosts.iter().all(is_replica),
                &["fault", name, "on"],
                "in a cluster only a replica can be asked for a failover, such as \"n1r1\"",
            ),
            _ => Ok(()),
        })
}
