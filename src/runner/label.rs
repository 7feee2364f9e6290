//! The labels of messages in a diagram.

/// A RESP message as readable text: its words, without their lengths; long random words are
/// shortened.
pub fn of(payload: &[u8]) -> String {
    const LONGEST: usize = 40;
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
            (
                "*2\r\n$4\r\nEVAL\r\n$12\r\nreturn 1 + 1\r\n",
                "EVAL (a script)",
            ),
        ] {
            assert_eq!(of(payload.as_bytes()), expected);
        }
    }
}
