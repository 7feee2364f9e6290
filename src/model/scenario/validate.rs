//! Checks for values that are well formed individually but invalid together.

use super::grid::Grid;
use locklab_locks::Servers;
use locklab_redis::EvictionPolicy;
use locklab_values::dist::Dist;

use super::{Commit, NodeSpec, Scenario, sweep_axis};
use crate::workload::{CheckBeforeWrite, Fencing, WorkloadKind};

mod campaign;
mod cluster;
mod expect;
mod faults;
mod limits;
mod lock;
mod sentinel;
mod tls;

/// The maximum number of nodes, and of clients, in a scenario: names of two digits.
const MAX_HOSTS: u32 = 99;

/// The maximum number of replicas of a node: names of one digit.
const MAX_REPLICAS: u32 = 9;

/// An invalid value, and the path to it.
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

/// Finds the first invalid value of a scenario for clients that are programs of others. But for its cluster and for TLS it is
/// checked as `with_own`, the same with clients of this project.
pub(super) fn validate_for_programs(
    scenario: &Scenario,
    with_own: &Scenario,
) -> Result<(), Problem> {
    cluster::validate(scenario)?;
    tls::validate(scenario)?;
    validate(with_own)
}

/// Finds the first invalid value.
pub(super) fn validate(scenario: &Scenario) -> Result<(), Problem> {
    cluster::none(scenario)?;
    tls::none(scenario)?;
    limits::validate(scenario)?;
    topology(scenario)?;
    sentinel::validate(scenario)?;
    lock::validate(scenario)?;
    workload(scenario)?;
    check_environment(scenario)?;
    faults::validate(scenario)?;
    campaign::validate(scenario)?;
    expect::validate(scenario)?;
    on_redis(scenario)?;
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
            (1..=MAX_HOSTS).contains(&count),
            &["topology", key],
            format!("there can be 1 to {MAX_HOSTS} {key}, not {count}"),
        )?;
    }
    let replicas = scenario.topology.replicas;
    require(
        replicas <= MAX_REPLICAS,
        &["topology", "replicas"],
        format!("a node can have 0 to {MAX_REPLICAS} replicas, not {replicas}"),
    )?;
    let needed = scenario.node.min_replicas_to_write;
    require(
        needed <= replicas,
        &["node", "min_replicas_to_write"],
        format!("a node with {replicas} replicas that needs {needed} of them never writes"),
    )?;
    require(
        scenario.node.other_writes_every_ms != Some(0),
        &["node", "other_writes_every_ms"],
        "a write every 0 ms would leave no time for anything else; write 1 or more",
    )?;
    require(
        scenario.node.other_writes_bytes.is_none() || scenario.node.other_writes_every_ms.is_some(),
        &["node", "other_writes_bytes"],
        "there are no other writes: \"other_writes_bytes\" needs \"other_writes_every_ms\"",
    )?;
    memory(&scenario.node)?;
    require(
        scenario.horizon_ms > 0,
        &["horizon_ms"],
        "the run would be over before it begins: \"horizon_ms\" is 0",
    )
}

fn memory(node: &NodeSpec) -> Result<(), Problem> {
    require(
        node.maxmemory != Some(0),
        &["node", "maxmemory"],
        "a node that may use 0 bytes never takes a lock; leave \"maxmemory\" out for no limit",
    )?;
    let Some(policy) = &node.maxmemory_policy else {
        return Ok(());
    };
    require(
        EvictionPolicy::named(policy).is_some(),
        &["node", "maxmemory_policy"],
        format!(
            "Redis has no policy {policy:?}; its policies are {}",
            EvictionPolicy::NAMES.join(", ")
        ),
    )?;
    require(
        node.maxmemory.is_some(),
        &["node", "maxmemory_policy"],
        "there is no limit: \"maxmemory_policy\" needs \"maxmemory\"",
    )
}

fn workload(scenario: &Scenario) -> Result<(), Problem> {
    let workload = &scenario.workload;
    require(
        workload.rounds > 0,
        &["workload", "rounds"],
        "with 0 rounds no client ever takes the lock; write 1 or more",
    )?;
    require(
        workload.extend_every_ms != Some(0),
        &["workload", "extend_every_ms"],
        "a client that extends its lease every 0 ms never gets to its work",
    )?;
    require(
        workload.check == CheckBeforeWrite::Deadline || workload.after_check_ms == Dist::default(),
        &["workload", "after_check_ms"],
        "there is no check of the clock: \"after_check_ms\" needs check = \"deadline\"",
    )?;
    adds(scenario)?;
    workload.client.keys().try_for_each(|client| {
        faults::client_exists(scenario, client, &["workload", "client", client])
    })
}

/// Checks the keys that only one kind of workload has.
fn adds(scenario: &Scenario) -> Result<(), Problem> {
    let workload = &scenario.workload;
    if workload.kind == WorkloadKind::Lock {
        return require(
            workload.read_ms.is_none(),
            &["workload", "read_ms"],
            "\"read_ms\" needs kind = \"adds\"",
        );
    }
    require(
        workload
            .read_ms
            .is_some_and(|ms| (1..scenario.horizon_ms).contains(&ms)),
        &["workload", "read_ms"],
        format!(
            "to find what was lost, the set must be read before the run ends at {} ms: give a \
             smaller \"read_ms\"",
            scenario.horizon_ms
        ),
    )?;
    require(
        workload.check == CheckBeforeWrite::None && workload.hold_ms == Dist::default(),
        &["workload"],
        "a client that adds holds no lock: leave \"hold_ms\" and \"check\" out",
    )
}

/// Ten times the default of the libraries in use, as for a lock's own `resend`.
const MAX_RESENDS: u32 = 100;

fn check_environment(scenario: &Scenario) -> Result<(), Problem> {
    let resend = scenario.client.resend;
    require(
        resend <= MAX_RESENDS,
        &["client", "resend"],
        format!("a command is sent again at most {MAX_RESENDS} times, not {resend}"),
    )?;
    require(
        scenario.lock.servers() == Servers::Redis || scenario.client.is_default(),
        &["client"],
        format!(
            "\"{}\" does not use Redis; leave [client] out",
            scenario.lock.entry().name
        ),
    )?;
    require(
        scenario.lock.servers() == Servers::Database || scenario.node.commit == Commit::default(),
        &["node", "commit"],
        format!(
            "\"{}\" is on no database; leave \"commit\" out",
            scenario.lock.entry().name
        ),
    )?;
    probability(scenario.network.loss, &["network", "loss"])?;
    let late_ms = scenario.clocks.timers_late_ms;
    require(
        late_ms.is_finite() && late_ms >= 0.0,
        &["clocks", "timers_late_ms"],
        format!("a timer is late by 0 ms or more, not by {late_ms}"),
    )?;
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
        scenario.resource.fencing == Fencing::None || scenario.lock.gives_tokens(),
        &["resource", "fencing"],
        "a fenced resource needs a lock whose grants carry a token, such as \"set-nx-px\" with \
         \"fencing_token = true\"",
    )
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

/// Real Redis is compared in what is predicted, and a rate without a bound cannot differ.
fn on_redis(scenario: &Scenario) -> Result<(), Problem> {
    let Some(known) = &scenario.on_redis else {
        return Ok(());
    };
    for (key, properties) in [("differs", &known.differs), ("unbounded", &known.unbounded)] {
        for property in properties {
            require(
                scenario.expect.contains_key(property),
                &["on-redis", key],
                format!("\"{property}\" has no prediction in [expect], so it is not compared"),
            )?;
        }
    }
    let both = { known.unbounded.iter() }.find(|property| known.differs.contains(property));
    both.map_or(Ok(()), |property| {
        Err(Problem::at(
            &["on-redis", "unbounded"],
            format!(
                "\"{property}\" is in \"differs\" too; a rate that is asked for no bound cannot differ"
            ),
        ))
    })
}

fn sweep(scenario: &Scenario) -> Result<(), Problem> {
    let Some(sweep) = &scenario.sweep else {
        return Ok(());
    };
    require(
        sweep.seeds > 0,
        &["sweep", "seeds"],
        "a sweep with 0 seeds runs nothing; write 1 or more",
    )?;
    for (path, axis) in &sweep.axis {
        let per = axis.per.as_deref();
        let is_there = per.is_none_or(|per| sweep_axis::number_at(scenario, per).is_some());
        require(
            is_there,
            &["sweep", "axis", path, "per"],
            format!(
                "\"{}\" is not a positive number of this scenario, such as \"lock.ttl_ms\"",
                per.unwrap_or_default()
            ),
        )?;
    }
    Grid::parse(&sweep.vary).map(drop).map_err(|error| {
        Problem::at(
            &["sweep", "vary"],
            format!("{}: {}", error.axis, error.what),
        )
    })
}
