//! What work keeps, resumes and joins.

use anyhow::anyhow;

use std::path::Path;
use std::sync::atomic::AtomicU64;

use serde::Deserialize;

mod budget;

use super::*;
use crate::ledger::{COMPACT_AFTER, Line, each_line};
use crate::test_session::Bench;
use crate::{Shard, Stop};
use locklab_model::scenario::load;

impl Bench {
    fn work(&self) -> Work<'_> {
        Work::begin(&self.0, &self.0.store, "work", &"some work").expect("it begins")
    }

    fn cells(&self, work: &Work<'_>) -> Vec<Made<Cell>> {
        let stage = Stage {
            part: 2,
            ..Stage::SIMULATED
        };
        let bug = |broken: Broken| anyhow!(broken);
        work.cells(&stage, &jobs(), Detail::Counts, &bug)
            .expect("it runs")
    }
}

fn jobs() -> Vec<Job> {
    let job = |name| Job::of(&load(name, &[]).expect("it ships"), 0..3);
    ["kleppmann/k1", "kleppmann/k5"].map(job).into()
}

#[test]
fn a_finished_part_is_not_run_again_and_the_whole_is_the_same() {
    let bench = Bench::new("resume");
    let work = bench.work();
    let whole = bench.cells(&work);
    assert_eq!(work.end(false).expect("it ends"), Ended::Whole);
    assert!(!bench.0.store.path("work.jsonl").exists());

    // As if it was interrupted after the second part, whose result is marked.
    let work = bench.work();
    let mut marked = Cell::default();
    jobs()[0]
        .add(2, Detail::Counts, &mut marked)
        .expect("it runs");
    marked.fingerprint = marked.fingerprint.wrapping_add(1);
    let part = Kept {
        parts: Places::one(1),
        runs: 1,
        result: marked,
    };
    let added = lock(&work.ledger).add(part.done("runs").expect("it is JSON"));
    added.expect("it is written");
    drop(work);
    let work = bench.work();
    let mut expected = whole;
    let fingerprint = &mut expected[0].result.fingerprint;
    *fingerprint = fingerprint.wrapping_add(1);
    assert_eq!(bench.cells(&work), expected);
}

#[test]
fn stopped_work_keeps_its_ledger() {
    static STOPPED: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(true);
    let mut bench = Bench::new("stopped");
    bench.0.stop = Stop::by_user(&STOPPED);
    let work = bench.work();
    assert!(bench.cells(&work).iter().all(|made| made.runs == 0));
    let ended = work.end(false).expect("it ends");
    assert!(matches!(ended, Ended::Interrupted(_)), "{ended:?}");
    assert!(bench.0.store.path("work.jsonl").exists());
}

/// A number, of which a job has the sum.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Number(pub u64);

impl Part for Number {
    fn join(&mut self, other: Self) {
        self.0 += other.0;
    }

    fn why_not(&self, runs: u64) -> Option<String> {
        (self.0 != runs).then(|| format!("{} is not {runs}", self.0))
    }
}

/// Runs of which each counts one, in shards of parts of so many runs; returns the ledger.
fn shard(bench: &mut Bench, shard: Shard, seeds: &[Range<u64>]) -> PathBuf {
    bench.0.shard = Some(shard);
    let work = bench.work();
    let path = work.path.clone();
    sums(&work, seeds).expect("they are made");
    assert!(matches!(work.end(false), Ok(Ended::Shard(_))));
    path
}

fn sums(work: &Work<'_>, seeds: &[Range<u64>]) -> anyhow::Result<Vec<Made<Number>>> {
    let stage = Stage {
        part: 2,
        ..Stage::SIMULATED
    };
    let run = |_, _, sum: &mut Number| {
        sum.0 += 1;
        Ok::<(), String>(())
    };
    let bug = |broken: Broken| anyhow!(broken);
    work.runs(&stage, seeds, 1, run, &bug)
}

/// What the ledgers of these shards are joined to.
fn joined(paths: &[PathBuf], seeds: &[Range<u64>]) -> anyhow::Result<Vec<u64>> {
    let mut bench = Bench::new("joined");
    bench.0.joined = paths.to_vec();
    let work = Work::begin(&bench.0, &bench.0.store, "work", &"some work")?;
    let made = sums(&work, seeds)?;
    Ok(made.into_iter().map(|made| made.result.0).collect())
}

/// Changes the text of a ledger, and mends the sums of its lines, as somebody can who wants to.
fn forge(path: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(path).expect("it is there");
    assert!(text.contains(from), "{text}");
    let mended = text.lines().map(|line| {
        let rest = line.split_once("\",").expect("a sum").1.replace(from, to);
        let sum = xxhash_rust::xxh3::xxh3_64(rest.as_bytes());
        format!("{{\"sum\":\"{sum:016x}\",{rest}\n")
    });
    fs::write(path, mended.collect::<String>()).expect("it can be written");
}

#[test]
fn a_shard_cannot_claim_what_it_cannot_have_made() {
    let seeds = [0..10, 0..4];
    for (from, to, told) in [
        ("", "", ""),
        // More than it ran, or as many of other parts.
        ("\"result\":6", "\"result\":7", ":3: 7 is not 6"),
        (
            "\"runs\":6,",
            "\"runs\":7,",
            ":3: its parts have 6 runs, not 7",
        ),
        ("[[0,3,2]]", "[[0,2,2]]", ":3: its parts have 4 runs, not 6"),
        ("[[0,3,2]]", "[[0,5,1]]", ":3: part 1 is of another shard"),
        ("[[0,3,2]]", "[[0,4,2]]", ":3: there is no such part"),
        ("[[6,1,1]]", "[[60,1,1]]", ":4: there is no such part"),
        ("[[6,1,1]]", "[[0,1,1]]", ":4: part 0 is there twice"),
        // A part that is left out is missing.
        (
            "\"stage\":\"runs\",\"parts\":[[6",
            "\"stage\":\"walks\",\"parts\":[[6",
            "shard 1/2 is not finished: 1 of 7 parts",
        ),
    ] {
        let mut bench = Bench::new("forged");
        let shards = [1, 2].map(|number| Shard { number, of: 2 });
        let paths = shards.map(|it| shard(&mut bench, it, &seeds));
        if from.is_empty() {
            assert_eq!(joined(&paths, &seeds).expect("they are whole"), [10, 4]);
            continue;
        }
        forge(&paths[0], from, to);
        let error = joined(&paths, &seeds).expect_err(told).to_string();
        assert!(error.contains(told), "{from} as {to}: {error}");
        // The shard itself does what it does not accept again.
        let again = shard(&mut bench, shards[0], &seeds);
        let paths = [again, paths[1].clone()];
        assert_eq!(joined(&paths, &seeds).expect("it was mended"), [10, 4]);
    }
}

#[test]
fn a_ledger_grows_with_the_jobs_and_not_with_the_parts() {
    let bench = &mut Bench::new("bounded");
    bench.0.shard = Some(Shard { number: 2, of: 3 });
    let work = bench.work();
    let size = || fs::metadata(&work.path).expect("it is there").len();
    // A result of a kilobyte, as that of a scenario with ten properties.
    let mut cell = Cell::default();
    jobs()[0]
        .add(0, Detail::Counts, &mut cell)
        .expect("it runs");
    let stage = Stage {
        part: 1,
        ..Stage::SIMULATED
    };
    let seeds = vec![0..500; 40];
    let (largest, parts) = (AtomicU64::new(0), AtomicU64::new(0));
    let run = |_, _, all: &mut Cell| {
        largest.fetch_max(size(), Ordering::Relaxed);
        parts.fetch_add(1, Ordering::Relaxed);
        all.merge(cell.clone());
        Ok::<(), String>(())
    };
    let bug = |broken: Broken| anyhow!(broken);
    work.runs(&stage, &seeds, 1, run, &bug).expect("it runs");
    let compact = size();
    let line = serde_json::to_string(&cell).expect("it is JSON").len() as u64;
    let (largest, parts) = (largest.into_inner(), parts.into_inner());
    assert!(parts * line > 5 * COMPACT_AFTER, "{parts} parts of {line}");
    // A line for each job, with a few larger numbers; beside the header and the plan.
    assert!(compact < 1000 + 40 * (line + 200), "{compact}");
    assert!(largest < COMPACT_AFTER + 2 * compact, "{largest}");
    let mut lines = 0;
    each_line(&work.path, |_, line| {
        lines += u64::from(matches!(line, Line::Done(_)));
        Ok(())
    })
    .expect("it is whole");
    assert_eq!(lines, 40);
}

#[test]
fn a_shard_killed_at_any_byte_of_its_ledger_comes_to_the_same() {
    let seeds = [0..10, 0..4];
    let mut bench = Bench::new("any-byte");
    let shards = [1, 2].map(|number| Shard { number, of: 2 });
    let paths = shards.map(|it| shard(&mut bench, it, &seeds));
    let whole = fs::read(&paths[0]).expect("it is there");
    // As many as a test has time for, at the beginning, within and at the end of every line.
    for length in (0..=whole.len()).step_by(11) {
        fs::write(&paths[0], &whole[..length]).expect("it can be written");
        shard(&mut bench, shards[0], &seeds);
        let again = fs::read(&paths[0]).expect("it is there");
        assert!(again == whole, "after {length} bytes");
    }
    assert_eq!(joined(&paths, &seeds).expect("they are whole"), [10, 4]);
}
