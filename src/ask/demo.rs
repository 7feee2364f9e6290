//! `locklab` without arguments: five claims, predicted and observed.

use clap::Args;
use console::style;
use serde::Serialize;
use serde_json::json;

use crate::options::many::Basics;
use crate::options::{Ask, Context};
use locklab_lab::bug::Bug;
use locklab_lab::parts::{Rounds, Stage};
use locklab_lab::report::Report;
use locklab_lab::section::Section;
use locklab_lab::work::{Made, Work};
use locklab_lab::{
    Exit, Experiment, Reports, Session, Store, conduct, data, describe, layout, recordings,
};
use locklab_model::scenario::{self, Scenario};
use locklab_results::{Cell, Detail};
use locklab_runner::batch::Job;
use locklab_runner::judged;
use locklab_runner::prediction::compare;

/// The scenarios of each claim, and its moral.
const CLAIMS: [(&[&str], &str); 5] = [
    (
        &["kleppmann/k1"],
        "A pause outlasts the lease: the lock keeps its promise, and the data are corrupted all the \
         same.",
    ),
    (
        &["kleppmann/k5"],
        "A resource that refuses old tokens is safe from a late writer, however long that one slept.",
    ),
    (
        &["kleppmann/k10"],
        "One clock that jumps forward is enough to give Redlock two holders at once.",
    ),
    (
        &[
            "kleppmann/k13",
            "kleppmann/k13-unchecked",
            "kleppmann/k13-frozen",
        ],
        "The second look at the clock saves Redlock from late replies, if that clock ran during the \
         pause.",
    ),
    (
        &["redis-docs/r5", "redis-docs/r5-compared"],
        "A release has to compare the token, or a late client deletes another client's lock.",
    ),
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
pub(crate) struct Options {
    #[command(flatten)]
    basics: Basics,
}

impl Ask for Options {
    fn answer(&self, context: &Context) -> anyhow::Result<Exit> {
        let scenarios: Vec<Scenario> = names()
            .map(|name| scenario::load(name, &[]))
            .collect::<Result<_, _>>()?;
        let session = self.basics.session(context)?;
        session.stdout.tell(&format!(
            "Five claims of the debate on Redis locks, each run {SEEDS} times in a simulated\n\
             network of real lock clients and in-process Redis nodes.\n\n\
             {LEGEND}\n"
        ))?;
        conduct(&Demo { scenarios }, &session)
    }
}

/// The scenarios of all claims.
fn names() -> impl Iterator<Item = &'static str> {
    CLAIMS.iter().flat_map(|(names, _)| names.iter().copied())
}

/// The moral of the claim whose last scenario this is.
fn moral(scenario: &Scenario) -> Option<&'static str> {
    let claim = CLAIMS
        .iter()
        .find(|(names, _)| names.last() == Some(&&*scenario.name));
    claim.map(|(_, moral)| *moral)
}

/// The demonstration.
struct Demo {
    scenarios: Vec<Scenario>,
}

impl Experiment for Demo {
    const NAME: &'static str = "demo";
    const REPORTS: Reports = Reports::Whole;
    type Results = Vec<Made<Cell>>;

    fn identity(&self) -> impl Serialize {
        &self.scenarios
    }

    fn run(&self, work: &Work<'_>) -> anyhow::Result<Self::Results> {
        let jobs = self.scenarios.iter();
        let jobs: Vec<Job> = jobs.map(|scenario| Job::of(scenario, 0..SEEDS)).collect();
        let stage = Stage {
            rounds: Rounds::One,
            ..Stage::SIMULATED
        };
        work.cells(&stage, &jobs, Detail::Counts, &|broken| {
            let name = &self.scenarios[broken.job].name;
            let reproduce = work.session().program.run_line(name, &[], broken.seed);
            Bug::or_usage(broken, name, reproduce)
        })
    }

    fn report(
        &self,
        made: Self::Results,
        session: &Session,
        folder: &Store,
    ) -> anyhow::Result<Report> {
        let mut exit = Exit::AsPredicted;
        let mut sections = Vec::new();
        let mut results = Vec::new();
        for (
            scenario,
            Made {
                result: cell, runs, ..
            },
        ) in self.scenarios.iter().zip(&made)
        {
            let comparisons = compare(scenario, cell);
            let mut text = vec![
                describe::heading(scenario),
                describe::table(&comparisons),
                picture(scenario, cell, session, folder)?,
            ];
            if let Some(moral) = moral(scenario) {
                text.push(format!("\n{}", layout::fold(&format!("→ {moral}"))));
            }
            sections.push(Section::of(text.join("\n"), folder, ""));
            exit = exit.worse(describe::exit(&comparisons));
            results.push(describe::json(scenario, "world", *runs, cell, &comparisons));
        }
        let came_out = match exit {
            Exit::AsPredicted => "Everything came out as predicted.".into(),
            _ => style("Not everything came out as predicted.")
                .red()
                .to_string(),
        };
        Ok(Report {
            sections,
            closing: format!(
                "{came_out}\n\nThe first of them on a real redis-server (about three seconds):\n  {}",
                session
                    .program
                    .line(&["run", &self.scenarios[0].name, "--on", "redis"]),
            ),
            document: data::document(Self::NAME, json!({ "results": results })),
            exit,
        })
    }
}

/// Draws the run with the earliest violation of the headline, or the first run if there is none;
/// returns lines that say where the picture is.
fn picture(
    scenario: &Scenario,
    cell: &Cell,
    session: &Session,
    folder: &Store,
) -> anyhow::Result<String> {
    let headline = scenario.headline();
    let shortest = cell.shortest.get(&headline);
    let seed = shortest.map_or(0, |shortest| shortest.seed);
    let recording = judged::record(scenario, seed)?;
    let folder = folder.of_scenario(&scenario.name, &[])?;
    let kept = recordings::keep(&folder, "demo", scenario, &recording, headline)?;
    let shown = match shortest {
        Some(_) => format!("  shortest run that violates {headline}: seed {seed}"),
        None => format!("  a run in which {headline} holds: seed {seed}"),
    };
    Ok(format!("{shown}\n{}", kept.describe(&session.program)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_claim_ends_with_its_moral() {
        let morals = names().filter_map(|name| {
            let scenario = scenario::load(name, &[]).expect("it ships");
            moral(&scenario).map(|moral| (name, moral))
        });
        let morals: Vec<_> = morals.collect();
        let expected = CLAIMS.map(|(names, moral)| (names[names.len() - 1], moral));
        assert_eq!(morals, expected);
    }
}
