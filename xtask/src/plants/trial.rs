//! Builds the copy of the tree, and tries whether the catchers catch.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::choice::Which;
use super::data::{Catcher, Plant};
use super::switch::VARIABLE;
use crate::binary::{Binary, build_in};
use crate::tool::{PRODUCT, ends_within, parallel};

/// The environment variable with the scenarios that `tests/plants/main.rs` runs.
pub const SCENARIO: &str = "LOCKLAB_PLANT_SCENARIO";

/// The environment variable with another number of runs of each scenario.
pub const SEEDS: &str = "LOCKLAB_PLANT_SEEDS";

/// A trial that takes longer is named with its time.
const SLOW_S: f64 = 20.0;

/// The longest trial: many times as long as any takes. A mistake that makes its catcher wait for ever is not
/// caught by it.
const LIMIT: Duration = Duration::from_secs(900);

/// The folder in which catchers run. A random test that fails saves its case below it.
const WORK: &str = "target/plants/work";

/// The number of trials beside the one for each core. Some wait, such as for bytes that never arrive.
const BESIDE: usize = 1;

/// A catcher, and the mistake with which it runs, or none.
type Trial<'a> = (Option<&'a Plant>, Catcher);

/// Runs the catchers of these mistakes, each with its mistake; returns what is not as it should be, a line each.
///
/// A catcher fails because of its mistake, if it passes in the copy without any. In CI other steps show that,
/// in the copy, and in the tree in release. So of `Which::Recent` the catchers of all mistakes have to exist,
/// also of those whose turn it is not yet.
pub fn run(which: Which, all: &[Plant], chosen: &[&Plant], tree: &Path) -> Result<Vec<String>> {
    let is_recent = matches!(which, Which::Recent);
    let caught_by = |plant: &Plant| -> Result<Vec<Catcher>> {
        let mut catchers = plant.caught_by()?;
        if is_recent {
            // CI has the time for one.
            catchers.truncate(1);
        }
        Ok(catchers)
    };
    let mut catchers: BTreeSet<Catcher> = BTreeSet::new();
    let controlled: Vec<&Plant> = match is_recent {
        true => all.iter().collect(),
        false => chosen.to_vec(),
    };
    for plant in controlled {
        catchers.extend(caught_by(plant)?);
    }
    let mut mistaken: Vec<Trial> = Vec::new();
    for &plant in chosen {
        let caught_by = caught_by(plant)?.into_iter();
        mistaken.extend(caught_by.map(|catcher| (Some(plant), catcher)));
    }
    let binaries = build(&catchers, which, tree)?;
    fs::create_dir_all(WORK).with_context(|| format!("create {WORK}"))?;
    let sound = catchers.into_iter().map(|catcher| (None, catcher));
    let trials: Vec<Trial> = sound.chain(mistaken).collect();
    let complaints = parallel(&trials, BESIDE, |(plant, catcher)| {
        let start = Instant::now();
        let passes = match plant {
            None if is_recent => Some(exists(catcher, &binaries)?),
            _ => passes(catcher, *plant, &binaries)?,
        };
        let (name, seconds) = (plant.map(|it| &*it.name), start.elapsed().as_secs_f64());
        if seconds > SLOW_S {
            let name = name.unwrap_or("without any mistake");
            println!("{name}: {seconds:.0} s in {catcher}");
        }
        let complaint = match (plant, passes) {
            (_, None) => {
                let name = name.unwrap_or("without any mistake");
                format!("{name}: {catcher} does not end within {LIMIT:?}")
            }
            (None, Some(false)) if is_recent => {
                format!("nothing catches: {catcher} does not exist")
            }
            (None, Some(false)) => format!("fails without any mistake: {catcher}"),
            (Some(Plant { name, what, .. }), Some(true)) => {
                format!("{name} survives {catcher}: {what}")
            }
            (None, Some(true)) | (Some(_), Some(false)) => return Ok(None),
        };
        println!("{complaint}");
        Ok(Some(complaint))
    });
    complaints
        .into_iter()
        .filter_map(Result::transpose)
        .collect()
}

/// Whether the catcher passes with this mistake; `None` if it does not end.
fn passes(
    catcher: &Catcher,
    plant: Option<&Plant>,
    binaries: &BTreeMap<Binary, PathBuf>,
) -> Result<Option<bool>> {
    let mut command = Command::new(&binaries[&catcher.binary()]);
    match catcher {
        Catcher::Scenario(name) => command.env(SCENARIO, name),
        Catcher::Test(_, filter) => command.arg(filter),
    };
    command.current_dir(WORK);
    command.env_remove(VARIABLE);
    command.envs(plant.map(|plant| (VARIABLE, &plant.name)));
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let status = ends_within(LIMIT, &mut command)?;
    Ok(status.map(|status| status.success()))
}

/// Whether the copy has the catcher: the scenario can be run, or the filter matches a test.
fn exists(catcher: &Catcher, binaries: &BTreeMap<Binary, PathBuf>) -> Result<bool> {
    let mut command = Command::new(&binaries[&catcher.binary()]);
    match catcher {
        Catcher::Scenario(name) => command.env(SCENARIO, name).env(SEEDS, "1"),
        Catcher::Test(_, filter) => command.args([filter, "--list"]),
    };
    let said = command.current_dir(WORK).env_remove(VARIABLE).output();
    let said = said.with_context(|| format!("start the catcher {catcher}"))?;
    let has_test = || said.stdout.windows(6).any(|bytes| bytes == b": test");
    Ok(said.status.success() && (matches!(catcher, Catcher::Scenario(_)) || has_test()))
}

/// The package that depends on all others.
const ALL: &str = "locklab";

/// Builds the binaries of these catchers in the copy; returns their paths.
fn build(
    catchers: &BTreeSet<Catcher>,
    which: Which,
    tree: &Path,
) -> Result<BTreeMap<Binary, PathBuf>> {
    let wanted: BTreeSet<Binary> = catchers.iter().map(Catcher::binary).collect();
    // Apart, since with `--lib` cargo builds the unit tests of every package that it gets.
    let (unit_tests, integration_tests): (Vec<_>, Vec<_>) =
        wanted.iter().partition(|binary| binary.test.is_none());
    let mut found = BTreeMap::new();
    for wanted in [unit_tests, integration_tests] {
        if wanted.is_empty() {
            continue;
        }
        let packages = match which {
            Which::Named(_) => {
                // A few unit tests less to build.
                let names: BTreeSet<&str> =
                    wanted.iter().map(|it| &*it.package).chain([ALL]).collect();
                let names: Vec<String> = names.iter().map(|it| format!("--package {it}")).collect();
                names.join(" ")
            }
            // The features of the dependencies follow from the packages, so that another choice may compile most crates
            // anew. CI has built the same copy for the tests.
            Which::Recent | Which::Simulated | Which::All => PRODUCT.to_owned(),
        };
        found.append(&mut build_in(tree, &format!("test {packages}"), wanted)?);
    }
    Ok(found)
}
