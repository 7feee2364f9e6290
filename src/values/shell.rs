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
}
