//! Constants in place of what a seed draws: distributions, loss, the jitter between attempts, and
//! which of the clients is first that start at the same time.

use serde_json::{Value, json};

use crate::edit::numbers::LEAST_LATENCY_MS;
use crate::json::replaced;
use crate::size::ties;
use crate::trial::Best;
use locklab_check::Property;
use locklab_model::scenario::Scenario;
use locklab_values::dist::Dist;

/// With one random part made constant.
pub(crate) fn settled(best: &Best, _: Property) -> Vec<Scenario> {
    let value = best.scenario.to_json();
    let mut found = Vec::new();
    collect(&value, &mut Vec::new(), &mut found);
    let candidates = found.iter().flat_map(|(path, constants)| {
        let with = |constant: &Value| replaced(&best.scenario, &value, path, constant.clone());
        constants.iter().filter_map(with)
    });
    candidates.chain(in_turn(&best.scenario)).collect()
}

/// How much later a client starts that is not to be the first, in milliseconds.
const LATER_MS: [f64; 3] = [10.0, 100.0, 1000.0];

/// With one of the clients that start at the same time starting later.
fn in_turn(scenario: &Scenario) -> Vec<Scenario> {
    let tied = ties(scenario);
    let mut candidates = Vec::new();
    for i in 1..=scenario.topology.clients {
        let client = format!("c{i}");
        let Dist::Constant(start_ms) = scenario.workload.of(&client).start_ms else {
            continue;
        };
        for later_ms in LATER_MS {
            let mut scenario = scenario.clone();
            let own = scenario.workload.client.entry(client.clone()).or_default();
            own.start_ms = Some(Dist::Constant(start_ms + later_ms));
            if ties(&scenario).len() < tied.len() {
                candidates.push(scenario);
            }
        }
    }
    candidates
}

/// The path of each random part, and the constants to try.
fn collect(value: &Value, path: &mut Vec<String>, found: &mut Vec<(Vec<String>, Vec<Value>)>) {
    let Value::Object(table) = value else { return };
    if let Some(constants) = constants(value) {
        let is_of = |wanted: &str| path.iter().any(|key| key == wanted);
        let least = match () {
            () if is_of("latency_ms") => LEAST_LATENCY_MS,
            () if is_of("step_ms") || is_of("drift_ppm") => f64::MIN,
            () => 0.0,
        };
        let is_whole = is_of("drift_ppm");
        let constants = constants.into_iter().filter(|value| *value >= least);
        let constants = constants.map(|value| if is_whole { value.round() } else { value });
        found.push((path.clone(), constants.map(|value| json!(value)).collect()));
        return;
    }
    for (key, value) in table {
        path.push(key.clone());
        let share = value.as_f64();
        let is_some = share.is_some_and(|share| share > 0.0);
        match key.as_str() {
            "loss" if is_some => found.push((path.clone(), vec![json!(0)])),
            "probability" if share.is_some_and(|share| share < 1.0) => {
                found.push((path.clone(), vec![json!(1), json!(0)]));
            }
            key if key.contains("jitter") && is_some => {
                found.push((path.clone(), vec![json!(0)]));
            }
            _ => collect(value, path, found),
        }
        path.pop();
    }
}

/// The constants to try for a distribution: its middle, nothing, and its ends.
fn constants(value: &Value) -> Option<[f64; 4]> {
    let table = value.as_object()?;
    let number = |value: &Value| value.as_f64();
    let (low, middle, high) = match table.iter().next()? {
        (key, Value::Array(bounds)) if key == "uniform" => {
            let (low, high) = (number(bounds.first()?)?, number(bounds.last()?)?);
            (low, (low + high) / 2.0, high)
        }
        (key, mean) if key == "exponential" => {
            let mean = number(mean)?;
            (mean / 2.0, mean, mean * 2.0)
        }
        (key, table) if key == "log_normal" => {
            let median = number(&table["median"])?;
            (median / 2.0, median, median * 2.0)
        }
        _ => return None,
    };
    Some([middle, 0.0, low, high])
}

#[cfg(test)]
mod tests {
    use super::*;
    use locklab_model::scenario::load;
    use locklab_runner::judged;
    use locklab_runner::simulate::Keep;

    #[test]
    fn every_random_part_of_a_scenario_is_found() {
        let sets = ["network.loss=0.1", "workload.think_ms={exponential=4}"];
        let scenario = load("kleppmann/k10", &sets.map(String::from)).expect("it is valid");
        let value = scenario.to_json();
        let mut found = Vec::new();
        collect(&value, &mut Vec::new(), &mut found);
        let paths: Vec<String> = found.iter().map(|(path, _)| path.join(".")).collect();
        assert_eq!(
            paths,
            [
                "lock.retry_jitter_ms",
                "network.latency_ms",
                "network.loss",
                "workload.client.c2.start_ms",
                "workload.think_ms",
            ]
        );
        assert_eq!(found[1].1, [3.0, 1.0, 5.0].map(|ms| json!(ms)));
    }

    #[test]
    fn constants_of_steps_and_rates_may_be_negative() {
        let sets = [
            "fault.jump.step_ms={ uniform = [-900, -300] }",
            "fault.rate={ kind = \"clock-rate\", on = \"n1\", at_ms = 0, drift_ppm = { uniform = [-5, 2] } }",
        ];
        let scenario = load("kleppmann/k10", &sets.map(String::from)).expect("it is valid");
        let run = judged::run(&scenario, 0, Keep::default()).expect("it ends");
        let best = Best {
            scenario,
            seed: 0,
            run,
        };
        let value = |text: &str| -> Value { serde_json::from_str(text).expect("JSON") };
        for (fault, key, expected) in [
            ("jump", "step_ms", ["-600.0", "0.0", "-900.0", "-300.0"]),
            ("rate", "drift_ppm", ["-2", "0", "-5", "2"]),
        ] {
            let is_settled = |it: &Value| it.is_number();
            let all = settled(&best, Property::Lease).into_iter();
            let all = all.map(|it| it.to_json()["fault"][fault][key].clone());
            let found: Vec<Value> = all.filter(is_settled).collect();
            assert_eq!(found, expected.map(value), "{fault}");
        }
    }
}
