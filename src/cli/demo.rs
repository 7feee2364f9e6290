//! `locklab` without arguments: five claims, predicted and observed.

use clap::Args;
use console::style;
use serde_json::json;

use super::bug::Bug;
use super::say::{self, tell};
use super::store::Store;
use super::{Exit, Jobs, Out, cells, data, pictures, report};
use locklab_model::scenario::{self, Scenario};
use locklab_results::{Cell, Detail};
use locklab_runner::judged;
use locklab_runner::pool::Broken;
use locklab_runner::prediction::compare;

/// Claims K1, K5, K10, K13 and R5, the last two with a scenario for comparison.
const SCENARIOS: [&str; 8] = [
    "kleppmann/k1",
    "kleppmann/k5",
    "kleppmann/k10",
    "kleppmann/k13",
    "kleppmann/k13-unchecked",
    "kleppmann/k13-frozen",
    "redis-docs/r5",
    "redis-docs/r5-compared",
];

/// Runs of each scenario: with this many, an observed rate of zero means less than 0.4 %.
const SEEDS: u64 = 1000;

/// The headline properties in short; `locklab list properties` has the full text.
const LEGEND: &str = "  \
  belief    no two clients believe at once that they hold the lock
  lease     the same, but each believes only until its deadline by its own clock
  resource  the data that the lock protects accept no stale and no lost write
  (the others, and where they come from: locklab list properties)";

#[derive(Args, Clone)]
pub(super) struct Options {
    /// Print the results as JSON on standard output
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    out: Out,
    #[command(flatten)]
    jobs: Jobs,
}

pub(super) fn demo(options: &Options) -> anyhow::Result<Exit> {
    let store = Store::open(&options.out)?;
    let scenarios: Vec<Scenario> = SCENARIOS
        .iter()
        .map(|name| scenario::load(name, &[]))
        .collect::<Result<_, _>>()?;
    tell!(
        "Five claims of the debate on Redis locks, each run {SEEDS} times in a simulated\n\
         network of real lock clients and in-process Redis nodes.\n\n\
         {LEGEND}\n"
    );
    let bug = |broken: Broken| {
        let name = SCENARIOS[broken.job];
        let reproduce = say::run_line(name, &[], broken.seed);
        Bug::or_usage(broken, name, reproduce)
    };
    let seeds = vec![0..SEEDS; scenarios.len()];
    let cells =
        cells::run(&scenarios, &seeds, options.jobs.threads(), Detail::Counts).map_err(bug)?;
    let mut exit = Exit::AsPredicted;
    let mut results = Vec::new();
    for (scenario, cell) in scenarios.iter().zip(&cells) {
        let comparisons = compare(scenario, cell);
        tell!("{}", report::heading(scenario));
        tell!("{}", report::table(&comparisons));
        picture(scenario, cell, &store)?;
        tell!();
        exit = report::worse(exit, report::exit(&comparisons));
        results.push(report::json(scenario, "world", SEEDS, cell, &comparisons));
    }
    match exit {
        Exit::AsPredicted => tell!("Everything came out as predicted."),
        _ => tell!(
            "{}",
            style("Not everything came out as predicted.")
                .for_stderr()
                .red()
        ),
    }
    tell!(
        "\nThe first of them on a real redis-server (about three seconds):\n  {}",
        say::line(&["run", SCENARIOS[0], "--on", "redis"]),
    );
    if options.json {
        say::print_json(&data::document("demo", json!({ "results": results })))?;
    }
    Ok(exit)
}

/// Draws the run with the earliest violation of the headline, or the first run if there is
/// none.
fn picture(scenario: &Scenario, cell: &Cell, store: &Store) -> anyhow::Result<()> {
    let headline = scenario.headline();
    let shortest = cell.shortest.get(&headline);
    let seed = shortest.map_or(0, |shortest| shortest.seed);
    let recording = judged::record(scenario, seed)?;
    let store = store.of_scenario(&scenario.name, &[])?;
    let kept = pictures::keep(&store, "demo", scenario, &recording, headline)?;
    match shortest {
        Some(_) => tell!("  shortest run that violates {headline}: seed {seed}"),
        None => tell!("  a run in which {headline} holds: seed {seed}"),
    }
    kept.tell();
    Ok(())
}
