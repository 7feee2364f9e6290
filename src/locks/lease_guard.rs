//! `lease-guard`: a lease that clients compare with clocks of known uncertainty, after "LeaseGuard:
//! Raft Leases Done Right" (Davis, Demirbas, Deng, arXiv 2512.15659, December 2025).
//!
//! A clock returns an interval that contains the true time, if the clock is off by no more than the
//! bound ε (`uncertainty_ms`): from its reading less ε, the *earliest*, to its reading plus ε, the
//! *latest*. The value of the key is the time at which the lease ends, and a random token.
//!
//! 1. `SETNX lock <now + ttl> <token>`; if the reply is 1, the caller has the lock.
//! 2. The holder stops when the *latest* time that it may be by its clock is the end of the lease.
//! 3. Otherwise `GET lock`. Another client takes the lock over when the *earliest* time that it may
//!    be by its clock is past the end: a script replaces the value that it has read.
//!
//! So two leases never overlap while every clock is within ε of the true time. The price is 2 ε for
//! each lease that is not released: the holder stops ε early, and the next one begins ε late.
//!
//! Of LeaseGuard this is the rule for the end of a lease alone. There the lease belongs to the leader of
//! a Raft group: its last committed log entry is the lease, and a new leader waits until that
//! entry is old enough. Here one node keeps the value, and nothing survives its loss. Left out is what
//! the paper adds for availability: a new leader that accepts writes at once and commits them when
//! the old lease is over, and reads that rely on the lease of its predecessor.

use std::rc::Rc;

use locklab_values::units::ns_from_ms;

use super::algorithm::{
    self, Algorithm, Bound, CatalogueEntry, Facts, Held, InvalidParams, Need, Shape, require,
};
use super::lock::{DynLock, Grant, Lock, LockError, Owner, Request};
use super::one_node::{OneNode, lost};
use super::{KEY, random_token, scripts};
use locklab_env::redis::Reply;
use locklab_env::{Duration, Env};
use locklab_history::Topology;
use locklab_history::{ClockKind, Deadline, Failpoint, Name};

/// `lease-guard` as one client uses it.
pub struct LeaseGuard<E: Env> {
    env: E,
    node: OneNode<E>,
    params: Params,
}

/// The times that it may be by a clock, in nanoseconds since the Unix epoch.
struct Interval {
    earliest_ns: u64,
    latest_ns: u64,
}

impl<E: Env> LeaseGuard<E> {
    /// A client of the lock on `node`.
    pub fn new(env: E, node: &Name, params: Params) -> Self {
        Self {
            node: OneNode::new(env.clone(), node, params.shared(), 0),
            env,
            params,
        }
    }

    fn now(&self) -> Interval {
        let (now_ns, off_ns) = (self.env.now_ns(ClockKind::Wall), self.off_ns());
        Interval {
            earliest_ns: now_ns.saturating_sub(off_ns),
            latest_ns: now_ns + off_ns,
        }
    }

    /// How far the clock may be off.
    fn off_ns(&self) -> u64 {
        ns_from_ms(self.params.uncertainty_ms)
    }

    /// A lease that begins now.
    fn lease(&self) -> Lease {
        Lease {
            ends_ns: self.env.now_ns(ClockKind::Wall) + ns_from_ms(self.params.ttl_ms),
            token: random_token(&self.env),
        }
    }

    /// The grant of this lease. Its holder stops when the latest time may be its end.
    fn granted(&self, owner: Owner, lease: &Lease) -> Grant {
        Grant {
            owner,
            token: lease.value(),
            deadline: Some(Deadline {
                clock: ClockKind::Wall,
                at_ns: lease.ends_ns - self.off_ns(),
            }),
            fencing_token: None,
        }
    }

    /// Replaces this value by a new lease, if the key still has it.
    async fn replace(&self, value: &str, lease: &Lease) -> Result<bool, LockError> {
        let (key, new) = ([KEY.as_bytes()], lease.value());
        let values = [value.as_bytes(), new.as_bytes()];
        let script = &scripts::COMPARE_SET;
        Ok(self.node.run(script, &key, &values, Reply::flag).await?)
    }

    /// Takes the lock in the node.
    async fn take(&self, request: Request) -> Result<Grant, LockError> {
        let lease = self.lease();
        if self.node.set_if_absent(&lease.value()).await? {
            return Ok(self.granted(request.owner, &lease));
        }
        let Some(seen) = self.node.value().await? else {
            return Err(LockError::taken("it was released this moment"));
        };
        let (ends_ns, earliest_ns) = (Lease::end_of(&seen)?, self.now().earliest_ns);
        if earliest_ns <= ends_ns {
            return Err(LockError::NotAcquired {
                why: "its lease may not be over".into(),
                free_in: Some(Duration::from_nanos(ends_ns - earliest_ns)),
            });
        }
        self.env.reach(Failpoint::Overwriting).await;
        let lease = self.lease();
        match self.replace(&seen, &lease).await? {
            true => Ok(self.granted(request.owner, &lease)),
            false => Err(LockError::taken("another was faster to take it over")),
        }
    }
}

impl<E: Env> Lock for LeaseGuard<E> {
    async fn connect(&self) {
        self.node.connect().await;
    }

    async fn attempt(&self, request: Request) -> Result<Grant, LockError> {
        self.node.counted(self.take(request).await?).await
    }

    async fn wait(&self, request: Request, _: &LockError) {
        self.node.pause(request).await;
    }

    /// Like a takeover, of a lease that may not be over.
    async fn extend(&self, grant: &Grant) -> Result<Grant, LockError> {
        if self.now().latest_ns >= Lease::end_of(&grant.token)? {
            return Err(lost());
        }
        let lease = self.lease();
        match self.replace(&grant.token, &lease).await? {
            true => Ok(self.granted(grant.owner, &lease)),
            false => Err(lost()),
        }
    }

    async fn release(&self, grant: &Grant) -> Result<u32, LockError> {
        self.env.reach(Failpoint::Deleting).await;
        match self.node.compare_delete(&grant.token).await? {
            0 => Err(lost()),
            deleted => Ok(deleted),
        }
    }

    async fn is_held(&self, grant: &Grant) -> Result<bool, LockError> {
        self.node.holds(&grant.token).await
    }
}

/// The value of the key.
struct Lease {
    /// In nanoseconds since the Unix epoch.
    ends_ns: u64,
    token: String,
}

impl Lease {
    fn value(&self) -> String {
        format!("{} {}", self.ends_ns, self.token)
    }

    /// The end of the lease that has this value.
    fn end_of(value: &str) -> Result<u64, LockError> {
        let end = value.split(' ').next().and_then(|end| end.parse().ok());
        end.ok_or_else(|| LockError::taken("the key holds something that is no lease"))
    }
}

params! {
    /// The parameters of `lease-guard`.
    pub struct Params: one_node {
        /// The lease, in milliseconds.
        ttl_ms: u64 = required, "the lease";
        /// How far a client takes its wall clock to be off at most, ahead or behind, in milliseconds.
        uncertainty_ms: u64 = 10, "how far a client's clock may be off, ahead or behind";
    }
}

impl Algorithm for Params {
    fn facts(&self) -> Facts {
        Facts {
            lease_ms: Some(self.ttl_ms),
            tells_deadline: true,
            listens: false,
            held: Held::by(Need::Nodes(1), Shape::Text),
            keeps: &["foreign-release"],
        }
    }

    fn build<E: Env>(&self, env: E, nodes: &[Name]) -> Rc<dyn DynLock> {
        Rc::new(LeaseGuard::new(env, &nodes[0], self.clone()))
    }

    /// The holder's clock may be ahead by the uncertainty, the next one's behind, and it waits for
    /// as long beyond the end.
    fn bound(&self, _: &Topology) -> Bound {
        let lease_ms = self.ttl_ms + 3 * self.uncertainty_ms;
        // SETNX, GET, the script.
        let commands = 2 + algorithm::SCRIPT;
        self.shared().bound(Some(lease_ms), commands, 0)
    }

    fn check(&self, topology: &Topology) -> Result<(), InvalidParams> {
        self.shared().check(ENTRY.name, topology)?;
        algorithm::lease(self.ttl_ms)?;
        require(
            self.uncertainty_ms < self.ttl_ms,
            ["lock", "uncertainty_ms"],
            format!(
                "a lease of {} ms may be over when it begins if the clock may be off by {} ms",
                self.ttl_ms, self.uncertainty_ms
            ),
        )
    }
}

/// `lease-guard` in the catalogue.
pub const ENTRY: CatalogueEntry = CatalogueEntry {
    name: "lease-guard",
    summary: "one node, the end of the lease as value; clients compare it with a clock of bounded error",
    source: "Davis, Demirbas, Deng, \"LeaseGuard: Raft Leases Done Right\" (2025), the end of a lease alone",
    parameters: Params::PARAMETERS,
    forms: &[("", "ttl_ms = LEASE")],
    libraries: &[],
    mutants: &[(
        "uncertainty_ms=0",
        "a client takes its clock to be exact, so two that disagree hold the lock at the same time",
    )],
};
