//! Planted mistakes: deliberate bugs, each of which a shipped scenario or a test must catch.
//!
//! They are data, in `tests/plants/`. A copy of the tree (`tree`) gets a switch at every place that
//! a mistake changes (`switch`), and is built once. For each mistake its catcher runs in a process
//! of its own with the mistake switched on, and must fail; and once without any mistake, and must
//! pass (`trial`). In CI the latter is shown by the other tests: those in debug run in the copy too, so that it is
//! built once. A mistake that survives is a gap in the coverage of scenarios and tests.

use std::path::PathBuf;

use anyhow::{Result, bail};

use crate::source::{self, File, Finding};

mod choice;
mod data;
mod switch;
mod tree;
mod trial;

pub use choice::Which;
pub use data::{Catcher, FOLDER, Plant, of as all};
pub use trial::{SCENARIO, SEEDS};

/// The folder of the copy.
const TREE: &str = "target/plants/tree";

/// Plants mistakes, and looks whether their catchers notice.
/// Fails if a mistake survives, a catcher fails without any mistake, the text of a mistake is not found
/// exactly once, or the copy cannot be built.
pub fn run(which: Which) -> Result<()> {
    let files = source::files()?;
    let plants = data::of(&files)?;
    let (chosen, why) = choice::choose(which, &plants)?;
    println!("{why}");
    if chosen.is_empty() {
        return Ok(());
    }
    let tree = write(&plants, &files)?;
    let wrong = trial::run(which, &plants, &chosen, &tree)?;
    if !wrong.is_empty() {
        bail!("{}", lines(wrong));
    }
    println!("{} mistakes: all caught", chosen.len());
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
        Err(wrong) => bail!("{}", lines(wrong.into_iter().map(|it| it.remedy))),
    }
}

/// What is wrong with the data: the text that a mistake replaces occurs exactly once.
pub fn fit(files: &[File]) -> Vec<Finding> {
    match data::of(files) {
        Ok(plants) => switch::planted(&plants, files).err().unwrap_or_default(),
        Err(error) => vec![Finding {
            path: FOLDER.to_owned(),
            line: 1,
            rule: "plants",
            remedy: format!("{error:#}"),
        }],
    }
}

fn lines(lines: impl IntoIterator<Item = String>) -> String {
    lines.into_iter().collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::check;

    #[test]
    fn the_text_of_a_mistake_is_in_its_file_exactly_once() {
        let entry = "[[plant]]\nname = \"late\"\nwhat = \"w\"\nfile = \"a.rs\"\nfind = \"x > 1\"\n\
                     put = \"true\"\nscenario = \"s\"\n";
        let plants = ("tests/plants/a.toml", entry);
        check(fit, &[plants, ("a.rs", "if x > 1 {}")], &[]);
        let red = ["tests/plants/a.toml:2: plants"];
        check(fit, &[plants, ("a.rs", "if x > 2 {}")], &red);
        check(fit, &[plants, ("a.rs", "if x > 1 && x > 1 {}")], &red);
        check(fit, &[plants], &red);
        let twice = ("tests/plants/b.toml", entry);
        check(
            fit,
            &[plants, twice, ("a.rs", "x > 1")],
            &["tests/plants/:1: plants"],
        );
    }

    /// `cargo test` says so, too, not only `cargo xtask tidy`.
    #[test]
    fn every_planted_mistake_fits_the_source() {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
        let files = source::files_below(root).expect("a git checkout");
        let findings: Vec<String> = fit(&files).iter().map(ToString::to_string).collect();
        assert!(findings.is_empty(), "\n{}", findings.join("\n"));
    }
}
