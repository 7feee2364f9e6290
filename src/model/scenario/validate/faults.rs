//! Checks faults: on hosts that do not exist, at points that no client reaches.

use super::{Problem, drift, probability, require};
use crate::fault::{FaultSpec, Placement};
use crate::scenario::{Persistence, Scenario};
use crate::workload::{CheckBeforeWrite, WorkloadKind};
use locklab_history::{Aim, Effect, Failpoint, HostFault, Links, Moment, Name, Role, Step};
use locklab_locks::Servers;
use locklab_values::count::times;
use locklab_values::dist::{Dist, Signed};

pub(super) fn validate(scenario: &Scenario) -> Result<(), Problem> {
    scenario.fault.iter().try_for_each(|(name, spec)| {
        require(
            !name.contains('#'),
            &["fault", name],
            "a fault's name cannot contain #, which numbers the starts of a repeated fault",
        )?;
        effect(scenario, name, spec)?;
        placement(scenario, name, &spec.placement)
    })
}

fn effect(scenario: &Scenario, name: &str, spec: &FaultSpec) -> Result<(), Problem> {
    let mut validate = Validate { fault: name };
    match &spec.effect {
        Effect::Hosts { fault, hosts: on } => {
            let fault = fault.clone();
            fault.convert(&mut validate, Validate::step, Validate::rate, |_, _| Ok(()))?;
            hosts(scenario, on, name, "on")?;
            match spec.kind().aim() {
                Aim::Servers(HostFault::Failover) => promotable(scenario, on, name),
                Aim::Servers(HostFault::DiskFull) => writing(scenario, on, name),
                Aim::Servers(_) => servers(scenario, on, name),
                Aim::Processes(_) | Aim::Machines(_) | Aim::Links(_) => Ok(()),
            }
        }
        Effect::Links {
            fault,
            links: sides,
        } => {
            let fault = fault.clone();
            fault.convert(&mut validate, Validate::delay, Validate::share)?;
            links(scenario, name, sides)
        }
    }
}

/// Rejects invalid amounts.
struct Validate<'f> {
    fault: &'f str,
}

impl Validate<'_> {
    fn delay(&mut self, _: Dist) -> Result<(), Problem> {
        Ok(())
    }

    fn share(&mut self, share: f64) -> Result<(), Problem> {
        probability(share, &["fault", self.fault, "probability"])
    }

    fn step(&mut self, _: Signed) -> Result<(), Problem> {
        Ok(())
    }

    fn rate(&mut self, drift_ppm: Signed) -> Result<(), Problem> {
        let (least, path) = (drift_ppm.least(), ["fault", self.fault, "drift_ppm"]);
        require(
            least.is_finite(),
            &path,
            "a clock may be slow by less than 1000000 ppm, and this distribution has no lower end; \
             write { uniform = [-500, 500] } or { values = [-500, 500] }",
        )?;
        drift(least.round() as i64, &path)
    }
}

/// Checks that there is a replica to promote, and that a failover can be requested on these
/// hosts.
fn promotable(scenario: &Scenario, hosts: &[Name], name: &str) -> Result<(), Problem> {
    require(
        scenario.topology.replicas > 0,
        &["fault", name, "kind"],
        "a failover needs a replica to promote, and \"topology.replicas\" is 0",
    )?;
    let deaf = hosts
        .iter()
        .find(|host| scenario.topology.role(host).is_none());
    deaf.map_or(Ok(()), |host| {
        Err(Problem::at(
            &["fault", name, "on"],
            format!(
                "\"{host}\" cannot be asked for a failover: name a sentinel (\"s1\"), a master \
                 (\"n1\"), or the replica that is to be the master (\"n1r1\")"
            ),
        ))
    })
}

/// Checks that a command can be entered on these hosts.
fn servers(scenario: &Scenario, hosts: &[Name], name: &str) -> Result<(), Problem> {
    let is_redis = scenario.lock.servers() == Servers::Redis;
    require(
        is_redis,
        &["fault", name, "kind"],
        "an operator enters commands at Redis only, and this lock is on other servers",
    )?;
    let deaf = |host: &&Name| scenario.topology.role(host).is_none();
    hosts.iter().find(deaf).map_or(Ok(()), |host| {
        Err(Problem::at(
            &["fault", name, "on"],
            format!("\"{host}\" takes no command: name a server (\"n1\", \"n1r1\", \"s1\")"),
        ))
    })
}

/// Checks that these hosts are nodes that write to a disk, and go on when they cannot.
fn writing(scenario: &Scenario, hosts: &[Name], name: &str) -> Result<(), Problem> {
    let path = ["fault", name, "kind"];
    require(
        scenario.lock.servers() == Servers::Redis && scenario.topology.replicas == 0,
        &path,
        "a disk can be full under Redis without replicas only: a database, a member of a group or a replica that \
         cannot write ends; write kind = \"kill\"",
    )?;
    let why = match scenario.node.persistence {
        Persistence::AofEverysec | Persistence::AofNo | Persistence::Snapshot => None,
        Persistence::None => {
            Some("with node.persistence = \"none\" a node writes nothing to its disk")
        }
        Persistence::AofAlways => Some(
            "with node.persistence = \"aof-always\" a node that cannot write ends; write kind = \"kill\"",
        ),
    };
    require(why.is_none(), &path, why.unwrap_or_default())?;
    let other = |host: &&Name| scenario.topology.role(host) != Some(Role::Node);
    hosts.iter().find(other).map_or(Ok(()), |host| {
        let text = format!("\"{host}\" has no disk that can be full: name a node (\"n1\")");
        Err(Problem::at(&["fault", name, "on"], text))
    })
}

fn hosts(scenario: &Scenario, hosts: &[Name], name: &str, key: &str) -> Result<(), Problem> {
    hosts
        .iter()
        .try_for_each(|host| host_exists(scenario, host, &["fault", name, key]))
}

fn links(scenario: &Scenario, name: &str, links: &Links) -> Result<(), Problem> {
    hosts(scenario, &links.from, name, "from")?;
    hosts(scenario, &links.to, name, "to")?;
    match links.from.iter().find(|host| links.to.contains(host)) {
        Some(host) => Err(Problem::at(
            &["fault", name, "to"],
            format!("\"{host}\" is on both sides; there is no link from a host to itself"),
        )),
        None => Ok(()),
    }
}

/// More repetitions are likely a typing error, and would exhaust the memory.
const MAX_REPETITIONS: f64 = 1_000_000.0;

fn placement(scenario: &Scenario, name: &str, placement: &Placement) -> Result<(), Problem> {
    match placement {
        Placement::At(_) => Ok(()),
        Placement::After { moment, .. } => reachable(scenario, moment, &["fault", name, "after"]),
        Placement::AtStep { step, .. } => possible(scenario, step, &["fault", name, "at_step"]),
        Placement::Between { first, second } => {
            reachable(scenario, first, &["fault", name, "between"])?;
            reachable(scenario, second, &["fault", name, "between"])
        }
        Placement::Every {
            every_ms, until_ms, ..
        } => {
            require(
                longest_ms(every_ms) >= 1.0,
                &["fault", name, "every_ms"],
                "a fault repeats after 1 ms at the earliest",
            )?;
            require(
                until_ms.is_finite() && *until_ms > 0.0,
                &["fault", name, "until_ms"],
                format!("a fault repeats until a time above 0, not until {until_ms}"),
            )?;
            require(
                until_ms / longest_ms(every_ms) <= MAX_REPETITIONS,
                &["fault", name, "every_ms"],
                format!(
                    "a fault repeats {MAX_REPETITIONS} times at most; until {until_ms} ms that \
                     would be more"
                ),
            )
        }
    }
}

/// The longest interval that can be drawn; for an unbounded distribution its mean or median.
fn longest_ms(dist: &Dist) -> f64 {
    match *dist {
        Dist::Constant(value) => value,
        Dist::Uniform(_, high) => high,
        Dist::Exponential(mean) => mean,
        Dist::LogNormal { median, .. } => median,
        // The greatest value of a finite one.
        Dist::Values(_) => dist.at_tail_ms(f64::MIN_POSITIVE),
        Dist::Quantiles(_) | Dist::Mixture(_) => dist.at_tail_ms(0.5),
    }
}

/// Checks that a run of the scenario can have this step. How often it happens is known only afterwards:
/// a fault at a step that never comes is recorded as missed.
fn possible(scenario: &Scenario, step: &Step, path: &[&str]) -> Result<(), Problem> {
    for host in step.hosts() {
        host_exists(scenario, host, path)?;
    }
    let role = scenario.topology.role(step.host());
    match step {
        Step::Failpoint(moment) => reachable(scenario, moment, path),
        Step::Timer { host: client, .. } | Step::Holds { client, .. } => {
            client_exists(scenario, client, path)
        }
        Step::Sync { host, .. } => require(
            matches!(role, Some(Role::Node | Role::Replica { .. })),
            path,
            format!("\"{host}\" keeps no file; only nodes and their replicas sync theirs"),
        ),
        Step::Notice { host, .. } => require(
            role == Some(Role::Sentinel),
            path,
            format!("\"{host}\" is not a sentinel, and only they log such events"),
        ),
        Step::Message { request, .. } => {
            let clients = scenario.topology.clients;
            let is_client = |host: &Name| (1..=clients).any(|i| **host == *format!("c{i}"));
            let of_replica = matches!(
                scenario.topology.role(&request.to),
                Some(Role::Node | Role::Replica { .. })
            ) && scenario.topology.replicas > 0;
            require(
                is_client(&request.from) || of_replica,
                path,
                format!(
                    "\"{}\" sends no requests that are steps; those of clients are, and the writes \
                     that a master sends to its replicas",
                    request.from
                ),
            )
        }
    }
}

fn reachable(scenario: &Scenario, moment: &Moment, path: &[&str]) -> Result<(), Problem> {
    client_exists(scenario, &moment.client, path)?;
    require(
        scenario.workload.kind == WorkloadKind::Lock,
        path,
        "a client that adds to a set reaches no failpoint; place the fault with \"at_ms\" or \
         \"every_ms\"",
    )?;
    require(
        moment.point != Failpoint::Checked || scenario.workload.check == CheckBeforeWrite::Deadline,
        path,
        "a client reaches \"checked\" only with \"check = \\\"deadline\\\"\" in [workload]",
    )?;
    let rounds = scenario.workload.of(&moment.client).rounds;
    require(
        moment.nth <= rounds || moment.point.repeats(),
        path,
        format!(
            "\"{moment}\" never comes: {} takes the lock {}",
            moment.client,
            times(u64::from(rounds))
        ),
    )
}

/// Whether the scenario has this client.
pub(super) fn client_exists(
    scenario: &Scenario,
    client: &str,
    path: &[&str],
) -> Result<(), Problem> {
    let clients = scenario.topology.clients;
    require(
        (1..=clients).any(|i| format!("c{i}") == client),
        path,
        format!(
            "unknown client \"{client}\"; the clients are {}",
            range("c", clients)
        ),
    )
}

/// Whether the scenario has this host.
pub(super) fn host_exists(scenario: &Scenario, host: &str, path: &[&str]) -> Result<(), Problem> {
    let topology = &scenario.topology;
    require(
        topology.hosts().iter().any(|known| known == host),
        path,
        format!(
            "unknown host \"{host}\"; the hosts are {}, {}{}{} and \"resource\"",
            range("c", topology.clients),
            range("n", topology.nodes),
            match topology.replicas {
                0 => "",
                _ => ", their replicas (\"n1r1\")",
            },
            match topology.sentinels {
                0 => String::new(),
                count => format!(", {}", range("s", count)),
            }
        ),
    )
}

fn range(letter: &str, count: u32) -> String {
    match count {
        1 => format!("\"{letter}1\""),
        _ => format!("\"{letter}1\" to \"{letter}{count}\""),
    }
}
