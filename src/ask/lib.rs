//! A room for each command, most of which are questions: its options, its plan, what the runs come to, and how that is
//! told.
//!
//! `commands.rs` lists them. What all share stands in `options.rs`; what cuts its runs into shards is an `Experiment`
//! of `src/lab`. A room may use others, but not in a circle: `risk` weighs faults as `rare` does, `museum` places them as
//! `place` does.
//!
//! Results go to standard output, for people or with `--json` for programs; progress, hints and errors
//! to standard error.

#![deny(clippy::print_stdout, clippy::print_stderr)]

use std::ffi::OsString;
use std::panic::AssertUnwindSafe;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use clap_complete::env::CompleteEnv;
use nix::sys::resource::{Resource, getrlimit};

mod advise;
mod attack;
#[cfg(target_os = "linux")]
mod calibrate;
mod campaign;
pub mod check;
mod commands;
mod completions;
mod confirm;
mod cost;
mod demo;
mod doctor;
mod judge;
mod list;
mod man;
pub mod matrix;
mod meaning;
mod merge;
mod museum;
mod new;
mod options;
mod place;
pub mod problems;
mod published;
pub mod rare;
mod record;
mod replay;
mod reproduce;
pub mod risk;
mod run;
#[cfg(target_os = "linux")]
mod score;
mod serve;
pub mod shrink;
mod status;
mod submit;
mod sweep;
#[cfg(target_os = "linux")]
mod throughput;
mod view;

use self::commands::Command;
use self::options::timer::Timer;
use self::options::{Ask, Context, arguments};
use locklab_lab::bug::Bug;
use locklab_lab::output::{self, status};
pub use locklab_lab::{Exit, Program};

/// A laboratory for distributed locks on Redis.
///
/// Without a command it plays the demonstration: five claims of the public debate on
/// Redis locks, each with its prediction and the result of a thousand simulated runs.
#[derive(Parser)]
#[command(
    name = "locklab",
    version,
    help_template = "{about-with-newline}\n{usage-heading} {usage}\n\n{before-help}Options:\n{options}{after-help}",
    before_help = commands::list(),
    after_help = EXAMPLES,
    args_conflicts_with_subcommands = true
)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    demo: demo::Options,
}

const EXAMPLES: &str = "\
Examples:
  locklab                                   the demonstration
  locklab list scenarios                    all scenarios
  locklab run kleppmann/k1                  break a lock in 302 simulated runs
  locklab run kleppmann/k1 --on redis       the same on a real redis-server
  locklab run kleppmann/k1 --set lock.ttl_ms=5000 --seeds 0..1000
  locklab study sweep kleppmann/k1          its violation rate by the pause
  locklab check scenarios                   a suite of scenarios, for CI
  locklab study matrix                      every lock against every problem
  locklab study campaign                    every lock under random faults
  locklab study cost                        messages and latency of every lock
  locklab study place kleppmann/k1          a fault at every step of a run
  locklab reproduce                         the whole debate, as a page to read
  locklab confirm kleppmann/k1              compare simulator and real Redis
  locklab attack -- python worker.py        your own lock, in any language
  locklab replay target/locklab/…/seed-0.jsonl
                                            a recorded run, byte for byte
  locklab view target/locklab/…/seed-0.jsonl
                                            a page to explore a run
  locklab judge history.jsonl               a lock history from any system
  locklab shrink target/locklab/…/seed-0.jsonl
                                            its smallest counterexample
  locklab serve --nodes 5                   five fake Redis nodes

Exit codes: 0 as predicted; 1 usage; 2 a verdict differs from its prediction,
or a violation that was not predicted; 3 inconclusive; 70 a bug in Locklab; 130
interrupted. A sweep has no predictions: it ends with 0 when it is complete.";

/// Reads the command line of this process and does what it says.
pub fn main() -> ExitCode {
    if let Some(error) = too_little_memory() {
        status!("error: {error}");
        return ExitCode::from(Exit::Usage as u8);
    }
    CompleteEnv::with_factory(Cli::command).complete();
    ExitCode::from(run(Program::running(), std::env::args_os()) as u8)
}

/// The address space in which small runs are possible, in bytes.
const LEAST_MEMORY: u64 = 128 << 20;

/// The error of a process that may not have enough memory: it would end with a signal, and no word.
fn too_little_memory() -> Option<String> {
    let (limit, _) = getrlimit(Resource::RLIMIT_AS).ok()?;
    (limit < LEAST_MEMORY).then(|| {
        format!(
            "the address space is limited to {} MiB, and Locklab needs {}; raise the limit: ulimit -v unlimited",
            limit >> 20,
            LEAST_MEMORY >> 20
        )
    })
}

/// Does what a command line says, whose first word is the program; `program` says how it is started.
pub fn run(program: Program, words: impl Iterator<Item = OsString>) -> Exit {
    let words: Vec<OsString> = words.collect();
    let text = |word: &OsString| word.to_string_lossy().into_owned();
    let context = Context {
        program,
        words: words.iter().skip(1).map(text).collect(),
        joined: vec![],
    };
    let cli = match arguments::read(words.into_iter()) {
        Ok(cli) => cli,
        Err(error) => {
            let wanted = error.exit_code() == 0;
            let rendered = |has_colours| match has_colours {
                true => error.render().ansi().to_string(),
                false => error.render().to_string(),
            };
            if wanted {
                // An error in printing cannot be reported.
                let _ = output::print(&rendered(console::colors_enabled()));
                return Exit::AsPredicted;
            }
            // It quotes the command line, in which there may be names of files.
            status!("{}", rendered(console::colors_enabled_stderr()).trim_end());
            return Exit::Usage;
        }
    };
    // A served node runs as long as its user wants, and a process as long as its run.
    let has_end = !matches!(cli.command, Some(Command::Serve(_) | Command::Process));
    let timer = Timer::start(has_end);
    let result = std::panic::catch_unwind(AssertUnwindSafe(|| dispatch(&cli, &context)));
    let exit = match result {
        Ok(Ok(exit)) => exit,
        Ok(Err(error)) => {
            let label = console::style("error:").for_stderr().red().bold();
            status!("{label} {error:#}");
            if error.is::<Bug>() {
                status!("{REPORT_IT}");
                Exit::Bug
            } else {
                Exit::Usage
            }
        }
        Err(_) => {
            status!("{REPORT_IT}");
            Exit::Bug
        }
    };
    timer.stop();
    exit
}

/// What follows any panic.
const REPORT_IT: &str = "This is a bug in Locklab. Please report it with the messages above.";

fn dispatch(cli: &Cli, context: &Context) -> anyhow::Result<Exit> {
    match &cli.command {
        None => cli.demo.answer(context),
        Some(command) => command.answer(context),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
