//! Client-side caching.

use super::check;

#[test]
fn keys_read_before_are_forgotten_while_no_client_is_tracked() {
    for (meanwhile, then) in [
        ("FLUSHALL", "2: SET k 1"),
        ("FLUSHDB", "2: SET k 1"),
        ("2: SET k 1", "2: SET k 2"),
        ("PING", "2: SET k 2"),
    ] {
        check(&[&format!(
            "~HELLO 3
             CLIENT TRACKING on
             GET k
             CLIENT TRACKING off
             {meanwhile}
             CLIENT TRACKING on
             {then}"
        )]);
    }
}
