//! Whether one quantity tends to be larger than another: Smirnov's one-sided test.

/// The probability that two samples of one distribution show the values of `small` as much smaller
/// than those of `large`, or more: the exact p-value of the one-sided two-sample
/// Kolmogorov-Smirnov test (N. V. Smirnov, 1939; R's `psmirnov` counts in the same way). Both samples
/// are in ascending order. With equal values it is an upper bound. 1 if one of them is empty.
///
/// Two samples differ by their distance D⁺, the largest excess of the distribution function of
/// `small` over that of `large`. Every order of all values is a path through a grid, a step right for
/// each value of one and a step up for each of the other; under equality all are equally likely. The
/// p-value is the share of paths that get as far from the diagonal as the observed one.
pub fn smaller(small: &[u64], large: &[u64]) -> f64 {
    let (m, n) = (small.len(), large.len());
    if m == 0 || n == 0 {
        return 1.0;
    }
    let distance = distance(small, large);
    if distance <= 0 {
        return 1.0;
    }
    let is_near = |i: usize, j: usize| (i * n) as i64 - ((j * m) as i64) < distance;
    // The share of the paths to each point of a column that stay near the diagonal.
    let mut near = vec![0.0; n + 1];
    for i in 0..=m {
        for j in 0..=n {
            near[j] = match (i, j) {
                (0, 0) => 1.0,
                _ if !is_near(i, j) => 0.0,
                (0, _) => near[j - 1],
                (_, 0) => near[0],
                // Of the paths to this point, i of i + j come from the left.
                _ => (near[j] * i as f64 + near[j - 1] * j as f64) / (i + j) as f64,
            };
        }
    }
    (1.0 - near[n]).max(0.0)
}

/// D⁺ times the sizes of both samples.
fn distance(small: &[u64], large: &[u64]) -> i64 {
    let up_to = |values: &[u64], value| values.partition_point(|other| *other <= value);
    let excess = |value: &u64| {
        let (here, there) = (up_to(small, *value), up_to(large, *value));
        (here * large.len()) as i64 - (there * small.len()) as i64
    };
    small.iter().map(excess).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every order of two samples, one of which has the places whose bits are set: their share with
    /// at least this distance.
    fn by_counting(m: usize, n: usize, least: i64) -> f64 {
        let (mut all, mut far) = (0.0, 0.0);
        for places in 0_u32..1 << (m + n) {
            if places.count_ones() as usize != m {
                continue;
            }
            let is_in = |place: &u64| places >> *place & 1 == 1;
            let (small, large): (Vec<u64>, Vec<u64>) = (0..(m + n) as u64).partition(is_in);
            all += 1.0;
            far += f64::from(u8::from(distance(&small, &large) >= least));
        }
        far / all
    }

    #[test]
    fn the_p_value_is_the_share_of_orders_that_are_as_far_apart() {
        for (small, large) in [
            (&[1, 2, 3, 4][..], &[5, 6, 7][..]),
            (&[1, 3, 5, 7], &[2, 4, 6, 8, 9, 10]),
            (&[4, 5, 6], &[1, 2, 3, 7, 8]),
            (&[1, 2, 9], &[3, 4, 5, 6, 7, 8]),
            (&[9], &[1, 2]),
        ] {
            let distance = distance(small, large);
            let expected = match distance {
                ..=0 => 1.0,
                _ => by_counting(small.len(), large.len(), distance),
            };
            let p = smaller(small, large);
            assert!((p - expected).abs() < 1e-12, "{small:?} {large:?}: {p}");
        }
    }

    #[test]
    fn samples_that_do_not_overlap_are_one_order_of_all() {
        let one: Vec<u64> = (0..8).collect();
        let other: Vec<u64> = (10..20).collect();
        // 18 over 8.
        assert!((smaller(&one, &other) - 1.0 / 43_758.0).abs() < 1e-12);
        assert_eq!(smaller(&other, &one), 1.0);
    }

    #[test]
    fn equal_samples_show_nothing() {
        assert_eq!(smaller(&[5; 30], &[5; 300]), 1.0);
        assert_eq!(smaller(&[], &[1]), 1.0);
        assert_eq!(smaller(&[1], &[]), 1.0);
    }
}
