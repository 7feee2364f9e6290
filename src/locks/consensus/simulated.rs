//! A session with the service of the simulator (`sim/services`): pings keep it alive, and all its nodes
//! end with it.

use std::cell::Cell;
use std::rc::Rc;

use super::service::{MEMBER_LIMIT_MS, Service};
use super::session::{Failure, Session};
use locklab_env::redis::{Error, Reply};
use locklab_env::{Duration, Env, timeout};
use locklab_history::Name;

/// An open session.
pub(super) struct SimulatedSession<E: Env> {
    env: E,
    id: String,
    timeout: Duration,
    service: Service<E>,
    /// A connection of its own: a watch is answered only when its node is gone.
    watches: Service<E>,
    /// The number of the last request that made a change.
    request: Cell<u64>,
    is_open: Rc<Cell<bool>>,
}

impl<E: Env> Session<E> for SimulatedSession<E> {
    async fn open(env: E, members: &[Name], timeout: Duration) -> Result<Self, Failure> {
        let limit = Some(Duration::from_millis(MEMBER_LIMIT_MS));
        let service = Service::new(env.clone(), members, limit);
        let timeout_ms = timeout.as_millis().to_string();
        let request = [b"SESSION", timeout_ms.as_bytes()];
        let id = service.ask(&request, timeout, Reply::number).await?;
        let id = id.to_string();
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

    fn is_open(&self) -> bool {
        self.is_open.get()
    }

    async fn create(&self, prefix: &str) -> Result<(String, u64), Failure> {
        let how = [prefix, "EPHEMERAL", "SEQUENTIAL"];
        self.change("CREATE", &how, |reply| match reply {
            Reply::Array(words) => node_of(words),
            _ => None,
        })
        .await
    }

    async fn delete(&self, path: &str) -> Result<bool, Failure> {
        self.change("DELETE", &[path], Reply::flag).await
    }

    async fn children(&self, path: &str) -> Result<Vec<(String, u64)>, Failure> {
        let request = [b"CHILDREN", path.as_bytes()];
        self.ask(&request, |reply| match reply {
            Reply::Array(words) => words.chunks(2).map(node_of).collect(),
            _ => None,
        })
        .await
    }

    async fn watch(&self, path: &str, limit: Option<Duration>) {
        let request: [&[u8]; 3] = [b"WATCH", self.id.as_bytes(), path.as_bytes()];
        let limit = limit.map_or(self.timeout, |limit| limit.min(self.timeout));
        let watching = self.watches.ask(&request, limit, |_| Some(()));
        // The result is ignored, because the caller lists the nodes again in any case.
        let _ = timeout(&self.env, Some(limit), watching).await;
    }
}

impl<E: Env> SimulatedSession<E> {
    /// Requests a change. A retransmission has the same number, so the change happens once.
    async fn change<T>(
        &self,
        verb: &str,
        arguments: &[&str],
        read: fn(&Reply) -> Option<T>,
    ) -> Result<T, Failure> {
        self.request.set(self.request.get() + 1);
        let number = self.request.get().to_string();
        let mut request: Vec<&[u8]> = vec![verb.as_bytes(), self.id.as_bytes(), number.as_bytes()];
        request.extend(arguments.iter().map(|word| word.as_bytes()));
        self.ask(&request, read).await
    }

    /// Repeats the request for as long as the session can live without a ping.
    async fn ask<T>(&self, request: &[&[u8]], read: fn(&Reply) -> Option<T>) -> Result<T, Failure> {
        let answer = self.service.ask(request, self.timeout, read).await;
        answer.map_err(|error| {
            // The session has ended, or its state is unknown.
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
        let request = [b"PING", id.as_bytes()];
        let ping = service.ask(&request, timeout, pong).await;
        is_open.set(is_open.get() && ping.is_ok());
    }
}

fn pong(reply: &Reply) -> Option<()> {
    reply.is_status("PONG").then_some(())
}

/// A node's path and number, from these two words.
fn node_of(words: &[Reply]) -> Option<(String, u64)> {
    match words {
        [path @ Reply::Bulk(_), number] => Some((path.value()??, number.number()?)),
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
