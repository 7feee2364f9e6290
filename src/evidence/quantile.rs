//! Quantiles of values in ascending order. Each is one of the values, never a mean of two.

/// The least value that at least this share of all do not exceed: the nearest rank. `None` without values.
pub fn quantile<T: Copy>(sorted: &[T], share: f64) -> Option<T> {
    // 0.07 · 100 is a little more than 7 in binary.
    let rank = (share * sorted.len() as f64 - 1e-9).ceil().max(1.0);
    sorted.get(rank as usize - 1).copied()
}

/// The median; of an even number of values the higher of the two in the middle, where [`quantile`] gives the
/// lower. `None` without values.
pub fn median<T: Copy>(sorted: &[T]) -> Option<T> {
    sorted.get(sorted.len() / 2).copied()
}

/// The 95 % interval of the median, from the ranks alone: it assumes nothing of the values' distribution. With
/// fewer than six values it is all of them; `None` without values.
pub fn median_interval<T: Copy>(sorted: &[T]) -> Option<(T, T)> {
    let n = sorted.len() as f64;
    let ranks = 0.98 * n.sqrt();
    let low = (n / 2.0 - ranks).floor().max(0.0) as usize;
    let high = (n / 2.0 + ranks).ceil().min(n - 1.0).max(0.0) as usize;
    Some((*sorted.get(low)?, *sorted.get(high)?))
}

#[cfg(test)]
mod tests {
    use locklab_values::random::Stream;

    use super::*;

    #[test]
    fn a_quantile_is_the_nearest_rank() {
        let values: Vec<u32> = (1..=100).collect();
        for (share, expected) in [
            (0.0, 1),
            (0.07, 7),
            (0.5, 50),
            (0.501, 51),
            (0.99, 99),
            (1.0, 100),
        ] {
            assert_eq!(quantile(&values, share), Some(expected), "{share}");
        }
        assert_eq!(quantile::<u32>(&[], 0.5), None);
    }

    #[test]
    fn the_median_of_an_even_number_is_the_higher_one() {
        assert_eq!(median(&[1, 2, 9]), Some(2));
        assert_eq!(median(&[1, 2, 8, 9]), Some(8));
        assert_eq!(median::<u32>(&[]), None);
    }

    /// The share of samples of a uniform distribution whose interval has its median.
    #[test]
    fn the_interval_has_the_median_as_often_as_it_says() {
        let mut stream = Stream::new(1, "samples");
        for n in [6, 30, 101] {
            let mut met = 0;
            for _ in 0..2000 {
                let mut values: Vec<f64> = (0..n).map(|_| stream.uniform_f64()).collect();
                values.sort_by(f64::total_cmp);
                let (low, high) = median_interval(&values).expect("there are values");
                met += u32::from(low <= 0.5 && 0.5 <= high);
            }
            assert!(
                (1890..=1985).contains(&met),
                "{met} of 2000 with {n} values"
            );
        }
        assert_eq!(median_interval(&[3, 4, 5]), Some((3, 5)));
        assert_eq!(median_interval::<u32>(&[]), None);
    }
}
