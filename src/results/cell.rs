//! The counts of many runs of one scenario with one set of parameters.

use locklab_vecmap::VecMap;
use serde::{Deserialize, Serialize};

use locklab_check::{Property, Verdict};
use locklab_evidence::Tally;
use locklab_history::History;

use super::loss::LossRate;
use super::pace::PaceCounts;
use super::promised::Promised;
use super::run_row::RunRow;
use super::writes::WriteCounts;

/// The runs of one scenario with one set of parameters.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// The varied parameters of this cell, in the order of the `--vary` options:
    /// path in the scenario, and value as TOML spells it.
    pub parameters: Vec<(String, String)>,
    /// Per property, the counts of the verdicts.
    pub tallies: VecMap<Property, Tally>,
    /// Per violated property, the run with the earliest violation.
    pub shortest: VecMap<Property, Shortest>,
    /// For clients that add to a set: how much acknowledged data was lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<LossRate>,
    /// The runs in the order of their seeds, if they were kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<RunRow>,
    /// The counts of writes to the resource.
    #[serde(default)]
    pub writes: WriteCounts,
    /// How long grants were valid.
    #[serde(default)]
    pub promised: Promised,
    /// Where the lock has a time to recover from faults: how often it was granted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pace: Option<PaceCounts>,
    /// A hash over all events of all runs: equal for equal runs, independent of their order and
    /// of the number of threads.
    pub fingerprint: u64,
}

/// The run whose violation has the smallest true time; ties are resolved by seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Shortest {
    /// True time of the violation in nanoseconds.
    pub at_ns: u64,
    /// The seed of that run.
    pub seed: u64,
}

/// The parts of one run that a cell counts.
#[derive(Debug, Clone, Copy)]
pub struct Judged<'a> {
    /// The history.
    pub history: &'a History,
    /// The verdicts.
    pub verdicts: &'a VecMap<Property, Verdict>,
    /// The hash of every event of the simulator; 0 for a real run.
    pub trace_hash: u64,
}

impl Cell {
    /// Counts one run.
    pub fn add(&mut self, seed: u64, run: &Judged<'_>) {
        self.fingerprint = self.fingerprint.wrapping_add(mix(seed, run.trace_hash));
        let struck = u64::from(locklab_check::struck(run.history));
        for (property, verdict) in run.verdicts {
            let tally = self.tallies.entry(*property).or_default();
            tally.struck += struck;
            match verdict {
                Verdict::Holds => tally.holds += 1,
                Verdict::Inconclusive { .. } => tally.inconclusive += 1,
                Verdict::Violated(violation) => {
                    tally.violated += 1;
                    tally.violated_struck += struck;
                    let this = Shortest {
                        at_ns: violation.at_ns,
                        seed,
                    };
                    let shortest = self.shortest.entry(*property).or_insert(this);
                    *shortest = this.min(*shortest);
                }
            }
        }
        self.writes.add(locklab_check::writes(run.history));
        self.promised.merge(Promised::of(run.history));
        if run.verdicts.contains_key(&Property::Recovery)
            && let Some(pace) = locklab_check::pace(run.history)
        {
            self.pace.get_or_insert_default().add(pace);
        }
        if run.verdicts.contains_key(&Property::AcknowledgedLost)
            && let Some(loss) = locklab_check::loss(run.history)
        {
            self.loss.get_or_insert_default().add(loss);
        }
    }

    /// Keeps a run in short.
    pub fn keep(&mut self, seed: u64, run: &Judged<'_>) {
        self.runs.push(RunRow::of(seed, run.history, run.verdicts));
    }

    /// Adds another part of the same cell.
    pub fn merge(&mut self, part: Cell) {
        self.runs.extend(part.runs);
        self.runs.sort_by_key(|run| run.seed);
        self.fingerprint = self.fingerprint.wrapping_add(part.fingerprint);
        for (property, tally) in part.tallies {
            self.tallies.entry(property).or_default().merge(tally);
        }
        self.writes.merge(part.writes);
        self.promised.merge(part.promised);
        if let Some(loss) = part.loss {
            self.loss.get_or_insert_default().merge(loss);
        }
        if let Some(pace) = part.pace {
            self.pace.get_or_insert_default().merge(pace);
        }
        for (property, other) in part.shortest {
            let shortest = self.shortest.entry(property).or_insert(other);
            *shortest = other.min(*shortest);
        }
    }

    /// Why these cannot be the counts of so many runs, if they cannot: a file has them that somebody
    /// may have edited.
    pub fn why_not(&self, runs: u64) -> Option<String> {
        if self.writes.runs != runs {
            return Some(format!("it counts {} runs of {runs}", self.writes.runs));
        }
        let wrong = self.tallies.iter().find(|(property, tally)| {
            let Tally {
                violated,
                struck,
                violated_struck,
                ..
            } = **tally;
            let all = [tally.holds, violated, tally.inconclusive];
            let all = all.into_iter().fold(0, u64::saturating_add);
            let is_shown = self.shortest.contains_key(property);
            // Runs without a set that is read are not judged by it.
            let is_whole = match property {
                Property::AcknowledgedLost => all <= runs,
                _ => all == runs,
            };
            !is_whole
                || struck > all
                || violated_struck > violated.min(struck)
                || is_shown != (violated > 0)
        });
        let (property, _) = wrong?;
        Some(format!(
            "its counts of {property} do not add up to {runs} runs"
        ))
    }
}

/// A number for a run that depends on its seed and its trace. The sum over the runs of a cell,
/// in any order, is the cell's fingerprint. (The finaliser of SplitMix64.)
fn mix(seed: u64, trace_hash: u64) -> u64 {
    let mut x = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ trace_hash;
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The counts of two runs, of which one violates a property.
    fn two() -> Cell {
        let mut cell = Cell::default();
        cell.writes.runs = 2;
        let tally = Tally {
            holds: 1,
            violated: 1,
            struck: 2,
            violated_struck: 1,
            ..Tally::default()
        };
        cell.tallies.insert(Property::Lease, tally);
        let shortest = Shortest { at_ns: 5, seed: 1 };
        cell.shortest.insert(Property::Lease, shortest);
        cell
    }

    #[test]
    fn counts_that_somebody_edited_do_not_add_up() {
        assert_eq!(two().why_not(2), None);
        assert!(two().why_not(3).is_some());
        let edits: [fn(&mut Tally); 8] = [
            |tally| tally.violated = 2,
            |tally| tally.violated = 0,
            |tally| (tally.holds, tally.violated) = (2, 0),
            |tally| (tally.holds, tally.violated, tally.violated_struck) = (2, 0, 0),
            |tally| tally.inconclusive = u64::MAX,
            |tally| tally.struck = 3,
            |tally| tally.violated_struck = 2,
            |tally| (tally.struck, tally.violated_struck) = (0, 1),
        ];
        for (number, edit) in edits.iter().enumerate() {
            let mut cell = two();
            edit(cell.tallies.entry(Property::Lease).or_default());
            assert!(cell.why_not(2).is_some(), "{number}");
        }
    }
}
