//! Long work whose finished cells are kept in a file: after Ctrl-C the same command does the rest.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;
use serde::Serialize;
use serde_json::json;
use xxhash_rust::xxh3::xxh3_64;

use super::progress::Progress;
use super::say::tell;
use locklab_evidence::thousands;
use locklab_results::recording::VERSION;
use locklab_results::{Cell, Detail, FORMAT};
use locklab_runner::batch::{self, BatchOptions, Job};
use locklab_runner::ledger::{self, Ledger};
use locklab_runner::pool::{Broken, lock};

/// The work: a cell for each job.
pub(super) struct Work<'a> {
    pub jobs: &'a [Job],
    /// What is being done: `sweeping`.
    pub doing: &'static str,
    pub threads: usize,
    pub detail: Detail,
    /// Set by Ctrl-C.
    pub stop: &'a AtomicBool,
    /// The error for a run without a result; its `job` is the place in `jobs`.
    pub bug: &'a dyn Fn(Broken) -> anyhow::Error,
}

impl Work<'_> {
    /// Does the work, and keeps finished cells in `path` as long as it is incomplete; `None` if it
    /// was interrupted, which is said.
    pub(super) fn finish(&self, path: &Path) -> anyhow::Result<Option<Vec<Cell>>> {
        Ok(self.resume(path)?.into_iter().collect())
    }

    /// The same, with the cells that were finished if it was interrupted.
    pub(super) fn resume(&self, path: &Path) -> anyhow::Result<Vec<Option<Cell>>> {
        let cells = self.run(path, &self.header()?, false)?;
        let runs = |job: &Job| job.seeds.end - job.seeds.start;
        let finished = self.jobs.iter().zip(&cells);
        let finished = finished.filter_map(|(job, cell)| cell.as_ref().map(|_| runs(job)));
        match cells.iter().all(Option::is_some) {
            true => remove(path)?,
            false => tell_stopped(finished.sum(), self.jobs.iter().map(runs).sum()),
        }
        Ok(cells)
    }

    /// Does what `path` does not have yet, and adds to it each cell that is finished. What was
    /// kept with another `header`, or in any case if `fresh`, is discarded. A cell that was not
    /// finished is `None`.
    pub(super) fn run(
        &self,
        path: &Path,
        header: &str,
        fresh: bool,
    ) -> anyhow::Result<Vec<Option<Cell>>> {
        let (ledger, mut done) = Ledger::open(path, header, fresh)
            .with_context(|| format!("cannot keep results in {}", path.display()))?;
        if !done.is_empty() {
            let runs = |job: &Job| job.seeds.end - job.seeds.start;
            let made: u64 = done.keys().map(|place| runs(&self.jobs[*place])).sum();
            let all: u64 = self.jobs.iter().map(runs).sum();
            let (made, all) = (thousands(made), thousands(all));
            tell!("  {made} of {all} runs were already made");
        }
        done.extend(self.rest(&done, ledger)?);
        Ok((0..self.jobs.len())
            .map(|place| done.remove(&place))
            .collect())
    }

    /// The cells that are not done yet, by their places.
    fn rest(
        &self,
        done: &BTreeMap<usize, Cell>,
        ledger: Ledger,
    ) -> anyhow::Result<BTreeMap<usize, Cell>> {
        let open = (0..self.jobs.len()).filter(|place| !done.contains_key(place));
        let open: Vec<usize> = open.collect();
        let rest: Vec<Job> = open.iter().map(|place| self.jobs[*place].clone()).collect();
        let runs = rest.iter().map(|job| job.seeds.end - job.seeds.start).sum();
        let progress = Progress::new(self.doing, runs);
        let ledger = Mutex::new(ledger);
        let failed = Mutex::new(None);
        let batch_options = BatchOptions {
            threads: self.threads,
            detail: self.detail,
            stop: self.stop,
            progress: &|runs| progress.add(runs),
            finished: &|place, cell| {
                if let Err(error) = lock(&ledger).add(open[place], cell) {
                    lock(&failed).get_or_insert(error);
                    self.stop.store(true, Ordering::Relaxed);
                }
            },
        };
        let cells = batch::run(&rest, &batch_options);
        progress.clear();
        if let Some(error) = lock(&failed).take() {
            return Err(error).context("cannot save a finished cell");
        }
        let cells = cells.map_err(|broken| {
            (self.bug)(Broken {
                job: open[broken.job],
                ..broken
            })
        })?;
        let cells = open.iter().copied().zip(cells);
        Ok(cells
            .filter_map(|(place, cell)| Some((place, cell?)))
            .collect())
    }

    /// Identifies the jobs, and the build that does them.
    fn header(&self) -> anyhow::Result<String> {
        let job = |job: &Job| {
            json!([
                job.scenario.name,
                job.scenario.overrides,
                job.scenario,
                job.parameters,
                [job.seeds.start, job.seeds.end],
            ])
        };
        let jobs: Vec<_> = self.jobs.iter().map(job).collect();
        header(&(self.detail, jobs))
    }
}

/// Says that there is more to do.
pub(super) fn tell_stopped(done: u64, all: u64) {
    tell!(
        "stopped after {} of {} runs; the same command does the rest",
        thousands(done),
        thousands(all)
    );
}

/// The first line of a file of finished parts: what makes them, and of what.
pub(super) fn header(work: &impl Serialize) -> anyhow::Result<String> {
    let build = ledger::this_build().context("cannot read this program's own file")?;
    let header = json!({
        "locklab": VERSION,
        "format": FORMAT,
        "build": format!("{build:016x}"),
        "work": format!("{:016x}", xxh3_64(json!(work).to_string().as_bytes())),
    });
    Ok(header.to_string())
}

/// Removes a file of finished parts, when all are.
pub(super) fn remove(path: &Path) -> anyhow::Result<()> {
    match fs::remove_file(path) {
        // Another command that did the same in this folder was faster.
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed.with_context(|| format!("cannot remove {}", path.display())),
    }
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;
    use locklab_model::scenario::load;

    fn jobs() -> Vec<Job> {
        let job = |name| Job {
            scenario: load(name, &[]).expect("it ships"),
            parameters: vec![],
            seeds: 0..3,
        };
        ["kleppmann/k1", "kleppmann/k5", "kleppmann/k9"]
            .map(job)
            .into()
    }

    fn work<'a>(jobs: &'a [Job], stop: &'a AtomicBool) -> Work<'a> {
        Work {
            jobs,
            doing: "testing",
            threads: 1,
            detail: Detail::Counts,
            stop,
            bug: &|broken| anyhow!("{:?}", broken.why),
        }
    }

    #[test]
    fn what_was_finished_before_is_not_run_again_and_the_whole_is_the_same() {
        let folder = std::env::temp_dir().join(format!("locklab-work-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("the temporary folder can be written");
        let path = folder.join("work.jsonl");
        let (jobs, go) = (jobs(), AtomicBool::new(false));
        let whole = work(&jobs, &go).finish(&path).expect("it runs");
        assert!(!path.exists());

        // As if it was interrupted after the second cell, whose result is marked.
        let header = work(&jobs, &go).header().expect("it can be read");
        let (mut kept, _) = Ledger::open::<Cell>(&path, &header, true).expect("it opens");
        let mut marked = whole.as_ref().expect("it was finished")[1].clone();
        marked.fingerprint ^= 1;
        kept.add(1, &marked).expect("it is written");
        let resumed = work(&jobs, &go).finish(&path).expect("it runs");
        let mut expected = whole.clone().expect("it was finished");
        expected[1] = marked;
        assert_eq!(resumed, Some(expected));

        // Other jobs begin anew.
        let (mut kept, _) = Ledger::open::<Cell>(&path, &header, true).expect("it opens");
        kept.add(0, &Cell::default()).expect("it is written");
        let fewer = work(&jobs[..2], &go).finish(&path).expect("it runs");
        assert_eq!(fewer.as_deref(), whole.as_deref().map(|cells| &cells[..2]));
        fs::remove_dir_all(&folder).expect("is ours");
    }

    #[test]
    fn work_that_was_stopped_keeps_its_file() {
        let path = std::env::temp_dir().join(format!("locklab-stopped-{}", std::process::id()));
        let (jobs, stopped) = (jobs(), AtomicBool::new(true));
        assert_eq!(work(&jobs, &stopped).finish(&path).expect("it ends"), None);
        assert!(path.exists());
        fs::remove_file(&path).expect("is ours");
    }
}
