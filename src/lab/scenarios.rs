//! The scenarios that a command names, with their seeds.

use std::ops::Range;

use anyhow::{anyhow, bail, ensure};
use locklab_model::scenario::{Place, SHIPPED, Scenario, ScenarioError, Source};
use locklab_runner::pool::Broken;
use locklab_vecmap::VecMap;
use serde::Serialize;

use super::bug::Bug;
use super::program::Program;
use super::store;

/// Scenarios, each with its seeds.
pub struct Scenarios {
    /// The scenarios, as the user called them.
    pub names: Vec<String>,
    /// The overrides.
    pub sets: Vec<String>,
    /// The scenarios with their overrides.
    pub scenarios: Vec<Scenario>,
    /// The seeds of each.
    pub seeds: Vec<Range<u64>>,
}

impl Scenarios {
    /// Reads scenarios: names of shipped ones, or files; `seeds` says with which seeds one is run.
    ///
    /// # Errors
    ///
    /// If one cannot be read, is given twice, or two would write to the same folder.
    pub fn load(
        names: &[String],
        sets: &[String],
        seeds: impl Fn(&Scenario) -> Range<u64>,
    ) -> anyhow::Result<Self> {
        let scenarios = load(names, sets)?;
        Ok(Self {
            names: names.to_vec(),
            sets: sets.to_vec(),
            seeds: scenarios.iter().map(seeds).collect(),
            scenarios,
        })
    }

    /// The names of all scenarios that ship.
    pub fn shipped() -> Vec<String> {
        SHIPPED.iter().map(|(name, _)| (*name).into()).collect()
    }

    /// Leaves out those for which `why_not` gives a reason, which it returns with their names.
    pub fn leave_out(
        &mut self,
        why_not: impl Fn(&Scenario) -> Option<String>,
    ) -> Vec<(String, String)> {
        let mut left_out = Vec::new();
        for place in (0..self.scenarios.len()).rev() {
            if let Some(why) = why_not(&self.scenarios[place]) {
                left_out.insert(0, (self.scenarios[place].name.clone(), why));
                self.names.remove(place);
                self.scenarios.remove(place);
                self.seeds.remove(place);
            }
        }
        left_out
    }

    /// What results of these scenarios depend on.
    pub fn identity(&self) -> impl Serialize {
        (&self.scenarios, &self.seeds)
    }

    /// The error for a run without a result.
    pub fn bug(&self, program: &Program, broken: Broken) -> anyhow::Error {
        let name = &self.names[broken.job];
        let reproduce = program.run_line(name, &self.sets, broken.seed);
        Bug::or_usage(broken, name, reproduce)
    }
}

fn load(names: &[String], sets: &[String]) -> anyhow::Result<Vec<Scenario>> {
    let mut folders = VecMap::new();
    let mut scenarios = Vec::new();
    for (place, name) in names.iter().enumerate() {
        // Before it is read: standard input has its text only once.
        ensure!(!names[..place].contains(name), "{name} is given twice");
        let source = Source::find(name)?;
        let scenario = source.scenario(sets);
        let scenario = scenario.map_err(|error| blame(error, name, names))?;
        let folder = store::folder_of(&scenario.name, sets);
        let file = source.file().to_owned();
        match folders.insert(folder.clone(), (name, file.clone())) {
            None => scenarios.push(scenario),
            Some((other, same)) if same == file => {
                bail!("{other} and {name} are the same scenario; name it once");
            }
            Some((other, _)) => {
                bail!(
                    "{other} and {name} would both write to the folder {folder}; run one at a time"
                );
            }
        }
    }
    Ok(scenarios)
}

/// An error with the name of the scenario where only an override is blamed, and there are several
/// scenarios.
pub fn blame(error: ScenarioError, name: &str, names: &[String]) -> anyhow::Error {
    match error {
        ScenarioError::Invalid {
            place: Place::Option(_),
            ..
        } if names.len() > 1 => anyhow!("{name}: {error}"),
        error => error.into(),
    }
}
