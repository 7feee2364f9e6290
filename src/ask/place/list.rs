//! Every class of placements, for programs.

use locklab_check::Property;
use locklab_results::csv::Csv;
use locklab_values::units::fractional_ms_from_ns;
use serde::Serialize;

use super::classes::{Class, schedule};
use super::outcome::{Does, Outcome};
use super::subject::as_override;
use super::tables::Struck;

/// One class of placements.
#[derive(Serialize)]
pub(super) struct Entry {
    seed: u64,
    kind: &'static str,
    target: String,
    /// The step at which the fault was run, and when that was.
    step: String,
    at_ms: f64,
    /// The first step that the class stands for, and how many.
    first_step: String,
    placements: usize,
    does: Does,
    violated: Vec<Property>,
    /// The fault as an override of the scenario.
    set: String,
}

impl Entry {
    fn of(run: &Struck<'_>, class: &Class, outcome: &Outcome) -> Self {
        let baseline = run.baseline;
        let seen = baseline.step(class);
        let fault = class.fault(&baseline.log.steps, &baseline.setting);
        Entry {
            seed: baseline.seed,
            kind: class.kind().name,
            target: class.target.to_string(),
            step: seen.step.to_string(),
            at_ms: fractional_ms_from_ns(seen.at_ns),
            first_step: baseline.log.steps[class.steps[0]].step.to_string(),
            placements: class.steps.len(),
            does: outcome.does(),
            violated: outcome.violated.clone(),
            set: as_override(&schedule([fault])),
        }
    }
}

/// All classes that were run.
pub(super) fn entries(struck: &[Struck<'_>]) -> Vec<Entry> {
    let of_run = |run: &Struck<'_>| {
        let classes = run.classes();
        let entry = |(class, outcome)| Entry::of(run, class, outcome);
        classes.map(entry).collect::<Vec<_>>()
    };
    struck.iter().flat_map(of_run).collect()
}

/// The same as a table.
pub(super) fn as_list(entries: &[Entry]) -> Csv {
    let mut list = Csv::new([
        "seed",
        "kind",
        "target",
        "step",
        "at_ms",
        "first_step",
        "placements",
        "does",
        "violated",
        "set",
    ]);
    for entry in entries {
        let violated: Vec<&str> = entry
            .violated
            .iter()
            .map(|property| property.name())
            .collect();
        list.push(vec![
            entry.seed.to_string(),
            entry.kind.into(),
            entry.target.clone(),
            entry.step.clone(),
            entry.at_ms.to_string(),
            entry.first_step.clone(),
            entry.placements.to_string(),
            entry.does.name().into(),
            violated.join(" "),
            entry.set.clone(),
        ]);
    }
    list
}
