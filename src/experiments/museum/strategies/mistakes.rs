//! Which strategy finds the planted mistakes of locks, and at what cost.
//!
//! A mistake is in the code, and a process has it or not. So the runs are made in other processes, which have it,
//! and this one repeats each violating run without it.

use std::io::Write;
use std::ops::Range;
use std::process::Command;
use std::sync::atomic::AtomicBool;

use anyhow::Context;
use locklab_check::Property;
use locklab_matrix::rows;
use locklab_runner::batch::Part;
use locklab_runner::pool::Broken;
use locklab_runner::simulate::Keep;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::elsewhere::Elsewhere;
use super::sightings::Sightings;
use super::start::Start;
use super::tables::{Extent, Row, Subject};
use super::way::{Search, Way};
use super::{Starts, stage};
use crate::bug::Bug;
use crate::report::Report;
use crate::strategy::Rehearsals;
use crate::work::{Made, Work};
use crate::{Exit, Experiment, Session, Store};

/// A search of which so many starts found nothing is not begun again.
const FIRST: u64 = 2;

/// A planted mistake that a search may find.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mistake {
    /// Its name.
    pub name: String,
    /// The lock of the catalogue that has it, in one of its forms: `redlock-fenced`, `set-nx-px (release del)`.
    pub lock: String,
    /// A property that the lock violates with it.
    pub violates: Property,
    /// Overrides of the scenario, without which the lock does not do what is wrong.
    #[serde(default)]
    pub sets: Vec<String>,
}

/// One start of the search for a mistake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The mistake.
    pub mistake: String,
    /// The way of searching.
    pub way: String,
    /// The seeds.
    pub seeds: Range<u64>,
}

/// The command that answers a request, in a process with the mistake; see [`Mistakes::answer`].
pub type Ask = fn(&Request) -> anyhow::Result<Command>;

/// Searches for planted mistakes, in several ways.
pub struct Mistakes {
    mistakes: Vec<Mistake>,
    /// Of each mistake, a search in each way.
    searches: Vec<Search>,
    starts: u64,
    limit: u64,
    ask: Ask,
}

impl Mistakes {
    /// Plans to search for these mistakes. Each search is begun so many times, and ends after `limit` runs.
    ///
    /// # Errors
    ///
    /// If there is no such lock, or it does not fit a workload.
    pub fn plan(
        mistakes: Vec<Mistake>,
        starts: u64,
        limit: u64,
        ask: Ask,
    ) -> anyhow::Result<Mistakes> {
        let mut searches = Vec::new();
        for mistake in &mistakes {
            let search = |way| search(way, mistake).with_context(|| mistake.name.clone());
            let all: anyhow::Result<Vec<Search>> = Way::ALL.into_iter().map(search).collect();
            searches.extend(all?);
        }
        Ok(Mistakes {
            mistakes,
            searches,
            starts,
            limit,
            ask,
        })
    }

    /// Makes the runs of a request in this process, and writes each one that violates the property: what the command
    /// of [`Ask`] does.
    ///
    /// # Errors
    ///
    /// If there is no such search, a run has no result, or nobody reads.
    pub fn answer(&self, request: &Request, mut out: impl Write) -> anyhow::Result<()> {
        let known = |(mistake, way): &(&Mistake, Way)| {
            mistake.name == request.mistake && way.name() == request.way
        };
        let place = self.each().position(|it| known(&it));
        let place = place.with_context(|| format!("no such search: {request:?}"))?;
        let search = &self.searches[place];
        // The first run of a process also sets up what later ones find.
        let first = request.seeds.start;
        let rehearsals = Rehearsals::of_threads(1);
        search.choose(first, &rehearsals)?.run(Keep::default())?;
        let never = AtomicBool::new(false);
        let property = self.mistakes[place / Way::ALL.len()].violates;
        for sighting in Sightings::of(search, property, request.seeds.clone(), &never) {
            serde_json::to_writer(&mut out, &sighting?)?;
            out.write_all(b"\n")?;
            out.flush()?;
        }
        Ok(())
    }

    /// Each mistake in each way, in the order of the searches.
    fn each(&self) -> impl Iterator<Item = (&Mistake, Way)> {
        let ways = |mistake| Way::ALL.into_iter().map(move |way| (mistake, way));
        self.mistakes.iter().flat_map(ways)
    }

    /// Makes a start in another process, and looks at what it finds in this one.
    fn start(&self, place: usize, number: u64) -> anyhow::Result<Start> {
        let (mistake, way) = self.each().nth(place).context("a search")?;
        let first = number * self.limit;
        let command = (self.ask)(&Request {
            mistake: mistake.name.clone(),
            way: way.name().to_owned(),
            seeds: first..first + self.limit,
        })?;
        let sightings = Elsewhere::begin(command)?;
        Start::of(&self.searches[place], mistake.violates, sightings)
    }
}

/// The search for a mistake in the code of a lock.
fn search(way: Way, mistake: &Mistake) -> anyhow::Result<Search> {
    let row = rows().into_iter().find(|row| row.label == mistake.lock);
    let row = row.with_context(|| format!("unknown lock `{}`", mistake.lock))?;
    Search::of_code(way, &row, &mistake.sets)
}

impl Experiment for Mistakes {
    const NAME: &'static str = "plants";
    type Results = Vec<Made<Starts>>;

    fn folder(&self, store: &Store) -> anyhow::Result<Store> {
        store.below("search")
    }

    fn stem(&self) -> String {
        "mistakes".into()
    }

    fn identity(&self) -> impl Serialize {
        (&self.mistakes, &self.searches, self.starts, self.limit)
    }

    fn run(&self, work: &Work<'_>) -> anyhow::Result<Self::Results> {
        let one = |place: usize, number: u64, starts: &mut Starts| {
            starts.0.insert(number, self.start(place, number)?);
            anyhow::Ok(())
        };
        let session = work.session();
        let bug = |broken: Broken| {
            let mistake = &self.mistakes[broken.job / Way::ALL.len()].name;
            Bug::or_usage(broken, mistake, session.program.line(&[mistake]))
        };
        let threads = session.threads;
        let first = self.starts.min(FIRST);
        let seeds = vec![0..first; self.searches.len()];
        let mut made = work.runs(&stage("first", "searching"), &seeds, threads, one, &bug)?;
        let rest = made.iter().map(|made| match made.result.found_any() {
            true => first..self.starts,
            false => first..first,
        });
        let rest: Vec<Range<u64>> = rest.collect();
        let more = work.runs(
            &stage("starts", "searching again"),
            &rest,
            threads,
            one,
            &bug,
        )?;
        for (made, more) in made.iter_mut().zip(more) {
            made.result.join(more.result);
            made.runs += more.runs;
            made.planned += more.planned;
        }
        Ok(made)
    }

    fn report(
        &self,
        results: Self::Results,
        _: &Session,
        folder: &Store,
    ) -> anyhow::Result<Report> {
        let rows: Vec<Row> = { self.mistakes.iter() }
            .zip(results.chunks(Way::ALL.len()))
            .map(|(mistake, made)| Row::of(&mistake.name, mistake.violates, made))
            .collect();
        let extent = Extent {
            starts: self.starts,
            limit: self.limit,
        };
        let tables = Subject::Mistakes.tables(&rows, extent, folder);
        Ok(Report {
            sections: tables.into(),
            closing: String::new(),
            document: Value::Null,
            exit: Exit::AsPredicted,
        })
    }
}

#[cfg(test)]
mod tests {
    use anyhow::bail;

    use super::super::sighting::Sighting;
    use super::*;
    use crate::bench::Bench;

    fn mistake(lock: &str, violates: Property) -> Mistake {
        Mistake {
            name: "planted".into(),
            lock: lock.into(),
            violates,
            sets: vec![],
        }
    }

    fn plan(mistake: Mistake, ask: Ask) -> Mistakes {
        Mistakes::plan(vec![mistake], 4, 60, ask).expect("it fits")
    }

    fn nobody(_: &Request) -> anyhow::Result<Command> {
        bail!("nobody is asked")
    }

    /// What a process writes that has the mistake.
    fn answer(mistakes: &Mistakes, way: &str) -> Vec<Sighting> {
        let request = Request {
            mistake: "planted".into(),
            way: way.into(),
            seeds: 0..60,
        };
        let mut out = Vec::new();
        mistakes.answer(&request, &mut out).expect("it searches");
        let lines = out.split(|byte| *byte == b'\n');
        let lines = lines.filter(|line| !line.is_empty());
        let read = |line| serde_json::from_slice(line).expect("a sighting");
        lines.map(read).collect()
    }

    /// The lock without the mistake violates the property in the same runs.
    #[test]
    fn violation_of_the_lock_without_the_mistake_shows_nothing() {
        let mistakes = plan(mistake("setnx", Property::Deadlock), nobody);
        let sightings = answer(&mistakes, "steps");
        let search = &mistakes.searches[3];
        let found = Start::of(search, Property::Deadlock, sightings.into_iter().map(Ok));
        let found = found.expect("each run ends");
        assert!(
            found.violated.is_some() && found.shown.is_none(),
            "{found:?}"
        );
    }

    /// The sightings of another lock stand for those of one with a mistake.
    #[test]
    fn violation_that_goes_away_with_the_mistake_shows_it() {
        let sick = plan(mistake("setnx", Property::Deadlock), nobody);
        let sightings = answer(&sick, "uniform");
        let sound = plan(mistake("set-nx-px", Property::Deadlock), nobody);
        let search = &sound.searches[1];
        let found = Start::of(search, Property::Deadlock, sightings.into_iter().map(Ok));
        assert!(found.expect("each run ends").shown.is_some());
    }

    #[test]
    fn search_of_which_the_first_starts_find_nothing_is_not_begun_again() {
        fn silent(_: &Request) -> anyhow::Result<Command> {
            Ok(Command::new("true"))
        }
        /// It is found in one way, and in the others it would be from the third start on.
        fn says(request: &Request) -> anyhow::Result<Command> {
            let run = r#"{"seed":0,"cost":{"runs":1,"cpu_ns":1},"faults":{"faults":[]},"at_their_times":{"faults":[]}}"#;
            if request.way != "late" && request.seeds.start < 120 {
                return silent(request);
            }
            let mut command = Command::new("echo");
            command.arg(run);
            Ok(command)
        }
        let starts = |ask, name| {
            let bench = Bench::new(name);
            let mistakes = plan(mistake("set-nx-px", Property::Lease), ask);
            let folder = mistakes.folder(&bench.0.store).expect("a folder");
            let work = Work::begin(&bench.0, &folder, "mistakes", &mistakes.identity());
            let work = work.expect("begun");
            let made = mistakes.run(&work).expect("each start ends");
            made.iter()
                .map(|made| made.result.0.len())
                .collect::<Vec<_>>()
        };
        assert_eq!(starts(silent, "silent"), [2; 6]);
        assert_eq!(starts(says, "says"), [2, 2, 2, 2, 4, 2]);
    }

    #[test]
    fn lock_that_does_not_exist_is_refused() {
        let plan = |lock| Mistakes::plan(vec![mistake(lock, Property::Lease)], 1, 1, nobody).err();
        assert!(plan("redlock").is_none());
        assert!(plan("set-nx-px (release del)").is_none());
        let error = format!("{:#}", plan("redlok").expect("refused"));
        assert_eq!(error, "planted: unknown lock `redlok`");
    }
}
