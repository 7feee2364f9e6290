//! Times and durations as they are written: decimal numbers, which no binary fraction stands for.

use std::str::FromStr;

use serde::de::{Deserialize, Deserializer, Error as _, Unexpected};
use serde_json::value::RawValue;

/// A unit of time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// Nanoseconds.
    #[default]
    Ns,
    /// Microseconds.
    Us,
    /// Milliseconds.
    Ms,
    /// Seconds.
    S,
}

impl Unit {
    /// The symbol.
    pub(crate) fn symbol(self) -> &'static str {
        match self {
            Unit::Ns => "ns",
            Unit::Us => "us",
            Unit::Ms => "ms",
            Unit::S => "s",
        }
    }

    /// The power of ten that it has nanoseconds.
    pub(crate) fn power(self) -> u32 {
        match self {
            Unit::Ns => 0,
            Unit::Us => 3,
            Unit::Ms => 6,
            Unit::S => 9,
        }
    }
}

/// A time or a duration, in the unit of the header: `digits` times ten to the power of `exponent`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Amount {
    digits: u128,
    exponent: i32,
}

/// What an amount is.
const EXPECTED: &str = "a number that is not negative";

/// Digits beyond so many, which 128 bits hold, are not read: a nanosecond of a thousand years has 20.
const MOST_DIGITS: u32 = 37;

/// A power of ten beyond which every number is too large, or rounds to 0.
const MOST_EXPONENT: i32 = 100_000;

impl Amount {
    /// The amount in nanoseconds, rounded to the nearest; `None` if it is too large for one.
    pub fn ns(self, unit: Unit) -> Option<u64> {
        let power = self.exponent + unit.power() as i32;
        let ns = match (self.digits, u32::try_from(power)) {
            (0, _) => Some(0),
            (digits, Ok(power)) => digits.checked_mul(10_u128.checked_pow(power)?),
            (digits, Err(_)) => Some(match 10_u128.checked_pow(power.unsigned_abs()) {
                Some(divisor) => (digits + divisor / 2) / divisor,
                None => 0,
            }),
        };
        u64::try_from(ns?).ok()
    }
}

impl From<u64> for Amount {
    fn from(number: u64) -> Amount {
        Amount {
            digits: number.into(),
            exponent: 0,
        }
    }
}

impl FromStr for Amount {
    type Err = &'static str;

    /// Reads `12`, `1.5` or `2.5e-3`.
    fn from_str(text: &str) -> Result<Amount, &'static str> {
        let (number, exponent) = match text.split_once(['e', 'E']) {
            Some((number, exponent)) => (number, exponent.parse().map_err(|_| EXPECTED)?),
            None => (text, 0_i32),
        };
        let exponent = exponent.clamp(-MOST_EXPONENT, MOST_EXPONENT);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let mut amount = Amount {
            digits: 0,
            exponent,
        };
        if whole.is_empty() {
            return Err(EXPECTED);
        }
        for (digit, power) in
            (whole.bytes().map(|digit| (digit, 0))).chain(fraction.bytes().map(|digit| (digit, -1)))
        {
            if !digit.is_ascii_digit() {
                return Err(EXPECTED);
            }
            if amount.digits < 10_u128.pow(MOST_DIGITS) {
                amount.digits = amount.digits * 10 + u128::from(digit - b'0');
                amount.exponent += power;
            } else {
                amount.exponent += 1 + power;
            }
        }
        Ok(amount)
    }
}

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <&RawValue>::deserialize(deserializer)?.get();
        text.parse()
            .map_err(|expected| D::Error::invalid_value(Unexpected::Other(text), &expected))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use proptest::prelude::*;

    fn ns(text: &str, unit: Unit) -> Result<Option<u64>, &'static str> {
        text.parse().map(|amount: Amount| amount.ns(unit))
    }

    #[test]
    fn numbers_are_what_they_say() {
        for (text, unit, expected) in [
            ("0", Unit::S, Some(0)),
            ("12", Unit::Ms, Some(12_000_000)),
            ("1700000888.598", Unit::S, Some(1_700_000_888_598_000_000)),
            ("1.7e9", Unit::S, Some(1_700_000_000_000_000_000)),
            ("2.5E-3", Unit::Ms, Some(2_500)),
            ("0.4", Unit::Ns, Some(0)),
            ("0.5", Unit::Ns, Some(1)),
            ("1e-999999999", Unit::S, Some(0)),
            ("1e999999999", Unit::Ns, None),
            ("0e999999999", Unit::Ns, Some(0)),
            ("18446744073.709551615", Unit::S, Some(u64::MAX)),
            ("18446744073.709551616", Unit::S, None),
        ] {
            assert_eq!(ns(text, unit), Ok(expected), "{text}");
        }
        let long = format!("1.{}", "3".repeat(1000));
        assert_eq!(ns(&long, Unit::S), Ok(Some(1_333_333_333)));
        let long = format!("{}e-1000", "7".repeat(1001));
        assert_eq!(ns(&long, Unit::S), Ok(Some(7_777_777_778)));
    }

    #[test]
    fn what_is_no_amount_is_refused() {
        for text in [
            "", "-1", "+1", ".5", "1e", "1.5.2", "\"1\"", "null", "NaN", "0x1",
        ] {
            assert_eq!(ns(text, Unit::S), Err(EXPECTED), "{text}");
        }
    }

    proptest! {
        #[test]
        fn seconds_with_decimals_are_their_milliseconds(ms in 0..=4_000_000_000_000_u64) {
            let seconds = format!("{}.{:03}", ms / 1000, ms % 1000);
            prop_assert_eq!(ns(&seconds, Unit::S), ns(&ms.to_string(), Unit::Ms));
        }
    }
}
