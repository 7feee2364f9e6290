//! The shared parts of locks on one node: a key with its holder's value, the ways to
//! delete it, the extension of its lease, and the parameters of the client.

use std::future::Future;

use locklab_values::units::ns_from_ms;
use serde::{Deserialize, Serialize};

use super::algorithm::{self, Bound, CONNECTING, EXPIRY_MS, InvalidParams, require};
use super::lock::{Grant, LockError, Request, Retry};
use super::{KEY, scripts};
use locklab_env::redis::{Client, Error, Reply, Script};
use locklab_env::{Duration, Env};
use locklab_history::Topology;
use locklab_history::{ClockKind, Deadline, Failpoint, Name};

/// The parameters that every lock on one node has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shared {
    /// How many replicas must have the lock before it counts.
    pub wait_replicas: u32,
    /// How long to wait for them, in milliseconds; 0: without limit.
    pub wait_timeout_ms: u64,
    /// The wait between two attempts.
    pub retry: Retry,
    /// How long to wait for a connection or a reply, in milliseconds; `None`: without limit.
    pub timeout_ms: Option<u64>,
}

impl Shared {
    /// See [`Algorithm::bound`](super::Algorithm::bound), for a lock with this lease (`None`:
    /// it has to be released) that needs `commands` for an attempt, and retransmits each up to
    /// `resend` times.
    pub(super) fn bound(&self, lease_ms: Option<u64>, commands: u32, resend: u32) -> Bound {
        // WAIT, and the replica's reply to the node.
        let (waiting, wait_ms) = match self.wait_replicas {
            0 => (0, 0),
            _ => (2, self.wait_timeout_ms),
        };
        let freeing = match lease_ms {
            Some(_) => 0,
            None => 1,
        };
        let lease_ms = lease_ms.map_or(0, |ms| ms + EXPIRY_MS);
        let sendings = u64::from(1 + resend);
        Bound {
            by_clock_ms: lease_ms + self.retry.longest_ms(),
            round_trips: CONNECTING + freeing + 2 * (commands + waiting),
            time_outs_ms: self.timeout_ms.unwrap_or(0) * sendings + wait_ms,
            reply_ms: self.timeout_ms,
        }
    }

    /// Whether these parameters are valid for the lock of this name, with these hosts.
    ///
    /// # Errors
    /// The first invalid parameter.
    pub(super) fn check(&self, name: &str, topology: &Topology) -> Result<(), InvalidParams> {
        algorithm::one_node(name, topology)?;
        let (wanted, replicas) = (self.wait_replicas, topology.replicas);
        require(
            wanted <= replicas,
            ["lock", "wait_replicas"],
            format!("the node has {replicas} replicas, so {wanted} never have the lock"),
        )?;
        require(
            self.timeout_ms != Some(0),
            ["lock", "timeout_ms"],
            "a client that waits 0 ms never gets a reply; leave \"timeout_ms\" out to wait \
             for ever",
        )
    }
}

/// The lock's key, as accessed by one client.
pub(super) struct OneNode<E: Env> {
    env: E,
    node: Client<E>,
    shared: Shared,
    resend: u32,
}

impl<E: Env> OneNode<E> {
    /// The key on `node`. The client retransmits a command up to `resend` times when no reply
    /// came, without knowing whether it was executed.
    pub(super) fn new(env: E, node: &Name, shared: Shared, resend: u32) -> Self {
        let limit = shared.timeout_ms.map(Duration::from_millis);
        Self {
            node: Client::new(env.clone(), node.clone(), limit),
            env,
            shared,
            resend,
        }
    }

    /// Connects before the first command. If this fails, so does that command, which reports
    /// the reason.
    pub(super) async fn connect(&self) {
        let _ = self.node.connect().await;
    }

    /// Sends a command and converts its reply with `read`.
    pub(super) async fn ask<T>(
        &self,
        command: &[&[u8]],
        read: fn(&Reply) -> Option<T>,
    ) -> Result<T, Error> {
        self.resending(|| self.node.ask(command, read)).await
    }

    /// Runs a script and converts its reply with `read`.
    pub(super) async fn run<T>(
        &self,
        script: &Script,
        keys: &[&[u8]],
        arguments: &[&[u8]],
        read: fn(&Reply) -> Option<T>,
    ) -> Result<T, Error> {
        self.resending(|| script.ask(&self.node, keys, arguments, read))
            .await
    }

    /// `SETNX`: whether the key was free and now holds `value`.
    pub(super) async fn set_if_absent(&self, value: &str) -> Result<bool, Error> {
        let command = [b"SETNX", KEY.as_bytes(), value.as_bytes()];
        self.ask(&command, Reply::flag).await
    }

    /// The value of the key.
    pub(super) async fn value(&self) -> Result<Option<String>, Error> {
        self.ask(&[b"GET", KEY.as_bytes()], Reply::value).await
    }

    /// Whether the key holds `value`.
    pub(super) async fn holds(&self, value: &str) -> Result<bool, LockError> {
        Ok(self.value().await?.as_deref() == Some(value))
    }

    /// Sets a new lease for the grant.
    ///
    /// # Errors
    /// [`LockError::Lost`] if this way to extend checks the value, and finds another one, or if there
    /// is no key.
    pub(super) async fn extend(
        &self,
        extend: Extend,
        grant: &Grant,
        clock: ClockKind,
        ttl_ms: u64,
    ) -> Result<Grant, LockError> {
        let started_ns = self.env.now_ns(clock);
        let (key, ttl) = (KEY.as_bytes(), ttl_ms.to_string());
        let (value, ttl) = (grant.token.as_bytes(), ttl.as_bytes());
        let is_extended = match extend {
            Extend::CompareExpire => {
                let script = &scripts::COMPARE_EXPIRE;
                self.run(script, &[key], &[value, ttl], Reply::flag).await?
            }
            Extend::Expire => self.ask(&[b"PEXPIRE", key, ttl], Reply::flag).await?,
            Extend::Set => {
                let command = [b"SET", key, value, b"PX", ttl];
                self.ask(&command, Reply::set).await?
            }
        };
        match is_extended {
            true => Ok(Grant {
                deadline: deadline(clock, started_ns, ttl_ms),
                ..grant.clone()
            }),
            false => Err(lost()),
        }
    }

    /// Releases the lock that was taken with `value`; returns how many keys that deleted.
    ///
    /// # Errors
    /// [`LockError::Lost`] if this way to release checks the value, and finds another one;
    /// [`LockError::Unsupported`] if the server does not have the command.
    pub(super) async fn release(&self, release: Release, value: &str) -> Result<u32, LockError> {
        let deleted = match release {
            // It never checks the owner, so it never detects a lost lock.
            Release::Del => return self.delete().await,
            Release::GetDel => match self.holds(value).await? {
                true => self.delete().await?,
                false => 0,
            },
            Release::CompareDel => {
                self.env.reach(Failpoint::Deleting).await;
                self.compare_delete(value).await?
            }
            Release::WatchDel => self.watch_delete(value).await?,
            Release::Delex => {
                let command: [&[u8]; 4] = [b"DELEX", KEY.as_bytes(), b"IFEQ", value.as_bytes()];
                self.delete_with(&command, DELEX_UNKNOWN).await?
            }
            Release::Delifeq => {
                let command: [&[u8]; 3] = [b"DELIFEQ", KEY.as_bytes(), value.as_bytes()];
                self.delete_with(&command, DELIFEQ_UNKNOWN).await?
            }
        };
        match deleted {
            0 => Err(lost()),
            deleted => Ok(deleted),
        }
    }

    /// Deletes the key without comparing its value.
    pub(super) async fn delete(&self) -> Result<u32, LockError> {
        self.env.reach(Failpoint::Deleting).await;
        Ok(self.ask(&[b"DEL", KEY.as_bytes()], Reply::count).await?)
    }

    /// Deletes the key with a command that compares, which not every server has.
    ///
    /// # Errors
    /// [`LockError::Unsupported`] with `unknown` if this one has it not.
    async fn delete_with(
        &self,
        command: &[&[u8]],
        unknown: &'static str,
    ) -> Result<u32, LockError> {
        self.env.reach(Failpoint::Deleting).await;
        self.ask(command, Reply::count)
            .await
            .map_err(|error| match &error {
                Error::Refused { text, .. } if text.starts_with("ERR unknown command") => {
                    LockError::Unsupported(unknown)
                }
                _ => error.into(),
            })
    }

    /// Deletes the key if it holds `value`, in one script.
    pub(super) async fn compare_delete(&self, value: &str) -> Result<u32, Error> {
        let (keys, arguments) = ([KEY.as_bytes()], [value.as_bytes()]);
        self.run(&scripts::COMPARE_DELETE, &keys, &arguments, Reply::count)
            .await
    }

    /// Deletes the key in a transaction that fails if another client modifies it meanwhile. It
    /// is never retransmitted: WATCH ends with the connection.
    async fn watch_delete(&self, value: &str) -> Result<u32, Error> {
        let key = KEY.as_bytes();
        let mut node = self.node.exclusively().await;
        let ok = |reply: &Reply| reply.is_ok().then_some(());
        let queued = |reply: &Reply| reply.is_status("QUEUED").then_some(());
        node.ask(&[b"WATCH", key], ok).await?;
        if node.ask(&[b"GET", key], Reply::value).await?.as_deref() != Some(value) {
            node.ask(&[b"UNWATCH"], ok).await?;
            return Ok(0);
        }
        node.ask(&[b"MULTI"], ok).await?;
        node.ask(&[b"DEL", key], queued).await?;
        self.env.reach(Failpoint::Deleting).await;
        node.ask(&[b"EXEC"], |reply| match reply {
            // The key changed after WATCH, so the transaction did nothing.
            Reply::Nil => Some(0),
            Reply::Array(replies) => match &replies[..] {
                [deleted] => deleted.count(),
                _ => None,
            },
            _ => None,
        })
        .await
    }

    /// `WAIT`: a lock that was taken counts once enough replicas have it. Otherwise it is
    /// released.
    ///
    /// # Errors
    /// [`LockError::NotAcquired`] if too few replicas confirm in time.
    pub(super) async fn counted(&self, grant: Grant) -> Result<Grant, LockError> {
        let wanted = self.shared.wait_replicas;
        if wanted == 0 {
            return Ok(grant);
        }
        let (replicas, timeout_ms) = (wanted.to_string(), self.shared.wait_timeout_ms.to_string());
        let command = [b"WAIT", replicas.as_bytes(), timeout_ms.as_bytes()];
        let have = self.ask(&command, Reply::count).await?;
        if have >= wanted {
            return Ok(grant);
        }
        self.compare_delete(&grant.token).await?;
        Err(LockError::taken(format!(
            "{have} of {wanted} replicas have it"
        )))
    }

    /// Sleeps between two attempts.
    pub(super) async fn pause(&self, request: Request) {
        self.shared.retry.wait(&self.env, request).await;
    }

    async fn resending<T, F>(&self, send: impl Fn() -> F) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let mut left = self.resend;
        loop {
            match send().await {
                Err(Error::Unanswered { .. }) if left > 0 => left -= 1,
                reply => return reply,
            }
        }
    }
}

const DELEX_UNKNOWN: &str =
    "a release with DELEX: its server does not know the command, which Redis has since 8.4";
const DELIFEQ_UNKNOWN: &str =
    "a release with DELIFEQ: its server does not know the command, which Valkey has since 9.0";

/// The ways to release: four common ones, and two commands of later servers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Release {
    /// `DEL`, even if another client has the lock by now.
    Del,
    /// `GET`, compare, `DEL`: two commands.
    GetDel,
    /// Compare and delete in one script.
    #[default]
    CompareDel,
    /// `WATCH`, `GET`, `MULTI`, `DEL`, `EXEC`.
    WatchDel,
    /// `DELEX key IFEQ value`: compare and delete in one command, of Redis 8.4. Where the server
    /// does not know it, the key stays until its lease is over.
    Delex,
    /// `DELIFEQ key value`, the same of Valkey 9.0.
    Delifeq,
}

/// Three ways to extend a lease.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Extend {
    /// Compare and expire in one script.
    #[default]
    CompareExpire,
    /// `PEXPIRE`, even if another client has the lock by now.
    Expire,
    /// `SET` with a new lease, which takes the lock back if it is free, or another client's.
    Set,
}

impl Extend {
    pub(super) fn compares(&self) -> bool {
        *self == Extend::CompareExpire
    }
}

/// 1 s: how long Redisson's locks wait for replicas.
pub(super) const WAIT_TIMEOUT_MS: u64 = 1000;

pub(super) fn is_default_wait_timeout_ms(timeout_ms: &u64) -> bool {
    *timeout_ms == WAIT_TIMEOUT_MS
}

/// The end, by that clock, of a lease that was requested at `started_ns` or later.
pub(super) fn deadline(clock: ClockKind, started_ns: u64, ttl_ms: u64) -> Option<Deadline> {
    Some(Deadline {
        clock,
        at_ns: started_ns + ns_from_ms(ttl_ms),
    })
}

/// The key holds another client's value, or none.
pub(super) fn lost() -> LockError {
    LockError::Lost("the lock is no longer ours".into())
}
