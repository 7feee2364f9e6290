//! Tries mutants: with each, the scenarios that reach it run in one process, and the tests that reach it
//! in one process for each binary. A trial that takes too long has noticed it.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, thread};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use crate::binary::Binary;
use crate::plants::{self, Catcher, SCENARIO};
use crate::steps::SEED;
use crate::tool::parallel;

/// The folder in which all runs.
const WORK: &str = "target/mutants/work";

/// The seeds of each scenario, the same for each mutant. With so many, a rate of 0 differs from one of
/// 48 %, by its 99.9 % interval.
pub const SEEDS: u64 = 12;

/// A trial has noticed a mutant if it takes this many times more processor time than without any, and a while more.
const SLOWER: u32 = 3;
const LONGER: Duration = Duration::from_secs(10);

/// How much longer than its limit of processor time a process may take that waits for others.
const PATIENCE: u32 = 20;

/// What takes longer than this without a mutant is left out.
const LONGEST: Duration = Duration::from_secs(30);

/// The distance between mutants that are tried one after the other.
const STRIDE: usize = 13;

/// The seed of random tests: that of CI.
const FIXED_SEED: &str = "20160208";

/// A scenario or a test that reaches a mutant, with the processor time that it takes without one.
type Reaching = (Duration, Catcher);

/// What came of a mutant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// How many scenarios reach it.
    pub scenarios: usize,
    /// Whether one of them notices it.
    pub by_scenario: bool,
    /// How many tests reach it.
    pub tests: usize,
    /// Whether one of them notices it.
    pub by_test: bool,
}

impl Outcome {
    /// Whether nothing notices it.
    pub fn survives(self) -> bool {
        !self.by_scenario && !self.by_test
    }
}

/// What can notice a mutant.
pub struct Trials<'a> {
    pub binaries: &'a BTreeMap<Binary, PathBuf>,
    pub scenarios: Vec<String>,
    /// Whether a binary is to notice the mutant of this number.
    pub may_notice: &'a (dyn Fn(usize, &Binary) -> bool + Sync),
    /// The file with the outcomes so far, a line each.
    pub ledger: PathBuf,
    /// No trial begins after this.
    pub until: Option<Instant>,
}

/// A line of the ledger.
#[derive(Serialize, Deserialize)]
struct Line {
    mutant: usize,
    outcome: Outcome,
}

impl Trials<'_> {
    /// Tries these mutants; those of the ledger are done.
    pub fn run(&self, mutants: &[usize]) -> Result<BTreeMap<usize, Outcome>> {
        fs::create_dir_all(WORK).with_context(|| format!("create {WORK}"))?;
        let mut done = self.read();
        let is_open = |mutant: &usize| !done.contains_key(mutant);
        let mut open: Vec<usize> = mutants.iter().copied().filter(is_open).collect();
        // Those of all files in turn, so that those of a run that ends early are a sample.
        open.sort_by_key(|mutant| (mutant % STRIDE, *mutant));
        if !open.is_empty() && !self.is_over() {
            let reaches = self.reaches()?;
            println!("{} mutants to try, {} tried before", open.len(), done.len());
            let mut ledger = fs::OpenOptions::new();
            let ledger = ledger.create(true).append(true).open(&self.ledger);
            let ledger = ledger.context("open the ledger")?;
            let tried = parallel(&open, 0, |&mutant| -> Result<_> {
                if self.is_over() {
                    return Ok(None);
                }
                let reaching = reaches.get(&mutant).map_or(&[][..], Vec::as_slice);
                let outcome = self.try_one(mutant, reaching)?;
                let line = serde_json::to_string(&Line { mutant, outcome })? + "\n";
                // In one go, so that lines do not mix.
                (&ledger).write_all(line.as_bytes())?;
                Ok(Some((mutant, outcome)))
            });
            for tried in tried {
                done.extend(tried?);
            }
        }
        done.retain(|mutant, _| mutants.contains(mutant));
        Ok(done)
    }

    fn is_over(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until)
    }

    /// The outcomes in the ledger. A line that was cut off is none.
    fn read(&self) -> BTreeMap<usize, Outcome> {
        let text = fs::read_to_string(&self.ledger).unwrap_or_default();
        let lines = text
            .lines()
            .filter_map(|line| serde_json::from_str::<Line>(line).ok());
        lines.map(|line| (line.mutant, line.outcome)).collect()
    }

    fn try_one(&self, mutant: usize, reaching: &[Reaching]) -> Result<Outcome> {
        let mut by_binary: BTreeMap<Binary, Vec<Reaching>> = BTreeMap::new();
        for it in reaching {
            by_binary.entry(it.1.binary()).or_default().push(it.clone());
        }
        let scenarios = by_binary.remove(&runner()).unwrap_or_default();
        let mut outcome = Outcome {
            scenarios: scenarios.len(),
            by_scenario: false,
            tests: by_binary.values().map(Vec::len).sum(),
            by_test: false,
        };
        if !scenarios.is_empty() {
            outcome.by_scenario = self.end_of(mutant, &scenarios, Stdio::null())? != End::Passed;
        }
        for tests in by_binary.values() {
            let said = Path::new(WORK).join(format!("said-{mutant}"));
            let file = fs::File::create(&said);
            let file = file.with_context(|| format!("write {}", said.display()))?;
            outcome.by_test = match self.end_of(mutant, tests, file.into())? {
                End::Passed => false,
                End::TookLong => true,
                // Some tests run real processes. One that fails once by chance has not noticed the mutant.
                End::Failed => {
                    let said = fs::read_to_string(&said).unwrap_or_default();
                    self.end_of(mutant, &again(&said, tests), Stdio::null())? != End::Passed
                }
            };
            if outcome.by_test {
                break;
            }
        }
        Ok(outcome)
    }

    /// What comes of these scenarios, or tests of one binary, with a mutant.
    fn end_of(&self, mutant: usize, reaching: &[Reaching], output: Stdio) -> Result<End> {
        let usual: Duration = reaching.iter().map(|(took, _)| *took).sum();
        let mut command = self.command(reaching);
        command
            .env("LOCKLAB_MUTANT", mutant.to_string())
            .stdout(output);
        Ok(finish(&mut command, LONGER + usual * SLOWER)?.0)
    }

    /// Runs these scenarios, or tests of one binary: the shortest first, since the first that notices a mutant ends
    /// the process.
    fn command(&self, reaching: &[Reaching]) -> Command {
        let mut all = reaching.to_vec();
        all.sort();
        let names: Vec<&str> = all.iter().map(|(_, catcher)| catcher.name()).collect();
        let binary = all[0].1.binary();
        let mut command = command(&self.binaries[&binary]);
        match binary == runner() {
            true => command
                .env(SCENARIO, names.join(" "))
                .env(plants::SEEDS, SEEDS.to_string()),
            false => command.args(["--exact", "--test-threads", "1"]).args(names),
        };
        command
    }

    /// What reaches each mutant. What fails or takes long without any mutant is left out.
    fn reaches(&self) -> Result<BTreeMap<usize, Vec<Reaching>>> {
        let scenarios = self.scenarios.iter().cloned().map(Catcher::Scenario);
        let mut all: Vec<Catcher> = scenarios.collect();
        for (binary, path) in self.binaries.iter().filter(|it| *it.0 != runner()) {
            let mut list = command(path);
            let listed = list
                .args(["--list", "--format", "terse"])
                .stdout(Stdio::piped())
                .output()?;
            let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
            let names = listed
                .lines()
                .filter_map(|line| line.strip_suffix(": test"));
            all.extend(names.map(|name| Catcher::Test(binary.clone(), name.to_owned())));
        }
        let work = fs::canonicalize(WORK)?;
        let numbered: Vec<(usize, &Catcher)> = all.iter().enumerate().collect();
        let ends = parallel(&numbered, 0, |(number, catcher)| -> Result<_> {
            let log = work.join(format!("reached-{number}"));
            let _ = fs::remove_file(&log);
            let mut command = self.command(&[(Duration::ZERO, (*catcher).clone())]);
            command.env("LOCKLAB_MUTANT_REACHED", &log);
            let (end, took) = finish(&mut command, LONGEST)?;
            let text = fs::read_to_string(&log).unwrap_or_default();
            let reached: BTreeSet<usize> =
                text.lines().filter_map(|line| line.parse().ok()).collect();
            Ok((end == End::Passed).then_some((took, reached)))
        });
        let (mut found, mut left_out) = (BTreeMap::<usize, Vec<Reaching>>::new(), Vec::new());
        for (catcher, end) in all.iter().zip(ends) {
            let Some((took, reached)) = end? else {
                left_out.push(catcher.name());
                continue;
            };
            let may_notice = |mutant: &usize| (self.may_notice)(*mutant, &catcher.binary());
            for mutant in reached.into_iter().filter(may_notice) {
                found
                    .entry(mutant)
                    .or_default()
                    .push((took, catcher.clone()));
            }
        }
        if !left_out.is_empty() {
            println!(
                "left out, since they fail or take long without a mutant: {}",
                left_out.join(", ")
            );
        }
        ensure!(
            left_out.len() < all.len(),
            "nothing passes without a mutant"
        );
        Ok(found)
    }
}

/// The binary that runs scenarios.
pub fn runner() -> Binary {
    Catcher::Scenario(String::new()).binary()
}

/// Those of these tests that failed, as a process said that ran them; all if it said of none, since it may have
/// crashed.
fn again(said: &str, tests: &[Reaching]) -> Vec<Reaching> {
    let failed: BTreeSet<&str> = { said.lines() }
        .filter_map(|line| line.strip_prefix("    "))
        .collect();
    let is_failed = |it: &&Reaching| failed.contains(it.1.name());
    let found: Vec<Reaching> = tests.iter().filter(is_failed).cloned().collect();
    match found.is_empty() {
        true => tests.to_vec(),
        false => found,
    }
}

/// A quiet process that gives way to all others.
fn command(binary: &Path) -> Command {
    let mut command = Command::new("nice");
    command.args(["-n", "19"]).arg(binary).current_dir(WORK);
    command.env(SEED, FIXED_SEED).env("RUST_BACKTRACE", "0");
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

#[derive(Debug, PartialEq, Eq)]
enum End {
    Passed,
    Failed,
    TookLong,
}

/// Waits for a process, which took long if it has used so much processor time: on a busy machine other time passes
/// too. One that only waits ends after [`PATIENCE`] times as long. Returns also how much it has used.
fn finish(command: &mut Command, limit: Duration) -> Result<(End, Duration)> {
    let mut process = command
        .spawn()
        .with_context(|| format!("start {command:?}"))?;
    let begun = Instant::now();
    let mut used = Duration::ZERO;
    loop {
        if let Some(status) = process.try_wait()? {
            let end = match status.success() {
                true => End::Passed,
                false => End::Failed,
            };
            return Ok((end, used));
        }
        let passed = begun.elapsed();
        used = used.max(processor_time(process.id()).unwrap_or(passed));
        if used > limit || passed > limit * PATIENCE {
            end(&mut process)?;
            return Ok((End::TookLong, used));
        }
        thread::sleep(Duration::from_millis(10));
    }
}

/// The processor time that a process has used so far, where the system tells it in `/proc`.
fn processor_time(process: u32) -> Option<Duration> {
    of_stat(&fs::read_to_string(format!("/proc/{process}/stat")).ok()?)
}

/// The fields `utime` and `stime` of proc(5), which counts them in hundredths of a second.
fn of_stat(stat: &str) -> Option<Duration> {
    const UTIME: usize = 11;
    // The program's name may contain spaces and parentheses.
    let (_, fields) = stat.rsplit_once(')')?;
    let ticks: Vec<u64> = { fields.split_whitespace().skip(UTIME).take(2) }
        .map_while(|ticks| ticks.parse().ok())
        .collect();
    let [user, system] = ticks[..] else {
        return None;
    };
    Some(Duration::from_millis(10 * (user + system)))
}

fn end(process: &mut Child) -> Result<()> {
    process.kill().context("end a process that takes long")?;
    process.wait()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_time_is_read_from_behind_the_name() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194304 90 0 0 0 12 34 0 0 20 0 1 0 5 6 7";
        assert_eq!(of_stat(stat), Some(Duration::from_millis(460)));
        assert_eq!(of_stat("7 (a) S 1"), None);
    }

    #[test]
    fn tests_that_failed_are_run_again() {
        let binary = Binary::new("p", None);
        let test = |name: &str| Catcher::Test(binary.clone(), name.to_owned());
        let tests = ["a", "b::c"].map(|name| (Duration::ZERO, test(name)));
        let said = "\nrunning 2 tests\ntest a ... ok\ntest b::c ... FAILED\n\nfailures:\n\n---- b::c stdout \
                    ----\n\nfailures:\n    b::c\n\ntest result: FAILED.\n";
        assert_eq!(again(said, &tests), tests[1..]);
        assert_eq!(again("running 2 tests\ntest a ... ", &tests), tests);
    }

    #[test]
    fn a_process_that_uses_more_than_its_limit_took_long() {
        let run = |script: &str, limit_ms| {
            let mut command = Command::new("sh");
            let ended = finish(
                command.args(["-c", script]),
                Duration::from_millis(limit_ms),
            );
            ended.expect("a shell").0
        };
        assert_eq!(run("exit 0", 60_000), End::Passed);
        assert_eq!(run("exit 1", 60_000), End::Failed);
        assert_eq!(run("while :; do :; done", 50), End::TookLong);
        // In place of the shell, so that nothing is left behind.
        assert_eq!(run("exec sleep 1000", 10), End::TookLong);
    }
}
