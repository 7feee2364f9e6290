//! The cases of a suite, and where they come from.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use serde::{Deserialize, Serialize};

use locklab_check::Property;
use locklab_model::scenario::{SHIPPED, Scenario, Source};
use locklab_results::recording::{self, Environment, Recording};
use locklab_runner::recorded;

/// One case.
#[derive(Debug, Clone)]
pub struct Case {
    /// Its path, or the name of a scenario that ships; unique in the suite.
    pub id: String,
    /// The scenario; of a recording the one in it.
    pub scenario: Scenario,
    /// Its text, of which variants can be made; a recording has none.
    pub source: Option<Source>,
    /// If the scenario is a file: the lines, from 1, at which its predictions stand, or that of
    /// `[expect]`.
    pub lines: BTreeMap<Property, usize>,
    /// The recorded run to judge again, if this is one.
    pub recording: Option<Recording>,
}

/// What a case is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A scenario, run with many seeds.
    Scenario,
    /// A recorded run, repeated with its seed and its faults.
    Recorded,
}

impl Case {
    /// What it is.
    pub fn kind(&self) -> Kind {
        match self.recording {
            None => Kind::Scenario,
            Some(_) => Kind::Recorded,
        }
    }

    /// A scenario: the shipped one of this name, or a file.
    fn scenario(name: &str) -> anyhow::Result<Case> {
        let source = Source::find(name)?;
        let scenario = source.scenario(&[])?;
        let line = |property: &Property| {
            let path = ["expect".to_owned(), property.name().to_owned()];
            Some((*property, source.line_of(&path)?))
        };
        let lines = match Path::new(name).is_file() {
            true => Property::ALL.iter().filter_map(line).collect(),
            false => BTreeMap::new(),
        };
        Ok(Case {
            id: name.into(),
            scenario,
            source: Some(source),
            lines,
            recording: None,
        })
    }

    /// A recording of the simulated world.
    fn recorded(path: &Path) -> anyhow::Result<Case> {
        let id = path.to_string_lossy().into_owned();
        let recording = recording::read(&recording::bytes(path)?, path)?;
        ensure!(
            recording.header.environment == Environment::World,
            "{id}: a run on real Redis cannot be repeated; keep a run of the simulated world"
        );
        let scenario = recorded::scenario(&recording).with_context(|| format!("{id}:1"))?;
        Ok(Case {
            id,
            scenario,
            source: None,
            lines: BTreeMap::new(),
            recording: Some(recording),
        })
    }
}

/// The cases of these paths, in their order: scenario files (`.toml`), recordings (`.jsonl`),
/// folders of both, searched with all folders in them, and names of scenarios that ship. Without
/// paths the folders `scenarios` and `regressions` of the current one.
///
/// # Errors
///
/// The first path that is nothing of the kind, or cannot be read; without paths, if there is neither folder: what
/// somebody meant to check is not all that ships.
pub fn find(paths: &[String]) -> anyhow::Result<Vec<Case>> {
    let mut usual = ["scenarios", "regressions"].map(String::from).to_vec();
    let paths = match paths {
        [] => {
            usual.retain(|folder| Path::new(folder).is_dir());
            ensure!(
                !usual.is_empty(),
                "there is no folder `scenarios` or `regressions` here; name files or folders, or check all \
                 scenarios that ship with --all"
            );
            &usual
        }
        paths => paths,
    };
    let mut cases: Vec<Case> = Vec::new();
    for path in paths {
        let before = cases.len();
        add(path, &mut cases)?;
        ensure!(
            cases.len() > before,
            "the folder {path} has neither a scenario (.toml) nor a recording (.jsonl)"
        );
    }
    for (place, case) in cases.iter().enumerate() {
        if cases[..place].iter().any(|other| other.id == case.id) {
            bail!("{} is given twice", case.id);
        }
    }
    Ok(cases)
}

/// Every scenario that ships, in the order of their list.
///
/// # Errors
///
/// None, while each of them is valid.
pub fn shipped() -> anyhow::Result<Vec<Case>> {
    { SHIPPED.iter() }
        .map(|(name, _)| Case::scenario(name))
        .collect()
}

fn add(path: &str, cases: &mut Vec<Case>) -> anyhow::Result<()> {
    let file = Path::new(path);
    if !file.is_dir() {
        cases.push(match ends_in(file, "jsonl") {
            true => Case::recorded(file)?,
            false => Case::scenario(path)?,
        });
        return Ok(());
    }
    let reason = || format!("cannot read the folder {path}");
    let entries = fs::read_dir(file).with_context(reason)?;
    let entries: Result<Vec<PathBuf>, _> = { entries }
        .map(|entry| entry.map(|entry| entry.path()))
        .collect();
    let mut entries = entries.with_context(reason)?;
    entries.sort();
    for entry in entries {
        let name = entry.to_string_lossy();
        if entry.is_dir()
            || ["toml", "jsonl"]
                .iter()
                .any(|ending| ends_in(&entry, ending))
        {
            add(&name, cases)?;
        }
    }
    Ok(())
}

fn ends_in(file: &Path, ending: &str) -> bool {
    file.extension().is_some_and(|found| found == ending)
}
