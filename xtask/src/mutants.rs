//! Changes the code that judges, and what a judgement rests on, one place at a time, and sees
//! whether a test notices: mutation testing with cargo-mutants.
//!
//! A mutant that no test notices is listed in `xtask/survivors.txt` with the reason, or is a gap
//! in the tests.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

use crate::tool::{cargo, fresh_seed, install};

/// The code that is changed, and the tests that should notice.
struct Subject {
    package: &'static str,
    /// Words for `cargo mutants`: which of its files, and whose tests, if not all of them and
    /// its own. With `--cargo-arg=--lib` nothing else is built for each mutant.
    scope: &'static str,
    /// Words for `cargo test`. The laws of the checks are left out, since they draw histories
    /// by chance: what they notice is another thing each time. The written histories have to notice.
    tests: &'static str,
}

const SUBJECTS: &[Subject] = &[
    Subject {
        package: "locklab-evidence",
        scope: "",
        tests: "",
    },
    Subject {
        package: "locklab-history",
        scope: "--test-package locklab-history --test-package locklab-check --cargo-arg=--lib",
        tests: "-- --skip laws",
    },
    Subject {
        package: "locklab-check",
        // Without the builder of histories for tests.
        scope: "--exclude src/check/history_builder.rs --exclude src/check/history_builder/*.rs \
                --exclude src/check/random.rs --cargo-arg=--lib",
        tests: "-- --skip laws",
    },
    Subject {
        package: "locklab-model",
        scope: "--file src/model/fault/*.rs --cargo-arg=--lib",
        tests: "fault::",
    },
    Subject {
        package: "locklab-runner",
        scope: "--file src/runner/nemesis/*.rs --cargo-arg=--lib",
        tests: "nemesis::",
    },
];

/// The shards of which a long test runs one.
const SHARDS: u64 = 12;

/// The folder of the results.
const OUTPUT: &str = "target/mutants";

/// The survivors that are known, with reasons.
const SURVIVORS: &str = "xtask/survivors.txt";

/// Part of the mutants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    index: u64,
    count: u64,
}

impl Shard {
    /// All mutants.
    pub const WHOLE: Shard = Shard { index: 0, count: 1 };

    /// Reads `K/N`, where K counts from 0.
    ///
    /// # Errors
    ///
    /// If it is something else.
    pub fn parse(text: &str) -> Result<Shard> {
        let parts = text
            .split_once('/')
            .context("a shard is K/N, such as 0/12")?;
        let shard = Shard {
            index: parts.0.parse().context("the K of a shard K/N")?,
            count: parts.1.parse().context("the N of a shard K/N")?,
        };
        ensure!(shard.index < shard.count, "a shard K/N has 0 ≤ K < N");
        Ok(shard)
    }

    /// One of [`SHARDS`], by chance.
    fn any() -> Shard {
        Shard {
            index: fresh_seed() % SHARDS,
            count: SHARDS,
        }
    }
}

/// Tries a small part of the mutants, drawn by chance.
///
/// # Errors
///
/// See [`run`].
pub fn sample() -> Result<()> {
    let shard = Shard::any();
    println!(
        "    cargo xtask mutants --shard {}/{}",
        shard.index, shard.count
    );
    run(shard)
}

/// Tries these mutants of every subject, and compares those that survive with the list.
///
/// # Errors
///
/// If cargo-mutants cannot be installed or run, or the survivors are not those of the list.
pub fn run(shard: Shard) -> Result<()> {
    install("mutants")?;
    let known = fs::read_to_string(SURVIVORS).with_context(|| format!("read {SURVIVORS}"))?;
    let known: BTreeSet<String> = names(&known).collect();
    let mut tried = String::new();
    let mut survived = String::new();
    for subject in SUBJECTS {
        try_mutants(subject, shard)?;
        let folder = Path::new(OUTPUT).join(subject.package).join("mutants.out");
        let read = |name: &str| {
            let path = folder.join(name);
            fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))
        };
        let missed = read("missed.txt")?;
        tried += &(read("caught.txt")? + &read("timeout.txt")? + &missed);
        survived += &missed;
    }
    judge(
        &known,
        &names(&tried).collect(),
        &names(&survived).collect(),
    )
}

fn try_mutants(subject: &Subject, shard: Shard) -> Result<()> {
    let Subject {
        package,
        scope,
        tests,
    } = subject;
    let mut command = cargo(&format!("mutants --package {package}"));
    command.args(["--no-shuffle", "--timeout", "30"]);
    command.args(["--baseline", "skip", "--sharding", "round-robin"]);
    command.args(["--shard", &format!("{}/{}", shard.index, shard.count)]);
    command.args(scope.split_whitespace());
    // Each mutant is built anew, and its tests take no time.
    command.env("CARGO_PROFILE_DEV_OPT_LEVEL", "0");
    command.env("CARGO_PROFILE_DEV_DEBUG", "false");
    command.args(["--output", &format!("{OUTPUT}/{package}")]);
    command.arg("--").args(tests.split_whitespace());
    let output = Path::new(OUTPUT).join(package);
    fs::create_dir_all(&output).with_context(|| format!("create {}", output.display()))?;
    let status = command.status().context("start cargo mutants")?;
    match status.code() {
        // All caught; some missed; some timed out.
        Some(0 | 2 | 3) => Ok(()),
        _ => bail!("{command:?}: {status}"),
    }
}

/// The mutants of a list, without the lines and columns of their places; lines that begin with
/// `#` are comments.
fn names(list: &str) -> impl Iterator<Item = String> {
    let lines = list.lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| match line.split_once(": ") {
        Some((place, change)) => {
            let file = place.split(':').next().unwrap_or_default();
            format!("{file}: {change}")
        }
        None => line.to_owned(),
    })
}

/// A name may stand for several mutants: the same change in several lines of one function.
fn judge(
    known: &BTreeSet<String>,
    tried: &BTreeSet<String>,
    survived: &BTreeSet<String>,
) -> Result<()> {
    let new: Vec<String> = survived.difference(known).cloned().collect();
    let caught: Vec<String> = known
        .intersection(tried)
        .filter(|name| !survived.contains(*name))
        .cloned()
        .collect();
    if !new.is_empty() {
        bail!(
            "no test notices these changes:\n{}\nAdd a test, or list them in {SURVIVORS} with a reason.",
            new.join("\n")
        );
    }
    if !caught.is_empty() {
        bail!(
            "tests notice these changes: delete them from {SURVIVORS}:\n{}",
            caught.join("\n")
        );
    }
    println!("{} mutants: as expected", tried.len());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(known: &str, tried: &str, survived: &str) -> String {
        let set = |list| names(list).collect::<BTreeSet<String>>();
        match judge(&set(known), &set(tried), &set(survived)) {
            Ok(()) => String::new(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn a_survivor_is_listed_or_an_error() {
        assert_eq!(
            judged("# why\na: x\nz\n", "a:1:2: x\nb\n", "a:9:9: x\n"),
            ""
        );
        assert!(judged("a\n", "a\nb\n", "a\nb\n").contains("notices these changes:\nb\n"));
        assert!(judged("a\n", "a\nb\n", "").ends_with("survivors.txt:\na"));
    }

    #[test]
    fn a_shard_is_a_part_of_the_whole() {
        assert_eq!(Shard::parse("0/1").ok(), Some(Shard::WHOLE));
        for wrong in ["", "1", "2/2", "-1/2", "a/b", "1/0"] {
            assert!(Shard::parse(wrong).is_err(), "{wrong}");
        }
    }
}
