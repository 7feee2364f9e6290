//! The locks: one file per algorithm, and what they share.
//!
//! A lock touches the world through [`Env`] alone, so the same code runs in the
//! simulated world and on real Redis.

use serde::{Deserialize, Serialize};

use crate::env::Env;
use crate::history::{ClockKind, Name};

pub mod lock;
pub mod redlock;
pub mod set_nx_px;

pub use lock::{AcquireError, DynLock, ExtendError, Grant, Lock, Retry};

/// The key that a lock uses on its nodes.
pub const KEY: &str = "lock";

/// Which lock a scenario uses, with its parameters. To add a lock is to add a file, a
/// variant here, and its line in [`LockSpec::build`] and [`CATALOGUE`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "kebab-case")]
pub enum LockSpec {
    /// One node, `SET key token NX PX ttl`.
    SetNxPx(set_nx_px::Params),
    /// N independent nodes, a majority of them, and a validity time.
    Redlock(redlock::Params),
}

impl LockSpec {
    /// The lock as one client uses it, on these nodes.
    pub fn build<E: Env>(&self, env: E, nodes: &[Name]) -> Box<dyn DynLock> {
        match self {
            LockSpec::SetNxPx(params) => {
                Box::new(set_nx_px::SetNxPx::new(env, &nodes[0], params.clone()))
            }
            LockSpec::Redlock(params) => {
                Box::new(redlock::Redlock::new(env, nodes, params.clone()))
            }
        }
    }

    /// The lease in milliseconds.
    pub fn ttl_ms(&self) -> u64 {
        match self {
            LockSpec::SetNxPx(params) => params.ttl_ms,
            LockSpec::Redlock(params) => params.ttl_ms,
        }
    }
}

/// A lock, for a person who chooses one.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct CatalogueEntry {
    /// How a scenario names it.
    pub name: &'static str,
    /// What it does, in a line.
    pub summary: &'static str,
    /// Its parameters with their defaults and meanings.
    pub parameters: &'static [(&'static str, &'static str, &'static str)],
}

/// Every lock there is.
pub const CATALOGUE: &[CatalogueEntry] = &[set_nx_px::ENTRY, redlock::ENTRY];

/// 128 random bits, as hexadecimal digits: the value that tells one grant from another.
fn random_owner(env: &impl Env) -> String {
    format!("{:016x}{:016x}", env.random(), env.random())
}

/// 200 ms: what the Redlock clients for Ruby and Python wait between attempts.
fn default_retry_delay_ms() -> u64 {
    200
}

/// 50 ms: the jitter of redlock-rb.
fn default_retry_jitter_ms() -> u64 {
    50
}

/// Never stepped: the clock that a lease should be measured by.
fn default_clock() -> ClockKind {
    ClockKind::Monotonic
}
