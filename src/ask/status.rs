//! `locklab shards status`: how far the shards of a command are.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::ensure;
use clap::Args;

use crate::options::{Ask, timer};
use locklab_evidence::thousands;
use locklab_lab::output::{self, Stdout};
use locklab_lab::shard_status::{self, ShardStatus, State, Status};
use locklab_lab::{Exit, data, layout};

const EXAMPLES: &str = "\
Examples:
  locklab shards status jobs/k1     those that locklab shards submit started
  locklab shards status one/kleppmann-k1/*.jsonl two/kleppmann-k1/*.jsonl
  locklab shards status --unfinished jobs/k1
                                    2,5: for sbatch --array

It reads the ledgers alone, also while shards run. A shard that is complete says
so itself; `locklab shards merge` checks that.

Exit codes: 0 all shards are complete; 1 usage, or none has begun; 3 something
is left to do.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// Ledgers of shards, or folders that have them
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    /// Print only the numbers of the shards that are not complete
    #[arg(long, conflicts_with = "json")]
    unfinished: bool,
    /// Print the result as JSON on standard output
    #[arg(long)]
    json: bool,
}

impl Ask for Options {
    fn answer(&self, _: &crate::options::Context) -> anyhow::Result<Exit> {
        let works = shard_status::read(&self.paths)?;
        if self.unfinished {
            ensure!(
                works.len() == 1,
                "these are shards of several commands; name the folder of one"
            );
            let numbers: Vec<String> = works[0].unfinished().map(|n| n.to_string()).collect();
            output::print(&numbers.join(","))?;
        } else {
            let told: Vec<String> = works.iter().map(describe).collect();
            Stdout::of(self.json).tell(&told.join("\n"))?;
            if self.json {
                let document = serde_json::json!({ "works": works });
                output::print_json(&data::document("status", document))?;
            }
        }
        Ok(match works.iter().all(Status::is_complete) {
            true => Exit::AsPredicted,
            false => Exit::Inconclusive,
        })
    }
}

fn describe(work: &Status) -> String {
    let rows: Vec<Vec<String>> = work.shards.iter().map(row).collect();
    let complete = work.shards.iter();
    let complete = complete.filter(|it| it.state == State::Complete).count();
    format!(
        "{}\n{}\n  {complete} of {} shards complete, {} runs",
        work.words.join(" "),
        layout::rows(&rows),
        work.shards.len(),
        thousands(work.shards.iter().map(|it| it.runs).sum()),
    )
}

fn row(it: &ShardStatus) -> Vec<String> {
    let runs = || format!("{} of {} runs", thousands(it.runs), thousands(it.planned));
    let about = match &it.state {
        State::NotBegun => String::new(),
        State::Unfinished => {
            let age = it.age.unwrap_or_default();
            let age = Duration::from_secs(age.as_secs());
            format!("{}, {} ago", runs(), timer::words(age))
        }
        State::Complete | State::OtherBuild => runs(),
        State::Damaged { why } => why.clone(),
    };
    vec![it.shard.to_string(), it.state.name().into(), about]
}
