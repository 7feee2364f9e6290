//! When two replies count as the same.

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
    use super::same_start;

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
}
