//! `locklab compare`: two results of a suite, side by side.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::{Exit, results_file};
use locklab_experiments::output::{self, Stdout};
use locklab_experiments::{compare, data};

const EXAMPLES: &str = "\
Examples:
  locklab compare before/check.json after/check.json

Says what newly fails or holds, and which rates differ by Fisher's exact test
(p < 0.001).

Exit codes: 0 nothing is worse; 1 usage; 2 something newly fails, or is
violated more often.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Options {
    /// The baseline, a check.json
    #[arg(value_name = "BASELINE")]
    before: PathBuf,
    /// The check.json to compare with it
    #[arg(value_name = "AFTER")]
    after: PathBuf,
    /// Print the result as JSON on standard output
    #[arg(long)]
    json: bool,
}

pub(super) fn compare(options: &Options) -> anyhow::Result<Exit> {
    let [before, after] = [&options.before, &options.after].map(results_file::read);
    let comparison = locklab_suite::compare(&before?, &after?);
    let [before, after] = [&options.before, &options.after].map(|path| path.display());
    let heading = format!("{after} compared with baseline {before}");
    Stdout::of(options.json).tell(&compare::describe(&heading, &comparison))?;
    if options.json {
        output::print_json(&data::document("compare", json!(comparison)))?;
    }
    Ok(match comparison.is_worse() {
        true => Exit::Differs,
        false => Exit::AsPredicted,
    })
}
