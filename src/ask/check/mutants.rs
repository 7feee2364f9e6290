//! Whether a suite of scenarios notices the mistakes that its locks are known for.

use std::fmt::Write as _;
use std::ops::Range;

use anyhow::ensure;
use console::style;
use locklab_vecmap::VecMap;
use serde::Serialize;
use serde_json::json;

use crate::check::Check;
use crate::check::suite::Case;
use locklab_evidence::Judgement;
use locklab_lab::bug::Bug;
use locklab_lab::parts::Stage;
use locklab_lab::report::Report;
use locklab_lab::section::{Form, Section};
use locklab_lab::work::{Made, Work};
use locklab_lab::{Exit, Experiment, Reports, Session, Store, data, layout};
use locklab_locks::Mutant;
use locklab_model::scenario::Scenario;
use locklab_results::csv::Csv;
use locklab_results::{Cell, Detail};
use locklab_runner::batch::Job;
use locklab_runner::prediction;

/// Every scenario of a suite, as it is and with each mistake of its lock.
pub struct Mutants {
    trials: Vec<Trial>,
    first_seed: u64,
}

/// A scenario, with or without a mistake.
struct Trial {
    /// The scenario's path or name.
    id: String,
    /// What was put in; nothing: the scenario as it is.
    mutant: Option<Mutant>,
    scenario: Scenario,
}

/// What came of a mistake in a lock.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Outcome {
    /// The lock.
    lock: &'static str,
    /// The parameter that makes the mistake.
    mutant: &'static str,
    /// What is wrong with it.
    wrong: &'static str,
    /// The scenarios into which it was put.
    scenarios: Vec<String>,
    /// Those that noticed it: a verdict differs from its prediction, or a violation was not
    /// predicted.
    noticed_by: Vec<String>,
}

impl Mutants {
    /// Plans it for the scenarios of a suite. A mistake is not put into a scenario whose lock makes
    /// it already, or whose other settings exclude it. Recordings are left out.
    ///
    /// # Errors
    ///
    /// If no scenario has a lock with a known mistake.
    pub fn plan(suite: &Check) -> anyhow::Result<Mutants> {
        let mut trials = Vec::new();
        for case in suite.cases() {
            trials.extend(Trial::of(case));
        }
        ensure!(
            trials.iter().any(|trial| trial.mutant.is_some()),
            "no scenario has a lock with a known mistake that could be put in"
        );
        Ok(Mutants {
            trials,
            first_seed: suite.first_seed(),
        })
    }

    fn outcomes(&self, judged: &[Judgement]) -> (Vec<Outcome>, Vec<String>) {
        let mut outcomes: VecMap<(&str, Mutant), Outcome> = VecMap::new();
        let mut failing = Vec::new();
        let mut is_sound = false;
        for (trial, judgement) in self.trials.iter().zip(judged) {
            let Some(mutant) = trial.mutant else {
                is_sound = *judgement <= Judgement::AsPredicted;
                if !is_sound {
                    failing.push(trial.id.clone());
                }
                continue;
            };
            let lock = trial.scenario.lock.entry().name;
            let (setting, wrong) = mutant;
            let outcome = outcomes.entry((lock, mutant)).or_insert_with(|| Outcome {
                lock,
                mutant: setting,
                wrong,
                scenarios: vec![],
                noticed_by: vec![],
            });
            if is_sound {
                outcome.scenarios.push(trial.id.clone());
                if *judgement == Judgement::Differs {
                    outcome.noticed_by.push(trial.id.clone());
                }
            }
        }
        (outcomes.into_values().collect(), failing)
    }
}

impl Trial {
    /// The scenario of a case, as it is and with each mistake of its lock; none if there is none.
    fn of(case: &Case) -> Vec<Trial> {
        let Some(source) = &case.source else {
            return vec![];
        };
        let trial = |mutant, scenario| Trial {
            id: case.id.clone(),
            mutant,
            scenario,
        };
        let with = |mutant: &Mutant| {
            let scenario = source.scenario(&[format!("lock.{}", mutant.0)]).ok()?;
            (scenario.lock != case.scenario.lock).then(|| trial(Some(*mutant), scenario))
        };
        let mutants = case.scenario.lock.entry().mutants;
        let mut trials: Vec<Trial> = mutants.iter().filter_map(with).collect();
        if !trials.is_empty() {
            trials.insert(0, trial(None, case.scenario.clone()));
        }
        trials
    }

    fn seeds(&self, first: u64) -> Range<u64> {
        first..first + self.scenario.usual_seeds()
    }
}

impl Outcome {
    fn line(&self) -> String {
        let of = |count: usize| match count {
            1 => "1 scenario".to_owned(),
            count => format!("{count} scenarios"),
        };
        let found = match (self.scenarios.len(), self.noticed_by.as_slice()) {
            (0, _) => "not judged: no scenario with it is as predicted without it".to_owned(),
            (1, []) => format!("NOT NOTICED by {}", self.scenarios[0]),
            (count, []) => format!("NOT NOTICED by any of {}", of(count)),
            (count, [one]) => format!("noticed by {one}, of {}", of(count)),
            (count, [one, rest @ ..]) => {
                format!("noticed by {one} and {} more, of {}", rest.len(), of(count))
            }
        };
        format!(
            "  {:<26} {found}\n  {:<26} ({})\n",
            self.mutant, "", self.wrong
        )
    }
}

/// A table for people: the mistakes of each lock, and who noticed them.
fn text(outcomes: &[Outcome]) -> String {
    let mut text = String::new();
    let mut lock = "";
    for outcome in outcomes {
        if outcome.lock != lock {
            lock = outcome.lock;
            let between = if text.is_empty() { "" } else { "\n" };
            let _ = writeln!(text, "{between}{}", style(lock).bold());
        }
        text += &layout::fold(&outcome.line());
    }
    text
}

fn list(outcomes: &[Outcome]) -> Csv {
    let mut csv = Csv::new(["lock", "mutant", "scenario", "noticed"]);
    for outcome in outcomes {
        for scenario in &outcome.scenarios {
            let is_noticed = outcome.noticed_by.contains(scenario);
            csv.push(vec![
                outcome.lock.into(),
                outcome.mutant.into(),
                scenario.clone(),
                is_noticed.to_string(),
            ]);
        }
    }
    csv
}

impl Experiment for Mutants {
    const NAME: &'static str = "mutants";
    const REPORTS: Reports = Reports::Whole;
    type Results = Vec<Made<Cell>>;

    fn folder(&self, store: &Store) -> anyhow::Result<Store> {
        store.below("check")
    }

    fn identity(&self) -> impl Serialize {
        let trials = self.trials.iter();
        let trials: Vec<_> = trials.map(|trial| (&trial.id, &trial.scenario)).collect();
        (self.first_seed, trials)
    }

    fn run(&self, work: &Work<'_>) -> anyhow::Result<Self::Results> {
        let job = |trial: &Trial| Job::of(&trial.scenario, trial.seeds(self.first_seed));
        let jobs: Vec<Job> = self.trials.iter().map(job).collect();
        let stage = Stage {
            doing: "putting mistakes in",
            ..Stage::SIMULATED
        };
        work.cells(&stage, &jobs, Detail::Counts, &|broken| {
            let trial = &self.trials[broken.job];
            let program = &work.session().program;
            let overrides = &trial.scenario.overrides;
            let reproduce = program.run_line(&trial.id, overrides, broken.seed);
            Bug::or_usage(broken, &trial.id, reproduce)
        })
    }

    fn report(&self, made: Self::Results, _: &Session, folder: &Store) -> anyhow::Result<Report> {
        let judge = |(trial, made): (&Trial, &Made<Cell>)| {
            prediction::worst(&prediction::compare(&trial.scenario, &made.result))
        };
        let judged: Vec<Judgement> = self.trials.iter().zip(&made).map(judge).collect();
        let (outcomes, failing) = self.outcomes(&judged);
        let document = data::document(
            Self::NAME,
            json!({ "results": outcomes, "not_as_predicted": failing }),
        );
        let noticed = outcomes
            .iter()
            .filter(|outcome| !outcome.noticed_by.is_empty());
        let (noticed, all) = (noticed.count(), outcomes.len());
        let mut section = Section::of(text(&outcomes), folder, "mutants");
        section.forms = vec![Form::List(list(&outcomes)), Form::Data(document.clone())];
        let mut closing = format!("{noticed} of {all} mistakes are noticed");
        if !failing.is_empty() {
            let _ = write!(
                closing,
                "\nnot as predicted without any mistake, and left out: {}",
                failing.join(", ")
            );
        }
        Ok(Report {
            closing,
            ..Report::of(
                section,
                document,
                match (failing.is_empty(), noticed == all) {
                    (true, true) => Exit::AsPredicted,
                    _ => Exit::Differs,
                },
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use locklab_model::scenario::parse;

    fn trial(id: &str, mutant: Option<Mutant>) -> Trial {
        let text = "title = \"t\"\n[lock]\nname = \"set-nx-px\"\nttl_ms = 1000\n";
        Trial {
            id: id.into(),
            mutant,
            scenario: parse("t.toml", text, &[]).expect("a sound scenario"),
        }
    }

    /// Scenarios without a mistake and with one, in pairs of judgements.
    #[track_caller]
    fn check(pairs: &[(Judgement, Judgement)], expected: &str, failing: &[&str]) {
        let wrong = ("release=del", "it is wrong");
        let names = ["a", "b", "c"];
        let of_pair = |id| [trial(id, None), trial(id, Some(wrong))];
        let mutants = Mutants {
            trials: names[..pairs.len()]
                .iter()
                .flat_map(|id| of_pair(id))
                .collect(),
            first_seed: 0,
        };
        let judged: Vec<Judgement> = pairs.iter().flat_map(|pair| [pair.0, pair.1]).collect();
        let (outcomes, found) = mutants.outcomes(&judged);
        let line = outcomes[0].line();
        let line = line.lines().next().unwrap_or_default();
        assert_eq!(line.trim_start_matches("  release=del").trim(), expected);
        assert_eq!(found, failing);
    }

    #[test]
    fn a_mistake_is_noticed_where_a_prediction_is_refuted() {
        use Judgement::{AsPredicted, Differs, Inconclusive};
        check(&[(AsPredicted, AsPredicted)], "NOT NOTICED by a", &[]);
        // More runs might notice it; these did not.
        check(&[(AsPredicted, Inconclusive)], "NOT NOTICED by a", &[]);
        check(
            &[(AsPredicted, AsPredicted), (AsPredicted, Differs)],
            "noticed by b, of 2 scenarios",
            &[],
        );
        // A scenario that fails anyway notices nothing.
        check(
            &[(Differs, Differs), (AsPredicted, AsPredicted)],
            "NOT NOTICED by b",
            &["a"],
        );
        check(
            &[(Inconclusive, Differs)],
            "not judged: no scenario with it is as predicted without it",
            &["a"],
        );
    }
}
