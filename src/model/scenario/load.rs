//! Reading a scenario from its text, with overrides.

use serde::de::DeserializeOwned;

use super::document::Document;
use super::error::ScenarioError;
use super::explain::explain;
use super::measured::Measured;
use super::source::Source;
use super::{Scenario, validate};
use crate::workload::Fencing;

/// Reads a scenario from a file, or the shipped one of this name, and applies overrides in
/// their order, each written `path=value`: `fault.gc.duration_ms=500`.
///
/// # Errors
///
/// When there is no such scenario, when it cannot be parsed, or when it contains an invalid
/// value; the first error found is reported.
pub fn load(path_or_name: &str, sets: &[String]) -> Result<Scenario, ScenarioError> {
    Source::find(path_or_name)?.scenario(sets)
}

/// The same for clients that are programs of others: the scenario does not say how often they take the lock, nor whether
/// that gives tokens.
///
/// # Errors
///
/// As [`load`].
pub fn load_for_programs(path_or_name: &str, sets: &[String]) -> Result<Scenario, ScenarioError> {
    let source = Source::find(path_or_name)?;
    parse_for_programs(&source.file, &source.text, sets)
}

impl Source {
    /// The scenario, with overrides.
    ///
    /// # Errors
    ///
    /// As [`parse`].
    pub fn scenario(&self, sets: &[String]) -> Result<Scenario, ScenarioError> {
        parse(&self.file, &self.text, sets)
    }

    /// The line, from 1, at which the value at a path stands, or the nearest table around it.
    pub fn line_of(&self, path: &[String]) -> Option<usize> {
        let document = Document::parse(&self.file, &self.text, &[]).ok()?;
        let before = self.text.get(..document.span_of(path).start)?;
        Some(before.matches('\n').count() + 1)
    }
}

/// Reads a scenario from a text; `file` is its path, used for its name and for errors.
///
/// # Errors
///
/// When it cannot be parsed, or when it contains an invalid value; the first error found is
/// reported.
pub fn parse(file: &str, text: &str, sets: &[String]) -> Result<Scenario, ScenarioError> {
    parse_if(file, text, sets, validate::validate)
}

/// The same for clients that are programs of others: the scenario does not say how often they take the lock, nor whether
/// that gives tokens.
///
/// # Errors
///
/// As [`parse`].
pub fn parse_for_programs(
    file: &str,
    text: &str,
    sets: &[String],
) -> Result<Scenario, ScenarioError> {
    parse_if(file, text, sets, valid_for_programs)
}

fn parse_if(
    file: &str,
    text: &str,
    sets: &[String],
    is_valid: impl Fn(&Scenario) -> Result<(), validate::Problem>,
) -> Result<Scenario, ScenarioError> {
    let mut document = Document::parse(file, text, sets)?;
    let measured = Measured::read(&document)?;
    measured.put_into(&mut document);
    let mut scenario: Scenario = interpret(&document)?;
    is_valid(&scenario)
        .map_err(|problem| document.error(document.span_of(&problem.path), problem.what))?;
    scenario.name = name_of(file);
    scenario.overrides = sets.to_vec();
    Ok(scenario)
}

/// Reads any other TOML text in the same way: with overrides, files of measured values, and errors that
/// point into the text.
///
/// # Errors
///
/// When it cannot be parsed, or does not have this form.
pub fn read<T: DeserializeOwned>(
    file: &str,
    text: &str,
    sets: &[String],
) -> Result<T, ScenarioError> {
    let mut document = Document::parse(file, text, sets)?;
    let measured = Measured::read(&document)?;
    measured.put_into(&mut document);
    interpret(&document)
}

fn interpret<T: DeserializeOwned>(document: &Document<'_>) -> Result<T, ScenarioError> {
    let root = toml::Deserializer::from(document.root.clone());
    T::deserialize(root).map_err(|error| explain(document, &error))
}

/// Checks a scenario that did not come from a TOML text.
///
/// # Errors
///
/// The first invalid value found, with the path to it.
pub fn check(scenario: &Scenario) -> Result<(), String> {
    validate::validate(scenario).map_err(in_words)
}

/// The same for clients that are programs of others.
///
/// # Errors
///
/// As [`check`].
pub fn check_for_programs(scenario: &Scenario) -> Result<(), String> {
    valid_for_programs(scenario).map_err(in_words)
}

fn in_words(problem: validate::Problem) -> String {
    format!("{}: {}", problem.path.join("."), problem.what)
}

fn valid_for_programs(scenario: &Scenario) -> Result<(), validate::Problem> {
    validate::validate_for_programs(scenario, &of_programs(scenario))
}

/// The scenario with clients that take the lock again and again, a resource that asks for no tokens, and single nodes without TLS.
fn of_programs(scenario: &Scenario) -> Scenario {
    let mut scenario = scenario.clone();
    scenario.resource.fencing = Fencing::None;
    scenario.cluster = None;
    scenario.node.tls = false;
    scenario.workload.rounds = u32::MAX;
    for client in scenario.workload.client.values_mut() {
        client.rounds = None;
    }
    scenario
}

/// `kleppmann/k1` for `scenarios/kleppmann/k1.toml`; outside `scenarios`, the name of the file.
fn name_of(file: &str) -> String {
    let stem = file.strip_suffix(".toml").unwrap_or(file);
    let below = stem.rsplit_once("scenarios/").map(|(_, below)| below);
    let last = || stem.rsplit('/').next().unwrap_or(stem);
    below.unwrap_or_else(last).into()
}
