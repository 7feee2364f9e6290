//! How many runs had which verdict, and what they show together.

use serde::{Deserialize, Serialize};

use super::words::{decimals, percent, thousands};
use super::{Rate, wilson};

/// How often a property held, was violated, or could not be judged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Runs in which it held, and which could have shown a violation.
    pub holds: u64,
    /// Runs in which it was violated.
    pub violated: u64,
    /// Runs without a violation that could not have shown one.
    pub inconclusive: u64,
    /// Runs in which every fault took effect, with any verdict.
    pub struck: u64,
    /// Runs in which every fault took effect and it was violated.
    pub violated_struck: u64,
}

impl Tally {
    /// All runs.
    pub fn runs(&self) -> u64 {
        self.holds + self.violated + self.inconclusive
    }

    /// The rate of violations: violated runs over all runs.
    pub fn rate(&self) -> Rate {
        Rate {
            violated: self.violated,
            runs: self.runs(),
        }
    }

    /// The rate given that every fault took effect: violated runs among those, over all of
    /// those. Whether a fault takes effect is settled before it can do harm.
    pub fn rate_struck(&self) -> Rate {
        Rate {
            violated: self.violated_struck,
            runs: self.struck,
        }
    }

    /// The share of runs that could not have shown a violation, from 0 to 1.
    pub fn inconclusive_share(&self) -> f64 {
        match self.runs() {
            0 => 0.0,
            runs => self.inconclusive as f64 / runs as f64,
        }
    }

    /// The highest rate, at 95 % confidence, that is consistent with no violation in the runs
    /// that could have shown one. (The others carry no information.)
    pub fn at_most(&self) -> f64 {
        wilson(0, self.holds).high
    }

    /// Adds the counts of other runs.
    pub fn merge(&mut self, other: Tally) {
        self.holds += other.holds;
        self.violated += other.violated;
        self.inconclusive += other.inconclusive;
        self.struck += other.struck;
        self.violated_struck += other.violated_struck;
    }

    /// The rate for a person, together with the inconclusive runs: `3.0 % (1.4–6.4 %), 6 of 200
    /// runs; 12 inconclusive`.
    pub fn describe(&self) -> String {
        let rate = self.rate().describe("runs");
        let inconclusive = thousands(self.inconclusive);
        match (self.violated, self.holds, self.inconclusive) {
            (_, _, 0) => rate,
            (0, 0, _) => format!("0 of {inconclusive} runs; all inconclusive"),
            (0, holds, _) => {
                let (at_most, runs) = (self.at_most(), thousands(self.runs()));
                let at_most = percent(at_most, decimals(at_most));
                let others = thousands(holds);
                format!(
                    "0 of {runs} runs; {inconclusive} inconclusive (at most {at_most} % of the \
                     other {others})"
                )
            }
            _ => format!("{rate}; {inconclusive} inconclusive"),
        }
    }

    /// The conditional rate for a person, if it differs from the rate: some run had a fault
    /// that did not take effect.
    pub fn describe_struck(&self) -> Option<String> {
        let rate = self.rate_struck();
        let differs = (1..self.runs()).contains(&self.struck);
        differs.then(|| rate.describe("runs in which every fault began"))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// The tally of this many runs that hold, violate, and are inconclusive.
    pub(crate) fn tally([holds, violated, inconclusive]: [u64; 3]) -> Tally {
        Tally {
            holds,
            violated,
            inconclusive,
            ..Tally::default()
        }
    }

    #[test]
    fn runs_of_two_parts_are_added() {
        let part = |factor: u64| Tally {
            holds: 2 * factor,
            violated: 3 * factor,
            inconclusive: 5 * factor,
            struck: 7 * factor,
            violated_struck: 11 * factor,
        };
        let mut whole = part(3);
        whole.merge(part(4));
        assert_eq!(whole, part(7));
    }

    /// A run that could not have shown a violation is a run without one.
    #[test]
    fn a_rate_is_a_share_of_all_runs() {
        let half_doubtful = tally([10, 40, 50]);
        assert_eq!(half_doubtful.rate().share(), Some(0.4));
        assert_eq!(half_doubtful.inconclusive_share(), 0.5);
    }

    #[test]
    fn a_tally_reads_well() {
        for (counts, expected) in [
            ([194, 6, 0], "3.0 % (1.4–6.4 %), 6 of 200 runs"),
            (
                [182, 6, 12],
                "3.0 % (1.4–6.4 %), 6 of 200 runs; 12 inconclusive",
            ),
            ([200, 0, 0], "0 of 200 runs (at most 1.9 %)"),
            (
                [13, 0, 187],
                "0 of 200 runs; 187 inconclusive (at most 23 % of the other 13)",
            ),
            ([0, 0, 200], "0 of 200 runs; all inconclusive"),
            ([0, 0, 0], "no runs"),
        ] {
            assert_eq!(tally(counts).describe(), expected);
        }
    }

    #[test]
    fn the_condition_is_named_where_it_matters() {
        let with = |struck, violated_struck| Tally {
            struck,
            violated_struck,
            ..tally([60, 40, 0])
        };
        assert_eq!(
            with(50, 40).describe_struck().as_deref(),
            Some("80 % (67–89 %), 40 of 50 runs in which every fault began")
        );
        assert_eq!(with(100, 40).describe_struck(), None);
        assert_eq!(with(0, 0).describe_struck(), None);
    }
}
