//! The bugs of lock libraries that were reported, each mechanism found by a search, and the same run
//! without it.
//!
//! An exhibit without a scenario is searched: a fault is placed at every step of a run of two clients, as
//! `place` does. Each run that violates the property is repeated with the mended lock, under the same
//! fault, or at the same time if the mended lock has no such step. An exhibit is *shown* if one of these repeated runs could have violated the property and does
//! not: then the mechanism, and not the fault alone, made the violation. An exhibit with a scenario is
//! run with the seeds of that scenario instead. One of the runs that show an exhibit is shrunk, while the mended
//! lock goes on holding.

pub(crate) mod exhibits;
mod minimum;
pub(crate) mod options;
mod tables;
mod trial;

use std::collections::BTreeMap;

use crate::museum::exhibits::{Exhibit, Museum as Data};
use anyhow::{Context, anyhow};
use locklab_model::scenario::{self, Scenario};
use locklab_results::recording::Environment;
use locklab_runner::batch::Part;
use locklab_runner::pool::Broken;
use locklab_runner::simulate::Keep;
use locklab_runner::{RunError, judged};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::place::{STANDARD, standard_sets};
use locklab_lab::bug::Bug;
use locklab_lab::parts::{By, Rounds, Stage};
use locklab_lab::report::Report;
use locklab_lab::work::{Made, Work};
use locklab_lab::{Exit, Experiment, Program, Session, Store, data, recordings};

use self::minimum::Placed;
use self::trial::{Runs, Trial};

/// The exhibits to show.
pub struct Museum {
    data: Data,
    rooms: Vec<Room>,
}

/// An exhibit, with the runs that can show it.
struct Room {
    exhibit: Exhibit,
    runs: Runs,
}

/// The trials of an exhibit, by the number of the placement or the seed.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Trials(BTreeMap<u64, Trial>);

impl Part for Trials {
    fn join(&mut self, other: Self) {
        self.0.extend(other.0);
    }
}

impl Trials {
    /// The trials that show the exhibit.
    fn telling(&self) -> impl Iterator<Item = u64> {
        let telling = self.0.iter();
        let telling = telling.filter(|(_, trial)| **trial == Trial::Mended);
        telling.map(|(number, _)| *number)
    }

    fn count(&self, is_it: impl Fn(Trial) -> bool) -> usize {
        self.0.values().filter(|trial| is_it(**trial)).count()
    }
}

impl Museum {
    /// The names of all exhibits.
    pub fn names() -> Vec<String> {
        let exhibits = Data::shipped().exhibits.into_iter();
        exhibits.map(|exhibit| exhibit.name).collect()
    }

    /// Plans to show these exhibits; without any, all.
    ///
    /// # Errors
    ///
    /// If a run without faults does not end.
    pub fn plan(only: &[String]) -> anyhow::Result<Museum> {
        let data = Data::shipped();
        let is_wanted = |exhibit: &&Exhibit| only.is_empty() || only.contains(&exhibit.name);
        let rooms = data.exhibits.iter().filter(is_wanted).map(Room::of);
        let rooms = rooms.collect::<anyhow::Result<_>>()?;
        Ok(Museum { data, rooms })
    }
}

impl Room {
    fn of(exhibit: &Exhibit) -> anyhow::Result<Room> {
        let load = |layers: &[&[String]]| -> anyhow::Result<Scenario> {
            let name = exhibit.scenario.as_deref().unwrap_or(STANDARD);
            let standard = match exhibit.scenario {
                Some(_) => vec![],
                None => standard_sets(),
            };
            Ok(scenario::load(name, &upper(&standard, layers))?)
        };
        let runs = || -> anyhow::Result<Runs> {
            let sick = load(&[&exhibit.sets])?;
            let mended = load(&[&exhibit.sets, &exhibit.mended])?;
            Ok(match exhibit.scenario {
                Some(_) => Runs::seeds(sick, mended),
                None => Runs::placements(&sick, mended, exhibit.fault.as_deref())?,
            })
        };
        Ok(Room {
            runs: runs().with_context(|| exhibit.name.clone())?,
            exhibit: exhibit.clone(),
        })
    }
}

/// These overrides with further layers, of which each replaces those of the same path below.
fn upper(standard: &[String], layers: &[&[String]]) -> Vec<String> {
    let path = |set: &str| set.split('=').next().unwrap_or_default().to_owned();
    let mut sets: Vec<String> = Vec::new();
    for set in { standard.iter() }.chain(layers.iter().copied().flatten()) {
        sets.retain(|below| path(below) != path(set));
        sets.push(set.clone());
    }
    sets
}

/// How many trials of an exhibit are tried until the run of one can be shrunk. A few runs tell whether it can.
const MOST_SHRUNK: usize = 100;

impl Experiment for Museum {
    const NAME: &'static str = "museum";
    type Results = Vec<Made<Trials>>;

    fn folder(&self, store: &Store) -> anyhow::Result<Store> {
        store.below("museum")
    }

    fn identity(&self) -> impl Serialize {
        let rooms = self.rooms.iter();
        let rooms = rooms.map(|room| {
            (
                &room.exhibit.name,
                room.exhibit.property,
                room.runs.identity(),
            )
        });
        rooms.collect::<Vec<_>>()
    }

    fn run(&self, work: &Work<'_>) -> anyhow::Result<Self::Results> {
        let stage = Stage {
            name: "trials",
            doing: "looking for the mechanisms",
            by: By::Seeds,
            rounds: Rounds::One,
            part: 200,
            runs_each: 1,
        };
        let numbers: Vec<_> = self.rooms.iter().map(|room| 0..room.runs.count()).collect();
        let trial = |place: usize, number: u64, trials: &mut Trials| {
            let room = &self.rooms[place];
            trials
                .0
                .insert(number, room.runs.trial(number, room.exhibit.property)?);
            Ok::<(), RunError>(())
        };
        let session = work.session();
        let bug = |broken: Broken| {
            let room = &self.rooms[broken.job];
            let command = room.runs.command(broken.seed, &session.program);
            Bug::or_usage(broken, &room.exhibit.name, command)
        };
        work.runs(&stage, &numbers, session.threads, trial, &bug)
    }

    fn report(
        &self,
        results: Self::Results,
        session: &Session,
        folder: &Store,
    ) -> anyhow::Result<Report> {
        let mut rows = Vec::new();
        for (room, made) in self.rooms.iter().zip(&results) {
            let trials = &made.result;
            let mut telling: Vec<u64> = trials.telling().collect();
            telling.sort_by_key(|it| room.runs.rank(*it));
            let shown = match telling.first() {
                Some(_) => Some(room.show(&telling, session, folder)?),
                None => None,
            };
            rows.push(tables::Row::of(room, &self.data, made, shown));
        }
        let document = data::document(
            Self::NAME,
            json!({ "exhibits": rows, "bugs": tables::bugs(&self.data) }),
        );
        let is_shown = |row: &tables::Row| match row {
            tables::Row { shown: Some(_), .. } => Exit::AsPredicted,
            tables::Row {
                is_whole: false, ..
            } => Exit::Inconclusive,
            _ => Exit::Differs,
        };
        Ok(Report {
            exit: rows
                .iter()
                .map(is_shown)
                .fold(Exit::AsPredicted, Exit::worse),
            sections: vec![
                tables::exhibits(&rows, &document, folder),
                minimum::table::minima(&rows, folder),
                tables::all_bugs(&self.data, folder),
            ],
            closing: tables::closing(&self.data),
            document,
        })
    }
}

impl Room {
    /// Shrinks the run of the first of these trials whose run can be, and draws what is left; if there is none, or
    /// no time, it draws the run of the first trial.
    fn show(
        &self,
        telling: &[u64],
        session: &Session,
        folder: &Store,
    ) -> anyhow::Result<tables::Shown> {
        let first = telling[0];
        let mut minimum = None;
        let some = &telling[..telling.len().min(MOST_SHRUNK)];
        let ways = [Placed::AsTheyWere, Placed::AtTheirTimes].into_iter();
        for (placed, number) in ways.flat_map(|placed| some.iter().map(move |it| (placed, *it))) {
            if minimum.is_some() || session.stop.is_set() {
                break;
            }
            minimum = self.shrink(number, placed, session, folder)?;
        }
        if minimum.is_none() {
            self.draw(first, folder)?;
        }
        Ok(tables::Shown {
            by: self.runs.what(first),
            // The same wherever Locklab lies.
            command: self.runs.command(first, &Program::started_with("locklab")),
            minimum,
        })
    }

    /// Records and draws the run of a trial, with the mistake.
    fn draw(&self, number: u64, folder: &Store) -> anyhow::Result<()> {
        let (scenario, seed, schedule) = self.runs.sick(number);
        let run = judged::run_schedule(&scenario, seed, schedule, Keep::MESSAGES)
            .map_err(|error| anyhow!("{}: {error}", self.exhibit.name))?;
        let recording = judged::recording(&scenario, seed, run, Environment::World);
        let titled = self.titled(scenario.into_owned());
        let Exhibit { name, property, .. } = &self.exhibit;
        recordings::keep(folder, name, &titled, &recording, *property)?;
        Ok(())
    }

    /// A scenario with the name and the title of the exhibit.
    fn titled(&self, scenario: Scenario) -> Scenario {
        let Exhibit { name, what, .. } = &self.exhibit;
        Scenario {
            name: format!("museum, {name}"),
            title: what.trim_end_matches('.').to_owned(),
            claim: None,
            overrides: vec![],
            ..scenario
        }
    }
}
