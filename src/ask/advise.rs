//! One answer: which lock, which lease, what will go wrong and how often, and what to change.
//!
//! The rules are data (`rules.toml`). Every number comes from the runs of `locklab study risk`, with the same seeds, so that the
//! command beside it gives the same number.

pub(crate) mod answers;
mod libraries;
pub(crate) mod options;
mod page;
pub(crate) mod rules;
mod today;

use serde::Serialize;

use self::answers::Answers;
use self::page::Page;
use self::rules::{Rule, Rules};
use self::today::{Mistake, Today};
use crate::risk::model::{
    ByCause, Causes, Cost, Costs, Demand, Number, Runs, Sampling, Setup, Term, Time,
};
use crate::risk::{costs, made, results};
use locklab_lab::report::Report;
use locklab_lab::section::{Form, Section};
use locklab_lab::work::{Made, Work};
use locklab_lab::{Exit, Experiment, Reports, Session, Store};

/// What is asked, and the runs that answer it.
pub(crate) struct Advise {
    answers: Answers,
    rules: Rules,
    today: Option<Today>,
    /// What is wrong about the lock of today.
    mistakes: Vec<Mistake>,
    /// Runs for each cause, that were asked for.
    asked: u64,
    /// What is advised comes first, and then the changes of it.
    cases: Vec<Case>,
    /// What the lease that is advised costs.
    cost: Cost,
}

/// A lock in one setup, and its runs.
pub(crate) struct Case {
    /// What is changed of what is advised; empty where nothing is.
    pub what: String,
    pub setup: Setup,
    causes: Causes,
    /// Runs for each cause.
    pub runs: u64,
}

/// What the runs of a case come to.
pub(crate) struct Answered<'c> {
    pub case: &'c Case,
    pub by_cause: ByCause,
    /// Violations a year, by the properties of [`PROPERTIES`](crate::risk::model::PROPERTIES).
    pub years: [Number; 2],
}

/// What all runs come to.
pub(crate) struct Done {
    grants: Vec<Made<Runs>>,
    costs: Vec<Made<Costs>>,
}

impl Advise {
    /// Plans the runs.
    ///
    /// # Errors
    ///
    /// If there is no rule for these answers, or a lock cannot be set up.
    pub fn plan(answers: Answers, today: Option<Today>, asked: u64) -> anyhow::Result<Advise> {
        let rules = Rules::shipped();
        let rule = rules.choose(&answers)?;
        let mistakes = today.as_ref().map(|today| today.mistakes(&answers));
        let sampling = Sampling {
            runs: asked,
            until: UNTIL,
            seed: 0,
        };
        let mut cases = Vec::new();
        let setups = setups(&rules, rule, &answers)?;
        for (what, setup) in setups.into_iter().chain(as_today(today.as_ref(), &answers)) {
            cases.push(Case::plan(what, setup, sampling)?);
        }
        let runs = cases[0].runs;
        let cost = Cost::plan(&cases[0].setup, Sampling { runs, ..sampling })?;
        Ok(Advise {
            answers,
            rules,
            today,
            mistakes: mistakes.transpose()?.unwrap_or_default(),
            asked,
            cases,
            cost,
        })
    }
}

impl Case {
    fn plan(what: String, setup: Setup, sampling: Sampling) -> anyhow::Result<Case> {
        let runs = setup.affordable_runs(sampling.runs)?;
        Ok(Case {
            what,
            causes: Causes::plan(&setup, Sampling { runs, ..sampling })?,
            setup,
            runs,
        })
    }
}

/// Lengths that are exceeded less often than this are not looked for, as by default in `locklab study risk`.
const UNTIL: f64 = 1e-9;

/// Runs of which locks have fewer, whose runs take long.
const SOME: u64 = 1000;

/// Looks at the clock before it writes.
const LOOKS: &str = "workload.check=deadline";

/// Renews the lease: so many milliseconds follow.
const EXTENDS: &str = "workload.extend_every_ms=";

/// What is advised, and its changes, each with its setup.
fn setups(rules: &Rules, rule: &Rule, answers: &Answers) -> anyhow::Result<Vec<(String, Setup)>> {
    let at = |lock: &str, lease: Time, sets: Vec<String>| Setup {
        lock: lock.to_owned(),
        lease,
        work_ms: answers.work.clone(),
        demand: Demand::Poisson {
            every_ms: answers.every.0,
        },
        sets,
        environment: answers.environment.clone(),
    };
    let bare = at(&rule.lock, Time(1000.0), rule.sets.clone());
    let term = bare.term()?;
    let tells_deadline = bare.scenario()?.lock.facts().tells_deadline;
    let (lease, renewed) = rules.lease(&answers.work, term);
    let renews = |every: Time| format!("{EXTENDS}{:.0}", every.0);
    let looks = tells_deadline.then(|| LOOKS.to_owned());
    let sets = |looks: &Option<String>, renewed: Option<Time>| {
        let more = looks.clone().into_iter().chain(renewed.map(renews));
        rule.sets.iter().cloned().chain(more).collect::<Vec<_>>()
    };
    let advised = sets(&looks, renewed);
    let mut found = vec![(String::new(), at(&rule.lock, lease, advised.clone()))];
    let mut change = |what: &str, lock: &str, lease: Time, sets: Vec<String>| {
        let changed = at(lock, lease, sets);
        // A change that the lock does not admit is left out.
        if changed.scenario().is_ok() {
            found.push((what.to_owned(), changed));
        }
    };
    if let Some(lock) = &rule.tokens_lock {
        let what = "with tokens at the resource";
        change(what, lock, lease, advised.clone());
    }
    if let Some(lock) = &rule.plain_lock {
        change("without tokens", lock, lease, advised.clone());
    }
    if looks.is_some() {
        let what = "no look at the clock";
        change(what, &rule.lock, lease, sets(&None, renewed));
    }
    // Where a run takes as long as ten others, a page of other leases would take minutes.
    if at(&rule.lock, lease, vec![]).affordable_runs(SOME)? < SOME {
        return Ok(found);
    }
    let twice = format!("twice the {}", term.name());
    change(&twice, &rule.lock, Time(2.0 * lease.0), advised.clone());
    if term == Term::Lease {
        match renewed {
            Some(_) => change("without renewal", &rule.lock, lease, sets(&looks, None)),
            None => {
                let third = Time(lease.0 / 3.0);
                let renewed = sets(&looks, Some(third));
                change("renewed at each third", &rule.lock, lease, renewed);
            }
        }
    }
    Ok(found)
}

/// The lock of today, if it has a lease: one without has no number of a year.
fn as_today(today: Option<&Today>, answers: &Answers) -> Option<(String, Setup)> {
    let today = today?;
    let setup = Setup {
        lock: today.lock.clone(),
        lease: today.lease,
        work_ms: answers.work.clone(),
        demand: Demand::Poisson {
            every_ms: answers.every.0,
        },
        sets: today.sets.clone(),
        environment: answers.environment.clone(),
    };
    setup
        .term()
        .is_ok()
        .then(|| ("as it is today".into(), setup))
}

impl Experiment for Advise {
    const NAME: &'static str = "advise";
    /// Without the runs of a cause the answer would lack what it brings.
    const REPORTS: Reports = Reports::Whole;
    type Results = Done;

    fn folder(&self, store: &Store) -> anyhow::Result<Store> {
        store.below("advise")
    }

    fn identity(&self) -> impl Serialize {
        let causes: Vec<&Causes> = self.cases.iter().map(|case| &case.causes).collect();
        (causes, &self.cost)
    }

    fn run(&self, work: &Work<'_>) -> anyhow::Result<Done> {
        let series = self.cases.iter().flat_map(|case| case.causes.series());
        Ok(Done {
            costs: costs(work, &[&self.cost])?,
            grants: made(work, &series.collect::<Vec<_>>())?,
        })
    }

    fn report(&self, done: Done, session: &Session, folder: &Store) -> anyhow::Result<Report> {
        let results = results(&done.grants);
        let mut rest = &results[..];
        let mut answered = Vec::new();
        for case in &self.cases {
            let (own, others) = rest.split_at(case.causes.series().len());
            rest = others;
            let by_cause = case.causes.answer(own);
            let year = |property| by_cause.sum(property).times(self.answers.every.per_year());
            answered.push(Answered {
                case,
                years: [0, 1].map(year),
                by_cause,
            });
        }
        let page = Page {
            advise: self,
            rule: self.rules.choose(&self.answers)?,
            cases: answered,
            costs: &done.costs[0].result,
            program: &session.program,
        };
        let document = page.json()?;
        let section = Section {
            forms: vec![Form::Data(document.clone())],
            ..Section::of(page.text()?, folder, "advice")
        };
        Ok(Report::of(section, document, Exit::AsPredicted))
    }
}
