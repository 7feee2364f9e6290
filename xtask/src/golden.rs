//! Checks that a refactoring changes no result: `golden.txt` has commands with few runs, and their output is compared,
//! line by line, with what an earlier commit makes.
//!
//! Results are kept for each commit, so that the next comparison need not build it again.

use std::env;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use crate::tool::{cargo, files_below, git, parallel, patient, perform};

const COMMANDS: &str = include_str!("../golden.txt");

/// What the commands made, in a folder for each commit; `now` is the tree as it is.
const RESULTS: &str = "target/golden";

/// The file with the commands, beside what they made.
const LIST: &str = "commands";

/// The lines of a difference that are shown below the files that differ, and the characters of each.
const SHOWN: usize = 100;
const LONGEST: usize = 200;

/// Compares with the last commit, or if nothing was changed since, with the one before it.
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
    let difference = difference(&before, &now)?;
    ensure!(
        difference.is_empty(),
        "these results are not those of {base}:\n{difference}"
    );
    println!("golden: as in {base}, to the last byte");
    Ok(())
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
    for file in files_below(&partial)?.iter().map(|it| partial.join(it)) {
        if is_ledger(&file)? {
            fs::remove_file(file).context("remove a ledger")?;
        }
    }
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

/// All files that differ, or that only one of two folders has; and the first of the lines in which they do.
fn difference(before: &Path, now: &Path) -> Result<String> {
    let files = diff(&["--brief"], before, now)?;
    let lines = diff(&["--unified=0", "--text"], before, now)?;
    let lines = lines.lines().filter(|line| !line.starts_with("diff "));
    let short = |line: &str| line.chars().take(LONGEST).collect::<String>() + "\n";
    Ok(files + &lines.take(SHOWN).map(short).collect::<String>())
}

fn diff(options: &[&str], before: &Path, now: &Path) -> Result<String> {
    let mut diff = Command::new("diff");
    diff.arg("--recursive").args(options).args([before, now]);
    let said = diff.output().context("start diff")?;
    ensure!(
        matches!(said.status.code(), Some(0 | 1)),
        "{diff:?}: {}",
        said.status
    );
    Ok(String::from_utf8_lossy(&said.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_has_a_folder_of_its_own() {
        let places: Vec<&str> = commands(COMMANDS).map(|(place, _)| place).collect();
        let distinct: std::collections::BTreeSet<&str> = places.iter().copied().collect();
        assert_eq!(places.len(), distinct.len());
        assert!(places.contains(&"runs") && places.contains(&"campaign"));
    }

    #[test]
    fn what_differs_is_shown_with_its_lines() {
        let folder = env::temp_dir().join(format!("locklab-golden-{}", std::process::id()));
        let (before, now) = (folder.join("before"), folder.join("now"));
        for (path, text) in [
            (before.join("runs/same"), "1\n"),
            (now.join("runs/same"), "1\n"),
            (before.join("runs/rate.csv"), "a\n1\n"),
            (now.join("runs/rate.csv"), "a\n2\n"),
            (before.join("gone"), ""),
            (now.join("new"), ""),
            (before.join("runs/z1"), &"1\n".repeat(SHOWN)),
            (now.join("runs/z1"), &"2\n".repeat(SHOWN)),
            (before.join("runs/z2"), "1\n"),
            (now.join("runs/z2"), "2\n"),
        ] {
            fs::create_dir_all(path.parent().expect("it has one")).expect("a folder");
            fs::write(path, text).expect("a file");
        }
        let found = difference(&before, &now).expect("both can be read");
        assert_eq!(difference(&now, &now).expect("it can be read"), "");
        fs::remove_dir_all(&folder).expect("it was made");
        for expected in [
            "before: gone",
            "now: new",
            "runs/rate.csv",
            "@@ -2 +2 @@\n-1\n+2\n",
            "now/runs/z2 differ\n",
        ] {
            assert!(found.contains(expected), "{expected}: {found}");
        }
        assert!(!found.contains("same"), "{found}");
    }
}
