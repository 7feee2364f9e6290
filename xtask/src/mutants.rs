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

use anyhow::{Context, Result, ensure};
use clap::Args;
use clap::builder::PossibleValuesParser;

use crate::binary::Binary;
use crate::source::{self, File};
use crate::tool::fresh_seed;
use generate::Mutant;
use report::{OfMutant, OfSample, Results, Sampled};
use trial::{Outcome, SEEDS, Trials, runner};

mod build;
mod change;
mod draw;
mod generate;
mod nest;
mod report;
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
        tests: &["locklab-locks --lib", "locklab-locks --test locks"],
        by_scenarios: true,
    },
    Subject {
        name: "injectors",
        code: &[
            "src/runner/injector.rs",
            "src/runner/nemesis/",
            "src/real/conductor.rs",
        ],
        tests: &[
            "locklab-runner --lib",
            "locklab-real --lib",
            "locklab --test injectors",
            "locklab --test late_starts",
            "locklab --test attack",
        ],
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
            "locklab --test runs",
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
            "src/truth/",
        ],
        tests: &[
            "locklab-evidence --lib",
            "locklab-history --lib",
            "locklab-check --lib",
            "locklab-model --lib",
            "locklab-truth --lib",
            "locklab --test ground_truth",
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

/// How many mutants of each subject a long test tries.
const COMPARED: usize = 8;

/// Beside so many mutants of a sample others are drawn, for those that do not compile: half as many, and a few.
const SPARE: usize = 5;

/// The folder of the ledgers.
const OUTPUT: &str = "target/mutants";

/// The published results.
const PUBLISHED: &str = "reports/mutants/mutants";

/// The survivors that are known, with reasons.
const SURVIVORS: &str = "xtask/survivors.txt";

/// What `cargo xtask mutants` is to do.
#[derive(Args)]
pub struct Options {
    /// Try so many random mutants of each subject
    #[arg(long)]
    sample: Option<usize>,
    /// Try the published survivors again, and publish which are noticed now
    #[arg(long, conflicts_with = "sample")]
    survivors: bool,
    /// Try a few of the samples again that were noticed, and require that they are noticed still
    #[arg(long, conflicts_with_all = ["sample", "survivors"])]
    compare: bool,
    /// Publish the reasons of xtask/survivors.txt, and try nothing
    #[arg(long, conflicts_with_all = ["sample", "survivors", "compare"])]
    reasons: bool,
    /// The seed of a random choice, if not a new one
    #[arg(long)]
    seed: Option<u64>,
    /// No trial begins after so long
    #[arg(long)]
    minutes: Option<u64>,
    #[arg(value_parser = PossibleValuesParser::new(SUBJECTS.iter().map(|it| it.name)))]
    subjects: Vec<String>,
}

/// Tries mutants, and writes the results into
/// `reports/mutants/`, or compares with these. What an earlier call has tried of the same code counts.
pub fn run(options: &Options) -> Result<()> {
    let minutes = options.minutes.map(|it| Duration::from_secs(60 * it));
    let until = minutes.map(|within| Instant::now() + within);
    let seed = options.seed.unwrap_or_else(fresh_seed);
    let is_asked = |subject: &&Subject| {
        options.subjects.is_empty() || options.subjects.iter().any(|it| it == subject.name)
    };
    let subjects: Vec<&Subject> = SUBJECTS.iter().filter(is_asked).collect();
    match options.sample {
        Some(count) => sample(&subjects, count, seed, until),
        None if options.survivors => try_survivors(&subjects, until),
        None if options.compare => compare(&subjects, seed),
        None if options.reasons => write(&mut published()?),
        None => publish(&subjects, until),
    }
}

/// Tries all mutants of these subjects, and publishes the results.
fn publish(subjects: &[&'static Subject], until: Option<Instant>) -> Result<()> {
    for subject in subjects {
        let files = source::files()?;
        let pool = Pool::of(subject, &files);
        let trial = Trial {
            name: subject.name.to_owned(),
            mutants: pool
                .mutants
                .iter()
                .map(|it| (*subject, it.clone()))
                .collect(),
        };
        let tried = try_all(&trial, &files, until)?;
        let mut results = published()?;
        results.files.retain(|file, _| !subject.has(file));
        for (number, mutant) in pool.mutants.iter().enumerate() {
            let of = results.files.entry(mutant.file.clone()).or_default();
            match tried.outcomes.get(&number) {
                Some(outcome) => of.mutants.push(OfMutant::new(mutant, *outcome, &files)),
                None if tried.dropped.contains(&number) => of.dropped += 1,
                None => of.untried += 1,
            }
        }
        write(&mut results)?;
    }
    Ok(())
}

/// Tries so many random mutants of each subject, and publishes the results.
fn sample(
    subjects: &[&'static Subject],
    count: usize,
    seed: u64,
    until: Option<Instant>,
) -> Result<()> {
    let files = source::files()?;
    println!("    cargo xtask mutants --sample {count} --seed {seed}");
    let pools: Vec<Pool> = { subjects.iter() }.map(|it| Pool::of(it, &files)).collect();
    let name = format!("sample-{count}-{seed}");
    let drawn = count + count / 2 + SPARE;
    let trial = Trial::draw(name, &pools, seed, drawn, |_, _| true);
    let tried = try_first(&trial, &files, count, until)?;
    let mut results = published()?;
    for pool in &pools {
        let of_subject = |number: &usize| trial.mutants[*number].0.name == pool.subject.name;
        let outcomes: Vec<_> = tried
            .outcomes
            .iter()
            .filter(|it| of_subject(it.0))
            .collect();
        let drawn = (0..trial.mutants.len()).filter(of_subject);
        let dropped = tried.dropped.iter().filter(|it| of_subject(it));
        let mut of = OfSample {
            seed,
            all: pool.mutants.len(),
            drawn: drawn.count(),
            dropped: dropped.count(),
            mutants: Vec::new(),
        };
        for (number, outcome) in outcomes {
            let mutant = &trial.mutants[*number].1;
            of.mutants.push(Sampled {
                file: mutant.file.clone(),
                mutant: OfMutant::new(mutant, *outcome, &files),
            });
        }
        of.mutants
            .sort_by(|a, b| (&a.file, a.mutant.line).cmp(&(&b.file, b.mutant.line)));
        results.add(pool.subject.name, of);
    }
    write(&mut results)
}

/// Tries the published survivors again, and publishes what came of them beside what was. The scores stay those of
/// the first time: who has seen a sample can write tests for it.
fn try_survivors(subjects: &[&'static Subject], until: Option<Instant>) -> Result<()> {
    let files = source::files()?;
    let mut results = published()?;
    let names: BTreeSet<String> = results
        .survivors()
        .map(|(file, it)| it.name(file))
        .collect();
    let pools: Vec<Pool> = { subjects.iter() }.map(|it| Pool::of(it, &files)).collect();
    let all = |_: &Pool, name: &str| names.contains(name);
    let trial = Trial::draw("survivors".to_owned(), &pools, 0, usize::MAX, all);
    let tried = try_all(&trial, &files, until)?;
    let mut rows = BTreeSet::new();
    for (number, outcome) in &tried.outcomes {
        let mutant = &trial.mutants[*number].1;
        for (file, of) in results.survivors() {
            if of.is(file, mutant, &files) {
                of.again = Some(*outcome);
                let said = match outcome.survives() {
                    true => "survives",
                    false => "noticed",
                };
                rows.insert(format!("{said}  {} (line {})", mutant.name(), mutant.line));
            }
        }
    }
    for row in &rows {
        println!("{row}");
    }
    let noticed = rows.iter().filter(|it| it.starts_with("noticed")).count();
    println!("{noticed} of {} survivors are noticed now", rows.len());
    write(&mut results)
}

/// Tries a few random mutants that were noticed when the samples were published.
fn compare(subjects: &[&'static Subject], seed: u64) -> Result<()> {
    println!("    cargo xtask mutants --compare --seed {seed}");
    let files = source::files()?;
    let results = published()?;
    let noticed: BTreeSet<String> = { results.sampled() }
        .filter(|it| !it.mutant.survives_still())
        .map(Sampled::name)
        .collect();
    let pools: Vec<Pool> = { subjects.iter() }.map(|it| Pool::of(it, &files)).collect();
    // Of several mutants with one name, others may survive.
    let certain = |pool: &Pool, name: &str| noticed.contains(name) && pool.has_once(name);
    let trial = Trial::draw(format!("compare-{seed}"), &pools, seed, COMPARED, certain);
    let tried = try_all(&trial, &files, None)?;
    ensure!(
        !tried.outcomes.is_empty(),
        "none of the published mutants exists any more; publish new ones: cargo xtask mutants --sample 60"
    );
    let survived: Vec<String> = { tried.outcomes.iter() }
        .filter(|(_, outcome)| outcome.survives())
        .map(|(number, _)| trial.mutants[*number].1.name())
        .collect();
    ensure!(
        survived.is_empty(),
        "nothing notices these changes any more:\n{}\nAdd a scenario or a test.",
        survived.join("\n")
    );
    println!("{} mutants: noticed, as published", tried.outcomes.len());
    Ok(())
}

impl Subject {
    fn has(&self, file: &str) -> bool {
        let is_in = |code: &&str| match code.ends_with('/') {
            true => file.starts_with(*code),
            false => file == *code,
        };
        self.code.iter().any(is_in) && !TESTS_ONLY.iter().any(|tests| file.contains(tests))
    }

    /// The binaries of its tests.
    fn binaries(&self) -> Result<Vec<Binary>> {
        let binaries = self.tests.iter().map(|words| Ok(Binary::parse(words)?.0));
        binaries.collect()
    }
}

/// All mutants of a subject.
struct Pool {
    subject: &'static Subject,
    mutants: Vec<Mutant>,
}

impl Pool {
    fn of(subject: &'static Subject, files: &[File]) -> Pool {
        let code = |file: &&File| file.is_rust() && subject.has(&file.path);
        let mutants: Vec<Mutant> = { files.iter().filter(code) }
            .flat_map(|file| generate::mutants(&file.path, &file.text))
            .collect();
        println!("{}: {} mutants", subject.name, mutants.len());
        Pool { subject, mutants }
    }

    /// Whether only one of its mutants has this name.
    fn has_once(&self, name: &str) -> bool {
        self.mutants.iter().filter(|it| it.name() == name).count() == 1
    }
}

/// Mutants that become switches of one build.
struct Trial {
    /// The name of its ledger.
    name: String,
    mutants: Vec<(&'static Subject, Mutant)>,
}

impl Trial {
    /// So many random mutants of each pool, of those that `is_asked`; in the order in which they are drawn.
    fn draw(
        name: String,
        pools: &[Pool],
        seed: u64,
        count: usize,
        is_asked: impl Fn(&Pool, &str) -> bool,
    ) -> Trial {
        let mut mutants = Vec::new();
        for pool in pools {
            let order = draw::order(seed, pool.mutants.len());
            let asked = { order.into_iter() }
                .map(|number| &pool.mutants[number])
                .filter(|mutant| is_asked(pool, &mutant.name()));
            mutants.extend(asked.take(count).map(|it| (pool.subject, it.clone())));
        }
        Trial { name, mutants }
    }
}

/// What came of a trial, by the mutants' numbers.
struct Tried {
    outcomes: BTreeMap<usize, Outcome>,
    /// Those that do not compile as a switch.
    dropped: BTreeSet<usize>,
}

fn try_all(trial: &Trial, files: &[File], until: Option<Instant>) -> Result<Tried> {
    try_first(trial, files, usize::MAX, until)
}

/// Tries the first mutants of each subject that compile.
fn try_first(trial: &Trial, files: &[File], count: usize, until: Option<Instant>) -> Result<Tried> {
    let mut tests: BTreeMap<&str, Vec<Binary>> = BTreeMap::new();
    for (subject, _) in &trial.mutants {
        tests.insert(subject.name, subject.binaries()?);
    }
    let by_scenarios = trial.mutants.iter().any(|it| it.0.by_scenarios);
    let runners = by_scenarios.then(runner).into_iter();
    let wanted: BTreeSet<Binary> = tests.values().flatten().cloned().chain(runners).collect();
    let mutants: Vec<Mutant> = trial.mutants.iter().map(|it| it.1.clone()).collect();
    let ledger = ledger(trial, files)?;
    let known = ledger.with_extension("dropped.json");
    // After the time is over, what was tried before is only read.
    let is_over = until.is_some_and(|until| Instant::now() >= until);
    let built = match is_over && known.is_file() {
        true => build::none(&known)?,
        false => build::build(files, &mutants, &wanted, &known)?,
    };
    let mut chosen = Vec::new();
    let mut of_subject: BTreeMap<&str, usize> = BTreeMap::new();
    for number in (0..mutants.len()).filter(|it| !built.dropped.contains(it)) {
        let before = of_subject.entry(trial.mutants[number].0.name).or_default();
        if *before < count {
            chosen.push(number);
        }
        *before += 1;
    }
    let trials = Trials {
        binaries: &built.binaries,
        scenarios: match by_scenarios {
            true => scenarios_of(files),
            false => Vec::new(),
        },
        may_notice: &|number, binary| {
            let subject = trial.mutants[number].0;
            match *binary == runner() {
                true => subject.by_scenarios,
                false => tests[subject.name].contains(binary),
            }
        },
        ledger,
        until,
    };
    Ok(Tried {
        outcomes: trials.run(&chosen)?,
        dropped: built.dropped,
    })
}

/// The names of the shipped scenarios.
fn scenarios_of(files: &[File]) -> Vec<String> {
    let paths = files.iter().map(|file| &*file.path);
    let names = paths.filter_map(|it| it.strip_prefix("scenarios/")?.strip_suffix(".toml"));
    names.map(str::to_owned).collect()
}

/// The ledger of a trial. That of other mutants, of other code, or of other scenarios or tests, begins anew.
fn ledger(trial: &Trial, files: &[File]) -> Result<PathBuf> {
    use std::hash::{DefaultHasher, Hash as _, Hasher as _};
    let mut hasher = DefaultHasher::new();
    for file in files.iter().filter(|file| !is_prose(&file.path)) {
        (&file.path, &file.text).hash(&mut hasher);
    }
    for (subject, mutant) in &trial.mutants {
        (subject.name, subject.tests, mutant.name(), &mutant.at).hash(&mut hasher);
    }
    let name = format!("{}-{:016x}.jsonl", trial.name, hasher.finish());
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

fn published() -> Result<Results> {
    Results::read(Path::new(&format!("{PUBLISHED}.json")))
}

fn write(results: &mut Results) -> Result<()> {
    let path = Path::new(PUBLISHED).with_extension("json");
    results.command = "cargo xtask mutants".into();
    results.seeds = SEEDS;
    let folder = path.parent().unwrap_or(&path);
    fs::create_dir_all(folder).with_context(|| format!("create {}", folder.display()))?;
    let json = serde_json::to_string_pretty(results)? + "\n";
    fs::write(&path, json).with_context(|| format!("write {}", path.display()))?;
    let markdown = path.with_extension("md");
    fs::write(&markdown, results.to_markdown(&reasons()?))
        .with_context(|| format!("write {}", markdown.display()))
}

/// The survivors that change nothing, each with the reason.
fn reasons() -> Result<BTreeMap<String, String>> {
    let text = fs::read_to_string(SURVIVORS).with_context(|| format!("read {SURVIVORS}"))?;
    Ok(reasons_of(&text))
}

/// The entries of a list: names, a line each, below lines that begin with `#` and say why.
fn reasons_of(list: &str) -> BTreeMap<String, String> {
    let mut reasons = BTreeMap::new();
    for paragraph in list.split("\n\n") {
        let (why, names): (Vec<&str>, Vec<&str>) =
            paragraph.lines().partition(|line| line.starts_with('#'));
        let why: Vec<&str> = why
            .iter()
            .map(|line| line.trim_start_matches('#').trim())
            .collect();
        reasons.extend(
            names
                .iter()
                .map(|name| (name.trim().to_owned(), why.join(" "))),
        );
    }
    reasons
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn a_draw_has_so_many_of_each_subject_and_follows_from_the_seed() {
        let files: Vec<File> = ["src/locks/a.rs", "sim/world/src/a.rs"]
            .map(|path| File::new(path.into(), "fn f() { a < b; c > d; e == f }".into()))
            .into();
        let pools: Vec<Pool> = SUBJECTS.iter().map(|it| Pool::of(it, &files)).collect();
        let drawn = |seed| -> Vec<String> {
            let trial = Trial::draw(String::new(), &pools, seed, 3, |_, name| {
                !name.contains("==")
            });
            trial
                .mutants
                .iter()
                .map(|(_, mutant)| mutant.name())
                .collect()
        };
        assert_eq!(drawn(1), drawn(1));
        assert_ne!(drawn(1), drawn(2));
        let of = |path: &str| {
            drawn(1)
                .iter()
                .filter(|name| name.starts_with(path))
                .count()
        };
        assert_eq!((of("src/locks/"), of("sim/world/")), (3, 3));
        assert!(!drawn(1).concat().contains("=="));
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
            assert!(subject.binaries().is_ok());
        }
        assert!(scenarios_of(&files).len() > 100);
    }
}
