//! The commands, in groups by what they are for: a line each, which names its room.

use clap::Subcommand;

use crate::options::many::Many;
use crate::options::{Ask, Context};
use locklab_lab::{Exit, layout};

macro_rules! commands {
    ($($group:literal { $($(#[$only:meta])? $about:literal $name:ident($options:ty)),* $(,)? })*) => {
        /// What the first word of the command line may be.
        #[derive(Subcommand)]
        pub(crate) enum Command {
            $($($(#[$only])? #[command(about = $about)] $name($options),)*)*
            #[command(hide = true, about = "A process of a run on real Redis; started by Locklab itself")]
            Process,
        }

        impl Command {
            /// See [`Ask::many`].
            pub(crate) fn many(&mut self) -> Option<&mut Many> {
                match self {
                    $($($(#[$only])? Command::$name(options) => options.many(),)*)*
                    Command::Process => None,
                }
            }

            /// See [`Ask::answer`].
            pub(crate) fn answer(&self, context: &Context) -> anyhow::Result<Exit> {
                match self {
                    $($($(#[$only])? Command::$name(options) => options.answer(context),)*)*
                    Command::Process => Ok(match locklab_real::process::main() {
                        true => Exit::AsPredicted,
                        false => Exit::Usage,
                    }),
                }
            }
        }

        /// Each group, with its commands and what they do.
        const GROUPS: &[(&str, &[(&str, &str)])] = &[
            $(($group, &[$($(#[$only])? (stringify!($name), $about)),*]),)*
        ];
    };
}

/// The list of commands, by what they are for, as the help of the program has it.
pub(crate) fn list() -> String {
    let mut text =
        "Commands, of which the first one of each group is the one to begin with:".to_owned();
    for (group, commands) in GROUPS {
        let row = |(name, about): &(&str, &str)| {
            // As wide in each group.
            let name = format!("{:<11}", name.to_lowercase());
            [name, (*about).to_owned()]
        };
        let rows: Vec<[String; 2]> = commands.iter().map(row).collect();
        text += &format!("\n\n{group}:\n{}", layout::rows(&rows));
    }
    text
}

/// Several commands under one name.
macro_rules! together {
    ($($(#[$only:meta])? $about:literal $name:ident($options:ty)),* $(,)?) => {
        use crate::options::many::Many;
        use crate::options::{Ask, Context};
        use clap::{Args, Subcommand};
        use locklab_lab::Exit;

        #[derive(Args)]
        pub(crate) struct Options {
            #[command(subcommand)]
            chosen: Chosen,
        }

        #[derive(Subcommand)]
        enum Chosen {
            $($(#[$only])? #[command(about = $about)] $name($options),)*
        }

        impl Ask for Options {
            fn many(&mut self) -> Option<&mut Many> {
                match &mut self.chosen {
                    $($(#[$only])? Chosen::$name(options) => options.many(),)*
                }
            }

            fn answer(&self, context: &Context) -> anyhow::Result<Exit> {
                match &self.chosen {
                    $($(#[$only])? Chosen::$name(options) => options.answer(context),)*
                }
            }
        }
    };
}

mod shards {
    together! {
        "Submit the shards of a command, and their merge, to the scheduler of a cluster" Submit(crate::submit::Options),
        "Say how far the shards of a command are" Status(crate::status::Options),
        "Join the shards of a command" Merge(crate::merge::Options),
    }
}

#[cfg(target_os = "linux")]
mod measure {
    together! {
        "Measure the model's constants on real Redis and on this kernel" Constants(crate::calibrate::Options),
        "Measure how many locks per second real servers grant, for each setting of persistence" Throughput(crate::throughput::Options),
    }
}

mod study {
    together! {
        "Run every lock against every problem" Matrix(crate::matrix::options::Options),
        "Run every lock under random faults, and see whether it recovers" Campaign(crate::campaign::options::Options),
        "Measure what every lock costs, and how clients wait for it" Cost(crate::cost::options::Options),
        "Run a scenario over a grid of parameters and chart its violation rates" Sweep(crate::sweep::options::Options),
        "Place a fault at every step of a run, and map what each does" Place(crate::place::options::Options),
        "Estimate the rate of a violation that is too rare to count" Rare(crate::rare::options::Options),
        "Estimate how often a lock fails in an environment, in times a year" Risk(crate::risk::options::Options),
        "Find the mechanisms of reported bugs, each beside the lock without it" Museum(crate::museum::options::Options),
    }
}

mod setup {
    together! {
        "Print the completion script of a shell: source <(locklab setup completions bash)" Completions(crate::completions::Options),
        "Print the manual, or write all its pages: locklab setup man | man -l -" Man(crate::man::Options),
    }
}

commands! {
    "Try" {
        "Run scenarios and judge what happened" Run(crate::run::options::Options),
        "Say which lock to use, what will go wrong with it, and how often" Advise(crate::advise::options::Options),
        "Show one run: a page to explore, or a file for Perfetto or ShiViz" View(crate::view::Options),
        "List the locks, faults, properties, scenarios or environments" List(crate::list::Options),
        "Repeat a recorded run and compare it byte for byte" Replay(crate::replay::Options),
    }
    "Test your own lock" {
        "Attack the lock of your own program, in any language, on real Redis" Attack(crate::attack::options::Options),
        "Check a suite of scenarios and recorded failures, for continuous integration" Check(crate::check::options::Options),
        "Find the smallest scenario that violates the same property as a run" Shrink(crate::shrink::options::Options),
        "Judge the history of a lock from any system" Judge(crate::judge::Options),
        #[cfg(target_os = "linux")]
        "Say what a lock library does where locks are lost, one experiment a cell" Score(crate::score::Options),
        "Serve fake Redis nodes to other programs" Serve(crate::serve::Options),
        "Begin a crate with a lock of your own, a drill, a scenario or claims" New(crate::new::Options),
    }
    "Study locks" {
        "Execute the debate on Redis locks, claim by claim, and publish it as a page" Reproduce(crate::reproduce::options::Options),
        "Make many runs: matrix, campaign, cost, sweep, place, rare, risk or museum" Study(study::Options),
    }
    "Measure what is real" {
        "Run scenarios in the simulator and on real Redis, and compare" Confirm(crate::confirm::options::Options),
        "Measure what threatens a lock on your own machines: pauses, clocks, latency" Record(crate::record::Options),
        #[cfg(target_os = "linux")]
        "Measure the model's constants, or how many locks per second real servers grant" Measure(measure::Options),
    }
    "Run and install it elsewhere" {
        "Say which programs of this machine Locklab can use, and what each adds" Doctor(crate::doctor::Options),
        "Submit the shards of a command to a cluster, say how far they are, join them" Shards(shards::Options),
        "Complete commands in a shell, and print the manual" Setup(setup::Options),
    }
}
