//! A session: kept alive by pings, and the end of all its nodes when it ends.

use std::cell::Cell;
use std::rc::Rc;

use super::service::{MEMBER_LIMIT_MS, Service};
use crate::env::{Duration, Env, timeout};
use crate::history::Name;
use crate::locks::LockError;
use crate::redis::{Error, Reply};

/// An open session, as far as its client knows.
pub(super) struct Session<E: Env> {
    env: E,
    id: String,
    timeout: Duration,
    service: Service<E>,
    /// A watch is answered when its node is gone: it has a line of its own.
    watches: Service<E>,
    /// The number of the last request that changed something.
    request: Cell<u64>,
    is_open: Rc<Cell<bool>>,
}

/// Why the service did not do what was asked.
#[derive(Debug)]
pub(super) enum Failure {
    /// The session has ended.
    Ended,
    /// No usable answer.
    Service(Error),
}

impl<E: Env> Session<E> {
    /// Opens a session and pings from now on, every third of the timeout.
    pub(super) async fn open(env: E, members: &[Name], timeout: Duration) -> Result<Self, Failure> {
        let limit = Some(Duration::from_millis(MEMBER_LIMIT_MS));
        let service = Service::new(env.clone(), members, limit);
        let timeout_ms = timeout.as_millis().to_string();
        let reply = service
            .ask(&[b"SESSION", timeout_ms.as_bytes()], timeout)
            .await?;
        let id = reply.integer().unwrap_or(0).to_string();
        let is_open = Rc::new(Cell::new(true));
        let pings = Service::new(env.clone(), members, limit);
        env.spawn(keep_alive(
            env.clone(),
            pings,
            id.clone(),
            timeout,
            is_open.clone(),
        ));
        Ok(Self {
            watches: Service::new(env.clone(), members, None),
            env,
            id,
            timeout,
            service,
            request: Cell::new(0),
            is_open,
        })
    }

    /// Whether nothing has said that it ended.
    pub(super) fn is_open(&self) -> bool {
        self.is_open.get()
    }

    /// Creates an ephemeral sequential node: its path and its number.
    pub(super) async fn create(&self, prefix: &str) -> Result<(String, u64), Failure> {
        let reply = self
            .change("CREATE", &[prefix, "EPHEMERAL", "SEQUENTIAL"])
            .await?;
        let node = match reply {
            Reply::Array(mut words) if words.len() == 2 => words.pop().zip(words.pop()),
            _ => None,
        };
        node.and_then(|(number, path)| node_of(&path, &number))
            .ok_or(Failure::Ended)
    }

    /// Deletes a node; whether it was there.
    pub(super) async fn delete(&self, path: &str) -> Result<bool, Failure> {
        Ok(self.change("DELETE", &[path]).await?.integer() == Some(1))
    }

    /// Paths and numbers of the nodes below `path`.
    pub(super) async fn children(&self, path: &str) -> Result<Vec<(String, u64)>, Failure> {
        let reply = self.ask(&[b"CHILDREN", path.as_bytes()]).await?;
        let Reply::Array(words) = reply else {
            return Ok(Vec::new());
        };
        let pairs = words.chunks_exact(2);
        Ok(pairs
            .filter_map(|pair| node_of(&pair[0], &pair[1]))
            .collect())
    }

    /// Waits until a node is gone, or the session with it; no longer than `limit`, nor
    /// than the session's timeout: the member that was to tell may be gone itself.
    pub(super) async fn watch(&self, path: &str, limit: Option<Duration>) {
        let request: [&[u8]; 3] = [b"WATCH", self.id.as_bytes(), path.as_bytes()];
        let limit = limit.map_or(self.timeout, |limit| limit.min(self.timeout));
        let watching = self.watches.ask(&request, limit);
        // However it ended: the nodes are listed anew.
        let _ = timeout(&self.env, Some(limit), watching).await;
    }

    /// Asks for a change. Sent again it has the same number, so it is done once.
    async fn change(&self, verb: &str, arguments: &[&str]) -> Result<Reply, Failure> {
        self.request.set(self.request.get() + 1);
        let number = self.request.get().to_string();
        let mut request: Vec<&[u8]> = vec![verb.as_bytes(), self.id.as_bytes(), number.as_bytes()];
        request.extend(arguments.iter().map(|word| word.as_bytes()));
        self.ask(&request).await
    }

    /// Asks for as long as the session can live unheard of.
    async fn ask(&self, request: &[&[u8]]) -> Result<Reply, Failure> {
        let answer = self.service.ask(request, self.timeout).await;
        answer.map_err(|error| {
            // Either it has ended, or nobody knows what it still has.
            self.is_open.set(false);
            Failure::from(error)
        })
    }
}

/// Pings until the session has ended.
async fn keep_alive<E: Env>(
    env: E,
    service: Service<E>,
    id: String,
    timeout: Duration,
    is_open: Rc<Cell<bool>>,
) {
    while is_open.get() {
        env.sleep(timeout / 3).await;
        let ping = service.ask(&[b"PING", id.as_bytes()], timeout).await;
        is_open.set(is_open.get() && ping.is_ok());
    }
}

fn node_of(path: &Reply, number: &Reply) -> Option<(String, u64)> {
    match (path, number) {
        (Reply::Bulk(path), Reply::Integer(number)) => {
            Some((String::from_utf8_lossy(path).into(), *number as u64))
        }
        _ => None,
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Refused { ref text, .. } if text.starts_with("NOSESSION") => Failure::Ended,
            error => Failure::Service(error),
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
