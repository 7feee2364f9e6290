//! Intervals of sums of weights that few events have, by the gamma distribution.

use super::Interval;

/// The 95 % interval of the expected sum of the weights of random events, from those that happened: their sum, the
/// sum of their squares, and the weight that one more would have. M. P. Fay and E. J. Feuer, "Confidence intervals for
/// directly standardized rates: a method based on the gamma distribution", Statistics in Medicine 16 (1997). There
/// the one more is of the greatest weight; a caller that gives less says why that is enough.
///
/// The events of each weight are Poisson. If all weights are equal, it is the exact interval of a Poisson number (F.
/// Garwood, 1936). The normal approximation lies too low where few events decide: those that are heavy and rare are
/// then seldom among them.
pub fn of_weights(sum: f64, squares: f64, one_more: f64) -> Interval {
    let quantile = |probability: f64, sum: f64, squares: f64| match squares > 0.0 {
        true => squares / sum * quantile(probability, sum * sum / squares),
        false => 0.0,
    };
    Interval {
        low: quantile(0.025, sum, squares),
        high: quantile(0.975, sum + one_more, squares + one_more * one_more),
    }
}

/// The quantile of the gamma distribution of this shape and the scale 1.
fn quantile(probability: f64, shape: f64) -> f64 {
    let mut low = 0.0;
    let mut high = shape + 10.0 * shape.sqrt() + 10.0;
    // Each step halves the range.
    for _ in 0..80 {
        let middle = (low + high) / 2.0;
        match below(middle, shape) < probability {
            true => low = middle,
            false => high = middle,
        }
    }
    (low + high) / 2.0
}

/// From here on the distribution is that of the cube of a normal variable to six digits.
const LARGE: f64 = 1e4;

/// The probability that a value of the gamma distribution of this shape lies below `value`: M. Abramowitz and I.
/// Stegun, "Handbook of Mathematical Functions" (1964), 6.5.29 and, for large shapes, 26.4.14.
fn below(value: f64, shape: f64) -> f64 {
    if value <= 0.0 {
        return 0.0;
    }
    if shape >= LARGE {
        let ninth = 1.0 / (9.0 * shape);
        let z = (libm::cbrt(value / shape) - 1.0 + ninth) / ninth.sqrt();
        return libm::erfc(-z / std::f64::consts::SQRT_2) / 2.0;
    }
    let first = shape * libm::log(value) - value - libm::lgamma(shape + 1.0);
    let (mut term, mut sum, mut n) = (1.0, 1.0, 0.0);
    // The terms grow up to n = value − shape, and then vanish.
    while term > 1e-16 * sum {
        n += 1.0;
        term *= value / (shape + n);
        sum += term;
    }
    (libm::exp(first) * sum).min(1.0)
}

#[cfg(test)]
mod tests {
    use locklab_values::random::Stream;

    use super::*;

    /// Garwood's intervals of a Poisson number, as published, and for many events the normal ones.
    #[test]
    fn events_of_one_weight_have_the_intervals_of_poisson_numbers() {
        for (events, low, high) in [
            (0.0, 0.0, 3.6889),
            (1.0, 0.0253, 5.5716),
            (3.0, 0.6187, 8.7673),
            (10.0, 4.7954, 18.3904),
            (100.0, 81.3640, 121.6268),
            (9_990.0, 9_795.050_5, 10_187.853_6),
            (20_000.0, 19_723.767_6, 20_279.133_6),
        ] {
            for weight in [1e-9, 1.0, 250.0] {
                let found = of_weights(events * weight, events * weight * weight, weight);
                let near = |found: f64, expected: f64| {
                    (found / weight - expected).abs() < 1e-4 + 1e-6 * expected
                };
                assert!(
                    near(found.low, low) && near(found.high, high),
                    "{events}: {found:?}"
                );
            }
        }
    }

    /// Of 2,000 experiments with 500 runs each, in how many the interval contains the true sum; a run has a
    /// weight that is drawn by `weight`, which is at most 1, and its event a probability that may depend on that.
    fn covered(weight: impl Fn(f64) -> f64, probability: impl Fn(f64) -> f64) -> u32 {
        let mut stream = Stream::new(7, "events");
        let steps = 10_000;
        let places = (0..steps).map(|step| weight((f64::from(step) + 0.5) / f64::from(steps)));
        let expected = 500.0 * places.map(|w| w * probability(w)).sum::<f64>() / f64::from(steps);
        let mut covered = 0;
        for _ in 0..2000 {
            let (mut sum, mut squares) = (0.0, 0.0);
            for _ in 0..500 {
                let weight = weight(stream.uniform_f64());
                if stream.uniform_f64() < probability(weight) {
                    sum += weight;
                    squares += weight * weight;
                }
            }
            let interval = of_weights(sum, squares, 1.0);
            covered += u32::from((interval.low..=interval.high).contains(&expected));
        }
        covered
    }

    /// Also where the heaviest events are the rarest, and decide the sum.
    #[test]
    fn nineteen_of_twenty_intervals_contain_the_truth_however_few_events_decide() {
        for rate in [0.2, 0.02, 0.004] {
            let equal = covered(|_| 1.0, |_| rate);
            let even = covered(|uniform| uniform, |_| rate);
            let skewed = covered(|uniform| 1e-3_f64.powf(uniform), |_| rate);
            let seldom_heavy = covered(|uniform| 1e-3_f64.powf(uniform), |w| rate * (1.0 - w));
            for found in [equal, even, skewed, seldom_heavy] {
                assert!(found >= 1880, "{rate}: {found} of 2,000");
            }
        }
    }
}
