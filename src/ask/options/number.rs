//! Whole numbers as options take them.

use std::ops::RangeInclusive;

use locklab_redis::unit_of_memory;

/// Reads a number of this range.
pub(crate) fn whole<T: TryFrom<u64>>(
    range: RangeInclusive<u64>,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync {
    move |text| {
        let (least, most) = (range.start(), range.end());
        let number = text.parse().ok().filter(|number| range.contains(number));
        number
            .and_then(|number| T::try_from(number).ok())
            .ok_or_else(|| match text.parse::<i64>() {
                Ok(..0) => {
                    format!("{text} is negative; write a whole number from {least} to {most}")
                }
                _ => format!("write a whole number from {least} to {most}"),
            })
    }
}

/// Reads a number of bytes, alone or with a unit as in a configuration file of Redis.
pub(crate) fn bytes(text: &str) -> Result<u64, String> {
    let end = text.find(|c: char| !c.is_ascii_digit());
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    let bytes = number.parse::<u64>().ok().zip(unit_of_memory(unit));
    let bytes = bytes.and_then(|(number, unit)| number.checked_mul(unit));
    bytes
        .ok_or_else(|| "write a number of bytes, or one with a unit: 1048576, 64mb, 1gb".to_owned())
}

#[cfg(test)]
mod tests {
    use super::{bytes, whole};

    #[test]
    fn bytes_have_the_units_of_redis() {
        for (text, expected) in [
            ("0", 0),
            ("7b", 7),
            ("2k", 2000),
            ("2kb", 2048),
            ("256MB", 268_435_456),
            ("1g", 1_000_000_000),
        ] {
            assert_eq!(bytes(text), Ok(expected), "{text}");
        }
        for text in ["", "mb", "1.5gb", "-1", "1tb", "99999999999gb"] {
            assert!(bytes(text).unwrap_err().contains("64mb"), "{text}");
        }
    }

    #[test]
    fn what_is_outside_the_range_is_told_the_range() {
        let number = whole::<u16>(1..=64);
        assert_eq!((number("1"), number("64")), (Ok(1), Ok(64)));
        let told = "write a whole number from 1 to 64";
        for text in ["0", "65", "99999999999999999999", "1.5", "x", ""] {
            assert_eq!(number(text), Err(told.into()), "{text}");
        }
        assert_eq!(number("-3"), Err(format!("-3 is negative; {told}")));
    }
}
