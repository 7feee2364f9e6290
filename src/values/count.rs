//! Counts in words.

/// How often something happened: `never`, `once`, `3 times`.
pub fn times(count: u64) -> String {
    match count {
        0 => "never".into(),
        1 => "once".into(),
        _ => format!("{count} times"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_and_one_have_words_of_their_own() {
        assert_eq!(
            [0, 1, 2, 17].map(times),
            ["never", "once", "2 times", "17 times"]
        );
    }
}
