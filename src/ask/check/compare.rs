//! What is different between two results of a suite.

use console::style;
use serde_json::Value;

use crate::check::suite::Comparison;
use locklab_evidence::{Judgement, Tally, p_equals};
use locklab_lab::layout;

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
            lines.push(format!("  {id} {what}"));
        }
    }
    if *comparison == Comparison::default() {
        lines.push("  no significant change".into());
    }
    lines.join("\n")
}
