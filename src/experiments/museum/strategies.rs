//! Which strategy finds the mechanisms of the museum, and at what cost.
//!
//! For each exhibit that is found by a search, and each way of searching, there are some *starts*: searches
//! with seeds of their own, each until a run shows the mechanism or the limit is reached. What counts is the
//! number of runs, which is the same on every machine; runs that a strategy makes to choose others count too.
//! The processor time stands in a table of its own.

mod cpu;
mod elsewhere;
mod mistakes;
mod sighting;
mod sightings;
mod start;
mod tables;
mod way;

use std::collections::BTreeMap;

use anyhow::{Context, bail};
use locklab_check::Property;
use locklab_museum::{Exhibit, Museum as Data};
use locklab_runner::batch::Part;
use locklab_runner::pool::Broken;
use serde::{Deserialize, Serialize};
use serde_json::json;

pub use self::mistakes::{Ask, Mistake, Mistakes, Request};
use self::sightings::Sightings;
use self::start::Start;
use self::tables::{Extent, Subject};
use self::way::{Search, Way};
use crate::bug::Bug;
use crate::parts::{By, Rounds, Stage};
use crate::report::Report;
use crate::work::{Made, Work};
use crate::{Exit, Experiment, Session, Store, data};

/// How often each search is begun, with other seeds.
pub const STARTS: u64 = 20;

/// Searches for the mechanisms of the museum, in several ways.
pub struct Strategies {
    exhibits: Vec<Exhibit>,
    /// Of each exhibit, a search in each way.
    searches: Vec<Search>,
    starts: u64,
    limit: u64,
}

/// The starts of a search, by their number.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Starts(BTreeMap<u64, Start>);

impl Part for Starts {
    fn join(&mut self, other: Self) {
        self.0.extend(other.0);
    }
}

impl Starts {
    fn found_any(&self) -> bool {
        self.0.values().any(|start| start.shown.is_some())
    }
}

impl Strategies {
    /// Plans to search for these exhibits; without any, for all that are found by a search. Each search is
    /// begun so many times, and ends after `limit` runs.
    ///
    /// # Errors
    ///
    /// If an exhibit is shown by a scenario, or does not fit a workload.
    pub fn plan(only: &[String], starts: u64, limit: u64) -> anyhow::Result<Strategies> {
        let mut exhibits = Data::shipped().exhibits;
        exhibits.retain(|exhibit| match only.contains(&exhibit.name) {
            true => true,
            false => only.is_empty() && exhibit.scenario.is_none(),
        });
        if let Some(scenario) = exhibits.iter().find(|exhibit| exhibit.scenario.is_some()) {
            bail!(
                "{}: a scenario shows it, so no strategy searches for it; leave it out",
                scenario.name
            );
        }
        let mut searches = Vec::new();
        for exhibit in &exhibits {
            for way in Way::ALL {
                searches.push(Search::of(way, exhibit).with_context(|| exhibit.name.clone())?);
            }
        }
        Ok(Strategies {
            exhibits,
            searches,
            starts,
            limit,
        })
    }

    fn property(&self, search: usize) -> Property {
        self.exhibits[search / Way::ALL.len()].property
    }
}

impl Experiment for Strategies {
    const NAME: &'static str = "museum";
    type Results = Vec<Made<Starts>>;

    fn folder(&self, store: &Store) -> anyhow::Result<Store> {
        store.below("search")
    }

    fn identity(&self) -> impl Serialize {
        (&self.searches, self.starts, self.limit)
    }

    fn run(&self, work: &Work<'_>) -> anyhow::Result<Self::Results> {
        let stage = stage("starts", "searching");
        let seeds = vec![0..self.starts; self.searches.len()];
        let session = work.session();
        // A search may take seconds.
        let stop = session.stop.flag();
        let one = |place: usize, number: u64, starts: &mut Starts| {
            let first = number * self.limit;
            let seeds = first..first + self.limit;
            let (search, property) = (&self.searches[place], self.property(place));
            let sightings = Sightings::of(search, property, seeds, stop);
            starts
                .0
                .insert(number, Start::of(search, property, sightings)?);
            anyhow::Ok(())
        };
        let bug = |broken: Broken| {
            let exhibit = &self.exhibits[broken.job / Way::ALL.len()].name;
            let command = session
                .program
                .line(&["museum", "--strategies", exhibit.as_str()]);
            Bug::or_usage(broken, exhibit, command)
        };
        work.runs(&stage, &seeds, session.threads, one, &bug)
    }

    fn report(
        &self,
        results: Self::Results,
        _: &Session,
        folder: &Store,
    ) -> anyhow::Result<Report> {
        let rows: Vec<tables::Row> = { self.exhibits.iter() }
            .zip(results.chunks(Way::ALL.len()))
            .map(|(exhibit, made)| tables::Row::of(&exhibit.name, exhibit.property, made))
            .collect();
        let extent = Extent {
            starts: self.starts,
            limit: self.limit,
        };
        let tables = Subject::Mechanisms.tables(&rows, extent, folder);
        let document = data::document(
            Self::NAME,
            json!({ "limit": self.limit, "starts": self.starts, "exhibits": rows }),
        );
        let is_whole = results.iter().all(Made::is_whole);
        Ok(Report {
            sections: tables.into(),
            closing: String::new(),
            document,
            exit: match is_whole {
                true => Exit::AsPredicted,
                false => Exit::Inconclusive,
            },
        })
    }
}

/// A stage in which each run is a start of a search.
fn stage(name: &'static str, doing: &'static str) -> Stage {
    Stage {
        name,
        doing,
        by: By::Seeds,
        rounds: Rounds::One,
        part: 1,
        runs_each: 1,
    }
}

#[cfg(test)]
mod tests;
