//! Limits on numbers that would overflow the time arithmetic.

use serde_json::Value;

use super::Problem;
use crate::scenario::Scenario;

/// The longest time in a scenario: a year of virtual time. Sums of a few hundred such times
/// still fit into 64 bits of nanoseconds.
const MAX_MS: f64 = 365.0 * 86_400_000.0;

/// The fastest clock: eleven times as fast as true time.
const FASTEST_PPM: f64 = 10_000_000.0;

/// The largest drift allowance, as a multiple of the lease.
const MAX_LEASES: f64 = 100.0;

/// Checks every number whose key names its unit.
pub(super) fn validate(scenario: &Scenario) -> Result<(), Problem> {
    let value = serde_json::to_value(scenario).expect("a scenario can be written as JSON");
    look_at(&value, &mut Vec::new())
}

fn look_at(value: &Value, path: &mut Vec<String>) -> Result<(), Problem> {
    match value {
        Value::Object(table) => table.iter().try_for_each(|(key, value)| {
            path.push(key.clone());
            look_at(value, path)?;
            path.pop();
            Ok(())
        }),
        Value::Array(items) => items.iter().try_for_each(|item| look_at(item, path)),
        Value::Number(number) => match (number.as_f64(), limit(path)) {
            (Some(value), Some((most, what))) if value.abs() > most => Err(Problem {
                path: path.clone(),
                what: format!("{number} is too large; {what}"),
            }),
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}

/// The largest number at this path, by the innermost key that names a unit.
fn limit(path: &[String]) -> Option<(f64, &'static str)> {
    path.iter().rev().find_map(|key| {
        if key.ends_with("_ms") {
            Some((MAX_MS, "the longest time is a year, 31536000000 ms"))
        } else if key.ends_with("_ppm") {
            Some((FASTEST_PPM, "the fastest clock is 10000000 ppm fast"))
        } else if key == "drift_factor" {
            Some((MAX_LEASES, "no allowance is more than 100 leases"))
        } else {
            None
        }
    })
}
