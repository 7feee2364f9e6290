//! Violations a year against the lease: a table and a chart, with a curve for each lock.

mod answer;
mod chart;
mod knee;
mod tell;

use locklab_risk::{Causes, Runs, Sampling, Setup, Time};
use serde::Serialize;

use self::answer::{Answer, Curve, Point};
use super::{folder, made, results, runs_of_each};
use crate::experiment::{Experiment, Reports};
use crate::report::Report;
use crate::work::{Made, Work};
use crate::{Session, Store};

/// Some locks, each with some leases, in one environment.
pub struct Leases {
    locks: Vec<(String, Vec<Asked>)>,
    every: Time,
    /// All overrides, also those of the environment.
    overrides: Vec<String>,
}

/// One lock with one lease.
struct Asked {
    setup: Setup,
    causes: Causes,
}

impl Leases {
    /// Plans the runs of some locks, each with a name and in some setups.
    ///
    /// # Errors
    ///
    /// If a lock cannot be set up.
    pub fn plan(
        locks: Vec<(String, Vec<Setup>)>,
        every: Time,
        overrides: &[String],
        sampling: Sampling,
    ) -> anyhow::Result<Leases> {
        let asked = |setup: Setup| -> anyhow::Result<Asked> {
            Ok(Asked {
                causes: Causes::plan(&setup, sampling)?,
                setup,
            })
        };
        let of_lock = |(lock, setups): (String, Vec<Setup>)| -> anyhow::Result<_> {
            let setups = setups.into_iter().map(asked);
            Ok((lock, setups.collect::<anyhow::Result<_>>()?))
        };
        let locks = locks.into_iter().map(of_lock);
        Ok(Leases {
            locks: locks.collect::<anyhow::Result<_>>()?,
            every,
            overrides: overrides.to_vec(),
        })
    }

    fn asked(&self) -> impl Iterator<Item = &Asked> {
        self.locks.iter().flat_map(|(_, asked)| asked)
    }

    fn answer(&self, made: &[Made<Runs>]) -> Answer<'_> {
        let results = results(made);
        let mut rest = &results[..];
        let mut curves = Vec::new();
        for (lock, asked) in &self.locks {
            let mut points = Vec::new();
            for Asked { setup, causes } in asked {
                let (own, others) = rest.split_at(causes.series().len());
                rest = others;
                let by_cause = causes.answer(own);
                let year = |property| by_cause.sum(property).times(self.every.per_year());
                points.push(Point {
                    setup,
                    years: [0, 1].map(year),
                });
            }
            points.sort_by(|a, b| a.setup.lease.0.total_cmp(&b.setup.lease.0));
            curves.push(Curve { lock, points });
        }
        Answer {
            curves,
            every: self.every,
            runs: runs_of_each(made),
        }
    }
}

impl Experiment for Leases {
    const NAME: &'static str = "risk";
    /// Without the runs of a cause the answer would lack what it brings.
    const REPORTS: Reports = Reports::Whole;
    type Results = Vec<Made<Runs>>;

    fn folder(&self, store: &Store) -> anyhow::Result<Store> {
        match self.asked().next() {
            Some(asked) => folder(store, &asked.setup.environment, &self.overrides),
            None => Ok(store.clone()),
        }
    }

    fn stem(&self) -> String {
        "leases".into()
    }

    fn identity(&self) -> impl Serialize {
        self.asked().map(|asked| &asked.causes).collect::<Vec<_>>()
    }

    fn run(&self, work: &Work<'_>) -> anyhow::Result<Self::Results> {
        let series = self.asked().flat_map(|asked| asked.causes.series());
        made(work, &series.collect::<Vec<_>>())
    }

    fn report(&self, made: Self::Results, _: &Session, folder: &Store) -> anyhow::Result<Report> {
        tell::report(&self.answer(&made), folder)
    }
}
