//! Errors of a run whose scenario cannot be run to its end.

use locklab_values::units::fractional_ms_from_ns;
use locklab_world::{MAX_MESSAGES, MAX_STEPS};

use super::recorder::MAX_RECORDS;
use locklab_evidence::thousands;

/// A run that did not finish. The cause is the scenario: a bug in Locklab panics instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// Virtual time does not advance.
    #[error(
        "virtual time stands still at {} ms: more than {} steps at one instant; let them take \
         time, with a \"network.latency_ms\", a \"lock.retry_delay_ms\" or a \
         \"workload.think_ms\" above 0",
        ms(*at_ns), thousands(u64::from(MAX_STEPS))
    )]
    StandsStill {
        /// The virtual time at which it stopped, in nanoseconds.
        at_ns: u64,
    },
    /// The run has more records than a history can hold.
    #[error(
        "by {} ms of virtual time the run has more than {} records; reduce its work with fewer \
         \"workload.rounds\", a longer \"lock.retry_delay_ms\" or a shorter \"horizon_ms\"",
        ms(*at_ns), thousands(MAX_RECORDS as u64)
    )]
    TooManyRecords {
        /// When the history was full, in nanoseconds of virtual time.
        at_ns: u64,
    },
    /// The run has more messages than are kept for a picture.
    #[error(
        "by {} ms of virtual time the run has more than {} messages; reduce its work with fewer \
         \"workload.rounds\", a longer \"lock.retry_delay_ms\" or a shorter \"horizon_ms\"",
        ms(*at_ns), thousands(MAX_MESSAGES as u64)
    )]
    TooManyMessages {
        /// When the limit was reached, in nanoseconds of virtual time.
        at_ns: u64,
    },
    /// A server rejects its configuration.
    #[error("{host} cannot start: {what}; change [node]")]
    Node {
        /// The server.
        host: String,
        /// The rejected setting, and the reason.
        what: String,
    },
}

fn ms(ns: u64) -> String {
    format!("{:.3}", fractional_ms_from_ns(ns))
}
