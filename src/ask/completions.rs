//! `locklab setup completions`: shell completion of commands, options and the names of scenarios.

use anyhow::Context as _;
use clap::Args;
use clap_complete::env::Shells;

use crate::options::{Ask, Context};
use locklab_lab::{Exit, output};

#[derive(Args)]
pub(crate) struct Options {
    /// The shell
    #[arg(value_parser = ["bash", "elvish", "fish", "powershell", "zsh"])]
    shell: String,
}

impl Ask for Options {
    fn answer(&self, context: &Context) -> anyhow::Result<Exit> {
        let shells = Shells::builtins();
        let shell = shells.completer(&self.shell).context("no such shell")?;
        let mut script = Vec::new();
        let program = context.program.line::<&str>(&[]);
        shell.write_registration("COMPLETE", "locklab", "locklab", &program, &mut script)?;
        if self.shell == "bash" {
            script.extend(include_bytes!("completions/bash.sh"));
        }
        output::print_exactly(&String::from_utf8(script)?)?;
        Ok(Exit::AsPredicted)
    }
}
