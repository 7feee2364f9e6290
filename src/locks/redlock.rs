//! `redlock`: a majority of N independent nodes, after redis.io, "Distributed locks
//! with Redis", section "The Redlock algorithm".
//!
//! 1. Get the current time.
//! 2. Try to take the lock on all N nodes in parallel with one random value, waiting for each
//!    no longer than a timeout that is small against the TTL. (Until November 2025 the text said
//!    "sequentially".)
//! 3. Compute the time elapsed since step 1. The lock is acquired if and only if a
//!    majority granted it and the elapsed time is less than the validity time.
//! 4. Its validity is the TTL minus the elapsed time, minus an allowance for drift.
//! 5. If it was not acquired, release it on all nodes, also on those that seemed not
//!    to have granted it.
//!
//! Every disputed clause is a parameter.

use std::rc::Rc;

use futures_util::future::join_all;
use locklab_values::units::ns_from_ms;
use serde::{Deserialize, Serialize};

use super::algorithm::{
    self, Algorithm, Bound, CONNECTING, CatalogueEntry, EXPIRY_MS, Facts, Held, InvalidParams,
    Need, SCRIPT, Shape, require,
};
use super::lock::{DynLock, Grant, Lock, LockError, Request, Retry};
use super::{KEY, random_token, scripts};
use locklab_env::redis::{Client, Error, Reply, Script};
use locklab_env::{Duration, Env};
use locklab_history::Topology;
use locklab_history::{ClockKind, Deadline, Failpoint, Name};

/// `redlock` as one client uses it.
pub struct Redlock<E: Env> {
    env: E,
    nodes: Vec<Client<E>>,
    params: Params,
}

impl<E: Env> Redlock<E> {
    /// A client of the lock on `nodes`.
    pub fn new(env: E, nodes: &[Name], params: Params) -> Self {
        let limit = Duration::from_millis(params.node_timeout_ms);
        let client = |node: &Name| Client::new(env.clone(), node.clone(), Some(limit));
        Self {
            nodes: nodes.iter().map(client).collect(),
            env,
            params,
        }
    }

    /// How many nodes must grant the lock.
    pub(super) fn quorum(&self) -> usize {
        let quorum = self.params.quorum.map(|quorum| quorum as usize);
        quorum.unwrap_or(self.nodes.len() / 2 + 1)
    }

    /// Steps 3 and 4: the deadline of a lease requested at `started_ns`, if it was granted in
    /// time.
    fn validity(&self, started_ns: u64) -> Option<Deadline> {
        let now_ns = self.env.now_ns(self.params.clock);
        let ttl_ns = ns_from_ms(self.params.ttl_ms);
        let drift_ns = (ttl_ns as f64 * self.params.drift_factor) as u64
            + ns_from_ms(self.params.drift_extra_ms);
        let counted_from_ns = if self.params.elapsed_check {
            started_ns
        } else {
            now_ns
        };
        let at_ns = (counted_from_ns + ttl_ns).saturating_sub(drift_ns);
        (at_ns > now_ns).then_some(Deadline {
            clock: self.params.clock,
            at_ns,
        })
    }

    /// Step 2: asks the nodes in the configured [`Order`]; returns whether each granted the
    /// lock.
    async fn ask_all(&self, token: &str) -> Vec<Result<bool, Error>> {
        let ttl_ms = self.params.ttl_ms.to_string();
        let command = [
            b"SET",
            KEY.as_bytes(),
            token.as_bytes(),
            b"NX",
            b"PX",
            ttl_ms.as_bytes(),
        ];
        let ask = async |node: &Client<E>| node.ask(&command, Reply::set).await;
        self.ask_each(ask).await
    }

    /// Deletes the lock where it still carries `token`; returns the number of deleted keys per
    /// node.
    async fn release_on(
        &self,
        token: &str,
        wanted: impl Fn(usize) -> bool,
    ) -> Vec<Result<u32, Error>> {
        let indexed = self.nodes.iter().enumerate();
        let chosen = indexed.filter_map(|(index, node)| wanted(index).then_some(node));
        let arguments = [token.as_bytes()];
        self.run_on(chosen, &scripts::COMPARE_DELETE, &arguments, Reply::count)
            .await
    }

    /// Asks every node in the configured [`Order`]; the answers are in the nodes' order.
    pub(super) async fn ask_each<T>(&self, ask: impl AsyncFn(&Client<E>) -> T) -> Vec<T> {
        in_order(self.params.order, &self.nodes, ask).await
    }

    /// Runs a script over the lock's key on some nodes.
    async fn run_on<'a, T>(
        &self,
        nodes: impl IntoIterator<Item = &'a Client<E>>,
        script: &Script,
        arguments: &[&[u8]],
        read: fn(&Reply) -> Option<T>,
    ) -> Vec<Result<T, Error>> {
        let keys = [KEY.as_bytes()];
        let ask = async |node: &Client<E>| script.ask(node, &keys, arguments, read).await;
        in_order(self.params.order, nodes, ask).await
    }
}

impl<E: Env> Lock for Redlock<E> {
    async fn connect(&self) {
        join_all(self.nodes.iter().map(Client::connect)).await;
    }

    async fn attempt(&self, request: Request) -> Result<Grant, LockError> {
        let token = random_token(&self.env);
        let started_ns = self.env.now_ns(self.params.clock);
        let answers = self.ask_all(&token).await;
        let granted: Vec<bool> = answers.iter().map(|a| matches!(a, Ok(true))).collect();
        let grants = granted.iter().filter(|granted| **granted).count();
        let validity = self.validity(started_ns);
        if let Some(deadline) = validity
            && grants >= self.quorum()
        {
            return Ok(Grant {
                owner: request.owner,
                fencing_token: self.params.fencing_token.of(&token),
                token,
                deadline: Some(deadline),
            });
        }
        // A node that is unreachable now lets the key expire.
        match self.params.release_on_failure {
            ReleaseOnFailure::All => drop(self.release_on(&token, |_| true).await),
            ReleaseOnFailure::Acquired => {
                drop(self.release_on(&token, |index| granted[index]).await);
            }
            ReleaseOnFailure::None => {}
        }
        Err(LockError::taken(match validity {
            Some(_) => format!("{grants} of {} nodes granted it", self.nodes.len()),
            None => "acquiring took longer than the lease is valid".into(),
        }))
    }

    async fn wait(&self, request: Request, _: &LockError) {
        self.params.retry().wait(&self.env, request).await;
    }

    /// Sets a new lease on every node that still has the grant; the extension counts if a
    /// majority did so in time.
    async fn extend(&self, grant: &Grant) -> Result<Grant, LockError> {
        let ttl_ms = self.params.ttl_ms.to_string();
        let arguments = [grant.token.as_bytes(), ttl_ms.as_bytes()];
        let started_ns = self.env.now_ns(self.params.clock);
        let script = &scripts::COMPARE_EXPIRE;
        let asking = self.run_on(&self.nodes, script, &arguments, Reply::flag);
        let extended = count(&asking.await);
        match self.validity(started_ns) {
            Some(deadline) if extended >= self.quorum() => Ok(Grant {
                deadline: Some(deadline),
                ..grant.clone()
            }),
            _ => Err(LockError::Lost(format!(
                "{extended} nodes extended it in time"
            ))),
        }
    }

    async fn release(&self, grant: &Grant) -> Result<u32, LockError> {
        self.env.reach(Failpoint::Deleting).await;
        let deleted = answered(self.release_on(&grant.token, |_| true).await)?;
        match deleted.iter().sum() {
            0 => Err(LockError::Lost("no node had it any more".into())),
            deleted => Ok(deleted),
        }
    }

    /// Whether a majority still has the grant.
    async fn is_held(&self, grant: &Grant) -> Result<bool, LockError> {
        let get = [b"GET", KEY.as_bytes()];
        let ask = async |node: &Client<E>| node.ask(&get, Reply::value).await;
        let values = answered(self.ask_each(ask).await)?;
        let holding = values
            .iter()
            .filter(|value| value.as_deref() == Some(&*grant.token));
        Ok(holding.count() >= self.quorum())
    }
}

/// How many nodes answered yes.
fn count(answers: &[Result<bool, Error>]) -> usize {
    answers.iter().filter(|a| matches!(a, Ok(true))).count()
}

/// The successful answers.
///
/// # Errors
/// The first error, if no node answered.
fn answered<T>(answers: Vec<Result<T, Error>>) -> Result<Vec<T>, LockError> {
    let (mut given, mut failed) = (Vec::new(), None);
    for answer in answers {
        match answer {
            Ok(answer) => given.push(answer),
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    match failed {
        Some(error) if given.is_empty() => Err(error.into()),
        _ => Ok(given),
    }
}

/// Asks nodes one after the other or in parallel; the answers are in the nodes' order.
async fn in_order<'a, E: Env, T>(
    order: Order,
    nodes: impl IntoIterator<Item = &'a Client<E>>,
    ask: impl AsyncFn(&Client<E>) -> T,
) -> Vec<T> {
    match order {
        Order::Parallel => join_all(nodes.into_iter().map(|node| ask(node))).await,
        Order::Sequential => {
            let mut answers = Vec::new();
            for node in nodes {
                answers.push(ask(node).await);
            }
            answers
        }
    }
}

params! {
    /// The parameters of `redlock`; each of them is a claim in the debate.
    pub struct Params {
        /// The lease, in milliseconds.
        ttl_ms: u64 = required, "the lease";
        /// How many nodes must grant the lock; absent: N/2 + 1.
        quorum: Option<u32> = (None => "N/2 + 1"), "how many nodes must grant";
        /// How long to wait for one node, connection included, in milliseconds.
        node_timeout_ms: u64 = (NODE_TIMEOUT_MS => "50"),
            "how long to wait for one node, connection included";
        /// The clock that measures the time taken to acquire. The specification's step 1 gets
        /// "the current time in milliseconds", and most implementations use the time of day.
        clock: ClockKind = (ClockKind::Wall => "wall"),
            "wall | monotonic: which clock measures the elapsed time";
        /// Whether the time taken to acquire is measured and subtracted from the lease (steps 3
        /// and 4). Without it a client assumes a full TTL from the moment at which it has a
        /// majority.
        elapsed_check: bool = true, "count the time that acquiring took against the lease";
        /// Share of the TTL allowed for clock drift.
        drift_factor: f64 = 0.01, "share of the TTL allowed for clock drift";
        /// Added to the drift allowance, in milliseconds: the precision of Redis's expiry.
        drift_extra_ms: u64 = 2, "added to the drift allowance";
        /// Whether to ask the nodes in parallel or in turn.
        order: Order = (Order::Parallel => "parallel"),
            "parallel | sequential: ask the nodes all at once or in turn";
        /// The nodes to release after a failed attempt (step 5).
        release_on_failure: ReleaseOnFailure = (ReleaseOnFailure::All => "all"),
            "all | acquired | none: where a failed attempt releases";
        /// What a grant carries for a resource to compare.
        #[serde(skip_serializing_if = "FencingToken::is_none")]
        fencing_token: FencingToken = (FencingToken::None => "none"),
            "none | random-value: what a grant carries for a resource to compare";
        /// Wait before the next attempt, in milliseconds.
        retry_delay_ms: u64 = (super::RETRY_DELAY_MS => "200"), "wait before the next attempt";
        /// The maximum random addition, drawn for each wait, in milliseconds.
        retry_jitter_ms: u64 = (super::RETRY_JITTER_MS => "50"),
            "up to this much more, drawn anew each time";
    }
}

impl Params {
    /// The specification's defaults, with this lease.
    pub(super) fn specified(ttl_ms: u64) -> Self {
        Params::from(Written {
            ttl_ms,
            ..Written::default()
        })
    }

    /// How many nodes the client waits for one after the other when it asks all of them.
    pub(super) fn sequential_nodes(&self, topology: &Topology) -> u32 {
        match self.order {
            Order::Sequential => topology.nodes,
            Order::Parallel => 1,
        }
    }

    fn retry(&self) -> Retry {
        Retry {
            delay_ms: self.retry_delay_ms,
            jitter_ms: self.retry_jitter_ms,
        }
    }
}

impl Algorithm for Params {
    fn facts(&self) -> Facts {
        Facts {
            lease_ms: Some(self.ttl_ms),
            tells_deadline: true,
            listens: false,
            held: Held::by(self.quorum.map_or(Need::Majority, Need::Nodes), Shape::Text),
            keeps: &[],
        }
    }

    fn build<E: Env>(&self, env: E, nodes: &[Name]) -> Rc<dyn DynLock> {
        Rc::new(Redlock::new(env, nodes, self.clone()))
    }

    /// Five, as the specification's example has.
    fn nodes(&self) -> u32 {
        5
    }

    fn bound(&self, topology: &Topology) -> Bound {
        let in_turn = self.sequential_nodes(topology);
        // The client asks all nodes, and once more to release after an attempt that failed.
        Bound {
            by_clock_ms: self.ttl_ms + EXPIRY_MS + self.retry().longest_ms(),
            round_trips: in_turn * (CONNECTING + 1 + SCRIPT + 1),
            time_outs_ms: u64::from(3 * in_turn) * self.node_timeout_ms,
            reply_ms: Some(self.node_timeout_ms),
        }
    }

    fn check(&self, topology: &Topology) -> Result<(), InvalidParams> {
        let nodes = topology.nodes;
        algorithm::lease(self.ttl_ms)?;
        if let Some(quorum) = self.quorum {
            require(
                (1..=nodes).contains(&quorum),
                ["lock", "quorum"],
                format!("the quorum of {nodes} nodes is 1 to {nodes}, not {quorum}"),
            )?;
        }
        require(
            self.node_timeout_ms > 0,
            ["lock", "node_timeout_ms"],
            "a client that waits 0 ms for a node never gets a reply",
        )?;
        let drift_factor = self.drift_factor;
        require(
            drift_factor.is_finite() && drift_factor >= 0.0,
            ["lock", "drift_factor"],
            format!(
                "the allowance for drift is a share of the lease, 0 or more, not {drift_factor}"
            ),
        )
    }

    fn gives_tokens(&self) -> bool {
        !self.fencing_token.is_none()
    }
}

/// In which order the nodes are asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// In parallel, as the specification says since November 2025; before, it recommended this
    /// ("multiplexing").
    #[default]
    Parallel,
    /// One after the other, as it said in 2016.
    Sequential,
}

/// The nodes to release after a failed attempt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReleaseOnFailure {
    /// Every node, including those that seemed not to grant the lock.
    #[default]
    All,
    /// The nodes that granted.
    Acquired,
    /// Nothing.
    None,
}

/// What a grant carries for a resource to compare.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FencingToken {
    /// Nothing: the specification has no fencing token.
    #[default]
    None,
    /// The first 63 bits of the grant's random value, as a number. Claim K6 is about the
    /// consequences.
    RandomValue,
}

impl FencingToken {
    fn is_none(&self) -> bool {
        *self == FencingToken::None
    }

    /// The token of a grant with this random value, in hexadecimal digits.
    fn of(self, value: &str) -> Option<u64> {
        match self {
            FencingToken::None => None,
            FencingToken::RandomValue => {
                let first = u64::from_str_radix(value.get(..16)?, 16).ok()?;
                Some(first >> 1)
            }
        }
    }
}

/// Small compared with the TTL, as the specification requires: 5 to 50 ms for a TTL of 10 s.
pub(super) const NODE_TIMEOUT_MS: u64 = 50;

/// `redlock` in the catalogue.
pub const ENTRY: CatalogueEntry = CatalogueEntry {
    name: "redlock",
    summary: "a majority of N independent nodes, with a validity time",
    source: "redis.io, \"Distributed locks with Redis\", the Redlock algorithm",
    parameters: Params::PARAMETERS,
    forms: &[
        ("", "ttl_ms = LEASE"),
        ("no elapsed check", "ttl_ms = LEASE\nelapsed_check = false"),
        ("monotonic clock", "ttl_ms = LEASE\nclock = \"monotonic\""),
        ("sequential", "ttl_ms = LEASE\norder = \"sequential\""),
    ],
    libraries: &["pottery", "redlock", "redlock-py", "redsync", "rslock"],
    mutants: &[
        ("quorum=1", "a single node is enough"),
        (
            "quorum=2",
            "two nodes are enough, which are no majority of four or more",
        ),
        (
            "elapsed_check=false",
            "the time that acquiring took is not counted",
        ),
        (
            "drift_factor=0",
            "nothing but 2 ms is allowed for clock drift",
        ),
        (
            "release_on_failure=none",
            "a failed attempt leaves its keys behind",
        ),
        (
            "fencing_token=none",
            "grants carry no token, so the resource cannot tell old from new",
        ),
    ],
};
