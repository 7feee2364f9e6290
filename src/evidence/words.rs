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

/// A share between 0 and 1 as a percentage without its sign.
pub(super) fn percent(share: f64, decimals: usize) -> String {
    format!("{:.decimals$}", share * 100.0)
}

/// One decimal, and one more for each power of ten that the share is closer than 1 % to
/// 0 or to 100 %.
pub(super) fn decimals(share: f64) -> usize {
    let distance = share.min(1.0 - share);
    // A count has nineteen digits at most.
    (1..19)
        .find(|&decimals| distance * 10_f64.powi(decimals + 1) >= 1.0)
        .unwrap_or(19) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

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
