//! What is impossible although each value by itself is well formed.

use super::grid::Grid;
use super::{Expected, Fencing, Scenario};
use crate::check::Property;
use crate::locks::{LockSpec, redlock, set_nx_px};

mod faults;

/// The most nodes, and the most clients, of a scenario: names of two digits.
const MOST_HOSTS: u32 = 99;

/// Something impossible, and the path to it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Problem {
    pub path: Vec<String>,
    pub what: String,
}

impl Problem {
    fn at(path: &[&str], what: impl Into<String>) -> Problem {
        Problem {
            path: path.iter().map(|key| (*key).to_owned()).collect(),
            what: what.into(),
        }
    }
}

/// Finds the first thing that is impossible.
pub(super) fn validate(scenario: &Scenario) -> Result<(), Problem> {
    topology(scenario)?;
    lock(scenario)?;
    workload(scenario)?;
    surroundings(scenario)?;
    faults::validate(scenario)?;
    expectations(scenario)?;
    sweep(scenario)
}

fn require(possible: bool, path: &[&str], what: impl Into<String>) -> Result<(), Problem> {
    match possible {
        true => Ok(()),
        false => Err(Problem::at(path, what)),
    }
}

fn topology(scenario: &Scenario) -> Result<(), Problem> {
    let hosts = [
        ("nodes", scenario.topology.nodes),
        ("clients", scenario.topology.clients),
    ];
    for (key, count) in hosts {
        require(
            (1..=MOST_HOSTS).contains(&count),
            &["topology", key],
            format!("there can be 1 to {MOST_HOSTS} {key}, not {count}"),
        )?;
    }
    require(
        scenario.horizon_ms > 0,
        &["horizon_ms"],
        "the run would be over before it begins: \"horizon_ms\" is 0",
    )
}

fn lock(scenario: &Scenario) -> Result<(), Problem> {
    match &scenario.lock {
        LockSpec::SetNxPx(params) => set_nx_px(params, scenario.topology.nodes),
        LockSpec::Redlock(params) => redlock(params, scenario.topology.nodes),
    }
}

fn set_nx_px(params: &set_nx_px::Params, nodes: u32) -> Result<(), Problem> {
    require(
        nodes == 1,
        &["topology", "nodes"],
        format!("\"set-nx-px\" locks on one node, not on {nodes}"),
    )?;
    lease(params.ttl_ms)?;
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

fn workload(scenario: &Scenario) -> Result<(), Problem> {
    let workload = &scenario.workload;
    require(
        workload.rounds > 0,
        &["workload", "rounds"],
        "with 0 rounds nobody ever takes the lock",
    )?;
    require(
        workload.give_up_ms != Some(0),
        &["workload", "give_up_ms"],
        "a client that gives up after 0 ms never tries; leave \"give_up_ms\" out to try for ever",
    )?;
    workload.client.keys().try_for_each(|client| {
        faults::client_exists(scenario, client, &["workload", "client", client])
    })
}

fn surroundings(scenario: &Scenario) -> Result<(), Problem> {
    probability(scenario.network.loss, &["network", "loss"])?;
    for (host, clock) in &scenario.clocks.host {
        faults::host_exists(scenario, host, &["clocks", "host", host])?;
        let path = ["clocks", "host", host, "offset_ms"];
        require(
            clock.offset_ms.is_finite(),
            &path,
            format!("an offset must be finite, not {}", clock.offset_ms),
        )?;
        drift(clock.drift_ppm, &["clocks", "host", host, "drift_ppm"])?;
    }
    require(
        scenario.resource.fencing == Fencing::None || gives_tokens(&scenario.lock),
        &["resource", "fencing"],
        "a fenced resource needs a lock whose grants carry a token, such as \"set-nx-px\" with \
         \"fencing_token = true\"",
    )
}

fn gives_tokens(lock: &LockSpec) -> bool {
    match lock {
        LockSpec::SetNxPx(params) => params.fencing_token,
        LockSpec::Redlock(_) => false,
    }
}

fn probability(value: f64, path: &[&str]) -> Result<(), Problem> {
    require(
        (0.0..=1.0).contains(&value),
        path,
        format!("a probability is between 0 and 1, not {value}"),
    )
}

fn drift(ppm: i64, path: &[&str]) -> Result<(), Problem> {
    require(
        ppm > -1_000_000,
        path,
        format!("a clock that is {ppm} ppm off would stand still or run backwards"),
    )
}

/// `resource` is three properties together, so it holds exactly if they do.
fn expectations(scenario: &Scenario) -> Result<(), Problem> {
    let expected = |property| scenario.expect.get(&property);
    let parts = [
        (Property::StaleWrite, "stale-write"),
        (Property::LostUpdate, "lost-update"),
        (Property::TokenRegression, "token-regression"),
    ];
    let violated = parts
        .iter()
        .find(|(part, _)| expected(*part) == Some(&Expected::Violated));
    match (expected(Property::Resource), violated) {
        (Some(Expected::Holds), Some((_, part))) => Err(Problem::at(
            &["expect", "resource"],
            format!("\"resource\" cannot hold when \"{part}\" is violated, which is part of it"),
        )),
        _ => Ok(()),
    }
}

fn sweep(scenario: &Scenario) -> Result<(), Problem> {
    let Some(sweep) = &scenario.sweep else {
        return Ok(());
    };
    require(
        sweep.seeds > 0,
        &["sweep", "seeds"],
        "a sweep with 0 seeds runs nothing",
    )?;
    Grid::parse(&sweep.vary)
        .map(drop)
        .map_err(|error| Problem::at(&["sweep", "vary"], error.what))
}
