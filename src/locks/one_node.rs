//! What the locks on one node share: a key that holds its holder's value, the four ways
//! to delete it in circulation, and a new lease for it.

use std::future::Future;

use serde::{Deserialize, Serialize};

use super::KEY;
use super::lock::LockError;
use crate::env::{Duration, Env};
use crate::history::{ClockKind, Deadline, Name};
use crate::redis::{Client, Error, Reply, Script};

/// The lock's key, as one client reaches it.
pub(super) struct OneNode<E: Env> {
    env: E,
    node: Client<E>,
    resend: u32,
    compare_delete: Script,
    compare_expire: Script,
}

impl<E: Env> OneNode<E> {
    /// The key on `node`. The client waits `timeout_ms` for a connection or a reply,
    /// `None`: for ever; and sends a command up to `resend` times more when no reply came,
    /// without knowing whether it was executed.
    pub(super) fn new(env: E, node: &Name, timeout_ms: Option<u64>, resend: u32) -> Self {
        let limit = timeout_ms.map(Duration::from_millis);
        Self {
            node: Client::new(env.clone(), node.clone(), limit),
            env,
            resend,
            compare_delete: Script::new(include_str!("scripts/compare_delete.lua")),
            compare_expire: Script::new(include_str!("scripts/compare_expire.lua")),
        }
    }

    /// Connects before the first command. If this fails, so will that, and say why.
    pub(super) async fn connect(&self) {
        let _ = self.node.connect().await;
    }

    /// Sends a command.
    pub(super) async fn call(&self, command: &[&[u8]]) -> Result<Reply, Error> {
        self.resending(|| self.node.call(command)).await
    }

    /// Runs a script.
    pub(super) async fn run(
        &self,
        script: &Script,
        keys: &[&[u8]],
        arguments: &[&[u8]],
    ) -> Result<Reply, Error> {
        self.resending(|| script.call(&self.node, keys, arguments))
            .await
    }

    /// `SETNX`: whether the key was free and holds `value` now.
    pub(super) async fn set_if_absent(&self, value: &str) -> Result<bool, Error> {
        let reply = self
            .call(&[b"SETNX", KEY.as_bytes(), value.as_bytes()])
            .await?;
        Ok(reply.integer() == Some(1))
    }

    /// What the key holds.
    pub(super) async fn value(&self) -> Result<Option<String>, Error> {
        Ok(text(self.call(&[b"GET", KEY.as_bytes()]).await?))
    }

    /// Whether the key holds `value`.
    pub(super) async fn holds(&self, value: &str) -> Result<bool, LockError> {
        Ok(self.value().await?.as_deref() == Some(value))
    }

    /// Sets the lease anew if the key still holds `value`.
    ///
    /// # Errors
    /// [`LockError::Lost`] if it does not.
    pub(super) async fn extend(&self, value: &str, ttl_ms: u64) -> Result<(), LockError> {
        let (keys, ttl_ms) = ([KEY.as_bytes()], ttl_ms.to_string());
        let arguments = [value.as_bytes(), ttl_ms.as_bytes()];
        let reply = self.run(&self.compare_expire, &keys, &arguments).await?;
        match reply.integer() {
            Some(1) => Ok(()),
            _ => Err(lost()),
        }
    }

    /// Gives back the lock that was taken with `value`; how many keys that deleted.
    ///
    /// # Errors
    /// [`LockError::Lost`] if this way to release looks, and finds another value.
    pub(super) async fn release(&self, release: Release, value: &str) -> Result<u32, LockError> {
        let deleted = match release {
            // It never asks whose lock it is, so it never learns that it was lost.
            Release::Del => return self.delete().await,
            Release::GetDel => match self.holds(value).await? {
                true => self.delete().await?,
                false => 0,
            },
            Release::CompareDel => {
                self.env.reach("deleting").await;
                self.compare_delete(value).await?
            }
            Release::WatchDel => count(&self.watch_delete(value).await?),
        };
        match deleted {
            0 => Err(lost()),
            deleted => Ok(deleted),
        }
    }

    /// Deletes the key, whatever it holds.
    pub(super) async fn delete(&self) -> Result<u32, LockError> {
        self.env.reach("deleting").await;
        Ok(count(&self.call(&[b"DEL", KEY.as_bytes()]).await?))
    }

    /// Deletes the key if it holds `value`, in one script.
    pub(super) async fn compare_delete(&self, value: &str) -> Result<u32, Error> {
        let (keys, arguments) = ([KEY.as_bytes()], [value.as_bytes()]);
        let reply = self.run(&self.compare_delete, &keys, &arguments).await?;
        Ok(count(&reply))
    }

    /// Deletes the key in a transaction that fails if anybody touches it meanwhile. It is
    /// never sent again: what is watched ends with the connection.
    async fn watch_delete(&self, value: &str) -> Result<Reply, Error> {
        let key = KEY.as_bytes();
        let mut node = self.node.exclusively().await;
        node.call(&[b"WATCH", key]).await?;
        if text(node.call(&[b"GET", key]).await?).as_deref() != Some(value) {
            node.call(&[b"UNWATCH"]).await?;
            return Ok(Reply::Integer(0));
        }
        node.call(&[b"MULTI"]).await?;
        node.call(&[b"DEL", key]).await?;
        self.env.reach("deleting").await;
        // Nil: the key changed after WATCH, so the transaction did nothing.
        Ok(match node.call(&[b"EXEC"]).await? {
            Reply::Array(mut replies) if replies.len() == 1 => replies.remove(0),
            _ => Reply::Integer(0),
        })
    }

    /// `WAIT`: a lock that was taken with `value` counts once so many replicas have it.
    /// Else it is given back.
    ///
    /// # Errors
    /// [`LockError::NotAcquired`] if they are too few within the time; 0 ms: for ever.
    pub(super) async fn wait_for_replicas(
        &self,
        wanted: u32,
        timeout_ms: u64,
        value: &str,
    ) -> Result<(), LockError> {
        if wanted == 0 {
            return Ok(());
        }
        let (replicas, timeout_ms) = (wanted.to_string(), timeout_ms.to_string());
        let command = [b"WAIT", replicas.as_bytes(), timeout_ms.as_bytes()];
        let have = self.call(&command).await?.integer().unwrap_or(0);
        if have >= i64::from(wanted) {
            return Ok(());
        }
        self.compare_delete(value).await?;
        Err(LockError::taken(format!(
            "{have} of {wanted} replicas have it"
        )))
    }

    async fn resending<F>(&self, send: impl Fn() -> F) -> Result<Reply, Error>
    where
        F: Future<Output = Result<Reply, Error>>,
    {
        let mut reply = send().await;
        for _ in 0..self.resend {
            match &reply {
                Err(error) if error.may_have_happened() => reply = send().await,
                _ => break,
            }
        }
        reply
    }
}

/// The four ways to release in circulation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Release {
    /// `DEL`, whoever's lock it is by now.
    Del,
    /// `GET`, compare, `DEL`: two commands.
    GetDel,
    /// Compare and delete in one script.
    #[default]
    CompareDel,
    /// `WATCH`, `GET`, `MULTI`, `DEL`, `EXEC`.
    WatchDel,
}

/// 1 s: what Redisson's locks wait for replicas.
pub(super) fn default_wait_timeout_ms() -> u64 {
    1000
}

pub(super) fn is_default_wait_timeout_ms(timeout_ms: &u64) -> bool {
    *timeout_ms == default_wait_timeout_ms()
}

/// The end of a lease that was asked for at `started_ns`, or later, by that clock.
pub(super) fn deadline(clock: ClockKind, started_ns: u64, ttl_ms: u64) -> Option<Deadline> {
    Some(Deadline {
        clock,
        at_ns: started_ns + ttl_ms * 1_000_000,
    })
}

/// The key holds somebody else's value, or none.
pub(super) fn lost() -> LockError {
    LockError::Lost("the lock is no longer ours".into())
}

/// A value as text; what is none, nobody here has written.
pub(super) fn text(reply: Reply) -> Option<String> {
    match reply {
        Reply::Bulk(value) => Some(String::from_utf8_lossy(&value).into_owned()),
        _ => None,
    }
}

/// How many keys a command says that it deleted.
fn count(reply: &Reply) -> u32 {
    reply.integer().unwrap_or(0) as u32
}

/// Parameters that several of these locks have, for the catalogue.
pub(super) mod parameter {
    type Parameter = (&'static str, &'static str, &'static str);

    pub(in crate::locks) const TTL: Parameter = ("ttl_ms", "required", "the lease");
    pub(in crate::locks) const CLOCK: Parameter = (
        "clock",
        "monotonic",
        "wall | monotonic: which clock of the client the deadline is on",
    );
    pub(in crate::locks) const RESEND: Parameter = (
        "resend",
        "0",
        "send a command so many times more when no reply came in time",
    );
    pub(in crate::locks) const RETRY_DELAY: Parameter =
        ("retry_delay_ms", "200", "wait before the next attempt");
    pub(in crate::locks) const RETRY_JITTER: Parameter = (
        "retry_jitter_ms",
        "50",
        "up to this much more, drawn anew each time",
    );
    pub(in crate::locks) const WAIT_REPLICAS: Parameter = (
        "wait_replicas",
        "0",
        "the lock counts once so many replicas have it (WAIT)",
    );
    pub(in crate::locks) const WAIT_TIMEOUT: Parameter = (
        "wait_timeout_ms",
        "1000",
        "how long to wait for them; 0: for ever",
    );
    pub(in crate::locks) const TIMEOUT: Parameter = (
        "timeout_ms",
        "none",
        "give up waiting for the node after this",
    );
}
