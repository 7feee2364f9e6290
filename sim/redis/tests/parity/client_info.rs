//! What CLIENT INFO and CLIENT LIST say about a client's state.

use crate::pair::Pair;
use crate::versions;

/// The fields that do not depend on a process, its memory or its clock.
const FIELDS: [&str; 11] = [
    "name", "flags", "db", "sub", "psub", "ssub", "multi", "cmd", "user", "redir", "resp",
];

/// Sends lines on the first connection, or on the second if they start with `2:`. The replies have
/// to be the same, except for the other fields of a client.
fn check(cases: &[&str]) {
    if versions::skips_test() {
        return;
    }
    let mut pair = Pair::start(2);
    let mut failures = Vec::new();
    for case in cases {
        pair.clear();
        for line in case.lines().map(str::trim) {
            let (connection, request) = match line.strip_prefix("2:") {
                Some(request) => (1, request),
                None => (0, line),
            };
            let words: Vec<&[u8]> = request.split_whitespace().map(str::as_bytes).collect();
            let (real, fake) = pair.replies(connection, &words);
            let (real, fake) = (states(&real), states(&fake));
            if real != fake {
                failures.push(format!("{line}\n  real: {real:?}\n  fake: {fake:?}"));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// The lines of a reply, without lengths, and with these fields only. Unnamed clients are left out:
/// one of them asks the real server for its time.
fn states(reply: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(reply);
    let lines = text.split_inclusive('\n').filter(|line| {
        let is_unnamed = line.starts_with("id=") && line.contains(" name= ");
        !line.starts_with('$') && !is_unnamed
    });
    let chosen = |line: &str| {
        if !line.starts_with("id=") {
            return line.to_owned();
        }
        let end = line.trim_start_matches(|c| c != '\r' && c != '\n');
        let fields = line.split_whitespace().filter(|field| {
            let name = field.split('=').next();
            name.is_some_and(|name| FIELDS.contains(&name))
        });
        fields.collect::<Vec<_>>().join(" ") + end
    };
    lines.map(chosen).collect()
}

#[test]
fn own_line_ends_and_shows_the_running_command() {
    check(&["CLIENT SETNAME a
         CLIENT INFO
         SELECT 3
         CLIENT INFO
         CLIENT LIST"]);
}

#[test]
fn transaction_shows_its_length_until_it_has_ended() {
    check(&["CLIENT SETNAME a
         2:CLIENT SETNAME b
         MULTI
         2:CLIENT LIST
         PING
         2:CLIENT LIST
         CLIENT INFO
         NOPE
         2:CLIENT LIST
         DISCARD
         CLIENT INFO
         MULTI
         CLIENT INFO
         CLIENT LIST
         PING
         EXEC
         CLIENT INFO"]);
}

#[test]
fn client_whose_watched_key_changed_is_marked() {
    check(&[
        "CLIENT SETNAME a
         2:CLIENT SETNAME b
         WATCH k
         2:CLIENT LIST
         2:SET k 1
         2:CLIENT LIST
         CLIENT TRACKING on
         CLIENT INFO
         MULTI
         PING
         2:CLIENT LIST
         EXEC
         CLIENT INFO",
        "CLIENT SETNAME a
         WATCH k
         SET k 1
         CLIENT INFO
         UNWATCH
         CLIENT INFO
         WATCH k
         SET k 1
         MULTI
         DISCARD
         CLIENT INFO
         WATCH k l
         SELECT 1
         SET k 1
         CLIENT INFO
         FLUSHALL
         CLIENT INFO",
    ]);
}
