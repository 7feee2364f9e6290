//! The distribution of measured values: each of them is equally likely, and nothing else is drawn.

use super::Sign;

/// The value that is exceeded with this probability; the values ascend.
pub(super) fn at_tail_ms(values: &[f64], tail: f64) -> f64 {
    let above = (tail * values.len() as f64) as usize;
    let place = values.len().saturating_sub(1).saturating_sub(above);
    values.get(place).copied().unwrap_or(0.0)
}

/// The share of the values above this one.
pub(super) fn tail_at(values: &[f64], ms: f64) -> f64 {
    let below = values.partition_point(|value| *value <= ms);
    (values.len() - below) as f64 / values.len().max(1) as f64
}

/// Why these are not values with these signs, if they are not.
pub(super) fn problem(values: &[f64], sign: Sign) -> Option<String> {
    if values.is_empty() {
        return Some("values need at least one, such as [12, 15.5, 300]".into());
    }
    let is_wrong = |it: &&f64| !it.is_finite() || sign == Sign::Positive && **it < 0.0;
    let wrong = values.iter().find(is_wrong)?;
    Some(match sign {
        Sign::Positive => format!("a measured value must be finite and not negative: {wrong}"),
        Sign::Any => format!("a measured value must be finite: {wrong}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_value_is_equally_likely() {
        let values = [1.0, 2.0, 2.0, 8.0];
        for (tail, expected) in [
            (1.0, 1.0),
            (0.76, 1.0),
            (0.74, 2.0),
            (0.26, 2.0),
            (0.24, 8.0),
        ] {
            assert_eq!(at_tail_ms(&values, tail), expected, "{tail}");
        }
        assert_eq!(at_tail_ms(&values, 1e-12), 8.0);
        let tails = [0.5, 1.0, 2.0, 5.0, 8.0].map(|ms| tail_at(&values, ms));
        assert_eq!(tails, [1.0, 0.75, 0.25, 0.25, 0.0]);
    }

    #[test]
    fn what_is_no_duration_is_named() {
        assert_eq!(problem(&[0.0, 3.0], Sign::Positive), None);
        assert!(
            problem(&[], Sign::Any).is_some() && problem(&[1.0, f64::NAN], Sign::Any).is_some()
        );
        let wrong = problem(&[1.0, -2.0], Sign::Positive).expect("it is negative");
        assert!(wrong.ends_with("not negative: -2"), "{wrong}");
    }
}
