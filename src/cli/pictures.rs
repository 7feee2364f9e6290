//! The evidence for a verdict: the recording of a run, and its picture.

use std::path::PathBuf;

use crate::check::{Property, Verdict, Violation};
use crate::history::file::{self, Recording};
use crate::report::{Format, spacetime};
use crate::scenario::Scenario;

use super::store::Store;

/// Where the evidence lies.
pub(super) struct Evidence {
    pub(super) recording: PathBuf,
    pub(super) picture: PathBuf,
    /// The violation that the picture shows.
    pub(super) violation: Option<Violation>,
}

/// Writes a recording and draws it, with the violation of `property` called out.
pub(super) fn keep(
    store: &Store,
    stem: &str,
    scenario: &Scenario,
    recording: &Recording,
    property: Property,
) -> anyhow::Result<Evidence> {
    let violation = violation_of(recording, property);
    let path = store.write(&format!("{stem}.jsonl"), &file::write(recording))?;
    let title = match &scenario.claim {
        Some(claim) => format!("{claim}: {}", scenario.title),
        None => scenario.title.clone(),
    };
    let draw = |format| spacetime::draw(&recording.history, &title, violation.as_ref(), format);
    store.write(&format!("{stem}.svg"), &draw(Format::Svg)?)?;
    let picture = store.write(&format!("{stem}.png"), &draw(Format::Png)?)?;
    Ok(Evidence {
        recording: path,
        picture,
        violation,
    })
}

fn violation_of(recording: &Recording, property: Property) -> Option<Violation> {
    match recording.footer.verdicts.get(&property) {
        Some(Verdict::Violated(violation)) => Some(violation.clone()),
        _ => None,
    }
}

/// How this program was called, so that a line to paste works where it is pasted.
pub(super) fn program() -> String {
    std::env::args().next().unwrap_or_else(|| "locklab".into())
}
