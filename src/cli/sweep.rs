//! `locklab sweep`: a scenario over a grid of parameters.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, ensure};
use clap::Args;

use super::progress::Progress;
use super::store::Store;
use super::{Exit, Jobs, Out, report, scenario_candidates};
use crate::check::Property;
use crate::report::chart::{self, ChartOptions, RateAxis};
use crate::report::{Error, Format};
use crate::runner::batch::{self, Conduct, Job};
use crate::runner::ledger::{Ledger, Plan};
use crate::runner::results::{Cell, Sweep};
use crate::scenario::grid::{Grid, overrides};
use crate::scenario::{self, Scenario};
use crate::stats::thousands;

const EXAMPLES: &str = "\
Examples:
  locklab sweep kleppmann/k1
  locklab sweep kleppmann/k1 --vary fault.gc.duration_ms=0..3000/30 --seeds 500
  locklab sweep kleppmann/k1 --set fault.gc.duration_ms.exponential=1 \\
      --vary fault.gc.duration_ms.exponential=250..5000/19
  locklab sweep redis-docs/r5 --vary lock.release=del,get-del,compare-del,watch-del

A sweep writes each cell as it is finished. Ctrl-C ends it with the cells that are; the
same command later does the rest.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Options {
    /// The scenario: the name of a shipped one, or a file
    #[arg(value_name = "SCENARIO", add = scenario_candidates())]
    scenario: String,
    /// Vary a value: path=v1,v2,… or path=from..to/steps; several multiply
    #[arg(long, value_name = "PATH=VALUES")]
    vary: Vec<String>,
    /// Runs in each cell; by default what the scenario says
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    seeds: Option<u64>,
    /// Override a value of the scenario; may be given several times
    #[arg(long = "set", value_name = "PATH=VALUE")]
    sets: Vec<String>,
    /// Properties to chart; by default Bd and R
    #[arg(long, value_name = "PROPERTY", value_delimiter = ',')]
    property: Vec<Property>,
    /// Let the rate axis end just above the data instead of at 100 %
    #[arg(long)]
    fit: bool,
    /// Forget what an earlier sweep of the same grid has done
    #[arg(long)]
    fresh: bool,
    /// Print the results as JSON on standard output
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    out: Out,
    #[command(flatten)]
    jobs: Jobs,
}

pub(super) fn sweep(options: &Options) -> anyhow::Result<Exit> {
    let base = scenario::load(&options.scenario, &options.sets)?;
    let (axes, seeds) = plan(options, &base)?;
    let jobs = jobs(options, &axes, seeds)?;
    let store = Store::open(&options.out.out)?.of_scenario(&base.name)?;
    let plan = Plan {
        sweep: &base,
        sets: &options.sets,
        axes: &axes,
        seeds,
    };
    let path = store.path(&format!("sweep-{}.jsonl", plan.id()));
    let (ledger, done) = Ledger::open(&path, &plan, options.fresh)
        .with_context(|| format!("cannot keep the sweep's results in {}", path.display()))?;
    eprintln!("{}", report::heading(&base));
    if !done.is_empty() {
        eprintln!(
            "  {} of {} cells are there from before",
            done.len(),
            jobs.len()
        );
    }
    let interrupted = interrupt_flag()?;
    let cells = run(&jobs, done, ledger, options.jobs.threads(), interrupted)?;
    let finished: Vec<Cell> = cells.into_iter().flatten().collect();
    let complete = finished.len() == jobs.len();
    let sweep = Sweep {
        scenario: base.name.clone(),
        title: base.title.clone(),
        seeds,
        cells: finished,
    };
    tell(&sweep, &base);
    conclude(options, &store, &plan.id(), &sweep)?;
    if !complete {
        let (done, all) = (sweep.cells.len(), jobs.len());
        eprintln!("  interrupted after {done} of {all} cells; the same command does the rest");
        return Ok(Exit::Interrupted);
    }
    Ok(Exit::AsPredicted)
}

/// The axes and the number of seeds, from the options or else from the scenario.
fn plan(options: &Options, base: &Scenario) -> anyhow::Result<(Vec<String>, u64)> {
    let own = base.sweep.as_ref();
    let axes = match own {
        Some(own) if options.vary.is_empty() => own.vary.clone(),
        _ => options.vary.clone(),
    };
    ensure!(
        !axes.is_empty(),
        "{} has no sweep of its own; say what to vary, such as --vary lock.ttl_ms=500,1000,2000",
        base.name
    );
    let seeds = options.seeds.or(own.map(|own| own.seeds)).unwrap_or(1000);
    Ok((axes, seeds))
}

/// One job for each cell. A cell that makes an impossible scenario is an error before
/// anything runs.
fn jobs(options: &Options, axes: &[String], seeds: u64) -> anyhow::Result<Vec<Job>> {
    let grid = Grid::parse(axes)?;
    let job = |parameters: Vec<(String, String)>| {
        let sets = [options.sets.clone(), overrides(&parameters)].concat();
        let scenario = scenario::load(&options.scenario, &sets)?;
        Ok(Job {
            scenario,
            parameters,
            seeds: 0..seeds,
        })
    };
    grid.cells().into_iter().map(job).collect()
}

/// Runs the jobs that are not done yet; each cell goes into the ledger when finished.
fn run(
    jobs: &[Job],
    done: BTreeMap<usize, Cell>,
    ledger: Ledger,
    threads: usize,
    stop: &AtomicBool,
) -> anyhow::Result<Vec<Option<Cell>>> {
    let open: Vec<usize> = (0..jobs.len())
        .filter(|place| !done.contains_key(place))
        .collect();
    let rest: Vec<Job> = open.iter().map(|place| jobs[*place].clone()).collect();
    let runs = rest.iter().map(|job| job.seeds.end - job.seeds.start).sum();
    let progress = Progress::new("sweeping", runs);
    let ledger = Mutex::new(ledger);
    let failed = Mutex::new(None);
    let conduct = Conduct {
        threads,
        stop,
        progress: &|runs| progress.add(runs),
        finished: &|place, cell| {
            let mut ledger = ledger.lock().unwrap_or_else(|e| e.into_inner());
            if let Err(error) = ledger.add(open[place], cell) {
                failed
                    .lock()
                    .unwrap_or_else(|e| e.into_inner())
                    .get_or_insert(error);
                stop.store(true, Ordering::Relaxed);
            }
        },
    };
    let new = batch::run(&rest, &conduct);
    progress.clear();
    if let Some(error) = failed.into_inner().unwrap_or_else(|e| e.into_inner()) {
        return Err(error).context("cannot write down a finished cell");
    }
    let mut cells: Vec<Option<Cell>> = (0..jobs.len())
        .map(|place| done.get(&place).cloned())
        .collect();
    for (place, cell) in open.into_iter().zip(new) {
        cells[place] = cell;
    }
    Ok(cells)
}

/// Set by Ctrl-C. A second Ctrl-C ends the program at once.
fn interrupt_flag() -> anyhow::Result<&'static AtomicBool> {
    static INTERRUPTED: AtomicBool = AtomicBool::new(false);
    ctrlc::set_handler(|| {
        if INTERRUPTED.swap(true, Ordering::Relaxed) {
            std::process::exit(Exit::Interrupted as i32);
        }
    })
    .context("cannot watch for Ctrl-C")?;
    Ok(&INTERRUPTED)
}

/// A line for each cell: its parameters, and the headline's rate.
fn tell(sweep: &Sweep, base: &Scenario) {
    let headline = base.headline();
    let runs = thousands(sweep.seeds);
    eprintln!("  violations of {headline}, {runs} runs in each cell");
    for cell in &sweep.cells {
        let parameters: Vec<String> = cell
            .parameters
            .iter()
            .map(|(path, value)| format!("{path}={value}"))
            .collect();
        let tally = cell.tallies.get(&headline).copied().unwrap_or_default();
        eprintln!("  {:<44} {}", parameters.join(" "), tally.rate());
    }
}

/// Writes the results and the chart.
fn conclude(options: &Options, store: &Store, id: &str, sweep: &Sweep) -> anyhow::Result<()> {
    let data = store.write(
        &format!("sweep-{id}.json"),
        &serde_json::to_vec_pretty(sweep)?,
    )?;
    eprintln!("  results  {}", data.display());
    let chart_options = ChartOptions {
        properties: options.property.clone(),
        reference: None,
        rate_axis: if options.fit {
            RateAxis::Fitted
        } else {
            RateAxis::Full
        },
    };
    for (format, ending) in [(Format::Svg, "svg"), (Format::Png, "png")] {
        match chart::draw(sweep, &chart_options, format) {
            Ok(picture) => {
                let path = store.write(&format!("sweep-{id}.{ending}"), &picture)?;
                eprintln!("  chart    {}", path.display());
            }
            Err(error @ Error::NothingJudged { .. }) => {
                eprintln!("  no chart: {error}");
                break;
            }
            Err(error) => return Err(error.into()),
        }
    }
    if options.json {
        report::print_json(sweep)?;
    }
    Ok(())
}
