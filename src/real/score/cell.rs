//! A cell of the scorecard: three plays that agree.

use serde::Serialize;

use super::play::{Played, Verdict};

/// What several plays of an experiment come to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cell {
    /// The verdict; its number is the median of the plays.
    pub verdict: Verdict,
    /// The least and the greatest number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<Range>,
    /// The verdicts of all plays, if they differ.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub varies: Vec<String>,
}

/// The least and the greatest number.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Range {
    /// The least.
    pub least: f64,
    /// The greatest.
    pub greatest: f64,
}

impl Cell {
    /// Whether this is what no library should do.
    pub fn is_bad(&self) -> bool {
        self.varies.is_empty()
            && matches!(
                self.verdict,
                Verdict::Is {
                    good: Some(false),
                    ..
                }
            )
    }

    /// Whether there is a verdict, or the library has no such call.
    pub fn is_decided(&self) -> bool {
        self.varies.is_empty() && !matches!(self.verdict, Verdict::Undecided { .. })
    }
}

/// What these plays come to. One that did not take place is left out, if most did.
///
/// # Panics
///
/// If there is none.
pub fn cell(plays: &[Played]) -> Cell {
    let verdicts = || plays.iter().map(|play| &play.verdict);
    let decided = || verdicts().filter(|it| !matches!(it, Verdict::Undecided { .. }));
    let undecided = || verdicts().find(|it| matches!(it, Verdict::Undecided { .. }));
    let first = match 2 * decided().count() > plays.len() {
        true => decided().next(),
        false => undecided(),
    };
    let first = first.expect("there is a play");
    let words = |verdict: &Verdict| match verdict {
        Verdict::Is { is, .. } => is.clone(),
        Verdict::NotApplicable { .. } => "n/a".into(),
        Verdict::Undecided { why } => why.clone(),
    };
    let all: Vec<String> = decided().map(words).collect();
    let varies = match all.windows(2).all(|two| two[0] == two[1]) {
        true => vec![],
        false => all,
    };
    let mut numbers: Vec<f64> = decided()
        .filter_map(|verdict| match verdict {
            Verdict::Is { value, .. } => *value,
            _ => None,
        })
        .collect();
    numbers.sort_by(f64::total_cmp);
    let median = numbers.get(numbers.len() / 2).copied();
    let verdict = match first {
        Verdict::Is { is, good, unit, .. } => Verdict::Is {
            is: is.clone(),
            good: *good,
            value: median,
            unit: unit.clone(),
        },
        other => other.clone(),
    };
    Cell {
        verdict,
        range: numbers
            .first()
            .zip(numbers.last())
            .map(|(least, greatest)| Range {
                least: *least,
                greatest: *greatest,
            }),
        varies,
    }
}

#[cfg(test)]
mod tests {
    use super::super::Facts;
    use super::*;

    fn played(verdict: Verdict) -> Played {
        Played {
            verdict,
            facts: Facts::default(),
            wire: vec![],
        }
    }

    fn is(is: &str, value: Option<f64>) -> Played {
        played(Verdict::Is {
            is: is.into(),
            good: Some(is == "yes"),
            value,
            unit: None,
        })
    }

    fn undecided() -> Played {
        played(Verdict::Undecided { why: "late".into() })
    }

    #[test]
    fn plays_that_agree_have_a_verdict_and_their_median() {
        let cell = cell(&[
            is("yes", Some(3.0)),
            is("yes", Some(1.0)),
            is("yes", Some(2.0)),
        ]);
        let Verdict::Is { is, value, .. } = &cell.verdict else {
            panic!("{cell:?}")
        };
        assert_eq!((is.as_str(), *value), ("yes", Some(2.0)));
        let range = cell.range.expect("there are numbers");
        assert_eq!((range.least, range.greatest), (1.0, 3.0));
        assert!(cell.is_decided() && !cell.is_bad());
    }

    #[test]
    fn plays_that_differ_vary() {
        let cell = cell(&[is("no", None), is("yes", None), is("no", None)]);
        assert_eq!(cell.varies, ["no", "yes", "no"]);
        assert!(!cell.is_decided() && !cell.is_bad());
    }

    #[test]
    fn a_play_that_did_not_come_about_decides_nothing() {
        let one = cell(&[undecided(), is("no", None), is("no", None)]);
        assert!(one.is_decided() && one.is_bad());
        let most = cell(&[undecided(), is("no", None), undecided()]);
        assert!(!most.is_decided() && !most.is_bad());
        assert!(!cell(&[undecided()]).is_decided());
    }
}
