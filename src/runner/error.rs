//! Why a run has no result: its scenario asks for what cannot be run to the end.

use locklab_world::{MOST_MESSAGES, MOST_STEPS};

use super::lab::MOST_RECORDS;
use crate::evidence::thousands;

/// A run that did not come to an end. It is the scenario's doing: a bug in Locklab panics.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// No virtual time passes.
    #[error(
        "virtual time stands still at {} ms: more than {} steps at one instant; let them take \
         time, with a \"network.latency_ms\", a \"lock.retry_delay_ms\" or a \
         \"workload.think_ms\" above 0",
        ms(*at_ns), thousands(u64::from(MOST_STEPS))
    )]
    StandsStill {
        /// Where it stands, in nanoseconds.
        at_ns: u64,
    },
    /// More records, or more messages, than a history takes.
    #[error(
        "by {} ms of virtual time the run has more than {} records; let less happen in it, with \
         fewer \"workload.rounds\", a longer \"lock.retry_delay_ms\" or a shorter \"horizon_ms\"",
        ms(*at_ns), thousands(MOST_RECORDS as u64)
    )]
    TooManyRecords {
        /// When it was full, in nanoseconds of virtual time.
        at_ns: u64,
    },
    /// More messages than are kept for a picture.
    #[error(
        "by {} ms of virtual time the run has more than {} messages; let less happen in it, with \
         fewer \"workload.rounds\", a longer \"lock.retry_delay_ms\" or a shorter \"horizon_ms\"",
        ms(*at_ns), thousands(MOST_MESSAGES as u64)
    )]
    TooManyMessages {
        /// When that was, in nanoseconds of virtual time.
        at_ns: u64,
    },
    /// A server refuses what it is told when it starts.
    #[error("{host} cannot start: {what}; change [node]")]
    Node {
        /// Which server.
        host: String,
        /// What it refuses, and why.
        what: String,
    },
}

fn ms(ns: u64) -> String {
    format!("{:.3}", ns as f64 / 1e6)
}
