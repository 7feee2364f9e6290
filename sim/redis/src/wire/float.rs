//! Floating-point numbers as Redis reads and writes them: C's `double`.

use rustc_apfloat::Float as _;
use rustc_apfloat::ieee::Double;

/// `getDoubleFromObject` of `src/object.c`: C's `strtod`, which must read all of the text;
/// NaN is invalid.
pub(crate) fn parse_f64(text: &[u8]) -> Option<f64> {
    let text = number_text(text)?;
    let number = read(text)?;
    let out_of_range = (number.is_infinite() && !names_infinity(text))
        || (number == 0.0 && has_nonzero_digit(text));
    (!number.is_nan() && !out_of_range).then_some(number)
}

/// A bound of a range of scores: C's `strtod`, which must read all of the text. Unlike for
/// scores, an empty text counts as 0, a number may overflow, and leading spaces are allowed.
pub(crate) fn parse_bound(text: &[u8]) -> Option<f64> {
    if text.is_empty() {
        return Some(0.0);
    }
    let start = text.iter().position(|b| !is_space(*b))?;
    let number = read(number_text(&text[start..])?)?;
    (!number.is_nan()).then_some(number)
}

/// Reads a number of any size: an overflow gives infinity.
fn read(text: &str) -> Option<f64> {
    match hexadecimal(text) {
        None => text.parse().ok(),
        Some(text) => {
            let number: Double = text.parse().ok()?;
            Some(f64::from_bits(number.to_bits() as u64))
        }
    }
}

/// The number that C's `strtod` reads at the start of a text, and the length of its text.
pub(crate) fn prefix(text: &[u8]) -> Option<(f64, usize)> {
    let count =
        |text: &[u8], wanted: fn(&u8) -> bool| text.iter().take_while(|b| wanted(b)).count();
    let sign = count(text.get(..1)?, |b| matches!(b, b'+' | b'-'));
    let rest = &text[sign..];
    let named = |name: &[u8]| {
        let start = rest.get(..name.len())?;
        start.eq_ignore_ascii_case(name).then_some(name.len())
    };
    if let Some(len) = named(b"infinity").or(named(b"inf")).or(named(b"nan")) {
        let text = std::str::from_utf8(&text[..sign + len]).ok()?;
        return Some((text.parse().ok()?, sign + len));
    }
    let is_hexadecimal = named(b"0x").is_some()
        && rest[2..]
            .iter()
            .find(|b| **b != b'.')
            .is_some_and(u8::is_ascii_hexdigit);
    let (start, is_digit, marks): (_, fn(&u8) -> bool, _) = match is_hexadecimal {
        true => (2, u8::is_ascii_hexdigit, [b'p', b'P']),
        false => (0, u8::is_ascii_digit, [b'e', b'E']),
    };
    let mut len = start + count(&rest[start..], is_digit);
    let mut digits = len - start;
    if rest.get(len) == Some(&b'.') {
        let decimals = count(&rest[len + 1..], is_digit);
        digits += decimals;
        len += 1 + decimals;
    }
    if digits == 0 {
        return None;
    }
    if rest.get(len).is_some_and(|b| marks.contains(b)) {
        let sign = usize::from(matches!(rest.get(len + 1), Some(b'+' | b'-')));
        let exponent = count(&rest[len + 1 + sign..], u8::is_ascii_digit);
        if exponent > 0 {
            len += 1 + sign + exponent;
        }
    }
    let text = std::str::from_utf8(&text[..sign + len]).ok()?;
    Some((read(text)?, sign + len))
}

/// C's `%.<digits>g`.
pub(crate) fn general(number: f64, digits: usize) -> String {
    if number.is_nan() {
        return if number.is_sign_negative() {
            "-nan".to_owned()
        } else {
            "nan".to_owned()
        };
    }
    if number.is_infinite() {
        return if number > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    let scientific = format!("{number:.*e}", digits - 1);
    let Some((mantissa, exponent)) = scientific.split_once('e') else {
        return scientific;
    };
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if exponent < -4 || exponent >= digits as i32 {
        let sign = if exponent < 0 { '-' } else { '+' };
        let mantissa = without_trailing_zeros(mantissa);
        return format!("{mantissa}e{sign}{:02}", exponent.abs());
    }
    let decimals = (digits as i32 - 1 - exponent) as usize;
    without_trailing_zeros(&format!("{number:.decimals$}")).to_owned()
}

fn without_trailing_zeros(text: &str) -> &str {
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        text
    }
}

/// The text of a possible number in C, without forms that C and Rust read differently, except
/// hexadecimal numbers.
fn number_text(text: &[u8]) -> Option<&str> {
    let allowed = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.');
    let text = text.iter().all(allowed).then_some(text)?;
    std::str::from_utf8(text)
        .ok()
        .filter(|text| !text.is_empty())
}

/// A hexadecimal number in the form that the library reads: with an exponent.
fn hexadecimal(text: &str) -> Option<String> {
    let digits = text.trim_start_matches(['+', '-']).to_ascii_lowercase();
    let digits = digits.strip_prefix("0x")?;
    let sign = if text.starts_with('-') { "-" } else { "" };
    let exponent = if digits.contains('p') { "" } else { "p0" };
    Some(format!("{sign}0x{digits}{exponent}"))
}

fn names_infinity(text: &str) -> bool {
    let name = text.trim_start_matches(['+', '-']).to_ascii_lowercase();
    name == "inf" || name == "infinity"
}

/// Whether a decimal number is not zero before rounding.
fn has_nonzero_digit(text: &str) -> bool {
    let mantissa = text.split(['e', 'E']).next().unwrap_or(text);
    mantissa.bytes().any(|b| matches!(b, b'1'..=b'9'))
}

/// C's `isspace`.
fn is_space(b: u8) -> bool {
    matches!(b, b' ' | b'\t'..=b'\r')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn general_is_that_of_c() {
        for (number, digits, expected) in [
            (0.1, 17, "0.10000000000000001"),
            (3.0, 17, "3"),
            (-0.0, 17, "-0"),
            (1e17, 17, "1e+17"),
            (1e16, 17, "10000000000000000"),
            (0.0001, 17, "0.0001"),
            (0.00001, 17, "1.0000000000000001e-05"),
            (1.0 / 3.0, 14, "0.33333333333333"),
            (1e14, 14, "1e+14"),
            (f64::INFINITY, 17, "inf"),
        ] {
            assert_eq!(general(number, digits), expected);
        }
    }

    #[test]
    fn invalid_numbers_are_rejected() {
        for text in [
            "", " 1", "1 ", "x", "1x", "nan", "-nan", "1e", "--1", "1e400", "1e-400",
        ] {
            assert_eq!(parse_f64(text.as_bytes()), None, "{text:?}");
        }
        for text in ["inf", "-Infinity", "+5", ".5", "5.", "0x10", "1e-300"] {
            assert!(parse_f64(text.as_bytes()).is_some(), "{text:?}");
        }
    }

    #[test]
    fn no_text_is_too_much() {
        let digits = "9".repeat(6000);
        for text in [
            "1e99999999999999999999",
            "-1e-99999999999999999999",
            "0x1p99999999999999999999",
            "0x1p-99999999999999999999",
            "0x",
            "0xp1",
            "0x.p1",
            "1e5000",
            "+-1",
            ".",
            "e5",
            "infinityx",
            &digits,
            &format!("0x{digits}"),
            &format!("0.{digits}e-6000"),
        ] {
            let text = text.as_bytes();
            assert!(parse_f64(text).is_none_or(|number| !number.is_nan()));
            assert!(prefix(text).is_none_or(|(_, len)| len <= text.len()));
        }
    }
}
