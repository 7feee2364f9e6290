//! A client that gets events of its own changes, in RESP3: which events come before the reply
//! of the command that caused them, and which after it.

use super::check;
use crate::cases_in;

/// The first connection subscribes to its own events.
#[test]
fn own_events() {
    let listens = "CONFIG SET notify-keyspace-events EAn
         DEBUG SET-ACTIVE-EXPIRE 0
         ~HELLO 3
         PSUBSCRIBE __key*";
    let ends = "2: DEBUG SET-ACTIVE-EXPIRE 1";
    let talks = cases_in(include_str!("own_events.txt"));
    let talks: Vec<String> = talks
        .into_iter()
        .map(|talk| format!("{listens}\n{talk}\n{ends}"))
        .collect();
    check(&talks.iter().map(String::as_str).collect::<Vec<_>>());
}
