//! The determinism gate: a run depends on its scenario and seed, and on nothing else.
//!
//! Every shipped scenario runs twice within one process, compared event by event; then in separate
//! processes, on one thread and on two, in release and in debug, whose results must be identical byte
//! for byte. A debug build is eight times slower: in CI it runs every twelfth scenario, from one on that the commit
//! chooses, and in a long run all.

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use crate::binaries::{self, Place};
use crate::release;
use crate::tool::{git, locklab, share};

/// Runs the gate. Pictures are not compared, so they are drawn in the format that costs least.
/// Fails if any two results differ, with the difference.
pub fn run(is_long: bool) -> Result<()> {
    // The seeds of each scenario; in debug one scenario in so many; where the debug build comes from.
    let (seeds, in_debug, debug): (u64, u64, Place) = match is_long {
        false => (1, 12, Place::Copy),
        true => (50, 1, Place::Here),
    };
    release::build()?;
    // The tests have built it, with just these features; `cargo build` would do it once more.
    binaries::build_debug(debug)?;
    let twice = format!("0..{}", seeds.div_ceil(2));
    locklab("ci", &["run", "--all", "--seeds", &twice, "--twice"])?;
    let all = scenarios()?;
    let first = share(&git(&["rev-parse", "HEAD"])?, in_debug);
    let others = all.iter().skip(first as usize);
    let some: Vec<String> = others.step_by(in_debug as usize).cloned().collect();
    same(("ci", "1"), ("ci", "2"), &all, seeds)?;
    same(("ci", "1"), ("debug", "2"), &some, seeds)
}

/// The names of the shipped scenarios.
fn scenarios() -> Result<Vec<String>> {
    #[derive(Deserialize)]
    struct Scenario {
        name: String,
    }
    let listed = locklab("ci", &["list", "scenarios", "--json"])?;
    let listed: Vec<Scenario> = serde_json::from_str(&listed).context("the list of scenarios")?;
    Ok(listed.into_iter().map(|scenario| scenario.name).collect())
}

/// A profile, and the number of threads.
type Way = (&'static str, &'static str);

/// Runs these scenarios in two ways, which must come to the same.
fn same(one: Way, other: Way, scenarios: &[String], seeds: u64) -> Result<()> {
    let show = |(profile, jobs): Way| format!("{profile} with --jobs {jobs}");
    let reference = results(one, scenarios, seeds)?;
    let found = results(other, scenarios, seeds)?;
    let lines = found.lines().zip(reference.lines());
    let alike = lines.take_while(|(a, b)| a == b).count();
    ensure!(
        found == reference,
        "{} differs from {} at line {} of its results: {:?} against {:?}",
        show(other),
        show(one),
        alike + 1,
        found.lines().nth(alike).unwrap_or_default(),
        reference.lines().nth(alike).unwrap_or_default(),
    );
    println!(
        "{} scenarios, {} and {}: the same to the last byte",
        scenarios.len(),
        show(one),
        show(other)
    );
    Ok(())
}

fn results((profile, jobs): Way, scenarios: &[String], seeds: u64) -> Result<String> {
    let seeds = format!("0..{seeds}");
    let how = [
        "--seeds", &seeds, "--format", "svg", "--json", "--jobs", jobs,
    ];
    let mut arguments = vec!["run", "--out", "target/locklab/gate"];
    arguments.extend(how);
    arguments.extend(scenarios.iter().map(String::as_str));
    locklab(profile, &arguments)
}
