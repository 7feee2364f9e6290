//! The map of lethal moments: a fault at every step of a run.
//!
//! A scenario is run once without its faults, which gives the steps, and each run of a task and each packet,
//! by host. Then every kind of fault (`kinds`) is placed at every step, on every host that it can strike
//! there; placements that make the same run are run once, by the rule in `classes`. With pairs, every fault
//! is followed by every other one, at the steps that the run has after the first.
//!
//! Classes are numbered, and `work` treats these numbers as it treats the seeds of other experiments, so
//! `place` resumes, has shards and takes budgets like them. `reproduce` has the `Place` of `place --all` as
//! a part: its runs are a stage in the ledger of `reproduce`, and its rows a section of the page.

mod classes;
mod describe;
mod kinds;
mod list;
pub(crate) mod options;
mod outcome;
mod pairs;
mod picture;
mod subject;
mod tables;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ops::Range;

use anyhow::{anyhow, ensure};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::problems::{self, chosen_rows, put_in};
use locklab_lab::bug::Bug;
use locklab_lab::output::status;
use locklab_lab::parts::{By, Rounds, Stage};
use locklab_lab::report::Report;
use locklab_lab::work::{Made, Work};
use locklab_lab::{Exit, Experiment, Session, Store, data};
use locklab_model::scenario::{self, SHIPPED, Scenario};
use locklab_results::table::Table;
use locklab_runner::RunError;
use locklab_runner::batch::Part;
use locklab_runner::simulate::Keep;

pub(crate) use self::classes::{Class, Setting, schedule};
pub(crate) use self::kinds::{KINDS, Kind, Target};
use self::outcome::Outcome;
use self::pairs::{Pairs, Singles};
pub(crate) use self::subject::{Baseline, as_override, without_faults};
pub(crate) use self::tables::ComparedRow;

/// The workload on which locks are compared: without faults, two clients take the lock in turn. The
/// second asks while the first holds the lock, and waits for it.
pub(crate) const STANDARD: &str = "costs/contended";

/// What is changed there. A client that waits in vain does so until the horizon.
const STANDARD_SETS: [&str; 7] = [
    "topology.clients=2",
    "workload.rounds=1",
    "workload.hold_ms=50",
    "workload.think_ms=0",
    "workload.start_ms=0",
    "workload.client={ c2 = { start_ms = { uniform = [10, 30] } } }",
    "horizon_ms=20000",
];

/// Overrides that make [`STANDARD`] the workload of two clients.
pub(crate) fn standard_sets() -> Vec<String> {
    STANDARD_SETS.map(String::from).into()
}

/// The lease of every lock there, in milliseconds.
pub(crate) const STANDARD_LEASE_MS: u64 = 1000;

/// The seeds of a comparison, unless others are asked for.
pub(crate) const STANDARD_SEEDS: Range<u64> = 0..1;

/// Scenarios whose steps are struck.
pub struct Place {
    subjects: Vec<Subject>,
    compares: Compares,
    faults: Faults,
}

/// How many faults a run has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Faults {
    /// One.
    One,
    /// One, and then every pair.
    Two,
}

/// What the report is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Compares {
    /// One scenario, in detail.
    Scenario,
    /// Locks on the standard workload.
    Locks,
    /// Scenarios that rely on fencing tokens.
    Fenced,
}

/// A scenario, and its runs without faults.
struct Subject {
    /// The scenario, or the lock in it.
    label: String,
    scenario: Scenario,
    baselines: Vec<Baseline>,
}

/// What came of the classes of one run, by their number.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Outcomes(BTreeMap<u64, Outcome>);

impl Part for Outcomes {
    fn join(&mut self, other: Self) {
        self.0.extend(other.0);
    }
}

/// What came of every run without faults: its single faults, and its pairs.
pub struct Results {
    singles: Vec<Made<Outcomes>>,
    pairs: Vec<Made<Pairs>>,
}

impl Place {
    /// Plans to strike the steps of this scenario, with each of these seeds.
    ///
    /// # Errors
    ///
    /// If a run without faults does not end.
    pub fn of_scenario(
        scenario: Scenario,
        seeds: Range<u64>,
        faults: Faults,
    ) -> anyhow::Result<Self> {
        ensure!(
            scenario.campaign.is_none(),
            "{}: each seed of a campaign draws its own hosts and faults; name a scenario without \
             [campaign]",
            scenario.name
        );
        let label = scenario.name.clone();
        Ok(Self {
            subjects: vec![Subject::of(label, scenario, &seeds)?],
            compares: Compares::Scenario,
            faults,
        })
    }

    /// Plans to compare these locks, or single forms of one, on the standard workload; without any, all.
    ///
    /// # Errors
    ///
    /// If an override does not fit, or a run without faults does not end.
    pub fn of_locks(
        locks: &[String],
        sets: &[String],
        seeds: Range<u64>,
        faults: Faults,
    ) -> anyhow::Result<Self> {
        let setting = problems::Setting {
            lease_ms: STANDARD_LEASE_MS,
            parameters: toml::Table::new(),
        };
        let sets = [&standard_sets(), sets].concat();
        let subject = |row: problems::Row| {
            let scenario =
                put_in(&row, STANDARD, &sets, &setting).map_err(|error| anyhow!(error))?;
            Subject::of(row.label, scenario, &seeds)
        };
        let subjects = chosen_rows(locks).into_iter().map(subject);
        Ok(Self {
            subjects: subjects.collect::<anyhow::Result<_>>()?,
            compares: Compares::Locks,
            faults,
        })
    }

    /// Plans to compare the scenarios that ship with a lock that gives tokens, and predict that the resource is never
    /// violated.
    ///
    /// # Errors
    ///
    /// If an override does not fit, or a run without faults does not end.
    pub fn of_fenced(sets: &[String], seeds: Range<u64>, faults: Faults) -> anyhow::Result<Self> {
        let mut subjects = Vec::new();
        for (name, _) in SHIPPED {
            // The overrides have to fit those that are compared, and no others.
            let shipped = scenario::load(name, &[])?;
            if shipped.relies_on_tokens() && shipped.campaign.is_none() {
                let scenario = scenario::load(name, sets)?;
                subjects.push(Subject::of(scenario.name.clone(), scenario, &seeds)?);
            }
        }
        Ok(Self {
            subjects,
            compares: Compares::Fenced,
            faults,
        })
    }

    fn baselines(&self) -> impl Iterator<Item = &Baseline> {
        self.subjects.iter().flat_map(|subject| &subject.baselines)
    }

    /// The numbers of the classes of every run.
    fn numbers(&self) -> Vec<Range<u64>> {
        self.baselines()
            .map(|baseline| 0..baseline.singles.len() as u64)
            .collect()
    }
}

impl Subject {
    fn of(label: String, scenario: Scenario, seeds: &Range<u64>) -> anyhow::Result<Self> {
        let baseline = |seed| {
            Baseline::of(&scenario, seed)
                .map_err(|error| anyhow!("{label} with seed {seed}, without faults: {error}"))
        };
        Ok(Self {
            baselines: seeds.clone().map(baseline).collect::<anyhow::Result<_>>()?,
            label,
            scenario,
        })
    }
}

impl Experiment for Place {
    const NAME: &'static str = "place";
    type Results = Results;

    fn folder(&self, store: &Store) -> anyhow::Result<Store> {
        match (self.compares, &self.subjects[..]) {
            (Compares::Scenario, [subject]) => store
                .below("place")?
                .below(&subject.scenario.name.replace('/', "-")),
            (Compares::Fenced, _) => store.below("place")?.below("fenced"),
            _ => store.below("place"),
        }
    }

    fn identity(&self) -> impl Serialize {
        let subjects = self.subjects.iter().map(|subject| {
            let seeds = subject.baselines.iter().map(|baseline| baseline.seed);
            let seeds: Vec<u64> = seeds.collect();
            (&subject.label, &subject.scenario, seeds)
        });
        (subjects.collect::<Vec<_>>(), self.faults)
    }

    fn run(&self, work: &Work<'_>) -> anyhow::Result<Results> {
        let baselines: Vec<&Baseline> = self.baselines().collect();
        let session = work.session();
        if !session.stop.is_set() {
            status!(
                "{}",
                describe::estimate(&baselines, self.faults, session.threads)
            );
        }
        let bug = |broken: locklab_runner::pool::Broken| {
            let baseline = baselines[broken.job];
            let class = &baseline.singles[broken.seed as usize];
            let command = describe::command(baseline, &[class], &session.program);
            let what = format!("{} at {}", class.kind().name, baseline.step(class).step);
            Bug::or_usage(broken, &what, command)
        };
        let singles = Stage {
            name: "singles",
            doing: "placing",
            by: By::Seeds,
            rounds: Rounds::One,
            part: 500,
            runs_each: 1,
        };
        let single = |place: usize, number: u64, outcomes: &mut Outcomes| {
            let baseline = baselines[place];
            let class = &baseline.singles[number as usize];
            let run = baseline.single(class, Keep::default())?;
            outcomes.0.insert(number, Outcome::of(&run));
            Ok::<(), RunError>(())
        };
        let numbers = self.numbers();
        let singles = work.runs(&singles, &numbers, session.threads, single, &bug)?;
        let pairs = match self.faults {
            Faults::One => vec![],
            Faults::Two => {
                let stage = Stage {
                    name: "pairs",
                    doing: "placing pairs after",
                    by: By::Seeds,
                    rounds: Rounds::One,
                    part: 2,
                    runs_each: 1,
                };
                let known = { baselines.iter() }.zip(&singles);
                let known = known.map(|(baseline, made)| Singles::of(baseline, &made.result.0));
                let known: Vec<Singles<'_>> = known.collect();
                let pair = |place: usize, number: u64, pairs: &mut Pairs| {
                    pairs.add(&known[place], number as usize)
                };
                work.runs(&stage, &numbers, session.threads, pair, &bug)?
            }
        };
        Ok(Results { singles, pairs })
    }

    fn report(
        &self,
        results: Results,
        session: &Session,
        folder: &Store,
    ) -> anyhow::Result<Report> {
        match self.compares {
            Compares::Scenario => self.of_one(&results, session, folder),
            Compares::Locks => self.of_all(&tables::LOCKS, &results, folder),
            Compares::Fenced => self.of_all(&tables::FENCED, &results, folder),
        }
    }
}

impl Place {
    /// The report on one scenario.
    fn of_one(
        &self,
        results: &Results,
        session: &Session,
        folder: &Store,
    ) -> anyhow::Result<Report> {
        let subject = &self.subjects[0];
        let struck = &self.struck(results)[..];
        let summary = tables::Summary::of(struck);
        let pairs: Vec<&Pairs> = results.pairs.iter().map(|made| &made.result).collect();
        let document = data::document(
            Self::NAME,
            json!({
                "scenario": subject.scenario.name,
                "overrides": subject.scenario.overrides,
                "singles": summary,
                "pairs": pairs::summary(&pairs),
                "placements": list::entries(struck),
            }),
        );
        let sections = describe::Told {
            subject,
            struck,
            summary: &summary,
            pairs: &pairs,
            program: &session.program,
            folder,
        }
        .sections(&document)?;
        Ok(Report {
            sections,
            closing: describe::evidence(subject, struck, session, folder)?,
            document,
            exit: Exit::AsPredicted,
        })
    }

    /// The comparison of all subjects.
    fn of_all(
        &self,
        words: &tables::Words,
        results: &Results,
        folder: &Store,
    ) -> anyhow::Result<Report> {
        let rows = self.rows(results);
        let document = data::document(Self::NAME, json!({ words.list: rows }));
        let section = tables::compared(words, &rows, self.seeds(), &document, folder);
        Ok(Report::of(section, document, Exit::AsPredicted))
    }

    /// The comparison of locks, for a report of which it is a part: its rows, and the same as a table.
    pub(crate) fn of_locks_compared<'a>(
        &self,
        results: &'a Results,
    ) -> (Vec<ComparedRow<'a>>, Table) {
        let rows = self.rows(results);
        let table = tables::table(&tables::LOCKS, &rows, self.seeds());
        (rows, table)
    }

    /// A row for each subject.
    fn rows<'a>(&self, results: &'a Results) -> Vec<ComparedRow<'a>> {
        let struck = self.struck(results);
        let mut rest = &struck[..];
        let mut pairs = &results.pairs[..];
        let mut rows = Vec::new();
        for subject in &self.subjects {
            let (own, others) = rest.split_at(subject.baselines.len());
            rest = others;
            let (own_pairs, others) = pairs.split_at(subject.baselines.len().min(pairs.len()));
            pairs = others;
            rows.push(ComparedRow {
                label: subject.label.clone(),
                gives_tokens: subject.scenario.lock.gives_tokens(),
                summary: tables::Summary::of(own),
                pairs: { own_pairs.iter() }.map(|made| &made.result).collect(),
            });
        }
        rows
    }

    /// All runs without faults, each with what came of the faults placed in it.
    fn struck<'a>(&'a self, results: &'a Results) -> Vec<tables::Struck<'a>> {
        let outcomes = { results.singles.iter() }.map(|made| &made.result.0);
        { self.baselines().zip(outcomes) }
            .map(|(baseline, outcomes)| tables::Struck { baseline, outcomes })
            .collect()
    }

    /// How many runs without faults each subject has.
    fn seeds(&self) -> usize {
        let first = self.subjects.first();
        first.map_or(0, |subject| subject.baselines.len())
    }
}
