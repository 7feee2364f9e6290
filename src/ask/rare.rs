//! How likely a violation is that is too rare to count.

mod answer;
pub mod estimators;
pub(crate) mod options;

use crate::rare::estimators::{Method, Question, Sampling, Split, Splitting, count};
use locklab_check::Property;
use locklab_evidence::{REPLICATIONS, Weighted};
use locklab_model::scenario::Scenario;
use locklab_runner::batch::Part;
use locklab_runner::pool::Broken;
use serde::Serialize;
use serde::de::DeserializeOwned;

use self::answer::{Answer, Found};
use locklab_lab::bug::Bug;
use locklab_lab::parts::{By, Rounds, Stage};
use locklab_lab::report::Report;
use locklab_lab::section::{Form, Section};
use locklab_lab::work::Work;
use locklab_lab::{Exit, Experiment, Reports, Session, Store};

/// Runs that are weighed or counted.
const RUNS: Stage = Stage {
    name: "runs",
    doing: "looking for rare violations",
    by: By::Seeds,
    rounds: Rounds::WhileThereIsTime,
    part: 500,
    runs_each: 1,
};

/// The rate of a property in a scenario.
pub struct Rare {
    question: Question,
    method: Method,
    runs: u64,
}

impl Rare {
    /// Plans the runs; of splitting, those with which its estimates begin.
    ///
    /// # Errors
    ///
    /// If the method cannot be used for the scenario.
    pub fn plan(
        scenario: Scenario,
        property: Property,
        method: Method,
        runs: u64,
        seed: u64,
    ) -> anyhow::Result<Rare> {
        let question = Question {
            scenario,
            property,
            seed,
        };
        match method {
            Method::Sampling => Sampling::of(&question).map(|_| ())?,
            Method::Splitting => Splitting::of(&question, runs, &false.into()).map(|_| ())?,
            Method::Plain => {}
        }
        Ok(Rare {
            question,
            method,
            runs,
        })
    }

    /// Makes what is asked for by number: runs, or estimates.
    fn make<P: Part + Serialize + DeserializeOwned, E: ToString>(
        &self,
        work: &Work<'_>,
        stage: &Stage,
        count: u64,
        one: impl Fn(u64, &mut P) -> Result<(), E> + Sync,
    ) -> anyhow::Result<P> {
        let session = work.session();
        let run = |_, number, made: &mut P| one(number, made);
        let bug = |broken| self.bug(broken, session);
        let numbers = 0..count;
        let made = work.runs(
            stage,
            std::slice::from_ref(&numbers),
            session.threads,
            run,
            &bug,
        )?;
        Ok(made.into_iter().next().unwrap_or_default().result)
    }

    /// The error for a run without a result. The whole command repeats it.
    fn bug(&self, broken: Broken, session: &Session) -> anyhow::Error {
        let words: Vec<&str> = session.words.iter().map(String::as_str).collect();
        let name = &self.question.scenario.name;
        Bug::or_usage(broken, name, session.program.line(&words))
    }
}

impl Experiment for Rare {
    const NAME: &'static str = "rare";
    /// Some of the runs would say less than was asked for.
    const REPORTS: Reports = Reports::Whole;
    type Results = Found;

    fn folder(&self, store: &Store) -> anyhow::Result<Store> {
        let Scenario {
            name, overrides, ..
        } = &self.question.scenario;
        store.of_scenario(name, overrides)
    }

    fn identity(&self) -> impl Serialize {
        (&self.question, self.method, self.runs)
    }

    fn run(&self, work: &Work<'_>) -> anyhow::Result<Found> {
        let question = &self.question;
        Ok(match self.method {
            Method::Sampling => {
                let sampling = Sampling::of(question)?;
                let one = |number, runs: &mut Weighted| sampling.add(number, runs);
                Found::Sampled {
                    runs: self.make(work, &RUNS, self.runs, one)?,
                    drawn: sampling.drawn().into_iter().map(str::to_owned).collect(),
                }
            }
            Method::Splitting => {
                let splitting = Splitting::of(question, self.runs, work.session().stop.flag())?;
                // A shard has some of the estimates, and a round of a budget has further ones.
                let estimates = Stage {
                    name: "estimates",
                    doing: "splitting",
                    part: 1,
                    runs_each: splitting.first_runs(),
                    ..RUNS
                };
                let one = |number, split: &mut Split| splitting.add(number, split);
                Found::Split(self.make(work, &estimates, REPLICATIONS, one)?)
            }
            Method::Plain => {
                let one = |number, runs: &mut Weighted| count(question, number, runs);
                Found::Counted(self.make(work, &RUNS, self.runs, one)?)
            }
        })
    }

    fn report(&self, found: Found, _: &Session, folder: &Store) -> anyhow::Result<Report> {
        let answer = Answer {
            question: &self.question,
            found: &found,
        };
        let document = answer.json();
        let section = Section {
            forms: vec![Form::List(answer.csv()), Form::Data(document.clone())],
            ..Section::of(answer.text(), folder, "rare")
        };
        let exit = match found.interval() {
            Some(_) => Exit::AsPredicted,
            None => Exit::Inconclusive,
        };
        Ok(Report::of(section, document, exit))
    }
}
