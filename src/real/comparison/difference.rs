//! The difference of two rates, and what it comes to: it lies within a bound, outside of it, or there
//! are too few runs to tell.

use locklab_evidence::{Interval, Level, Pairs, Rate, difference, same_rate};

use super::{Criteria, Finding};

/// The most runs of a scenario that a comparison makes.
pub const MOST_RUNS: u64 = 10_000;

/// Two rates, by what they are compared with: real less simulated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Difference {
    /// Runs of one seed: the simulated one is first.
    Paired(Pairs),
    /// Samples that share nothing.
    Separate {
        /// Simulated runs of other seeds.
        world: Rate,
        /// Real runs.
        real: Rate,
    },
}

impl Difference {
    /// The interval of the difference.
    pub(super) fn interval(self, level: Level) -> Interval {
        match self {
            Difference::Paired(pairs) => pairs.difference(level),
            Difference::Separate { world, real } => difference(world, real, level),
        }
    }

    /// The p-value of equal rates.
    pub(super) fn same_rate(self) -> f64 {
        match self {
            Difference::Paired(pairs) => pairs.same_rate(),
            Difference::Separate { world, real } => same_rate(world, real),
        }
    }

    /// What the intervals say. The one at 95 % lies within the joint one, so that they never say both.
    pub(super) fn finding(self, criteria: Criteria) -> Finding {
        let bound = criteria.within;
        let (single, joint) = (self.interval(Level::SINGLE), self.interval(criteria.joint));
        match () {
            () if joint.low > bound || joint.high < -bound => Finding::Differ,
            () if single.high.max(-single.low) <= bound => Finding::Equivalent,
            () => Finding::Unclear,
        }
    }

    /// About how many real runs would decide, if all had results in these proportions. `None` if these
    /// do, if there are none, or if more would be needed than a comparison makes.
    pub(super) fn deciding_runs(self, criteria: Criteria) -> Option<u64> {
        let runs = self.real_runs();
        let is_decided = |runs| self.of(runs).finding(criteria) != Finding::Unclear;
        if runs == 0 || is_decided(runs) {
            return None;
        }
        // A twentieth more each time: the next that is decided too, so that rounding does not decide.
        let more = |runs: &u64| Some(runs + 1 + runs / 20);
        let steps = std::iter::successors(more(&runs), more);
        let mut steps = steps.take_while(|runs| *runs <= MOST_RUNS);
        steps.find(|runs| is_decided(*runs) && more(runs).is_some_and(is_decided))
    }

    fn real_runs(self) -> u64 {
        match self {
            Difference::Paired(pairs) => pairs.count(),
            Difference::Separate { real, .. } => real.runs,
        }
    }

    /// This many real runs in the same proportions; of simulated ones there are at least as many.
    pub(super) fn of(self, runs: u64) -> Difference {
        let before = self.real_runs();
        let part = |count: u64| (count * runs + before / 2) / before;
        match self {
            Difference::Paired(pairs) => Difference::Paired(Pairs {
                both: part(pairs.both),
                only_first: part(pairs.only_first),
                only_second: part(pairs.only_second),
                neither: part(pairs.neither),
            }),
            Difference::Separate { world, real } => {
                let simulated = world.runs.max(runs);
                let of_world = world.violated * simulated + world.runs / 2;
                Difference::Separate {
                    world: Rate {
                        violated: of_world.checked_div(world.runs).unwrap_or(0),
                        runs: simulated,
                    },
                    real: Rate {
                        violated: part(real.violated),
                        runs,
                    },
                }
            }
        }
    }
}

impl Criteria {
    /// After how many runs rates can be found to differ: if every simulated run violates a property
    /// and no real one does, or the reverse. In pairs, since separate samples need fewer: the
    /// simulated one is not smaller where they are chosen.
    pub fn fewest_runs(self) -> u64 {
        let opposite = |runs| {
            Difference::Paired(Pairs {
                only_second: runs,
                ..Pairs::default()
            })
        };
        let differs = |runs: &u64| opposite(*runs).finding(self) == Finding::Differ;
        (1..MOST_RUNS).find(differs).unwrap_or(MOST_RUNS)
    }
}
