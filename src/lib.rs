//! Locklab: a laboratory for distributed locks on Redis.
//!
//! Most people need the program alone; `docs/` is its book. This library is for locks of other
//! crates, and for programs that read what Locklab writes.
//!
//! # The map
//!
//! Data flows in one direction:
//!
//! ```text
//! scenario ─► runner ─► world or real Redis ─► history ─► checks ─► results ─► report
//! ```
//!
//! A check reads a history and nothing else. A report reads what was recorded (histories,
//! verdicts, counts) and starts no run. A history from real Redis is therefore judged by exactly
//! the code that judges a simulated one.
//!
//! | for | see |
//! |---|---|
//! | a lock of your own | [`locks::Lock`], [`locks::Algorithm`], [`locks::Registration`], [`env::Env`], [`redis::Client`] |
//! | your lock as a program, and in tests | [`main`], [`run`], [`Lab`] |
//! | what came of a suite | [`suite::Results`], [`check::Property`], [`evidence::Judgement`] |
//!
//! These items follow [semver](https://semver.org). The crates below this one serve the program, and
//! may change in any version.
//!
//! # A lock of your own
//!
//! This is a whole library with a lock, `src/lib.rs` of the crate in `docs/own-lock`. Its `main` is
//! one line, `locklab::main(own_lock::LOCKS)`, which has every command of Locklab; and so is its
//! test, `locklab::Lab::new(own_lock::LOCKS).assert(&["scenarios"])`.
//!
//! ```ignore
#![doc = include_str!("../docs/own-lock/src/lib.rs")]
//! ```

mod own_lock;

#[doc(inline)]
pub use locklab_lab::Exit;
pub use own_lock::{Lab, main, run};

/// A lock's only access to its environment.
pub mod env {
    #[doc(inline)]
    pub use locklab_env::observe::Observer;
    #[doc(inline)]
    pub use locklab_env::{Duration, Elapsed, Env, Points};
}

/// The Redis client of locks, over any [`Env`](env::Env).
pub mod redis {
    #[doc(inline)]
    pub use locklab_env::redis::{
        Client, Connection, Error, Exclusive, MASTER, Reply, Script, Subscription, Target,
    };
}

/// What a lock implements, and its entry in the catalogue.
pub mod locks {
    #[doc(inline)]
    pub use locklab_locks::{
        Algorithm, Bound, CatalogueEntry, DynLock, Facts, Grant, Guard, Held, InvalidParams, KEY,
        Lock, LockError, Locker, Mode, Need, Owner, Registration, Request, Retry, Servers, Shape,
    };
}

/// Names, clocks and places that a lock meets.
pub mod history {
    #[doc(inline)]
    pub use locklab_history::{ClockKind, Deadline, Failpoint, Name, Role, Server, Topology};
}

/// What is judged.
pub mod check {
    #[doc(inline)]
    pub use locklab_check::{Property, UnknownProperty};
}

/// How a prediction is judged.
pub mod evidence {
    #[doc(inline)]
    pub use locklab_evidence::{Expected, Finding, Judgement, Prediction, Tally};
}

/// What came of a suite.
pub mod suite {
    #[doc(inline)]
    pub use locklab_ask::check::suite::results::{CaseResult, Evidence, PropertyResult, Results};
}
