//! The project's own chores. `cargo xtask test` is what CI runs, exactly.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};

mod bench;
mod binaries;
mod binary;
mod campaign;
mod clients;
mod cross;
mod deny;
mod determinism;
mod dist;
mod docs;
mod format;
mod fuzz;
mod gc_logs;
mod golden;
mod locks;
mod page;
mod parity;
mod plants;
mod published;
mod quick;
mod release;
mod scorecard;
mod servers;
mod source;
mod steps;
mod test;
mod tidy;
mod tool;

/// The project's own chores.
#[derive(Parser)]
#[command(bin_name = "cargo xtask")]
enum Chore {
    /// Everything that CI checks
    Test {
        /// That with a new seed for the random tests, all planted mistakes, the published results, and whatever else
        /// takes too long for each commit: well over an hour more
        #[arg(long)]
        long: bool,
    },
    /// The checks of what was changed, or of these crates: unit tests, changed tests, and those that catch mistakes
    /// planted in the changed files
    Quick { crates: Vec<String> },
    /// The scorecard: what lock libraries do, one experiment a cell
    Scorecard(scorecard::Options),
    /// The tests in debug, several binaries at a time
    Tests {
        /// In the copy of the tree with planted mistakes, all of them switched off, as CI does
        #[arg(long, conflicts_with_all = ["release", "debug"])]
        copy: bool,
        /// The tests that simulate much, in release
        #[arg(long, conflicts_with = "debug")]
        release: bool,
        /// The same in debug
        #[arg(long)]
        debug: bool,
    },
    /// The release build that the checks share
    Release,
    /// The documentation of every crate, where a warning is an error
    Docs,
    /// Lay out every Rust file
    Format {
        /// Say which are laid out otherwise
        #[arg(long)]
        check: bool,
    },
    /// The rules of the code that neither rustc nor clippy knows
    Tidy,
    /// Say which lock files do not fit the dependencies of our crates
    Locks,
    /// Run every scenario twice, and in several processes, and compare
    Determinism {
        /// With more seeds, and every scenario in debug
        #[arg(long)]
        long: bool,
    },
    /// Check the code for macOS and Windows
    Cross,
    /// Make what can be installed without a compiler of Rust: a static program as tar.gz, wheel, npm and Debian package
    Dist(dist::Options),
    /// Search all locks for violations of what no fault may violate
    Campaign {
        /// The duration of the search with each strategy
        #[arg(long, default_value_t = 2)]
        minutes: u64,
        /// The first seed, if not a new one
        #[arg(long)]
        seed: Option<u64>,
    },
    /// Compare what `locklab record` and GCViewer read in the logs of GCViewer's tests (or in these): no pause may be
    /// missing
    GcLogs { folder: Option<String> },
    /// Make results with few runs, and compare them, line by line, with those of the last commit: a refactoring must
    /// leave them unchanged
    Golden {
        /// Compare with this commit
        #[arg(long)]
        base: Option<String>,
    },
    /// Build the simulator as WebAssembly, and write the page reports/play
    Page {
        /// Write this file instead
        #[arg(long, default_value = page::PAGE)]
        out: String,
    },
    /// Make the results in reports/ anew, and compare
    Published,
    /// Licences, sources and duplicates of the dependencies
    Deny,
    /// Plant mistakes, and see whether the scenario or test of each catches it: those that the last commits may concern
    /// and a share of the others, as CI does; or these
    Plants {
        /// All but those on real servers
        #[arg(long)]
        all: bool,
        /// All
        #[arg(long)]
        long: bool,
        names: Vec<String>,
    },
    /// Attack the real libraries in tests/clients (or these) whose runtime is installed, and write reports/clients. Old
    /// versions with reported bugs have to show these, and have no row
    Clients(clients::Options),
    /// Compare the node with later servers, of Redis and of Valkey, that Python packages bring
    Parity,
    /// Install redis-server if it is missing, and say its version
    Redis,
    /// Install Slurm if it is missing and that is possible, and say its version
    Slurm,
    /// Time one workload in Locklab's world, madsim and turmoil
    #[command(args_conflicts_with_subcommands = true)]
    Bench {
        /// Write the ratios into README.md
        #[arg(long)]
        readme: bool,
        /// Only build what it times
        #[arg(long)]
        build: bool,
        #[command(subcommand)]
        other: Option<Bench>,
    },
    /// Send the node requests and scripts by chance
    Fuzz {
        /// For so long each
        #[arg(long, default_value_t = 60)]
        seconds: u64,
        /// Send it what libFuzzer finds, with AddressSanitizer, on a nightly compiler
        #[arg(long)]
        libfuzzer: bool,
    },
}

#[derive(Subcommand)]
enum Bench {
    /// Count the instructions of some workloads, and compare them with benches/instructions.json
    Instructions {
        /// Write them there
        #[arg(long)]
        write: bool,
    },
    /// Processor time a request of `locklab serve`, with and without `--control`, and of redis-server
    Serve,
}

fn main() -> ExitCode {
    let chore = Chore::parse();
    match to_the_root().and_then(|()| run(chore)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(chore: Chore) -> Result<()> {
    match chore {
        Chore::Test { long } => test::run(long),
        Chore::Quick { crates } => quick::run(&crates),
        Chore::Tests { release: true, .. } => binaries::run_in_release(),
        Chore::Tests { debug: true, .. } => binaries::run_release_tests_in_debug(),
        Chore::Tests { copy: true, .. } => binaries::run(binaries::Place::Copy),
        Chore::Tests { .. } => binaries::run(binaries::Place::Here),
        Chore::Release => release::build(),
        Chore::Docs => docs::run(),
        Chore::Format { check } => format::run(check),
        Chore::Tidy => tidy::run(),
        Chore::Locks => locks::run(),
        Chore::Determinism { long } => determinism::run(long),
        Chore::Cross => cross::run(),
        Chore::Dist(options) => dist::run(&options),
        Chore::Campaign { minutes, seed } => campaign::run(minutes, seed),
        Chore::GcLogs { folder } => gc_logs::run(folder.as_deref()),
        Chore::Golden { base } => golden::run(base.as_deref()),
        Chore::Page { out } => page::run(Path::new(&out)),
        Chore::Published => published::run(),
        Chore::Deny => deny::run(),
        Chore::Plants { long: true, .. } => plants::run(plants::Which::All),
        Chore::Plants { all: true, .. } => plants::run(plants::Which::Simulated),
        Chore::Plants { names, .. } if names.is_empty() => plants::run(plants::Which::Recent),
        Chore::Plants { names, .. } => plants::run(plants::Which::Named(&names)),
        Chore::Clients(options) => clients::run(&options),
        Chore::Scorecard(options) => scorecard::run(&options),
        Chore::Parity => parity::run(),
        Chore::Redis => servers::redis(),
        Chore::Slurm => {
            servers::slurm();
            Ok(())
        }
        Chore::Bench { build: true, .. } => bench::build(),
        Chore::Bench { readme, other, .. } => match other {
            Some(Bench::Instructions { write }) => bench::instructions::run(write),
            Some(Bench::Serve) => bench::serve::run(),
            None => bench::run(readme),
        },
        Chore::Fuzz { seconds, libfuzzer } if libfuzzer => fuzz::libfuzzer(seconds),
        Chore::Fuzz { seconds, .. } => fuzz::run(seconds),
    }
}

/// Changes to the root of the repository, so that every chore works from any directory.
fn to_the_root() -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    std::env::set_current_dir(&root).with_context(|| format!("enter {}", root.display()))
}
