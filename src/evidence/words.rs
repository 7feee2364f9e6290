//! Numbers for a person to read.

/// A count with its thousands separated by commas: `1,234,567`.
pub fn thousands(count: u64) -> String {
    let digits = count.to_string();
    let mut separated = String::with_capacity(digits.len() * 4 / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            separated.push(',');
        }
        separated.push(digit);
    }
    separated
}

/// A p-value for a person: `0.37`, `0.004`, `< 0.001`. Below a thousandth its size says nothing.
pub fn p_value(p: f64) -> String {
    match p {
        p if p < 0.001 => "< 0.001".into(),
        p if p < 0.1 => format!("{p:.3}"),
        p => format!("{p:.2}"),
    }
}

/// A p-value in a sentence: `p = 0.37`, `p < 0.001`.
pub fn p_equals(p: f64) -> String {
    let value = p_value(p);
    match value.starts_with('<') {
        true => format!("p {value}"),
        false => format!("p = {value}"),
    }
}

/// A share between 0 and 1 as a percentage without its sign.
pub(super) fn percent(share: f64, decimals: usize) -> String {
    format!("{:.decimals$}", share * 100.0)
}

/// As many decimals of a percentage as leave two significant digits of its uncertainty, a share
/// between 0 and 1: none from 10 % on, one from 1 % on (JCGM 100:2008, 7.2.6).
pub(super) fn decimals(uncertainty: f64) -> usize {
    // A count has nineteen digits at most.
    (0..19)
        .find(|&decimals| uncertainty * 10_f64.powi(decimals + 1) >= 1.0)
        .unwrap_or(19) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p_values_have_as_many_digits_as_mean_something() {
        for (p, expected) in [
            (1.0, "p = 1.00"),
            (0.374, "p = 0.37"),
            (0.0104, "p = 0.010"),
            (0.00449, "p = 0.004"),
            (0.001, "p = 0.001"),
            (0.000_99, "p < 0.001"),
            (9.4e-47, "p < 0.001"),
        ] {
            assert_eq!(p_equals(p), expected);
        }
    }

    #[test]
    fn thousands_are_separated() {
        for (count, expected) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1,000"),
            (123_456, "123,456"),
            (u64::MAX, "18,446,744,073,709,551,615"),
        ] {
            assert_eq!(thousands(count), expected);
        }
    }
}
