//! The logs in GCViewer's tests, of all JVMs since 1.3: no pause that GCViewer finds in one may be missing in what
//! `locklab record` reads. Both are fetched, and neither is part of this tree.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::tool::{cargo, files_below, is_on_path, perform, works};

const LOGS: &str = "https://github.com/chewiebug/GCViewer";
const PROGRAM: &str = "com.github.chewiebug:gcviewer:1.36";
const FOLDER: &str = "target/gc-logs";

/// Of these logs GCViewer says more than they do, and why that is wrong.
const MISREAD: [(&str, &str); 3] = [
    (
        "SampleOpenJdk1_8_0-332.txt",
        "it takes the microseconds of the statistics at the end for seconds",
    ),
    (
        "sample-ujl-cms-gc-all,safepoint,os+cpu.txt",
        "it counts a full collection within a young one twice",
    ),
    (
        "sample-ujl-zgc-gc-all.txt",
        "it takes a whole cycle for one pause",
    ),
];

/// What GCViewer's rounding, or a pause that it counts twice, may add to the sum.
const TOTAL: f64 = 1.02;
/// GCViewer has the longest pause to ten microseconds, and the sum to ten milliseconds.
const LONGEST_S: f64 = 2e-5;
const TOTAL_S: f64 = 0.01;

/// The pauses of a log, in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Pauses {
    longest: f64,
    total: f64,
}

/// Compares what both read in these logs, by default in GCViewer's own.
/// Fails if a program fails, or a log has pauses that only GCViewer finds: with the logs' names.
pub fn run(folder: Option<&str>) -> Result<()> {
    if !is_on_path("java") || !is_on_path("mvn") {
        println!("skipped: GCViewer needs java and mvn");
        return Ok(());
    }
    let Some(folder) = folder.map(PathBuf::from).or_else(logs) else {
        println!("skipped: {LOGS} cannot be had; cargo xtask gc-logs FOLDER compares other logs");
        return Ok(());
    };
    let fetch = format!(
        "dependency:copy -B -q -Dartifact={PROGRAM} -DoutputDirectory={FOLDER} -Dmdep.stripVersion"
    );
    let mut maven = Command::new("mvn");
    maven.args(fetch.split(' '));
    perform(maven)?;
    perform(cargo("build --profile ci --package locklab --bin locklab"))?;
    let (mut compared, mut refused, mut missed) = (0, 0, Vec::new());
    for file in files_below(&folder)? {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let path = folder.join(&file);
        let Some(expected) = of_viewer(&path)? else {
            continue;
        };
        match of_locklab(&path)? {
            Ok(read) => {
                compared += 1;
                let known = MISREAD.iter().find(|(it, _)| *it == name);
                if lacks(read, expected) && known.is_none() {
                    missed.push(format!("{name}: {read:?}, and in GCViewer {expected:?}"));
                }
            }
            Err(why) => {
                refused += 1;
                println!("{name}: not compared: {why}");
            }
        }
    }
    ensure!(missed.is_empty(), "{}", missed.join("\n"));
    ensure!(compared > 0, "{} has no log of a JVM", folder.display());
    println!("{compared} logs: no pause of GCViewer's is missing; {refused} not compared");
    Ok(())
}

fn lacks(read: Pauses, expected: Pauses) -> bool {
    read.longest + LONGEST_S < expected.longest || read.total * TOTAL + TOTAL_S < expected.total
}

/// The logs in a copy of GCViewer's repository.
fn logs() -> Option<PathBuf> {
    let copy = Path::new(FOLDER).join("GCViewer");
    if !copy.exists() {
        let mut git = Command::new("git");
        git.args(["clone", "--quiet", "--depth", "1", LOGS])
            .arg(&copy);
        git.env("GIT_TERMINAL_PROMPT", "0");
        if !works(git) {
            return None;
        }
    }
    Some(copy.join("src/test/resources/openjdk"))
}

/// What GCViewer reads, if it finds a pause.
fn of_viewer(file: &Path) -> Result<Option<Pauses>> {
    let summary = Path::new(FOLDER).join("summary.csv");
    if summary.exists() {
        fs::remove_file(&summary)?;
    }
    let jar = Path::new(FOLDER).join("gcviewer.jar");
    let mut java = Command::new("java");
    java.args(["-Djava.awt.headless=true", "-Duser.language=en", "-cp"])
        .arg(jar);
    // Its preferences go into the folder of the user.
    java.arg("-Duser.home=".to_owned() + FOLDER);
    java.arg("com.tagtraum.perf.gcviewer.GCViewer")
        .arg(file)
        .arg(&summary)
        .args(["-t", "SUMMARY"]);
    // Of some logs it ends with an exception: they have no summary.
    works(java);
    Ok(fs::read_to_string(summary)
        .ok()
        .as_deref()
        .and_then(summarized))
}

/// The rows `maxPause; 0.03073; s` and `accumPause; 0.25; s`.
fn summarized(summary: &str) -> Option<Pauses> {
    let number = |name: &str| -> Option<f64> {
        let mut rows = summary.lines().map(|line| line.split("; "));
        let mut row = rows.find_map(|mut row| (row.next() == Some(name)).then_some(row))?;
        row.next()?.replace(',', "").parse().ok()
    };
    Some(Pauses {
        longest: number("maxPause")?,
        total: number("accumPause")?,
    })
}

/// What `locklab record` reads, or why it refuses the log.
fn of_locklab(file: &Path) -> Result<Result<Pauses, String>> {
    let mut locklab = Command::new("target/ci/locklab");
    locklab.args(["record", "--json", "--gc-log"]).arg(file);
    let output = locklab.output().context("locklab did not start")?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let reason = said.trim().rsplit_once(": ").map_or("", |(_, it)| it);
        return Ok(Err(reason.to_owned()));
    }
    let results: Value = serde_json::from_slice(&output.stdout).context("its results")?;
    let causes = results["causes"].as_array().into_iter().flatten();
    let pauses = causes.flat_map(|cause| cause["values_ms"].as_array().into_iter().flatten());
    let seconds: Vec<f64> = pauses
        .filter_map(Value::as_f64)
        .map(|ms| ms / 1e3)
        .collect();
    Ok(Ok(Pauses {
        longest: seconds.iter().copied().fold(0.0, f64::max),
        total: seconds.iter().sum(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_that_only_the_other_finds_is_missing() {
        let of = |longest, total| Pauses { longest, total };
        assert!(!lacks(of(0.2, 1.0), of(0.2, 1.0)));
        assert!(!lacks(of(0.3, 1.0), of(0.2, 0.5)));
        assert!(lacks(of(0.2, 1.0), of(0.21, 1.0)));
        assert!(lacks(of(0.2, 1.0), of(0.2, 1.2)));
    }

    #[test]
    fn a_summary_is_read() {
        let summary = "gcLogFile; a.txt; -\naccumPause; 1,218.69; s\nmaxPause; 218.69288; s\n";
        let expected = Pauses {
            longest: 218.69288,
            total: 1218.69,
        };
        assert_eq!(summarized(summary), Some(expected));
        assert_eq!(summarized("accumPause; 0; s\nmaxPause; n.a.; s\n"), None);
    }
}
