//! Bytes that are invalid or barely valid requests, each on a connection of its own.

use crate::data::raw_lines;
use crate::pair::Pair;
use crate::versions;
use crate::wire::Likeness;

/// Sends the bytes of each line of a file.
fn check(pair: &mut Pair, file: &str) {
    let lines = raw_lines(file).into_iter();
    let failures: Vec<String> = lines
        .filter_map(|bytes| pair.compare_raw(&bytes).err())
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn malformed_requests() {
    if versions::skips_test() {
        return;
    }
    check(&mut Pair::start(0), include_str!("raw/malformed.txt"));
}

#[test]
fn clients_that_are_not_authenticated_send_short_requests() {
    let mut pair = Pair::start(1);
    let password: &[&[u8]] = &[b"CONFIG", b"SET", b"requirepass", b"pw"];
    pair.compare(0, password, Likeness::Bytes)
        .expect("a password can be set");
    check(&mut pair, include_str!("raw/not_authenticated.txt"));
}
