//! What repeats: polls and renewals, each written once.

/// A request in words, and when it was.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Timed {
    /// In microseconds of the server's wall clock.
    pub at_us: u64,
    /// The request: of a script that writes, what it writes.
    pub words: String,
    /// The request with all commands of a script.
    pub whole: String,
}

/// The longest repeating part, in requests.
const LONGEST: usize = 4;

/// The words of requests in their order. What repeats is written once, however often it does: that depends on
/// the machine. The second result has the times between the beginnings of the repetitions, in microseconds.
pub fn folded(requests: &[Timed]) -> (Vec<String>, Vec<u64>) {
    let (mut lines, mut gaps) = (Vec::new(), Vec::new());
    let mut rest = requests;
    while !rest.is_empty() {
        let repeated = (1..=LONGEST.min(rest.len() / 2)).find_map(|length| {
            let times = repetitions(rest, length);
            (times > 1).then_some((length, times))
        });
        let (length, times) = repeated.unwrap_or((1, 1));
        lines.extend(rest[..length].iter().map(|it| same(&it.words)));
        let starts: Vec<u64> = (0..times).map(|n| rest[n * length].at_us).collect();
        gaps.extend(
            starts
                .windows(2)
                .map(|pair| pair[1].saturating_sub(pair[0])),
        );
        rest = &rest[length * times..];
    }
    (lines, gaps)
}

/// How often the first `length` requests come one after the other.
fn repetitions(requests: &[Timed], length: usize) -> usize {
    let part = |n: usize| {
        let part = requests.get(n * length..(n + 1) * length)?;
        Some(part.iter().map(|it| same(&it.words)).collect::<Vec<_>>())
    };
    let first = part(0);
    (0..)
        .take_while(|&n| n == 0 || part(n).is_some() && part(n) == first)
        .count()
}

/// The words without the numbers of values: each attempt may have a value of its own.
pub fn same(words: &str) -> String {
    with_values(words, |_| "v*".to_owned())
}

/// The words with values that are numbered in the order of their appearance in these requests.
pub fn renumbered(words: &str, known: &mut Vec<String>) -> String {
    with_values(words, |value| {
        let index = known.iter().position(|it| it == value).unwrap_or_else(|| {
            known.push(value.to_owned());
            known.len() - 1
        });
        format!("v{}", index + 1)
    })
}

/// The words with each `v1`, `v2` … replaced.
fn with_values(words: &str, mut replaced: impl FnMut(&str) -> String) -> String {
    let mut of_word = |word: &str| {
        let end = word.find([')', ';']).unwrap_or(word.len());
        let (value, tail) = word.split_at(end);
        let number = value.strip_prefix('v').filter(|it| !it.is_empty());
        match number.is_some_and(|it| it.bytes().all(|byte| byte.is_ascii_digit())) {
            true => replaced(value) + tail,
            false => word.to_owned(),
        }
    };
    words
        .split(' ')
        .map(&mut of_word)
        .collect::<Vec<_>>()
        .join(" ")
}

/// Lines, where several equal ones come one after the other, with their number.
pub fn counted(lines: Vec<String>) -> Vec<String> {
    let equal = lines.chunk_by(|one, other| one == other);
    let counted = equal.map(|equal| match equal.len() {
        1 => equal[0].clone(),
        times => format!("{times} times {}", equal[0]),
    });
    counted.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(requests: &[(u64, &str)], lines: &[&str], gaps: &[u64]) {
        let timed = requests.iter().map(|&(at_us, words)| Timed {
            at_us,
            words: words.to_owned(),
            whole: words.to_owned(),
        });
        let (seen, seen_gaps) = folded(&timed.collect::<Vec<_>>());
        assert_eq!(seen, lines);
        assert_eq!(seen_gaps, gaps);
    }

    #[test]
    fn polls_are_written_once() {
        check(
            &[
                (1, "get a"),
                (2, "set lock v2"),
                (7, "set lock v3"),
                (9, "set lock v4"),
                (10, "del a"),
            ],
            &["get a", "set lock v*", "del a"],
            &[5, 2],
        );
    }

    #[test]
    fn attempts_of_two_requests_are_written_once() {
        let script = "script(get lock; del v3)";
        check(
            &[(1, "set v1"), (2, script), (11, "set v2"), (12, script)],
            &["set v*", "script(get lock; del v*)"],
            &[10],
        );
    }

    #[test]
    fn values_are_numbered_from_one() {
        let mut known = Vec::new();
        let words = ["script(set lock v7; get v3)", "del v3", "value v"];
        let renumbered = words.map(|words| renumbered(words, &mut known));
        assert_eq!(
            renumbered,
            ["script(set lock v1; get v2)", "del v2", "value v"]
        );
    }

    #[test]
    fn equal_lines_are_counted() {
        let lines = ["get", "get", "del", "get"].map(String::from);
        assert_eq!(counted(lines.to_vec()), ["2 times get", "del", "get"]);
    }

    #[test]
    fn different_requests_stay() {
        check(&[(1, "a"), (2, "b"), (3, "c")], &["a", "b", "c"], &[]);
        check(&[], &[], &[]);
    }
}
