//! A scenario over a grid of parameters.

use std::ops::Range;

use anyhow::{anyhow, bail, ensure};
use serde::Serialize;
use serde_json::{Value, json};
use xxhash_rust::xxh3::xxh3_64;

use locklab_check::Property;
use locklab_evidence::{Tally, thousands};
use locklab_lab::bug::Bug;
use locklab_lab::parts::{Rounds, Stage};
use locklab_lab::report::Report;
use locklab_lab::section::{Form, Section};
use locklab_lab::work::{Made, Work};
use locklab_lab::{Exit, Experiment, Session, Store, data, describe, layout};
use locklab_model::scenario::grid::{Grid, overrides};
use locklab_model::scenario::{self, Scenario, ScenarioError, Source};
use locklab_report::chart::{self, ChartOptions, RateAxis};
use locklab_report::{Error, Provenance};
use locklab_results::recording::VERSION;
use locklab_results::{Cell, Detail, Seeding, per_run};
use locklab_runner::batch::Job;

pub(crate) mod options;

/// What to sweep.
pub struct Options {
    /// The scenario: the name of a shipped one, or a file.
    pub scenario: String,
    /// The axes of the grid; if there are none, those of the scenario.
    pub vary: Vec<String>,
    /// The seeds of each cell; by default as many as the scenario says.
    pub seeds: Option<Range<u64>>,
    /// How the seeds of the cells are chosen.
    pub seeding: Seeding,
    /// The overrides of the scenario.
    pub sets: Vec<String>,
    /// The properties to chart; if there are none, what the scenario is about.
    pub properties: Vec<Property>,
    /// Where the axis of the rates ends.
    pub rate_axis: RateAxis,
    /// What is kept of each run.
    pub detail: Detail,
}

/// A scenario over a grid of parameters.
pub struct Sweep {
    options: Options,
    base: Scenario,
    axes: Vec<String>,
    seeds: Range<u64>,
    jobs: Vec<Job>,
}

/// The identity of a sweep, apart from the build.
#[derive(Serialize)]
struct Plan<'a> {
    /// The scenario with its overrides.
    sweep: &'a Scenario,
    /// The overrides, as given.
    sets: &'a [String],
    /// The axes of the grid, as given.
    axes: &'a [String],
    /// The first seed of the first cell.
    #[serde(skip_serializing_if = "is_zero")]
    first_seed: u64,
    /// The number of runs of each cell.
    seeds: u64,
    /// How the seeds of the cells are chosen.
    seeding: Seeding,
}

/// Most sweeps begin with seed 0. They keep the identity that they had before others did not.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(seed: &u64) -> bool {
    *seed == 0
}

impl Sweep {
    /// Plans a sweep.
    ///
    /// # Errors
    ///
    /// If the scenario of a cell is invalid, there is nothing to vary, or a property is not judged.
    pub fn plan(options: Options) -> anyhow::Result<Sweep> {
        let source = Source::find(&options.scenario)?;
        let base = source.scenario(&options.sets)?;
        let (axes, seeds) = plan(&options, &base)?;
        let jobs = jobs(&source, &options.sets, &axes, |place| {
            options.seeding.seeds(place, seeds.clone())
        })?;
        for property in &options.properties {
            let mut jobs = jobs.iter();
            if let Some(why) = jobs.find_map(|job| job.scenario.why_not_judged(*property)) {
                bail!("--property {property}: {why}");
            }
        }
        Ok(Sweep {
            options,
            base,
            axes,
            seeds,
            jobs,
        })
    }

    fn plan_of(&self) -> Plan<'_> {
        Plan {
            sweep: &self.base,
            sets: &self.options.sets,
            axes: &self.axes,
            first_seed: self.seeds.start,
            seeds: self.seeds.end - self.seeds.start,
            seeding: self.options.seeding,
        }
    }

    /// The overrides for the scenario of a cell.
    fn sets(&self, parameters: &[(String, String)]) -> Vec<String> {
        [self.options.sets.clone(), overrides(parameters)].concat()
    }
}

impl Experiment for Sweep {
    const NAME: &'static str = "sweep";
    const KEEPS_LEDGER: bool = true;
    type Results = Vec<Made<Cell>>;

    fn folder(&self, store: &Store) -> anyhow::Result<Store> {
        store.of_scenario(&self.base.name, &[])
    }

    /// With eight digits that identify the plan, independent of the build.
    fn stem(&self) -> String {
        let plan = serde_json::json!({ "locklab": VERSION, "plan": self.plan_of() });
        format!("sweep-{:08x}", xxh3_64(plan.to_string().as_bytes()) as u32)
    }

    fn identity(&self) -> impl Serialize {
        (self.plan_of(), self.options.detail)
    }

    fn run(&self, work: &Work<'_>) -> anyhow::Result<Self::Results> {
        let rounds = match self.options.seeding {
            Seeding::Common => Rounds::WhileThereIsTime,
            // The seeds that follow are those of the next cell.
            Seeding::Independent => Rounds::One,
        };
        let stage = Stage {
            doing: "sweeping",
            rounds,
            ..Stage::SIMULATED
        };
        let scenario = &self.options.scenario;
        work.cells(&stage, &self.jobs, self.options.detail, &|broken| {
            let sets = self.sets(&self.jobs[broken.job].parameters);
            let reproduce = work
                .session()
                .program
                .run_line(scenario, &sets, broken.seed);
            Bug::or_usage(broken, scenario, reproduce)
        })
    }

    fn report(
        &self,
        made: Self::Results,
        session: &Session,
        folder: &Store,
    ) -> anyhow::Result<Report> {
        let all = made.len();
        let made: Vec<Made<Cell>> = made.into_iter().filter(Made::is_whole).collect();
        let seeds = made
            .first()
            .map_or(self.seeds.end - self.seeds.start, |made| made.runs);
        let seeds = self.seeds.start..self.seeds.start + seeds;
        let cells: Vec<Cell> = made.into_iter().map(|made| made.result).collect();
        let done = cells.len();
        let seeding = self.options.seeding;
        let sweep = locklab_results::Sweep {
            seeding,
            ..of_cells(&self.base, &self.axes, &seeds, cells)?
        };
        let mut lines = vec![describe::heading(&self.base)];
        lines.extend(self.lines(&sweep, session));
        let overrides = data::parameters(&sweep.overrides);
        let mut document = data_of(&sweep);
        let named = overrides.iter();
        let named = named.map(|(path, value)| (path.clone(), Value::from(value.as_str())));
        document["parameters"] = Value::Object(named.collect());
        let document = data::document(Self::NAME, document);
        let list = data::table(&sweep.scenario, "world", &overrides, &sweep.cells, &[]);
        let mut forms = vec![Form::Data(document.clone()), Form::List(list)];
        if self.options.detail == Detail::Runs {
            let list = per_run::csv(&sweep.scenario, "world", &overrides, &sweep.cells);
            forms.push(Form::Runs {
                stem: format!("{}.runs", self.stem()),
                list,
            });
        }
        let chart_options = ChartOptions {
            properties: charted(&self.options.properties, &self.base),
            rate_axis: self.options.rate_axis,
        };
        match chart::draw(&sweep, &chart_options, &folder.sheet) {
            Ok(picture) => forms.push(Form::Chart(picture, provenance(&sweep))),
            Err(error @ Error::NothingJudged { .. }) => lines.push(format!("  no chart: {error}")),
            Err(error) => return Err(error.into()),
        }
        let section = Section {
            forms,
            ..Section::of(lines.join("\n"), folder, &self.stem())
        };
        Ok(Report {
            sections: vec![section],
            closing: match done < all {
                true => format!("  incomplete: {done} of {all} cells"),
                false => String::new(),
            },
            document,
            exit: Exit::AsPredicted,
        })
    }
}

/// The axes and the seeds, from the options or else from the scenario.
fn plan(options: &Options, base: &Scenario) -> anyhow::Result<(Vec<String>, Range<u64>)> {
    let own = base.sweep.as_ref();
    let axes = match own {
        Some(own) if options.vary.is_empty() => own.vary.clone(),
        _ => options.vary.clone(),
    };
    ensure!(
        !axes.is_empty(),
        "{} has no [sweep]; say what to vary, such as --vary lock.ttl_ms=500,1000,2000",
        base.name
    );
    let grid = Grid::parse(&axes)?;
    let mut varied = grid.paths();
    if let Some(path) = varied.find(|path| base.overrides.iter().any(|set| sets_path(set, path))) {
        let who = match options.vary.is_empty() {
            true => "the scenario's own sweep",
            false => "--vary",
        };
        bail!("--set changes \"{path}\", and {who} varies it; leave it out of one of them");
    }
    let by_default = || 0..own.map_or(1000, |own| own.seeds).max(1);
    let seeds = options.seeds.clone().unwrap_or_else(by_default);
    Ok((axes, seeds))
}

/// Whether an override is of this path.
fn sets_path(set: &str, path: &str) -> bool {
    set.split_once('=')
        .is_some_and(|(own, _)| own.trim() == path)
}

/// One job per cell, with the seeds of its place. An invalid scenario in any cell is an error before
/// anything runs.
pub(crate) fn jobs(
    source: &Source,
    sets: &[String],
    axes: &[String],
    seeds: impl Fn(usize) -> Range<u64>,
) -> anyhow::Result<Vec<Job>> {
    let grid = Grid::parse(axes)?;
    let job = |(place, parameters): (usize, Vec<(String, String)>)| {
        let sets = [sets, &overrides(&parameters)].concat();
        let scenario = source.scenario(&sets);
        let scenario = scenario.map_err(|error| blame_axis(&error, &parameters))?;
        Ok(Job {
            scenario,
            parameters,
            seeds: seeds(place),
        })
    };
    grid.cells().into_iter().enumerate().map(job).collect()
}

/// The sweep of which these are the cells, all with the same seeds.
pub(crate) fn of_cells(
    base: &Scenario,
    axes: &[String],
    seeds: &Range<u64>,
    cells: Vec<Cell>,
) -> anyhow::Result<locklab_results::Sweep> {
    Ok(locklab_results::Sweep {
        scenario: base.name.clone(),
        title: base.title.clone(),
        overrides: base.overrides.clone(),
        axes: (Grid::parse(axes)?
            .paths()
            .map(|path| scenario::axis(base, path)))
        .collect(),
        first_seed: seeds.start,
        seeds: seeds.end - seeds.start,
        seeding: Seeding::Common,
        cells,
    })
}

/// An error in a cell, with overrides in its text replaced by the axes that the user gave.
fn blame_axis(error: &ScenarioError, parameters: &[(String, String)]) -> anyhow::Error {
    let blame =
        |told: String, set: String| told.replace(&format!("--set {set}"), &format!("--vary {set}"));
    let told = overrides(parameters)
        .into_iter()
        .fold(error.to_string(), blame);
    anyhow!(told)
}

impl Sweep {
    /// One line per cell with its parameters and the headline's rate, then a command line to paste,
    /// which shows the earliest violation.
    fn lines(&self, sweep: &locklab_results::Sweep, session: &Session) -> Vec<String> {
        let headline = self.options.properties.first().copied();
        let headline = headline.unwrap_or_else(|| self.base.headline());
        let runs = thousands(sweep.seeds);
        let seeds = match sweep.seeding {
            Seeding::Common => "the same seeds in each",
            Seeding::Independent => "different seeds in each",
        };
        let heading = match sweep.cells.iter().any(|cell| cell.loss.is_some()) {
            true => format!("  loss rates, {runs} runs in each cell, {seeds}"),
            false => format!("  violations of {headline}, {runs} runs in each cell, {seeds}"),
        };
        let mut lines = vec![layout::fold(&heading)];
        let labels: Vec<String> = sweep
            .cells
            .iter()
            .map(|cell| overrides(&cell.parameters).join(" "))
            .collect();
        let measured = |cell: &Cell| match &cell.loss {
            Some(loss) => loss.describe(),
            None => {
                let tally = cell.tallies.get(&headline);
                tally.copied().unwrap_or_default().describe()
            }
        };
        let rows = labels.into_iter().zip(&sweep.cells);
        let rows: Vec<Vec<String>> = rows
            .map(|(label, cell)| vec![label, measured(cell)])
            .collect();
        lines.push(layout::rows(&rows));
        let violations = sweep
            .cells
            .iter()
            .filter_map(|cell| Some((*cell.shortest.get(&headline)?, cell)));
        if let Some((shortest, cell)) = violations.min_by_key(|(shortest, _)| *shortest) {
            let sets = self.sets(&cell.parameters);
            let line = session
                .program
                .run_line(&self.options.scenario, &sets, shortest.seed);
            lines.push(format!("  shortest {line}"));
        }
        lines
    }
}

/// The properties to draw; empty means the chart's default.
pub(crate) fn charted(asked: &[Property], base: &Scenario) -> Vec<Property> {
    match (asked, base.headline()) {
        // The default draws both of the first two; for the third it draws the loss rate.
        ([], Property::Lease | Property::Resource | Property::AcknowledgedLost) => Vec::new(),
        ([], headline) => vec![headline],
        (asked, _) => asked.to_vec(),
    }
}

/// Where the chart of a sweep comes from.
pub(crate) fn provenance(sweep: &locklab_results::Sweep) -> Provenance {
    Provenance {
        subject: sweep.scenario.clone(),
        overrides: sweep.overrides.clone(),
        seeds: match sweep.seeding {
            Seeding::Common => {
                let end = sweep.first_seed + sweep.seeds;
                format!("seeds {}..{end} in each cell", sweep.first_seed)
            }
            Seeding::Independent => match sweep.first_seed {
                0 => format!("{} seeds of its own in each cell", sweep.seeds),
                first => format!(
                    "{} seeds of its own from {first} on in each cell",
                    sweep.seeds
                ),
            },
        },
        environment: "simulated world".into(),
    }
}

/// A sweep's results, for programs.
fn data_of(sweep: &locklab_results::Sweep) -> Value {
    let tally =
        |(property, tally): (&Property, &Tally)| (property.name().into(), describe::rates(tally));
    let cell = |cell: &Cell| {
        let parameters = cell.parameters.iter().cloned();
        let parameters = parameters.map(|(path, value)| (path, Value::from(value)));
        let mut value = json!({
            "parameters": parameters.collect::<serde_json::Map<_, _>>(),
            "properties": cell.tallies.iter().map(tally).collect::<serde_json::Map<_, _>>(),
            "shortest": cell.shortest,
            "fingerprint": format!("{:016x}", cell.fingerprint),
        });
        if let Some(loss) = &cell.loss {
            value["loss"] = describe::loss(loss);
        }
        value
    };
    let mut value = json!({
        "scenario": sweep.scenario,
        "title": sweep.title,
        "axes": sweep.axes,
        "runs_in_each_cell": sweep.seeds,
        "common_random_numbers": sweep.seeding == Seeding::Common,
        "cells": sweep.cells.iter().map(cell).collect::<Vec<_>>(),
    });
    if sweep.first_seed > 0 {
        value["first_seed"] = sweep.first_seed.into();
    }
    value
}
