//! Numbers as Redis reads and writes them.

use bytes::{Bytes, BytesMut};

/// `string2ll` of `src/util.c`: a decimal integer without plus sign, leading zeros or spaces.
/// Any other text is invalid.
pub(crate) fn parse_i64(text: &[u8]) -> Option<i64> {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    match digits {
        [b'0'] => (text.len() == 1).then_some(0),
        // Up to 18 digits cannot overflow.
        [b'1'..=b'9', ..] if digits.len() <= 18 => {
            let number = digits
                .iter()
                .try_fold(0, |number: i64, digit| match digit {
                    b'0'..=b'9' => Some(number * 10 + i64::from(digit - b'0')),
                    _ => None,
                })?;
            Some(if digits.len() == text.len() {
                number
            } else {
                -number
            })
        }
        [b'1'..=b'9', ..] if text.len() <= 20 => std::str::from_utf8(text).ok()?.parse().ok(),
        _ => None,
    }
}

/// Appends an integer in decimal.
pub(crate) fn push_i64(out: &mut BytesMut, number: i64) {
    with_digits(number, |digits| out.extend_from_slice(digits));
}

/// The number as text, in one allocation of its length.
pub(crate) fn decimal(number: i64) -> Bytes {
    with_digits(number, Bytes::copy_from_slice)
}

fn with_digits<T>(number: i64, take: impl FnOnce(&[u8]) -> T) -> T {
    // u64::MAX has 20 digits; a negative number has at most 19 and a sign.
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    let mut rest = number.unsigned_abs();
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if number < 0 {
        at -= 1;
        digits[at] = b'-';
    }
    take(&digits[at..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_canonical_integers_are_numbers() {
        for (text, expected) in [
            ("0", Some(0)),
            ("-1", Some(-1)),
            ("-70", Some(-70)),
            ("999999999999999999", Some(999_999_999_999_999_999)),
            ("-1000000000000000000", Some(-1_000_000_000_000_000_000)),
            ("9223372036854775807", Some(i64::MAX)),
            ("-9223372036854775808", Some(i64::MIN)),
            ("9223372036854775808", None),
            ("", None),
            ("-", None),
            ("-0", None),
            ("01", None),
            ("+1", None),
            (" 1", None),
            ("1.0", None),
            ("12/", None),
            ("-1:2", None),
            ("--1", None),
        ] {
            assert_eq!(parse_i64(text.as_bytes()), expected, "{text:?}");
        }
    }

    #[test]
    fn integers_are_written_as_std_writes_them() {
        for number in [0, 7, -7, 10, i64::MAX, i64::MIN] {
            let mut out = bytes::BytesMut::new();
            push_i64(&mut out, number);
            assert_eq!(out, number.to_string());
        }
    }
}
