//! The counts of writes to the resource, over many runs.

use serde::{Deserialize, Serialize};

use super::loss::LossRate;
use locklab_check::{Loss, Writes};
use locklab_evidence::thousands;

/// The combined writes of several runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriteCounts {
    /// All runs, also those without a write.
    pub runs: u64,
    /// The accepted writes, and those of them that were lost.
    pub updates: LossRate,
    /// The refused writes.
    pub refused: u64,
}

impl WriteCounts {
    /// Counts one run.
    pub fn add(&mut self, writes: Writes) {
        self.runs += 1;
        self.refused += writes.refused;
        self.updates.add(Loss {
            acknowledged: writes.accepted,
            lost: writes.lost,
        });
    }

    /// Adds the writes of other runs.
    pub fn merge(&mut self, other: WriteCounts) {
        self.runs += other.runs;
        self.refused += other.refused;
        self.updates.merge(other.updates);
    }

    /// The accepted writes of a run, on average.
    pub fn per_run(&self) -> f64 {
        match self.runs {
            0 => 0.0,
            runs => self.updates.acknowledged as f64 / runs as f64,
        }
    }

    /// Readable text: `1,998 writes accepted (20.0 a run), 2 refused; updates lost 0.1802
    /// (0.1712–0.1892 over 100 runs), 360 of 1,998`.
    pub fn describe(&self) -> String {
        format!(
            "{} writes accepted ({:.1} a run), {} refused; updates lost {}",
            thousands(self.updates.acknowledged),
            self.per_run(),
            thousands(self.refused),
            self.updates.describe_of("accepted writes")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(runs: &[(u64, u64, u64)]) -> WriteCounts {
        let mut counts = WriteCounts::default();
        for &(accepted, refused, lost) in runs {
            counts.add(Writes {
                accepted,
                refused,
                lost,
            });
        }
        counts
    }

    #[test]
    fn a_run_without_writes_counts_as_a_run() {
        assert_eq!(
            of(&[(4, 1, 1), (0, 2, 0)]).describe(),
            "4 writes accepted (2.0 a run), 3 refused; updates lost 0.2500 (1 run, no interval), \
             1 of 4 accepted writes"
        );
        assert_eq!(of(&[]).per_run(), 0.0);
    }

    #[test]
    fn parts_add_up_to_the_whole() {
        let mut parts = of(&[(4, 1, 1)]);
        parts.merge(of(&[(6, 0, 3), (0, 2, 0)]));
        assert_eq!(parts, of(&[(0, 2, 0), (6, 0, 3), (4, 1, 1)]));
    }
}
