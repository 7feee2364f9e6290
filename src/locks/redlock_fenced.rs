//! `redlock-fenced`: Redlock with a fencing token that the resource issues, after antirez, "Is
//! Redlock safe?": a store that can refuse lower tokens is linearizable, so it can issue the
//! tokens as well (claim A2).
//!
//! 1. Take the lock as `redlock` does.
//! 2. Ask the resource for a token, a number higher than all earlier ones.
//! 3. Check the clock once more: the grant counts if it is still valid when the token has
//!    arrived. Otherwise release the lock. Each token is thus drawn within its holder's lease,
//!    and tokens are in the order of the leases.
//!
//! Two other places for the counter are available for comparison, both from Kleppmann (claim
//! K8): counters on the nodes, where a majority is incremented and the highest value counts;
//! and the same with the highest value written back to a majority before it counts.

use std::rc::Rc;

use serde::{Deserialize, Serialize};

use super::algorithm::{
    Algorithm, Bound, CatalogueEntry, Facts, Held, InvalidParams, Need, SCRIPT, Shape,
};
use super::lock::{DynLock, Grant, Lock, LockError, Request};
use super::redlock::{self, Order, Redlock};
use super::scripts;
use locklab_env::redis::{Client, Error, Reply};
use locklab_env::{Duration, Env};
use locklab_history::Topology;
use locklab_history::{Name, RESOURCE};

/// The key of the token counter on a node.
const COUNTER: &str = "lock:token";

/// `redlock-fenced` as one client uses it.
pub struct RedlockFenced<E: Env> {
    env: E,
    redlock: Redlock<E>,
    resource: Client<E>,
    counter: Counter,
}

impl<E: Env> RedlockFenced<E> {
    /// A client of the lock on `nodes`.
    pub fn new(env: E, nodes: &[Name], params: &Params) -> Self {
        // A token that takes longer than the lease arrives too late.
        let limit = Duration::from_millis(params.ttl_ms);
        Self {
            redlock: Redlock::new(env.clone(), nodes, params.redlock()),
            resource: Client::new(env.clone(), RESOURCE.into(), Some(limit)),
            env,
            counter: params.counter,
        }
    }

    /// Step 2: draws a token.
    async fn draw(&self) -> Result<u64, LockError> {
        match self.counter {
            Counter::Resource => Ok(token(&self.resource).await?),
            Counter::Majority => self.highest_of_majority().await,
            Counter::MajorityWrittenBack => {
                let token = self.highest_of_majority().await?;
                self.write_back(token).await?;
                Ok(token)
            }
        }
    }

    /// Increments the counters on the nodes; returns the highest, if a majority answered.
    async fn highest_of_majority(&self) -> Result<u64, LockError> {
        let command = [b"INCR", COUNTER.as_bytes()];
        let increment = async |node: &Client<E>| node.ask(&command, Reply::number).await;
        self.majority(increment).await
    }

    /// Raises lower counters to this value, on a majority.
    async fn write_back(&self, token: u64) -> Result<(), LockError> {
        let (keys, token) = ([COUNTER.as_bytes()], token.to_string());
        let arguments = [token.as_bytes()];
        let script = &scripts::RAISE_COUNTER;
        let raise =
            async |node: &Client<E>| script.ask(node, &keys, &arguments, Reply::number).await;
        self.majority(raise).await.map(drop)
    }

    /// The highest number that the nodes return, if a majority answers.
    async fn majority(
        &self,
        ask: impl AsyncFn(&Client<E>) -> Result<u64, Error>,
    ) -> Result<u64, LockError> {
        let counts = self.redlock.ask_each(ask).await;
        let asked = counts.len();
        let counts: Vec<u64> = counts.into_iter().flatten().collect();
        match counts.iter().max() {
            Some(highest) if counts.len() >= self.redlock.quorum() => Ok(*highest),
            _ => Err(LockError::taken(format!(
                "{} of {asked} nodes counted",
                counts.len()
            ))),
        }
    }

    fn is_valid(&self, grant: &Grant) -> bool {
        let is_to_come = |clock, at_ns| self.env.now_ns(clock) < at_ns;
        (grant.deadline).is_none_or(|deadline| is_to_come(deadline.clock, deadline.at_ns))
    }
}

impl<E: Env> Lock for RedlockFenced<E> {
    async fn connect(&self) {
        Lock::connect(&self.redlock).await;
        // If this fails, so does the first token request, which reports the reason.
        let _ = self.resource.connect().await;
    }

    async fn attempt(&self, request: Request) -> Result<Grant, LockError> {
        let grant = Lock::attempt(&self.redlock, request).await?;
        let why = match self.draw().await {
            Ok(token) if self.is_valid(&grant) => {
                return Ok(Grant {
                    fencing_token: Some(token),
                    ..grant
                });
            }
            Ok(_) => "its token came when the lease was over".into(),
            Err(error) => format!("no token: {error}"),
        };
        // If the release fails on a node, the lock ends there with its lease.
        let _ = Lock::release(&self.redlock, &grant).await;
        Err(LockError::taken(why))
    }

    async fn wait(&self, request: Request, failed: &LockError) {
        Lock::wait(&self.redlock, request, failed).await;
    }

    async fn extend(&self, grant: &Grant) -> Result<Grant, LockError> {
        Lock::extend(&self.redlock, grant).await
    }

    async fn release(&self, grant: &Grant) -> Result<u32, LockError> {
        Lock::release(&self.redlock, grant).await
    }

    async fn is_held(&self, grant: &Grant) -> Result<bool, LockError> {
        Lock::is_held(&self.redlock, grant).await
    }
}

params! {
    /// The parameters of `redlock-fenced`. Redlock's other parameters have the values of its
    /// specification.
    pub struct Params {
        /// The lease, in milliseconds.
        ttl_ms: u64 = required, "the lease";
        /// What issues the tokens.
        counter: Counter = (Counter::default() => "resource"),
            "resource | majority | majority-written-back: who hands out tokens";
        /// How long to wait for one node, connection included, in milliseconds.
        node_timeout_ms: u64 = (redlock::NODE_TIMEOUT_MS => "50"),
            "how long to wait for one node, connection included";
        /// Whether to ask the nodes in parallel or in turn.
        order: Order = (Order::Parallel => "parallel"),
            "parallel | sequential: ask the nodes all at once or in turn";
        /// Wait before the next attempt, in milliseconds.
        retry_delay_ms: u64 = (super::RETRY_DELAY_MS => "200"), "wait before the next attempt";
        /// The maximum random addition, drawn for each wait, in milliseconds.
        retry_jitter_ms: u64 = (super::RETRY_JITTER_MS => "50"),
            "up to this much more, drawn anew each time";
    }
}

impl Params {
    fn redlock(&self) -> redlock::Params {
        redlock::Params {
            node_timeout_ms: self.node_timeout_ms,
            order: self.order,
            retry_delay_ms: self.retry_delay_ms,
            retry_jitter_ms: self.retry_jitter_ms,
            ..redlock::Params::specified(self.ttl_ms)
        }
    }
}

impl Algorithm for Params {
    fn facts(&self) -> Facts {
        Facts {
            lease_ms: Some(self.ttl_ms),
            tells_deadline: true,
            listens: false,
            held: Held::by(Need::Majority, Shape::Text),
            keeps: &[],
        }
    }

    /// As Redlock.
    fn nodes(&self) -> u32 {
        5
    }

    fn build<E: Env>(&self, env: E, nodes: &[Name]) -> Rc<dyn DynLock> {
        Rc::new(RedlockFenced::new(env, nodes, self))
    }

    /// Redlock's bound, plus the time to draw a token, and to release a lock that got no token.
    fn bound(&self, topology: &Topology) -> Bound {
        let redlock = self.redlock();
        let (bound, in_turn) = (redlock.bound(topology), redlock.sequential_nodes(topology));
        let (drawing, time_outs) = match self.counter {
            Counter::Resource => (1, 0),
            Counter::Majority => (in_turn, in_turn),
            Counter::MajorityWrittenBack => (in_turn * (1 + SCRIPT), 2 * in_turn),
        };
        Bound {
            round_trips: bound.round_trips + 2 * drawing + SCRIPT * in_turn,
            time_outs_ms: bound.time_outs_ms
                + u64::from(2 * time_outs + in_turn) * self.node_timeout_ms,
            ..bound
        }
    }

    fn check(&self, topology: &Topology) -> Result<(), InvalidParams> {
        self.redlock().check(topology)
    }

    fn gives_tokens(&self) -> bool {
        true
    }

    fn asks_resource(&self) -> bool {
        self.counter == Counter::Resource
    }
}

/// What issues the tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Counter {
    /// The resource.
    #[default]
    Resource,
    /// The nodes: each of a majority's counters is incremented, and the highest counts.
    Majority,
    /// The same, after a majority has been raised to the highest.
    MajorityWrittenBack,
}

/// `redlock-fenced` in the catalogue.
pub const ENTRY: CatalogueEntry = CatalogueEntry {
    name: "redlock-fenced",
    summary: "redlock with a fencing token, handed out by the resource or counted on the nodes",
    source: "antirez, \"Is Redlock safe?\" (2016); the counters: Kleppmann (2016)",
    parameters: Params::PARAMETERS,
    forms: &[("", "ttl_ms = LEASE")],
    libraries: &[],
    mutants: &[(
        "counter=majority",
        "a counter is read from a majority, and its maximum not written back",
    )],
};
/// Asks the resource for a fencing token.
///
/// # Errors
/// Those of the client; also an answer that is not a number.
pub async fn token<E: Env>(resource: &Client<E>) -> Result<u64, Error> {
    resource.ask(&[b"TOKEN"], Reply::number).await
}
