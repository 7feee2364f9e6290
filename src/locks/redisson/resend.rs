//! Sending a command again when its reply does not come.
//!
//! Redisson does so with every command, also with the scripts that take and give back a
//! lock, although running these twice is not running them once. In release 3.23.5 a
//! reply may take 3 s; 1.5 s after that the command is sent again on another
//! connection, three times at most. The first may be executed all the same.

use crate::env::{Duration, Env};
use crate::history::Name;
use crate::redis::{Client, Error, Reply, Script};

/// How patiently, and how often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::locks) struct Resend {
    /// How often a command is sent again.
    pub times: u32,
    /// How long to wait for a reply, connecting included, in milliseconds.
    pub reply_timeout_ms: u64,
    /// How long to wait then, in milliseconds.
    pub interval_ms: u64,
}

impl Resend {
    /// How long one sending takes at most until the next, in milliseconds.
    pub(in crate::locks) fn round_ms(&self) -> u64 {
        self.reply_timeout_ms + self.interval_ms
    }
}

/// A client of one node that sends a command again.
pub(in crate::locks) struct Resending<E: Env> {
    env: E,
    client: Client<E>,
    resend: Resend,
}

impl<E: Env> Resending<E> {
    /// A client of `node`, not connected yet.
    pub(in crate::locks) fn new(env: E, node: Name, resend: Resend) -> Self {
        let limit = Duration::from_millis(resend.reply_timeout_ms);
        Self {
            client: Client::new(env.clone(), node, Some(limit)),
            env,
            resend,
        }
    }

    /// The client that sends once.
    pub(in crate::locks) fn once(&self) -> &Client<E> {
        &self.client
    }

    /// Runs a script, sending it again where no reply comes.
    ///
    /// # Errors
    /// The last; or [`Error::Unanswered`] if any sending was not answered, since what is
    /// not known of one is not known of all.
    pub(in crate::locks) async fn run(
        &self,
        script: &Script,
        keys: &[&str],
        arguments: &[&str],
    ) -> Result<Reply, Error> {
        let (keys, arguments) = (bytes(keys), bytes(arguments));
        self.again(async || script.call(&self.client, &keys, &arguments).await)
            .await
    }

    /// Sends whatever `send` sends, and again where no reply comes.
    ///
    /// # Errors
    /// As [`Resending::run`].
    pub(in crate::locks) async fn again<T>(
        &self,
        send: impl AsyncFn() -> Result<T, Error>,
    ) -> Result<T, Error> {
        // The first sending of which nothing is known.
        let mut in_doubt = None;
        let mut left = self.resend.times;
        loop {
            let error = match send().await {
                Ok(reply) => return Ok(reply),
                Err(error) => error,
            };
            let is_final = left == 0 || matches!(error, Error::Refused { .. });
            if is_final {
                return Err(in_doubt.unwrap_or(error));
            }
            if error.may_have_happened() {
                in_doubt.get_or_insert(error);
            }
            left -= 1;
            self.env
                .sleep(Duration::from_millis(self.resend.interval_ms))
                .await;
        }
    }
}

/// Words as bytes, as a command has them.
pub(in crate::locks) fn bytes<'w>(words: &[&'w str]) -> Vec<&'w [u8]> {
    words.iter().map(|word| word.as_bytes()).collect()
}
