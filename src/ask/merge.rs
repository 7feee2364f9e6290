//! `locklab shards merge`: the shards of a command that ran on several machines, as one result.

use std::path::PathBuf;

use anyhow::{Context as _, ensure};
use clap::Args;

use super::dispatch;
use crate::options::{Ask, Context, Out, arguments};
use locklab_lab::ledger::Header;
use locklab_lab::{Exit, shard_status};

const EXAMPLES: &str = "\
Examples:
  locklab study sweep kleppmann/k1 --shard 1/2 --out one
  locklab study sweep kleppmann/k1 --shard 2/2 --out two
  locklab shards merge one/kleppmann-k1/*.jsonl two/kleppmann-k1/*.jsonl
  locklab shards merge one two      every ledger of a shard in these folders

The result is that of the same command without --shard: of simulated runs byte
for byte, but for the time on the page of `reproduce`. Nothing is run again but
the runs that are shown. Every rate and verdict is computed from the counts in
the ledgers. All shards have to be there, made by the same build of Locklab;
scenarios in files have to be where they were.

Exit codes: those of the command.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// The ledger of every shard, or folders that have them
    #[arg(value_name = "PATH", required = true)]
    shards: Vec<PathBuf>,
    /// Print the results as JSON on standard output
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    out: Out,
}

impl Ask for Options {
    fn answer(&self, context: &Context) -> anyhow::Result<Exit> {
        let ledgers = shard_status::ledgers(&self.shards)?;
        let Some(first) = ledgers.first() else {
            return Ok(Exit::Usage);
        };
        let header = Header::read(first)?;
        let name = first.display();
        ensure!(header.shard.is_some(), "{name} is not of a shard");
        let words = std::iter::once("locklab".into()).chain(header.words.iter().map(Into::into));
        let mut cli = arguments::read(words)
            .with_context(|| format!("{name}:1: the command line of this shard is invalid"))?;
        let many = cli.command.as_mut().and_then(|command| command.many());
        let many = many.with_context(|| format!("{name}:1: this command has no shards"))?;
        many.joined(self.out.clone(), self.json);
        let context = Context {
            joined: ledgers,
            words: header.words,
            ..context.clone()
        };
        dispatch(&cli, &context)
    }
}
