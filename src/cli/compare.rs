//! `locklab compare`: two results of a suite, side by side.

use std::path::PathBuf;

use clap::Args;
use console::style;
use serde_json::json;

use super::say::{self, tell};
use super::{Exit, data, results_file};
use locklab_evidence::Judgement;
use locklab_suite::Comparison;

const EXAMPLES: &str = "\
Examples:
  locklab compare before/check.json after/check.json

Says what newly fails or holds, and which rates differ by Fisher's exact test (p < 0.001).

Exit codes: 0 nothing is worse; 1 usage; 2 something newly fails, or is violated more often.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Options {
    /// The check.json of before
    #[arg(value_name = "BEFORE")]
    before: PathBuf,
    /// The check.json of after
    #[arg(value_name = "AFTER")]
    after: PathBuf,
    /// Print the result as JSON on standard output
    #[arg(long)]
    json: bool,
}

pub(super) fn compare(options: &Options) -> anyhow::Result<Exit> {
    let [before, after] = [&options.before, &options.after].map(results_file::read);
    let comparison = locklab_suite::compare(&before?, &after?);
    let name = |path: &PathBuf| path.display().to_string();
    present(&name(&options.before), &name(&options.after), &comparison);
    if options.json {
        say::print_json(&data::document("compare", json!(comparison)))?;
    }
    Ok(match comparison.is_worse() {
        true => Exit::Differs,
        false => Exit::AsPredicted,
    })
}

/// Prints what is different.
pub(super) fn present(before: &str, after: &str, comparison: &Comparison) {
    tell!("\n{before} against {after}:");
    for change in &comparison.changes {
        let what = match () {
            () if change.newly_fails() => style("newly fails").red(),
            () if change.newly_holds() => style("now passes").green(),
            () if change.is_worse() => style("violated more often").yellow(),
            () if change.is_shown() => style("violated less often").green(),
            () => style("judged otherwise").dim(),
        };
        let judged = |judgement: Option<Judgement>| judgement.map_or("–", Judgement::name);
        tell!(
            "  {} {}: {}: {}, {}; now {}, {} (p = {:.1e})",
            change.id,
            change.property,
            what.for_stderr(),
            judged(change.before),
            change.tally_before.describe(),
            judged(change.after),
            change.tally_after.describe(),
            change.p,
        );
    }
    for (ids, what) in [
        (&comparison.unlike, "is no longer deterministic"),
        (&comparison.gone, "is gone"),
        (&comparison.new, "is new"),
    ] {
        for id in ids {
            tell!("  {id} {what}");
        }
    }
    if *comparison == Comparison::default() {
        tell!("  no change that chance does not explain");
    }
}
