//! Command lines to paste into a shell.

/// A word quoted for a shell: unchanged if every shell takes it literally, otherwise in single
/// quotes.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./=,:+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.into()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// The words of a line, as a shell would split it: at white space, but for what is in quotes.
///
/// # Errors
///
/// If there is no word, or a quote has no end.
pub fn words(line: &str) -> Result<Vec<String>, &'static str> {
    let mut words: Vec<String> = Vec::new();
    let (mut is_in_word, mut quote) = (false, None);
    for c in line.chars() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                if !is_in_word {
                    words.push(String::new());
                }
                is_in_word = true;
            }
            (None, _) if c.is_whitespace() => is_in_word = false,
            _ => {
                if !is_in_word {
                    words.push(String::new());
                }
                is_in_word = true;
                words.last_mut().expect("a word has begun").push(c);
            }
        }
    }
    match (quote, words.is_empty()) {
        (Some(_), _) => Err("a quote has no end"),
        (None, true) => Err("there is no word"),
        (None, false) => Ok(words),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_survive_a_shell() {
        for (word, expected) in [
            ("target/locklab/seed-0.jsonl", "target/locklab/seed-0.jsonl"),
            ("lock.ttl_ms=500", "lock.ttl_ms=500"),
            ("my results/x", "'my results/x'"),
            ("it's", r"'it'\''s'"),
            ("on=[\"c1\"]", "'on=[\"c1\"]'"),
            ("$HOME", "'$HOME'"),
            ("", "''"),
        ] {
            assert_eq!(quoted(word), expected);
        }
    }

    #[test]
    fn quoted_words_are_read_back_as_they_were() {
        for word in ["SCRIPT", "", "return redis.call('DEL', KEYS[1])", "a b"] {
            let line = format!("EVAL {} 0", quoted(word).replace(r"'\''", r#"'"'"'"#));
            assert_eq!(
                words(&line),
                Ok(vec!["EVAL".into(), word.into(), "0".into()]),
                "{line}"
            );
        }
        assert_eq!(words(" \t"), Err("there is no word"));
        assert_eq!(words("EVAL 'return 1"), Err("a quote has no end"));
    }
}
