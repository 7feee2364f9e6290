//! The evidence for a verdict: the recording of a run, and its picture.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::check::{Property, Verdict, Violation};
use crate::recording::{self, Environment, Recording};
use crate::report::{self, spacetime};
use crate::scenario::Scenario;

use super::store::Store;

/// A run that serves as evidence, and the path of its recording.
pub(super) struct Evidence {
    /// The verdicts of the run.
    pub(super) verdicts: BTreeMap<Property, Verdict>,
    /// The properties that it violates, of those in question.
    pub(super) properties: Vec<Property>,
    pub(super) recording: PathBuf,
    pub(super) picture: PathBuf,
}

/// Writes a recording and draws it, with the violation of `property` highlighted if there is
/// one.
pub(super) fn keep(
    store: &Store,
    stem: &str,
    scenario: &Scenario,
    run: &Recording,
    property: Property,
) -> anyhow::Result<Evidence> {
    let violation = violation_of(run, property);
    let recording = store.write(&format!("{stem}.jsonl"), &recording::write(run))?;
    let title = match &scenario.claim {
        Some(claim) => format!("{claim}: {}", scenario.title),
        None => scenario.title.clone(),
    };
    let title = match (run.header.environment, &run.header.redis) {
        (Environment::World, _) => title,
        (Environment::Redis, None) => format!("{title} (on real Redis)"),
        (Environment::Redis, Some(version)) => format!("{title} (on real Redis {version})"),
    };
    let svg = spacetime::draw(&run.history, &title, violation)?;
    let [_, picture] = write(store, stem, &svg)?;
    Ok(Evidence {
        verdicts: run.footer.verdicts.clone(),
        properties: vec![property],
        recording,
        picture,
    })
}

/// Writes a drawing as `STEM.svg` and as `STEM.png`; returns their paths.
pub(super) fn write(store: &Store, stem: &str, svg: &str) -> anyhow::Result<[PathBuf; 2]> {
    Ok([
        store.write(&format!("{stem}.svg"), svg.as_bytes())?,
        store.write(&format!("{stem}.png"), &report::png(svg)?)?,
    ])
}

/// The violation of `property` by the run, if there is one.
fn violation_of(run: &Recording, property: Property) -> Option<&Violation> {
    match run.footer.verdicts.get(&property) {
        Some(Verdict::Violated(violation)) => Some(violation),
        _ => None,
    }
}
