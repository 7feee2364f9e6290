//! Violations a year against the lease: a table and a chart, with a curve for each lock.

mod answer;
mod chart;
mod knee;
mod tell;

use crate::risk::model::{Causes, Cost, Costs, Runs, Sampling, Setup, Time};
use serde::Serialize;

use self::answer::{Answer, Curve, Point};
use super::{costs, folder, made, results};
use locklab_lab::report::Report;
use locklab_lab::work::{Made, Work};
use locklab_lab::{Experiment, Reports, Session, Store};

/// Some locks, each with some leases, in one environment.
pub struct Leases {
    locks: Vec<(String, Vec<Asked>)>,
    every: Time,
    /// The runs for each cause that were asked for.
    asked: u64,
    /// All overrides, also those of the environment.
    overrides: Vec<String>,
}

/// One lock with one lease.
struct Asked {
    setup: Setup,
    causes: Causes,
    cost: Cost,
}

/// What all runs come to.
pub struct Done {
    /// By cause, of one lock with one lease after the other.
    grants: Vec<Made<Runs>>,
    /// Of each lock with each lease.
    costs: Vec<Made<Costs>>,
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
            let sampling = Sampling {
                runs: setup.affordable_runs(sampling.runs)?,
                ..sampling
            };
            Ok(Asked {
                causes: Causes::plan(&setup, sampling)?,
                cost: Cost::plan(&setup, sampling)?,
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
            asked: sampling.runs,
            overrides: overrides.to_vec(),
        })
    }

    fn asked(&self) -> impl Iterator<Item = &Asked> {
        self.locks.iter().flat_map(|(_, asked)| asked)
    }

    fn answer<'d>(&'d self, done: &'d Done) -> Answer<'d> {
        let results = results(&done.grants);
        let mut rest = &results[..];
        let mut costs = done.costs.iter();
        let mut curves = Vec::new();
        for (lock, asked) in &self.locks {
            let mut points = Vec::new();
            let zipped = asked.iter().zip(&mut costs);
            for (Asked { setup, causes, .. }, costs) in zipped {
                let (own, others) = rest.split_at(causes.series().len());
                let runs = own.first().map_or(0, |runs| runs.weighted[0].runs);
                rest = others;
                let by_cause = causes.answer(own);
                let year = |property| by_cause.sum(property).times(self.every.per_year());
                points.push(Point {
                    setup,
                    runs,
                    years: [0, 1].map(year),
                    bounds: [0, 1].map(|property| by_cause.bound(property)),
                    has_excluded: by_cause.shares.iter().any(|share| share.excluded.is_some()),
                    costs: &costs.result,
                });
            }
            points.sort_by(|a, b| a.setup.lease.0.total_cmp(&b.setup.lease.0));
            curves.push(Curve { lock, points });
        }
        Answer {
            curves,
            every: self.every,
            asked: self.asked,
        }
    }
}

impl Experiment for Leases {
    const NAME: &'static str = "risk";
    /// Without the runs of a cause the answer would lack what it brings.
    const REPORTS: Reports = Reports::Whole;
    type Results = Done;

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
        let asked = self.asked().map(|asked| (&asked.causes, &asked.cost));
        asked.collect::<Vec<_>>()
    }

    fn run(&self, work: &Work<'_>) -> anyhow::Result<Self::Results> {
        let series = self.asked().flat_map(|asked| asked.causes.series());
        // The grants take all the time that is left.
        let all: Vec<&Cost> = self.asked().map(|asked| &asked.cost).collect();
        let costs = costs(work, &all)?;
        Ok(Done {
            grants: made(work, &series.collect::<Vec<_>>())?,
            costs,
        })
    }

    fn report(&self, done: Done, _: &Session, folder: &Store) -> anyhow::Result<Report> {
        tell::report(&self.answer(&done), folder)
    }
}
