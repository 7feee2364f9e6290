//! The behaviour of the fake node as its clock advances: expiry, which a comparison with a
//! real server could only check by waiting.

use locklab_redis::{Effect, Node, NodeConfig};

/// Sends inline commands on one connection of a new node, each at a time in
/// milliseconds since the Unix epoch, and compares the raw replies.
fn check(steps: &[(u64, &str, &str)]) {
    let mut node = Node::new(NodeConfig::default());
    let conn = node.accept();
    for (now_ms, command, expected) in steps {
        let mut effects = Vec::new();
        let line = format!("{command}\r\n");
        node.receive(conn, line.as_bytes(), now_ms * 1000, &mut effects);
        let [Effect::Send { bytes, .. }] = &effects[..] else {
            panic!("{command}: {effects:?}");
        };
        let reply = String::from_utf8_lossy(bytes);
        assert_eq!(reply, format!("{expected}\r\n"), "{command} at {now_ms} ms");
    }
}

#[test]
fn a_key_expires_in_the_millisecond_after_its_time() {
    check(&[
        (1000, "SET k v PX 50", "+OK"),
        (1050, "PTTL k", ":0"),
        (1050, "GET k", "$1\r\nv"),
        (1051, "PTTL k", ":-2"),
        (1051, "GET k", "$-1"),
    ]);
}

#[test]
fn set_nx_finds_an_expired_key_absent() {
    check(&[
        (1000, "SET k v NX PX 50", "+OK"),
        (1050, "SET k w NX PX 50", "$-1"),
        (1051, "SET k w NX PX 50", "+OK"),
        (1101, "DEL k", ":1"),
        (1101, "SETNX k v", ":1"),
    ]);
}

#[test]
fn every_access_finds_an_expired_key_absent() {
    for (command, reply) in [
        ("GET k", "$-1"),
        ("GETDEL k", "$-1"),
        ("GETSET k w", "$-1"),
        ("DEL k", ":0"),
        ("UNLINK k", ":0"),
        ("EXISTS k", ":0"),
        ("EXPIRE k 10", ":0"),
        ("PERSIST k", ":0"),
        ("TTL k", ":-2"),
        ("INCR k", ":1"),
        ("SET k w XX", "$-1"),
        ("SETNX k w", ":1"),
        ("SET k w GET", "$-1"),
    ] {
        check(&[(1000, "SET k 7 PX 50", "+OK"), (1051, command, reply)]);
    }
}

#[test]
fn a_clock_that_steps_back_extends_a_key() {
    check(&[
        (1000, "SET k v PX 50", "+OK"),
        (500, "PTTL k", ":550"),
        (500, "SET k w NX", "$-1"),
        (1049, "GET k", "$1\r\nv"),
    ]);
}

#[test]
fn a_clock_that_steps_forward_expires_a_key_early() {
    check(&[
        (1000, "SET k v PX 30000", "+OK"),
        (100_000, "EXISTS k", ":0"),
        // The key is deleted for good, although the clock is right again.
        (1001, "EXISTS k", ":0"),
    ]);
}

#[test]
fn ttl_rounds_to_the_nearest_second() {
    check(&[
        (1000, "SET k v PX 2500", "+OK"),
        (1000, "TTL k", ":3"),
        (1001, "TTL k", ":2"),
        (2000, "TTL k", ":2"),
        (2001, "TTL k", ":1"),
        (3001, "TTL k", ":0"),
    ]);
}

#[test]
fn expiry_that_is_not_in_the_future_deletes_the_key() {
    check(&[
        (1000, "SET k v", "+OK"),
        (1000, "PEXPIREAT k 1000", ":1"),
        (1000, "DBSIZE", ":0"),
        (1000, "SET k v", "+OK"),
        (1000, "PEXPIREAT k 1001", ":1"),
        (1000, "DBSIZE", ":1"),
    ]);
}

#[test]
fn dbsize_counts_expired_keys_until_they_are_accessed() {
    check(&[
        (1000, "DEBUG SET-ACTIVE-EXPIRE 0", "+OK"),
        (1000, "SET k v PX 50", "+OK"),
        (2000, "DBSIZE", ":1"),
        (2000, "EXISTS k", ":0"),
        (2000, "DBSIZE", ":0"),
    ]);
}

#[test]
fn options_that_keep_the_time_keep_it_to_the_millisecond() {
    check(&[
        (1000, "SET k 1 PX 100", "+OK"),
        (1010, "SET k 2 KEEPTTL", "+OK"),
        (1020, "INCR k", ":3"),
        (1030, "PTTL k", ":70"),
        (1040, "SET k 1", "+OK"),
        (1040, "PTTL k", ":-1"),
    ]);
}

#[test]
fn a_watched_key_that_expires_stops_exec() {
    check(&[
        (1000, "SET k v PX 50", "+OK"),
        (1000, "WATCH k", "+OK"),
        (1050, "MULTI", "+OK"),
        (1050, "EXEC", "*0"),
        (1050, "WATCH k", "+OK"),
        (1050, "MULTI", "+OK"),
        (1051, "EXEC", "*-1"),
    ]);
}

#[test]
fn a_key_that_had_expired_when_it_was_watched_does_not_stop_exec() {
    check(&[
        (1000, "SET k v PX 50", "+OK"),
        (1051, "WATCH k", "+OK"),
        (1051, "GET k", "$-1"),
        (1051, "MULTI", "+OK"),
        (1051, "EXEC", "*0"),
    ]);
}

#[test]
fn time_is_the_clock_that_was_handed_in() {
    check(&[(1_234_567, "TIME", "*2\r\n$4\r\n1234\r\n$6\r\n567000")]);
}
