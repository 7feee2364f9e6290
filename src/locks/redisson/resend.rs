//! Retransmission of a command whose reply does not come.
//!
//! Redisson does so with every command, including the scripts that acquire and release a lock,
//! although running these twice differs from running them once. In release 3.23.5 a reply may
//! take 3 s; 1.5 s later the command is sent again on another connection, three times at most.
//! The first transmission may still be executed. So a scenario's `client.resend` does not apply.

use locklab_env::redis::{Client, Error, Reply, Script};
use locklab_env::{Duration, Env};
use locklab_history::Name;

/// How long to wait, and how often to retransmit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Resend {
    /// How often a command is retransmitted.
    pub times: u32,
    /// How long to wait for a reply, including the connection, in milliseconds.
    pub reply_timeout_ms: u64,
    /// The pause before the retransmission, in milliseconds.
    pub interval_ms: u64,
}

impl Resend {
    /// The longest time from one transmission to the next, in milliseconds.
    pub(crate) fn round_ms(&self) -> u64 {
        self.reply_timeout_ms + self.interval_ms
    }
}

/// A client of one node that retransmits commands.
pub(crate) struct Resending<E: Env> {
    env: E,
    client: Client<E>,
    resend: Resend,
}

impl<E: Env> Resending<E> {
    /// A client of `node`, not connected yet.
    pub(crate) fn new(env: E, node: Name, resend: Resend) -> Self {
        let limit = Duration::from_millis(resend.reply_timeout_ms);
        Self {
            client: Client::new(env.clone(), node, Some(limit)).sending_once(),
            env,
            resend,
        }
    }

    /// The client that sends a command once.
    pub(crate) fn once(&self) -> &Client<E> {
        &self.client
    }

    /// Runs a script, retransmits it when no reply comes, and converts its reply with `read`.
    ///
    /// # Errors
    /// The last error; or [`Error::Unanswered`] if any transmission was not answered, since the
    /// command may then have been executed.
    pub(crate) async fn run<T>(
        &self,
        script: &Script,
        keys: &[&str],
        arguments: &[&str],
        read: fn(&Reply) -> Option<T>,
    ) -> Result<T, Error> {
        let (keys, arguments) = (bytes(keys), bytes(arguments));
        self.again(async || script.ask(&self.client, &keys, &arguments, read).await)
            .await
    }

    /// Calls `send`, and calls it again when no reply comes.
    ///
    /// # Errors
    /// As [`Resending::run`].
    pub(crate) async fn again<T>(
        &self,
        send: impl AsyncFn() -> Result<T, Error>,
    ) -> Result<T, Error> {
        // The first transmission whose outcome is unknown.
        let mut in_doubt = None;
        let mut left = self.resend.times;
        loop {
            let error = match send().await {
                Ok(reply) => return Ok(reply),
                Err(error) => error,
            };
            let is_answer = matches!(error, Error::Refused { .. } | Error::Unexpected { .. });
            if left == 0 || is_answer {
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
pub(crate) fn bytes<'w>(words: &[&'w str]) -> Vec<&'w [u8]> {
    words.iter().map(|word| word.as_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use futures_util::FutureExt;

    use super::*;
    use locklab_env::noop::NoopEnv;

    /// The result of a command with these answers, one for each transmission; and how many
    /// milliseconds the client waits between them.
    fn check(answers: &[&str], expected: &str, expected_ms: u128) {
        let env = NoopEnv::default();
        let resend = Resend {
            times: 2,
            reply_timeout_ms: 3_000,
            interval_ms: 1_500,
        };
        let client = Resending::new(env.clone(), "n1".into(), resend);
        let sent = Cell::new(0);
        let send = async || {
            let answer = answers[sent.replace(sent.get() + 1)];
            let (node, why) = (Name::from("n1"), String::new());
            match answer {
                "done" => Ok(()),
                "refused" => Err(Error::Refused { node, text: why }),
                "not sent" => Err(Error::NotSent { node, why }),
                _ => Err(Error::Unanswered { node, why }),
            }
        };
        let result = client.again(send).now_or_never();
        let outcome = match result.expect("nothing to wait for") {
            Ok(()) => "done",
            Err(Error::Refused { .. }) => "refused",
            Err(Error::NotSent { .. }) => "not sent",
            Err(Error::Unanswered { .. } | Error::Unexpected { .. }) => "unknown",
        };
        assert_eq!(outcome, expected, "{answers:?}");
        assert_eq!(sent.get(), answers.len(), "{answers:?}");
        assert_eq!(env.slept.get().as_millis(), expected_ms, "{answers:?}");
    }

    #[test]
    fn one_unanswered_transmission_makes_the_outcome_unknown() {
        check(&["done"], "done", 0);
        check(&["unknown", "done"], "done", 1_500);
        check(&["not sent", "not sent", "not sent"], "not sent", 3_000);
        check(&["unknown", "not sent", "not sent"], "unknown", 3_000);
        check(&["not sent", "unknown", "not sent"], "unknown", 3_000);
    }

    #[test]
    fn refused_command_is_not_retransmitted() {
        check(&["refused"], "refused", 0);
        check(&["not sent", "refused"], "refused", 1_500);
        check(&["unknown", "refused"], "unknown", 1_500);
    }
}
