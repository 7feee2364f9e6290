//! Whether two rates may be the same: Fisher's exact test.

use super::Rate;

/// The probability that two samples of one rate differ as much as these, or more: the two-sided
/// p-value of Fisher's exact test (R's `fisher.test`), which needs no large numbers. 1 if one of
/// them has no runs.
pub fn same_rate(one: Rate, other: Rate) -> f64 {
    let violated = one.violated + other.violated;
    let runs = one.runs + other.runs;
    let ln_factorials = ln_factorials(runs);
    let ln_choose = |n: u64, k: u64| {
        let ln = |n: u64| ln_factorials[n as usize];
        ln(n) - ln(k) - ln(n - k)
    };
    // Given both totals, the number of violations in the first sample is hypergeometric.
    let probability = |in_one: u64| {
        let ln = ln_choose(one.runs, in_one) + ln_choose(other.runs, violated - in_one)
            - ln_choose(runs, violated);
        ln.exp()
    };
    let possible = violated.saturating_sub(other.runs)..=violated.min(one.runs);
    // Cases as probable as this one count despite rounding errors.
    let most = probability(one.violated) * (1.0 + 1e-7);
    let as_extreme = possible.map(probability).filter(|p| *p <= most);
    as_extreme.sum::<f64>().min(1.0)
}

/// The natural logarithms of 0!, 1!, … n!.
fn ln_factorials(n: u64) -> Vec<f64> {
    let mut ln = 0.0;
    let mut logarithms = vec![ln];
    for factor in 1..=n {
        ln += (factor as f64).ln();
        logarithms.push(ln);
    }
    logarithms
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R: `fisher.test(matrix(c(a, b - a, c, d - c), 2))$p.value`, and by hand where small.
    #[test]
    fn p_values_match_fishers_exact_test() {
        for (one, other, expected) in [
            // The lady tasting tea.
            ((3, 4), (1, 4), 34.0 / 70.0),
            ((4, 4), (0, 4), 2.0 / 70.0),
            ((1, 10), (11, 14), 0.002_759),
            ((0, 5), (0, 100), 1.0),
            ((5, 5), (100, 100), 1.0),
            ((0, 0), (3, 4), 1.0),
            // One violation among 105 runs is in the sample of five with probability 5/105.
            ((1, 5), (0, 100), 5.0 / 105.0),
        ] {
            let rate = |(violated, runs)| Rate { violated, runs };
            let p = same_rate(rate(one), rate(other));
            assert!((p - expected).abs() < 1e-6, "{one:?} {other:?}: {p}");
            let swapped = same_rate(rate(other), rate(one));
            assert!((p - swapped).abs() < 1e-9);
        }
    }
}
