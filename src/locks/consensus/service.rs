//! A client of the coordination service: finds the leader, and repeats a request until it is
//! answered.

use tokio::sync::Mutex;

use locklab_env::redis::{Client, Error, Reply};
use locklab_env::{Duration, Env, timeout};
use locklab_history::Name;

/// How long a member may take to answer before the client asks another one, in milliseconds.
pub(super) const MEMBER_LIMIT_MS: u64 = 500;

/// How long to wait before asking again, in milliseconds.
const PAUSE_MS: u64 = 20;

/// One connection to the service: one request at a time.
pub(super) struct Service<E: Env> {
    env: E,
    members: Vec<Client<E>>,
    /// The member to ask first.
    leader: Mutex<usize>,
}

impl<E: Env> Service<E> {
    /// A client that is not connected yet. `limit` is how long a member may take to answer;
    /// `None`: without limit.
    pub(super) fn new(env: E, members: &[Name], limit: Option<Duration>) -> Self {
        let client = |name: &Name| Client::new(env.clone(), name.clone(), limit);
        Self {
            members: members.iter().map(client).collect(),
            env,
            leader: Mutex::new(0),
        }
    }

    /// Sends a request to the leader until it answers or `patience` is over.
    ///
    /// # Errors
    /// The last member's error when `patience` is over; an error that the service returns; an
    /// invalid answer.
    pub(super) async fn ask<T>(
        &self,
        request: &[&[u8]],
        patience: Duration,
        read: fn(&Reply) -> Option<T>,
    ) -> Result<T, Error> {
        let mut leader = self.leader.lock().await;
        let mut last = None;
        let asking = async {
            loop {
                match self.members[*leader].ask(request, read).await {
                    Ok(reply) => return Ok(reply),
                    Err(Error::Refused { text, .. }) if text.starts_with("NOTLEADER") => {
                        let named = text.strip_prefix("NOTLEADER ");
                        let place = named.and_then(|name| self.place_of(name.trim()));
                        *leader = place.unwrap_or((*leader + 1) % self.members.len());
                    }
                    Err(error @ (Error::Refused { .. } | Error::Unexpected { .. })) => {
                        return Err(error);
                    }
                    Err(error) => {
                        last = Some(error);
                        *leader = (*leader + 1) % self.members.len();
                    }
                }
                self.env.sleep(Duration::from_millis(PAUSE_MS)).await;
            }
        };
        match timeout(&self.env, Some(patience), asking).await {
            Ok(answer) => answer,
            Err(elapsed) => Err(last.unwrap_or_else(|| Error::Unanswered {
                node: "the service".into(),
                why: elapsed.to_string(),
            })),
        }
    }

    fn place_of(&self, name: &str) -> Option<usize> {
        self.members
            .iter()
            .position(|member| &**member.node() == name)
    }
}
