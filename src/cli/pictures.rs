//! The evidence for a verdict: the recording of a run, and its picture.

use std::path::PathBuf;

use crate::check::{Property, Verdict, Violation};
use crate::history::file::{self, Recording};
use crate::report::{Format, spacetime};
use crate::scenario::Scenario;

use super::store::Store;

/// A run that shows something, and where it is written down.
pub(super) struct Evidence {
    /// The run.
    pub(super) run: Recording,
    /// What it violates, of that which is asked about.
    pub(super) properties: Vec<Property>,
    pub(super) recording: PathBuf,
    pub(super) picture: PathBuf,
}

/// Writes a recording and draws it, with the violation of `property` called out if there
/// is one.
pub(super) fn keep(
    store: &Store,
    stem: &str,
    scenario: &Scenario,
    run: &Recording,
    property: Property,
) -> anyhow::Result<Evidence> {
    let violation = violation_of(run, property);
    let recording = store.write(&format!("{stem}.jsonl"), &file::write(run))?;
    let title = match &scenario.claim {
        Some(claim) => format!("{claim}: {}", scenario.title),
        None => scenario.title.clone(),
    };
    let draw = |format| spacetime::draw(&run.history, &title, violation, format);
    store.write(&format!("{stem}.svg"), &draw(Format::Svg)?)?;
    let picture = store.write(&format!("{stem}.png"), &draw(Format::Png)?)?;
    Ok(Evidence {
        run: run.clone(),
        properties: vec![property],
        recording,
        picture,
    })
}

/// How the run violates `property`, if it does.
pub(super) fn violation_of(run: &Recording, property: Property) -> Option<&Violation> {
    match run.footer.verdicts.get(&property) {
        Some(Verdict::Violated(violation)) => Some(violation),
        _ => None,
    }
}
