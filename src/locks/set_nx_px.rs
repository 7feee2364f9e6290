//! `set-nx-px`: the lock on one node that redis.io describes under "Correct
//! implementation with a single instance".
//!
//! - Acquire: `SET lock token NX PX ttl`. The token is random, one for each grant; claim R6 is
//!   about tokens that are not, see [`Token`].
//! - Extend: a script sets a new lease if the value is still the token.
//! - Release: four ways are common, see [`Release`]; redis.io's was the script that compares
//!   before it deletes, until `DELEX` of Redis 8.4 replaced it in February 2026.
//!
//! With `wait_replicas` the client sends WAIT after the SET to learn how many replicas have the
//! lock, and releases it if they are too few.
//!
//! With `mistake` the code around these commands has one of three mistakes of real programs, see [`Mistake`].
//!
//! With `reentrant = "local"` an owner that already has the lock gets it again from a count in
//! its own process, as the blog text "Redis分布式锁探究与实现" does with a `ThreadLocal`: "check in the
//! thread's own variable whether it has the lock; if so, locking has succeeded, and the count
//! goes up".
//!
//! The holder may act until its own clock has advanced by the TTL since *before* it sent the
//! `SET`: the node started the lease later than that.

use std::rc::Rc;

use locklab_values::units::NS_PER_S;
use serde::{Deserialize, Serialize};

use super::algorithm::{
    self, Algorithm, Bound, CatalogueEntry, Facts, Held, InvalidParams, Need, Shape,
};
use super::local_counts::{LocalCounts, Remaining};
use super::lock::{DynLock, Grant, Lock, LockError, Request};
pub use super::one_node::{Extend, Release};
use super::one_node::{OneNode, deadline};
use super::{KEY, random_token, scripts};
use locklab_env::Env;
use locklab_env::redis::Reply;
use locklab_history::Topology;
use locklab_history::{ClockKind, Deadline, Name};

/// The key of the counter for fencing tokens.
const COUNTER: &str = "lock:token";

/// `set-nx-px` as one client uses it.
pub struct SetNxPx<E: Env> {
    env: E,
    node: OneNode<E>,
    counts: LocalCounts,
    params: Params,
}

impl<E: Env> SetNxPx<E> {
    /// A client of the lock on `node`.
    pub fn new(env: E, node: &Name, params: Params) -> Self {
        Self {
            node: OneNode::new(env.clone(), node, params.shared(), params.resend),
            env,
            counts: LocalCounts::default(),
            params,
        }
    }

    /// Takes the lock in the node.
    async fn set(&self, request: Request) -> Result<Grant, LockError> {
        let token = self.token(request);
        let ttl_ms = self.params.ttl_ms.to_string();
        let (key, value, ttl) = (KEY.as_bytes(), token.as_bytes(), ttl_ms.as_bytes());
        let started_ns = self.env.now_ns(self.params.clock);
        let fencing_token = if self.params.fencing_token {
            let keys = [key, COUNTER.as_bytes()];
            self.node
                .run(&scripts::SET_WITH_TOKEN, &keys, &[value, ttl], drawn)
                .await?
                .map(Some)
        } else {
            let command = [b"SET", key, value, b"NX", b"PX", ttl];
            let is_granted = match (
                self.node.ask(&command, Reply::set).await,
                self.params.mistake,
            ) {
                (Err(_), Mistake::FailsOpen) | (Ok(_), Mistake::TakesRefusals) => true,
                (is_set, _) => is_set?,
            };
            is_granted.then_some(None)
        };
        let Some(fencing_token) = fencing_token else {
            return Err(LockError::taken("somebody holds it"));
        };
        let counted_from_ns = match self.params.elapsed_check {
            true => started_ns,
            false => self.env.now_ns(self.params.clock),
        };
        let grant = Grant {
            owner: request.owner,
            token,
            deadline: self.deadline(counted_from_ns),
            fencing_token,
        };
        self.node.counted(grant).await
    }

    fn token(&self, request: Request) -> String {
        match self.params.token {
            Token::Random => random_token(&self.env),
            Token::ThreadId => request.owner.0.to_string(),
            Token::Seconds => (self.env.now_ns(ClockKind::Wall) / NS_PER_S).to_string(),
        }
    }

    fn deadline(&self, started_ns: u64) -> Option<Deadline> {
        deadline(self.params.clock, started_ns, self.params.ttl_ms)
    }
}

impl<E: Env> Lock for SetNxPx<E> {
    async fn connect(&self) {
        self.node.connect().await;
        if self.params.mistake == Mistake::DeletesAtStart {
            // A program that cannot reach the server starts nevertheless.
            let _ = self.node.ask(&[b"DEL", KEY.as_bytes()], Reply::count).await;
        }
    }

    async fn attempt(&self, request: Request) -> Result<Grant, LockError> {
        if self.params.reentrant == Reentrant::No {
            return self.set(request).await;
        }
        if let Some(held) = self.counts.enter_again(request.owner) {
            // The caller gets a deadline of a full TTL. The count ignores that the lease began
            // with the first hold, and may be over.
            let deadline = self.deadline(self.env.now_ns(self.params.clock));
            return Ok(Grant { deadline, ..held });
        }
        let grant = self.set(request).await?;
        self.counts.enter(&grant);
        Ok(grant)
    }

    async fn wait(&self, request: Request, _: &LockError) {
        self.node.pause(request).await;
    }

    async fn extend(&self, grant: &Grant) -> Result<Grant, LockError> {
        let Params {
            clock,
            ttl_ms,
            extend,
            ..
        } = self.params;
        self.node.extend(extend, grant, clock, ttl_ms).await
    }

    async fn release(&self, grant: &Grant) -> Result<u32, LockError> {
        if self.counts.leave(grant.owner) == Remaining::Holds {
            return Ok(0);
        }
        self.node.release(self.params.release, &grant.token).await
    }

    async fn is_held(&self, grant: &Grant) -> Result<bool, LockError> {
        self.node.holds(&grant.token).await
    }
}

/// The fencing token in a script's reply; an inner `None` if the script drew none.
fn drawn(reply: &Reply) -> Option<Option<u64>> {
    match reply {
        Reply::Nil => Some(None),
        reply => reply.number().map(Some),
    }
}

params! {
    /// The parameters of `set-nx-px`.
    pub struct Params: one_node {
        /// The lease, in milliseconds.
        ttl_ms: u64 = required, "the lease";
        /// The client's clock for the deadline.
        clock: ClockKind = (super::CLOCK => "monotonic"),
            "wall | monotonic: which clock of the client the deadline is on";
        /// Whether the time that acquiring took counts against the lease, as in Redlock. Without,
        /// the holder counts its lease from the reply (claim A10).
        #[serde(skip_serializing_if = "is_true")]
        elapsed_check: bool = true, "count the time that acquiring took against the lease";
        /// How the lock is released.
        release: Release = (Release::CompareDel => "compare-del"),
            "del | get-del | compare-del | watch-del | delex | delifeq";
        /// How a lease is extended.
        #[serde(skip_serializing_if = "Extend::compares")]
        extend: Extend = (Extend::CompareExpire => "compare-expire"), "compare-expire | expire | set";
        /// The value that distinguishes one grant from another.
        #[serde(skip_serializing_if = "Token::is_random")]
        token: Token = (Token::Random => "random"), "random | thread-id | seconds: the value of the key";
        /// The behaviour when an owner takes a lock that it already has.
        #[serde(skip_serializing_if = "Reentrant::is_no")]
        reentrant: Reentrant = (Reentrant::No => "no"),
            "no | local: count in the process how often an owner has it";
        /// Whether a grant carries a fencing token: `INCR` of a counter beside the lock,
        /// in the script that takes the lock.
        fencing_token: bool = false, "draw a token in the script that takes the lock";
        /// A mistake in the code around the commands.
        #[serde(skip_serializing_if = "Mistake::is_none")]
        mistake: Mistake = (Mistake::None => "none"),
            "none | fails-open | takes-refusals | deletes-at-start: what the program does wrong";
    } listed last {
        /// How often a command is sent again when no reply came, though it may have been
        /// executed.
        #[serde(skip_serializing_if = "super::is_zero")]
        resend: u32 = 0, "how often to send a command again if no reply arrives in time";
    }
}

// serde passes a reference.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_true(is: &bool) -> bool {
    *is
}

impl Algorithm for Params {
    fn facts(&self) -> Facts {
        Facts {
            lease_ms: Some(self.ttl_ms),
            tells_deadline: true,
            listens: false,
            held: Held::by(Need::Nodes(1), Shape::Text),
            keeps: match self.release {
                // The node compares and deletes in one step.
                Release::CompareDel | Release::WatchDel if self.mistake == Mistake::None => {
                    &["foreign-release"]
                }
                _ => &[],
            },
        }
    }

    fn build<E: Env>(&self, env: E, nodes: &[Name]) -> Rc<dyn DynLock> {
        Rc::new(SetNxPx::new(env, &nodes[0], self.clone()))
    }

    fn bound(&self, _: &Topology) -> Bound {
        let commands = match self.fencing_token {
            true => algorithm::SCRIPT,
            false => 1,
        };
        self.shared()
            .bound(Some(self.ttl_ms), commands, self.resend)
    }

    fn check(&self, topology: &Topology) -> Result<(), InvalidParams> {
        self.shared().check(ENTRY.name, topology)?;
        let takes_replies = matches!(self.mistake, Mistake::None | Mistake::DeletesAtStart);
        algorithm::require(
            takes_replies || !self.fencing_token,
            ["lock", "mistake"],
            "who fails to get the lock has no fencing token; leave one of the two out".to_owned(),
        )?;
        algorithm::lease(self.ttl_ms)?;
        algorithm::resend(self.resend)
    }

    fn gives_tokens(&self) -> bool {
        self.fencing_token
    }
}

/// The value that a grant writes into the key.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Token {
    /// 128 random bits.
    #[default]
    Random,
    /// The number of the thread: the blog text "Redis分布式锁探究与实现" offers "uuid, thread id and the
    /// like" as equivalent. Every process has a thread 1.
    ThreadId,
    /// The client's wall clock in whole seconds. (redis.io allows microseconds with a client's
    /// id where the risk is acceptable.)
    Seconds,
}

impl Token {
    fn is_random(&self) -> bool {
        *self == Token::Random
    }
}

/// A mistake of real programs in the code around the commands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mistake {
    /// There is none.
    #[default]
    None,
    /// If the server does not answer, or with an error, the lock counts as granted.
    FailsOpen,
    /// The reply to the `SET` is not looked at, or a refusal is taken for a grant.
    TakesRefusals,
    /// A program that starts deletes the key, so that a predecessor that crashed blocks nobody.
    DeletesAtStart,
}

impl Mistake {
    fn is_none(&self) -> bool {
        *self == Mistake::None
    }
}

/// The behaviour when an owner takes a lock that it already has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reentrant {
    /// It waits for itself.
    #[default]
    No,
    /// It gets the lock from a count in its own process; the node is not contacted.
    Local,
}

impl Reentrant {
    fn is_no(&self) -> bool {
        *self == Reentrant::No
    }
}

/// `set-nx-px` in the catalogue.
pub const ENTRY: CatalogueEntry = CatalogueEntry {
    name: "set-nx-px",
    summary: "one node, SET key token NX PX ttl; released in one of six ways",
    source: "redis.io, \"Distributed locks with Redis\", the single instance",
    parameters: Params::PARAMETERS,
    forms: &[
        ("", "ttl_ms = LEASE"),
        ("release del", "ttl_ms = LEASE\nrelease = \"del\""),
        ("release get-del", "ttl_ms = LEASE\nrelease = \"get-del\""),
        (
            "release watch-del",
            "ttl_ms = LEASE\nrelease = \"watch-del\"",
        ),
        ("with token", "ttl_ms = LEASE\nfencing_token = true"),
        ("reentrant", "ttl_ms = LEASE\nreentrant = \"local\""),
    ],
    libraries: &[
        "redis-py",
        "redis-semaphore",
        "redislock",
        "ShedLock",
        "Spring Integration",
    ],
    mutants: &[
        ("release=del", "a release deletes whoever holds the lock"),
        (
            "release=get-del",
            "a release deletes what another client took after the comparison",
        ),
        (
            "extend=expire",
            "an extension gives a lease to whoever holds the lock",
        ),
        (
            "extend=set",
            "an extension takes the lock back from whoever holds it",
        ),
        (
            "elapsed_check=false",
            "the holder counts its lease from the reply, and the node from the request",
        ),
        ("token=thread-id", "two processes write the same value"),
        (
            "token=seconds",
            "two grants of one second have the same value",
        ),
        (
            "fencing_token=false",
            "grants carry no token, so the resource cannot tell old from new",
        ),
        ("wait_replicas=0", "a lock counts before a replica has it"),
        (
            "mistake=fails-open",
            "a server that does not answer, or with an error, grants the lock",
        ),
        ("mistake=takes-refusals", "a refusal grants the lock"),
        (
            "mistake=deletes-at-start",
            "a program that starts deletes whoever's lock there is",
        ),
    ],
};
