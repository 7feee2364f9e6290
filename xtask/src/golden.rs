//! Checks that a refactoring changes no result: `golden.txt` has commands with few runs, and their output is compared,
//! line by line, with what an earlier commit makes.
//!
//! Results are kept for each commit, so that the next comparison need not build it again.

use std::collections::BTreeSet;
use std::env;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};

use crate::commit::git;
use crate::tool::{cargo, files_below, parallel, patient, perform};

const COMMANDS: &str = include_str!("../golden.txt");

/// What the commands made, in a folder for each commit; `now` is the tree as it is.
const RESULTS: &str = "target/golden";

/// The file with the commands, beside what they made.
const LIST: &str = "commands";

/// The differing files that are named; more of them say no more.
const NAMED: usize = 20;

/// Compares with the last commit, or if nothing was changed since, with the one before it.
///
/// # Errors
///
/// If a result differs, with its file and its first line that does.
pub fn run(base: Option<&str>) -> Result<()> {
    let changed = !git(&["status", "--porcelain"])?.trim().is_empty();
    let base = base.unwrap_or(if changed { "HEAD" } else { "HEAD~1" });
    let base = commit(base)?;
    let name = match changed {
        true => "now".to_owned(),
        false => commit("HEAD")?,
    };
    ensure!(
        name != base,
        "nothing differs from {base}: there is nothing to compare"
    );
    let here = env::current_dir().context("the folder of the workspace")?;
    perform(cargo("build --quiet --profile ci --bin locklab"))?;
    let now = make(&name, &here.join("target/ci/locklab"))?;
    let before = here.join(RESULTS).join(&base);
    // Results of another list of commands are of no use.
    if fs::read_to_string(before.join(LIST)).ok().as_deref() != Some(COMMANDS) {
        println!("==> building {base}");
        make(&base, &build(&base)?)?;
    }
    let differing = differing(&before, &now)?;
    if differing.is_empty() {
        println!("golden: as in {base}, to the last byte");
        return Ok(());
    }
    let more = differing.len().saturating_sub(NAMED);
    let named: Vec<String> = differing.into_iter().take(NAMED).collect();
    bail!(
        "these results are not those of {base}{}:\n{}",
        match more {
            0 => String::new(),
            more => format!(" (and {more} more)"),
        },
        named.join("\n")
    )
}

fn commit(name: &str) -> Result<String> {
    let id = git(&["rev-parse", "--short=12", &format!("{name}^{{commit}}")])?;
    Ok(id.trim().to_owned())
}

/// Builds an earlier commit; returns its program.
fn build(commit: &str) -> Result<PathBuf> {
    let here = env::current_dir().context("the folder of the workspace")?;
    let tree = here.join(RESULTS).join("tree");
    replace(&tree)?;
    fs::create_dir_all(&tree).context("create the folder of an earlier commit")?;
    let packed = here.join(RESULTS).join("tree.tar");
    git(&["archive", "--output", &packed.to_string_lossy(), commit])?;
    let mut unpack = Command::new("tar");
    unpack.arg("-xf").arg(&packed).arg("-C").arg(&tree);
    perform(unpack)?;
    fs::remove_file(&packed).context("remove the archive")?;
    // With its own folder: what is compiled of one tree would overwrite what is of the other.
    let target = here.join(RESULTS).join("build");
    let mut build = cargo("build --quiet --profile ci --bin locklab");
    build.current_dir(&tree).env("CARGO_TARGET_DIR", &target);
    perform(build)?;
    Ok(target.join("ci/locklab"))
}

/// Runs the commands with this program; returns the folder of what they made.
fn make(name: &str, program: &Path) -> Result<PathBuf> {
    let folder = env::current_dir()?.join(RESULTS).join(name);
    // An interrupted run leaves no results that look whole.
    let partial = folder.with_extension("partial");
    replace(&partial)?;
    let start = Instant::now();
    let commands: Vec<(&str, &str)> = commands(COMMANDS).collect();
    let complaints = parallel(&commands, 0, |(place, words)| {
        let made = perform_one(program, &partial.join(place), words);
        made.err()
            .map(|error| format!("locklab {words}: {error:#}"))
    });
    let failed: Vec<String> = complaints.into_iter().flatten().collect();
    ensure!(failed.is_empty(), "{}", failed.join("\n"));
    fs::write(partial.join(LIST), COMMANDS).context("keep the commands")?;
    replace(&folder)?;
    fs::rename(&partial, &folder).context("keep the results")?;
    println!("==> {name}: made in {} s", start.elapsed().as_secs());
    Ok(folder)
}

/// The folder of each command, and its words.
fn commands(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .filter_map(|line| line.split_once(' '))
        .map(|(place, words)| (place, words.trim()))
}

fn perform_one(program: &Path, folder: &Path, words: &str) -> Result<()> {
    fs::create_dir_all(folder).context("create a folder for results")?;
    let root = env::current_dir()?;
    let words = words.replace("{root}", &root.to_string_lossy());
    let printed = folder.join("printed");
    let mut command = patient(program);
    command
        .args(words.split_whitespace())
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(File::create(&printed)?);
    let output = command.stderr(Stdio::piped()).output();
    let output = output.context("start it")?;
    // A verdict on few runs may differ from its prediction, or be open.
    ensure!(
        matches!(output.status.code(), Some(0 | 2 | 3)),
        "{}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    // What stands here of the machine: the paths of the program and of the inputs, and the time that it took.
    let text = fs::read_to_string(&printed).context("what it printed")?;
    let text = text.replace(&*program.to_string_lossy(), "locklab");
    let text = text.replace(&*root.to_string_lossy(), "");
    let lines = text.lines().filter(|line| !line.starts_with("took "));
    let text: String = lines.map(|line| format!("{line}\n")).collect();
    fs::write(&printed, text).context("what it printed")
}

fn replace(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("remove {}", folder.display()))?;
    }
    Ok(())
}

/// Whether a file is a ledger, which names the build that wrote it.
fn is_ledger(path: &Path) -> Result<bool> {
    if path.extension().is_none_or(|ending| ending != "jsonl") {
        return Ok(false);
    }
    let mut start = Vec::new();
    let file = File::open(path).with_context(|| path.display().to_string())?;
    file.take(200).read_to_end(&mut start)?;
    Ok(String::from_utf8_lossy(&start).contains("\"build\":"))
}

/// The results below a folder, by their paths within it.
fn files(folder: &Path) -> Result<BTreeSet<PathBuf>> {
    let results = files_below(folder)?.into_iter().map(|file| {
        let is_result = !is_ledger(&folder.join(&file))?;
        Ok(is_result.then_some(file))
    });
    results.filter_map(Result::transpose).collect()
}

/// The files in which two folders differ, each with its first differing line.
fn differing(before: &Path, now: &Path) -> Result<Vec<String>> {
    let (old, new) = (files(before)?, files(now)?);
    let mut found = Vec::new();
    for file in old.union(&new) {
        let name = file.display();
        match (old.contains(file), new.contains(file)) {
            (true, true) => {
                let (old, new) = (fs::read(before.join(file))?, fs::read(now.join(file))?);
                if let Some((line, old, new)) = first_difference(&old, &new) {
                    found.push(format!("{name}:{line}\n  before  {old}\n  now     {new}"));
                }
            }
            (true, false) => found.push(format!("{name}: is not made any more")),
            _ => found.push(format!("{name}: was not made before")),
        }
    }
    Ok(found)
}

/// The number of the first line in which two texts differ, and the two lines, from their first differing
/// character on.
fn first_difference(old: &[u8], new: &[u8]) -> Option<(usize, String, String)> {
    if old == new {
        return None;
    }
    let (old, new) = (String::from_utf8_lossy(old), String::from_utf8_lossy(new));
    let (mut old, mut new) = (old.split('\n'), new.split('\n'));
    let mut number = 0;
    loop {
        number += 1;
        let (a, b) = (old.next(), new.next());
        if a != b || a.is_none() {
            let (a, b) = (a.unwrap_or("(the end)"), b.unwrap_or("(the end)"));
            let same = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
            return Some((number, excerpt(a, same), excerpt(b, same)));
        }
    }
}

fn excerpt(line: &str, from: usize) -> String {
    const AROUND: usize = 30;
    let start = from.saturating_sub(AROUND);
    line.chars().skip(start).take(4 * AROUND).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_has_a_folder_of_its_own() {
        let places: Vec<&str> = commands(COMMANDS).map(|(place, _)| place).collect();
        let distinct: BTreeSet<&str> = places.iter().copied().collect();
        assert_eq!(places.len(), distinct.len());
        assert!(places.contains(&"runs") && places.contains(&"campaign"));
    }

    #[test]
    fn a_difference_is_named_by_its_line() {
        let found = first_difference(b"a\nb = 1\nc", b"a\nb = 2\nc");
        assert_eq!(found, Some((2, "b = 1".into(), "b = 2".into())));
        let found = first_difference(b"a\n", b"a\nb\n");
        assert_eq!(found, Some((2, String::new(), "b".into())));
        assert_eq!(first_difference(b"a\n", b"a\n"), None);
    }

    #[test]
    fn a_file_that_appears_or_goes_differs() {
        let folder = env::temp_dir().join(format!("locklab-golden-{}", std::process::id()));
        let (before, now) = (folder.join("before"), folder.join("now"));
        for (path, text) in [
            (before.join("runs/same"), "1\n"),
            (now.join("runs/same"), "1\n"),
            (before.join("runs/rate.csv"), "a\n1\n"),
            (now.join("runs/rate.csv"), "a\n2\n"),
            (before.join("gone"), ""),
            (now.join("new"), ""),
        ] {
            fs::create_dir_all(path.parent().expect("it has one")).expect("a folder");
            fs::write(path, text).expect("a file");
        }
        let found = differing(&before, &now).expect("both can be read");
        fs::remove_dir_all(&folder).expect("it was made");
        let firsts: Vec<&str> = found
            .iter()
            .filter_map(|text| text.lines().next())
            .collect();
        let expected = [
            "gone: is not made any more",
            "new: was not made before",
            "runs/rate.csv:2",
        ];
        assert_eq!(firsts, expected);
    }
}
