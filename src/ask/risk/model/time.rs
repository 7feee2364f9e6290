//! Times with a unit, as people write them: `10 min`, `18 months`.

use std::fmt;

use locklab_values::durations::{UNITS, YEAR_MS, parse_ms};
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// A time above 0, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize)]
pub struct Time(pub f64);

impl Time {
    /// Reads a number with a unit; without a number, one.
    ///
    /// # Errors
    ///
    /// If it is not a number with a unit, or not above 0.
    pub fn parse(text: &str) -> Result<Time, String> {
        let text = text.trim();
        let ms = match text.starts_with(char::is_alphabetic) {
            true => parse_ms(&format!("1{text}")),
            false => parse_ms(text),
        };
        ms.filter(|ms| *ms > 0.0).map(Time).ok_or_else(|| {
            format!(
                "invalid duration \"{text}\"; write a number with a unit, such as 500ms, 10s, 2min, 1h, 30days \
                 or 1year"
            )
        })
    }

    /// How often this fits into a year.
    pub fn per_year(self) -> f64 {
        YEAR_MS / self.0
    }
}

/// In the largest unit of which there is at least one: `1.5 h`.
impl fmt::Display for Time {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // 18 months are read more easily than 1.5 years.
        let fits = |name: &str, count: f64| match name {
            "year" => count >= 1.6 || count == 1.0,
            _ => count >= 1.0,
        };
        let units = UNITS.iter().filter(|unit| unit.ms >= 1.0);
        let counts = units.map(|unit| (unit.names[0], self.0 / unit.ms));
        let mut fitting = counts.filter(|(name, count)| fits(name, *count));
        let (name, count) = fitting.next().unwrap_or(("ms", self.0));
        let rounded = (count * 10.0).round() / 10.0;
        let is_word = ["year", "month", "week", "day"].contains(&name);
        let name = match is_word && rounded != 1.0 {
            true => format!("{name}s"),
            false => name.to_owned(),
        };
        write!(formatter, "{rounded} {name}")
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TimeVisitor;

        impl Visitor<'_> for TimeVisitor {
            type Value = Time;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a time with its unit, such as \"10 min\"")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Time, E> {
                Time::parse(text).map_err(E::custom)
            }
        }

        deserializer.deserialize_str(TimeVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_and_written_with_their_unit() {
        for (text, ms, written) in [
            ("500ms", 500.0, "500 ms"),
            ("10 s", 10_000.0, "10 s"),
            ("1s", 1000.0, "1 s"),
            ("1.5min", 90_000.0, "1.5 min"),
            ("90 min", 5_400_000.0, "1.5 h"),
            ("day", 86_400_000.0, "1 day"),
            ("18 months", 1.5 * YEAR_MS, "18 months"),
            ("1 year", YEAR_MS, "1 year"),
            ("1.8 years", 1.8 * YEAR_MS, "1.8 years"),
        ] {
            let time = Time::parse(text).expect(text);
            assert!((time.0 / ms - 1.0).abs() < 1e-12, "{text}: {time:?}");
            assert_eq!(time.to_string(), written);
        }
        assert!((Time(60_000.0).per_year() - 525_960.0).abs() < 1e-6);
    }

    #[test]
    fn a_number_needs_a_unit_and_lies_above_zero() {
        for text in ["10", "0s", "-3 s", "3 fortnights", "", "1.2.3 s"] {
            let refused = Time::parse(text).expect_err(text);
            assert!(
                refused.starts_with(&format!("invalid duration \"{text}\"")),
                "{refused}"
            );
        }
    }
}
