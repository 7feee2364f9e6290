//! How long clients that wait for the lock wait between two attempts.
//!
//! Of an hour of attempts, five a second, nearly none can change what happens: the lock is held, and held it is at
//! the next attempt. So with a long lease there are a thousand attempts in it, and fewer where that makes no difference:
//! eight in the time between a moment at which the lock may become free, such as the end of the lease, and one at which
//! its holder may write, such as the end of a pause. A client that is granted the lock so much later is still granted
//! it before that write, or still after.

use locklab_locks::LockSpec;
use serde::Serialize;

use crate::risk::model::setup::Setup;
use crate::risk::model::setup_error::SetupError;

/// The parameter of locks whose clients try again after some time.
const RETRY_DELAY: &str = "retry_delay_ms";

/// There are so many attempts in a long lease.
const ATTEMPTS: f64 = 1000.0;

/// But at least so many where fewer are enough.
const LEAST_ATTEMPTS: f64 = 100.0;

/// So many attempts in the time between two moments that matter are enough.
const BETWEEN: f64 = 8.0;

/// The lock with each time between two attempts, in milliseconds, ascending; none where the lease is short, the lock has
/// no such parameter, or an override says how long.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Attempts(Vec<(u64, LockSpec)>);

impl Attempts {
    /// Those of a setup.
    ///
    /// # Errors
    ///
    /// If the lock cannot be set up.
    pub fn of(setup: &Setup) -> Result<Attempts, SetupError> {
        let delays_ms = setup.retry_delays_ms()?;
        let lock = |delay_ms: u64| -> Result<_, SetupError> {
            let mut setup = setup.clone();
            setup.sets.push(format!("lock.{RETRY_DELAY}={delay_ms}"));
            Ok((delay_ms, setup.scenario()?.lock))
        };
        let all = delays_ms.into_iter().map(lock);
        Ok(Attempts(all.collect::<Result<_, _>>()?))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The lock for a run in which at least so many milliseconds lie between two moments that matter; `None` for the
    /// usual one.
    pub fn lock(&self, gap_ms: f64) -> Option<&LockSpec> {
        let may = |(delay_ms, _): &&(u64, LockSpec)| *delay_ms as f64 * BETWEEN <= gap_ms;
        let longest = self.0.iter().rev().find(may);
        longest.or(self.0.first()).map(|(_, lock)| lock)
    }
}

impl Setup {
    /// How long clients wait between two attempts, in milliseconds, ascending, each twice the one before; empty for as
    /// long as usual: where the lease is short, the lock has no such parameter, or an override says how long.
    ///
    /// # Errors
    ///
    /// If the lock is unknown.
    pub fn retry_delays_ms(&self) -> Result<Vec<u64>, SetupError> {
        let row = self.row()?;
        let mut parameters = row.parameters().iter();
        let usual = parameters.find(|(name, ..)| *name == RETRY_DELAY);
        let usual_ms: Option<u64> = usual.and_then(|(_, default, _)| default.parse().ok());
        let is_set = self.sets.iter().any(|set| {
            let path = set.split_once('=').map_or("", |(path, _)| path);
            let keys: Vec<&str> = path.split('.').map(str::trim).collect();
            keys == ["lock"] || keys == ["lock", RETRY_DELAY]
        });
        let least_ms = (self.lease.0 / ATTEMPTS) as u64;
        let is_longer = usual_ms.is_some_and(|usual_ms| least_ms > usual_ms) && !is_set;
        let delays_ms = std::iter::successors(is_longer.then_some(least_ms), |delay_ms| {
            let twice_ms = delay_ms.checked_mul(2)?;
            (twice_ms as f64 <= self.lease.0 / LEAST_ATTEMPTS).then_some(twice_ms)
        });
        Ok(delays_ms.collect())
    }
}

#[cfg(test)]
mod tests {
    use locklab_values::dist::Dist;

    use super::*;
    use crate::risk::model::{Demand, Environment, Time};

    fn setup(lock: &str, lease_ms: f64, sets: &[&str]) -> Setup {
        Setup {
            lock: lock.into(),
            lease: Time(lease_ms),
            work_ms: Dist::Constant(1000.0),
            demand: Demand::Contended,
            sets: sets.iter().map(|set| (*set).to_owned()).collect(),
            environment: Environment::load("jvm-on-vms", &[]).expect("it ships"),
        }
    }

    #[test]
    fn attempts_are_farther_apart_with_long_leases() {
        let delays_ms = |lock: &str, lease_ms: f64, sets: &[&str]| {
            let delays_ms = setup(lock, lease_ms, sets).retry_delays_ms();
            delays_ms.expect("the lock is known")
        };
        assert_eq!(
            delays_ms("redlock", 1_000_000.0, &[]),
            [1000, 2000, 4000, 8000]
        );
        for (lock, lease_ms, sets) in [
            ("redlock", 200_000.0, &[][..]),
            ("redlock", 1_000_000.0, &["lock.retry_delay_ms=100"]),
            ("redlock", 1_000_000.0, &["lock . retry_delay_ms = 100"]),
            ("redlock", 1_000_000.0, &["lock={ name = \"redlock\" }"]),
            ("consensus", 1_000_000.0, &[]),
        ] {
            assert!(
                delays_ms(lock, lease_ms, sets).is_empty(),
                "{lock} {lease_ms}"
            );
        }
    }

    #[test]
    fn eight_attempts_lie_between_two_moments_that_matter() {
        let attempts =
            Attempts::of(&setup("set-nx-px", 1_000_000.0, &[])).expect("it can be set up");
        let delay_ms = |gap_ms: f64| {
            let lock = attempts.lock(gap_ms)?;
            let text = toml::to_string(lock).expect("it can be written");
            let line = text
                .lines()
                .find_map(|line| line.strip_prefix("retry_delay_ms = "));
            line?.parse().ok()
        };
        for (gap_ms, expected) in [
            (0.0, Some(1000)),
            (15_999.0, Some(1000)),
            (16_000.0, Some(2000)),
            (f64::INFINITY, Some(8000)),
        ] {
            assert_eq!(delay_ms(gap_ms), expected, "{gap_ms}");
        }
        assert!(Attempts::of(&setup("set-nx-px", 10_000.0, &[])).is_ok_and(|it| it.is_empty()));
    }
}
