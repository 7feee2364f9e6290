//! `locklab completions`: what a shell needs to complete commands, options and the
//! names of scenarios.

use std::io;

use anyhow::Context;
use clap::Args;
use clap_complete::env::Shells;

use super::Exit;

#[derive(Args)]
pub(super) struct Options {
    /// The shell
    #[arg(value_parser = ["bash", "elvish", "fish", "powershell", "zsh"])]
    shell: String,
}

pub(super) fn print(options: &Options) -> anyhow::Result<Exit> {
    let shells = Shells::builtins();
    let shell = shells.completer(&options.shell).context("no such shell")?;
    let program = std::env::args().next().unwrap_or_else(|| "locklab".into());
    shell.write_registration(
        "COMPLETE",
        "locklab",
        "locklab",
        &program,
        &mut io::stdout(),
    )?;
    Ok(Exit::AsPredicted)
}
