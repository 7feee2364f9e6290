//! The parts in which a stage of some work is done, and what a shard has of it.

use std::ops::Range;

/// A job has at most this many parts, and as many as [`MOST_OF_A_SHARD`] say: each is a place to remember
/// when shards are joined.
const MOST_PARTS: u64 = 500;

/// In how many parts a shard has its seeds of a job at most: an interruption loses a fiftieth of them.
const MOST_OF_A_SHARD: u64 = 50;

/// With a budget of time, every round of further seeds is this share of those before.
const ROUND: u64 = 8;

/// Some of the runs of an experiment.
#[derive(Debug, Clone, Copy)]
pub struct Stage {
    /// Its name in the ledger.
    pub name: &'static str,
    /// What is being done, for people: `sweeping`.
    pub doing: &'static str,
    /// What a shard has.
    pub by: By,
    /// Whether further seeds are run while there is time.
    pub rounds: Rounds,
    /// The seeds of one part of a job, which is what an interruption loses at most.
    pub part: u64,
    /// The runs that a seed stands for.
    pub runs_each: u64,
}

impl Stage {
    /// Simulated runs, of which a shard has some seeds of every job; further ones while there is
    /// time.
    pub const SIMULATED: Stage = Stage {
        name: "runs",
        doing: "running",
        by: By::Seeds,
        rounds: Rounds::WhileThereIsTime,
        part: 2_000,
        runs_each: 1,
    };

    /// Runs on real servers, which take seconds each.
    pub const REAL: Stage = Stage {
        doing: "running on real servers",
        part: 1,
        ..Stage::SIMULATED
    };
}

/// What a shard has of a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// Some seeds of every job.
    Seeds,
    /// All seeds of some jobs, which it can judge by itself.
    Job,
}

/// Whether further seeds are run while there is time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rounds {
    /// These seeds only.
    One,
    /// Further seeds, until the budget is over.
    WhileThereIsTime,
}

/// The parts of some jobs, in their order. They are computed when they are asked for: a shard of a
/// thousand has every thousandth.
#[derive(Debug)]
pub struct Parts<'a> {
    seeds: &'a [Range<u64>],
    /// Of each job, the place of its first part, and how many seeds a part has.
    jobs: Vec<(usize, u64)>,
    /// How many parts there are.
    pub count: usize,
}

impl<'a> Parts<'a> {
    /// Cuts jobs with these seeds.
    pub fn of(seeds: &'a [Range<u64>], stage: &Stage, shards: u64) -> Self {
        let mut count = 0;
        let cut = |seeds: &Range<u64>| {
            let all = length(seeds);
            let most = match stage.by {
                By::Seeds => MOST_PARTS.max(MOST_OF_A_SHARD.saturating_mul(shards)),
                By::Job => MOST_PARTS,
            };
            let mut size = stage.part.max(all.div_ceil(most));
            if stage.by == By::Seeds {
                // So that every shard has some.
                size = size.min(all.div_ceil(shards));
            }
            let (first, size) = (count, size.max(1));
            count += all.div_ceil(size) as usize;
            (first, size)
        };
        let jobs = seeds.iter().map(cut).collect();
        Parts { seeds, jobs, count }
    }

    /// The job of the part at this place, and its seeds.
    pub fn get(&self, place: usize) -> (usize, Range<u64>) {
        // Jobs without seeds have no part: the last job that begins here or before has it.
        let job = self.jobs.partition_point(|(first, _)| *first <= place) - 1;
        let (first, size) = self.jobs[job];
        let all = &self.seeds[job];
        let begin = all.start + (place - first) as u64 * size;
        (job, begin..begin.saturating_add(size).min(all.end))
    }
}

/// The seeds of the round that follows these, which is a share of them: there are few rounds, and
/// little is lost with the last one.
pub fn further(so_far: &Range<u64>) -> Range<u64> {
    let more = length(so_far).div_ceil(ROUND);
    so_far.end..so_far.end.saturating_add(more)
}

/// The number of seeds.
pub fn length(seeds: &Range<u64>) -> u64 {
    seeds.end.saturating_sub(seeds.start)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Shard;

    #[test]
    fn every_seed_is_in_one_part_and_every_shard_has_some() {
        let seeds = [0..10, 5..5, 7..8, 100..5_000_100, 0..0];
        for shards in [1, 2, 7] {
            let cut = Parts::of(&seeds, &Stage::SIMULATED, shards);
            let parts: Vec<_> = (0..cut.count).map(|place| cut.get(place)).collect();
            for (job, all) in seeds.iter().enumerate() {
                let mut next = all.start;
                let own = parts.iter().filter(|(other, _)| *other == job);
                for (_, part) in own {
                    assert_eq!(part.start, next, "{job} in {shards}");
                    next = part.end;
                }
                assert_eq!(next, all.end, "{job} in {shards}");
            }
            for number in 1..=shards as usize {
                let shard = Shard {
                    number,
                    of: shards as usize,
                };
                let own = (0..parts.len()).filter(|place| shard.has(*place)).count();
                assert!(own > 0, "{shard}");
            }
        }
    }

    /// A shard of a thousand has as many parts as it takes to lose little when it is killed.
    #[test]
    fn many_shards_have_many_parts_each() {
        let seeds = [0..10_000_000_000, 0..1];
        for (shards, expected) in [(1, 501), (8, 501), (1000, 50_001)] {
            assert_eq!(Parts::of(&seeds, &Stage::SIMULATED, shards).count, expected);
        }
        let whole_jobs = Stage {
            by: By::Job,
            ..Stage::SIMULATED
        };
        assert_eq!(Parts::of(&seeds, &whole_jobs, 1000).count, 501);
    }

    #[test]
    fn further_rounds_follow_without_a_gap_and_grow() {
        assert_eq!(further(&(0..302)), 302..340);
        assert_eq!(further(&(0..340)), 340..383);
        assert_eq!(further(&(5..6)), 6..7);
        assert_eq!(further(&(10..10)), 10..10);
    }
}
