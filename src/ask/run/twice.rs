//! Runs made twice, and compared: the determinism gate.

use std::collections::BTreeMap;
use std::ops::Range;

use locklab_world::first_difference;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use locklab_evidence::thousands;
use locklab_lab::parts::Stage;
use locklab_lab::report::Report;
use locklab_lab::scenarios::Scenarios;
use locklab_lab::section::Section;
use locklab_lab::work::{Made, Work};
use locklab_lab::{Exit, Experiment, Session, Store, data};
use locklab_model::scenario::Scenario;
use locklab_runner::RunError;
use locklab_runner::batch::Part;
use locklab_runner::judged::{self, JudgedRun};
use locklab_runner::pool::Broken;
use locklab_runner::simulate::Keep;

/// Where the runs of a scenario diverge when they are repeated: by seed, in words.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Differences(pub BTreeMap<u64, String>);

impl Part for Differences {
    fn join(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    fn why_not(&self, runs: u64) -> Option<String> {
        let differ = self.0.len() as u64;
        (differ > runs).then(|| format!("{differ} of {runs} runs differ"))
    }
}

/// Every scenario with its seeds, each run made twice.
pub struct Twice {
    /// What is run.
    pub scenarios: Scenarios,
}

impl Experiment for Twice {
    const NAME: &'static str = "run";
    type Results = Vec<Made<Differences>>;

    fn stem(&self) -> String {
        "twice".into()
    }

    fn identity(&self) -> impl Serialize {
        ("twice", self.scenarios.identity())
    }

    fn run(&self, work: &Work<'_>) -> anyhow::Result<Self::Results> {
        let Scenarios {
            scenarios, seeds, ..
        } = &self.scenarios;
        let stage = Stage {
            doing: "running twice",
            ..Stage::SIMULATED
        };
        let program = &work.session().program;
        differences(work, &stage, scenarios, seeds, &|broken| {
            self.scenarios.bug(program, broken)
        })
    }

    fn report(&self, made: Self::Results, _: &Session, folder: &Store) -> anyhow::Result<Report> {
        let mut lines = Vec::new();
        let mut told = Vec::new();
        for (scenario, made) in self.scenarios.scenarios.iter().zip(&made) {
            for (seed, difference) in &made.result.0 {
                lines.push(format!("{} with seed {seed}: {difference}", scenario.name));
                told.push(
                    json!({ "scenario": scenario.name, "seed": seed, "difference": difference }),
                );
            }
        }
        let (exit, came_out) = match lines.len() {
            0 => (Exit::AsPredicted, "every event identical".to_owned()),
            n => (Exit::Bug, format!("{n} differ")),
        };
        let runs: u64 = made.iter().map(|made| made.runs).sum();
        lines.push(format!(
            "{}, {}, each twice: {came_out}",
            counted(made.len() as u64, "scenario"),
            counted(runs, "run"),
        ));
        let section = Section::of(lines.join("\n"), folder, "twice");
        Ok(Report {
            sections: vec![section],
            closing: String::new(),
            document: data::document(
                "run",
                json!({ "runs": runs, "differences": Value::from(told) }),
            ),
            exit,
        })
    }
}

/// Runs every scenario with each of its seeds twice, and compares every event of the simulator,
/// every record and every verdict.
///
/// # Errors
///
/// See [`Work::runs`].
pub fn differences(
    work: &Work<'_>,
    stage: &Stage,
    scenarios: &[Scenario],
    seeds: &[Range<u64>],
    bug: &dyn Fn(Broken) -> anyhow::Error,
) -> anyhow::Result<Vec<Made<Differences>>> {
    let run = |place: usize, seed, found: &mut Differences| {
        let difference = difference(&scenarios[place], seed)?;
        found
            .0
            .extend(difference.map(|difference| (seed, difference)));
        Ok::<(), RunError>(())
    };
    work.runs(stage, seeds, work.session().threads, run, bug)
}

fn counted(number: u64, what: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{} {what}{ending}", thousands(number))
}

/// Where two runs of one seed diverge, if they do.
fn difference(scenario: &Scenario, seed: u64) -> Result<Option<String>, RunError> {
    let run = || judged::run(scenario, seed, Keep::EVERYTHING);
    Ok(describe(&run()?, &run()?))
}

/// Where two runs diverge: the first different event of the world, or else what differs.
fn describe(one: &JudgedRun, other: &JudgedRun) -> Option<String> {
    if let Some(place) = first_difference(&one.trace, &other.trace) {
        let event = |run: &JudgedRun| match run.trace.get(place) {
            Some(event) => format!("{} at {} ns {:?}", event.what, event.at_ns, event.which),
            None => "the end of the run".to_owned(),
        };
        let (one, other) = (event(one), event(other));
        return Some(format!(
            "the runs diverge at event {place}: {one}, and {other}"
        ));
    }
    if one.history != other.history {
        return Some("the same events, but different histories".into());
    }
    (one != other).then(|| "the same histories, but different verdicts or schedules".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use locklab_model::scenario::load;

    #[test]
    fn two_runs_of_one_seed_are_alike_and_of_two_seeds_part_at_an_event() {
        let scenario = load("kleppmann/k1", &[]).expect("it ships");
        let run = |seed| judged::run(&scenario, seed, Keep::EVERYTHING).expect("it ends");
        assert_eq!(describe(&run(1), &run(1)), None);
        let difference = describe(&run(1), &run(2)).expect("other latencies");
        assert!(
            difference.starts_with("the runs diverge at event "),
            "{difference}"
        );
    }
}
