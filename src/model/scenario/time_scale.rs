//! A scenario with all its durations shortened by one factor, to run it sooner on real Redis.
//!
//! Every key of the schema that ends in `_ms` is a duration. The constants of Redis, its Sentinels
//! and TCP do not change, in the simulator as on real Redis: a `serverCron` every 100 ms, an
//! append-only file synced once a second, a retransmission after 200 ms.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Scenario, load};

/// The factor of all durations of a scenario: above 0, at most 1.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Scale(f64);

impl Scale {
    /// Every duration as the scenario states it.
    pub const FULL: Scale = Scale(1.0);

    /// A duration, in nanoseconds, at this scale.
    pub fn of_ns(self, ns: u64) -> u64 {
        // No duration of a run comes near to where an f64 rounds nanoseconds.
        (ns as f64 * self.0).round() as u64
    }
}

impl FromStr for Scale {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse() {
            Ok(factor) if factor > 0.0 && factor <= 1.0 => Ok(Scale(factor)),
            _ => Err(format!(
                "`{text}` is not a scale; write a number above 0 and at most 1, such as 0.1 to \
                 make a lease of 10 s one of 1 s"
            )),
        }
    }
}

impl fmt::Display for Scale {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl Scenario {
    /// This scenario with shorter durations. One in whole milliseconds is rounded, and does not
    /// become 0 unless it was.
    ///
    /// # Errors
    ///
    /// If it is not valid with them, with the path to the value.
    pub fn scaled(&self, scale: Scale) -> Result<Scenario, String> {
        if scale == Scale::FULL {
            return Ok(self.clone());
        }
        let mut value = self.to_json();
        shorten(&mut value, scale);
        let scaled = Scenario::from_json(value).map_err(|error| error.to_string())?;
        let scaled = Scenario {
            name: self.name.clone(),
            ..scaled
        };
        load::check(&scaled)?;
        Ok(scaled)
    }
}

/// Scales the values of all keys that end in `_ms`, at any depth.
fn shorten(value: &mut Value, scale: Scale) {
    match value {
        Value::Object(table) => {
            for (key, value) in table {
                match key.ends_with("_ms") {
                    true => multiply(value, scale),
                    false => shorten(value, scale),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| shorten(item, scale)),
        _ => {}
    }
}

/// Scales the numbers of a duration, which may be a distribution. The sigma of a log-normal one is
/// a ratio and stays.
fn multiply(value: &mut Value, scale: Scale) {
    match value {
        Value::Number(number) => {
            let scaled = match number.as_u64() {
                Some(0) => return,
                Some(whole) => Value::from(((whole as f64 * scale.0).round() as u64).max(1)),
                None => Value::from(number.as_f64().unwrap_or_default() * scale.0),
            };
            *value = scaled;
        }
        Value::Array(items) => items.iter_mut().for_each(|item| multiply(item, scale)),
        Value::Object(table) => {
            for (key, value) in table {
                if key != "sigma" {
                    multiply(value, scale);
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{SHIPPED, parse};

    fn scaled(text: &str, by: &str) -> Scenario {
        let scenario = parse("scenarios/a/b.toml", text, &[]).expect("it is valid");
        scenario
            .scaled(by.parse().expect("a scale"))
            .expect("still valid")
    }

    #[test]
    fn durations_are_shortened_and_nothing_else() {
        let before = "title = \"t\"\nhorizon_ms = 60000\n\
             [lock]\nname = \"set-nx-px\"\nttl_ms = 10000\nretry_delay_ms = 0\n\
             retry_jitter_ms = 50\n\
             [workload]\nrounds = 30\nhold_ms = { uniform = [20, 40] }\n\
             [network]\nlatency_ms = { log_normal = { median = 2.5, sigma = 0.5 } }\n\
             [clocks.host.n1]\noffset_ms = -50\ndrift_ppm = 1000\n\
             [sentinel]\ndown_after_ms = 500\nfailover_timeout_ms = 3000\n\
             [fault.gc]\nkind = \"pause\"\non = \"c1\"\nafter = \"c1 read\"\n\
             duration_ms = { exponential = 1500 }\n";
        let after = "title = \"t\"\nhorizon_ms = 6000\n\
             [lock]\nname = \"set-nx-px\"\nttl_ms = 1000\nretry_delay_ms = 0\n\
             retry_jitter_ms = 5\n\
             [workload]\nrounds = 30\nhold_ms = { uniform = [2, 4] }\n\
             [network]\nlatency_ms = { log_normal = { median = 0.25, sigma = 0.5 } }\n\
             [clocks.host.n1]\noffset_ms = -5\ndrift_ppm = 1000\n\
             [sentinel]\ndown_after_ms = 50\nfailover_timeout_ms = 300\n\
             [fault.gc]\nkind = \"pause\"\non = \"c1\"\nafter = \"c1 read\"\n\
             duration_ms = { exponential = 150 }\n";
        let expected = parse("scenarios/a/b.toml", after, &[]).expect("it is valid");
        assert_eq!(scaled(before, "0.1"), expected);
    }

    #[test]
    fn a_whole_millisecond_does_not_vanish() {
        let text =
            "title = \"t\"\n[lock]\nname = \"set-nx-px\"\nttl_ms = 2000\nretry_delay_ms = 2\n";
        let lock = serde_json::to_value(scaled(text, "0.001").lock).expect("it is JSON");
        assert_eq!(lock["ttl_ms"], 2);
        assert_eq!(lock["retry_delay_ms"], 1);
    }

    #[test]
    fn every_shipped_scenario_can_be_scaled() {
        for (name, text) in SHIPPED {
            let scenario = parse(name, text, &[]).expect("it ships");
            assert_eq!(scenario.scaled(Scale::FULL), Ok(scenario.clone()), "{name}");
            if let Err(why) = scenario.scaled(Scale(0.5)) {
                panic!("{name}: {why}");
            }
        }
    }

    #[test]
    fn invalid_scale_is_rejected() {
        for text in ["0", "-1", "1.5", "10", "NaN", "a tenth", ""] {
            let error = text.parse::<Scale>().expect_err(text);
            assert!(error.contains("is not a scale"), "{error}");
        }
    }
}
