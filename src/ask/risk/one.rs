//! How often one lock with one lease fails, in full: by cause, with all causes together, and what would change
//! it.

use crate::risk::model::{Causes, Runs, Sampling, Setup, Time, Variants, Whole};
use serde::Serialize;

use super::answer::Answer;
use super::{folder, made, results, runs_of_each, sources};
use locklab_lab::report::Report;
use locklab_lab::section::{Form, Section};
use locklab_lab::work::{Made, Work};
use locklab_lab::{Exit, Experiment, Reports, Session, Store};

/// One lock with one lease in one environment.
pub struct One {
    setup: Setup,
    /// The mean time between two grants.
    every: Time,
    /// All overrides, also those of the environment.
    overrides: Vec<String>,
    causes: Causes,
    more: Option<More>,
}

/// What is asked beside the answer.
struct More {
    whole: Whole,
    variants: Variants,
}

/// How much is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// The answer alone.
    Quick,
    /// Also all causes together, and what would change the answer.
    Full,
}

impl One {
    /// Plans the runs.
    ///
    /// # Errors
    ///
    /// If the lock cannot be set up.
    pub fn plan(
        setup: Setup,
        every: Time,
        overrides: &[String],
        sampling: Sampling,
        depth: Depth,
    ) -> anyhow::Result<One> {
        let causes = Causes::plan(&setup, sampling)?;
        let more = match depth {
            Depth::Quick => None,
            Depth::Full => Some(More {
                whole: Whole::plan(&setup, &causes, sampling)?,
                variants: Variants::plan(&setup, sampling)?,
            }),
        };
        Ok(One {
            setup,
            every,
            overrides: overrides.to_vec(),
            causes,
            more,
        })
    }

    fn answer(&self, made: &[Made<Runs>]) -> Answer<'_> {
        let results = results(made);
        let (of_causes, others) = results.split_at(self.causes.series().len());
        let by_cause = self.causes.answer(of_causes);
        let (together, variants) = match (&self.more, others) {
            (Some(more), [of_whole, of_variants @ ..]) => (
                Some(more.whole.answer(&by_cause, of_whole)),
                more.variants.answer(&by_cause, of_variants),
            ),
            _ => (None, Vec::new()),
        };
        Answer {
            setup: &self.setup,
            every: self.every,
            runs: runs_of_each(made),
            by_cause,
            together,
            variants,
        }
    }
}

impl Experiment for One {
    const NAME: &'static str = "risk";
    /// Without the runs of a cause the answer would lack what it brings.
    const REPORTS: Reports = Reports::Whole;
    type Results = Vec<Made<Runs>>;

    fn folder(&self, store: &Store) -> anyhow::Result<Store> {
        folder(store, &self.setup.environment, &self.overrides)
    }

    fn identity(&self) -> impl Serialize {
        let more = self.more.as_ref();
        (&self.causes, more.map(|more| (&more.whole, &more.variants)))
    }

    fn run(&self, work: &Work<'_>) -> anyhow::Result<Self::Results> {
        let mut series: Vec<_> = self.causes.series().iter().collect();
        if let Some(more) = &self.more {
            series.push(more.whole.series());
            series.extend(more.variants.series());
        }
        made(work, &series)
    }

    fn report(&self, made: Self::Results, _: &Session, folder: &Store) -> anyhow::Result<Report> {
        let answer = self.answer(&made);
        let document = answer.json();
        let section = Section {
            forms: vec![Form::List(answer.csv()), Form::Data(document.clone())],
            ..Section::of(answer.text(), folder, "risk")
        };
        let sources = sources::section(answer.sources(), &self.setup.environment, folder);
        Ok(Report {
            sections: vec![section, sources],
            closing: String::new(),
            document,
            exit: Exit::AsPredicted,
        })
    }
}
