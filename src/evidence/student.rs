//! Student's distribution, for the mean of few values.

use std::f64::consts::FRAC_2_PI;

/// Half the width of the 95 % interval of a mean, in standard errors, for at least one degree of freedom.
pub(crate) fn half_width(degrees: u64) -> f64 {
    let (mut low, mut high) = (1.959, 13.0);
    // Each step halves the range; after these it is as narrow as a number can say.
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        match within(middle, degrees) < 0.95 {
            true => low = middle,
            false => high = middle,
        }
    }
    (low + high) / 2.0
}

/// The probability that a value lies within `t` standard errors: M. Abramowitz and I. Stegun, "Handbook of
/// Mathematical Functions" (1964), 26.7.3 and 26.7.4.
fn within(t: f64, degrees: u64) -> f64 {
    let angle = libm::atan(t / (degrees as f64).sqrt());
    let (sine, cosine) = (libm::sin(angle), libm::cos(angle));
    let is_even = degrees.is_multiple_of(2);
    let mut n = if is_even { 1 } else { 2 };
    let (mut term, mut sum) = (1.0, 1.0);
    while n + 3 <= degrees {
        term *= cosine * cosine * n as f64 / (n + 1) as f64;
        sum += term;
        n += 2;
    }
    match (is_even, degrees) {
        (true, _) => sine * sum,
        (false, 1) => FRAC_2_PI * angle,
        (false, _) => FRAC_2_PI * (angle + sine * cosine * sum),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_widths_are_those_of_published_tables() {
        for (degrees, expected) in [
            (1, 12.706_204_736),
            (2, 4.302_652_730),
            (3, 3.182_446_305),
            (24, 2.063_898_562),
            (27, 2.051_830_516),
            (120, 1.979_930_405),
        ] {
            let found = half_width(degrees);
            assert!((found - expected).abs() < 1e-9, "{degrees}: {found}");
        }
    }
}
