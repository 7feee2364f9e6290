//! Converts a recording back to a scenario and a schedule. Recordings are files that can be edited,
//! so impossible values are reported and not run.

use locklab_values::units::NS_PER_S;

use crate::simulate::Keep;
use crate::{RunError, judged};
use locklab_history::{
    Contents, Effect, Fault, HostFault, LinkFault, Name, Schedule, Start, Topology, command_words,
};
use locklab_model::scenario::{self, Scenario};
use locklab_results::recording::{Environment, Recording};

/// The maximum of a clock step and of a link delay: a year.
const MAX_NS: u64 = 365 * 86_400 * NS_PER_S;

/// Why a recording cannot be run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidRecording {
    /// Its scenario is invalid.
    #[error("the scenario in it: {0}")]
    Scenario(String),
    /// Its schedule contains an impossible value.
    #[error("fault \"{fault}\" in its schedule: {what}")]
    Fault {
        /// The name of the fault.
        fault: Name,
        /// The reason.
        what: String,
    },
}

/// The scenario of a recording, after checking that its schedule can be executed in it.
///
/// # Errors
///
/// If the scenario or the schedule is invalid.
pub fn scenario(recording: &Recording) -> Result<Scenario, InvalidRecording> {
    let mut value = recording.header.scenario.clone();
    let mut take = |key| value.as_object_mut().and_then(|table| table.remove(key));
    let (name, overrides) = (take("name"), take("overrides"));
    let mut scenario = Scenario::from_json(value)
        .map_err(|error| InvalidRecording::Scenario(error.to_string().replace('`', "\"")))?;
    scenario.name = name
        .and_then(|name| name.as_str().map(String::from))
        .unwrap_or_default();
    scenario.overrides = overrides
        .and_then(|overrides| serde_json::from_value(overrides).ok())
        .unwrap_or_default();
    let checked = match recording.header.program.is_empty() {
        true => scenario::check(&scenario),
        false => scenario::check_for_programs(&scenario),
    };
    checked.map_err(InvalidRecording::Scenario)?;
    check(&recording.header.schedule, &scenario)?;
    Ok(scenario)
}

/// What the nodes of a recorded run held: no recording has it, but a run of the simulator can be
/// repeated. `None` for a run on real servers, and for one that this build does not repeat.
///
/// # Errors
///
/// If the run cannot be repeated to its end. `scenario` is that of the recording.
pub fn contents(recording: &Recording, scenario: &Scenario) -> Result<Option<Contents>, RunError> {
    let header = &recording.header;
    if header.environment == Environment::Redis {
        return Ok(None);
    }
    let schedule = header.schedule.clone();
    let again = judged::run_until_full(scenario, header.seed, schedule, Keep::CONTENTS)?;
    Ok(again
        .contents
        .filter(|_| again.history == recording.history))
}

fn check(schedule: &Schedule, scenario: &Scenario) -> Result<(), InvalidRecording> {
    schedule.faults.iter().try_for_each(|fault| {
        problem(fault, &scenario.topology).map_or(Ok(()), |what| {
            Err(InvalidRecording::Fault {
                fault: fault.name.clone(),
                what,
            })
        })
    })
}

fn problem(fault: &Fault, topology: &Topology) -> Option<String> {
    let hosts = topology.hosts();
    let clients = &hosts[..topology.clients as usize];
    let among = |name: &Name, names: &[String]| names.iter().any(|known| **known == **name);
    if let Start::After { client, .. } = &fault.start
        && !among(client, clients)
    {
        return Some(format!("there is no client \"{client}\""));
    }
    if let Start::AtStep { step, .. } = &fault.start
        && let Some(host) = step.hosts().into_iter().find(|host| !among(host, &hosts))
    {
        return Some(format!("its step names \"{host}\", which is no host"));
    }
    if let Some(host) = fault.effect.hosts().find(|host| !among(host, &hosts)) {
        return Some(format!("there is no host \"{host}\""));
    }
    if fault.effect.is_empty() {
        return Some("it names no host".into());
    }
    match &fault.effect {
        Effect::Hosts { fault, hosts } => impossible_of_hosts(fault, hosts, topology),
        Effect::Links { fault, .. } => impossible_of_links(*fault),
    }
}

fn impossible_of_hosts(fault: &HostFault, hosts: &[Name], topology: &Topology) -> Option<String> {
    match fault {
        HostFault::ClockStep { step: step_ns } if step_ns.unsigned_abs() > MAX_NS => {
            Some(format!("{step_ns} ns is more than a year"))
        }
        HostFault::ClockRate { drift_ppm } if !(-999_999..=10_000_000).contains(drift_ppm) => Some(
            format!("a clock cannot drift by {drift_ppm} ppm, only by -999999 to 10000000"),
        ),
        HostFault::Failover => hosts
            .iter()
            .find(|host| topology.role(host).is_none())
            .map(|host| format!("\"{host}\" cannot be asked for a failover")),
        HostFault::Command { line } => {
            let deaf = hosts.iter().find(|host| topology.role(host).is_none());
            let deaf = deaf.map(|host| format!("\"{host}\" takes no command"));
            deaf.or_else(|| command_words(line).err().map(Into::into))
        }
        _ => None,
    }
}

fn impossible_of_links(fault: LinkFault) -> Option<String> {
    match fault {
        LinkFault::SlowLink { extra: extra_ns } if extra_ns > MAX_NS => {
            Some(format!("{extra_ns} ns is more than a year"))
        }
        LinkFault::Loss { probability } if !(0.0..=1.0).contains(&probability) => Some(format!(
            "a probability is between 0 and 1, not {probability}"
        )),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::judged;
    use crate::simulate::Keep;
    use locklab_results::recording::Environment;

    /// The error message for K1's recording when the values at these places of its header are
    /// replaced.
    fn outcome(edits: &[(&str, Value)]) -> String {
        let k1 = scenario::load("kleppmann/k1", &[]).expect("it ships");
        let run = judged::run(&k1, 0, Keep::default()).expect("it ends");
        let mut recording = judged::recording(&k1, 0, run, Environment::World);
        let mut schedule = json!(recording.header.schedule);
        for (place, value) in edits {
            let edited = match place.strip_prefix("/scenario") {
                Some(place) => recording.header.scenario.pointer_mut(place),
                None => schedule.pointer_mut(place),
            };
            *edited.expect(place) = value.clone();
        }
        recording.header.schedule = serde_json::from_value(schedule).expect("a schedule");
        match scenario(&recording) {
            Ok(scenario) => scenario.name,
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn impossible_values_in_a_recording_are_rejected() {
        assert_eq!(outcome(&[]), "kleppmann/k1");
        for (place, value, expected) in [
            (
                "/faults/0/kind/hosts/0",
                json!("c9"),
                "fault \"gc\" in its schedule: there is no host \"c9\"",
            ),
            (
                "/faults/0/kind/hosts",
                json!([]),
                "fault \"gc\" in its schedule: it names no host",
            ),
            (
                "/faults/0/start/after/client",
                json!("n1"),
                "fault \"gc\" in its schedule: there is no client \"n1\"",
            ),
            (
                "/faults/0/kind",
                json!({ "kind": "clock-step", "hosts": ["n1"], "step_ns": i64::MIN }),
                "fault \"gc\" in its schedule: -9223372036854775808 ns is more than a year",
            ),
            (
                "/faults/0/kind",
                json!({ "kind": "clock-rate", "hosts": ["n1"], "drift_ppm": -1_000_000 }),
                "fault \"gc\" in its schedule: a clock cannot drift by -1000000 ppm, only by \
                 -999999 to 10000000",
            ),
            (
                "/faults/0/kind",
                json!({ "kind": "failover", "hosts": ["c1"] }),
                "fault \"gc\" in its schedule: \"c1\" cannot be asked for a failover",
            ),
            (
                "/scenario/topology/nodes",
                json!(0),
                "the scenario in it: topology.nodes: there can be 1 to 99 nodes, not 0",
            ),
            (
                "/scenario/lock/ttl_ms",
                json!("long"),
                "the scenario in it: invalid type: string \"long\", expected u64",
            ),
        ] {
            assert_eq!(outcome(&[(place, value)]), expected);
        }
    }
}
