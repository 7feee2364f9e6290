//! Makes the runs of every lock against every problem, and tells what they come to beside the predictions.

use std::ops::Range;

use anyhow::anyhow;
use serde::Serialize;
use serde_json::{Value, json};

use crate::problems::{Part, Plan, Problem, Row, chosen_rows};
use crate::run::foreign::gate::Gate;
use crate::run::on;
use crate::run::runs::Runs;
use locklab_check::Property;
use locklab_evidence::{Finding, Judgement, thousands};
use locklab_lab::bug::Bug;
use locklab_lab::parts::Stage;
use locklab_lab::report::Report;
use locklab_lab::section::Section;
use locklab_lab::work::{Made, Work};
use locklab_lab::{Exit, Experiment, Program, Session, Store, data, describe, layout, recordings};
use locklab_model::scenario::{Drawn, Scenario};
use locklab_real::{Programs, RealRedis};
use locklab_report::Provenance;
use locklab_results::csv::{self, Csv};
use locklab_results::recording::server_name;
use locklab_results::table::{Field, Look, Table, TableRow};
use locklab_results::{Cell, Detail, Shortest};
use locklab_runner::backend::Backend;
use locklab_runner::batch::Job;
use locklab_runner::judged::{self, JudgedRun};
use locklab_runner::pool::{self, Broken};
use locklab_runner::prediction::Comparison;
use locklab_runner::simulate::Keep;

pub(crate) mod options;

/// Locks against problems.
pub struct Matrix {
    rows: Vec<Row>,
    problems: Vec<Problem>,
    /// The part that a row plays in a problem, row by row.
    parts: Vec<Part>,
    /// The seeds of each cell.
    seeds: Range<u64>,
    /// Whether every cell is shown in full.
    in_full: bool,
    /// Real servers to run on, with their versions.
    real: Option<(Programs, String)>,
}

/// So many real runs at once, where the machine bears it.
const AT_ONCE: usize = 4;

impl Matrix {
    /// These locks, or single forms of one, against these problems; all of them if none is named.
    ///
    /// # Errors
    ///
    /// If a lock and a problem make no scenario.
    pub fn plan(locks: &[String], names: &[String], seeds: Range<u64>) -> anyhow::Result<Matrix> {
        let rows = chosen_rows(locks);
        let mut problems = Plan::shipped().problems;
        problems.retain(|problem| names.is_empty() || names.contains(&problem.name));
        let parts = pairs(&rows, &problems)
            .map(|(row, problem)| Part::of(row, problem).map_err(|error| anyhow!(error)))
            .collect::<anyhow::Result<_>>()?;
        Ok(Matrix {
            rows,
            problems,
            parts,
            seeds,
            in_full: !locks.is_empty() && !names.is_empty(),
            real: None,
        })
    }

    /// The same on real servers.
    ///
    /// # Errors
    ///
    /// If one of the servers is missing.
    pub fn on_real(self, programs: Programs) -> anyhow::Result<Matrix> {
        let scenarios = self.places().filter_map(Place::scenario);
        let version = locklab_real::server_versions(&programs, scenarios)?;
        let real = Some((programs, version));
        Ok(Matrix { real, ..self })
    }

    fn simulated(&self, work: &Work<'_>, playing: &[Place<'_>]) -> anyhow::Result<Vec<Made<Runs>>> {
        let scenarios = playing.iter().filter_map(|place| place.scenario());
        let jobs: Vec<Job> = scenarios.map(|s| Job::of(s, self.seeds.clone())).collect();
        let program = &work.session().program;
        let cells = work.cells(&Stage::SIMULATED, &jobs, Detail::Counts, &|broken| {
            bug(playing[broken.job], broken, program, None)
        })?;
        let cells = cells.into_iter();
        Ok(cells.map(|made| made.map(Runs::from)).collect())
    }

    fn on_servers(
        &self,
        programs: &Programs,
        work: &Work<'_>,
        playing: &[Place<'_>],
    ) -> anyhow::Result<Vec<Made<Runs>>> {
        let session = work.session();
        let backend = RealRedis {
            stop: session.stop.flag(),
            ..RealRedis::new(programs.clone())
        };
        let gate = Gate::new(AT_ONCE);
        let scenarios: Vec<&Scenario> = playing.iter().filter_map(|it| it.scenario()).collect();
        let run = |place: usize, seed, runs: &mut Runs| -> Result<(), String> {
            let Drawn { scenario, schedule } = scenarios[place].drawn(seed);
            let make = || gate.pass(|| backend.run(&scenario, seed, &schedule, Keep::default()));
            let made = runs.attempt(make);
            let made = made.map_err(|error| format!("{:#}", anyhow::Error::from_boxed(error)))?;
            if let Some(made) = made {
                let run = JudgedRun::of(made, schedule, &scenario);
                runs.cell.add(seed, &run.judged());
            }
            Ok(())
        };
        let seeds = vec![self.seeds.clone(); playing.len()];
        let bug = |broken: Broken| {
            let place = playing[broken.job];
            bug(place, broken, &session.program, Some(programs))
        };
        work.runs(&Stage::REAL, &seeds, AT_ONCE, run, &bug)
    }

    fn places(&self) -> impl Iterator<Item = Place<'_>> {
        pairs(&self.rows, &self.problems)
            .zip(&self.parts)
            .map(|((row, problem), part)| Place { row, problem, part })
    }
}

impl Experiment for Matrix {
    const NAME: &'static str = "matrix";
    type Results = Vec<Option<Made<Runs>>>;

    fn folder(&self, store: &Store) -> anyhow::Result<Store> {
        store.below("matrix")
    }

    fn stem(&self) -> String {
        match self.real {
            None => Self::NAME.into(),
            Some(_) => format!("redis-{}", Self::NAME),
        }
    }

    fn identity(&self) -> impl Serialize {
        let played: Vec<_> = self.places().map(Place::scenario).collect();
        let version = self.real.as_ref().map(|(_, version)| version);
        (played, &self.seeds, version)
    }

    fn run(&self, work: &Work<'_>) -> anyhow::Result<Self::Results> {
        let playing = self.places().filter(|place| place.scenario().is_some());
        let playing: Vec<Place<'_>> = playing.collect();
        let cells = match &self.real {
            None => self.simulated(work, &playing)?,
            Some((programs, _)) => self.on_servers(programs, work, &playing)?,
        };
        let mut cells = cells.into_iter();
        let cell = |place: Place<'_>| place.scenario().and_then(|_| cells.next());
        Ok(self.places().map(cell).collect())
    }

    fn report(
        &self,
        made: Self::Results,
        session: &Session,
        folder: &Store,
    ) -> anyhow::Result<Report> {
        // A part of a cell's runs would be read as a rate of all.
        let whole = |made: &Option<Made<Runs>>| made.clone().filter(Made::is_whole);
        let made: Vec<Option<Made<Runs>>> = made.iter().map(whole).collect();
        let runs = made.iter().flatten().map(|made| made.runs).max();
        let results: Vec<CellResult> = self
            .places()
            .zip(&made)
            .map(|(place, made)| CellResult::of(place, made.as_ref().map(|made| &made.result.cell)))
            .collect();
        let planned = self.seeds.end - self.seeds.start;
        let seeds = self.seeds.start..self.seeds.start + runs.unwrap_or_default().max(planned);
        let mut table = as_table(&seeds, &self.problems, &self.rows, &results);
        let environment = match &self.real {
            None => "simulated world".to_owned(),
            Some((_, version)) => {
                let name = server_name(version);
                let discarded: u64 = { made.iter().flatten() }
                    .map(|it| it.result.discarded)
                    .sum();
                as_counts(&mut table, &results, &name, discarded);
                name
            }
        };
        let told: Vec<_> = { self.places().zip(&results) }
            .filter(|(_, result)| {
                let is_news = matches!(
                    result.judgement(),
                    Some(Judgement::Differs | Judgement::Inconclusive)
                );
                // A real run cannot be made again.
                self.real.is_none() && result.is_run() && (self.in_full || is_news)
            })
            .collect();
        let explained = pool::each(&told, session.threads, |(place, result)| {
            explain(*place, result, self.seeds.start, folder, &session.program)
        });
        let explained: String = explained.into_iter().collect::<anyhow::Result<_>>()?;
        let cells: Vec<Value> = results.iter().map(CellResult::json).collect();
        let mut content = json!({ "results": cells });
        if self.real.is_some() {
            content["environment"] = json!(environment);
        }
        let document = data::document(Self::NAME, content);
        let provenance = Provenance {
            subject: "matrix of locks and problems".into(),
            overrides: vec![],
            seeds: format!("seeds {}..{} in each cell", seeds.start, seeds.end),
            environment,
        };
        let (list, data) = (as_list(&results), document.clone());
        let stem = self.stem();
        let mut section = Section::of_table(table, list, data, provenance, folder, &stem);
        section.text += &explained;
        Ok(Report::of(section, document, exit(&results)))
    }
}

/// Every row with every problem, row by row.
fn pairs<'a>(
    rows: &'a [Row],
    problems: &'a [Problem],
) -> impl Iterator<Item = (&'a Row, &'a Problem)> {
    { rows.iter() }.flat_map(|row| problems.iter().map(move |problem| (row, problem)))
}

/// A row and a problem.
#[derive(Clone, Copy)]
struct Place<'a> {
    row: &'a Row,
    problem: &'a Problem,
    part: &'a Part,
}

impl<'a> Place<'a> {
    /// The scenario to run, if the problem applies.
    fn scenario(self) -> Option<&'a Scenario> {
        match self.part {
            Part::Plays { scenario, .. } => Some(scenario),
            Part::Cannot { .. } => None,
        }
    }
}

/// The error for a run of this place without a result.
fn bug(
    place: Place<'_>,
    broken: Broken,
    program: &Program,
    real: Option<&Programs>,
) -> anyhow::Error {
    let (row, problem) = (&place.row.label, &place.problem.name);
    let seeds = format!("{}..{}", broken.seed, broken.seed + 1);
    let words = ["study", "matrix", "--lock", row, "--problem", problem];
    let mut words: Vec<String> = words.map(String::from).into();
    words.extend(["--seeds".into(), seeds]);
    words.extend(on::words(real));
    let reproduce = program.line(&words);
    Bug::or_usage(broken, &format!("{row} in {problem}"), reproduce)
}

/// The result of a row in a problem.
struct CellResult {
    lock: &'static str,
    row: String,
    problem: String,
    property: Property,
    outcome: Outcome,
}

/// The result.
enum Outcome {
    /// The problem does not apply to the lock, for this reason.
    Cannot(String),
    /// The lock was run.
    Ran {
        comparison: Comparison,
        shortest: Option<Shortest>,
    },
}

impl CellResult {
    fn of(place: Place<'_>, cell: Option<&Cell>) -> Self {
        let property = place.problem.property;
        let outcome = match place.part {
            Part::Cannot { why } => Outcome::Cannot(why.clone()),
            Part::Plays { predicted, .. } => {
                let tally = cell.and_then(|cell| cell.tallies.get(&property).copied());
                let tally = tally.unwrap_or_default();
                Outcome::Ran {
                    comparison: match predicted {
                        Some(_) => Comparison::of(property, *predicted, tally),
                        None => Comparison::unpredicted(property, tally),
                    },
                    shortest: cell.and_then(|cell| cell.shortest.get(&property).copied()),
                }
            }
        };
        CellResult {
            lock: place.row.entry.name,
            row: place.row.label.clone(),
            problem: place.problem.name.clone(),
            property,
            outcome,
        }
    }

    /// Whether it was run, or need not be.
    fn is_run(&self) -> bool {
        match &self.outcome {
            Outcome::Cannot(_) => true,
            Outcome::Ran { comparison, .. } => comparison.tally.runs() > 0,
        }
    }

    fn judgement(&self) -> Option<Judgement> {
        match &self.outcome {
            Outcome::Cannot(_) => None,
            Outcome::Ran { comparison, .. } => Some(comparison.judgement),
        }
    }

    /// The runs that violate the property, of those that say whether they do: `2 of 5`.
    fn count(&self) -> Option<String> {
        match &self.outcome {
            Outcome::Cannot(_) => None,
            Outcome::Ran { comparison, .. } => {
                let tally = &comparison.tally;
                let judged = tally.holds + tally.violated;
                Some(format!("{} of {judged}", tally.violated))
            }
        }
    }

    fn field(&self) -> Field {
        let comparison = match &self.outcome {
            Outcome::Ran { comparison, .. } => comparison,
            Outcome::Cannot(why) => {
                return Field {
                    text: "–".into(),
                    detail: format!("–: {why}"),
                    look: Look::Silent,
                };
            }
        };
        if comparison.tally.runs() == 0 {
            return Field::plain("not run", Look::Inconclusive);
        }
        let share = comparison.tally.rate().share().unwrap_or_default();
        let text = match comparison.observed {
            Finding::Holds => "holds".into(),
            Finding::Violated => format!("{:.1} %", share * 100.0),
            Finding::Inconclusive => "inconclusive".into(),
        };
        let look = match (comparison.judgement, comparison.observed) {
            (Judgement::Differs, _) => Look::Differs,
            (Judgement::Inconclusive, _) | (_, Finding::Inconclusive) => Look::Inconclusive,
            (_, Finding::Holds) => Look::Holds,
            (_, Finding::Violated) => Look::Violated(share),
        };
        let detail = format!("{}; {}", comparison.tally.describe(), verdict(comparison));
        Field { text, detail, look }
    }

    /// The result as JSON.
    fn json(&self) -> Value {
        let mut value = json!({
            "lock": self.lock,
            "row": self.row,
            "problem": self.problem,
            "property": self.property,
        });
        let more = match &self.outcome {
            Outcome::Cannot(why) => json!({ "cannot": why }),
            Outcome::Ran {
                comparison,
                shortest,
            } => {
                let mut more = json!({
                    "predicted": comparison.predicted,
                    "observed": comparison.observed,
                    "judgement": comparison.judgement,
                    "more_runs": comparison.more_runs,
                    "shortest": shortest,
                });
                describe::merge(&mut more, describe::rates(&comparison.tally));
                more
            }
        };
        describe::merge(&mut value, more);
        value
    }
}

/// Observation and prediction in words.
fn verdict(comparison: &Comparison) -> String {
    let predicted = match comparison.predicted {
        Some(prediction) => prediction.to_string(),
        None => "nothing".into(),
    };
    match (comparison.judgement, comparison.more_runs) {
        (Judgement::AsPredicted, _) => format!("{predicted}, as predicted"),
        (Judgement::Inconclusive, Some(runs)) => {
            let runs = thousands(runs);
            format!("predicted: {predicted} (?); {runs} more runs would decide")
        }
        (Judgement::Inconclusive, None) => format!("predicted: {predicted} (?)"),
        (Judgement::Unpredicted, _) => "not predicted".into(),
        (Judgement::Differs, _) => format!("predicted: {predicted} (!)"),
    }
}

fn as_table(
    seeds: &Range<u64>,
    problems: &[Problem],
    rows: &[Row],
    results: &[CellResult],
) -> Table {
    let ran = results.iter().filter(|result| result.judgement().is_some());
    let runs = thousands(seeds.end - seeds.start);
    let notes = vec![
        format!(
            "A rate is the share of all {runs} runs of its cell that violate the property; a run \
             that could not have shown a violation counts as one without."
        ),
        format!(
            "Every cell uses the seeds {}..{} (common random numbers): locks compare well, \
             but errors are correlated. Of {} 95 % intervals about one in twenty misses.",
            seeds.start,
            seeds.end,
            ran.count()
        ),
    ];
    let rows = rows.iter().zip(results.chunks(problems.len().max(1)));
    Table {
        title: format!("Locks against problems: violations in {runs} runs each"),
        rows_are: "lock",
        columns: problems.iter().map(|p| p.title.clone()).collect(),
        rows: rows
            .map(|(row, results)| TableRow {
                label: row.label.clone(),
                fields: results.iter().map(CellResult::field).collect(),
            })
            .collect(),
        legend: vec![
            (Look::Holds, "no violation, as predicted"),
            (
                Look::Violated(0.0),
                "violated, as predicted: the redder, the more runs",
            ),
            (Look::Differs, "differs from its prediction"),
            (Look::Inconclusive, "too few runs to decide"),
            (Look::Silent, "a problem that this lock cannot have"),
        ],
        notes,
    }
}

/// Makes of it the table of runs on these servers. They are so few that their numbers are told, and no rates.
fn as_counts(table: &mut Table, results: &[CellResult], on: &str, discarded: u64) {
    table.title += &format!(", on {on}");
    let fields = table.rows.iter_mut().flat_map(|row| &mut row.fields);
    for (field, result) in fields.zip(results) {
        if let Some(count) = result.count() {
            field.text = count;
        }
    }
    // The other note is on the seeds, which no real run repeats.
    table.notes.truncate(1);
    table.notes.push(format!(
        "Discarded, and made again, since the machine stood still or a process began late: {discarded}."
    ));
}

/// One row per cell, for programs that read tables.
fn as_list(results: &[CellResult]) -> Csv {
    let before = ["lock", "row", "problem", "property"];
    let judged = ["predicted", "observed", "judgement"];
    let columns = [&before[..], &judged, &csv::COUNTS, &["cannot"]].concat();
    let mut list = Csv::new(columns);
    for result in results {
        let mut row = vec![
            result.lock.to_owned(),
            result.row.clone(),
            result.problem.clone(),
            result.property.to_string(),
        ];
        match &result.outcome {
            Outcome::Cannot(why) => {
                row.extend(vec![String::new(); judged.len() + csv::COUNTS.len()]);
                row.push(why.clone());
            }
            Outcome::Ran { comparison, .. } => {
                let predicted = comparison.predicted;
                row.push(predicted.map_or(String::new(), |p| p.to_string()));
                row.push(comparison.observed.name().into());
                row.push(comparison.judgement.name().into());
                row.extend(csv::counts(&comparison.tally));
                row.push(String::new());
            }
        }
        list.push(row);
    }
    list
}

/// Shows a cell in full, with a recorded run: the one with the earliest violation, or that of the
/// `first` seed.
fn explain(
    place: Place<'_>,
    result: &CellResult,
    first: u64,
    folder: &Store,
    program: &Program,
) -> anyhow::Result<String> {
    let (row, problem) = (&result.row, &result.problem);
    let (scenario, comparison, shortest) = match (place.scenario(), &result.outcome) {
        (
            Some(scenario),
            Outcome::Ran {
                comparison,
                shortest,
            },
        ) => (scenario, comparison, shortest),
        (_, Outcome::Cannot(why)) => {
            return Ok(layout::fold(&format!("  {row} in {problem}: {why}\n")));
        }
        (None, _) => return Ok(String::new()),
    };
    let told = format!("{}; {}", comparison.tally.describe(), verdict(comparison));
    let mut text = format!("  {row} in {problem}: {} {told}\n", result.property);
    if let Some(rate) = comparison.tally.describe_struck() {
        text += &format!("    {rate}\n");
    }
    text = layout::fold(&text);
    let seed = shortest.map_or(first, |shortest| shortest.seed);
    let recording = judged::record(scenario, seed)?;
    let folder = folder.of_scenario(&format!("{row} {problem}"), &[])?;
    let stem = format!("seed-{seed}");
    let kept = recordings::keep(&folder, &stem, scenario, &recording, result.property)?;
    text += &kept.describe(program);
    Ok(text + "\n")
}

fn exit(results: &[CellResult]) -> Exit {
    let of = |result: &CellResult| match result.judgement() {
        Some(Judgement::Differs) => Exit::Differs,
        Some(Judgement::Inconclusive) => Exit::Inconclusive,
        _ => Exit::AsPredicted,
    };
    results.iter().map(of).fold(Exit::AsPredicted, Exit::worse)
}

#[cfg(test)]
mod tests {
    use super::*;
    use locklab_runner::pool::Why;

    #[test]
    fn a_panic_is_told_with_the_line_that_runs_this_form_of_the_lock() {
        let lock = "set-nx-px (release del)".to_owned();
        let matrix = Matrix::plan(&[lock], &["outlives".to_owned()], 0..1);
        let matrix = matrix.expect("they fit together");
        let place = matrix.places().next().expect("one lock in one problem");
        let panicked = Broken {
            job: 0,
            seed: 41,
            why: Why::Panicked("oh".into()),
        };
        let told = bug(place, panicked, &Program::running(), None).to_string();
        let begins = "set-nx-px (release del) in outlives with seed 41 panicked: oh\n";
        assert!(told.starts_with(begins), "{told}");
        let line =
            " study matrix --lock 'set-nx-px (release del)' --problem outlives --seeds 41..42";
        assert!(told.ends_with(line), "{told}");
    }
}
