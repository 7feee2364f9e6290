//! Planted mistakes: deliberate bugs, each of which a shipped scenario or a test must catch.
//!
//! They are data, in `tests/plants/`. A copy of the tree (`tree`) gets a switch at every place that
//! a mistake changes (`switch`), and is built once. For each mistake its catcher runs in a process
//! of its own with the mistake switched on, and must fail; and once without any mistake, and must
//! pass (`trial`). In CI the latter is shown by the other tests: those in debug run in the copy too, so that it is
//! built once. A mistake that survives is a gap in the coverage of scenarios and tests.

use std::path::PathBuf;

use anyhow::{Result, bail};

use crate::source::{self, File};

mod choice;
mod data;
mod switch;
mod tree;
mod trial;

pub use choice::Which;
pub use data::{Catcher, FOLDER, Plant, of as all};
pub use tree::write as write_tree;
use trial::{Control, Packages};
pub use trial::{SCENARIO, SEEDS};

/// The folder of the copy.
const TREE: &str = "target/plants/tree";

/// Plants mistakes, and looks whether their catchers notice.
/// Fails if a mistake survives, a catcher fails without any mistake, the text of a mistake is not found
/// exactly once, or the copy cannot be built.
pub fn run(which: Which) -> Result<()> {
    let files = source::files()?;
    let plants = data::of(&files)?;
    let choice = choice::choose(which, &plants)?;
    println!("{}", choice.why);
    if choice.plants.is_empty() {
        return Ok(());
    }
    let tree = write(&plants, &files)?;
    let (control, controlled) = match which {
        // A mistake whose turn it is not yet has a catcher too.
        Which::Recent => (Control::Exists, plants.iter().collect()),
        Which::Simulated | Which::All | Which::Named(_) => (Control::Passes, choice.plants.clone()),
    };
    let packages = match which {
        Which::Recent | Which::Simulated | Which::All => Packages::AsTests,
        Which::Named(_) => Packages::OfCatchers,
    };
    let wrong = trial::run(&choice.plants, &controlled, control, packages, &tree)?;
    if !wrong.is_empty() {
        bail!("{}", lines(wrong));
    }
    println!("{} mistakes: all caught", choice.plants.len());
    Ok(())
}

/// Writes the copy, in which a build has all mistakes, switched off; returns its path.
pub fn copy() -> Result<PathBuf> {
    let files = source::files()?;
    write(&data::of(&files)?, &files)
}

/// Every mistake gets its switch, so that one build serves every choice.
fn write(plants: &[Plant], files: &[File]) -> Result<PathBuf> {
    match switch::planted(plants, files) {
        Ok(changed) => tree::write(TREE, files, &changed),
        Err(wrong) => bail!("{}", lines(wrong.iter().map(ToString::to_string))),
    }
}

/// What is wrong with the data: (path, line from 1, what to do).
pub fn stale(files: &[File]) -> Vec<(String, usize, String)> {
    let plants: Vec<Plant> = match data::of(files) {
        Ok(plants) => plants,
        Err(error) => return vec![(FOLDER.to_owned(), 1, format!("{error:#}"))],
    };
    let Err(wrong) = switch::planted(&plants, files) else {
        return Vec::new();
    };
    let place = |wrong: switch::Wrong| {
        let plant = plants.iter().find(|plant| plant.name == wrong.name);
        let (path, line) = plant.map_or((FOLDER.to_owned(), 1), |plant| plant.place.clone());
        (path, line, wrong.to_string())
    };
    wrong.into_iter().map(place).collect()
}

fn lines(lines: impl IntoIterator<Item = String>) -> String {
    lines.into_iter().collect::<Vec<_>>().join("\n")
}
