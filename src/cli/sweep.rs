//! `locklab sweep`: a scenario over a grid of parameters.

use std::ops::Range;

use anyhow::{Context, anyhow, bail, ensure};
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde_json::Value;

use super::bug::Bug;
use super::resumable::Work;
use super::say::{self, tell};
use super::seeds::Seeds;
use super::store::Store;
use super::{Exit, Jobs, Out, PerRun, data, interrupt, pictures, report, scenario_completer};
use locklab_check::Property;
use locklab_evidence::thousands;
use locklab_model::scenario::grid::{Grid, overrides};
use locklab_model::scenario::{self, Scenario, ScenarioError, Source};
use locklab_report::chart::{self, ChartOptions, RateAxis};
use locklab_report::{Error, Provenance};
use locklab_results::{Cell, Seeding, Sweep, per_run};
use locklab_runner::batch::Job;
use locklab_runner::ledger::{self, Plan};

const EXAMPLES: &str = "\
Examples:
  locklab sweep kleppmann/k1
  locklab sweep kleppmann/k1 --vary fault.gc.duration_ms=0..3000/30 --seeds 500
  locklab sweep kleppmann/k1 --set 'fault.gc.duration_ms={exponential=1}' \\
      --vary fault.gc.duration_ms.exponential=250..5000/19
  locklab sweep redis-docs/r5 --vary lock.release=del,get-del,compare-del,watch-del

A sweep writes each cell as soon as it is finished. After Ctrl-C the same command does the
rest.

Exit codes: 0 the sweep is complete, whatever it found; 1 usage; 70 a bug in Locklab;
130 interrupted.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Options {
    /// The scenario: the name of a shipped one, or a file
    #[arg(value_name = "SCENARIO", add = scenario_completer())]
    scenario: String,
    /// Vary a value: path=v1,v2,… or path=from..to/steps; several form a grid
    #[arg(long, value_name = "PATH=VALUES")]
    vary: Vec<String>,
    /// Seeds of each cell: 0..N, or A..B, the end excluded; by default what the scenario says
    #[arg(long, value_name = "N|A..B", allow_hyphen_values = true)]
    seeds: Option<Seeds>,
    /// Give every cell its own seeds, so that errors are independent; by default all use the
    /// same seeds (common random numbers), which is best for comparing them
    #[arg(long)]
    independent_seeds: bool,
    /// Override a value of the scenario; may be given several times
    #[arg(long = "set", value_name = "PATH=VALUE")]
    sets: Vec<String>,
    /// Properties to chart; by default what the scenario is about: lease and resource, or
    /// else its headline
    #[arg(long, value_name = "PROPERTY", value_delimiter = ',', hide_possible_values = true,
          value_parser = property_parser())]
    property: Vec<Property>,
    /// Let the rate axis end just above the data instead of at 100 %
    #[arg(long)]
    fit: bool,
    /// Discard the results of an earlier sweep of the same grid
    #[arg(long)]
    fresh: bool,
    #[command(flatten)]
    per_run: PerRun,
    /// Print the results as JSON on standard output
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    out: Out,
    #[command(flatten)]
    jobs: Jobs,
}

fn property_parser() -> impl TypedValueParser<Value = Property> {
    PossibleValuesParser::new(Property::ALL.map(|property| property.name()))
        .try_map(|name| name.parse::<Property>())
}

pub(super) fn sweep(options: &Options) -> anyhow::Result<Exit> {
    let source = Source::find(&options.scenario)?;
    let base = source.scenario(&options.sets)?;
    let (axes, seeds) = plan(options, &base)?;
    let seeding = match options.independent_seeds {
        true => Seeding::Independent,
        false => Seeding::Common,
    };
    let jobs = jobs(&source, &options.sets, &axes, |place| {
        seeding.seeds(place, seeds.range())
    })?;
    for property in &options.property {
        let why = jobs
            .iter()
            .find_map(|job| job.scenario.why_not_judged(*property));
        if let Some(why) = why {
            bail!("--property {property}: {why}");
        }
    }
    let store = Store::open(&options.out)?.of_scenario(&base.name, &[])?;
    let plan = Plan {
        sweep: &base,
        sets: &options.sets,
        axes: &axes,
        first_seed: seeds.first(),
        seeds: seeds.count(),
        seeding,
        detail: options.per_run.detail(),
        build: ledger::this_build().context("cannot read this program's own file")?,
    };
    let path = store.path(&format!("sweep-{}.jsonl", plan.id()));
    tell!("{}", report::heading(&base));
    let work = Work {
        jobs: &jobs,
        doing: "sweeping",
        threads: options.jobs.threads(),
        detail: options.per_run.detail(),
        stop: interrupt::flag()?,
        bug: &|broken| {
            let sets = sets(options, &jobs[broken.job].parameters);
            let reproduce = say::run_line(&options.scenario, &sets, broken.seed);
            Bug::or_usage(broken, &options.scenario, reproduce)
        },
    };
    let cells = work.run(&path, &plan.header(), options.fresh)?;
    let finished: Vec<Cell> = cells.into_iter().flatten().collect();
    let complete = finished.len() == jobs.len();
    let sweep = Sweep {
        seeding,
        ..of_cells(&base, &axes, &seeds, finished)?
    };
    show(options, &sweep, &base);
    conclude(options, &store, &plan.id(), &sweep, &base)?;
    if !complete {
        let (done, all) = (sweep.cells.len(), jobs.len());
        tell!("  interrupted after {done} of {all} cells; the same command does the rest");
        return Ok(Exit::Interrupted);
    }
    Ok(Exit::AsPredicted)
}

/// The axes and the seeds, from the options or else from the scenario.
fn plan(options: &Options, base: &Scenario) -> anyhow::Result<(Vec<String>, Seeds)> {
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
    let by_default = || Seeds::from_zero(own.map_or(1000, |own| own.seeds));
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
pub(super) fn jobs(
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
pub(super) fn of_cells(
    base: &Scenario,
    axes: &[String],
    seeds: &Seeds,
    cells: Vec<Cell>,
) -> anyhow::Result<Sweep> {
    Ok(Sweep {
        scenario: base.name.clone(),
        title: base.title.clone(),
        overrides: base.overrides.clone(),
        axes: (Grid::parse(axes)?
            .paths()
            .map(|path| scenario::axis(base, path)))
        .collect(),
        first_seed: seeds.first(),
        seeds: seeds.count(),
        seeding: Seeding::Common,
        cells,
    })
}

/// The overrides for the scenario of a cell.
fn sets(options: &Options, parameters: &[(String, String)]) -> Vec<String> {
    [options.sets.clone(), overrides(parameters)].concat()
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

/// Prints one line per cell with its parameters and the headline's rate, then a command line to
/// paste, which shows the earliest violation.
fn show(options: &Options, sweep: &Sweep, base: &Scenario) {
    let headline = options.property.first().copied();
    let headline = headline.unwrap_or_else(|| base.headline());
    let runs = thousands(sweep.seeds);
    let seeds = match sweep.seeding {
        Seeding::Common => "the same seeds in each",
        Seeding::Independent => "different seeds in each",
    };
    match sweep.cells.iter().any(|cell| cell.loss.is_some()) {
        true => tell!("  loss rates, {runs} runs in each cell, {seeds}"),
        false => tell!("  violations of {headline}, {runs} runs in each cell, {seeds}"),
    }
    let labels: Vec<String> = sweep
        .cells
        .iter()
        .map(|cell| overrides(&cell.parameters).join(" "))
        .collect();
    let width = labels.iter().map(|label| label.chars().count()).max();
    let width = width.unwrap_or_default();
    for (cell, label) in sweep.cells.iter().zip(&labels) {
        let tally = cell.tallies.get(&headline).copied().unwrap_or_default();
        let measured = match &cell.loss {
            Some(loss) => loss.describe(),
            None => tally.describe(),
        };
        tell!("  {label:<width$}  {measured}");
    }
    let violations = sweep
        .cells
        .iter()
        .filter_map(|cell| Some((*cell.shortest.get(&headline)?, cell)));
    if let Some((shortest, cell)) = violations.min_by_key(|(shortest, _)| *shortest) {
        let sets = sets(options, &cell.parameters);
        tell!(
            "  shortest {}",
            say::run_line(&options.scenario, &sets, shortest.seed)
        );
    }
}

/// The properties to draw; empty means the chart's default.
pub(super) fn charted(asked: &[Property], base: &Scenario) -> Vec<Property> {
    match (asked, base.headline()) {
        // The default draws both of the first two; for the third it draws the loss rate.
        ([], Property::Lease | Property::Resource | Property::AcknowledgedLost) => Vec::new(),
        ([], headline) => vec![headline],
        (asked, _) => asked.to_vec(),
    }
}

/// Writes the results and the chart.
fn conclude(
    options: &Options,
    store: &Store,
    id: &str,
    sweep: &Sweep,
    base: &Scenario,
) -> anyhow::Result<()> {
    let overrides = data::parameters(&sweep.overrides);
    let mut document = report::sweep_json(sweep);
    let named = overrides.iter();
    let named = named.map(|(path, value)| (path.clone(), Value::from(value.as_str())));
    document["parameters"] = Value::Object(named.collect());
    let document = data::document("sweep", document);
    let table = data::table(&sweep.scenario, "world", &overrides, &sweep.cells, &[]);
    let mut files = vec![
        ("json", serde_json::to_vec_pretty(&document)?),
        ("csv", table.text().into_bytes()),
    ];
    if options.per_run.per_run {
        let runs = per_run::csv(&sweep.scenario, "world", &overrides, &sweep.cells);
        files.push(("runs.csv", runs.text().into_bytes()));
    }
    for (ending, contents) in files {
        let path = store.write(&format!("sweep-{id}.{ending}"), &contents)?;
        tell!("  results  {}", path.display());
    }
    let chart_options = ChartOptions {
        properties: charted(&options.property, base),
        rate_axis: if options.fit {
            RateAxis::Fitted
        } else {
            RateAxis::Full
        },
    };
    match chart::draw(sweep, &chart_options) {
        Ok(picture) => {
            let provenance = provenance(sweep);
            for path in pictures::write(store, &format!("sweep-{id}"), picture, &provenance)? {
                tell!("  chart    {}", path.display());
            }
        }
        Err(error @ Error::NothingJudged { .. }) => tell!("  no chart: {error}"),
        Err(error) => return Err(error.into()),
    }
    if options.json {
        say::print_json(&document)?;
    }
    Ok(())
}

/// Where the chart of a sweep comes from.
pub(super) fn provenance(sweep: &Sweep) -> Provenance {
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
