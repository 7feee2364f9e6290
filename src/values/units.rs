//! Conversions between units of time: the only place that knows how many nanoseconds a
//! millisecond has.
//!
//! The laboratory counts whole nanoseconds (`_ns`); scenarios and Redis count milliseconds
//! (`_ms`). A name of a time ends in its unit.

use std::fmt;

/// Nanoseconds in a microsecond.
pub const NS_PER_US: u64 = 1_000;

/// Nanoseconds in a millisecond.
pub const NS_PER_MS: u64 = 1_000 * NS_PER_US;

/// Nanoseconds in a second.
pub const NS_PER_S: u64 = 1_000 * NS_PER_MS;

/// Whole milliseconds in nanoseconds. More than a `u64` holds (585 years) becomes the most that
/// it holds.
pub const fn ns_from_ms(ms: u64) -> u64 {
    ms.saturating_mul(NS_PER_MS)
}

/// Nanoseconds in whole milliseconds, rounded down.
pub const fn ms_from_ns(ns: u64) -> u64 {
    ns / NS_PER_MS
}

/// Milliseconds and parts of them in nanoseconds, rounded to a whole number. A cast of the
/// result to an integer saturates.
pub fn ns_from_fractional_ms(ms: f64) -> f64 {
    (ms * NS_PER_MS as f64).round()
}

/// Nanoseconds in milliseconds, with their fraction.
pub fn fractional_ms_from_ns(ns: u64) -> f64 {
    ns as f64 / NS_PER_MS as f64
}

/// Nanoseconds, displayed as milliseconds to the nearest tenth: `1534.2 ms`.
#[derive(Debug, Clone, Copy)]
pub struct Ms(pub u64);

impl fmt::Display for Ms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenths = self.0 / 100_000 + u64::from(self.0 % 100_000 >= 50_000);
        write!(f, "{}.{} ms", tenths / 10, tenths % 10)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn milliseconds_are_rounded_to_the_nearest_tenth() {
        for (ns, expected) in [
            (0, "0.0 ms"),
            (49_999, "0.0 ms"),
            (50_000, "0.1 ms"),
            (999_950_000, "1000.0 ms"),
            (1_534_249_999, "1534.2 ms"),
            (u64::MAX, "18446744073709.6 ms"),
        ] {
            assert_eq!(Ms(ns).to_string(), expected, "{ns}");
        }
    }

    #[test]
    fn milliseconds_and_nanoseconds_convert_both_ways() {
        assert_eq!(ns_from_ms(3), 3_000_000);
        assert_eq!(ms_from_ns(3_999_999), 3);
        assert_eq!(ns_from_fractional_ms(-0.000_000_6), -1.0);
        assert_eq!(fractional_ms_from_ns(1_500_000), 1.5);
    }

    #[test]
    fn conversion_beyond_u64_saturates() {
        assert_eq!(ns_from_ms(u64::MAX / 1_000), u64::MAX);
        assert_eq!(ns_from_fractional_ms(f64::INFINITY) as u64, u64::MAX);
    }
}
