//! What is different between two results of a suite.

use std::fs;
use std::path::Path;

use anyhow::Context as _;
use console::style;
use serde_json::{Value, json};

use crate::check::suite::{self, Comparison, Results};
use locklab_evidence::{Judgement, Tally, p_equals};
use locklab_lab::output::{self, Stdout};
use locklab_lab::{Exit, data, layout};

/// Tells what is different between the results in two files.
pub(super) fn files(before: &Path, after: &Path, stdout: Stdout) -> anyhow::Result<Exit> {
    let comparison = suite::compare(&read(before)?, &read(after)?);
    let [before, after] = [before, after].map(Path::display);
    let heading = format!("{after} compared with baseline {before}");
    stdout.tell(&describe(&heading, &comparison))?;
    if stdout == Stdout::Json {
        output::print_json(&data::document("compare", json!(comparison)))?;
    }
    Ok(match comparison.is_worse() {
        true => Exit::Differs,
        false => Exit::AsPredicted,
    })
}

/// The results in a file.
fn read(path: &Path) -> anyhow::Result<Results> {
    let text = fs::read_to_string(path);
    let text = text.with_context(|| format!("cannot read {}", path.display()))?;
    Results::read(&text).with_context(|| path.display().to_string())
}

/// The differences, in lines below this heading.
pub fn describe(heading: &str, comparison: &Comparison) -> String {
    let mut lines = vec![format!("{heading}:")];
    for edit in &comparison.edits {
        let value = |value: &Option<Value>| value.as_ref().map_or("–".into(), Value::to_string);
        let (before, after) = (value(&edit.before), value(&edit.after));
        let edited = format!("  {} {}: {before} → {after}", edit.id, edit.path);
        lines.push(layout::fold(&edited));
    }
    for change in &comparison.changes {
        let what = match () {
            () if change.newly_fails() => style("newly fails").red(),
            () if change.newly_holds() => style("now passes").green(),
            () if change.is_worse() => style("violated more often").yellow(),
            () if change.is_shown() => style("violated less often").green(),
            () => style("judged differently").dim(),
        };
        let told = |judgement: Option<Judgement>, tally: &Tally| match judgement {
            Some(judgement) => format!("{}, {}", judgement.name(), tally.describe()),
            None => "not in question".into(),
        };
        lines.push(layout::fold(&format!(
            "  {} {}: {}: {}; now {} ({})",
            change.id,
            change.property,
            what,
            told(change.before, &change.tally_before),
            told(change.after, &change.tally_after),
            p_equals(change.p),
        )));
    }
    for (ids, what) in [
        (&comparison.unlike, "is no longer deterministic"),
        (&comparison.gone, "is gone"),
        (&comparison.new, "is new"),
    ] {
        for id in ids {
            let fails = comparison.new_failing.contains(id);
            let and = if fails { ", and fails" } else { "" };
            lines.push(format!("  {id} {what}{and}"));
        }
    }
    if *comparison == Comparison::default() {
        lines.push("  no significant change".into());
    }
    lines.join("\n")
}
