//! The planted mistakes as `tests/plants/*.toml` has them, one file per area.

use std::collections::BTreeSet;
use std::fmt;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use crate::binary::Binary;
use crate::source::File;

/// The folder of the data.
pub const FOLDER: &str = "tests/plants/";

/// A planted mistake.
#[derive(Debug, Clone, Deserialize)]
pub struct Plant {
    /// Its name, which the environment variable `LOCKLAB_PLANT` chooses.
    pub name: String,
    /// A description in one sentence.
    pub what: String,
    /// The file that it changes, relative to the root of the repository.
    pub file: String,
    /// Text that occurs exactly once in the file, if `find` alone occurs several times.
    pub within: Option<String>,
    /// The text that is replaced, which occurs exactly once in the file, or in `within`. In a Rust
    /// file an expression, or whole statements; in C an expression.
    pub find: String,
    /// The text that stands there instead, of the same kind.
    pub put: String,
    /// The shipped scenario that must notice it. A mistake of a lock or of the node that a test catches names it
    /// too, if it shows in a property of a run.
    scenario: Option<String>,
    /// The tests that must, as `cargo test --package` gets them: `PACKAGE --lib FILTER` or
    /// `PACKAGE --test NAME FILTER`.
    test: Option<String>,
    /// The path and the line, from 1, of the entry.
    #[serde(skip)]
    pub place: (String, usize),
    /// Fields that do not exist, or not any more: an error in today's data, and ignored in an earlier commit's.
    #[serde(flatten)]
    unknown: toml::Table,
}

/// A scenario or tests that must catch a mistake.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Catcher {
    /// A shipped scenario: its observed result differs from its prediction.
    Scenario(String),
    /// The tests in a binary whose names contain this: at least one of them fails.
    Test(Binary, String),
}

/// Shown as the command that runs it alone.
impl fmt::Display for Catcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Catcher::Scenario(name) => write!(f, "scenario {name}"),
            Catcher::Test(binary, filter) => write!(f, "cargo test --package {binary} {filter}"),
        }
    }
}

impl Catcher {
    /// The binary that it runs: for a scenario `tests/plants/main.rs`.
    pub fn binary(&self) -> Binary {
        match self {
            Catcher::Scenario(_) => Binary::new("locklab", Some("plants")),
            Catcher::Test(binary, _) => binary.clone(),
        }
    }
}

impl Plant {
    /// The tests, the scenario, or both that must catch it, the quicker first.
    pub fn caught_by(&self) -> Result<Vec<Catcher>> {
        let test = self.test.as_deref().map(catcher).transpose();
        let test = test.with_context(|| self.name.clone())?;
        let scenario = self.scenario.clone().map(Catcher::Scenario);
        let catchers: Vec<Catcher> = test.into_iter().chain(scenario).collect();
        ensure!(
            !catchers.is_empty(),
            "{}: expected `test`, `scenario` or both",
            self.name
        );
        Ok(catchers)
    }

    /// Whether its catcher starts real servers.
    pub fn is_real(&self) -> bool {
        let on_servers = ["--test agreement ", "--test servers "];
        let starts = |test: &String| on_servers.iter().any(|it| test.contains(it));
        self.test.as_ref().is_some_and(starts)
    }

    /// Whether the other is the same mistake with the same first catcher, wherever its file is now.
    pub fn is_same(&self, other: &Plant) -> bool {
        let of = |plant: &Plant| {
            let Plant {
                name, find, put, ..
            } = plant.clone();
            (
                name,
                find,
                put,
                plant.within.clone(),
                plant.caught_by().ok().and_then(|all| all.first().cloned()),
            )
        };
        of(self) == of(other)
    }
}

/// Reads the words that `cargo test --package` would get: a package, `--lib` or `--test NAME`, and
/// a filter.
fn catcher(words: &str) -> Result<Catcher> {
    match Binary::parse(words)? {
        (binary, rest) if rest.len() == 1 => Ok(Catcher::Test(binary, rest[0].to_owned())),
        _ => bail!("a `test` is `PACKAGE --lib FILTER` or `PACKAGE --test NAME FILTER`"),
    }
}

/// All mistakes of the repository's files.
pub fn of(files: &[File]) -> Result<Vec<Plant>> {
    let is_data = |file: &&File| file.path.starts_with(FOLDER) && file.path.ends_with(".toml");
    let mut plants = Vec::new();
    for file in files.iter().filter(is_data) {
        plants.append(&mut read(&file.path, &file.text)?);
    }
    let mut names = BTreeSet::new();
    for plant in &plants {
        if let Some(field) = plant.unknown.keys().next() {
            bail!("`{}`: unknown field `{field}`", plant.name);
        }
        ensure!(names.insert(&plant.name), "`{}` is given twice", plant.name);
    }
    Ok(plants)
}

/// The mistakes of one area, as this or an earlier commit has them.
pub fn read(path: &str, text: &str) -> Result<Vec<Plant>> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Area {
        plant: Vec<Plant>,
    }
    let area: Area = toml::from_str(text).with_context(|| format!("read {path}"))?;
    let mut plants = area.plant;
    for plant in &mut plants {
        let entry = format!("name = \"{}\"", plant.name);
        let line = text.lines().position(|line| line == entry);
        plant.place = (path.to_owned(), line.map_or(1, |line| line + 1));
        plant.caught_by().with_context(|| format!("read {path}"))?;
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
        ensure!(
            !plant.name.is_empty() && plant.name.chars().all(is_plain),
            "read {path}: `{}`: a name has letters, digits and hyphens",
            plant.name
        );
    }
    Ok(plants)
}

#[cfg(test)]
mod tests {
    use std::slice;

    use super::*;

    const ENTRY: &str =
        "[[plant]]\nname = \"n\"\nwhat = \"w\"\nfile = \"f\"\nfind = \"a\"\nput = \"b\"\n";

    #[track_caller]
    fn check(rest: &str, expected: Result<&[Catcher], &str>) {
        let read = of(&[File::new(
            "tests/plants/p.toml".into(),
            ENTRY.to_owned() + rest,
        )]);
        match (read, expected) {
            (Ok(plants), Ok(catchers)) => assert_eq!(plants[0].caught_by().unwrap(), catchers),
            (Err(error), Err(why)) => assert!(format!("{error:#}").contains(why), "{error:#}"),
            (read, expected) => panic!("{read:?} instead of {expected:?}"),
        }
    }

    #[test]
    fn an_entry_names_its_catchers() {
        let scenario = Catcher::Scenario("a/b".into());
        check("scenario = \"a/b\"", Ok(slice::from_ref(&scenario)));
        let tests = Catcher::Test(Binary::new("p", None), "x".into());
        check("test = \"p --lib x\"", Ok(slice::from_ref(&tests)));
        let binary = Catcher::Test(Binary::new("p", Some("t")), "x".into());
        check("test = \"p --test t x\"", Ok(&[binary]));
        let both = "scenario = \"a/b\"\ntest = \"p --lib x\"";
        check(both, Ok(&[tests, scenario]));
        check("", Err("n: expected `test`, `scenario` or both"));
        check("test = \"p x\"", Err("nor `PACKAGE --test NAME`"));
        check("scenario = \"a\"\nputs = \"\"", Err("unknown field `puts`"));
    }

    /// Else every mistake of the file would count as new.
    #[test]
    fn a_field_of_an_earlier_commit_is_ignored() {
        let known = |rest: &str| {
            let plants = read("p.toml", &format!("{ENTRY}scenario = \"a\"\n{rest}"));
            plants.expect("it is valid").remove(0)
        };
        assert!(known("").is_same(&known("search = { lock = \"setnx\" }")));
    }

    #[test]
    fn a_name_is_given_once() {
        let file = |path: &str| File::new(path.into(), format!("{ENTRY}scenario = \"a\"\n"));
        let once = [file("tests/plants/a.toml"), file("tests/other/a.toml")];
        assert_eq!(of(&once).expect("one").len(), 1);
        let twice = [file("tests/plants/a.toml"), file("tests/plants/b.toml")];
        let error = of(&twice).expect_err("the second is refused");
        assert_eq!(error.to_string(), "`n` is given twice");
    }
}
