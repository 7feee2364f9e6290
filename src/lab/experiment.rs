//! How every experiment is conducted: its runs are made, and its report is published.

use serde::Serialize;

use super::output::status;
use super::report::Report;
use super::work::{Ended, Work};
use super::{Exit, Session, Store};

/// Something that takes many runs, and what they come to.
pub trait Experiment {
    /// The subcommand: `sweep`.
    const NAME: &'static str;

    /// How much of the work has to be done before there is a report.
    const REPORTS: Reports = Reports::Finished;

    /// Whether the ledger stays when all is done, so that the same runs can be shown in another way.
    const KEEPS_LEDGER: bool = false;

    /// What its runs come to.
    type Results;

    /// The folder of its results, and of its ledger.
    ///
    /// # Errors
    ///
    /// If the folder cannot be written.
    fn folder(&self, store: &Store) -> anyhow::Result<Store> {
        Ok(store.clone())
    }

    /// The name of its ledger, without the ending.
    fn stem(&self) -> String {
        Self::NAME.into()
    }

    /// Everything that its results depend on, so that results of something else are not reused.
    fn identity(&self) -> impl Serialize;

    /// Makes the runs.
    ///
    /// # Errors
    ///
    /// If a run has no result, or cannot be kept.
    fn run(&self, work: &Work<'_>) -> anyhow::Result<Self::Results>;

    /// Says what the runs come to.
    ///
    /// # Errors
    ///
    /// If a run that is to be shown cannot be repeated, or a file cannot be written.
    fn report(
        &self,
        results: Self::Results,
        session: &Session,
        folder: &Store,
    ) -> anyhow::Result<Report>;
}

/// How much of some work has to be done before there is a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reports {
    /// All of it.
    Whole,
    /// Any part, if the work was interrupted. Of a shard only the ledger is kept.
    Finished,
    /// The same, and a shard can be reported by itself.
    Shards,
}

/// Makes the runs of an experiment, and publishes its report. What was not finished in time is at
/// best inconclusive.
///
/// # Errors
///
/// See [`Experiment`].
pub fn conduct<E: Experiment>(experiment: &E, session: &Session) -> anyhow::Result<Exit> {
    let (report, ended) = execute(experiment, session)?;
    if let Some(report) = &report {
        report.publish(session.stdout)?;
    }
    if let Some(advice) = ended.advice() {
        status!("{advice}");
    }
    Ok(match (ended, report) {
        (Ended::Interrupted(_) | Ended::Stopped, _) => Exit::Interrupted,
        (Ended::OutOfTime(_), report) => report.map_or(Exit::Inconclusive, |report| {
            report.exit.worse(Exit::Inconclusive)
        }),
        (Ended::Whole | Ended::Shard(_), Some(report)) => report.exit,
        (Ended::Whole | Ended::Shard(_), None) => Exit::AsPredicted,
    })
}

/// Makes the runs of an experiment; returns its report, if enough is done for one, and how the work
/// ended.
///
/// # Errors
///
/// See [`Experiment`].
pub fn execute<E: Experiment>(
    experiment: &E,
    session: &Session,
) -> anyhow::Result<(Option<Report>, Ended)> {
    let folder = experiment.folder(&session.store)?;
    let identity = (E::NAME, experiment.identity());
    let work = Work::begin(session, &folder, &experiment.stem(), &identity)?;
    let results = experiment.run(&work)?;
    let ended = work.end(E::KEEPS_LEDGER)?;
    let is_enough = match E::REPORTS {
        Reports::Whole => matches!(ended, Ended::Whole | Ended::Stopped),
        Reports::Finished => session.shard.is_none(),
        Reports::Shards => true,
    };
    let report = match is_enough {
        true => Some(experiment.report(results, session, &folder)?),
        false => None,
    };
    Ok((report, ended))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::section::Section;
    use crate::test_session::Bench;
    use crate::work::Items;
    use crate::work::tests::Number;
    use serde_json::Value;

    /// Two runs, of which some are made; the report is as predicted.
    struct Two {
        made: usize,
    }

    impl Experiment for Two {
        const NAME: &'static str = "two";
        type Results = usize;

        fn identity(&self) -> impl Serialize {
            "two"
        }

        fn run(&self, work: &Work<'_>) -> anyhow::Result<usize> {
            let items = Items {
                doing: "counting",
                name: "runs",
                count: 2,
                jobs: 1,
                job: &|_| 0,
                turn: &|place| place,
                is_wanted: &|_| true,
                runs: &|_| 1,
                is_needed: true,
            };
            let (made, _) = work.items(&items, |open, _, keep| {
                { open.iter().take(self.made) }.for_each(|place| keep(*place, Number(1)));
                Ok(())
            })?;
            Ok(made[0].result.0 as usize)
        }

        fn report(&self, made: usize, _: &Session, folder: &Store) -> anyhow::Result<Report> {
            let section = Section::of(format!("{made} of 2"), folder, "two");
            Ok(Report::of(section, Value::Null, Exit::AsPredicted))
        }
    }

    #[test]
    fn what_was_not_finished_in_time_is_inconclusive() {
        let exit = |made| {
            let bench = Bench::new(&format!("time-{made}"));
            conduct(&Two { made }, &bench.0).expect("it can be reported")
        };
        assert_eq!(
            [0, 1, 2].map(exit),
            [Exit::Inconclusive, Exit::Inconclusive, Exit::AsPredicted]
        );
    }
}
