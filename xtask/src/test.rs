//! The steps that CI runs, up to the first failure; and longer steps, which run on request.

use std::env;

use anyhow::Result;

use crate::steps::{self, SEED, Step};
use crate::tool::fresh_seed;

/// The default seed, fixed so that an unchanged tree gives unchanged results. `cargo test`
/// alone draws different cases each time.
const FIXED_SEED: &str = "20160208";

/// Steps of seconds, which fail before anything is built.
const QUICK: &[Step] = &[
    Step::run("redis-server", "cargo xtask redis"),
    Step::run("format", "cargo xtask format --check"),
    Step::run("tidy", "cargo xtask tidy"),
    Step::run("lock files", "cargo xtask locks"),
];

/// The tests in debug, which begin at once, since some wait for real servers for minutes.
const DEBUG: &[Step] = &[
    // And doc tests. In the copy, which the planted mistakes need as well. While its tests wait for real servers, the
    // other lane computes.
    Step::test("tests", "cargo xtask tests --copy").in_real_time(),
];

/// Steps that compute: those that use the release build, and others that build in `target/debug`, where Cargo builds
/// one thing at a time. By the end of the release build the tests in debug are built, and only run.
const RELEASE: &[Step] = &[
    Step::run("release build", "cargo xtask release"),
    // This program apart, as the tests are built (`tool::PRODUCT`): they share build scripts and macros.
    Step::run(
        "clippy",
        "cargo clippy --workspace --exclude xtask --all-targets -- -D warnings",
    ),
    Step::run(
        "clippy of the chores",
        "cargo clippy --package xtask --all-targets -- -D warnings",
    ),
    Step::run("docs", "cargo xtask docs"),
    // They give way to the tests on real servers in the other lane.
    Step::test("tests in release", "cargo xtask tests --release"),
    Step::run("determinism", "cargo xtask determinism"),
    Step::run("instructions", "cargo xtask bench instructions"),
    Step::test("planted mistakes", "cargo xtask plants"),
];

/// Steps that take too long for each commit: well over an hour more.
const LONG: &[Step] = &[
    // CI tests these two as members of the workspace (`tests/outside`, `tests/own-lock`).
    Step::test(
        "the node in another project's tests",
        "cargo test --locked --manifest-path xtask/outside/Cargo.toml --target-dir target",
    ),
    Step::test(
        "a lock in a project of its own",
        "cargo test --locked --config xtask/outside/quick.toml \
         --manifest-path docs/own-lock/Cargo.toml --target-dir target",
    ),
    Step::test(
        "parity",
        "LOCKLAB_LONG=1 cargo test --package locklab-redis --test parity any_",
    ),
    // Where they can be had.
    Step::test("parity with later servers", "cargo xtask parity").in_real_time(),
    Step::test(
        "consensus under more faults",
        "LOCKLAB_LONG=1 cargo test --package locklab-services --test consensus campaign",
    ),
    Step::test(
        "soak",
        "LOCKLAB_LONG=1 cargo test --profile ci --package locklab-redis --features server --test soak",
    )
    .in_real_time(),
    Step::test(
        "a large run in the browser", // where there is a Chromium
        "LOCKLAB_LONG=1 cargo test --package locklab-view --test page measure -- --nocapture",
    ),
    // It installs the standard library that it needs.
    Step::run("the page", "cargo xtask page --out target/play/index.html"),
    Step::test(
        "the page anew", // in Node.js and a Chromium, where they are
        "LOCKLAB_PAGE=target/play/index.html cargo test --package locklab-play --test page",
    )
    .in_real_time(),
    // Where it is installed.
    Step::test(
        "locks on ZooKeeper",
        "LOCKLAB_LONG=1 cargo test --package locklab --package locklab-locks --test locks \
         --test servers -- --nocapture",
    )
    .in_real_time(),
    Step::run("Slurm", "cargo xtask slurm"),
    // Where it is installed.
    Step::test(
        "a job on Slurm",
        "LOCKLAB_LONG=1 cargo test --package locklab --test cli submit -- --nocapture",
    )
    .in_real_time(),
    // Where their languages and packages can be had.
    Step::test(
        "locks in other languages",
        "LOCKLAB_LONG=1 cargo test --package locklab --test attack clients -- --nocapture",
    )
    .in_real_time(),
    Step::test(
        "packages for test frameworks",
        "LOCKLAB_LONG=1 cargo test --package locklab --test fixtures -- --nocapture",
    )
    .in_real_time(),
    Step::test(
        "waits in other languages",
        "LOCKLAB_LONG=1 cargo test --package locklab-shim --test real waits -- --nocapture",
    )
    .in_real_time(),
    // Also where they can be had.
    Step::test("libraries and their ports", "cargo xtask clients --ports").in_real_time(),
    Step::test("simulations with all runs", "LOCKLAB_LONG=1 cargo xtask tests --release"),
    Step::test(
        "estimates and random pictures with all repetitions",
        "LOCKLAB_LONG=1 cargo test --package locklab --package locklab-ask --package locklab-report --lib \
         --test spacetime",
    ),
    // With the assertions and the checked arithmetic of a debug build.
    Step::test("simulations in debug", "cargo xtask tests --debug"),
    // And those on real servers.
    Step::test("all planted mistakes", "cargo xtask plants --long").in_real_time(),
    Step::run(
        "determinism with more seeds",
        "cargo xtask determinism --long",
    ),
    Step::run(
        "known mistakes in the locks",
        "cargo run --profile ci --package locklab -- check --mutants --out target/mutants",
    ),
    // Where both can be had.
    Step::run("logs of JVMs", "cargo xtask gc-logs"),
    Step::run("a search over all locks", "cargo xtask campaign"),
    Step::run("published results", "cargo xtask published"),
    Step::run("libFuzzer", "cargo xtask fuzz --libfuzzer"),
    // The installation takes minutes of processor time: too long for each commit.
    Step::run("dependencies", "cargo xtask deny"),
    Step::run("other simulators", "cargo xtask bench --build"),
    Step::run("other systems", "cargo xtask cross"),
    // It starts real servers.
    Step::run("packages", "cargo xtask dist --test").in_real_time(),
];

/// Runs the steps of CI, or also those that take too long for each commit, with a new seed each time.
/// Fails with the first step that fails, with the command that runs only this step.
pub fn run(is_long: bool) -> Result<()> {
    let seed = seed(env::var(SEED).ok(), is_long);
    let stages: &[&[&[Step]]] = match is_long {
        false => &[&[QUICK], &[DEBUG, RELEASE]],
        true => &[&[QUICK], &[DEBUG, RELEASE], &[LONG]],
    };
    if is_long {
        println!("==> seed of the random tests: {seed}; to use it again:");
        println!("    {SEED}={seed} cargo xtask test --long");
    }
    steps::run(stages, &seed, |line| println!("{line}"))
}

/// The given seed, or else the fixed one, or a new one.
fn seed(named: Option<String>, is_long: bool) -> String {
    named.unwrap_or_else(|| match is_long {
        false => FIXED_SEED.to_owned(),
        true => fresh_seed().to_string(),
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::{Chore, binaries};

    #[test]
    fn a_long_run_draws_a_seed_unless_one_is_named() {
        assert_eq!(seed(None, false), FIXED_SEED);
        assert_eq!(seed(Some("7".into()), true), "7");
        let drawn = [(); 2].map(|()| seed(None, true));
        assert_ne!(drawn[0], drawn[1]);
        for seed in drawn {
            seed.parse::<u64>().expect("proptest takes 64 bits");
        }
    }

    /// A step that runs once in a while would else ask for a test that was renamed long ago.
    #[test]
    fn every_test_of_a_step_exists() {
        let known = binaries::test_targets().expect("cargo knows the tests");
        let mut asked = 0;
        for step in [QUICK, DEBUG, RELEASE, LONG].into_iter().flatten() {
            let line = step.alone("7");
            let words: Vec<&str> = line.split_whitespace().collect();
            let program = words.iter().position(|word| !word.contains('='));
            if let ["cargo", own @ ..] = &words[program.expect("a program")..]
                && own[0] == "xtask"
            {
                let chore = Chore::try_parse_from(own);
                assert!(chore.is_ok(), "{}: {:?}", line, chore.err());
            }
            let after = |option: &str| -> Vec<&str> {
                let pairs = words.windows(2).filter(|pair| pair[0] == option);
                pairs.map(|pair| pair[1]).collect()
            };
            let packages = after("--package");
            for test in after("--test") {
                let exists = { packages.iter() }
                    .any(|package| known.contains(&((*package).to_owned(), test.to_owned())));
                assert!(exists, "{test} of {packages:?}: {}", line);
                asked += 1;
            }
        }
        assert!(asked > 5, "{asked}");
    }

    /// Otherwise they would be built once more for the lock in a project of its own.
    #[test]
    fn dependencies_are_optimised_alike_in_and_outside_the_workspace() {
        let list = |manifest: &'static str| {
            let (_, list) = manifest
                .split_once("[profile.dev.package]\n")
                .expect("a list");
            let lines = list.lines().take_while(|line| !line.starts_with('['));
            let lines = lines.filter(|line| !line.is_empty() && !line.starts_with("locklab-"));
            lines.collect::<Vec<_>>()
        };
        let workspace = list(include_str!("../../Cargo.toml"));
        assert!(!workspace.is_empty());
        assert_eq!(list(include_str!("../outside/quick.toml")), workspace);
    }
}
