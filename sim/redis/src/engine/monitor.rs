//! MONITOR: sends every call of a command to monitors (`replicationFeedMonitors` of
//! `src/replication.c`).
//!
//! A call is shown after it ends, after its reply and its notifications; a call of a script when it
//! begins, before the script's calls. Commands for administrators and passwords are not shown.
//! Redis treats a monitor as a replica in two ways: it is exempt from pauses, and may not touch the
//! keyspace. Its output counts as that of any other client.

use std::fmt::Write as _;

use super::command::{Call, Command, Context, Flag};
use super::state::State;
use super::state::session::valid_name;
use crate::wire::number::parse_i64;
use crate::wire::reply::Reply;

/// Prepares for a call of a command.
pub(super) fn begin(call: &mut Call<'_>, command: &Command) {
    if is_shown(call, command) && command.runs_script() {
        let line = line(call, command);
        feed_monitors(call.state, &line);
    }
}

/// Handles the end of a call, before its reply.
pub(super) fn end(call: &mut Call<'_>, command: &Command) {
    if !is_shown(call, command) || command.runs_script() {
        return;
    }
    let line = line(call, command);
    match call.context {
        Context::Script => feed_monitors(call.state, &line),
        Context::Direct | Context::Transaction => call.state.monitors.after_reply.push(line),
    }
}

/// Handles the end of a call, after its reply.
pub(super) fn after_reply(state: &mut State) {
    for line in std::mem::take(&mut state.monitors.after_reply) {
        feed_monitors(state, &line);
    }
}

fn is_shown(call: &Call<'_>, command: &Command) -> bool {
    let state = &*call.state;
    !state.monitors.clients.is_empty() && !state.loading && !command.has(Flag::Admin)
}

fn feed_monitors(state: &mut State, line: &str) {
    for id in state.monitors.clients.clone() {
        if let Some(session) = state.mark_dirty(id)
            && session.may_answer()
        {
            session.push(&Reply::Status(line.to_owned().into()));
        }
    }
}

/// The time, the caller, and the words of a call.
fn line(call: &mut Call<'_>, command: &Command) -> String {
    let (seconds, micros) = (call.wall_us / 1_000_000, call.wall_us % 1_000_000);
    let caller = match call.context {
        Context::Script => "lua".to_owned(),
        Context::Direct | Context::Transaction => call.session().addresses.peer.to_string(),
    };
    let db = call.state.db.selected();
    let mut line = format!("{seconds}.{micros:06} [{db} {caller}]");
    let secret = secrets(command, call.args);
    for (index, word) in call.args.iter().enumerate() {
        line.push(' ');
        match secret.contains(&index) {
            true => quote(b"(redacted)", &mut line),
            false => quote(word, &mut line),
        }
    }
    line
}

/// `sdscatrepr` of `src/sds.c`.
fn quote(word: &[u8], line: &mut String) {
    line.push('"');
    for byte in word {
        match byte {
            b'\\' | b'"' => {
                line.push('\\');
                line.push(char::from(*byte));
            }
            b'\n' => line.push_str("\\n"),
            b'\r' => line.push_str("\\r"),
            b'\t' => line.push_str("\\t"),
            7 => line.push_str("\\a"),
            8 => line.push_str("\\b"),
            b' '..=b'~' => line.push(char::from(*byte)),
            other => {
                let _ = write!(line, "\\x{other:02x}");
            }
        }
    }
    line.push('"');
}

/// The places of user names and passwords, as far as the command read its arguments.
fn secrets(command: &Command, args: &[&[u8]]) -> Vec<usize> {
    if command.has(Flag::Password) && args.len() <= 3 {
        return (1..args.len()).collect();
    }
    match command.has(Flag::PasswordOption) {
        true => secrets_of_hello(args),
        false => Vec::new(),
    }
}

fn secrets_of_hello(args: &[&[u8]]) -> Vec<usize> {
    let mut found = Vec::new();
    let version = args.get(1).and_then(|version| parse_i64(version));
    if !matches!(version, Some(2 | 3)) {
        return found;
    }
    let mut at = 2;
    while let Some(option) = args.get(at) {
        if option.eq_ignore_ascii_case(b"auth") && args.len() > at + 2 {
            found.extend([at + 1, at + 2]);
            at += 3;
        } else if option.eq_ignore_ascii_case(b"setname")
            && args
                .get(at + 1)
                .is_some_and(|name| valid_name("", name).is_ok())
        {
            at += 2;
        } else {
            break;
        }
    }
    found
}
