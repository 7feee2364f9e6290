//! What the lock needs of a coordination service, of whichever kind: a session, in which nodes are
//! created, deleted, listed and watched.
//!
//! The service of the simulator and ZooKeeper keep the same promises and speak different protocols, so
//! each has its implementation; the steps of the lock are the same code for both.

use locklab_env::redis::Error;
use locklab_env::{Duration, Env, zookeeper};
use locklab_history::Name;

use crate::LockError;

/// An open session, as far as its client knows.
pub(super) trait Session<E: Env>: Sized + 'static {
    /// Opens a session and starts to ping, at a third of the timeout.
    async fn open(env: E, members: &[Name], timeout: Duration) -> Result<Self, Failure>;

    /// Whether the session has not been reported as ended.
    fn is_open(&self) -> bool;

    /// Creates an ephemeral sequential node; returns its path and number.
    async fn create(&self, prefix: &str) -> Result<(String, u64), Failure>;

    /// Deletes a node; returns whether it existed.
    async fn delete(&self, path: &str) -> Result<bool, Failure>;

    /// Paths and numbers of the nodes below `path`.
    async fn children(&self, path: &str) -> Result<Vec<(String, u64)>, Failure>;

    /// Waits until a node or the session is gone; no longer than `limit` or the session's
    /// timeout, because the member that would send the notification may itself be gone.
    async fn watch(&self, path: &str, limit: Option<Duration>);
}

/// Why a request to the service failed.
#[derive(Debug)]
pub(super) enum Failure {
    /// The session has ended.
    Ended,
    /// No usable answer.
    Service(Error),
}

impl<E: Env> Session<E> for zookeeper::Session<E> {
    async fn open(env: E, members: &[Name], timeout: Duration) -> Result<Self, Failure> {
        Ok(Self::open(env, members, timeout).await?)
    }

    fn is_open(&self) -> bool {
        Self::is_open(self)
    }

    async fn create(&self, prefix: &str) -> Result<(String, u64), Failure> {
        let node = Self::create(self, prefix).await?;
        Ok((node.path, node.number))
    }

    async fn delete(&self, path: &str) -> Result<bool, Failure> {
        Ok(Self::delete(self, path).await?)
    }

    async fn children(&self, path: &str) -> Result<Vec<(String, u64)>, Failure> {
        let nodes = Self::children(self, path).await?.into_iter();
        Ok(nodes.map(|node| (node.path, node.number)).collect())
    }

    async fn watch(&self, path: &str, limit: Option<Duration>) {
        Self::watch(self, path, limit).await;
    }
}

impl From<zookeeper::Error> for Failure {
    fn from(error: zookeeper::Error) -> Self {
        let (node, why) = ("the service".into(), error.to_string());
        match error {
            zookeeper::Error::Ended => Failure::Ended,
            zookeeper::Error::Refused(_) => Failure::Service(Error::Refused { node, text: why }),
            zookeeper::Error::Unanswered | zookeeper::Error::Unexpected(_) => {
                Failure::Service(Error::Unanswered { node, why })
            }
        }
    }
}

impl From<Failure> for LockError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Ended => LockError::taken("the session has ended"),
            Failure::Service(error) => error.into(),
        }
    }
}
