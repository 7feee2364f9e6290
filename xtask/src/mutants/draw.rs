//! A random sample of mutants that follows from a seed, and what its counts say of all mutants.

use locklab_evidence::wilson;

/// The numbers below `count`, in a random order that follows from the seed.
pub fn order(seed: u64, count: usize) -> Vec<usize> {
    let mut numbers: Vec<usize> = (0..count).collect();
    numbers.sort_by_key(|number| (split_mix(seed, *number as u64), *number));
    numbers
}

/// The n-th number of the SplitMix64 generator: G. L. Steele, D. Lea and C. H. Flood, "Fast splittable
/// pseudorandom number generators", OOPSLA 2014.
fn split_mix(seed: u64, n: u64) -> u64 {
    let step = (n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut z = seed.wrapping_add(step);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// How many of a sample, their share, and its 95 % Wilson interval.
pub fn share(seen: usize, tried: usize) -> String {
    let percent = |share: f64| format!("{:.0}", 100.0 * share);
    let interval = wilson(seen as u64, tried as u64);
    let (low, high) = (percent(interval.low), percent(interval.high));
    let point = percent(seen as f64 / tried.max(1) as f64);
    format!("{seen}: {point} % ({low}–{high})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_published_generator() {
        // The first outputs for the seed 1234567, as the test of Rosetta Code has them.
        let expected = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973];
        assert_eq!([0, 1].map(|n| split_mix(1_234_567, n)), expected);
    }

    #[test]
    fn an_order_has_each_number_once_and_follows_from_the_seed() {
        let mut found = order(1, 100);
        assert_eq!(found, order(1, 100));
        assert_ne!(found, order(2, 100));
        found.sort_unstable();
        assert_eq!(found, (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn a_share_has_its_interval() {
        assert_eq!(share(45, 60), "45: 75 % (63–84)");
        assert_eq!(share(0, 0), "0: 0 % (0–100)");
    }
}
