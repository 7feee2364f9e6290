//! Searches for planted mistakes, in the ways in which `locklab museum --strategies` searches for mechanisms.
//!
//! The program that searches is an example in `tests/plants/`, built in the copy of the tree. What it finds is in
//! `reports/search/`, beside the museum.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde::Serialize;

use super::data::{Plant, Target};
use super::switch::VARIABLE;
use crate::commit::{git, share};
use crate::release;
use crate::tool::{cargo_in, perform};

/// Which mistakes are searched for, and what for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Search<'a> {
    /// All, to publish the results.
    All,
    /// One in [`SHARES`], to compare the numbers of runs with those that are published.
    Compare,
    /// These.
    Named(&'a [&'a str]),
}

/// One mistake in this many is compared.
const SHARES: usize = 8;

/// The mistakes, for the program.
const LIST: &str = "target/plants/search.json";

/// The program, after it was built.
const PROGRAM: &str = "target/release/examples/plant-search";

/// The folder of published results, and the one of others.
const PUBLISHED: &str = "reports";
const TRIED: &str = "target/plants";

/// The numbers of runs, in either folder.
const NUMBERS: &str = "search/mistakes.csv";

/// A mistake as the program reads it.
#[derive(Serialize)]
struct Mistake<'a> {
    name: &'a str,
    #[serde(flatten)]
    target: &'a Target,
}

/// The mistakes to search for, of all planted ones.
///
/// # Errors
///
/// If a name is unknown, or has no [`Target`].
pub fn choose<'a>(search: Search, plants: &'a [Plant]) -> Result<Vec<&'a Plant>> {
    let targets = plants.iter().filter(|plant| plant.search.is_some());
    let mut targets: Vec<&Plant> = targets.collect();
    match search {
        Search::All => {}
        Search::Compare => {
            let due = share(&git(&["rev-parse", "HEAD"])?, SHARES as u64) as usize;
            targets = targets.into_iter().skip(due).step_by(SHARES).collect();
        }
        Search::Named(names) => {
            for name in names {
                let is_target = targets.iter().any(|plant| plant.name == *name);
                ensure!(
                    is_target,
                    "no mistake `{name}` has a `search` in tests/plants/"
                );
            }
            targets.retain(|plant| names.contains(&&*plant.name));
        }
    }
    Ok(targets)
}

/// Builds the program in the copy, and lets it search for these mistakes.
///
/// # Errors
///
/// If the copy cannot be built, a search fails, or a number of runs is not the one that is published.
pub fn run(search: Search, plants: &[&Plant], tree: &Path) -> Result<()> {
    let build = format!("build {} --example plant-search", release::PACKAGES);
    perform(cargo_in(tree, &build)?)?;
    fs::write(LIST, list(plants)?).with_context(|| format!("write {LIST}"))?;
    let folder = match search {
        Search::All => PUBLISHED,
        Search::Compare | Search::Named(_) => TRIED,
    };
    let mut program = Command::new(PROGRAM);
    // It compares with runs without any mistake.
    program.args([LIST, folder]).env_remove(VARIABLE);
    perform(program)?;
    if search == Search::Compare {
        let read = |folder| fs::read_to_string(Path::new(folder).join(NUMBERS));
        let (published, anew) = (read(PUBLISHED)?, read(TRIED)?);
        let new = unpublished(&published, &anew);
        ensure!(
            new.is_empty(),
            "{PUBLISHED}/{NUMBERS} does not have these lines; to publish them: cargo xtask plants --search\n{}",
            new.join("\n")
        );
    }
    Ok(())
}

fn list(plants: &[&Plant]) -> Result<String> {
    let mistakes = plants.iter().filter_map(|plant| {
        let (name, target) = (&*plant.name, plant.search.as_ref()?);
        Some(Mistake { name, target })
    });
    let mistakes: Vec<Mistake> = mistakes.collect();
    Ok(serde_json::to_string_pretty(&mistakes)?)
}

/// The lines that are not published.
fn unpublished<'a>(published: &str, anew: &'a str) -> Vec<&'a str> {
    let published: BTreeSet<&str> = published.lines().collect();
    let lines = anew.lines().filter(|line| !published.contains(line));
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::super::data::read;
    use super::*;

    /// Of `a` and `b` only the latter can be found by a search.
    fn plants() -> Vec<Plant> {
        let entry = |name: &str, search: &str| {
            format!(
                "[[plant]]\nname = \"{name}\"\nwhat = \"w\"\nfile = \"f\"\nfind = \"a\"\n\
                 put = \"b\"\nscenario = \"s\"\n{search}\n"
            )
        };
        let search = "search = { lock = \"redlock\", violates = \"lease\" }";
        read("p.toml", &(entry("a", "") + &entry("b", search))).expect("valid")
    }

    #[test]
    fn the_program_gets_what_can_be_searched_for() {
        let plants = plants();
        let chosen = choose(Search::All, &plants).expect("none is named");
        let list: serde_json::Value =
            serde_json::from_str(&list(&chosen).expect("written")).expect("JSON");
        let expected = serde_json::json!([
            { "name": "b", "lock": "redlock", "violates": "lease", "sets": [] }
        ]);
        assert_eq!(list, expected);
    }

    #[test]
    fn a_mistake_that_no_search_can_find_is_refused() {
        let plants = plants();
        let named = |name| choose(Search::Named(&[name]), &plants).map(|chosen| chosen.len());
        assert_eq!(named("b").expect("it has a search"), 1);
        let error = named("a").expect_err("it has none").to_string();
        assert_eq!(error, "no mistake `a` has a `search` in tests/plants/");
    }

    #[test]
    fn a_number_that_is_not_published_is_noticed() {
        let published = "mistake,runs\na,1\nb,2\n";
        assert!(unpublished(published, "mistake,runs\nb,2\n").is_empty());
        assert_eq!(unpublished(published, "mistake,runs\nb,3\n"), ["b,3"]);
    }
}
