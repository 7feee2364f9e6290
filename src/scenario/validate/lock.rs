//! Impossible parameters of the locks.

use super::{Problem, require};
use crate::locks::{LockSpec, redlock, set_nx_px};
use crate::scenario::{Scenario, Topology};

pub(super) fn validate(scenario: &Scenario) -> Result<(), Problem> {
    match &scenario.lock {
        LockSpec::SetNxPx(params) => set_nx_px(params, &scenario.topology),
        LockSpec::Redlock(params) => redlock(params, scenario.topology.nodes),
    }
}

fn set_nx_px(params: &set_nx_px::Params, topology: &Topology) -> Result<(), Problem> {
    let Topology {
        nodes, replicas, ..
    } = *topology;
    require(
        nodes == 1,
        &["topology", "nodes"],
        format!("\"set-nx-px\" locks on one node, not on {nodes}"),
    )?;
    lease(params.ttl_ms)?;
    require(
        params.wait_replicas <= replicas,
        &["lock", "wait_replicas"],
        format!(
            "the node has {replicas} replicas, so {} never have the lock",
            params.wait_replicas
        ),
    )?;
    require(
        params.timeout_ms != Some(0),
        &["lock", "timeout_ms"],
        "a client that waits 0 ms never gets a reply; leave \"timeout_ms\" out to wait for ever",
    )
}

fn redlock(params: &redlock::Params, nodes: u32) -> Result<(), Problem> {
    lease(params.ttl_ms)?;
    if let Some(quorum) = params.quorum {
        require(
            (1..=nodes).contains(&quorum),
            &["lock", "quorum"],
            format!("of {nodes} nodes 1 to {nodes} can be the quorum, not {quorum}"),
        )?;
    }
    require(
        params.node_timeout_ms > 0,
        &["lock", "node_timeout_ms"],
        "a client that waits 0 ms for a node never gets a reply",
    )?;
    require(
        params.drift_factor.is_finite() && params.drift_factor >= 0.0,
        &["lock", "drift_factor"],
        format!(
            "the allowance for drift is a share of the lease, 0 or more, not {}",
            params.drift_factor
        ),
    )
}

fn lease(ttl_ms: u64) -> Result<(), Problem> {
    require(
        ttl_ms > 0,
        &["lock", "ttl_ms"],
        "a lease of 0 ms is over before it begins",
    )
}

/// Whether the lock's grants carry a fencing token.
pub(super) fn gives_tokens(lock: &LockSpec) -> bool {
    match lock {
        LockSpec::SetNxPx(params) => params.fencing_token,
        LockSpec::Redlock(_) => false,
    }
}
