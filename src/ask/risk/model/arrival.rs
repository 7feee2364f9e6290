//! When another client asks for the lock.
//!
//! Where the lock is asked for once in so long on average, by many clients, the next one asks after an
//! exponential time. It seldom comes soon, and a violation needs that it does: so early arrivals are drawn
//! as often as late ones.

use crate::rare::estimators::tail::Tail;
use locklab_values::random::Stream;
use serde::Serialize;

/// The share of the arrivals that are drawn early.
const SHARE: f64 = 0.7;

/// While the lock is held, a client waits for it already: it asked after the holder, by this much and up to
/// a period of its attempts more, in milliseconds.
const WAITS_MS: [f64; 2] = [50.0, 250.0];

/// Whether another client waits.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub enum Demand {
    /// Clients ask at random, in the mean so many milliseconds apart.
    Poisson {
        /// The mean time between two, in milliseconds.
        every_ms: f64,
    },
    /// There is always one that waits.
    Contended,
}

/// The time of the next request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Arrival {
    /// In milliseconds after the request of the first client.
    pub at_ms: f64,
    /// How much likelier this time is than here.
    pub weight: f64,
}

impl Demand {
    /// Draws when the next client asks. Arrivals within a hundredth of the work are not drawn more often
    /// than they happen.
    pub(crate) fn draw(self, work_ms: f64, stream: &mut Stream) -> Arrival {
        match self {
            Demand::Contended => Arrival {
                at_ms: WAITS_MS[0] + WAITS_MS[1] * stream.uniform_f64(),
                weight: 1.0,
            },
            Demand::Poisson { every_ms } => {
                let soon = (0.01 * work_ms / every_ms).clamp(1e-12, 0.1);
                let drawn = Tail::with_share(SHARE).down_to(soon).draw(stream);
                // Early times have small probabilities not to be exceeded. One of 1 would be at no time.
                let below = drawn.tail.min(1.0 - f64::EPSILON);
                Arrival {
                    at_ms: -every_ms * libm::log1p(-below),
                    weight: drawn.weight,
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn early_arrivals_have_their_probability() {
        let demand = Demand::Poisson { every_ms: 3.6e6 };
        for within_ms in [2000.0, 10_000.0, 60_000.0, 3.6e6] {
            let mut stream = Stream::new(0, "arrivals");
            let drawn = (0..50_000).map(|_| demand.draw(2000.0, &mut stream));
            let early = drawn.filter(|it| it.at_ms < within_ms);
            let found = early.map(|it| it.weight).sum::<f64>() / 50_000.0;
            let expected = 1.0 - (-within_ms / 3.6e6_f64).exp();
            assert!(
                (found / expected - 1.0).abs() < 0.05,
                "{within_ms}: {found}, {expected}"
            );
        }
    }

    #[test]
    fn one_that_waits_asks_within_a_period_of_attempts() {
        let mut stream = Stream::new(0, "arrivals");
        let drawn = (0..1000).map(|_| Demand::Contended.draw(2000.0, &mut stream));
        assert!(
            drawn
                .into_iter()
                .all(|it| it.weight == 1.0 && (50.0..300.0).contains(&it.at_ms))
        );
    }
}
