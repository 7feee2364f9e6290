//! Seeds as options take them: `100`, which means 0..100, or `100..200`.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

/// The most runs of one scenario that a command makes; more is likely a typing error.
const MOST: u64 = 1_000_000_000;

/// One seed or more, without gaps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seeds(Range<u64>);

impl Seeds {
    /// From the first on, the end excluded.
    pub(crate) fn range(&self) -> Range<u64> {
        self.0.clone()
    }
}

impl fmt::Display for Seeds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.0.start, self.0.end)
    }
}

impl FromStr for Seeds {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let usage = || format!("{text} is not a number; write 100, or 0..100, the end excluded");
        let Some((start, end)) = text.split_once("..") else {
            return match number(text, usage)? {
                0 => Err("0 seeds run nothing; write 1 or more".into()),
                count if count > MOST => Err(too_many()),
                count => Ok(Seeds(0..count)),
            };
        };
        let (start, end) = (number(start, usage)?, number(end, usage)?);
        if start == end {
            let next = end.saturating_add(1);
            return Err(format!(
                "{text} has no seed, since the end is excluded; write {start}..{next}"
            ));
        }
        if start > end {
            return Err(format!("{text} runs backwards; write {end}..{start}"));
        }
        if end - start > MOST {
            return Err(too_many());
        }
        Ok(Seeds(start..end))
    }
}

/// A single seed, for a command that runs once.
pub(crate) fn one(text: &str) -> Result<u64, String> {
    if text.contains("..") {
        return Err("this is one seed; for several write --seeds".into());
    }
    match number(text, || format!("{text} is not a number; write 0 or more"))? {
        // There must be an end after it.
        u64::MAX => Err(too_large(text)),
        seed => Ok(seed),
    }
}

/// A number; `otherwise` says what to write if this is none.
fn number(text: &str, otherwise: impl FnOnce() -> String) -> Result<u64, String> {
    let is_number = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
    text.parse().map_err(|_| match text.strip_prefix('-') {
        Some(rest) if is_number(rest) => {
            format!("{text} is negative; a seed is a whole number, 0 or more")
        }
        _ if is_number(text) => too_large(text),
        _ => otherwise(),
    })
}

fn too_large(text: &str) -> String {
    format!("{text} is too large; the largest seed is {}", u64::MAX - 1)
}

fn too_many() -> String {
    format!("a command runs at most {MOST} seeds of each scenario")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Result<Range<u64>, &str>) {
        let seeds = text.parse::<Seeds>().map(|seeds| seeds.range());
        assert_eq!(seeds, expected.map_err(String::from), "{text}");
    }

    #[test]
    fn a_number_means_from_zero_on() {
        check("1", Ok(0..1));
        check("100", Ok(0..100));
        check("100..200", Ok(100..200));
        check(
            "18446744073709551613..18446744073709551615",
            Ok(u64::MAX - 2..u64::MAX),
        );
    }

    #[test]
    fn what_is_no_seed_is_named() {
        let usage =
            |text: &str| format!("{text} is not a number; write 100, or 0..100, the end excluded");
        for text in [
            "", "many", "1..", "..5", "0..=5", "1.5", "0x10", "-", "--json",
        ] {
            check(text, Err(&usage(text)));
        }
        check("0", Err("0 seeds run nothing; write 1 or more"));
        check(
            "-5",
            Err("-5 is negative; a seed is a whole number, 0 or more"),
        );
        check(
            "-5..5",
            Err("-5 is negative; a seed is a whole number, 0 or more"),
        );
        check(
            "5..5",
            Err("5..5 has no seed, since the end is excluded; write 5..6"),
        );
        check("9..5", Err("9..5 runs backwards; write 5..9"));
        let most = "a command runs at most 1000000000 seeds of each scenario";
        check("1000000001", Err(most));
        check("0..18446744073709551615", Err(most));
        let digits = "99999999999999999999999";
        let large = format!("{digits} is too large; the largest seed is 18446744073709551614");
        check(digits, Err(&large));
    }

    #[test]
    fn a_single_seed_has_an_end_after_it() {
        assert_eq!(one("7"), Ok(7));
        assert_eq!(one("18446744073709551614"), Ok(u64::MAX - 1));
        assert!(one("18446744073709551615").is_err());
        assert!(one("0..5").is_err_and(|told| told.ends_with("write --seeds")));
    }
}
