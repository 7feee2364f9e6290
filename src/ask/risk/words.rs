//! Numbers of violations, and what they are of, in words and for programs.

use crate::risk::model::{Number, Setup, Term, Time, inline};
use locklab_evidence::{Interval, thousands};
use locklab_values::dist::Dist;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// What the lock calls its lease: `lease`, `session`.
pub(crate) fn term(setup: &Setup) -> &'static str {
    setup.term().unwrap_or(Term::Lease).name()
}

/// The lock, with what its lease is called where that is not a lease: `consensus, session`.
pub(super) fn lock_and_term(lock: &str, setup: &Setup) -> String {
    match setup.term() {
        Ok(Term::Lease) | Err(_) => lock.to_owned(),
        Ok(term) => format!("{lock}, {}", term.name()),
    }
}

/// How long the work takes: `2 s`.
pub(crate) fn work(setup: &Setup) -> String {
    match &setup.work_ms {
        Dist::Constant(ms) => Time(*ms).to_string(),
        other => format!("{} ms", inline(other)),
    }
}

/// What is changed of the usual scenario: `, with lock.timeout_ms=3000`; empty if nothing is.
pub(super) fn overrides(setup: &Setup) -> String {
    match setup.sets.is_empty() {
        true => String::new(),
        false => format!(", with {}", setup.sets.join(", ")),
    }
}

/// A number a year, as results have it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Year {
    pub(crate) mean: f64,
    /// At 95 %, with what causes may add of which no run is violated; none if no run was.
    interval: Option<[f64; 2]>,
    /// The same of the causes with violations alone.
    pub(crate) seen: Option<[f64; 2]>,
    not_excluded: f64,
    /// Whether few violations decide it.
    is_rough: bool,
}

impl From<&Number> for Year {
    fn from(number: &Number) -> Year {
        let ends = |it: Interval| [it.low, it.high];
        Year {
            mean: number.mean,
            interval: number.interval().map(ends),
            seen: number.seen().map(ends),
            not_excluded: number.not_excluded(),
            is_rough: number.is_rough,
        }
    }
}

impl Year {
    /// In a table: `0.31 (0.22–0.44)`, `~0.3 (0–0.7)` if few violations decide it, `none (≤ 1.2)` if no run is violated;
    /// `0.31 (0.22–0.44, ≤ 1.2)` if causes of which no run is violated leave most open.
    pub(crate) fn cell(&self) -> String {
        match self.interval {
            None if self.not_excluded == 0.0 => "none".into(),
            None => format!("none (≤ {})", figures(self.not_excluded)),
            Some(interval) => {
                let rough = if self.is_rough { "~" } else { "" };
                let [low, high] = self.seen.unwrap_or(interval).map(figures);
                let more = self.upper_end();
                let more = more.map_or(String::new(), |high| format!(", ≤ {}", figures(high)));
                format!("{rough}{} ({low}–{high}{more})", figures(self.mean))
            }
        }
    }

    /// The upper end of the interval, if most of it is what causes without a violation leave open.
    fn upper_end(&self) -> Option<f64> {
        let ([_, whole], [_, seen]) = (self.interval?, self.seen?);
        (whole > 2.0 * seen).then_some(whole)
    }
}

/// What the signs of [`Year::cell`] mean.
pub(crate) const SIGNS: &str = "~ few violations decide it. ≤ is how many the runs cannot exclude, since some causes \
                                never did it in so few.";

/// See [`Year::cell`].
pub(crate) fn cell(year: &Number) -> String {
    Year::from(year).cell()
}

/// See [`Year::upper_end`].
pub(super) fn upper_end(year: &Number) -> Option<f64> {
    Year::from(year).upper_end()
}

/// A number of a year in words: `about once in 29 years (between once in 80 years and once in 12 years)`.
pub(crate) fn how_often(year: &Number) -> String {
    match (year.interval(), year.seen()) {
        (Some(interval), seen) => {
            let seen = seen.unwrap_or(interval);
            let more = upper_end(year)
                .map(|high| format!("; these runs are too few to exclude {}", once(high)));
            format!(
                "about {} (between {} and {}{})",
                once(year.mean),
                once(seen.low),
                once(seen.high),
                more.unwrap_or_default()
            )
        }
        (None, _) if year.not_excluded() == 0.0 => "never: the sums exclude every cause".into(),
        (None, _) => {
            let most = once(year.not_excluded());
            format!("not in these runs, which are too few to exclude {most}")
        }
    }
}

/// So many times a year: `3 times a year`, `once in 8 months`.
fn once(per_year: f64) -> String {
    let years = 1.0 / per_year;
    match years {
        ..0.7 => format!("{} times a year", count(per_year)),
        2.0.. => format!("once in {} years", count(years)),
        _ => {
            let months = (12.0 * years).round();
            format!("once in {months} months")
        }
    }
}

/// A number for programs.
pub(crate) fn data(number: &Number) -> Value {
    json!(Year::from(number))
}

/// Two significant figures, without an exponent where there need be none.
pub(crate) fn figures(value: f64) -> String {
    if value == 0.0 {
        return "0".into();
    }
    let rounded: f64 = format!("{value:.1e}").parse().unwrap_or(value);
    match rounded.abs() {
        0.001..100_000.0 if rounded >= 100.0 => thousands(rounded as u64),
        0.001..100.0 => format!("{rounded}"),
        _ => format!("{rounded:.1e}"),
    }
}

pub(super) fn range(interval: Interval) -> String {
    format!("{} to {}", figures(interval.low), figures(interval.high))
}

/// `950`, `43,000`, `1.7 million`.
pub(crate) fn count(value: f64) -> String {
    let units = [(1e12, " trillion"), (1e9, " billion"), (1e6, " million")];
    let unit = units.into_iter().find(|(unit, _)| value >= *unit);
    match unit {
        Some((unit, name)) => format!("{}{name}", figures(value / unit)),
        None => figures(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_has_what_was_seen_and_what_cannot_be_excluded() {
        let seen = Number {
            mean: 10.0,
            squares: 10.0,
            one_more: 1.0,
            violated: 10,
            ..Number::default()
        };
        let with = |number: Number, first: f64| Number { first, ..number };
        assert_eq!(cell(&seen), "10 (4.8–18)");
        assert_eq!(cell(&with(seen, 30.0)), "10 (4.8–18, ≤ 120)");
        assert_eq!(cell(&with(Number::default(), 2.0)), "none (≤ 6)");
        assert_eq!(cell(&Number::default()), "none");
    }

    #[test]
    fn number_of_a_year_is_told_as_people_say_it() {
        let year = |mean: f64| Number {
            mean,
            squares: mean * mean / 100.0,
            one_more: mean / 100.0,
            violated: 100,
            ..Number::default()
        };
        assert_eq!(
            how_often(&year(0.0345)),
            "about once in 29 years (between once in 36 years and once in 24 years)"
        );
        let begins = |mean: f64, expected: &str| {
            let told = how_often(&year(mean));
            assert!(told.starts_with(expected), "{told}");
        };
        begins(1.0, "about once in 12 months (");
        begins(3.2, "about 3.2 times a year (");
        begins(18_234.0, "about 18,000 times a year (");
        begins(0.8e-3, "about once in 1,200 years (");
        let with = |number: Number, first: f64| how_often(&Number { first, ..number });
        let told = with(year(0.0345), 1.0);
        assert!(
            told.ends_with("; these runs are too few to exclude 3.7 times a year)"),
            "{told}"
        );
        assert_eq!(
            with(Number::default(), 0.5 / 3.0),
            "not in these runs, which are too few to exclude once in 2 years"
        );
    }

    #[test]
    fn numbers_have_two_figures() {
        for (value, expected) in [
            (0.0, "0"),
            (0.3149, "0.31"),
            (7.06, "7.1"),
            (99.7, "100"),
            (43_210.0, "43,000"),
            (1.26e-7, "1.3e-7"),
            (0.0123, "0.012"),
        ] {
            assert_eq!(figures(value), expected);
        }
        assert_eq!(count(1.74e6), "1.7 million");
        assert_eq!(count(43_210.0), "43,000");
    }
}
