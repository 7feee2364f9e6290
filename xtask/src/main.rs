//! The project's own chores. `cargo xtask test` is what CI runs, exactly.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow};
use bench::instructions::Mode;

mod bench;
mod binaries;
mod binary;
mod campaign;
mod clients;
mod commit;
mod deny;
mod determinism;
mod docs;
mod format;
mod fuzz;
mod gc_logs;
mod golden;
mod locks;
mod mutants;
mod parity;
mod plants;
mod published;
mod quick;
mod release;
mod servers;
mod source;
mod steps;
mod test;
mod tidy;
mod tool;

const USAGE: &str = "\
Usage: cargo xtask <chore>

  test             Everything that CI checks
  test --long      That with a new seed for the random tests, 200,000 commands against
                   a real redis-server, the parity tests against later servers, the logs of other
                   JVMs, a thousand hostile connections, a minute of
                   libFuzzer, the dependencies' licences, a part of the mutants, the
                   published results, the statistical tests with more runs, all planted
                   mistakes, the known mistakes of the locks in the shipped scenarios,
                   a search over all locks, and the build of the other simulators' workloads
  quick [CRATE…]   The checks of what was changed, or of these crates: unit tests, changed tests, and
                   those that catch mistakes planted in the changed files
  tests [--copy]   The tests in debug, several binaries at a time; --copy: in the copy of the
                   tree with planted mistakes, all of them switched off, as CI does
  tests --release  The tests that simulate much, in release
  tests --debug    The same in debug
  release          The release build that the checks share
  docs             The documentation of every crate, where a warning is an error
  format [--check] Lay out every Rust file, or say which are laid out otherwise
  tidy             The rules of the code that neither rustc nor clippy knows
  locks            Say which lock files do not fit the dependencies of our crates
  determinism [--long]
                   Run every scenario twice, and in several processes, and compare
  campaign [--minutes N] [--seed S]
                   Search all locks for violations of what no fault may violate: with each strategy
                   for N minutes, from a new seed on
  gc-logs [FOLDER] Compare what `locklab record` and GCViewer read in the logs of GCViewer's tests (or
                   in these): no pause may be missing
  golden [--base COMMIT]
                   Make results with few runs, and compare them, line by line, with those of the last commit
                   (or of COMMIT): a refactoring must leave them unchanged
  published        Make the results in reports/ anew, and compare
  deny             Licences, sources and duplicates of the dependencies
  mutants [--minutes N] [SUBJECT…]
                   Change the code of locks, injectors, world and judging (or of these) one
                   place at a time, see whether a scenario or a test notices, and write
                   reports/mutants; run it again to resume
  mutants --sample N [--seed S] [--minutes M] [SUBJECT…]
                   The same with N random mutants of each subject
  mutants --survivors [--minutes M] [SUBJECT…]
                   Try the published survivors again, and publish which are noticed now
  mutants --reasons
                   Publish the reasons of xtask/survivors.txt, and try nothing
  mutants --compare [--seed S]
                   Try a few of the samples again that were noticed, and require that
                   they are noticed still
  plants [--all | --long | NAME…]
                   Plant mistakes, and see whether the scenario or test of each catches
                   it: those that the last commits may concern and a share of the others,
                   as CI does; all; all and those on real servers; or these
  clients [--again] [--drawn N] [NAME…]
                   Attack the real libraries in tests/clients (or these) whose runtime is
                   installed, and write reports/clients; --drawn: the seeds of attack/drawn.
                   Old versions with reported bugs have to show these, and have no row
  clients --ports [NAME…]
                   Compare the requests of the libraries with those of the catalogue's locks that
                   are their ports: each difference needs a reason in client.toml
  parity           Compare the node with later servers, of Redis and of Valkey, that Python packages bring
  redis            Install redis-server if it is missing, and say its version
  slurm            Install Slurm if it is missing and that is possible, and say its version
  bench            Time one workload in Locklab's world, madsim and turmoil
  bench --readme   The same, and write the ratios into README.md
  bench --build    Only build what it times
  bench instructions [--write]
                   Count the instructions of some workloads, and compare them with
                   benches/instructions.json, or write them there
  bench serve      Processor time a request of `locklab serve`, with and without `--control`,
                   and of redis-server
  fuzz [--seconds N]
                   Send the node requests and scripts by chance, for a minute or N seconds each
  fuzz --libfuzzer [--seconds N]
                   Send it what libFuzzer finds, with AddressSanitizer, on a nightly compiler
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = to_the_root().and_then(|()| match arguments[..] {
        ["test"] => test::run(test::Length::Short),
        ["test", "--long"] => test::run(test::Length::Long),
        ["tests"] => binaries::run(binaries::Place::Here),
        ["tests", "--copy"] => binaries::run(binaries::Place::Copy),
        ["tests", "--release"] => binaries::run_in_release(),
        ["tests", "--debug"] => binaries::run_release_tests_in_debug(),
        ["release"] => release::build(),
        ["docs"] => docs::run(),
        ["format"] => format::run(format::Mode::Write),
        ["format", "--check"] => format::run(format::Mode::Check),
        ["tidy"] => tidy::run(),
        ["locks"] => locks::run(),
        ["determinism"] => determinism::run(determinism::FEW),
        ["determinism", "--long"] => determinism::run(determinism::MANY),
        ["campaign"] => campaign::run(campaign::MINUTES, None),
        ["campaign", "--minutes", minutes] => campaign::run(minutes, None),
        ["campaign", "--seed", seed] => campaign::run(campaign::MINUTES, Some(seed)),
        ["campaign", "--minutes", minutes, "--seed", seed] => campaign::run(minutes, Some(seed)),
        ["gc-logs"] => gc_logs::run(None),
        ["gc-logs", folder] => gc_logs::run(Some(folder)),
        ["golden"] => golden::run(None),
        ["golden", "--base", commit] => golden::run(Some(commit)),
        ["quick", ref names @ ..] => quick::run(names),
        ["published"] => published::run(),
        ["deny"] => deny::run(),
        ["mutants", ref words @ ..] => mutants::run(words),
        ["plants"] => plants::run(plants::Which::Recent),
        ["plants", "--all"] => plants::run(plants::Which::Simulated),
        ["plants", "--long"] => plants::run(plants::Which::All),
        ["plants", ref names @ ..] if names.iter().all(|name| !name.starts_with('-')) => {
            plants::run(plants::Which::Named(names))
        }
        ["clients", ref words @ ..] => {
            clients::Options::parse(words).and_then(|options| clients::run(&options))
        }
        ["parity"] => parity::run(),
        ["redis"] => servers::redis(),
        ["slurm"] => {
            servers::slurm();
            Ok(())
        }
        ["bench"] => bench::run(bench::Output::Print),
        ["bench", "--readme"] => bench::run(bench::Output::Readme),
        ["bench", "--build"] => bench::build(),
        ["bench", "instructions"] => bench::instructions::run(Mode::Compare),
        ["bench", "instructions", "--write"] => bench::instructions::run(Mode::Write),
        ["bench", "serve"] => bench::serve::run(),
        ["fuzz"] => fuzz::run(fuzz::SECONDS),
        ["fuzz", "--seconds", seconds] => fuzz::run(seconds),
        ["fuzz", "--libfuzzer"] => fuzz::libfuzzer(fuzz::SECONDS),
        ["fuzz", "--libfuzzer", "--seconds", seconds] => fuzz::libfuzzer(seconds),
        ["help" | "--help" | "-h"] => {
            print!("{USAGE}");
            Ok(())
        }
        _ => Err(anyhow!("no such chore\n\n{}", USAGE.trim_end())),
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Changes to the root of the repository, so that every chore works from any directory.
fn to_the_root() -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    std::env::set_current_dir(&root).with_context(|| format!("enter {}", root.display()))
}
