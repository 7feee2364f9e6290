//! A sum of floating-point numbers that does not depend on their order, so that neither threads nor
//! interruptions nor shards change an answer.

use locklab_vecmap::VecMap;
use serde::{Deserialize, Serialize};

/// The exponents that share a whole number. A finite number is m 2^e with m below 2^53, so it adds less
/// than 2^(53 + 32) to that of its exponent, and 2^42 numbers fit into 127 bits.
const STEP: i32 = 32;

/// The sum of finite numbers. It is exact; [`Sum::value`] rounds it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Vec<(i32, String)>", try_from = "Vec<(i32, String)>")]
pub struct Sum(VecMap<i32, i128>);

impl Sum {
    /// Adds a number; one that is not finite adds nothing.
    pub fn add(&mut self, number: f64) {
        let bits = number.to_bits();
        let exponent = (bits >> 52 & 0x7ff) as i32;
        let fraction = bits & ((1 << 52) - 1);
        // Numbers without an exponent have no leading 1, and the exponent of the smallest that have.
        let (mantissa, exponent) = match exponent {
            0x7ff => return,
            0 => (fraction, -1074),
            _ => (fraction | 1 << 52, exponent - 1075),
        };
        if mantissa > 0 {
            let whole = i128::from(mantissa) << exponent.rem_euclid(STEP);
            let signed = if number < 0.0 { -whole } else { whole };
            *self.0.entry(exponent.div_euclid(STEP)).or_default() += signed;
        }
    }

    /// Adds all numbers of another sum.
    pub fn join(&mut self, other: &Sum) {
        for (place, whole) in &other.0 {
            *self.0.entry(*place).or_default() += whole;
        }
    }

    /// The nearest floating-point number, but for the last digits.
    pub fn value(&self) -> f64 {
        // The smallest first.
        let parts = self.0.iter();
        let parts = parts.map(|(place, whole)| times_power_of_two(*whole as f64, place * STEP));
        // Not `sum`, which is -0 for nothing.
        parts.fold(0.0, |sum, part| sum + part)
    }
}

/// The number times 2^n. In two steps: 2^-1088 is too small for a floating-point number, and a multiple of it
/// need not be.
fn times_power_of_two(number: f64, n: i32) -> f64 {
    let power = |n: i32| f64::from_bits(((n + 1023) as u64) << 52);
    number * power(n / 2) * power(n - n / 2)
}

impl From<Sum> for Vec<(i32, String)> {
    fn from(sum: Sum) -> Self {
        let parts = sum.0.into_iter();
        parts
            .map(|(place, whole)| (place, whole.to_string()))
            .collect()
    }
}

impl TryFrom<Vec<(i32, String)>> for Sum {
    type Error = String;

    fn try_from(parts: Vec<(i32, String)>) -> Result<Self, String> {
        /// The place of the largest and of the smallest exponent.
        const PLACES: std::ops::RangeInclusive<i32> = -34..=30;
        let part = |(place, text): (i32, String)| match text.parse() {
            Ok(whole) if PLACES.contains(&place) => Ok((place, whole)),
            _ => Err(format!("{text} at {place} is no part of a sum")),
        };
        parts
            .into_iter()
            .map(part)
            .collect::<Result<_, _>>()
            .map(Sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(numbers: impl IntoIterator<Item = f64>) -> Sum {
        let mut sum = Sum::default();
        numbers.into_iter().for_each(|number| sum.add(number));
        sum
    }

    /// Numbers of very different sizes.
    fn numbers() -> Vec<f64> {
        let number = |n: i32| f64::from(n % 37 + 1) * 1.1 * 10f64.powi(n % 23 - 11);
        (0..1000).map(number).collect()
    }

    #[test]
    fn one_number_is_its_own_sum() {
        for number in [0.0, 1.0, -3.75, 0.1, 5e-324, 1e-310, f64::MAX, 1e300, -1e-9] {
            assert_eq!(of([number]).value(), number);
        }
        assert!(Sum::default().value().is_sign_positive());
        assert_eq!(of([f64::NAN, f64::INFINITY, 2.0]).value(), 2.0);
    }

    #[test]
    fn order_and_parts_change_nothing() {
        let numbers = numbers();
        let whole = of(numbers.clone());
        assert_eq!(of(numbers.iter().rev().copied()), whole);
        let (some, others) = numbers.split_at(617);
        let mut joined = of(others.iter().copied());
        joined.join(&of(some.iter().copied()));
        assert_eq!(joined, whole);
        let plain: f64 = numbers.iter().sum();
        assert!((whole.value() / plain - 1.0).abs() < 1e-14);
        // A plain sum would lose the ones.
        assert_eq!(of([1e17, 1.0, 1.0, -1e17]).value(), 2.0);
    }

    #[test]
    fn a_sum_survives_being_written_and_read() {
        let whole = of(numbers());
        let text = serde_json::to_string(&whole).expect("it can be written");
        assert_eq!(serde_json::from_str::<Sum>(&text).expect(&text), whole);
        for wrong in ["[[0,\"x\"]]", "[[99,\"1\"]]", "[[0,1]]"] {
            assert!(serde_json::from_str::<Sum>(wrong).is_err(), "{wrong}");
        }
    }
}
