//! How large a scenario is: the order by which one counterexample is smaller than another.

use serde::Serialize;
use serde_json::Value;

use crate::optional;
use locklab_model::fault::Placement;
use locklab_model::scenario::Scenario;
use locklab_values::dist::Dist;

/// The size of a scenario. The first part that differs decides which of two is smaller.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Size {
    /// Faults.
    pub faults: usize,
    /// Clients.
    pub clients: u32,
    /// Nodes, replicas and sentinels.
    pub servers: usize,
    /// How often all clients together take the lock, or add to the set.
    pub rounds: u64,
    /// What a seed draws: numbers, and which of two clients that start at the same time is first.
    pub random: usize,
    /// The hosts that faults name.
    pub targets: usize,
    /// Settings that may be left out, and are not: see `optional.rs`.
    pub options: usize,
    /// How far the faults' placements are from "after c1 read": see `placement`.
    pub placements: u64,
    /// The significant digits of all times and amounts.
    pub digits: usize,
    /// The sum of all times and amounts, in thousandths.
    pub total: u64,
}

impl Size {
    /// The size of a scenario without a campaign.
    pub fn of(scenario: &Scenario) -> Size {
        let value = scenario.to_json();
        let mut numbers = Vec::new();
        collect(&value, &mut Vec::new(), &mut numbers);
        let clients = scenario.topology.clients;
        let rounds = (1..=clients).map(|i| scenario.workload.of(&format!("c{i}")).rounds);
        let faults = || scenario.fault.values();
        Size {
            faults: scenario.fault.len(),
            clients,
            servers: scenario.topology.servers().len(),
            rounds: rounds.map(u64::from).sum(),
            random: random(&value) + ties(scenario).len(),
            targets: faults().map(|fault| fault.effect.hosts().count()).sum(),
            options: optional::present(&value),
            placements: faults().map(|fault| placement(&fault.placement)).sum(),
            digits: numbers.iter().map(|(_, number)| digits(*number)).sum(),
            total: numbers
                .iter()
                .map(|(_, number)| (number.abs() * 1000.0).round() as u64)
                .sum(),
        }
    }

    /// What a reader counts first, by name.
    pub fn counts(&self) -> [(&'static str, u64); 4] {
        [
            ("fault", self.faults as u64),
            ("client", self.clients.into()),
            ("server", self.servers as u64),
            ("round", self.rounds),
        ]
    }
}

/// How far a placement is from one that reads as a sentence. The beginning of the run and the first
/// arrival at a point of a client's program cost nothing; another step costs something, and an
/// absolute time most.
fn placement(placement: &Placement) -> u64 {
    match placement {
        Placement::At(Dist::Constant(0.0)) | Placement::Between { .. } => 0,
        Placement::After { moment, delay_ms } => {
            u64::from(moment.nth - 1) + u64::from(*delay_ms != Dist::Constant(0.0))
        }
        Placement::AtStep { delay_ms, .. } => 1 + u64::from(*delay_ms != Dist::Constant(0.0)),
        Placement::At(_) => 3,
        Placement::Every { .. } => 4,
    }
}

/// The tables that are never edited: the lock, whose parameters are what is under test, and the
/// configuration of servers. Nor is how long a lock may be free, since less of it asks for more; nor the end of
/// the run, which follows from the rest.
const KEPT: [&str; 5] = ["lock", "node", "sentinel", "bound_ms", "horizon_ms"];

/// Collects the path and the value of every number that has a unit, outside of tables that are kept.
pub(crate) fn collect(value: &Value, path: &mut Vec<String>, found: &mut Vec<(Vec<String>, f64)>) {
    match value {
        Value::Object(table) => {
            for (key, value) in table {
                let is_kept = path.is_empty() && KEPT.contains(&key.as_str());
                if !is_kept && key != "sigma" {
                    path.push(key.clone());
                    collect(value, path, found);
                    path.pop();
                }
            }
        }
        Value::Array(items) => {
            for (place, item) in items.iter().enumerate() {
                path.push(place.to_string());
                collect(item, path, found);
                path.pop();
            }
        }
        Value::Number(number) => {
            let has_unit = |key: &String| key.ends_with("_ms") || key.ends_with("_ppm");
            if path.iter().any(has_unit) {
                found.push((path.clone(), number.as_f64().unwrap_or_default()));
            }
        }
        _ => {}
    }
}

/// The significant digits of a number; 0 has none.
pub(crate) fn digits(number: f64) -> usize {
    let text = format!("{:.6}", number.abs());
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    digits.trim_matches('0').len()
}

/// How many numbers a seed draws: distributions, loss, and the jitter between two attempts.
fn random(value: &Value) -> usize {
    match value {
        Value::Object(table) => {
            let is_drawn = |(key, value): (&String, &Value)| match key.as_str() {
                "uniform" | "exponential" | "log_normal" => true,
                "loss" | "probability" => value
                    .as_f64()
                    .is_some_and(|share| share > 0.0 && share < 1.0),
                key if key.contains("jitter") => value.as_f64() > Some(0.0),
                _ => false,
            };
            let drawn = table.iter().filter(|entry| is_drawn(*entry)).count();
            drawn + table.values().map(random).sum::<usize>()
        }
        Value::Array(items) => items.iter().map(random).sum(),
        _ => 0,
    }
}

/// The clients that start at the same time as one before them.
pub(crate) fn ties(scenario: &Scenario) -> Vec<String> {
    let names: Vec<String> = (1..=scenario.topology.clients)
        .map(|i| format!("c{i}"))
        .collect();
    let start = |client: &String| scenario.workload.of(client).start_ms;
    let is_tied = |place: &usize| {
        let mut before = names[..*place].iter();
        before.any(|other| start(other) == start(&names[*place]))
    };
    let tied = (0..names.len()).filter(is_tied);
    tied.map(|place| names[place].clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use locklab_model::scenario::load;

    #[test]
    fn digits_are_those_that_a_person_reads() {
        for (number, expected) in [
            (0.0, 0),
            (5.0, 1),
            (1000.0, 1),
            (-1500.0, 2),
            (1487.3, 5),
            (0.25, 2),
            (101.0, 3),
        ] {
            assert_eq!(digits(number), expected, "{number}");
        }
    }

    #[test]
    fn fewer_faults_outweigh_everything_else() {
        let size = |sets: &[&str]| {
            let sets: Vec<String> = sets.iter().map(|set| (*set).into()).collect();
            Size::of(&load("kleppmann/k10", &sets).expect("it is valid"))
        };
        let whole = size(&[]);
        assert_eq!((whole.faults, whole.clients, whole.servers), (3, 2, 5));
        assert!(size(&["workload.hold_ms=901"]) > whole);
        assert!(size(&["workload.rounds=2"]) > whole);
        assert!(size(&["network.latency_ms=1"]) < whole);
        assert!(size(&["topology.nodes=6"]) > whole);
        // The lease is what is under test.
        assert_eq!(size(&["lock.ttl_ms=999"]), whole);
    }
}
