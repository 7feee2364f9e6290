//! What runs without a violation leave open, in words: it is no estimate, and more runs lower it.

use crate::risk::model::{Bound, Number};
use locklab_evidence::thousands;
use serde_json::{Value, json};

use super::words::{figures, upper_end};

/// By how much more runs the reader is told to take.
const MORE: u64 = 10;

/// What a bound says of a year with so many grants: it is no estimate, where it comes from, and what lowers it.
pub(super) fn told(bound: &Bound, grants_per_year: f64, asked: u64) -> String {
    let year = figures(bound.per_grant * grants_per_year);
    let [runs, chances] = bound.runs;
    let [undisturbed, could] = bound.undisturbed;
    format!(
        "These runs cannot exclude that faults do it {year} times a year. This bound says how few runs there are, and \
         nothing about the lock: it comes from the {} runs of {}, of which {} could have shown it. {} Grants that \
         nothing strikes are not in it: {}.",
        thousands(runs),
        bound.from,
        thousands(chances),
        remedy(asked),
        match could {
            0 => format!("in none of {} could it happen", thousands(undisturbed)),
            could => format!(
                "it happened in none of {}, and could have in {}",
                thousands(undisturbed),
                thousands(could)
            ),
        }
    )
}

/// The same beside the interval of what other causes do, if it is much more.
pub(super) fn beside(bound: &Bound, year: &Number) -> Option<String> {
    let high = figures(upper_end(year)?);
    Some(format!(
        "; up to {high} cannot be excluded, since none of the few runs of {} does it",
        bound.from
    ))
}

/// What lowers the bounds of a command that was asked for so many runs.
fn remedy(asked: u64) -> String {
    format!(
        "More runs lower it, to a tenth with --runs {}.",
        asked.saturating_mul(MORE)
    )
}

/// The same for programs; `null` where no cause leaves anything open.
pub(super) fn data(bound: Option<&Bound>, grants_per_year: f64) -> Value {
    let Some(bound) = bound else {
        return Value::Null;
    };
    json!({
        "per_year": bound.per_grant * grants_per_year,
        "from": bound.from,
        "runs": bound.runs[0],
        "chances": bound.runs[1],
        "undisturbed": {"runs": bound.undisturbed[0], "chances": bound.undisturbed[1]},
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_stands_beside_an_interval_that_it_more_than_doubles() {
        let bound = Bound {
            per_grant: 0.0,
            from: "gc".into(),
            runs: [100, 7],
            undisturbed: [0; 2],
        };
        let told = |first: f64| {
            let year = Number {
                mean: 10.0,
                squares: 10.0,
                one_more: 1.0,
                first,
                violated: 10,
                ..Number::default()
            };
            beside(&bound, &year)
        };
        let expected = "; up to 120 cannot be excluded, since none of the few runs of gc does it";
        assert_eq!(told(30.0).as_deref(), Some(expected));
        assert_eq!(told(2.0), None);
    }

    #[test]
    fn a_bound_says_where_it_comes_from_and_what_lowers_it() {
        let bound = Bound {
            per_grant: 0.003,
            from: "gc".into(),
            runs: [2000, 700],
            undisturbed: [1000, 0],
        };
        let text = told(&bound, 525_960.0, 1000);
        for expected in [
            "nothing about the lock",
            "1,600 times a year",
            "it comes from the 2,000 runs of gc, of which 700 could have shown it",
            "in none of 1,000 could it happen.",
            "--runs 10000",
        ] {
            assert!(text.contains(expected), "{expected}: {text}");
        }
        let undisturbed = [1000, 3];
        let text = told(
            &Bound {
                undisturbed,
                ..bound
            },
            1.0,
            1000,
        );
        assert!(
            text.contains("none of 1,000, and could have in 3."),
            "{text}"
        );
    }
}
