//! When a fault strikes, relative to a grant: uniformly over an exposure, in the mean of which its rate
//! becomes a probability.
//!
//! Causes are Poisson processes. To first order in their rates, the expected number of violations that a
//! cause brings to a grant is its rate times the integral, over all times at which it may strike, of the
//! probability that a strike at that time violates the property (the Slivnyak-Mecke formula; the other
//! strikes of the same process would be the second order). The integral is the mean of the violations
//! times the inverse density of the time that was drawn: the *exposure*, in milliseconds.

use locklab_values::random::Stream;

/// A fault that strikes up to this long before the lock is asked for may meet its messages.
pub(crate) const RUN_IN_MS: f64 = 250.0;

/// The same for a failover that sentinels carry out: the old master grants locks that nobody else will know of
/// until they have told its clients, some seconds later, and at the latest when they demote it.
pub(crate) const FAILOVER_RUN_IN_MS: f64 = 10_000.0;

/// A fault that strikes up to this long after the work may still meet the write.
pub(crate) const RUN_OUT_MS: f64 = 250.0;

/// How often a lasting fault of hosts is under way when the lock is asked for. A client that has stopped asks
/// later.
pub(crate) const HOST_UNDER_WAY: f64 = 0.2;

/// The same for a fault of links, whose harm seldom depends on when it began.
pub(crate) const LINK_UNDER_WAY: f64 = 0.5;

/// The time of a strike.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Strike {
    /// When it begins, in milliseconds after the lock is asked for; negative: before.
    pub at_ms: f64,
    /// How long it then lasts, if it lasts.
    pub duration_ms: Option<f64>,
    /// The inverse density of this time, in milliseconds.
    pub exposure_ms: f64,
}

/// When a fault may strike.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Window {
    /// How long the work takes, in milliseconds.
    pub work_ms: f64,
    /// How long before the request a strike may still meet it.
    pub run_in_ms: f64,
    /// A lasting fault may have begun long before, and be under way when the lock is asked for. Of one that began
    /// more than this before, the run has the rest.
    pub earliest_ms: f64,
    /// The share of the strikes that are under way.
    pub under_way: f64,
}

/// Draws the time of a strike.
pub(crate) fn strike(window: Window, duration_ms: Option<f64>, stream: &mut Stream) -> Strike {
    let Window {
        work_ms,
        run_in_ms,
        earliest_ms,
        under_way,
    } = window;
    let is_under_way = stream.chance(under_way);
    let place = stream.uniform_f64();
    match duration_ms {
        Some(lasts_ms) if is_under_way => {
            let begins_ms = -run_in_ms - place * lasts_ms;
            let at_ms = begins_ms.max(-earliest_ms);
            Strike {
                at_ms,
                duration_ms: Some(lasts_ms - (at_ms - begins_ms)),
                exposure_ms: lasts_ms / under_way,
            }
        }
        _ => {
            let share = match duration_ms {
                Some(_) => 1.0 - under_way,
                None => 1.0,
            };
            let exposure_ms = run_in_ms + work_ms + RUN_OUT_MS;
            Strike {
                at_ms: place * exposure_ms - run_in_ms,
                duration_ms,
                exposure_ms: exposure_ms / share,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Window = Window {
        work_ms: 2000.0,
        run_in_ms: RUN_IN_MS,
        earliest_ms: 5000.0,
        under_way: 0.3,
    };

    /// The mean of a count over strikes, times the exposure, is the integral over the time of a strike.
    fn integral(duration_ms: Option<f64>, counts: impl Fn(Strike) -> bool) -> f64 {
        let mut stream = Stream::new(0, "strikes");
        let drawn = (0..100_000).map(|_| strike(WINDOW, duration_ms, &mut stream));
        let sum: f64 = drawn
            .filter(|it| counts(*it))
            .map(|it| it.exposure_ms)
            .sum();
        sum / 100_000.0
    }

    #[test]
    fn strike_counts_as_often_as_its_times_are_long() {
        // From the request to the end of the work: 2 s of strikes.
        let during = |it: Strike| (0.0..2000.0).contains(&it.at_ms);
        for duration_ms in [None, Some(10.0), Some(60_000.0)] {
            let found = integral(duration_ms, during);
            assert!(
                (found / 2000.0 - 1.0).abs() < 0.02,
                "{duration_ms:?}: {found}"
            );
        }
    }

    #[test]
    fn longer_run_in_adds_strikes_before_the_request() {
        let window = Window {
            run_in_ms: FAILOVER_RUN_IN_MS,
            ..WINDOW
        };
        let mut stream = Stream::new(0, "strikes");
        let drawn = (0..100_000).map(|_| strike(window, None, &mut stream));
        let before = drawn.filter(|it| it.at_ms < 0.0);
        let found = before.map(|it| it.exposure_ms).sum::<f64>() / 100_000.0;
        assert!((found / FAILOVER_RUN_IN_MS - 1.0).abs() < 0.02, "{found}");
    }

    #[test]
    fn lasting_fault_may_be_under_way() {
        // Those that begin before the run-in, and last until 500 ms after the request at least.
        let until = |it: Strike| {
            let ends_ms = it.duration_ms.map_or(f64::MIN, |lasts| it.at_ms + lasts);
            it.at_ms < -RUN_IN_MS && ends_ms > 500.0
        };
        let found = integral(Some(60_000.0), until);
        assert!((found / 59_250.0 - 1.0).abs() < 0.02, "{found}");
        let mut stream = Stream::new(1, "strikes");
        let drawn = (0..1000).map(|_| strike(WINDOW, Some(60_000.0), &mut stream));
        assert!(drawn.into_iter().all(|it| it.at_ms >= -5000.0));
        assert_eq!(integral(None, until), 0.0);
    }
}
