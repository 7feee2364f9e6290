//! Puts all mutants of some files into a copy of the tree as switches, drops those that do not compile
//! as a switch, and builds what is to notice them, once.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::{env, fs};

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use super::generate::Mutant;
use super::nest::{Place, nested};
use crate::binary::{Binary, build_in};
use crate::plants::write_tree;
use crate::source::{File, package_in};
use crate::tool::cargo_in;

/// The folder of the copy.
const TREE: &str = "target/mutants/tree";

/// How often the copy is compiled at most until nothing is left that does not compile.
const ROUNDS: usize = 60;

/// What is appended to the crates that have mutants. A mutant is chosen by its number, in the variable
/// `LOCKLAB_MUTANT`. With `LOCKLAB_MUTANT_REACHED` none is chosen, and the numbers of those whose place
/// is reached are appended to that file.
const SWITCH: &str = r#"
#[doc(hidden)]
pub mod mutant_switch {
    use std::collections::BTreeSet;
    use std::io::Write;
    use std::sync::{LazyLock, Mutex};
    struct Mode { chosen: u32, reached: Option<Mutex<(std::fs::File, BTreeSet<u32>)>> }
    static MODE: LazyLock<Mode> = LazyLock::new(|| Mode {
        chosen: std::env::var("LOCKLAB_MUTANT").ok().and_then(|it| it.parse().ok()).unwrap_or(u32::MAX),
        reached: std::env::var_os("LOCKLAB_MUTANT_REACHED").and_then(|path| {
            let file = std::fs::OpenOptions::new().create(true).append(true).open(path).ok()?;
            Some(Mutex::new((file, BTreeSet::new())))
        }),
    });
    pub fn on(number: u32) -> bool {
        if let Some(reached) = &MODE.reached {
            let mut reached = reached.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            if reached.1.insert(number) {
                let _ = reached.0.write_all(format!("{number}\n").as_bytes());
            }
        }
        MODE.chosen == number
    }
}
"#;

/// What was built.
pub struct Built {
    /// The numbers of the mutants that do not compile as a switch.
    pub dropped: BTreeSet<usize>,
    pub binaries: BTreeMap<Binary, PathBuf>,
}

/// Builds `wanted` from the tree of `files` with these mutants. `known` is a file with the dropped ones of
/// an earlier call, which is written if there is none: otherwise each call would change the files anew.
/// Fails if the copy cannot be written, or does not compile for a reason that is no mutant's.
pub fn build(
    files: &[File],
    mutants: &[Mutant],
    wanted: &BTreeSet<Binary>,
    known: &Path,
) -> Result<Built> {
    let mut dropped = match known.is_file() {
        true => none(known)?.dropped,
        false => BTreeSet::new(),
    };
    let packages = packages(files, mutants)?;
    for round in 0..ROUNDS {
        let (tree, places) = write(files, mutants, &dropped)?;
        let errors = compile(&tree, packages.values())?;
        if errors.is_empty() {
            println!(
                "{} of {} mutants do not compile as a switch; found in {round} rounds",
                dropped.len(),
                mutants.len()
            );
            fs::write(known, serde_json::to_string(&dropped)?)
                .with_context(|| format!("write {}", known.display()))?;
            let binaries = binaries(&tree, wanted)?;
            return Ok(Built { dropped, binaries });
        }
        let before = dropped.len();
        for error in &errors {
            dropped.extend(blame(error, &places));
        }
        if dropped.len() == before {
            let said: Vec<&str> = errors.iter().map(|error| error.rendered.as_str()).collect();
            bail!(
                "{}: no mutant is to blame for\n{}",
                tree.display(),
                said.join("\n")
            );
        }
    }
    bail!("mutants that do not compile are left after {ROUNDS} rounds")
}

/// No binaries, and the mutants that an earlier call has dropped.
pub fn none(known: &Path) -> Result<Built> {
    let context = || format!("read {}", known.display());
    let text = fs::read_to_string(known).with_context(context)?;
    Ok(Built {
        dropped: serde_json::from_str(&text).with_context(context)?,
        binaries: BTreeMap::new(),
    })
}

/// The crates with mutants: the path of the root file of each, and its package.
fn packages(files: &[File], mutants: &[Mutant]) -> Result<BTreeMap<String, String>> {
    let changed: BTreeSet<&str> = mutants.iter().map(|mutant| &*mutant.file).collect();
    let mut packages = BTreeMap::new();
    for file in changed {
        let mut folders = Path::new(file).ancestors().skip(1);
        let is_there = |path: &Path| files.iter().any(|file| Path::new(&file.path) == path);
        let folder = folders.find(|folder| is_there(&folder.join("Cargo.toml")));
        let folder = folder.with_context(|| format!("{file} belongs to no package"))?;
        let mut roots = ["lib.rs", "src/lib.rs"]
            .map(|root| folder.join(root))
            .into_iter();
        let root = roots.find(|root| is_there(root));
        let root = root.with_context(|| format!("{file} belongs to no library"))?;
        let name = package_in(&folder.display().to_string(), files)?;
        packages.insert(root.display().to_string(), name);
    }
    Ok(packages)
}

/// Writes the copy; returns its path, and where the mutants are, by file.
fn write(
    files: &[File],
    mutants: &[Mutant],
    dropped: &BTreeSet<usize>,
) -> Result<(PathBuf, BTreeMap<String, Vec<Place>>)> {
    let roots = packages(files, mutants)?;
    let (mut changed, mut places) = (BTreeMap::new(), BTreeMap::new());
    for file in files {
        let of_file: Vec<(usize, &Mutant)> = mutants
            .iter()
            .enumerate()
            .filter(|(number, mutant)| mutant.file == file.path && !dropped.contains(number))
            .collect();
        let mut nested = nested(&file.text, &of_file);
        if roots.contains_key(&file.path) {
            nested.text += SWITCH;
        }
        if nested.text != file.text {
            changed.insert(file.path.clone(), nested.text);
            places.insert(file.path.clone(), nested.places);
        }
    }
    Ok((write_tree(TREE, files, &changed)?, places))
}

/// An error of the compiler.
#[derive(Debug, Deserialize)]
struct Message {
    level: String,
    rendered: String,
    spans: Vec<Span>,
    children: Vec<Child>,
}

#[derive(Debug, Deserialize)]
struct Child {
    spans: Vec<Span>,
}

#[derive(Debug, Deserialize)]
struct Span {
    file_name: String,
    byte_start: usize,
    byte_end: usize,
    is_primary: bool,
    expansion: Option<Box<Expansion>>,
}

#[derive(Debug, Deserialize)]
struct Expansion {
    span: Span,
}

fn compile<'a>(tree: &Path, packages: impl Iterator<Item = &'a String>) -> Result<Vec<Message>> {
    #[derive(Deserialize)]
    struct Line {
        message: Option<Message>,
    }
    let mut command = cargo_in(tree, "check --keep-going --message-format json")?;
    for package in packages {
        command.args(["--package", package]);
    }
    let checked = command
        .stderr(Stdio::null())
        .output()
        .context("start cargo")?;
    let said = String::from_utf8_lossy(&checked.stdout);
    let lines = said
        .lines()
        .filter_map(|line| serde_json::from_str::<Line>(line).ok());
    let messages = lines.filter_map(|line| line.message);
    let errors: Vec<Message> = messages
        .filter(|message| message.level == "error" && !message.spans.is_empty())
        .collect();
    ensure!(
        checked.status.success() || !errors.is_empty(),
        "{command:?} fails and says nothing of it"
    );
    Ok(errors)
}

/// The mutants because of which the compiler says this: those in whose own text a place of the message
/// is; or else those in whose switch it is, since a switch is an expression of its own.
fn blame(error: &Message, places: &BTreeMap<String, Vec<Place>>) -> Vec<usize> {
    let mut spans = Vec::new();
    for span in &error.spans {
        let mut next = Some(span);
        while let Some(span) = next {
            spans.push(span);
            next = span.expansion.as_ref().map(|expansion| &expansion.span);
        }
    }
    let helpful = error.children.iter().flat_map(|child| &child.spans);
    let all: Vec<&Span> = spans.iter().copied().chain(helpful).collect();
    let smallest = |spans: &[&Span], range: fn(&Place) -> &Range<usize>| -> Vec<usize> {
        for span in spans {
            let Some(places) = places.get(&span.file_name) else {
                continue;
            };
            let holds = |place: &&Place| {
                let range = range(place);
                range.start <= span.byte_start && span.byte_end <= range.end
            };
            let length = |place: &&Place| range(place).len();
            let Some(least) = places.iter().filter(holds).min_by_key(length) else {
                continue;
            };
            let least = range(least).clone();
            let same = places.iter().filter(|place| *range(place) == least);
            return same.map(|place| place.mutant).collect();
        }
        Vec::new()
    };
    let own = smallest(&all, |place| &place.put);
    if !own.is_empty() {
        return own;
    }
    let mut primary: Vec<&Span> = spans
        .iter()
        .copied()
        .filter(|span| span.is_primary)
        .collect();
    primary.extend(all);
    let around = smallest(&primary, |place| &place.switch);
    if !around.is_empty() {
        return around;
    }
    // A `match` that lacks an arm is named by what it matches, in front of its arms.
    let behind = |span: &&Span| {
        let places = places.get(&span.file_name)?;
        let behind = places
            .iter()
            .filter(|place| place.switch.start >= span.byte_end);
        let next = behind.min_by_key(|place| place.switch.start)?;
        Some(next.mutant)
    };
    primary.iter().find_map(behind).into_iter().collect()
}

/// Builds these binaries of tests in release.
fn binaries(tree: &Path, wanted: &BTreeSet<Binary>) -> Result<BTreeMap<Binary, PathBuf>> {
    let packages: BTreeSet<&str> = wanted.iter().map(|it| &*it.package).collect();
    let packages: Vec<String> = packages
        .iter()
        .map(|it| format!("--package {it}"))
        .collect();
    let line = format!("test --profile ci {}", packages.join(" "));
    let found = build_in(tree, &line, wanted)?;
    // The next build of the same packages elsewhere would replace them.
    let folder = Path::new("target/mutants/binaries");
    fs::create_dir_all(folder).with_context(|| format!("create {}", folder.display()))?;
    let mut kept = BTreeMap::new();
    for (binary, path) in found {
        let name = path.file_name().context("a binary has a name")?;
        fs::copy(&path, folder.join(name)).with_context(|| format!("copy {}", path.display()))?;
        kept.insert(binary, env::current_dir()?.join(folder).join(name));
    }
    Ok(kept)
}
