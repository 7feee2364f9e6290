//! The counters of INFO: calls, errors and synchronisations.
//!
//! Times are not counted: no command takes any.

use std::fmt::Write as _;

use locklab_vecmap::VecMap;

use super::command::{Call, Command, Context};
pub(super) use super::state::stats::{Calls, Stats};
use crate::wire::reply::{Error, Reply};

/// How many different errors of one script are remembered.
const MAX_OF_SCRIPT: usize = 32;

impl Stats {
    /// Prepares the counters for a call.
    pub(super) fn begin(&mut self, command: &Command) {
        self.seen = self.error_replies;
        if !self.of_script.is_empty() && command.runs_script() {
            self.of_script.clear();
        }
    }

    /// Counts a call with this reply.
    pub(super) fn end(&mut self, command: &Command, context: Context, reply: &Reply) {
        self.commands_processed += 1;
        let mut failed = match reply {
            Reply::Error(_) | Reply::Array(_) | Reply::Set(_) | Reply::Map(_) => {
                self.count_errors(command, context, reply)
            }
            _ => 0,
        };
        failed += u64::from(self.error_replies > self.seen);
        self.seen = self.error_replies;
        let calls = self.calls(command.name);
        calls.done += 1;
        calls.failed += failed;
    }

    fn calls(&mut self, name: &'static str) -> &mut Calls {
        let entry = self.commands.entry((name.as_ptr().addr(), name.len()));
        let (_, calls) = entry.or_insert_with(|| (name, Calls::default()));
        calls
    }

    /// Counts the errors in a reply; returns how many of them a command gave the script.
    fn count_errors(&mut self, command: &Command, context: Context, reply: &Reply) -> u64 {
        let runs_script = command.runs_script();
        let mut errors = Vec::new();
        errors_in(reply, runs_script, &mut errors);
        let mut of_script = 0;
        for error in errors {
            if runs_script && self.is_of_script(error) {
                // It was counted when the script got it.
                of_script += 1;
            } else {
                self.count_error(error);
            }
            if context == Context::Script {
                self.remember(error);
            }
        }
        of_script
    }

    /// Counts a request, or a script's call, that was refused before the command, if it exists, was
    /// called.
    pub(super) fn reject(&mut self, command: Option<&Command>, error: &Error) {
        self.count_error(error);
        self.seen = self.error_replies;
        if let Some(command) = command {
            self.calls(command.name).rejected += 1;
        }
    }

    /// A script's call of a command was refused.
    pub(super) fn reject_in_script(&mut self, command: Option<&Command>, error: &Error) {
        self.reject(command, error);
        self.remember(error);
    }

    /// A client that waited in this command got an error.
    pub(super) fn fail_waiting(&mut self, command: &'static str, error: &Error) {
        self.count_error(error);
        self.calls(command).failed += 1;
    }

    /// Counts an error reply (`afterErrorReply`).
    pub(super) fn count_error(&mut self, error: &Error) {
        self.error_replies += 1;
        *self.errors.entry(code(error)).or_default() += 1;
    }

    fn remember(&mut self, error: &Error) {
        if self.of_script.len() < MAX_OF_SCRIPT && !self.of_script.contains(error) {
            self.of_script.push(error.clone());
        }
    }

    /// Whether an error in a script's reply is one that a command gave it. Redis marks those; here
    /// they are known by their texts.
    fn is_of_script(&self, error: &Error) -> bool {
        self.of_script.iter().any(|known| {
            let rest = error.text().strip_prefix(known.text());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b" script: "))
        })
    }

    /// The lines of the section `Commandstats`.
    pub(super) fn describe_commands(&self) -> String {
        let mut text = String::new();
        let by_name: VecMap<_, _> = self.commands.values().map(|it| (it.0, &it.1)).collect();
        for (name, calls) in by_name {
            let _ = write!(
                text,
                "cmdstat_{name}:calls={},usec=0,usec_per_call=0.00,rejected_calls={},\
                 failed_calls={}\r\n",
                calls.done, calls.rejected, calls.failed
            );
        }
        text
    }

    /// The lines of the section `Errorstats`.
    pub(super) fn describe_errors(&self) -> String {
        let mut text = String::new();
        for (code, count) in &self.errors {
            let _ = write!(text, "errorstat_{code}:count={count}\r\n");
        }
        text
    }
}

/// The code of an error: its first word, if that is short; without the characters that have a
/// meaning in INFO.
fn code(error: &Error) -> String {
    const MAX_BYTES: usize = 30;
    let text = error.text();
    let end = text.iter().take(MAX_BYTES + 1).position(|b| *b == b' ');
    let code = end.map_or(&b"ERR"[..], |end| &text[..end]);
    String::from_utf8_lossy(code).replace(['#', ':', '\n', '\r'], "_")
}

/// The errors in a reply. Only a script's has some inside of it.
fn errors_in<'a>(reply: &'a Reply, deep: bool, found: &mut Vec<&'a Error>) {
    match reply {
        Reply::Error(error) => found.push(error),
        Reply::Array(items) | Reply::Set(items) if deep => {
            for item in items {
                errors_in(item, deep, found);
            }
        }
        Reply::Map(pairs) if deep => {
            for (key, value) in pairs {
                errors_in(key, deep, found);
                errors_in(value, deep, found);
            }
        }
        _ => {}
    }
}

impl Call<'_> {
    /// Refuses a script's call of a command.
    pub(super) fn refuse_in_script(&mut self, command: Option<&Command>, error: Error) -> Reply {
        self.state.stats.reject_in_script(command, &error);
        error.into()
    }
}
