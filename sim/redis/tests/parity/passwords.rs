//! Passwords and names that are bytes, and no text.

use crate::pair::Pair;
use crate::wire::Likeness;

fn check(requests: &[(usize, &[&[u8]])]) {
    let mut pair = Pair::start(3);
    let replies = requests
        .iter()
        .map(|(connection, words)| pair.compare(*connection, words, Likeness::Bytes));
    let failures: Vec<String> = replies.filter_map(Result::err).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

const PASSWORDS: [&[u8]; 4] = [b"abc\xff", b"\xff\xfe", b"a\0b", "caf\u{e9}".as_bytes()];

#[test]
fn parameters_keep_their_bytes() {
    let names: [&[u8]; 3] = [b"masterauth", b"masteruser", b"replica-announce-ip"];
    for name in names {
        for value in PASSWORDS {
            check(&[
                (0, &[b"CONFIG", b"SET", name, value]),
                (0, &[b"CONFIG", b"GET", name]),
                (0, &[b"CONFIG", b"SET", name, b""]),
                (0, &[b"CONFIG", b"GET", name]),
            ]);
        }
    }
}

#[test]
fn password_is_compared_byte_by_byte() {
    for password in PASSWORDS {
        let shown = String::from_utf8_lossy(password).into_owned();
        let other: &[u8] = match shown.as_bytes() == password {
            true => b"caf",
            false => shown.as_bytes(),
        };
        check(&[
            (0, &[b"CONFIG", b"SET", b"requirepass", password]),
            (0, &[b"CONFIG", b"GET", b"requirepass"]),
            (1, &[b"RESET"]),
            (1, &[b"AUTH", other]),
            (1, &[b"PING"]),
            (2, &[b"RESET"]),
            (2, &[b"AUTH", password]),
            (2, &[b"PING"]),
            (0, &[b"CONFIG", b"SET", b"requirepass", b""]),
        ]);
    }
}
