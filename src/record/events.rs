//! Events that were seen in some time: how often they happen, and how sure that is.

use serde::Serialize;

use super::values::Values;

/// The 97.5th percentile of the normal distribution.
const Z: f64 = 1.959_964;

/// Events of one kind, with their durations, in a time of watching.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Events {
    /// How long somebody watched, in seconds.
    pub watched_s: f64,
    /// How long each event lasted.
    pub durations_ms: Values,
}

/// How often something happens: the mean time between two, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Often {
    /// Some were seen.
    Every {
        /// The mean time between two.
        mean_s: f64,
        /// The lower bound of its 95 % interval.
        low_s: f64,
        /// The upper bound of its 95 % interval.
        high_s: f64,
    },
    /// None was seen: at 95 %, the mean time between two is at least this.
    AtLeast(f64),
}

impl Events {
    /// How many were seen.
    pub fn count(&self) -> usize {
        self.durations_ms.count()
    }

    /// Those of both, each in its own time.
    #[must_use]
    pub fn and(&self, other: &Events) -> Events {
        let all_ms = [&self.durations_ms, &other.durations_ms].map(Values::sorted_ms);
        Events {
            watched_s: self.watched_s + other.watched_s,
            durations_ms: Values::of(all_ms.concat()),
        }
    }

    /// How often they happen, if they happen independently of each other (a Poisson process).
    ///
    /// The interval is Byar's approximation to the exact one (Breslow and Day, Statistical Methods in
    /// Cancer Research II, 1987). Of none in a time T it is said with 95 % confidence that there are at
    /// most three in such a time, since e⁻³ is 5 % (the rule of three).
    pub fn often(&self) -> Often {
        let n = self.count() as f64;
        if n == 0.0 {
            return Often::AtLeast(self.watched_s / 3.0);
        }
        let cubed = |n: f64, z: f64| {
            let root = 1.0 - 1.0 / (9.0 * n) + z / (3.0 * n.sqrt());
            n * root * root * root
        };
        let (fewest, most) = (cubed(n, -Z), cubed(n + 1.0, Z));
        Often::Every {
            mean_s: self.watched_s / n,
            low_s: self.watched_s / most,
            high_s: self.watched_s / fewest,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn often(count: usize, watched_s: f64) -> Often {
        let durations_ms = Values::of(vec![1.0; count]);
        Events {
            watched_s,
            durations_ms,
        }
        .often()
    }

    /// The exact bounds are Garwood's (1936), from the chi-square distribution.
    #[test]
    fn the_interval_is_near_the_exact_one() {
        for (count, fewest, most) in [
            (1, 0.0253, 5.572),
            (2, 0.2422, 7.225),
            (10, 4.795, 18.39),
            (100, 81.36, 121.63),
        ] {
            let Often::Every {
                mean_s,
                low_s,
                high_s,
            } = often(count, 60.0)
            else {
                panic!("{count} were seen");
            };
            assert_eq!(mean_s, 60.0 / count as f64);
            let off = |bound_s: f64, exact: f64| (60.0 / bound_s - exact).abs();
            assert!(off(low_s, most) < 0.02, "{count}: {low_s}");
            assert!(off(high_s, fewest) < 0.02, "{count}: {high_s}");
        }
    }

    #[test]
    fn none_are_at_most_three() {
        assert_eq!(often(0, 60.0), Often::AtLeast(20.0));
    }
}
