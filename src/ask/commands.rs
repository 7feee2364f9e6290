//! The commands: a line each, which names its room.

use clap::Subcommand;

use crate::options::many::Many;
use crate::options::{Ask, Context};
use locklab_lab::Exit;

macro_rules! commands {
    ($($(#[$only:meta])? $about:literal $name:ident($options:ty)),* $(,)?) => {
        /// What the first word of the command line may be.
        #[derive(Subcommand)]
        pub(crate) enum Command {
            $($(#[$only])? #[command(about = $about)] $name($options),)*
            #[command(hide = true, about = "A process of a run on real Redis; started by Locklab itself")]
            Process,
        }

        impl Command {
            /// See [`Ask::many`].
            pub(crate) fn many(&mut self) -> Option<&mut Many> {
                match self {
                    $($(#[$only])? Command::$name(options) => options.many(),)*
                    Command::Process => None,
                }
            }

            /// See [`Ask::answer`].
            pub(crate) fn answer(&self, context: &Context) -> anyhow::Result<Exit> {
                match self {
                    $($(#[$only])? Command::$name(options) => options.answer(context),)*
                    Command::Process => Ok(match locklab_real::process::main() {
                        true => Exit::AsPredicted,
                        false => Exit::Usage,
                    }),
                }
            }
        }
    };
}

commands! {
    "Play the demonstration (the default)" Demo(crate::demo::Options),
    "Run scenarios and judge what happened" Run(crate::run::options::Options),
    "Run a scenario over a grid of parameters and chart its violation rates" Sweep(crate::sweep::options::Options),
    "Check a suite of scenarios and recorded failures, for continuous integration" Check(crate::check::options::Options),
    "Join the shards of a command" Merge(crate::merge::Options),
    "Submit the shards of a command, and their merge, to the scheduler of a cluster" Submit(crate::submit::Options),
    "Say how far the shards of a command are" Status(crate::status::Options),
    "Compare two results of a suite" Compare(crate::compare::Options),
    "Run every lock against every problem" Matrix(crate::matrix::options::Options),
    "Run every lock under random faults, and see whether it recovers" Campaign(crate::campaign::options::Options),
    "Measure what every lock costs, and how clients wait for it" Cost(crate::cost::options::Options),
    "Place a fault at every step of a run, and map what each does" Place(crate::place::options::Options),
    "Find the mechanisms of reported bugs, each beside the lock without it" Museum(crate::museum::options::Options),
    "Estimate the rate of a violation that is too rare to count" Rare(crate::rare::options::Options),
    "Estimate how often a lock fails in an environment, in times a year" Risk(crate::risk::options::Options),
    "Measure what threatens a lock on your own machines: pauses, clocks, latency" Record(crate::record::Options),
    "Run scenarios in the simulator and on real Redis, and compare" Confirm(crate::confirm::options::Options),
    "Attack the lock of your own program, in any language, on real Redis" Attack(crate::attack::options::Options),
    #[cfg(target_os = "linux")]
    "Measure the model's constants on real Redis and on this kernel" Calibrate(crate::calibrate::Options),
    #[cfg(target_os = "linux")]
    "Measure how many locks per second real servers grant, for each setting of persistence" Throughput(crate::throughput::Options),
    "Execute the debate on Redis locks, claim by claim, and publish it as a page" Reproduce(crate::reproduce::options::Options),
    "Repeat a recorded run and compare it byte for byte" Replay(crate::replay::Options),
    "Show one run: a page to explore, or a file for Perfetto or ShiViz" View(crate::view::Options),
    "Judge the history of a lock from any system" Judge(crate::judge::Options),
    "Find the smallest scenario that violates the same property as a run" Shrink(crate::shrink::options::Options),
    "Serve fake Redis nodes to other programs" Serve(crate::serve::Options),
    "Begin a crate with a lock of your own" New(crate::new::Options),
    "List the locks, faults, properties, scenarios or environments" List(crate::list::Options),
    "Print the completion script of a shell: source <(locklab completions bash)" Completions(crate::completions::Options),
    "Print the manual, or write all its pages: locklab man | man -l -" Man(crate::man::Options),
}
