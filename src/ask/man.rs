//! `locklab setup man`: the manual, as man reads it.

use std::path::PathBuf;

use anyhow::{Context, anyhow};
use clap::{Args, CommandFactory};

use super::Cli;
use crate::options::Ask;
use locklab_lab::{Exit, output};

const EXAMPLES: &str = "\
Examples:
  locklab setup man | man -l -                      the page of the program
  locklab setup man check | man -l -                that of a command
  locklab setup man --into ~/.local/share/man/man1  all: man locklab-check";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// The command, such as `check` or `study sweep`; by default the program
    #[arg(value_name = "COMMAND")]
    command: Vec<String>,
    /// Write every page into this folder
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    into: Option<PathBuf>,
}

impl Ask for Options {
    fn answer(&self, _: &crate::options::Context) -> anyhow::Result<Exit> {
        let mut program = Cli::command();
        program.build();
        if let Some(folder) = &self.into {
            let reason = || format!("cannot write to the folder {}", folder.display());
            std::fs::create_dir_all(folder).with_context(reason)?;
            clap_mangen::generate_to(program, folder).with_context(reason)?;
            output::print(&format!("  man  {}", folder.display()))?;
            return Ok(Exit::AsPredicted);
        }
        let mut page = &program;
        for name in &self.command {
            let command = page.find_subcommand(name);
            page = command.ok_or_else(|| anyhow!("unknown command `{name}`"))?;
        }
        let mut text = Vec::new();
        clap_mangen::Man::new(page.clone()).render(&mut text)?;
        output::print_exactly(&String::from_utf8(text)?)?;
        Ok(Exit::AsPredicted)
    }
}
