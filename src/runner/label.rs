//! The labels of messages in a diagram, and the commands by which steps name them.

use locklab_history::Name;

/// A RESP message as readable text: its words, without their lengths; long random words are
/// shortened.
pub fn of(payload: &[u8]) -> String {
    const LONGEST: usize = 40;
    // What the nodes of a Redis Cluster tell each other begins so.
    if payload.starts_with(b"RCmb") {
        return "(cluster bus)".to_owned();
    }
    let text = String::from_utf8_lossy(payload);
    // RESP ends lines with CR LF, so this is the inside of a script that filled several packets.
    if text
        .split("\r\n")
        .next()
        .is_some_and(|line| line.contains('\n'))
    {
        return "(more of a script)".to_owned();
    }
    let mut words = Vec::new();
    for line in text.split("\r\n") {
        match line.split_at_checked(1) {
            None | Some(("*", _)) => {}
            Some(("$", "-1")) => words.push("nil".to_owned()),
            Some(("$", _)) => {}
            Some(("+" | ":", word)) => words.push(word.to_owned()),
            Some(_) if line.contains(char::is_whitespace) && words.len() == 1 => {
                words.push("(a script)".to_owned());
            }
            Some(_) if is_random(line) => words.push(format!("{}…", &line[..4])),
            Some(_) => words.push(line.to_owned()),
        }
    }
    let mut line = words.join(" ");
    if let Some((cut, _)) = line.char_indices().nth(LONGEST) {
        line.truncate(cut);
        line.push('…');
    }
    line
}

/// Whether a word is a token or a hash.
fn is_random(word: &str) -> bool {
    word.len() >= 32 && word.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The command of a request that begins with this segment, in capitals: `*3`, `$3`, `SET`.
pub fn command(payload: &[u8]) -> Option<Name> {
    let (array, rest) = line(payload)?;
    let (bulk, rest) = line(rest)?;
    let _words = number(array, b'*')?;
    let length = number(bulk, b'$')?;
    let word = std::str::from_utf8(rest.get(..length)?).ok()?;
    let is_word = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_word.then(|| word.to_ascii_uppercase().into())
}

/// The first line, which ends with CR LF, and the rest.
fn line(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = text.windows(2).position(|two| two == b"\r\n")?;
    Some((&text[..end], &text[end + 2..]))
}

fn number(line: &[u8], sign: u8) -> Option<usize> {
    let digits = line.strip_prefix(&[sign])?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_described_by_their_words() {
        for (payload, expected) in [
            ("+OK\r\n", "OK"),
            (":1\r\n", "1"),
            ("$-1\r\n", "nil"),
            (
                "-NOSCRIPT No matching script.\r\n",
                "-NOSCRIPT No matching script.",
            ),
            (
                "*3\r\n$3\r\nSET\r\n$4\r\nlock\r\n$32\r\n00112233445566778899aabbccddeeff\r\n",
                "SET lock 0011…",
            ),
            (
                "s the last.\nredis.call('DEL', KEYS[1])\r\n$1\r\n1\r\n",
                "(more of a script)",
            ),
            ("RCmb\0\0\u{8}\u{8}\0\u{1}", "(cluster bus)"),
            (
                "*2\r\n$4\r\nEVAL\r\n$12\r\nreturn 1 + 1\r\n",
                "EVAL (a script)",
            ),
        ] {
            assert_eq!(of(payload.as_bytes()), expected);
        }
    }

    #[test]
    fn a_request_is_named_by_the_command_with_which_its_segment_begins() {
        for (payload, expected) in [
            ("*3\r\n$3\r\nset\r\n$1\r\nk\r\n$1\r\nv\r\n", Some("SET")),
            ("*1\r\n$5\r\nMULTI\r\n*1\r\n$4\r\nEXEC\r\n", Some("MULTI")),
            // Cut before the rest of its words, or within its first.
            ("*2\r\n$3\r\nGET", Some("GET")),
            ("*2\r\n$3\r\nGE", None),
            // The rest of a script, and replies.
            ("redis.call('DEL')\r\n$1\r\n1\r\n", None),
            ("+OK\r\n", None),
            (":1\r\n", None),
            ("*2\r\n$1\r\n-\r\n", None),
            ("", None),
        ] {
            assert_eq!(
                command(payload.as_bytes()).as_deref(),
                expected,
                "{payload:?}"
            );
        }
    }
}
