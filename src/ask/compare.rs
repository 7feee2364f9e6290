//! `locklab compare`: two results of a suite, side by side.

use std::fs;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;
use serde_json::json;

use crate::check::compare;
use crate::check::suite::Results;
use crate::options::Ask;
use locklab_lab::output::{self, Stdout};
use locklab_lab::{Exit, data};

const EXAMPLES: &str = "\
Examples:
  locklab compare before/check.json after/check.json

Says what newly fails or holds, and which rates differ by Fisher's exact test
(p < 0.001).

Exit codes: 0 nothing is worse; 1 usage; 2 something newly fails, or is
violated more often.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
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

impl Ask for Options {
    fn answer(&self, _: &crate::options::Context) -> anyhow::Result<Exit> {
        let [before, after] = [&self.before, &self.after].map(read);
        let comparison = crate::check::suite::compare(&before?, &after?);
        let [before, after] = [&self.before, &self.after].map(|path| path.display());
        let heading = format!("{after} compared with baseline {before}");
        Stdout::of(self.json).tell(&compare::describe(&heading, &comparison))?;
        if self.json {
            output::print_json(&data::document("compare", json!(comparison)))?;
        }
        Ok(match comparison.is_worse() {
            true => Exit::Differs,
            false => Exit::AsPredicted,
        })
    }
}

/// The results in a file.
fn read(path: &PathBuf) -> anyhow::Result<Results> {
    let text = fs::read_to_string(path);
    let text = text.with_context(|| format!("cannot read {}", path.display()))?;
    Results::read(&text).with_context(|| path.display().to_string())
}
