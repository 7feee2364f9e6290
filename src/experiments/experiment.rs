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

    /// Whether a shard can be reported by itself. Otherwise only its ledger is kept.
    const REPORTS_SHARDS: bool = false;

    /// Whether the ledger stays when all is done, so that the same runs can be shown in another way.
    const KEEPS_LEDGER: bool = false;

    /// What its runs come to.
    type Results;

    /// The folder of its results, and of its ledger.
    ///
    /// # Errors
    ///
    /// If the folder cannot be written.
    fn folder(&self, store: &Store) -> anyhow::Result<Store>;

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

/// Makes the runs of an experiment, and publishes its report.
///
/// # Errors
///
/// See [`Experiment`].
pub fn conduct<E: Experiment>(experiment: &E, session: &Session) -> anyhow::Result<Exit> {
    let (report, ended) = execute(experiment, session)?;
    if let Some(report) = &report {
        report.publish(session.json)?;
    }
    if let Some(advice) = ended.advice() {
        status!("{advice}");
    }
    Ok(match (ended, report) {
        (Ended::Interrupted(_), _) => Exit::Interrupted,
        (_, Some(report)) => report.exit,
        (Ended::OutOfTime(_), None) => Exit::Inconclusive,
        (Ended::Whole | Ended::Shard(_), None) => Exit::AsPredicted,
    })
}

/// Makes the runs of an experiment; returns its report, unless only a shard's ledger is kept, and
/// how the work ended.
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
    let report = match session.shard.is_none() || E::REPORTS_SHARDS {
        true => Some(experiment.report(results, session, &folder)?),
        false => None,
    };
    Ok((report, ended))
}
