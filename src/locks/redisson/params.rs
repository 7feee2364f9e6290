//! The parameters that all locks of the family have.

use locklab_values::units::ns_from_ms;

use super::replicas::SYNC_TIMEOUT_MS;
use super::resend::Resend;
use super::watchdog::OnError;
use crate::algorithm::{
    Bound, CONNECTING, EXPIRY_MS, Facts, Held, InvalidParams, Mutant, Need, SCRIPT, Shape, require,
};
use locklab_env::Env;
use locklab_history::{ClockKind, Deadline};

/// What the watchdog of Redisson 3.23.5 does, in a lock with that of a newer release.
pub(crate) const WATCHDOG_STOPS: Mutant = (
    "on_error=stop",
    "the watchdog ends with the first renewal that fails",
);

/// What Redisson does where it is configured for a single server.
pub(crate) const NO_REPLICA: Mutant = (
    "check_replicas=false",
    "a lock counts before a replica has it",
);

/// A client that is refused listens for its turn: see [`Facts::listens`].
pub(crate) const LISTENS: bool = true;

/// A client that is refused asks again after a while.
pub(crate) const POLLS: bool = false;

/// The family's parameters, as its modules use them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shared {
    /// The lease of the lock.
    pub lease: Lease,
    /// What the watchdog does when a renewal fails.
    pub on_error: OnError,
    /// How commands are retransmitted.
    pub resend: Resend,
    /// Whether a replica must have the lock, if the node has any.
    pub check_replicas: bool,
}

impl Shared {
    /// See [`Algorithm::bound`](crate::Algorithm::bound), for a lock whose waiters retry
    /// `wait_ms` after the lease is over. One command may go unanswered; its retransmission is
    /// answered.
    pub(crate) fn bound(&self, wait_ms: u64) -> Bound {
        // INFO before the script and WAIT after it, which waits for a replica.
        let (syncing, sync_ms) = match self.check_replicas {
            true => (3, SYNC_TIMEOUT_MS),
            false => (0, 0),
        };
        // After a refusal the client subscribes, on a connection of its own, and tries once
        // more before it waits for a message; then it is granted the lock.
        let subscribing = CONNECTING + 1;
        Bound {
            by_clock_ms: self.lease.ms() + EXPIRY_MS + wait_ms,
            round_trips: CONNECTING + subscribing + 3 * (SCRIPT + syncing),
            time_outs_ms: self.resend.round_ms() + sync_ms,
            reply_ms: Some(self.resend.reply_timeout_ms),
        }
    }

    /// What a lock of the family says about itself.
    pub(crate) fn facts(&self, listens: bool, need: Need, keeps: &'static [&'static str]) -> Facts {
        Facts {
            lease_ms: Some(self.lease.ms()),
            // A watchdog tells its user none.
            tells_deadline: matches!(self.lease, Lease::Given { .. }),
            listens,
            held: Held::by(need, Shape::Hash),
            keeps,
        }
    }

    /// Whether these parameters are valid.
    ///
    /// # Errors
    /// The first invalid parameter.
    pub(crate) fn check(&self) -> Result<(), InvalidParams> {
        let over = "a lease of 0 ms is over before it begins; write 1 or more";
        match self.lease {
            Lease::Given { ms } => require(ms > 0, ["lock", "lease_ms"], over)?,
            Lease::Renewed { ms } => require(
                ms >= 3,
                ["lock", "watchdog_ms"],
                "a watchdog renews every third of the lease, so it needs 3 ms at least",
            )?,
        }
        let timeout_ms = self.resend.reply_timeout_ms;
        require(
            timeout_ms > 0,
            ["lock", "reply_timeout_ms"],
            "a client that waits 0 ms never gets a reply",
        )?;
        require(
            !self.check_replicas || timeout_ms > SYNC_TIMEOUT_MS,
            ["lock", "reply_timeout_ms"],
            format!(
                "with \"check_replicas\" the node may answer after {SYNC_TIMEOUT_MS} ms, \
                 and the client waits for {timeout_ms} ms"
            ),
        )
    }
}

/// The lease of a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lease {
    /// A fixed time in milliseconds, never renewed: `lock(lease)`.
    Given {
        /// The lease.
        ms: u64,
    },
    /// Until the release; the watchdog renews the lease within this many milliseconds:
    /// `lock()`.
    Renewed {
        /// The lease.
        ms: u64,
    },
}

impl Lease {
    pub(crate) fn new(given_ms: Option<u64>, renewed_ms: u64) -> Self {
        match given_ms {
            Some(ms) => Lease::Given { ms },
            None => Lease::Renewed { ms: renewed_ms },
        }
    }

    /// The lease that is sent to the node, in milliseconds.
    pub(crate) fn ms(self) -> u64 {
        let (Lease::Given { ms } | Lease::Renewed { ms }) = self;
        ms
    }

    /// The deadline of a lease that was requested when the holder's clock showed `started_ns`.
    /// A watchdog gives its user none.
    pub(crate) fn deadline(self, started_ns: u64) -> Option<Deadline> {
        match self {
            Lease::Given { ms } => Some(Deadline {
                clock: CLOCK,
                at_ns: started_ns + ns_from_ms(ms),
            }),
            Lease::Renewed { .. } => None,
        }
    }
}

/// The clock by which a careful holder measures its lease. Redisson itself does not report the
/// end of a lease.
const CLOCK: ClockKind = ClockKind::Monotonic;

/// The time on the clock that measures leases.
pub(crate) fn now_ns(env: &impl Env) -> u64 {
    env.now_ns(CLOCK)
}
