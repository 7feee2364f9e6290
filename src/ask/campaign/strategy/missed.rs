//! What a search at steps would miss.

/// The probability that `runs` runs miss a violation that takes `depth` given placements, where each draws
/// one, two or three of so many (with probabilities 1/2, 1/3 and 1/6), each as likely as any other.
///
/// With p = 1 / `placements`, a run has a given placement with probability
/// p/2 + (2p − p²)/3 + (3p − 3p² + p³)/6, two given ones with (2p²)/3 + (6p² − 6p³)/6, three with (6p³)/6,
/// and never more.
pub(crate) fn missed(placements: f64, runs: u64, depth: u32) -> f64 {
    if placements < 1.0 {
        return 1.0;
    }
    let p = 1.0 / placements;
    let (p2, p3) = (p * p, p * p * p);
    let has_them = match depth {
        0 => 1.0,
        1 => p / 2.0 + (2.0 * p - p2) / 3.0 + (3.0 * p - 3.0 * p2 + p3) / 6.0,
        2 => 2.0 * p2 / 3.0 + (p2 - p3),
        3 => p3,
        _ => 0.0,
    };
    power(1.0 - has_them, runs)
}

/// By squaring, which gives the same number on every machine.
fn power(base: f64, exponent: u64) -> f64 {
    let (mut result, mut square, mut rest) = (1.0, base, exponent);
    while rest > 0 {
        if rest % 2 == 1 {
            result *= square;
        }
        square *= square;
        rest /= 2;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of all sequences of up to three of four placements, by brute force.
    #[test]
    fn the_formula_counts_what_there_is() {
        for depth in 1..=3 {
            let has = |drawn: &[u32]| (0..depth).all(|given| drawn.contains(&given));
            let share = |length: u32| {
                let all = 4_u32.pow(length);
                let drawn = |number: u32| -> Vec<u32> {
                    (0..length)
                        .map(|place| number / 4_u32.pow(place) % 4)
                        .collect()
                };
                (0..all).filter(|number| has(&drawn(*number))).count() as f64 / f64::from(all)
            };
            let expected = share(1) / 2.0 + share(2) / 3.0 + share(3) / 6.0;
            let found = 1.0 - missed(4.0, 1, depth);
            assert!(
                (found - expected).abs() < 1e-12,
                "{depth}: {found} {expected}"
            );
        }
    }

    #[test]
    fn more_runs_miss_less_and_nothing_is_found_where_nothing_is_placed() {
        let one = missed(1000.0, 1, 1);
        assert!((missed(1000.0, 3, 1) - one * one * one).abs() < 1e-15);
        assert_eq!(missed(0.0, 1000, 1), 1.0);
        assert_eq!(missed(1000.0, 1000, 4), 1.0);
        assert_eq!(missed(1000.0, 0, 1), 1.0);
    }
}
