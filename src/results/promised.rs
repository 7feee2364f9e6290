//! How long grants are valid by their holders' clocks when they are made, over many runs.
//!
//! A lock that promises next to nothing breaks no promise: a verdict on its leases says little
//! without this.

use locklab_history::{ClockKind, Event, History};
use locklab_values::units::{NS_PER_MS, NS_PER_US};
use serde::{Deserialize, Serialize};

/// The validity of some grants. They are whole numbers, so that the sum does not depend on the
/// order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Promised {
    /// The grants that have a deadline.
    pub grants: u64,
    /// The sum of their validities, in microseconds.
    pub sum_us: u64,
    /// The shortest of them, in microseconds.
    pub least_us: u64,
    /// The longest.
    pub most_us: u64,
}

/// Microseconds in a millisecond.
const US_PER_MS: f64 = (NS_PER_MS / NS_PER_US) as f64;

impl Promised {
    /// The grants of one run.
    pub fn of(history: &History) -> Promised {
        let mut promised = Promised::default();
        for record in &history.records {
            let Event::BeliefBegins {
                deadline: Some(deadline),
                ..
            } = &record.event
            else {
                continue;
            };
            let now_ns = match deadline.clock {
                ClockKind::Wall => record.wall_ns,
                ClockKind::Monotonic => record.mono_ns,
            };
            let valid_us = deadline.at_ns.saturating_sub(now_ns) / NS_PER_US;
            promised.merge(Promised {
                grants: 1,
                sum_us: valid_us,
                least_us: valid_us,
                most_us: valid_us,
            });
        }
        promised
    }

    /// Adds the grants of other runs.
    pub fn merge(&mut self, other: Promised) {
        self.least_us = match (self.grants, other.grants) {
            (_, 0) => self.least_us,
            (0, _) => other.least_us,
            _ => self.least_us.min(other.least_us),
        };
        self.most_us = self.most_us.max(other.most_us);
        self.grants += other.grants;
        self.sum_us += other.sum_us;
    }

    /// Readable text: `a grant promised 478.3 ms on average (471.0–483.9 ms)`; `None` without a
    /// deadline.
    pub fn describe(&self) -> Option<String> {
        (self.grants > 0).then(|| {
            let ms = |us: f64| us / US_PER_MS;
            format!(
                "a grant promised {:.1} ms on average ({:.1}–{:.1} ms)",
                ms(self.sum_us as f64 / self.grants as f64),
                ms(self.least_us as f64),
                ms(self.most_us as f64)
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(valid_us: &[u64]) -> Promised {
        let mut all = Promised::default();
        for &valid_us in valid_us {
            all.merge(Promised {
                grants: 1,
                sum_us: valid_us,
                least_us: valid_us,
                most_us: valid_us,
            });
        }
        all
    }

    #[test]
    fn promises_of_two_parts_are_those_of_the_whole() {
        for place in 0..=3 {
            let (a, b) = [471_000, 483_900, 0].split_at(place);
            let mut parts = of(a);
            parts.merge(of(b));
            assert_eq!(parts, of(&[471_000, 483_900, 0]), "{place}");
        }
        let text = of(&[14_000, 16_000]).describe();
        let text = text.as_deref();
        assert_eq!(
            text,
            Some("a grant promised 15.0 ms on average (14.0–16.0 ms)")
        );
        assert_eq!(of(&[]).describe(), None);
    }
}
