//! The published results: `reports/README.md` says which commands make them, and these commands
//! still make them, byte for byte.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::tool::{cargo, git, perform};

const REPORTS: &str = "reports";
const README: &str = "reports/README.md";
/// The results of real runs, a page that says on which machine it was made, a page with a compiled module, and what a
/// program made that exists no more.
const UNREPEATABLE: [&str; 9] = [
    "reports/calibrate/",
    "reports/clients/",
    "reports/confirm/",
    "reports/critique/",
    "reports/mutants/",
    "reports/play/",
    "reports/scorecard/",
    "reports/search/",
    "reports/throughput/",
];
/// The results made anew, to be looked at or copied.
const ANEW: &str = "target/published";

/// Runs the commands, and compares what they make.
/// Fails if a published file differs or is not made, with the names of all such files.
pub fn run() -> Result<()> {
    if Path::new(ANEW).exists() {
        fs::remove_dir_all(ANEW).context("remove the results of an earlier comparison")?;
    }
    let text = fs::read_to_string(README).context("read what makes the results")?;
    let commands = commands(&text);
    ensure!(!commands.is_empty(), "{README} names no command");
    perform(cargo(
        "build --quiet --profile ci --package locklab --bin locklab",
    ))?;
    for command in commands {
        println!("==> locklab {command}");
        let here = command.replace(&format!("--out {REPORTS}"), &format!("--out {ANEW}"));
        // A word in quotes may have spaces.
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("target/ci/locklab {here}")]);
        perform(shell)?;
    }
    let differing = differing(&published()?)?;
    ensure!(
        differing.is_empty(),
        "these results are not those in {REPORTS}; the new ones are in {ANEW}:\n{}",
        differing.join("\n")
    );
    Ok(())
}

/// The arguments of the commands in the table: `| what it is | `locklab … --out reports …` |`.
fn commands(text: &str) -> BTreeSet<&str> {
    let cells = text.lines().filter_map(|line| {
        let (_, last) = line.strip_suffix("` |")?.rsplit_once("| `locklab ")?;
        last.contains(&format!("--out {REPORTS}")).then_some(last)
    });
    cells.collect()
}

/// The published files, by their paths within the folder.
fn published() -> Result<Vec<PathBuf>> {
    let listed = git(&["ls-files", REPORTS])?;
    // Real runs never repeat.
    let is_repeatable = |line: &&str| {
        !UNREPEATABLE.iter().any(|folder| line.starts_with(folder)) && *line != README
    };
    let files = listed.lines().filter(is_repeatable);
    files
        .map(|line| Ok(Path::new(line).strip_prefix(REPORTS)?.to_owned()))
        .collect()
}

fn differing(files: &[PathBuf]) -> Result<Vec<String>> {
    let mut differing = Vec::new();
    for file in files {
        let published =
            fs::read(Path::new(REPORTS).join(file)).context("read what is published")?;
        match fs::read(Path::new(ANEW).join(file)) {
            Ok(anew) if anew == published => {}
            Ok(_) => differing.push(format!("{} differs", file.display())),
            Err(error) => differing.push(format!("{}: {error}", file.display())),
        }
    }
    Ok(differing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_names_the_commands() {
        let text = "| folder | command |\n|---|---|\n\
                    | `a/*`: rates | `locklab study sweep a --out reports --seeds 20` |\n\
                    | `b/*`: more (1) | `locklab study cost --out reports` |\n\
                    | a number | 3 |\n";
        let expected = [
            "study cost --out reports",
            "study sweep a --out reports --seeds 20",
        ];
        assert_eq!(commands(text), BTreeSet::from(expected));
    }

    #[test]
    fn the_published_page_was_made_from_a_commit() {
        let page = fs::read_to_string("../reports/critique/index.html").expect("it is published");
        let commit = page.split("<dt>Commit</dt><dd>").nth(1);
        let commit = commit.and_then(|rest| rest.split('<').next());
        let commit = commit.expect("the page names the commit");
        assert!(
            commit.len() == 12 && commit.bytes().all(|byte| byte.is_ascii_hexdigit()),
            "{commit}: publish it from a clone without changes"
        );
    }
}
