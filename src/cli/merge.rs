//! `locklab merge`: the parts of a suite that ran on several machines, as one result.

use std::path::PathBuf;

use clap::Args;

use super::results_file::read;
use super::store::Store;
use super::{Exit, Out, check, report, say};
use locklab_suite::Results;

const EXAMPLES: &str = "\
Examples:
  locklab check --shard 1/2 --out one; locklab check --shard 2/2 --out two
  locklab merge one/check/check.json two/check/check.json

The result is that of `locklab check` without --shard, byte for byte (unless --budget was given:
then the number of runs depends on the machine). Recordings and pictures stay where they are.

Exit codes: those of `locklab check`.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Options {
    /// The check.json of every part
    #[arg(value_name = "FILE", required = true)]
    parts: Vec<PathBuf>,
    /// Print the results as JSON on standard output
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    out: Out,
}

pub(super) fn merge(options: &Options) -> anyhow::Result<Exit> {
    let parts: anyhow::Result<Vec<Results>> = options.parts.iter().map(read).collect();
    let results = Results::merge(parts?)?;
    let store = Store::open(&options.out)?.below("check")?;
    check::present(&results, None);
    let document = check::write(&results, &store)?;
    if options.json {
        say::print_json(&document)?;
    }
    Ok(report::exit_of(results.judgement()))
}
