//! One run of many: its verdicts, and which faults began.

use locklab_vecmap::VecMap;
use serde::{Deserialize, Serialize};

use locklab_check::{Property, Verdict};
use locklab_history::{Event, History, Phase};

/// The amount of data about each run to keep besides the counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Detail {
    /// Nothing.
    #[default]
    Counts,
    /// A [`RunRow`].
    Runs,
}

/// A run in short.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunRow {
    /// Its seed.
    pub seed: u64,
    /// Per property, the verdict.
    pub verdicts: VecMap<Property, Outcome>,
    /// The faults that began, and when for the first time, in nanoseconds of true time.
    pub began: Vec<(String, u64)>,
}

/// A verdict without its words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The property holds.
    Holds,
    /// It is violated.
    Violated {
        /// First at this true time, in nanoseconds.
        at_ns: u64,
    },
    /// The run shows neither.
    Inconclusive,
}

impl RunRow {
    /// A run with this history, judged.
    pub fn of(seed: u64, history: &History, verdicts: &VecMap<Property, Verdict>) -> Self {
        let outcome = |verdict: &Verdict| match verdict {
            Verdict::Holds => Outcome::Holds,
            Verdict::Violated(violation) => Outcome::Violated {
                at_ns: violation.at_ns,
            },
            Verdict::Inconclusive { .. } => Outcome::Inconclusive,
        };
        let mut began: Vec<(String, u64)> = Vec::new();
        for record in &history.records {
            if let Event::Fault {
                fault,
                phase: Phase::Begins,
                ..
            } = &record.event
                && !began.iter().any(|(name, _)| **name == **fault)
            {
                began.push((fault.to_string(), record.at_ns));
            }
        }
        RunRow {
            seed,
            verdicts: (verdicts.iter())
                .map(|(property, verdict)| (*property, outcome(verdict)))
                .collect(),
            began,
        }
    }
}
