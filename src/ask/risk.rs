//! How often a lock fails in an environment: one lock with one lease in full ([`One`]), or several against each
//! other ([`Leases`]).

mod answer;
mod bound;
mod leases;
pub mod model;
mod one;
pub(crate) mod options;
pub(crate) mod sources;
pub(crate) mod words;

pub use self::leases::Leases;
pub use self::one::{Depth, One};

use crate::risk::model::{Cost, Costs, Environment, Runs, Series};
use locklab_runner::pool::Broken;

use locklab_lab::bug::Bug;
use locklab_lab::parts::{By, Rounds, Stage};
use locklab_lab::work::{Made, Work};
use locklab_lab::{Session, Store};

/// Runs of grants, of which a shard has some of every cause.
const STAGE: Stage = Stage {
    name: "grants",
    doing: "simulating grants",
    by: By::Seeds,
    rounds: Rounds::WhileThereIsTime,
    part: 500,
    runs_each: 1,
};

/// Makes the runs of some series, in their order.
pub(crate) fn made(work: &Work<'_>, series: &[&Series]) -> anyhow::Result<Vec<Made<Runs>>> {
    let numbers: Vec<_> = series.iter().map(|series| series.numbers()).collect();
    let run = |place: usize, number: u64, runs: &mut Runs| series[place].add(number, runs);
    let session = work.session();
    work.runs(&STAGE, &numbers, session.threads, run, &|broken| {
        let title = series[broken.job].title();
        bug(broken, &title, session)
    })
}

/// Measures what leases cost.
pub(crate) fn costs(work: &Work<'_>, all: &[&Cost]) -> anyhow::Result<Vec<Made<Costs>>> {
    let stage = Stage {
        name: "costs",
        doing: "measuring what leases cost",
        rounds: Rounds::One,
        ..STAGE
    };
    let numbers: Vec<_> = all.iter().map(|cost| cost.numbers()).collect();
    let run = |place: usize, number: u64, costs: &mut Costs| all[place].add(number, costs);
    let session = work.session();
    work.runs(&stage, &numbers, session.threads, run, &|broken| {
        bug(broken, "the cost of a lease", session)
    })
}

/// The error for a run without a result. The whole command repeats it.
fn bug(broken: Broken, title: &str, session: &Session) -> anyhow::Error {
    let words: Vec<&str> = session.words.iter().map(String::as_str).collect();
    Bug::or_usage(broken, title, session.program.line(&words))
}

/// The folder of what is true in an environment, with these overrides.
fn folder(store: &Store, environment: &Environment, overrides: &[String]) -> anyhow::Result<Store> {
    store
        .below("risk")?
        .of_scenario(&environment.name, overrides)
}

/// The results of some series.
pub(crate) fn results(made: &[Made<Runs>]) -> Vec<Runs> {
    made.iter().map(|made| made.result.clone()).collect()
}

/// How many runs each cause has.
fn runs_of_each(made: &[Made<Runs>]) -> u64 {
    made.first().map_or(0, |made| made.runs)
}
