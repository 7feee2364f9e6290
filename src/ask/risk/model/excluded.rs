//! What arithmetic excludes: a client that stands still, however long it can, and works, and waits for its messages,
//! all within its lease.
//!
//! A node gives the lock to another when the lease is over, which begins no earlier than the client asks for it. So
//! the holder's access comes in time if what it can spend in between is less than the lease: its work, the pause that
//! strikes it, and the messages. With a watchdog it is the time between two renewals in place of the work. This holds
//! for one strike, for clocks that do not err and for a network that loses nothing; elsewhere nothing is said.
//!
//! Where delays have a largest value, one message has it. Where they have none, it has one that is exceeded as seldom
//! as lengths are looked for at all. The others have one that one message in ten thousand exceeds.
//!
//! A run that violates something refutes the sum: then nothing is said to be excluded.

use locklab_history::FaultKind;
use serde::Serialize;

use crate::risk::model::environment::{Cause, Environment, Role};
use crate::risk::model::row::Term;
use crate::risk::model::setup::Setup;

/// How many messages a grant has beside those to each node: to the resource and back, twice, and to release the lock.
const MESSAGES: f64 = 8.0;

/// Delays that are usual: one message in ten thousand has a longer one.
const USUAL: f64 = 1e-4;

/// Why a cause cannot violate anything: what it can bring about fits within the lease. Milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Excluded {
    /// The lease.
    pub lease_ms: f64,
    /// The longest time for which the client stands still.
    pub longest_ms: f64,
    /// The longest work, or the time between two renewals.
    pub work_ms: f64,
    /// Whether it is that of a watchdog's renewals.
    pub is_renewed: bool,
    /// The messages.
    pub messages_ms: f64,
}

impl Excluded {
    /// The sum that excludes a cause; `None` if there is no such sum, or it is no less than the lease.
    pub(crate) fn of(setup: &Setup, nodes: u32, cause: &Cause, until: f64) -> Option<Excluded> {
        let is_stop = matches!(cause.fault, FaultKind::Pause | FaultKind::Suspend);
        let Environment {
            network,
            clocks,
            node,
            ..
        } = &setup.environment;
        let is_plain =
            network.loss == 0.0 && *clocks == Default::default() && *node == Default::default();
        if !is_stop || cause.on != [Role::Client] || !is_plain {
            return None;
        }
        let lease_ms = setup.lease.0;
        let (work_ms, is_renewed) = match setup.term().ok()? {
            Term::Lease => (setup.work_ms.max_ms()?, false),
            Term::Watchdog => (lease_ms / 3.0, true),
            Term::Session => return None,
        };
        let delays = &network.latency_ms;
        let longest_delay_ms = delays.max_ms().unwrap_or_else(|| delays.at_tail_ms(until));
        let messages = 2.0 * f64::from(nodes) + MESSAGES;
        let excluded = Excluded {
            lease_ms,
            longest_ms: cause.duration_ms.as_ref()?.max_ms()?,
            work_ms,
            is_renewed,
            messages_ms: longest_delay_ms + (messages - 1.0) * delays.at_tail_ms(USUAL),
        };
        (excluded.longest_ms < excluded.needed_ms()).then_some(excluded)
    }

    /// How long the client would have to stand still.
    pub fn needed_ms(&self) -> f64 {
        self.lease_ms - self.work_ms - self.messages_ms
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::risk::model::arrival::Demand;
    use crate::risk::model::time::Time;
    use locklab_values::dist::Dist;

    /// The sum for a pause of so many milliseconds at most, with a lease of 10 s and this work.
    fn excluded(
        lock: &str,
        longest: &str,
        work_ms: Dist,
        change: impl FnOnce(&mut Environment),
    ) -> Option<Excluded> {
        let text = format!(
            "title = \"t\"\n[network]\nlatency_ms = 1\nsource = \"s\"\n[cause.gc]\ntitle = \"gc\"\n\
             fault = \"pause\"\non = [\"client\"]\nevery = \"1 min\"\nduration_ms = {longest}\nsource = \"s\"\n"
        );
        let mut environment: Environment = toml::from_str(&text).expect("it is an environment");
        change(&mut environment);
        let setup = Setup {
            lock: lock.into(),
            lease: Time(10_000.0),
            work_ms,
            demand: Demand::Contended,
            sets: vec![],
            environment,
        };
        Excluded::of(&setup, 1, &setup.environment.cause["gc"], 1e-9)
    }

    #[test]
    fn what_fits_within_the_lease_is_excluded() {
        let of = |longest: &str, work_ms| {
            excluded("set-nx-px", longest, Dist::Constant(work_ms), |_| {})
        };
        let sum = of("{ values = [3, 7000] }", 2000.0).expect("9,010 ms are less than 10 s");
        assert_eq!(
            (sum.longest_ms, sum.work_ms, sum.messages_ms),
            (7000.0, 2000.0, 10.0)
        );
        assert_eq!(sum.needed_ms(), 7990.0);
        assert!(of("7989", 2000.0).is_some() && of("7990", 2000.0).is_none());
        assert_eq!(
            of("{ exponential = 10 }", 2000.0),
            None,
            "it has no longest"
        );
        let any = Dist::Exponential(10.0);
        assert_eq!(
            excluded("set-nx-px", "10", any, |_| {}),
            None,
            "nor has the work"
        );
    }

    #[test]
    fn a_watchdog_has_two_thirds_of_the_lease_whatever_the_work() {
        let of = |longest: &str| excluded("redisson", longest, Dist::Exponential(1e6), |_| {});
        assert!(of("6600").is_some() && of("6700").is_none());
        let session = excluded("consensus", "1", Dist::Constant(1.0), |_| {});
        assert_eq!(session, None);
    }

    #[test]
    fn nothing_is_excluded_where_the_sum_does_not_hold() {
        let of =
            |change: fn(&mut Environment)| excluded("set-nx-px", "10", Dist::Constant(1.0), change);
        assert!(of(|_| {}).is_some());
        assert_eq!(of(|it| it.network.loss = 0.01), None);
        let on = |role: fn() -> Role| {
            move |it: &mut Environment| {
                it.cause.get_mut("gc").expect("it is there").on = vec![role()];
            }
        };
        let node = excluded("set-nx-px", "10", Dist::Constant(1.0), on(|| Role::Node));
        assert_eq!(node, None);
        // Of a network without a largest delay one is as long as is looked for.
        let log_normal = |sigma| {
            move |it: &mut Environment| {
                it.network.latency_ms = Dist::LogNormal { median: 1.0, sigma };
            }
        };
        let of = |sigma| excluded("set-nx-px", "10", Dist::Constant(1.0), log_normal(sigma));
        assert!(of(0.5).is_some() && of(2.0).is_none());
    }
}
