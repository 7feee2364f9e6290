//! Durations as people write them: `500ms`, `1.5 h`, `18 months`.

/// A year of 365.25 days, in milliseconds.
pub const YEAR_MS: f64 = 365.25 * DAY_MS;

const DAY_MS: f64 = 24.0 * HOUR_MS;
const HOUR_MS: f64 = 3_600_000.0;

/// A unit of time.
#[derive(Debug, Clone, Copy)]
pub struct Unit {
    /// Its names, the first of which is printed.
    pub names: &'static [&'static str],
    /// Its length in milliseconds.
    pub ms: f64,
}

const fn unit(names: &'static [&'static str], ms: f64) -> Unit {
    Unit { names, ms }
}

/// All units, the longest first.
pub const UNITS: [Unit; 10] = [
    unit(&["year", "years"], YEAR_MS),
    unit(&["month", "months"], YEAR_MS / 12.0),
    unit(&["week", "weeks"], 7.0 * DAY_MS),
    unit(&["day", "days", "d"], DAY_MS),
    unit(&["h", "hour", "hours"], HOUR_MS),
    unit(&["min", "m", "minute", "minutes"], 60_000.0),
    unit(&["s", "second", "seconds"], 1000.0),
    unit(&["ms"], 1.0),
    unit(&["us", "µs"], 1e-3),
    unit(&["ns"], 1e-6),
];

/// Reads a number with its unit, in milliseconds; `None` if it is none. There may be a space between them.
///
/// ```
/// use locklab_values::durations::parse_ms;
///
/// assert_eq!(parse_ms("2.5 s"), Some(2500.0));
/// assert_eq!(parse_ms("2.5"), None);
/// ```
pub fn parse_ms(text: &str) -> Option<f64> {
    let text = text.trim();
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let number: f64 = text[..text.len() - unit.len()].parse().ok()?;
    let name = unit.trim_start();
    let unit = UNITS.iter().find(|unit| unit.names.contains(&name))?;
    Some(number * unit.ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_a_number_and_a_unit() {
        for (text, ms) in [
            ("500ms", 500.0),
            ("1.5 h", 5_400_000.0),
            ("2m", 120_000.0),
            ("2 min", 120_000.0),
            ("1day", 86_400_000.0),
            ("250us", 0.25),
            ("250 µs", 0.25),
            (" 4ns ", 4e-6),
            ("0s", 0.0),
        ] {
            assert_eq!(parse_ms(text), Some(ms), "{text}");
        }
        for text in [
            "",
            "s",
            "5",
            "-1s",
            "+1s",
            "1.2.3s",
            "1e3s",
            "inf s",
            "5 fortnights",
            "1s 5",
        ] {
            assert_eq!(parse_ms(text), None, "{text}");
        }
    }
}
