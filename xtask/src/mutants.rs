//! Changes the code one place at a time, and sees whether a scenario or a test notices: mutation
//! testing of what acts in a run (locks, world, injectors), and of what judges it.
//!
//! Building each mutant apart would take minutes each. So all mutants of a subject become switches in
//! one copy of the tree, as planted mistakes do (`plants`), which is built once. Every mutant runs only
//! what reaches it. `reports/mutants/` has what came of it; `xtask/survivors.txt` has the reasons why a
//! survivor changes nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::plants::Binary;
use crate::source::{self, File};
use crate::tool::fresh_seed;
use generate::Mutant;
use report::{OfFile, Results};
use trial::{SEEDS, Trials};

mod build;
mod change;
mod generate;
mod nest;
mod report;
mod syntax;
mod trial;

/// Code that is changed, and the tests that should notice, beside the scenarios.
struct Subject {
    name: &'static str,
    /// Files, and folders with all below.
    code: &'static [&'static str],
    /// As `cargo test --package` takes them, without a filter.
    tests: &'static [&'static str],
    /// Whether the scenarios should notice, too. One is no test of what judges it.
    by_scenarios: bool,
}

const SUBJECTS: &[Subject] = &[
    Subject {
        name: "locks",
        code: &["src/locks/"],
        tests: &["locklab-locks --lib", "locklab --test locks"],
        by_scenarios: true,
    },
    Subject {
        name: "injectors",
        code: &[
            "src/runner/injector.rs",
            "src/runner/nemesis/",
            "src/real/conductor.rs",
        ],
        tests: &["locklab-runner --lib", "locklab-real --lib"],
        by_scenarios: true,
    },
    Subject {
        name: "world",
        code: &["sim/world/src/", "sim/link/", "sim/services/src/"],
        tests: &[
            "locklab-link --lib",
            "locklab-world --lib",
            "locklab-world --test world",
            "locklab-services --lib",
            "locklab-services --test consensus",
            "locklab-services --test database",
            "locklab-services --test persistence",
            "locklab-services --test role_changes",
            "locklab-services --test serve",
        ],
        by_scenarios: true,
    },
    Subject {
        name: "judging",
        code: &[
            "src/evidence/",
            "src/history/",
            "src/check/",
            "src/model/fault/",
        ],
        tests: &[
            "locklab-evidence --lib",
            "locklab-history --lib",
            "locklab-check --lib",
            "locklab-model --lib",
        ],
        by_scenarios: false,
    },
];

/// Files that only tests use.
const TESTS_ONLY: [&str; 6] = [
    "/tests/",
    "/tests.rs",
    "/campaign.rs",
    "/benches/",
    "src/check/history_builder",
    "src/check/random.rs",
];

/// The binary that runs scenarios.
const RUNNER: &str = "locklab --test plants";

/// The samples of which a long test tries one.
const SAMPLES: u64 = 40;

/// The folder of the ledgers.
const OUTPUT: &str = "target/mutants";

/// The published results.
const PUBLISHED: &str = "reports/mutants/mutants";

/// The survivors that are known, with reasons.
const SURVIVORS: &str = "xtask/survivors.txt";

/// Part of the mutants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    index: u64,
    count: u64,
}

impl Sample {
    /// Reads `K/N`, where K counts from 0.
    ///
    /// # Errors
    ///
    /// If it is something else.
    pub fn parse(text: &str) -> Result<Sample> {
        let parts = text
            .split_once('/')
            .context("a sample is K/N, such as 0/40")?;
        let sample = Sample {
            index: parts.0.parse().context("the K of a sample K/N")?,
            count: parts.1.parse().context("the N of a sample K/N")?,
        };
        ensure!(sample.index < sample.count, "a sample K/N has 0 ≤ K < N");
        Ok(sample)
    }

    /// One of [`SAMPLES`], by chance.
    pub fn any() -> Sample {
        Sample {
            index: fresh_seed() % SAMPLES,
            count: SAMPLES,
        }
    }

    fn has(self, mutant: usize) -> bool {
        mutant as u64 % self.count == self.index
    }
}

/// Tries the mutants of these subjects, or of all, and writes the results into `reports/mutants/`. What
/// an earlier call has tried of the same code counts. After `within`, no more are tried.
///
/// # Errors
///
/// If a subject is unknown, or a process fails that should not.
pub fn publish(names: &[&str], within: Option<Duration>) -> Result<()> {
    let until = within.map(|within| Instant::now() + within);
    for name in names {
        let is_known = SUBJECTS.iter().any(|subject| subject.name == *name);
        let known: Vec<&str> = SUBJECTS.iter().map(|subject| subject.name).collect();
        ensure!(
            is_known,
            "unknown subject `{name}`; there are {}",
            known.join(", ")
        );
    }
    let path = PathBuf::from(format!("{PUBLISHED}.json"));
    for subject in SUBJECTS {
        if names.is_empty() || names.contains(&subject.name) {
            let tried = try_subject(subject, Sample { index: 0, count: 1 }, until)?;
            let mut results = Results::read(&path)?;
            results.files.retain(|file, _| !subject.has(file));
            results.files.extend(tried.files);
            write(&mut results, &path)?;
        }
    }
    Ok(())
}

/// Reads a number of minutes.
///
/// # Errors
///
/// If it is something else.
pub fn minutes(text: &str) -> Result<Duration> {
    let minutes: u64 = text.parse().context("the N of --minutes N")?;
    Ok(Duration::from_secs(60 * minutes))
}

/// Tries a sample of the mutants of all published subjects, and compares with the published results.
///
/// # Errors
///
/// If a mutant survives that was noticed when the results were published, or one does not that has a
/// reason to.
pub fn sample(sample: Sample) -> Result<()> {
    println!(
        "    cargo xtask mutants --sample {}/{}",
        sample.index, sample.count
    );
    let published = Results::read(Path::new(&format!("{PUBLISHED}.json")))?;
    let (mut tried, mut survived) = (BTreeSet::new(), BTreeSet::new());
    for subject in SUBJECTS {
        if published.files.keys().any(|file| subject.has(file)) {
            let results = try_subject(subject, sample, None)?;
            survived.extend(results.survivors());
            tried.extend(results.names());
        }
    }
    let reasons: BTreeSet<String> = reasons()?.into_keys().collect();
    let before: BTreeSet<String> = published.names().collect();
    let (survived, fresh) = survived.into_iter().partition(|name| before.contains(name));
    let fresh: BTreeSet<String> = fresh;
    for name in &fresh {
        println!("not published yet, and nothing notices it: {name}");
    }
    judge(
        &reasons,
        &published.survivors().collect(),
        &tried,
        &survived,
    )
}

impl Subject {
    fn has(&self, file: &str) -> bool {
        let is_in = |code: &&str| match code.ends_with('/') {
            true => file.starts_with(*code),
            false => file == *code,
        };
        self.code.iter().any(is_in) && !TESTS_ONLY.iter().any(|tests| file.contains(tests))
    }
}

fn try_subject(subject: &Subject, sample: Sample, until: Option<Instant>) -> Result<Results> {
    let files = source::files()?;
    let code = |file: &&File| file.is_rust() && subject.has(&file.path);
    let mutants: Vec<Mutant> = files
        .iter()
        .filter(code)
        .flat_map(|file| generate::mutants(&file.path, &file.text))
        .collect();
    println!("{}: {} mutants", subject.name, mutants.len());
    let runner = binary(RUNNER)?;
    let mut wanted = Vec::new();
    for tests in subject.tests {
        wanted.push(binary(tests)?);
    }
    let mut scenarios = Vec::new();
    if subject.by_scenarios {
        wanted.push(runner.clone());
        scenarios = scenarios_of(&files);
    }
    let ledger = ledger(subject, &files)?;
    let known = ledger.with_extension("dropped.json");
    let built = build::build(&files, &mutants, &wanted, &known)?;
    let trials = Trials {
        binaries: &built.binaries,
        runner: &runner,
        scenarios,
        ledger,
        until,
    };
    let chosen: Vec<usize> = (0..mutants.len())
        .filter(|mutant| sample.has(*mutant) && !built.dropped.contains(mutant))
        .collect();
    let outcomes = trials.run(&chosen)?;
    let mut results = Results::default();
    for (number, mutant) in mutants.iter().enumerate() {
        let file = files.iter().find(|file| file.path == mutant.file);
        let text = file.map_or("", |file| &file.text);
        if let Some(outcome) = outcomes.get(&number) {
            results.add(mutant, *outcome, text);
            continue;
        }
        let of: &mut OfFile = results.files.entry(mutant.file.clone()).or_default();
        match built.dropped.contains(&number) {
            true => of.dropped += 1,
            false => of.untried += 1,
        }
    }
    Ok(results)
}

/// The names of the shipped scenarios.
fn scenarios_of(files: &[File]) -> Vec<String> {
    let name = |file: &File| {
        let name = file
            .path
            .strip_prefix("scenarios/")?
            .strip_suffix(".toml")?;
        Some(name.to_owned())
    };
    files.iter().filter_map(name).collect()
}

/// The ledger of a subject. That of other code, or of other scenarios or tests, begins anew.
fn ledger(subject: &Subject, files: &[File]) -> Result<PathBuf> {
    use std::hash::{DefaultHasher, Hash as _, Hasher as _};
    let mut hasher = DefaultHasher::new();
    for file in files.iter().filter(|file| !is_prose(&file.path)) {
        (&file.path, &file.text).hash(&mut hasher);
    }
    let name = format!("{}-{:016x}.jsonl", subject.name, hasher.finish());
    fs::create_dir_all(OUTPUT).with_context(|| format!("create {OUTPUT}"))?;
    Ok(Path::new(OUTPUT).join(name))
}

/// Whether no mutant depends on a file.
fn is_prose(path: &str) -> bool {
    let folders = [
        "docs/",
        "reports/",
        "xtask/",
        "benches/",
        "fuzz/",
        "tests/plants/",
    ];
    path.ends_with(".md") || folders.iter().any(|folder| path.starts_with(folder))
}

fn write(results: &mut Results, path: &Path) -> Result<()> {
    results.command = "cargo xtask mutants".into();
    results.seeds = SEEDS;
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder).with_context(|| format!("create {}", folder.display()))?;
    let json = serde_json::to_string_pretty(results)? + "\n";
    fs::write(path, json).with_context(|| format!("write {}", path.display()))?;
    let markdown = path.with_extension("md");
    fs::write(&markdown, results.to_markdown(&reasons()?))
        .with_context(|| format!("write {}", markdown.display()))
}

/// Reads `PACKAGE --lib` or `PACKAGE --test NAME`.
fn binary(words: &str) -> Result<Binary> {
    let words: Vec<&str> = words.split(' ').collect();
    let (package, test) = match words[..] {
        [package, "--lib"] => (package, None),
        [package, "--test", test] => (package, Some(test.to_owned())),
        _ => bail!("{words:?} are no tests"),
    };
    let package = package.to_owned();
    Ok(Binary { package, test })
}

/// The survivors that change nothing, each with the reason.
fn reasons() -> Result<BTreeMap<String, String>> {
    let text = fs::read_to_string(SURVIVORS).with_context(|| format!("read {SURVIVORS}"))?;
    Ok(reasons_of(&text))
}

/// The entries of a list: names, a line each, below lines that begin with `#` and say why.
fn reasons_of(list: &str) -> BTreeMap<String, String> {
    let mut reasons = BTreeMap::new();
    let mut reason = String::new();
    let mut is_complete = false;
    for line in list.lines() {
        if let Some(more) = line.strip_prefix('#') {
            if is_complete {
                reason.clear();
            }
            is_complete = false;
            reason = format!("{reason} {}", more.trim()).trim().to_owned();
        } else if !line.trim().is_empty() {
            is_complete = true;
            reasons.insert(line.trim().to_owned(), reason.clone());
        } else {
            is_complete = true;
        }
    }
    reasons
}

/// Compares the survivors with those that are known, published or with a reason. A name may stand for
/// several mutants: the same change in several lines of one function.
fn judge(
    reasons: &BTreeSet<String>,
    published: &BTreeSet<String>,
    tried: &BTreeSet<String>,
    survived: &BTreeSet<String>,
) -> Result<()> {
    let is_new = |name: &&String| !reasons.contains(*name) && !published.contains(*name);
    let new: Vec<String> = survived.iter().filter(is_new).cloned().collect();
    if !new.is_empty() {
        bail!(
            "nothing notices these changes any more:\n{}\nAdd a scenario or a test, or list them in \
             {SURVIVORS} with a reason; publish by `cargo xtask mutants`.",
            new.join("\n")
        );
    }
    let is_noticed = |name: &&String| {
        tried.contains(*name) && !survived.contains(*name) && !published.contains(*name)
    };
    let noticed: Vec<&str> = { reasons.iter().filter(is_noticed) }
        .map(|it| &**it)
        .collect();
    if !noticed.is_empty() {
        bail!(
            "these changes are noticed: delete them from {SURVIVORS}:\n{}",
            noticed.join("\n")
        );
    }
    println!("{} mutants: as published", tried.len());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(reasons: &str, published: &str, tried: &str, survived: &str) -> String {
        let set = |list: &str| {
            list.split_whitespace()
                .map(str::to_owned)
                .collect::<BTreeSet<_>>()
        };
        match judge(&set(reasons), &set(published), &set(tried), &set(survived)) {
            Ok(()) => String::new(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn a_survivor_is_published_or_has_a_reason_or_is_an_error() {
        assert_eq!(judged("a z", "b", "a b c", "a b"), "");
        assert!(
            judged("a", "b", "a b c", "a c")
                .starts_with("nothing notices these changes any more:\nc\n")
        );
        assert!(judged("a", "b", "a", "").ends_with("survivors.txt:\na"));
    }

    #[test]
    fn a_reason_stands_above_its_survivors() {
        let reasons =
            reasons_of("# The list.\n\n# It is\n# equal.\na: b\na: c\n\n# Other.\nd: e\n");
        let found: Vec<_> = reasons
            .iter()
            .map(|(name, why)| (&**name, &**why))
            .collect();
        assert_eq!(
            found,
            [
                ("a: b", "It is equal."),
                ("a: c", "It is equal."),
                ("d: e", "Other.")
            ]
        );
    }

    #[test]
    fn a_sample_is_a_part_of_the_whole() {
        let all = Sample { index: 0, count: 1 };
        assert_eq!(Sample::parse("0/1").ok(), Some(all));
        for wrong in ["", "1", "2/2", "-1/2", "a/b", "1/0"] {
            assert!(Sample::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn every_subject_has_code_and_tests() {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
        let files = source::files_below(root).expect("a git checkout");
        for subject in SUBJECTS {
            for code in subject.code {
                let is_there = |file: &File| file.path.starts_with(code) && subject.has(&file.path);
                assert!(files.iter().any(is_there), "{code}");
            }
            assert!(subject.tests.iter().all(|tests| binary(tests).is_ok()));
        }
        assert!(scenarios_of(&files).len() > 100);
    }
}
