//! The command line. One file per subcommand; what they share stands beside them.
//!
//! Results go to standard output, for people or with `--json` for programs; progress, hints and errors
//! to standard error.

#![deny(clippy::print_stdout, clippy::print_stderr)]

use std::ffi::{OsStr, OsString};
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, CommandFactory, Parser, Subcommand};
use clap_complete::engine::{
    ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter,
};
use clap_complete::env::CompleteEnv;
use nix::sys::resource::{Resource, getrlimit};

mod arguments;
mod attack;
#[cfg(target_os = "linux")]
mod calibrate;
mod campaign;
mod check;
mod compare;
mod completions;
mod confirm;
mod cost;
mod demo;
mod interrupt;
mod judge;
mod list;
mod man;
mod many;
mod matrix;
mod merge;
mod museum;
mod new;
mod number;
mod paper;
mod place;
mod rare;
mod record;
mod replay;
mod reproduce;
mod results_file;
mod risk;
mod run;
mod seeds;
mod serve;
mod shard_status;
mod shrink;
mod submit;
mod sweep;
#[cfg(target_os = "linux")]
mod throughput;
mod timer;
mod view;

use self::many::Many;
use self::paper::Paper;
use self::timer::Timer;
use locklab_experiments::bug::Bug;
use locklab_experiments::output::{self, status};
pub use locklab_experiments::{Exit, Program};
use locklab_experiments::{Format, Store};
use locklab_model::scenario::SHIPPED;
use locklab_results::Detail;

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
  locklab                                   the demonstration
  locklab list scenarios                    all scenarios
  locklab run kleppmann/k1                  break a lock in 302 simulated runs
  locklab run kleppmann/k1 --on redis       the same on a real redis-server
  locklab run kleppmann/k1 --set lock.ttl_ms=5000 --seeds 0..1000
  locklab sweep kleppmann/k1                its violation rate by the pause
  locklab check scenarios                   a suite of scenarios, for CI
  locklab matrix                            every lock against every problem
  locklab campaign                          every lock under random faults
  locklab cost                              messages and latency of every lock
  locklab place kleppmann/k1                a fault at every step of a run
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
    /// Join the shards of a command
    Merge(merge::Options),
    /// Submit the shards of a command, and their merge, to the scheduler of a cluster
    Submit(submit::Options),
    /// Say how far the shards of a command are
    Status(shard_status::Options),
    /// Compare two results of a suite
    Compare(compare::Options),
    /// Run every lock against every problem
    Matrix(matrix::Options),
    /// Run every lock under random faults, and see whether it recovers
    Campaign(campaign::Options),
    /// Measure what every lock costs, and how clients wait for it
    Cost(cost::Options),
    /// Place a fault at every step of a run, and map what each does
    Place(place::Options),
    /// Find the mechanisms of reported bugs, each beside the lock without it
    Museum(museum::Options),
    /// Estimate the rate of a violation that is too rare to count
    Rare(rare::Options),
    /// Estimate how often a lock fails in an environment, in times a year
    Risk(risk::Options),
    /// Measure what threatens a lock on your own machines: pauses, clocks, latency
    Record(record::Options),
    /// Run scenarios in the simulator and on real Redis, and compare
    Confirm(confirm::Options),
    /// Attack the lock of your own program, in any language, on real Redis
    Attack(attack::Options),
    /// Measure the model's constants on real Redis and on this kernel
    #[cfg(target_os = "linux")]
    Calibrate(calibrate::Options),
    /// Measure how many locks per second real servers grant, for each setting of persistence
    #[cfg(target_os = "linux")]
    Throughput(throughput::Options),
    /// Execute the debate on Redis locks, claim by claim, and publish it as a page
    Reproduce(reproduce::Options),
    /// Repeat a recorded run and compare it byte for byte
    Replay(replay::Options),
    /// Show one run: a page to explore, or a file for Perfetto or ShiViz
    View(view::Options),
    /// Judge the history of a lock from any system
    Judge(judge::Options),
    /// Find the smallest scenario that violates the same property as a run
    Shrink(shrink::Options),
    /// Serve fake Redis nodes to other programs
    Serve(serve::Options),
    /// Begin a crate with a lock of your own
    New(new::Options),
    /// List the locks, faults, properties, scenarios or environments
    List(list::Options),
    /// Print the completion script of a shell: source <(locklab completions bash)
    Completions(completions::Options),
    /// Print the manual, or write all its pages: locklab man | man -l -
    Man(man::Options),
    /// A process of a run on real Redis; started by Locklab itself
    #[command(hide = true)]
    Process,
}

impl Command {
    /// The options of a command that makes many runs, which has shards.
    fn many(&mut self) -> Option<&mut Many> {
        match self {
            Command::Run(options) => Some(&mut options.many),
            Command::Attack(options) => Some(&mut options.many),
            Command::Sweep(options) => Some(&mut options.many),
            Command::Check(options) => Some(&mut options.many),
            Command::Matrix(options) => Some(&mut options.many),
            Command::Campaign(options) => Some(&mut options.many),
            Command::Cost(options) => Some(&mut options.many),
            Command::Place(options) => Some(&mut options.many),
            Command::Museum(options) => Some(&mut options.many),
            Command::Rare(options) => Some(&mut options.many),
            Command::Risk(options) => Some(&mut options.many),
            Command::Confirm(options) => Some(&mut options.many),
            Command::Reproduce(options) => Some(&mut options.many),
            _ => None,
        }
    }
}

/// Where results go, and how pictures are written.
#[derive(Args, Clone)]
struct Out {
    /// Folder for all output files
    #[arg(long, value_name = "DIR", default_value = "target/locklab")]
    out: PathBuf,
    /// Formats of pictures, of svg, png and pdf
    #[arg(long, value_name = "FORMAT", value_delimiter = ',', hide_possible_values = true,
          value_parser = format_parser(), default_values = Format::DEFAULT.map(Format::ending))]
    format: Vec<Format>,
    #[command(flatten)]
    paper: Paper,
}

fn format_parser() -> impl TypedValueParser<Value = Format> {
    let formats = Format::ALL;
    PossibleValuesParser::new(formats.map(Format::ending)).map(move |ending| {
        let found = formats.into_iter().find(|format| format.ending() == ending);
        found.unwrap_or(Format::Svg)
    })
}

impl Out {
    /// The folder, which is created if it does not exist.
    fn store(&self) -> anyhow::Result<Store> {
        let sheet = self.paper.sheet()?;
        Ok(Store::at(&self.out, &self.format)?.on(sheet))
    }
}

/// What is kept of each run.
#[derive(Args, Clone)]
struct PerRun {
    /// Also write a table with a row for each run: verdicts, times of violations and of faults
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

/// What a command knows beside its options.
#[derive(Debug, Clone)]
struct Context {
    /// How this program is started.
    program: Program,
    /// The command line without the program.
    words: Vec<String>,
    /// The ledgers of all shards, to be joined; if there are any, nothing is run.
    joined: Vec<PathBuf>,
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
    let timer = Timer::start(cli.command.as_ref());
    let result = std::panic::catch_unwind(AssertUnwindSafe(|| dispatch(cli, &context)));
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

fn dispatch(cli: Cli, context: &Context) -> anyhow::Result<Exit> {
    Ok(match cli.command {
        None => demo::demo(&cli.demo, context)?,
        Some(Command::Demo(options)) => demo::demo(&options, context)?,
        Some(Command::Run(options)) => run::run(&options, context)?,
        Some(Command::Attack(options)) => attack::attack(&options, context)?,
        Some(Command::Sweep(options)) => sweep::sweep(&options, context)?,
        Some(Command::Check(options)) => check::check(&options, context)?,
        Some(Command::Merge(options)) => merge::merge(&options, context)?,
        Some(Command::Submit(options)) => submit::submit(&options, context)?,
        Some(Command::Status(options)) => shard_status::status(&options)?,
        Some(Command::Compare(options)) => compare::compare(&options)?,
        Some(Command::Matrix(options)) => matrix::matrix(&options, context)?,
        #[cfg(target_os = "linux")]
        Some(Command::Throughput(options)) => throughput::throughput(&options)?,
        Some(Command::Campaign(options)) => campaign::campaign(&options, context)?,
        Some(Command::Cost(options)) => cost::cost(&options, context)?,
        Some(Command::Place(options)) => place::place(&options, context)?,
        Some(Command::Museum(options)) => museum::museum(&options, context)?,
        Some(Command::Rare(options)) => rare::rare(&options, context)?,
        Some(Command::Risk(options)) => risk::risk(&options, context)?,
        Some(Command::Record(options)) => record::record(&options)?,
        Some(Command::Confirm(options)) => confirm::confirm(&options, context)?,
        Some(Command::Reproduce(options)) => reproduce::reproduce(&options, context)?,
        #[cfg(target_os = "linux")]
        Some(Command::Calibrate(options)) => calibrate::calibrate(&options)?,
        Some(Command::Replay(options)) => replay::replay(&options)?,
        Some(Command::View(options)) => view::view(&options)?,
        Some(Command::Judge(options)) => judge::judge(&options)?,
        Some(Command::Shrink(options)) => shrink::shrink(&options, context)?,
        Some(Command::Serve(options)) => serve::serve(&options)?,
        Some(Command::New(options)) => new::new(&options)?,
        Some(Command::List(options)) => list::list(&options)?,
        Some(Command::Completions(options)) => completions::print(&options, context)?,
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
