//! What is different between two results of a suite.

use console::style;

use locklab_evidence::{Judgement, p_equals};
use locklab_suite::Comparison;

/// The differences, in lines below this heading.
pub fn describe(heading: &str, comparison: &Comparison) -> String {
    let mut lines = vec![format!("{heading}:")];
    for change in &comparison.changes {
        let what = match () {
            () if change.newly_fails() => style("newly fails").red(),
            () if change.newly_holds() => style("now passes").green(),
            () if change.is_worse() => style("violated more often").yellow(),
            () if change.is_shown() => style("violated less often").green(),
            () => style("judged differently").dim(),
        };
        let judged = |judgement: Option<Judgement>| judgement.map_or("–", Judgement::name);
        lines.push(format!(
            "  {} {}: {}: {}, {}; now {}, {} ({})",
            change.id,
            change.property,
            what.for_stderr(),
            judged(change.before),
            change.tally_before.describe(),
            judged(change.after),
            change.tally_after.describe(),
            p_equals(change.p),
        ));
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
