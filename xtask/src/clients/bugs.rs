//! Reported bugs below the code of a lock: a version of a library that has one is attacked beside one that does not.

use std::process::Command;

use anyhow::{Result, ensure};
use serde::Deserialize;

use super::attack::{start, told};
use super::{Client, LOCKLAB, Violated};

/// How often each version is run. The scenarios strike at a point of the program, so nearly each run shows it.
const RUNS: u64 = 3;

/// A reported bug, as `client.toml` describes it.
#[derive(Deserialize)]
pub struct Bug {
    /// Where it was reported.
    thread: String,
    /// The file of the scenario that shows it.
    scenario: String,
    /// The property that the version of the folder violates.
    violates: String,
    /// The command line of the worker.
    run: Vec<String>,
    /// The version, or the option, without the bug.
    mended: String,
    /// The command line of the worker with that.
    run_mended: Vec<String>,
}

/// Attacks both versions of an installed library.
/// Fails if the one with the bug does not show it, or the other does.
pub fn attack(name: &str, client: &Client) -> Result<()> {
    for bug in &client.bugs {
        let broken = runs(name, &bug.scenario, &bug.run)?;
        let mended = runs(&format!("{name}-mended"), &bug.scenario, &bug.run_mended)?;
        let told = format!(
            "{name}: {}: {} violates {}, {} violates {}",
            bug.thread,
            client.version,
            words(&broken),
            bug.mended,
            words(&mended)
        );
        eprintln!("{told}");
        let shows = |violated: &[Violated]| violated.iter().any(|it| it.property == bug.violates);
        ensure!(
            shows(&broken) && !shows(&mended),
            "{name}: expected {} of the first, and not of the second",
            bug.violates
        );
    }
    Ok(())
}

/// What is violated in the runs of a command.
fn runs(name: &str, scenario: &str, run: &[String]) -> Result<Vec<Violated>> {
    let mut command = Command::new(LOCKLAB);
    command.args(["attack", "--scenario", scenario, "--seeds"]);
    command.arg(format!("0..{RUNS}"));
    Ok(told(start(command, name, run)?)?.violated())
}

/// `lease in 3 of 3 runs`.
fn words(violated: &[Violated]) -> String {
    let words = violated.iter();
    let words = words.map(|it| format!("{} in {} of {} runs", it.property, it.runs, it.of));
    match words.collect::<Vec<_>>() {
        words if words.is_empty() => format!("nothing in {RUNS} runs"),
        words => words.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::clients::{folders, read};

    #[test]
    fn what_is_violated_is_told_with_its_runs() {
        assert_eq!(words(&[]), "nothing in 3 runs");
        let violated = |property: &str, runs| Violated {
            property: property.to_owned(),
            runs,
            of: 3,
            seed: 0,
        };
        let both = [violated("lease", 3), violated("belief", 2)];
        assert_eq!(words(&both), "lease in 3 of 3 runs, belief in 2 of 3 runs");
    }

    #[test]
    fn bugs_have_scenarios_and_two_workers() {
        // The tests run in the folder of this package.
        let root = Path::new("..");
        let names = folders(root).expect("it is there");
        let clients = names
            .iter()
            .map(|name| read(root, name).expect("it is valid"));
        let bugs: Vec<Bug> = clients.flat_map(|client| client.bugs).collect();
        assert!(bugs.len() >= 2);
        for bug in bugs {
            assert!(root.join(&bug.scenario).is_file(), "{}", bug.scenario);
            assert_ne!(bug.run, bug.run_mended, "{}", bug.thread);
        }
    }
}
