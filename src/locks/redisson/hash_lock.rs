//! The lock that is a hash with one field: `RLock`, and its relatives, which differ in how they
//! wait, what a release publishes, or whether they number their grants.

use super::base::{Base, Renewal, taken};
use super::listening::UNLOCKED;
use super::names;
use super::params::{self, Shared};
use super::replicas;
use super::waiting::Waiting;
use crate::lock::{Grant, Lock, LockError, Request};
use crate::{KEY, Owner, scripts};
use locklab_env::redis::{Error, Reply, Script};
use locklab_env::{Duration, Env};
use locklab_history::Name;

/// The lock, as one process uses it.
pub(crate) struct HashLock<E: Env> {
    base: Base<E>,
    waiting: Waiting<E>,
    /// The script that acquires, and its keys.
    acquire: (&'static Script, Vec<String>),
    release: (&'static Script, Release),
}

/// The additional steps of the acquiring script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Acquire {
    /// Nothing.
    Plain,
    /// It draws a fencing token.
    Fenced,
}

/// The additional steps of the releasing script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Release {
    /// Nothing.
    Silent,
    /// It publishes that the lock is free.
    Published,
    /// The same, and it keeps its answer for a retransmission.
    Latched,
}

impl Release {
    /// The release of a lock that publishes, with or without the kept answer.
    pub(crate) fn with_latch(latch: bool) -> Self {
        match latch {
            true => Release::Latched,
            false => Release::Published,
        }
    }
}

impl<E: Env> HashLock<E> {
    /// A client of the lock on `node`.
    pub(crate) fn new(
        env: E,
        node: &Name,
        shared: Shared,
        (acquire, release): (Acquire, Release),
        waiting: Waiting<E>,
    ) -> Self {
        let acquire = match acquire {
            Acquire::Plain => (&scripts::REDISSON_ACQUIRE, vec![KEY.into()]),
            Acquire::Fenced => (
                &scripts::REDISSON_ACQUIRE_FENCED,
                vec![KEY.into(), names::token(KEY)],
            ),
        };
        let script = match release {
            Release::Silent => &scripts::REDISSON_RELEASE_SILENT,
            Release::Published => &scripts::REDISSON_RELEASE,
            Release::Latched => &scripts::REDISSON_RELEASE_LATCHED,
        };
        Self {
            base: Base::new(env, node, KEY, shared, Renewal::OF_THE_KEY),
            waiting,
            acquire,
            release: (script, release),
        }
    }

    /// Runs the script, and waits for replicas if configured; returns the script's answer, and
    /// whether a replica has the lock. Redisson sends all of this as one batch, and retransmits
    /// all of it.
    async fn ask(&self, owner: Owner) -> Result<(Answer, bool), Error> {
        let (base, node) = (&self.base, &*self.base.node);
        let (lease_ms, holder) = (base.lease_ms(), base.holder(owner));
        let (script, keys) = &self.acquire;
        let keys: Vec<&[u8]> = keys.iter().map(|key| key.as_bytes()).collect();
        let arguments = [lease_ms.as_bytes(), holder.as_bytes()];
        node.again(async || {
            let ask = async || script.ask(node.once(), &keys, &arguments, answer).await;
            if !base.shared.check_replicas {
                return Ok((ask().await?, true));
            }
            let connected = replicas::connected(node).await?;
            let reply = ask().await?;
            Ok((reply, replicas::confirm(node, connected).await?))
        })
        .await
    }

    /// Runs the script that releases a hold.
    async fn give_back(&self, grant: &Grant) -> Result<u32, LockError> {
        let base = &self.base;
        let (script, release) = &self.release;
        let (key, lease_ms) = (&*base.key, &*base.lease_ms());
        let (silent, loud) = ([lease_ms, &grant.token], [UNLOCKED, lease_ms, &grant.token]);
        let keys = [key, &names::channel(key)];
        match release {
            Release::Silent => base.release(grant, script, &keys[..1], &silent).await,
            Release::Published => base.release(grant, script, &keys, &loud).await,
            Release::Latched => base.release_latched(grant, script, &keys, &loud).await,
        }
    }
}

impl<E: Env> Lock for HashLock<E> {
    async fn connect(&self) {
        self.base.connect().await;
    }

    async fn attempt(&self, request: Request) -> Result<Grant, LockError> {
        let base = &self.base;
        let started_ns = params::now_ns(&base.env);
        let (answer, has_replica) = self.ask(request.owner).await?;
        let token = match answer {
            Answer::Granted { token } => token,
            Answer::Taken { pttl_ms } => return Err(taken(pttl_ms)),
        };
        let grant = base.granted(request.owner, started_ns, token);
        if !has_replica {
            // The user does not learn the result.
            let _ = self.give_back(&grant).await;
            return Err(LockError::NotAcquired {
                why: "none of the replicas has it".into(),
                free_in: Some(Duration::ZERO),
            });
        }
        self.waiting.end(request.owner).await;
        Ok(grant)
    }

    async fn wait(&self, request: Request, failed: &LockError) {
        let Base { env, shared, .. } = &self.base;
        let interval = Duration::from_millis(shared.resend.interval_ms);
        self.waiting.wait(env, request, failed, interval).await;
    }

    async fn give_up(&self, request: Request) {
        self.waiting.end(request.owner).await;
    }

    async fn extend(&self, grant: &Grant) -> Result<Grant, LockError> {
        self.base.extend(grant).await
    }

    async fn release(&self, grant: &Grant) -> Result<u32, LockError> {
        self.give_back(grant).await
    }

    async fn is_held(&self, grant: &Grant) -> Result<bool, LockError> {
        self.base.is_held(grant).await
    }
}

/// The answer of an acquiring script.
enum Answer {
    Granted { token: Option<u64> },
    Taken { pttl_ms: i64 },
}

fn answer(reply: &Reply) -> Option<Answer> {
    match reply {
        Reply::Nil => Some(Answer::Granted { token: None }),
        Reply::Integer(pttl_ms) => Some(Answer::Taken { pttl_ms: *pttl_ms }),
        Reply::Array(both) => match both[..] {
            [Reply::Integer(pttl_ms), Reply::Integer(-1)] => Some(Answer::Taken { pttl_ms }),
            [Reply::Integer(-1), Reply::Integer(token)] => Some(Answer::Granted {
                token: Some(u64::try_from(token).ok()?),
            }),
            _ => None,
        },
        _ => None,
    }
}
