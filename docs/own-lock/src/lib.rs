//! `team-lock`: a lock on one Redis node, as a team may have written it for itself.
//!
//! A lock is three things: parameters ([`Params`], an [`Algorithm`]), what one process does with
//! them ([`TeamLock`], a [`Lock`]), and an entry for the catalogue. Everything that it uses of the
//! outside comes from its [`Env`], so the same code runs in the simulated world and on real Redis.

pub mod watched;

use std::rc::Rc;
use std::time::Duration;

use locklab::env::Env;
use locklab::history::{ClockKind, Deadline, Name, Topology};
use locklab::locks::{
    Algorithm, Bound, CatalogueEntry, DynLock, Facts, Grant, Held, KEY, Lock, LockError, Need,
    Registration, Request, Shape,
};
use locklab::redis::{Client, Reply, Script};
use serde::{Deserialize, Serialize};

/// What this crate brings: for `locklab::main` and `locklab::Lab`.
pub const LOCKS: &[Registration] = &[
    Registration::of::<Params>(ENTRY),
    Registration::of::<watched::Params>(watched::ENTRY),
];

const ENTRY: CatalogueEntry = CatalogueEntry {
    name: "team-lock",
    summary: "one node, SET key token NX PX ttl",
    source: "our repository",
    parameters: &[
        ("ttl_ms", "", "the lease, in milliseconds"),
        (
            "release",
            "compare",
            "compare | del: whether the release looks at the value",
        ),
    ],
    // The rows of `locklab study matrix`; LEASE is the lease that a problem asks for.
    forms: &[
        ("", "ttl_ms = LEASE"),
        ("release del", "ttl_ms = LEASE\nrelease = \"del\""),
    ],
    libraries: &[],
    // What `locklab check --mutants` puts in, to see whether a scenario notices.
    mutants: &[("release=del", "a release deletes whoever holds the lock")],
};

/// The keys under `[lock]` in a scenario.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The lease, in milliseconds.
    pub ttl_ms: u64,
    /// How the lock is released.
    #[serde(default)]
    pub release: Release,
}

/// How the lock is released.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Release {
    /// A script deletes the key if it still has this grant's token.
    #[default]
    Compare,
    /// The key is deleted, whoever has it now.
    Del,
}

/// How long to wait after a refused attempt.
const RETRY_MS: u64 = 50;

impl Algorithm for Params {
    fn build<E: Env>(&self, env: E, nodes: &[Name]) -> Rc<dyn DynLock> {
        Rc::new(TeamLock {
            node: Client::new(env.clone(), nodes[0].clone(), None),
            env,
            params: self.clone(),
        })
    }

    /// The last holder died just after its `SET`: the lease, and a millisecond by which Redis may
    /// expire late; a wait; and the next attempt, with a new connection.
    fn bound(&self, _: &Topology) -> Bound {
        Bound {
            by_clock_ms: self.ttl_ms + 1 + RETRY_MS,
            round_trips: 3,
            time_outs_ms: 0,
            reply_ms: None,
        }
    }

    fn facts(&self) -> Facts {
        Facts {
            lease_ms: Some(self.ttl_ms),
            tells_deadline: true,
            listens: false,
            held: Held::by(Need::Nodes(1), Shape::Text),
            keeps: &[],
        }
    }
}

/// The lock as one process uses it.
struct TeamLock<E: Env> {
    env: E,
    node: Client<E>,
    params: Params,
}

static COMPARE_AND_DELETE: Script = Script::new(
    || "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0",
);

impl<E: Env> Lock for TeamLock<E> {
    async fn connect(&self) {
        // If this fails, so does the first command, which says why.
        let _ = self.node.connect().await;
    }

    async fn attempt(&self, request: Request) -> Result<Grant, LockError> {
        let token = format!("{:016x}{:016x}", self.env.random(), self.env.random());
        let ttl = self.params.ttl_ms.to_string();
        // The lease begins later than this, so a holder that counts from here is on the safe side.
        let started_ns = self.env.now_ns(ClockKind::Monotonic);
        let set: &[&[u8]] = &[
            b"SET",
            KEY.as_bytes(),
            token.as_bytes(),
            b"NX",
            b"PX",
            ttl.as_bytes(),
        ];
        if !self.node.ask(set, Reply::set).await? {
            return Err(LockError::taken("somebody holds it"));
        }
        Ok(Grant {
            owner: request.owner,
            token,
            deadline: Some(Deadline {
                clock: ClockKind::Monotonic,
                at_ns: started_ns + self.params.ttl_ms * 1_000_000,
            }),
            fencing_token: None,
        })
    }

    async fn wait(&self, request: Request, _: &LockError) {
        request
            .pass(&self.env, Duration::from_millis(RETRY_MS))
            .await;
    }

    async fn release(&self, grant: &Grant) -> Result<u32, LockError> {
        let key = KEY.as_bytes();
        let deleted = match self.params.release {
            Release::Del => self.node.ask(&[b"DEL", key], Reply::count).await?,
            Release::Compare => {
                let token = grant.token.as_bytes();
                COMPARE_AND_DELETE
                    .ask(&self.node, &[key], &[token], Reply::count)
                    .await?
            }
        };
        match deleted {
            0 => Err(LockError::Lost("the key had another value".into())),
            deleted => Ok(deleted),
        }
    }

    // `extend` and `is_held` are left out: this lock has neither.
}
