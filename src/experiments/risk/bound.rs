//! What runs without a violation leave open, in words: it is no estimate, and more runs lower it.

use locklab_evidence::thousands;
use locklab_risk::Bound;
use serde_json::{Value, json};

use super::words::{count, figures};

/// By how much more runs the reader is told to take.
const MORE: u64 = 10;

/// What a bound says of a year with so many grants: it is no estimate, where it comes from, and what lowers it.
pub(super) fn told(bound: &Bound, grants_per_year: f64, asked: u64) -> String {
    let year = figures(bound.per_grant * grants_per_year);
    let runs = thousands(bound.runs);
    let from = match &*bound.mostly_from {
        "" => format!(
            "{runs} grants that nothing strikes, which cannot exclude one in {} (three in {runs})",
            count(bound.runs as f64 / 3.0)
        ),
        cause => format!("the {runs} runs of {cause}"),
    };
    format!(
        "So few runs cannot exclude that it happens {year} times a year. This bound says how few runs there are, and \
         nothing about the lock: {:.0} % of it comes from {from}. {}",
        bound.share * 100.0,
        remedy(asked)
    )
}

/// What lowers the bounds of a command that was asked for so many runs.
fn remedy(asked: u64) -> String {
    format!(
        "More runs lower it, to a tenth with --runs {}.",
        asked.saturating_mul(MORE)
    )
}

/// The same for programs; `null` where a run is violated.
pub(super) fn data(bound: Option<&Bound>, grants_per_year: f64) -> Value {
    let Some(bound) = bound else {
        return Value::Null;
    };
    json!({
        "per_year": bound.per_grant * grants_per_year,
        "mostly_from": match &*bound.mostly_from {
            "" => "(none)",
            cause => cause,
        },
        "share": bound.share,
        "runs": bound.runs,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_says_where_it_comes_from_and_what_lowers_it() {
        let mut bound = Bound {
            per_grant: 0.003,
            mostly_from: String::new(),
            share: 0.994,
            runs: 1000,
        };
        let text = told(&bound, 525_960.0, 1000);
        for expected in [
            "nothing about the lock",
            "1,600 times a year",
            "99 % of it comes from 1,000 grants that nothing strikes",
            "one in 330",
            "--runs 10000",
        ] {
            assert!(text.contains(expected), "{expected}: {text}");
        }
        bound.mostly_from = "rack".into();
        let text = told(&bound, 1.0, 1000);
        assert!(text.contains("from the 1,000 runs of rack."), "{text}");
    }
}
