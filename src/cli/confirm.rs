//! `locklab confirm`: scenarios in the simulator and on real Redis, side by side.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::Ordering;
use std::time::Instant;

use anyhow::{Context, anyhow, ensure};
use clap::Args;
use locklab_values::units::fractional_ms_from_ns;
use serde_json::json;

mod outcome;

use self::outcome::{How, Line, Report};
use super::number::whole;
use super::progress::Progress;
use super::run::blame;
use super::say::{self, tell};
use super::store::Store;
use super::{Bug, Exit, Jobs, Out, cells, interrupt, scenario_completer, table};
use locklab_model::scenario::{SHIPPED, Scale, Scenario, Source};
use locklab_real::jitter::{Jitter, drowned};
use locklab_real::series::{Confirmed, LONGEST_STALL_NS, Runs, Series};
use locklab_real::{Programs, RealRedis};
use locklab_report::Provenance;
use locklab_results::recording::VERSION;
use locklab_results::{Cell, Detail};
use locklab_runner::ledger::{self, Ledger};
use locklab_runner::pool::lock;

const EXAMPLES: &str = "\
Examples:
  locklab confirm                          every shipped scenario that real Redis can run
  locklab confirm kleppmann/k1 redis-docs/r4
  locklab confirm --runs 20 --most 100     with more runs of each
  locklab confirm --scale 0.2 --at-once 6  every duration a fifth, of a lease and of a run
  LOCKLAB_REDIS_SERVER=/opt/valkey/bin/valkey-server locklab confirm

Each scenario runs in the simulator and on real Redis, where a run takes as long as it says. Two
rates differ if Fisher's exact test says so at p < 0.001; where it leaves them in doubt (p < 0.05),
more runs are made. A run during which the machine stood still for more than 50 ms is discarded.

--scale shortens scenarios, in the simulator too. It skips those whose rates change with it there,
because Redis's own periods do not shrink, or because of this machine's jitter, which is
measured at the start and added to every message there.

Results are written as they come. After Ctrl-C the same command does the rest.

Exit codes: 0 the rates agree; 1 usage; 2 rates differ; 3 unclear, or a run failed;
130 interrupted.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Options {
    /// Scenarios: names of shipped ones, or files; by default all that ship
    #[arg(value_name = "SCENARIO", add = scenario_completer())]
    scenarios: Vec<String>,
    /// Runs of each scenario on real Redis
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = whole::<u64>(1..=10_000))]
    runs: u64,
    /// Runs of a scenario for which world and real Redis may differ
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = whole::<u64>(1..=10_000))]
    most: u64,
    /// Override a value of every scenario; may be given several times
    #[arg(long = "set", value_name = "PATH=VALUE")]
    sets: Vec<String>,
    /// Multiply all durations of every scenario by this; above 0, at most 1
    #[arg(long, value_name = "FACTOR", default_value_t = Scale::FULL)]
    scale: Scale,
    /// Runs on real Redis at the same time; by default twelve for each core, since most of a
    /// run is waiting
    #[arg(long, value_name = "N", value_parser = whole::<u16>(1..=64))]
    at_once: Option<u16>,
    /// Discard the results of an earlier, interrupted command
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

pub(super) fn confirm(options: &Options) -> anyhow::Result<Exit> {
    let begun = Instant::now();
    let programs = Programs::find()?;
    let version = locklab_real::version(&programs)?;
    let (scenarios, mut refused) = choose(options)?;
    let (scenarios, worlds) = match options.scale == Scale::FULL {
        true => {
            let worlds = worlds(options, &scenarios)?;
            (scenarios, worlds)
        }
        false => shorten(options, &programs, scenarios, &mut refused)?,
    };
    for (scenario, why) in &refused {
        tell!("left out: {}: {why}", scenario.name);
    }
    ensure!(
        !scenarios.is_empty(),
        "none of the scenarios can be compared with real Redis"
    );
    let store = Store::open(&options.out)?;
    let header = header(options, &scenarios, &version)?;
    let path = store.path("confirm.jsonl");
    let (ledger, done) = Ledger::open::<Confirmed>(&path, &header, options.fresh)
        .with_context(|| format!("cannot keep the results in {}", path.display()))?;
    let scenarios: Vec<(Scenario, Cell)> = scenarios.into_iter().zip(worlds).collect();
    let results = run(options, programs, &scenarios, done, ledger)?;
    let how = How {
        version: &version,
        scale: options.scale,
        seconds: begun.elapsed().as_secs(),
    };
    let report = Report::new(&how, &scenarios, &results, &refused);
    tell!("{}", report.table.plain());
    let provenance = Provenance {
        subject: format!("{} scenarios", results.len()),
        overrides: options.sets.clone(),
        seeds: format!(
            "seeds from 0 on: in the world as many as the predictions need, on Redis {} to {}",
            runs(options).least,
            runs(options).most
        ),
        environment: format!("simulated world and Redis {version}"),
    };
    table::write(
        &store,
        "confirm",
        &report.table,
        &report.list,
        &report.data,
        &provenance,
    )?;
    if options.json {
        say::print_json(&report.data)?;
    }
    if results.len() < scenarios.len() {
        tell!(
            "{} of {} scenarios are done; the same command does the rest",
            results.len(),
            scenarios.len()
        );
        return Ok(Exit::Interrupted);
    }
    Ok(report.exit)
}

type Refused = Vec<(Scenario, String)>;

/// The scenarios that can be compared, and the others with the reason. One that was asked for by
/// name and cannot run is an error.
fn choose(options: &Options) -> anyhow::Result<(Vec<Scenario>, Refused)> {
    let shipped: Vec<String> = SHIPPED.iter().map(|(name, _)| (*name).into()).collect();
    let names = match options.scenarios.is_empty() {
        true => &shipped,
        false => &options.scenarios,
    };
    let (mut scenarios, mut refused) = (Vec::new(), Vec::new());
    let mut seen: Vec<String> = Vec::new();
    for name in names {
        let source = Source::find(name)?;
        ensure!(
            !seen.iter().any(|other| other == source.file()),
            "{name} is given twice"
        );
        seen.push(source.file().into());
        let scenario = source.scenario(&options.sets);
        let scenario = scenario.map_err(|error| blame(error, name, names))?;
        match locklab_real::why_not(&scenario) {
            None if scenario.expect.is_empty() => {
                refused.push((
                    scenario,
                    "it predicts nothing that could be compared".into(),
                ));
            }
            None => scenarios.push(scenario),
            Some(why) if options.scenarios.is_empty() => refused.push((scenario, why.to_string())),
            Some(why) => return Err(why).with_context(|| format!("{name} on real Redis")),
        }
    }
    Ok((scenarios, refused))
}

/// What identifies the work of this command: results of other scenarios, another build or another
/// Redis are not continued.
fn header(options: &Options, scenarios: &[Scenario], version: &str) -> anyhow::Result<String> {
    let build = ledger::this_build().context("cannot read this program's own file")?;
    let runs = runs(options);
    let header = json!({
        "locklab": VERSION,
        "build": format!("{build:016x}"),
        "redis": version,
        "runs": runs,
        "scenarios": scenarios,
    });
    Ok(header.to_string())
}

fn runs(options: &Options) -> Runs {
    Runs {
        least: options.runs,
        most: options.most.max(options.runs),
    }
}

fn worlds(options: &Options, scenarios: &[Scenario]) -> anyhow::Result<Vec<Cell>> {
    let seeds: Vec<_> = scenarios.iter().map(|s| 0..s.usual_seeds()).collect();
    let threads = options.jobs.threads();
    cells::run(scenarios, &seeds, threads, Detail::Counts).map_err(|broken| {
        let name = &scenarios[broken.job].name;
        let reproduce = say::run_line(name, &options.sets, broken.seed);
        Bug::or_usage(broken, name, reproduce)
    })
}

/// Shortens the scenarios; returns those that still show what they show, with their runs in the
/// world.
fn shorten(
    options: &Options,
    programs: &Programs,
    scenarios: Vec<Scenario>,
    refused: &mut Refused,
) -> anyhow::Result<(Vec<Scenario>, Vec<Cell>)> {
    let jitter = Jitter::measure(programs, at_once(options));
    let jitter = jitter.context("cannot measure this machine's jitter")?;
    tell!(
        "this machine's jitter: 99 of 100 messages are late by at most {:.1} ms; a server's process \
         starts within {:.0} ms",
        fractional_ms_from_ns(jitter.message_ns),
        fractional_ms_from_ns(jitter.start_ns)
    );
    let (mut full, mut shortened) = (vec![], vec![]);
    let mut leave_out = |scenario: Scenario, why: String| match options.scenarios.is_empty() {
        true => {
            refused.push((scenario, why));
            Ok(())
        }
        false => Err(anyhow!(
            "{} at scale {}: {why}",
            scenario.name,
            options.scale
        )),
    };
    for scenario in scenarios {
        match scenario.scaled(options.scale) {
            Ok(scaled) => {
                full.push(scenario);
                shortened.push(scaled);
            }
            Err(why) => leave_out(scenario, why)?,
        }
    }
    let late: Vec<Scenario> = shortened.iter().map(|s| jitter.added_to(s)).collect();
    let (full, late) = (worlds(options, &full)?, worlds(options, &late)?);
    let cells = worlds(options, &shortened)?;
    let (mut kept, mut worlds) = (vec![], vec![]);
    for (place, (scenario, world)) in shortened.into_iter().zip(cells).enumerate() {
        match drowned(&scenario, &full[place], &world, &late[place]) {
            None => {
                kept.push(scenario);
                worlds.push(world);
            }
            Some(why) => leave_out(scenario, why)?,
        }
    }
    Ok((kept, worlds))
}

/// How many runs on real Redis at the same time.
fn at_once(options: &Options) -> usize {
    let asked = options.at_once.map(usize::from);
    asked.unwrap_or(12 * options.jobs.threads())
}

/// Runs what is not done yet; returns the result of each finished scenario.
fn run(
    options: &Options,
    programs: Programs,
    scenarios: &[(Scenario, Cell)],
    done: BTreeMap<usize, Confirmed>,
    ledger: Ledger,
) -> anyhow::Result<BTreeMap<usize, Confirmed>> {
    if !done.is_empty() {
        tell!(
            "{} of {} scenarios were already done",
            done.len(),
            scenarios.len()
        );
    }
    let open: Vec<usize> = (0..scenarios.len())
        .filter(|place| !done.contains_key(place))
        .collect();
    let stop = interrupt::flag()?;
    let progress = Progress::of("on real Redis", "scenarios", open.len() as u64);
    let state = Mutex::new((done, ledger, None));
    let finished = |place: usize, confirmed: &Confirmed| {
        let (done, ledger, failed) = &mut *lock(&state);
        if let Err(error) = ledger.add(place, confirmed) {
            stop.store(true, Ordering::Relaxed);
            *failed = Some(error);
        }
        done.insert(place, confirmed.clone());
        let (scenario, world) = &scenarios[place];
        let line = Line::of(scenario, world, confirmed).sentence();
        let (done, all) = (done.len(), scenarios.len());
        progress.aside(|| tell!("[{done} of {all}] {line}"));
        progress.add(1);
    };
    let series = Series {
        backend: &RealRedis { programs, stop },
        scenarios,
        runs: runs(options),
        longest_stall_ns: options.scale.of_ns(LONGEST_STALL_NS),
        stop,
        finished: &finished,
    };
    series.run(open.into_iter(), at_once(options));
    progress.clear();
    let (done, _, failed) = state
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    match failed {
        Some(error) => Err(error).context("cannot keep the results"),
        None => Ok(done),
    }
}
