//! Command sequences, one request per line, that both servers must answer alike.
//!
//! A line is a request on the first connection, or on the second if it starts
//! with `2:`. A line that starts with `~` compares the shapes of the replies only,
//! and one with `≈` lets integers differ by two seconds in milliseconds.
//! One with `?` compares arrays as if they were sorted. `sleep N` waits N milliseconds.

mod encodings;
mod malformed;
mod server;

use std::time::Duration;

use crate::pair::Pair;
use crate::requests;
use crate::wire::Likeness;

files!("cases": databases, diagnostics, encodings, expiry, hashes, keys, lists, scripting, server, sets, strings, transactions, zsets);

fn check(cases: &[&str]) {
    let mut pair = Pair::start(2);
    let mut failures = Vec::new();
    for case in cases {
        pair.clear();
        for line in requests(case) {
            if let Some(ms) = line.strip_prefix("sleep ") {
                let ms = ms.parse().expect("a line `sleep N` has a number");
                pair.pass(Duration::from_millis(ms));
                continue;
            }
            let (connection, line) = match line.strip_prefix("2:") {
                Some(line) => (1, line.trim()),
                None => (0, line),
            };
            let (likeness, line) = if let Some(line) = line.strip_prefix('~') {
                (Likeness::Shape, line)
            } else if let Some(line) = line.strip_prefix('?') {
                (Likeness::Sorted, line)
            } else if let Some(line) = line.strip_prefix('≈') {
                (Likeness::Within(2000), line)
            } else {
                (Likeness::Bytes, line)
            };
            let words: Vec<&[u8]> = line.split_whitespace().map(word).collect();
            if let Err(difference) = pair.compare(connection, &words, likeness) {
                failures.push(format!("{difference}\n  in: {}", case.trim()));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// `''` is the empty word.
fn word(text: &str) -> &[u8] {
    match text {
        "''" => b"",
        other => other.as_bytes(),
    }
}
