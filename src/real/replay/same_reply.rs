//! When two replies count as the same.

use bytes::Bytes;
use locklab_values::untrusted::line;

/// The commands whose replies speak of the server and its connections, and not of its keys.
const APART: [&str; 5] = ["CLIENT", "COMMAND", "HELLO", "INFO", "TIME"];

/// Whether a command speaks of the server and its connections, and not of its keys.
pub(super) fn is_apart(words: &[Bytes]) -> bool {
    let command = words
        .first()
        .map(|word| String::from_utf8_lossy(word).to_ascii_uppercase());
    command.is_some_and(|command| APART.contains(&&*command))
}

/// As [`same_start`], for the replies to these commands. Those that do not speak of keys may differ.
pub(super) fn same_replies(commands: &[Vec<Bytes>], real: &[u8], repeated: &[u8]) -> Option<usize> {
    let replies = values(repeated);
    if replies.len() != commands.len() || !commands.iter().any(|words| is_apart(words)) {
        return same_start(real, repeated);
    }
    let mut used = 0;
    for (words, reply) in commands.iter().zip(replies) {
        let rest = &real[used..];
        used += match is_apart(words) {
            // The server did not get to send the rest of it.
            true => value_length(rest).unwrap_or(rest.len()),
            false => same_start(rest, reply)?,
        };
    }
    Some(used)
}

/// The first of the replies to these commands that are not the same, as texts.
pub(super) fn first_difference(
    commands: &[Vec<Bytes>],
    mut real: &[u8],
    mut repeated: &[u8],
) -> (String, String) {
    let mut commands = commands.iter();
    while let (Some(one), Some(other)) = (value_length(real), value_length(repeated)) {
        let may_differ = commands.next().is_some_and(|words| is_apart(words));
        if !may_differ && same_start(&real[..one], &repeated[..other]).is_none() {
            break;
        }
        (real, repeated) = (&real[one..], &repeated[other..]);
    }
    (first_reply(real), first_reply(repeated))
}

/// The first value of these bytes, as a text of one line.
pub(super) fn first_reply(bytes: &[u8]) -> String {
    let first = &bytes[..value_length(bytes).unwrap_or(bytes.len())];
    line(String::from_utf8_lossy(first).trim_end())
}

/// The whole values that these bytes begin with.
fn values(mut bytes: &[u8]) -> Vec<&[u8]> {
    let mut values = Vec::new();
    while let Some(length) = value_length(bytes) {
        let (value, rest) = bytes.split_at(length);
        values.push(value);
        bytes = rest;
    }
    values
}

/// How many bytes the first value of Redis's protocol has; `None` if it is not whole.
fn value_length(bytes: &[u8]) -> Option<usize> {
    let mut used = 0;
    let mut missing = 1_u64;
    while missing > 0 {
        let rest = &bytes[used..];
        let line = rest.iter().position(|byte| *byte == b'\n')? + 1;
        let number = || {
            let text = std::str::from_utf8(&rest[1..line]).ok()?;
            text.trim_end().parse::<i64>().ok()
        };
        missing -= 1;
        used += line;
        match rest[0] {
            b'$' | b'=' | b'!' => {
                if let Ok(length) = usize::try_from(number()?) {
                    used += length + 2;
                }
            }
            b'*' | b'~' | b'>' => missing += u64::try_from(number()?).unwrap_or(0),
            b'%' => missing += 2 * u64::try_from(number()?).unwrap_or(0),
            b'|' => missing += 2 * u64::try_from(number()?).unwrap_or(0) + 1,
            _ => {}
        }
        if used > bytes.len() {
            return None;
        }
    }
    Some(used)
}

/// By how many milliseconds remaining times may differ.
const APART_MS: u64 = 5;

/// Whether `repeated` is what `real` begins with; returns its length there. What the real server did
/// not get to send counts as the same.
///
/// Integers from ten on, or below -2, may differ by five: they may be milliseconds that are left of a
/// lease, or have passed since. Others, such as the number of deleted keys, may not.
pub(super) fn same_start(real: &[u8], repeated: &[u8]) -> Option<usize> {
    let mut used = 0;
    for line in repeated.split_inclusive(|byte| *byte == b'\n') {
        let rest = &real[used..];
        if rest.is_empty() {
            break;
        }
        if rest.starts_with(line) {
            used += line.len();
            continue;
        }
        if line.starts_with(rest) {
            return Some(real.len());
        }
        let length = rest.iter().position(|byte| *byte == b'\n')? + 1;
        let (one, other) = (integer(&rest[..length])?, integer(line)?);
        if !(may_be_time(one) && may_be_time(other) && one.abs_diff(other) <= APART_MS) {
            return None;
        }
        used += length;
    }
    Some(used)
}

/// Whether an integer may be a remaining time in milliseconds. -1 and -2 say that there is none.
fn may_be_time(value: i64) -> bool {
    !(-2..10).contains(&value)
}

/// The value of a line `:1234`.
fn integer(line: &[u8]) -> Option<i64> {
    std::str::from_utf8(line.strip_prefix(b":")?)
        .ok()?
        .trim_end()
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use std::slice;

    use bytes::Bytes;

    use super::{first_difference, same_replies, same_start, value_length};

    #[test]
    fn a_value_has_all_its_parts() {
        let check = |bytes: &str, expected| {
            assert_eq!(value_length(bytes.as_bytes()), expected, "{bytes:?}")
        };
        check("+OK\r\n:1\r\n", Some(5));
        check("$5\r\nhello\r\n+OK\r\n", Some(11));
        check("$5\r\nhel", None);
        check("$-1\r\n", Some(5));
        check("*2\r\n:1\r\n*1\r\n$1\r\na\r\n+OK\r\n", Some(19));
        check("%1\r\n+id\r\n:5\r\n", Some(13));
        check("%1\r\n+id\r\n", None);
        check("", None);
    }

    #[test]
    fn what_a_server_says_of_itself_may_differ() {
        let commands = |all: &[&str]| -> Vec<Vec<Bytes>> {
            let words = |words: &&str| words.split(' ').map(|it| it.to_owned().into()).collect();
            all.iter().map(words).collect()
        };
        let check = |all: &[&str], real: &str, repeated: &str, expected| {
            let same = same_replies(&commands(all), real.as_bytes(), repeated.as_bytes());
            assert_eq!(same, expected, "{all:?} {real:?} {repeated:?}");
        };
        check(
            &["hello 3"],
            "%1\r\n+id\r\n:5\r\n+OK\r\n",
            "%1\r\n+id\r\n:1\r\n",
            Some(13),
        );
        check(
            &["CLIENT ID", "GET a"],
            ":5\r\n$1\r\n1\r\n",
            ":1\r\n$1\r\n1\r\n",
            Some(11),
        );
        check(
            &["CLIENT ID", "GET a"],
            ":5\r\n$1\r\n2\r\n",
            ":1\r\n$1\r\n1\r\n",
            None,
        );
        check(&["GET a"], "$1\r\n2\r\n", "$1\r\n1\r\n", None);
    }

    #[test]
    fn replies_that_are_the_same() {
        let check = |real: &str, repeated: &str, expected| {
            let same = same_start(real.as_bytes(), repeated.as_bytes());
            assert_eq!(same, expected, "{real:?} {repeated:?}");
        };
        check("+OK\r\n:1\r\n", "+OK\r\n", Some(5));
        check("$-1\r\n", "+OK\r\n", None);
        check(":1\r\n", ":0\r\n", None);
        check(":970\r\n+OK\r\n", ":969\r\n", Some(6));
        check(":1001\r\n", ":998\r\n", Some(7));
        check(":970\r\n", ":950\r\n", None);
        check(":-5\r\n", ":-4\r\n", Some(5));
        check(":-1\r\n", ":-2\r\n", None);
        // The server died, or its client had gone.
        check("", "+OK\r\n", Some(0));
        check("$5\r\nhe", "$5\r\nhello\r\n", Some(6));
    }

    #[test]
    fn the_first_replies_that_differ_are_told() {
        let get = vec![Bytes::from_static(b"GET")];
        let info = vec![Bytes::from_static(b"INFO")];
        let check = |commands: &[Vec<Bytes>], real: &str, repeated: &str, expected: [&str; 2]| {
            let told = first_difference(commands, real.as_bytes(), repeated.as_bytes());
            assert_eq!(told, (expected[0].to_owned(), expected[1].to_owned()));
        };
        let both = [get.clone(), get.clone()];
        check(
            &both,
            ":1\r\n$1\r\na\r\n:9\r\n",
            ":1\r\n$-1\r\n",
            ["$1\\r\\na", "$-1"],
        );
        // What another request is answered is no part of it.
        check(
            slice::from_ref(&get),
            ":1\r\n:2\r\n",
            ":3\r\n",
            [":1", ":3"],
        );
        check(&[info, get], ":1\r\n:2\r\n", ":3\r\n:4\r\n", [":2", ":4"]);
    }
}
