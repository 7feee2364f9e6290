//! Runs steps, each in a process of its own: lanes of them side by side, and the steps of a lane one
//! after the other.
//!
//! What a step prints is shown whole when it ends. After the first failure no step begins.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use std::{env, thread};

use anyhow::{Context, Result, bail};

use crate::tool::patient;

/// The environment variable from which random tests draw their cases; read by proptest.
pub const SEED: &str = "PROPTEST_RNG_SEED";

/// What running steps print is in this folder.
const OUTPUT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/locklab/steps");

/// A command, with its name.
#[derive(Clone, Copy)]
pub struct Step {
    name: &'static str,
    /// Words without spaces, of which the first may set variables: `A=b cargo test`. `cargo xtask` is this program.
    line: &'static str,
    /// It has tests that draw their cases at random.
    is_random: bool,
    /// It computes, and gives way to others. Otherwise some of its tests heed the time that real servers take.
    is_patient: bool,
}

impl Step {
    /// A command.
    pub const fn run(name: &'static str, line: &'static str) -> Step {
        Step {
            name,
            line,
            is_random: false,
            is_patient: true,
        }
    }

    /// A command that runs tests, of which some are random.
    pub const fn test(name: &'static str, line: &'static str) -> Step {
        Step {
            is_random: true,
            ..Step::run(name, line)
        }
    }

    /// The step as one whose tests heed real time.
    pub const fn in_real_time(self) -> Step {
        Step {
            is_patient: false,
            ..self
        }
    }

    /// The command that runs only this step.
    pub fn alone(&self, seed: &str) -> String {
        match self.is_random {
            true => format!("{SEED}={seed} {}", self.line),
            false => self.line.to_owned(),
        }
    }

    fn command(&self, seed: &str) -> Result<Command> {
        let line = self.alone(seed);
        let mut words = line.split_whitespace().peekable();
        let mut variables = Vec::new();
        while let Some(variable) = words.peek().and_then(|word| word.split_once('=')) {
            variables.push(variable);
            words.next();
        }
        let words: Vec<&str> = words.collect();
        let (program, words): (OsString, &[&str]) = match &words[..] {
            ["cargo", "xtask", words @ ..] => {
                (env::current_exe().context("this program")?.into(), words)
            }
            [program, words @ ..] => (program.into(), words),
            [] => bail!("{} has no command", self.name),
        };
        let mut command = match self.is_patient {
            true => patient(program),
            false => Command::new(program),
        };
        command.args(words).envs(variables).stdin(Stdio::null());
        Ok(command)
    }

    /// Runs it; returns what it printed, and whether it passed.
    fn perform(&self, seed: &str) -> (String, Result<()>) {
        let path = PathBuf::from(OUTPUT).join(format!("{}.txt", self.name.replace(' ', "-")));
        let status = || -> Result<()> {
            fs::create_dir_all(OUTPUT).with_context(|| format!("create {OUTPUT}"))?;
            // A file, and no pipe: a process that outlives the step would hold it open.
            let file = File::create(&path).with_context(|| path.display().to_string())?;
            let errors = file.try_clone().context("its output")?;
            let mut command = self.command(seed)?;
            let status = command.stdout(file).stderr(errors).status();
            let status = status.context("it did not start")?;
            if !status.success() {
                bail!("{status}");
            }
            Ok(())
        };
        let result = status();
        (printed(&path), result)
    }
}

fn printed(path: &Path) -> String {
    let bytes = fs::read(path).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Runs stages one after the other: in each, lanes of steps side by side.
/// Fails with the steps that failed, each with the command that runs it alone; the first one last.
pub fn run(stages: &[&[&[Step]]], seed: &str, say: impl FnMut(String) + Send) -> Result<()> {
    let start = Instant::now();
    let progress = Mutex::new(Progress {
        say,
        passed: Vec::new(),
        failed: Vec::new(),
    });
    for lanes in stages {
        thread::scope(|scope| {
            for lane in *lanes {
                let progress = &progress;
                scope.spawn(move || run_lane(lane, seed, progress));
            }
        });
    }
    let mut progress = progress
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    progress.sum_up(start.elapsed().as_secs_f64());
    if progress.failed.is_empty() {
        return Ok(());
    }
    progress.failed.reverse();
    bail!("{}", progress.failed.join("\n"))
}

struct Progress<Say> {
    say: Say,
    /// Names and seconds.
    passed: Vec<(&'static str, f64)>,
    /// Complaints, in the order of time.
    failed: Vec<String>,
}

fn run_lane<Say: FnMut(String)>(lane: &[Step], seed: &str, progress: &Mutex<Progress<Say>>) {
    for step in lane {
        {
            let mut progress = lock(progress);
            if !progress.failed.is_empty() {
                return;
            }
            (progress.say)(format!("==> {}: {}", step.name, step.alone(seed)));
        }
        let start = Instant::now();
        let (printed, result) = step.perform(seed);
        let seconds = start.elapsed().as_secs_f64();
        lock(progress).add(step, seed, seconds, &printed, result);
    }
}

impl<Say: FnMut(String)> Progress<Say> {
    fn add(&mut self, step: &Step, seed: &str, seconds: f64, printed: &str, result: Result<()>) {
        let name = step.name;
        let verdict = match result {
            Ok(()) => {
                self.passed.push((name, seconds));
                "passed"
            }
            Err(error) => {
                let alone = step.alone(seed);
                self.failed.push(format!(
                    "{error:#}\n{name} failed after {seconds:.1} s; run it alone: {alone}"
                ));
                "failed"
            }
        };
        let printed = match printed.trim_end() {
            "" => String::new(),
            printed => printed.to_owned() + "\n",
        };
        (self.say)(format!("{printed}==> {name}: {verdict} in {seconds:.1} s"));
    }

    /// The steps and their times, slowest first.
    fn sum_up(&mut self, seconds: f64) {
        self.passed.sort_by(|a, b| b.1.total_cmp(&a.1));
        for (name, seconds) in &self.passed {
            (self.say)(format!("{seconds:8.1} s  {name}"));
        }
        (self.say)(format!(
            "{} passed, {} failed in {seconds:.1} s",
            self.passed.len(),
            self.failed.len()
        ));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASSES: Step = Step::run("sound", "true");
    const SLOW: Step = Step::run("slow", "sleep 0.3");
    const FAILS: Step = Step::run("broken", "false");
    const TALKS: Step = Step::run("talkative", "echo one two");
    const NO_SUCH_TESTS: Step =
        Step::test("absent", "A=b locklab-no-such-program --y").in_real_time();

    /// What is said, and at the end the error.
    fn said(stages: &[&[&[Step]]]) -> (Vec<String>, bool) {
        let mut said = Vec::new();
        let result = run(stages, "7", |line| said.push(line));
        let passes = result.is_ok();
        said.extend(result.err().map(|error| format!("{error:#}")));
        (said, passes)
    }

    /// Checks whether the steps pass, and the last line up to the seconds.
    #[track_caller]
    fn check(stages: &[&[&[Step]]], passes: bool, last_line: &str) {
        let (said, passed) = said(stages);
        assert_eq!(passed, passes, "{said:?}");
        let said = said.join("\n");
        let last = said.lines().last().unwrap_or_default();
        assert!(last.starts_with(last_line), "{said}");
    }

    #[test]
    fn the_closing_line_counts_the_steps() {
        check(&[], true, "0 passed, 0 failed in ");
        check(
            &[&[&[PASSES, PASSES]], &[&[PASSES], &[TALKS]]],
            true,
            "4 passed, 0 failed in ",
        );
    }

    #[test]
    fn the_first_failure_is_the_last_line_and_nothing_begins_after_it() {
        let (said, _) = said(&[&[&[PASSES, FAILS, TALKS]], &[&[TALKS]]]);
        assert!(
            !said.iter().any(|line| line.contains("talkative")),
            "{said:?}"
        );
        check(&[&[&[PASSES, FAILS]]], false, "broken failed after 0.");
        check(
            &[&[&[FAILS], &[SLOW, TALKS]]],
            false,
            "broken failed after 0.",
        );
    }

    #[test]
    fn tests_that_fail_are_named_with_their_seed() {
        let (said, _) = said(&[&[&[NO_SUCH_TESTS]]]);
        let alone = "PROPTEST_RNG_SEED=7 A=b locklab-no-such-program --y";
        assert!(
            said.last().is_some_and(|last| last.ends_with(alone)),
            "{said:?}"
        );
    }

    #[test]
    fn what_a_step_prints_comes_with_its_end() {
        let (said, _) = said(&[&[&[TALKS], &[SLOW]]]);
        let shown = said
            .iter()
            .filter(|line| line.starts_with("one two\n==> talkative: passed"));
        assert_eq!(shown.count(), 1, "{said:?}");
    }

    #[test]
    fn the_slowest_step_comes_first_in_the_summary() {
        let (said, _) = said(&[&[&[PASSES, SLOW, PASSES]]]);
        let summary = &said[said.len() - 4];
        assert!(summary.ends_with("s  slow"), "{said:?}");
    }
}
