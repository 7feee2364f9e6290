//! The steps that CI runs, one after the other, up to the first failure; and longer steps,
//! which run on request.

use std::env;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::bench::instructions::{self, Mode};
use crate::tool::fresh_seed;
use crate::{bench, binaries, deny, determinism, format, fuzz, mutants, published, redis, tidy};

/// The seed from which random tests draw their cases; read by proptest.
const SEED: &str = "PROPTEST_RNG_SEED";

/// The default seed, fixed so that an unchanged tree gives unchanged results. `cargo test`
/// alone draws different cases each time.
const FIXED_SEED: &str = "20160208";

/// In the order that reveals the cause of a failure soonest.
const STEPS: &[Step] = &[
    Step {
        name: "redis-server",
        action: Action::Chore("redis", redis::ensure),
    },
    Step {
        name: "format",
        action: Action::Chore("format --check", || format::run(format::Mode::Check)),
    },
    Step {
        name: "tidy",
        action: Action::Chore("tidy", tidy::run),
    },
    Step {
        name: "clippy",
        action: Action::Run(&[], "cargo clippy --workspace --all-targets -- -D warnings"),
    },
    Step {
        name: "tests", // and doc tests
        action: Action::Tests("cargo test --workspace"),
    },
    Step {
        name: "the node without Lua",
        action: Action::Run(
            &[],
            "cargo test --package locklab-redis --no-default-features --lib --test no_lua",
        ),
    },
    Step {
        name: "the node in another project's tests",
        action: Action::Run(
            &[],
            "cargo test --locked --manifest-path xtask/outside/Cargo.toml --target-dir target",
        ),
    },
    Step {
        name: "a lock in a project of its own",
        action: Action::Run(
            &[],
            "cargo test --locked --config xtask/outside/quick.toml \
             --manifest-path docs/own-lock/Cargo.toml --target-dir target",
        ),
    },
    Step {
        name: "planted mistakes",
        action: Action::Test(&[], "cargo xtask plants"),
    },
    Step {
        name: "docs",
        action: Action::Run(
            &[("RUSTDOCFLAGS", "-D warnings")],
            "cargo doc --workspace --no-deps",
        ),
    },
    Step {
        name: "determinism",
        action: Action::Chore("determinism", || determinism::run(determinism::FEW)),
    },
    Step {
        name: "instructions", // of the release build that the step before has made
        action: Action::Chore("bench instructions", || instructions::run(Mode::Compare)),
    },
];

/// Steps that take too long for each commit: about half an hour more.
const LONG_STEPS: &[Step] = &[
    Step {
        name: "parity",
        action: Action::Test(
            &[("LOCKLAB_LONG", "1")],
            "cargo test --package locklab-redis --test parity any_",
        ),
    },
    Step {
        name: "soak",
        action: Action::Test(
            &[("LOCKLAB_LONG", "1")],
            "cargo test --release --package locklab-redis --features server --test soak",
        ),
    },
    Step {
        name: "a large run in the browser", // where there is a Chromium
        action: Action::Test(
            &[("LOCKLAB_LONG", "1")],
            "cargo test --package locklab --test view measure -- --nocapture",
        ),
    },
    Step {
        name: "all planted mistakes", // and those on real servers
        action: Action::Test(&[], "cargo xtask plants --long"),
    },
    Step {
        name: "determinism with more seeds",
        action: Action::Chore("determinism --long", || determinism::run(determinism::MANY)),
    },
    Step {
        name: "published results",
        action: Action::Chore("published", published::run),
    },
    Step {
        name: "libFuzzer",
        action: Action::Chore("fuzz --libfuzzer", || fuzz::libfuzzer(fuzz::SECONDS)),
    },
    Step {
        // The installation takes minutes of processor time: too long for each commit.
        name: "dependencies",
        action: Action::Chore("deny", deny::run),
    },
    Step {
        name: "mutants",
        action: Action::Chore("mutants", mutants::sample),
    },
    Step {
        name: "other simulators",
        action: Action::Chore("bench --build", bench::build),
    },
];

/// The extent of the checks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Length {
    /// The checks of CI.
    Short,
    /// Occasional checks, with a new seed each time.
    Long,
}

/// Runs every step.
///
/// # Errors
///
/// The first step that fails, with the command that runs only this step.
pub fn run(length: Length) -> Result<()> {
    let more = match length {
        Length::Short => &[],
        Length::Long => LONG_STEPS,
    };
    let steps = STEPS.iter().chain(more);
    let seed = seed(env::var(SEED).ok(), length);
    if length == Length::Long {
        println!("==> seed of the random tests: {seed}; to use it again:");
        println!("    {SEED}={seed} cargo xtask test --long");
    }
    run_steps(steps.copied(), &seed, |line| println!("{line}"))
}

/// The given seed, or else the fixed one, or a new one.
fn seed(named: Option<String>, length: Length) -> String {
    match (named, length) {
        (Some(seed), _) => seed,
        (None, Length::Short) => FIXED_SEED.to_owned(),
        (None, Length::Long) => fresh_seed().to_string(),
    }
}

#[derive(Clone, Copy)]
struct Step {
    name: &'static str,
    action: Action,
}

#[derive(Clone, Copy)]
enum Action {
    /// Environment variables, and a command whose words contain no spaces.
    Run(&'static [(&'static str, &'static str)], &'static str),
    /// All tests, several binaries at a time; and the command that runs them one by one.
    Tests(&'static str),
    /// Like `Run`, for tests of which some are random.
    Test(&'static [(&'static str, &'static str)], &'static str),
    /// A chore of this program: its name and its function.
    Chore(&'static str, fn() -> Result<()>),
}

impl Action {
    fn perform(&self, seed: &str) -> Result<()> {
        match self {
            Action::Run(_, line) | Action::Test(_, line) => {
                let mut words = line.split(' ');
                let mut command = Command::new(words.next().unwrap_or_default());
                command.args(words).envs(self.variables(seed));
                let status = command.status().context("it did not start")?;
                if !status.success() {
                    bail!("{status}");
                }
                Ok(())
            }
            Action::Tests(_) => binaries::run(&self.variables(seed)),
            Action::Chore(_, chore) => chore(),
        }
    }

    /// The command that runs only this step.
    fn alone(&self, seed: &str) -> String {
        match self {
            Action::Run(_, line) | Action::Test(_, line) | Action::Tests(line) => {
                let variables = self.variables(seed).into_iter();
                let variables = variables.map(|(name, value)| format!("{name}='{value}' "));
                variables.collect::<String>() + line
            }
            Action::Chore(name, _) => format!("cargo xtask {name}"),
        }
    }

    fn variables<'a>(&self, seed: &'a str) -> Vec<(&'static str, &'a str)> {
        match self {
            Action::Run(variables, _) => variables.to_vec(),
            Action::Test(variables, _) => [&[(SEED, seed)], *variables].concat(),
            Action::Tests(_) => vec![(SEED, seed)],
            Action::Chore(..) => Vec::new(),
        }
    }
}

fn run_steps(
    steps: impl Iterator<Item = Step>,
    seed: &str,
    mut say: impl FnMut(String),
) -> Result<()> {
    let mut passed = 0;
    for step in steps {
        say(format!("==> {}: {}", step.name, step.action.alone(seed)));
        let start = Instant::now();
        let performed = step.action.perform(seed);
        let seconds = start.elapsed().as_secs_f64();
        if let Err(error) = performed {
            say(format!("{passed} passed, 1 failed"));
            bail!(
                "{error:#}\n{} failed after {seconds:.1} s; run it alone: {}",
                step.name,
                step.action.alone(seed)
            );
        }
        say(format!("==> {}: passed in {seconds:.1} s", step.name));
        passed += 1;
    }
    say(format!("{passed} passed, 0 failed"));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASSES: Step = Step {
        name: "sound",
        action: Action::Chore("sound", || Ok(())),
    };
    const FAILS: Step = Step {
        name: "broken",
        action: Action::Chore("broken", || bail!("a reason")),
    };
    const NO_SUCH_TESTS: Step = Step {
        name: "absent",
        action: Action::Test(&[("A", "b c")], "locklab-no-such-program --y"),
    };
    const NO_SUCH_PROGRAM: Step = Step {
        name: "absent",
        action: Action::Run(&[("A", "b c")], "locklab-no-such-program --x"),
    };

    /// Checks whether the steps pass, and the last line of the output.
    #[track_caller]
    fn check(steps: &[Step], passes: bool, last_line: &str) {
        let mut said = Vec::new();
        let result = run_steps(steps.iter().copied(), "7", |line| said.push(line));
        assert_eq!(result.is_ok(), passes);
        if let Err(error) = result {
            said.push(format!("{error:#}"));
        }
        let said = said.join("\n");
        assert_eq!(said.lines().last(), Some(last_line));
    }

    #[test]
    fn the_closing_line_counts_the_steps() {
        check(&[], true, "0 passed, 0 failed");
        check(&[PASSES, PASSES], true, "2 passed, 0 failed");
    }

    #[test]
    fn the_first_failure_is_the_last_line() {
        check(
            &[PASSES, FAILS, NO_SUCH_PROGRAM],
            false,
            "broken failed after 0.0 s; run it alone: cargo xtask broken",
        );
        check(
            &[NO_SUCH_PROGRAM, PASSES],
            false,
            "absent failed after 0.0 s; run it alone: A='b c' locklab-no-such-program --x",
        );
    }

    #[test]
    fn tests_that_fail_are_named_with_their_seed() {
        check(
            &[NO_SUCH_TESTS],
            false,
            "absent failed after 0.0 s; run it alone: \
             PROPTEST_RNG_SEED='7' A='b c' locklab-no-such-program --y",
        );
    }

    #[test]
    fn a_long_run_draws_a_seed_unless_one_is_named() {
        assert_eq!(seed(None, Length::Short), FIXED_SEED);
        assert_eq!(seed(Some("7".into()), Length::Long), "7");
        let drawn = [(); 2].map(|()| seed(None, Length::Long));
        assert_ne!(drawn[0], drawn[1]);
        for seed in drawn {
            seed.parse::<u64>().expect("proptest takes 64 bits");
        }
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
