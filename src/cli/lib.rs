//! The command line. One file per subcommand; what they share stands beside them.
//!
//! People's text goes to standard error, data to standard output.

#![deny(clippy::print_stdout, clippy::print_stderr)]

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, CommandFactory, Parser, Subcommand};
use clap_complete::engine::{
    ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter,
};
use clap_complete::env::CompleteEnv;

mod arguments;
mod bug;
#[cfg(target_os = "linux")]
mod calibrate;
mod campaign;
mod cells;
mod check;
mod compare;
mod completions;
mod confirm;
mod cost;
mod data;
mod demo;
mod format;
mod interrupt;
mod list;
mod man;
mod matrix;
mod merge;
mod number;
mod pictures;
mod progress;
mod replay;
mod report;
mod reproduce;
mod results_file;
mod resumable;
mod run;
mod say;
mod seeds;
mod serve;
mod store;
mod sweep;
mod table;
#[cfg(target_os = "linux")]
mod throughput;
mod took;
mod twice;
mod view;

use self::bug::Bug;
use self::format::Format;
use self::number::whole;
pub use self::say::set_program;
use self::say::tell;
use self::took::Took;
use locklab_model::scenario::SHIPPED;
use locklab_results::Detail;
use locklab_suite::Results;

/// A laboratory for distributed locks on Redis.
///
/// Without a command it plays the demonstration: five claims of the public debate on
/// Redis locks, each with its prediction and the result of a thousand simulated runs.
#[derive(Parser)]
#[command(
    name = "locklab",
    version,
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
  locklab                                       the demonstration
  locklab list scenarios                        what can be run
  locklab run kleppmann/k1                      break a lock in 302 simulated runs
  locklab run kleppmann/k1 --on redis           the same on a real redis-server
  locklab run kleppmann/k1 --set lock.ttl_ms=5000 --seeds 0..1000
  locklab sweep kleppmann/k1                    its violation rate against the pause
  locklab check scenarios                       a suite of them, for continuous integration
  locklab matrix                                every lock against every problem
  locklab campaign                              every lock under random faults
  locklab cost                                  what every lock costs
  locklab reproduce                             the whole debate, as a page to read
  locklab confirm kleppmann/k1                  simulator and real Redis, side by side
  locklab replay target/locklab/…/seed-0.jsonl  a recorded run, byte for byte
  locklab view target/locklab/…/seed-0.jsonl    a page to explore a run in a browser
  locklab serve --nodes 5                       five fake Redis nodes for other programs

Exit codes: 0 as predicted; 1 usage; 2 a verdict differs from its prediction, or a
violation that was not predicted; 3 inconclusive; 70 a bug in Locklab; 130 interrupted.
A sweep has no predictions: it ends with 0 when it is complete.";

#[derive(Subcommand)]
enum Command {
    /// Play the demonstration (the default)
    Demo(demo::Options),
    /// Run scenarios and judge what happened
    Run(run::Options),
    /// Run a scenario over a grid of parameters and chart its violation rates
    Sweep(sweep::Options),
    /// Check a suite of scenarios and recorded failures, for continuous integration
    Check(check::Options),
    /// Join the results of the parts of a suite
    Merge(merge::Options),
    /// Compare two results of a suite
    Compare(compare::Options),
    /// Run every lock against every problem
    Matrix(matrix::Options),
    /// Run every lock under random faults, and see whether it recovers
    Campaign(campaign::Options),
    /// Measure what every lock costs, and how clients wait for it
    Cost(cost::Options),
    /// Run scenarios in the simulator and on real Redis, and compare
    Confirm(confirm::Options),
    /// Measure the model's constants on real Redis and on this kernel
    #[cfg(target_os = "linux")]
    Calibrate(calibrate::Options),
    /// Measure how many locks a second real servers grant, by what they keep on disk
    #[cfg(target_os = "linux")]
    Throughput(throughput::Options),
    /// Execute the debate on Redis locks, claim by claim, and publish it as a page
    Reproduce(reproduce::Options),
    /// Repeat a recorded run and compare it byte for byte
    Replay(replay::Options),
    /// Show one run: a page to explore, or a file for Perfetto or ShiViz
    View(view::Options),
    /// Serve fake Redis nodes to other programs
    Serve(serve::Options),
    /// List the locks, faults, properties or scenarios
    List(list::Options),
    /// Print the completion script of a shell: source <(locklab completions bash)
    Completions(completions::Options),
    /// Print the manual, or write all its pages: locklab man | man -l -
    Man(man::Options),
    /// A process of a run on real Redis; started by Locklab itself
    #[command(hide = true)]
    Process,
}

/// Where results go, and how pictures are written.
#[derive(Args, Clone)]
struct Out {
    /// Folder for all output files
    #[arg(long, value_name = "DIR", default_value = "target/locklab")]
    out: PathBuf,
    /// Formats of pictures, of svg, png and pdf
    #[arg(long, value_enum, value_name = "FORMAT", value_delimiter = ',',
          hide_possible_values = true, default_values_t = [Format::Svg, Format::Png])]
    format: Vec<Format>,
}

/// What is kept of each run.
#[derive(Args, Clone)]
struct PerRun {
    /// Write a table with a row for each run, too: verdicts, times of violations and of faults
    #[arg(long)]
    per_run: bool,
}

impl PerRun {
    fn detail(&self) -> Detail {
        match self.per_run {
            true => Detail::Runs,
            false => Detail::Counts,
        }
    }
}

/// How many threads run.
#[derive(Args, Clone)]
struct Jobs {
    /// Threads to run on; by default one for each core
    #[arg(long, value_name = "N", value_parser = whole::<u16>(1..=1024))]
    jobs: Option<u16>,
}

impl Jobs {
    fn threads(&self) -> usize {
        self.jobs.map(usize::from).unwrap_or_else(|| {
            std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
        })
    }
}

/// How the program ends. The numbers are part of its interface: the README has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Verdicts as predicted, and no violation where nothing is predicted; or there was
    /// nothing to judge.
    AsPredicted = 0,
    /// Asked for something that cannot be done.
    Usage = 1,
    /// A verdict differs from its prediction, or there is a violation that was not predicted.
    Differs = 2,
    /// No run could be judged where a verdict was predicted.
    Inconclusive = 3,
    /// A bug in Locklab (`EX_SOFTWARE` of sysexits.h).
    Bug = 70,
    /// Ended by Ctrl-C, as shells report it.
    Interrupted = 130,
}

/// Reads the command line of this process and does what it says.
pub fn main() -> ExitCode {
    CompleteEnv::with_factory(Cli::command).complete();
    ExitCode::from(run(std::env::args_os()) as u8)
}

/// Does what a command line says, whose first word is the program.
pub fn run(words: impl Iterator<Item = OsString>) -> Exit {
    let cli = match arguments::read(words) {
        Ok(cli) => cli,
        Err(error) => {
            let wanted = error.exit_code() == 0;
            // An error in printing cannot be reported.
            let _ = error.print();
            return match wanted {
                true => Exit::AsPredicted,
                false => Exit::Usage,
            };
        }
    };
    let took = Took::start(cli.command.as_ref());
    let result = std::panic::catch_unwind(|| dispatch(cli));
    let exit = match result {
        Ok(Ok(exit)) => exit,
        Ok(Err(error)) => {
            let label = console::style("error:").for_stderr().red().bold();
            tell!("{label} {error:#}");
            if error.is::<Bug>() {
                tell!("{REPORT_IT}");
                Exit::Bug
            } else {
                Exit::Usage
            }
        }
        Err(_) => {
            tell!("{REPORT_IT}");
            Exit::Bug
        }
    };
    took.tell();
    exit
}

/// Runs the suite of these paths as `locklab check` does, and writes its files below `out`.
///
/// # Errors
///
/// If a path cannot be read or run, with the place and the reason.
pub fn check(out: &Path, paths: &[&str]) -> anyhow::Result<Results> {
    let paths = paths.iter().map(ToString::to_string);
    let options = check::Options::of(paths.collect(), out.to_owned());
    Ok(check::suite(&options)?.results)
}

/// What follows any panic.
const REPORT_IT: &str = "This is a bug in Locklab. Please report it with the messages above.";

fn dispatch(cli: Cli) -> anyhow::Result<Exit> {
    Ok(match cli.command {
        None => demo::demo(&cli.demo)?,
        Some(Command::Demo(options)) => demo::demo(&options)?,
        Some(Command::Run(options)) => run::run(&options)?,
        Some(Command::Sweep(options)) => sweep::sweep(&options)?,
        Some(Command::Check(options)) => check::check(&options)?,
        Some(Command::Merge(options)) => merge::merge(&options)?,
        Some(Command::Compare(options)) => compare::compare(&options)?,
        Some(Command::Matrix(options)) => matrix::matrix(&options)?,
        #[cfg(target_os = "linux")]
        Some(Command::Throughput(options)) => throughput::throughput(&options)?,
        Some(Command::Campaign(options)) => campaign::campaign(&options)?,
        Some(Command::Cost(options)) => cost::cost(&options)?,
        Some(Command::Confirm(options)) => confirm::confirm(&options)?,
        Some(Command::Reproduce(options)) => reproduce::reproduce(&options)?,
        #[cfg(target_os = "linux")]
        Some(Command::Calibrate(options)) => calibrate::calibrate(&options)?,
        Some(Command::Replay(options)) => replay::replay(&options)?,
        Some(Command::View(options)) => view::view(&options)?,
        Some(Command::Serve(options)) => serve::serve(&options)?,
        Some(Command::List(options)) => list::list(&options)?,
        Some(Command::Completions(options)) => completions::print(&options)?,
        Some(Command::Man(options)) => man::man(&options)?,
        Some(Command::Process) => match locklab_real::process::main() {
            true => Exit::AsPredicted,
            false => Exit::Usage,
        },
    })
}

/// The names of the shipped scenarios, and files, for a shell to complete.
fn scenario_completer() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        let begun = current.to_string_lossy();
        let names = SHIPPED.iter().map(|(name, _)| *name);
        let mut candidates: Vec<_> = names
            .filter(|name| name.starts_with(&*begun))
            .map(CompletionCandidate::new)
            .collect();
        candidates.extend(PathCompleter::any().complete(current));
        candidates
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
