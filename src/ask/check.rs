//! How a suite is run and what comes of it: cases again and again, against a baseline, with the known mistakes of locks.

use std::fs;
use std::ops::Range;
use std::process::Command;

use anyhow::{Context, anyhow, ensure};
use serde::Serialize;
use xxhash_rust::xxh3::xxh3_64;

pub(crate) mod compare;
pub(crate) mod mutants;
pub(crate) mod options;
mod outcome;
pub mod suite;

use crate::check::suite::{Case, CaseResult, Filter, Results};
use crate::run::twice::{self, Differences};
use locklab_lab::bug::Bug;
use locklab_lab::output::status;
use locklab_lab::parts::{By, Rounds, Stage};
use locklab_lab::report::Report;
use locklab_lab::work::{Made, Work};
use locklab_lab::{Exit, Experiment, Reports, Session, Store, execute};
use locklab_results::{Cell, Detail, recording};
use locklab_runner::batch::Job;
use locklab_runner::pool::{Broken, Why};
use locklab_runner::simulate::Keep;

/// With how many seeds every scenario runs twice.
const TWICE: u64 = 2;

/// A suite to check.
pub struct Check {
    cases: Vec<Case>,
    first_seed: u64,
    /// Shrink the runs that show why something differs.
    is_shrinking: bool,
    /// Keep the result under this name.
    save_baseline: Option<String>,
    /// The result to compare with, and its name.
    baseline: Option<(String, Results)>,
}

/// What is checked, and what it is compared with.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Scenarios, recordings, and folders of both; see [`crate::check::suite::find`].
    pub paths: Vec<String>,
    /// Every scenario that ships, and no paths.
    pub all: bool,
    /// Only the cases for which this is true.
    pub filter: Option<Filter>,
    /// Take seeds from this commit, or from any text, instead of 0, 1, 2, …
    pub seed_from: Option<String>,
    /// Shrink the runs that show why something differs.
    pub is_shrinking: bool,
    /// Keep the result under this name.
    pub save_baseline: Option<String>,
    /// Compare with the result that has this name.
    pub baseline: Option<String>,
}

impl Check {
    /// Finds the cases of a suite, and the baseline in the folder of results.
    ///
    /// # Errors
    ///
    /// If a path cannot be read, there is no case, no such baseline, or no such commit.
    pub fn plan(options: Options, store: &Store) -> anyhow::Result<Check> {
        let mut cases = match options.all {
            true => suite::shipped()?,
            false => suite::find(&options.paths)?,
        };
        if let Some(filter) = &options.filter {
            cases.retain(|case| filter.accepts(&case.scenario));
        }
        ensure!(!cases.is_empty(), "no scenario or recording matches");
        let folder = store.below("check")?;
        let baseline = { options.baseline }.map(|name| read_baseline(&folder, name));
        Ok(Check {
            cases,
            first_seed: first_seed(options.seed_from.as_deref())?,
            is_shrinking: options.is_shrinking,
            save_baseline: options.save_baseline,
            baseline: baseline.transpose()?,
        })
    }

    /// What is checked.
    pub fn cases(&self) -> &[Case] {
        &self.cases
    }

    /// The first seed of every case.
    pub fn first_seed(&self) -> u64 {
        self.first_seed
    }

    /// The seeds of every case: as many as `seeds` says of a case that is a scenario, or of one that
    /// is a recording.
    fn seeds(&self, seeds: impl Fn(&Case) -> u64) -> Vec<Range<u64>> {
        let first = self.first_seed;
        let cases = self.cases.iter();
        cases.map(|case| first..first + seeds(case)).collect()
    }

    /// What came of the suite, with a recorded run for each failure.
    fn judged(&self, made: &Checked, session: &Session, folder: &Store) -> anyhow::Result<Results> {
        let mut results = Results {
            shard: session.shard.map(|shard| shard.to_string()),
            suite: self.cases.len(),
            first_seed: self.first_seed,
            program: session.program.name().into(),
            cases: vec![],
        };
        for (place, case) in self.cases.iter().enumerate() {
            if session.shard.is_some_and(|shard| !shard.has(place)) {
                continue;
            }
            let mut result = CaseResult::of(place, case);
            match &case.recording {
                Some(recorded) if made.recorded[place].runs > 0 => {
                    result.judge_again(case, recorded, &made.recorded[place].result);
                }
                Some(_) => {}
                None => {
                    let twice = &made.twice[place];
                    result.repeated = twice.runs;
                    let difference = twice.result.0.first_key_value();
                    result.unlike = difference
                        .map(|(seed, difference)| format!("seed {seed}, run twice: {difference}"));
                    let Made {
                        result: cell, runs, ..
                    } = &made.runs[place];
                    result.judge(case, cell.clone(), *runs);
                }
            }
            let shrinking = self.is_shrinking.then_some(session);
            outcome::explain(case, &mut result, folder, shrinking)?;
            results.cases.push(result);
        }
        Ok(results)
    }
}

/// The runs of a suite, by case.
pub struct Checked {
    /// The recordings, repeated.
    recorded: Vec<Made<Cell>>,
    /// Scenarios that were run twice with a few seeds.
    twice: Vec<Made<Differences>>,
    /// Scenarios with as many seeds as their predictions need.
    runs: Vec<Made<Cell>>,
}

impl Experiment for Check {
    const NAME: &'static str = "check";
    const REPORTS: Reports = Reports::Shards;
    type Results = Checked;

    fn folder(&self, store: &Store) -> anyhow::Result<Store> {
        store.below("check")
    }

    fn identity(&self) -> impl Serialize {
        let case = |case: &Case| {
            let recording = case
                .recording
                .as_ref()
                .map(|run| xxh3_64(&recording::write(run)));
            (case.id.clone(), case.scenario.clone(), recording)
        };
        (
            self.first_seed,
            self.cases.iter().map(case).collect::<Vec<_>>(),
        )
    }

    fn run(&self, work: &Work<'_>) -> anyhow::Result<Checked> {
        let session = work.session();
        let bug = |broken: Broken| {
            let id = &self.cases[broken.job].id;
            let reproduce = session.program.run_line(id, &[], broken.seed);
            Bug::or_usage(broken, id, reproduce)
        };
        let stage = |name, doing, rounds| Stage {
            name,
            doing,
            rounds,
            by: By::Job,
            ..Stage::SIMULATED
        };
        let recorded = work.runs(
            &stage("recorded", "repeating", Rounds::One),
            &self.seeds(|case| u64::from(case.recording.is_some())),
            session.threads,
            |place: usize, _, cell: &mut Cell| match &self.cases[place].recording {
                Some(recorded) => {
                    let run = outcome::again(&self.cases[place], recorded, Keep::default())?;
                    cell.add(recorded.header.seed, &run.judged());
                    Ok::<(), anyhow::Error>(())
                }
                None => Ok(()),
            },
            &|broken| match broken.why {
                Why::Failed(error) => anyhow!(error),
                Why::Panicked(_) => bug(broken),
            },
        )?;
        let scenarios: Vec<_> = self
            .cases
            .iter()
            .map(|case| case.scenario.clone())
            .collect();
        let is_scenario = |case: &Case| u64::from(case.recording.is_none());
        let twice = twice::differences(
            work,
            &stage("twice", "running twice", Rounds::One),
            &scenarios,
            &self.seeds(|case| TWICE * is_scenario(case)),
            &bug,
        )?;
        let seeds = self.seeds(|case| is_scenario(case) * case.scenario.usual_seeds());
        let jobs = scenarios.iter().zip(seeds);
        let jobs: Vec<Job> = jobs
            .map(|(scenario, seeds)| Job::of(scenario, seeds))
            .collect();
        let stage = stage("runs", "checking", Rounds::WhileThereIsTime);
        let runs = work.cells(&stage, &jobs, Detail::Counts, &bug)?;
        Ok(Checked {
            recorded,
            twice,
            runs,
        })
    }

    fn report(&self, made: Checked, session: &Session, folder: &Store) -> anyhow::Result<Report> {
        let results = self.judged(&made, session, folder)?;
        let exit = Exit::of(results.judgement());
        outcome::github(&results, session.stdout)?;
        let mut report = outcome::report(&results, session, folder, exit)?;
        if let Some(name) = &self.save_baseline {
            let text = serde_json::to_vec_pretty(&report.document)?;
            let path = folder.write(&format!("baseline-{name}.json"), &text)?;
            report.closing += &format!("  saved as baseline {name}: {}\n", path.display());
        }
        if let Some((name, before)) = &self.baseline {
            let heading = format!("compared with baseline {name}");
            let comparison = crate::check::suite::compare(before, &results);
            report.closing += &compare::describe(&heading, &comparison);
        }
        report.closing.truncate(report.closing.trim_end().len());
        Ok(report)
    }
}

impl Check {
    /// Runs the suite, publishes its report, and returns what came of it.
    ///
    /// # Errors
    ///
    /// If a case has no result, or a file cannot be written.
    pub fn results(&self, session: &Session) -> anyhow::Result<Results> {
        let (report, _) = execute(self, session)?;
        let report = report.context("a suite has a report")?;
        report.publish(session.stdout)?;
        Ok(serde_json::from_value(report.document)?)
    }
}

/// The seed with which every scenario begins: 0, or one derived from what `from` names: a commit, or
/// any text after `text:`. A commit's full id needs no repository.
fn first_seed(from: Option<&str>) -> anyhow::Result<u64> {
    let Some(from) = from else { return Ok(0) };
    let id = match from.strip_prefix("text:") {
        Some(text) => text.to_owned(),
        None => commit(from).with_context(|| {
            format!(
                "--seed-from {from}: git finds no such commit here; write one that it finds, such as \
                 HEAD in a repository, the full id of one, or any text after `text:`"
            )
        })?,
    };
    // Far from the largest seed, and short enough to be typed.
    let seed = xxh3_64(id.trim().as_bytes()) >> 24;
    status!("seeds from {seed} on, derived from {}", id.trim());
    Ok(seed)
}

/// The id of a commit.
fn commit(name: &str) -> Option<String> {
    let commit = format!("{name}^{{commit}}");
    let asked = Command::new("git")
        .args([
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            &commit,
        ])
        .output();
    if let Ok(asked) = asked
        && asked.status.success()
    {
        return Some(String::from_utf8_lossy(&asked.stdout).trim().to_owned());
    }
    let is_id = matches!(name.len(), 40 | 64) && name.bytes().all(|b| b.is_ascii_hexdigit());
    is_id.then(|| name.to_owned())
}

/// A baseline, with its name.
fn read_baseline(folder: &Store, name: String) -> anyhow::Result<(String, Results)> {
    let path = folder.path(&format!("baseline-{name}.json"));
    let text = fs::read_to_string(&path).with_context(|| {
        format!(
            "cannot read the baseline {}; make it with --save-baseline {name}",
            path.display()
        )
    })?;
    let results = Results::read(&text).with_context(|| path.display().to_string())?;
    Ok((name, results))
}
