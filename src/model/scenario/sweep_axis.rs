//! The titles of varied parameters: that of `fault.gc.duration_ms.exponential` is `mean pause
//! (ms)`.
//!
//! The words follow from the schema: the section, the kind of the fault, the key and its
//! distribution. A scenario's `[sweep.axis]` may state others.

use serde::{Deserialize, Serialize};

use super::Scenario;
use crate::fault::{FaultSpec, Placement, amount_key};
use locklab_history::Span;
use locklab_results::Axis;
use locklab_values::untrusted;

/// One `[sweep.axis."PATH"]`: how a chart shows a parameter.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AxisSpec {
    /// The quantity, instead of the words that follow from the schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The path of another number of the scenario: values are shown in multiples of it. With
    /// `lock.ttl_ms` these are leases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per: Option<String>,
}

/// The axis of a parameter of `scenario`, which may itself be varied.
pub fn axis(scenario: &Scenario, path: &str) -> Axis {
    let mut axis = named(scenario, path);
    let Some(own) = (scenario.sweep.as_ref()).and_then(|sweep| sweep.axis.get(path)) else {
        return axis;
    };
    if let Some(title) = &own.title {
        axis.name = untrusted::line(title);
    }
    if let Some(per) = &own.per
        && let Some(size) = number_at(scenario, per)
    {
        axis.per = size;
        axis.unit = match named(scenario, per).name.as_str() {
            "lease" => "leases".into(),
            other => format!("multiples of the {other}"),
        };
    }
    axis
}

/// The positive number at a path of the scenario.
pub(super) fn number_at(scenario: &Scenario, path: &str) -> Option<f64> {
    let value = serde_json::to_value(scenario).ok()?;
    let number = value
        .pointer(&format!("/{}", path.replace('.', "/")))?
        .as_f64();
    number.filter(|number| *number > 0.0)
}

/// The words that follow from the schema.
fn named(scenario: &Scenario, path: &str) -> Axis {
    let keys: Vec<&str> = path.split('.').collect();
    let (keys, part) = match keys[..] {
        [ref of @ .., "exponential"] => (of, "mean "),
        [ref of @ .., "log_normal", "median"] => (of, "median "),
        [ref of @ .., "log_normal", "sigma"] => (of, "sigma of the "),
        _ => (&keys[..], ""),
    };
    let mut axis = Axis::of_key(&keys.join("."));
    if let Some(name) = quantity(scenario, keys, &axis.name) {
        axis.name = name;
    }
    axis.name.insert_str(0, part);
    if part.starts_with("sigma") {
        // The deviation of a logarithm has no unit.
        axis.unit.clear();
    }
    Axis {
        path: path.to_owned(),
        ..axis
    }
}

/// The quantity behind a key; `None` if the key says it by itself. `stem` is the key without
/// its unit.
fn quantity(scenario: &Scenario, keys: &[&str], stem: &str) -> Option<String> {
    Some(match *keys {
        ["fault", name, key] => {
            let fault = scenario.fault.get(name)?;
            let alike = |other: &&FaultSpec| other.kind().noun() == fault.kind().noun();
            let noun = match scenario.fault.values().filter(alike).count() {
                1 => fault.kind().noun().to_owned(),
                _ => format!("{} “{name}”", fault.kind().noun()),
            };
            of_fault(fault, &noun, key)?
        }
        ["lock", "name"] => "lock".into(),
        ["lock", "ttl_ms" | "lease_ms"] => "lease".into(),
        ["network", "latency_ms"] => "network latency".into(),
        ["network", "loss"] => "probability of packet loss".into(),
        ["clocks", "timers_late_ms"] => "lateness of timers".into(),
        ["clocks", "host", host, _] => format!("clock {stem} of {host}"),
        ["workload", "client", client, "hold_ms"] => format!("hold time of {client}"),
        ["workload", "hold_ms"] => "hold time".into(),
        ["workload", "client", client, _] => format!("{stem} of {client}"),
        _ => return None,
    })
}

/// A key of a fault's table.
fn of_fault(fault: &FaultSpec, noun: &str, key: &str) -> Option<String> {
    let amount = amount_key(fault.kind());
    let since = match &fault.placement {
        Placement::After { moment, .. } => format!(" after “{moment}”"),
        Placement::AtStep { step, .. } => format!(" at “{step}”"),
        _ => String::new(),
    };
    Some(match key {
        "extra_ms" => "added delay".into(),
        "probability" => format!("probability of {noun}"),
        key if amount == Some(key) => noun.into(),
        "duration_ms" => match (fault.kind().span(), amount) {
            (Span::Down, _) => format!("downtime after the {noun}"),
            // Its amount is called by its name.
            (_, Some(_)) => format!("duration of the {noun}"),
            (_, None) => noun.into(),
        },
        "delay_ms" => format!("delay of the {noun}{since}"),
        "at_ms" => format!("start of the {noun}"),
        "after" => format!("{noun} after"),
        "every_ms" => format!("interval of the {noun}"),
        "until_ms" => format!("end of the {noun}"),
        "on" => format!("hosts of the {noun}"),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{grid::Grid, load, shipped::SHIPPED};

    #[track_caller]
    fn check(scenario: &str, sets: &[&str], path: &str, expected: &str) {
        let sets: Vec<String> = sets.iter().map(|set| (*set).into()).collect();
        let scenario = load(scenario, &sets).expect("it is valid");
        assert_eq!(axis(&scenario, path).title(), expected);
    }

    #[test]
    fn a_fault_is_named_by_its_kind_its_key_and_its_distribution() {
        let mean = "fault.gc.duration_ms.exponential";
        check("kleppmann/k1-exponential", &[], mean, "mean pause (ms)");
        check("kleppmann/k1", &[], "fault.gc.duration_ms", "pause (ms)");
        let drawn = "fault.gc.duration_ms={ log_normal = { median = 3, sigma = 1 } }";
        for (key, expected) in [
            ("median", "median pause (ms)"),
            ("sigma", "sigma of the pause"),
        ] {
            let path = format!("fault.gc.duration_ms.log_normal.{key}");
            check("kleppmann/k1", &[drawn], &path, expected);
        }
        check(
            "kleppmann/k10",
            &[],
            "fault.jump.step_ms",
            "clock step (ms)",
        );
        check(
            "kleppmann/k4",
            &[],
            "fault.delay.extra_ms",
            "added delay (ms)",
        );
        let loss = "probability of packet loss";
        check("kleppmann/k4-loss", &[], "fault.loss.probability", loss);
        let lag = "fault.lag.duration_ms";
        check("redis-docs/r4", &[], lag, "partition (ms)");
        check(
            "redis-docs/r2",
            &[],
            "fault.crash.after",
            "power loss after",
        );
        let delay = "delay of the power loss after “c1 acquired” (ms)";
        check(
            "redis-docs/r12-everysec",
            &[],
            "fault.power.delay_ms",
            delay,
        );
    }

    #[test]
    fn faults_of_one_kind_are_distinguished_by_name() {
        let path = "fault.cut-c1.duration_ms";
        check("kleppmann/k10", &[], path, "partition “cut-c1” (ms)");
    }

    #[test]
    fn other_sections_are_named_too() {
        check("kleppmann/k1", &[], "lock.ttl_ms", "lease (ms)");
        check("kleppmann/k1", &[], "lock.name", "lock");
        check("kleppmann/k1", &[], "topology.clients", "clients");
        check(
            "kleppmann/k1",
            &[],
            "network.latency_ms",
            "network latency (ms)",
        );
        let offset = "clocks.host.c2.offset_ms";
        check("redis-docs/s2-skew", &[], offset, "clock offset of c2 (ms)");
        let hold = "workload.client.c1.hold_ms";
        check("seeds/reentrant-local", &[], hold, "hold time of c1 (ms)");
    }

    #[test]
    fn a_scenario_may_state_its_own_title_and_unit() {
        let path = "node.restart_delay_ms";
        check("redis-docs/r13", &[], path, "restart delay (leases)");
        let own =
            "sweep.axis={ \"lock.ttl_ms\" = { title = \"how long\", per = \"lock.validity\" } }";
        let refused = load("redis-docs/r13", &[own.into()]).map_err(|error| error.to_string());
        let told = refused.expect_err("there is no such number");
        assert!(
            told.contains("\"lock.validity\" is not a positive number"),
            "{told}"
        );
    }

    #[test]
    fn every_shipped_axis_names_more_than_its_key() {
        for (name, _) in SHIPPED {
            let scenario = load(name, &[]).expect("it ships");
            let vary = scenario.sweep.iter().flat_map(|sweep| &sweep.vary);
            for path in Grid::parse(&vary.cloned().collect::<Vec<_>>())
                .expect("it is valid")
                .paths()
            {
                let title = axis(&scenario, path).title();
                let bare = [
                    "duration",
                    "extra",
                    "exponential",
                    "delay (ms)",
                    "step (ms)",
                ];
                let is_bare = bare.iter().any(|word| title.starts_with(word));
                assert!(!is_bare || title.contains(" of "), "{name}: {title}");
            }
        }
    }
}
