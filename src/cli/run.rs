//! `locklab run`: scenarios with some seeds, judged.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, anyhow, bail, ensure};
use clap::{Args, ValueEnum};
use locklab_values::units::NS_PER_MS;
use serde_json::{Value, json};

use super::bug::Bug;
use super::cells::{self, Kept};
use super::pictures::{self, Evidence};
use super::progress::Progress;
use super::say::{self, tell};
use super::seeds::{self, Seeds};
use super::store::{self, Store};
use super::{Exit, Jobs, Out, PerRun, data, interrupt, report, scenario_completer, twice};
use locklab_check::Property;
use locklab_evidence::Judgement;
use locklab_model::scenario::{Drawn, Place, SHIPPED, Scenario, ScenarioError, Source};
use locklab_real::series::{LONGEST_STALL_NS, attempt};
use locklab_real::{Programs, RealRedis};
use locklab_results::recording::{Environment, Recording};
use locklab_results::{Cell, Detail, per_run};
use locklab_runner::backend::{Backend, World};
use locklab_runner::judged::{self, JudgedRun};
use locklab_runner::pool::Broken;
use locklab_runner::prediction::{Comparison, compare};
use locklab_runner::simulate::Keep;

const EXAMPLES: &str = "\
Examples:
  locklab run kleppmann/k1
  locklab run kleppmann/k1 my/own.toml --seeds 0..1000
  locklab run redis-docs/r5 --set lock.release=compare-del --set workload.hold_ms=500
  locklab run kleppmann/k1 --on redis
  locklab run --all --twice --seeds 0..20";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Options {
    /// Scenarios: names of shipped ones, or files
    #[arg(value_name = "SCENARIO", required_unless_present = "all", add = scenario_completer())]
    scenarios: Vec<String>,
    /// Run every shipped scenario
    #[arg(long, conflicts_with = "scenarios")]
    all: bool,
    /// Run with this seed only
    #[arg(long, value_name = "N", conflicts_with = "seeds", value_parser = seeds::one)]
    seed: Option<u64>,
    /// Run with the seeds 0..N, or A..B, the end excluded; by default as many as the
    /// scenario's predictions need, at least 100, in the world, and 1 on real Redis
    #[arg(long, value_name = "N|A..B", allow_hyphen_values = true)]
    seeds: Option<Seeds>,
    /// Override a value of the scenario; may be given several times
    #[arg(long = "set", value_name = "PATH=VALUE")]
    sets: Vec<String>,
    /// Where to run
    #[arg(long, value_enum, value_name = "WHERE", default_value_t = On::World)]
    on: On,
    /// Run everything twice and compare every event
    #[arg(long)]
    twice: bool,
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum On {
    /// The simulated world, any number of runs in virtual time
    World,
    /// redis-servers of its own on this machine, in real time
    Redis,
}

impl On {
    /// What runs there: the one place where a backend is chosen.
    fn backend(self) -> anyhow::Result<Box<dyn Backend>> {
        Ok(match self {
            On::World => Box::new(World),
            On::Redis => Box::new(RealRedis::new(Programs::find()?)),
        })
    }
}

pub(super) fn run(options: &Options) -> anyhow::Result<Exit> {
    let names = names(options);
    let mut scenarios = load(&names, &options.sets)?;
    if options.all && options.on == On::Redis {
        scenarios.retain(|scenario| match locklab_real::why_not(scenario) {
            None => true,
            Some(why) => {
                tell!("left out: {}: {why}", scenario.name);
                false
            }
        });
    }
    let backend = &*options.on.backend()?;
    let seeds = |scenario| seeds(options, backend, scenario);
    let seeds: Vec<Range<u64>> = scenarios.iter().map(seeds).collect();
    let bug = |broken: Broken| {
        let name = &names[broken.job];
        let reproduce = say::run_line(name, &options.sets, broken.seed);
        Bug::or_usage(broken, name, reproduce)
    };
    if options.twice {
        ensure!(
            options.on == On::World,
            "--twice compares runs in the simulated world; no two runs on real Redis are alike"
        );
        let (exit, data) = twice::compare(&scenarios, &seeds, options.jobs.threads(), bug)?;
        if options.json {
            say::print_json(&data::document("run", data))?;
        }
        return Ok(exit);
    }
    let store = Store::open(&options.out)?;
    let mut exit = Exit::AsPredicted;
    let mut results = Vec::new();
    let detail = options.per_run.detail();
    let stop = interrupt::flag()?;
    let threads = options.jobs.threads();
    let path = store.path("run.jsonl");
    let cells = match options.on {
        On::World => {
            let how = Kept {
                doing: "running",
                threads,
                detail,
                stop,
                path: &path,
                bug: &bug,
            };
            cells::kept(&scenarios, &seeds, &how)?
        }
        On::Redis => vec![],
    };
    for (place, (scenario, seeds)) in scenarios.iter().zip(&seeds).enumerate() {
        let (cell, runs, mut recordings) = match cells.get(place) {
            Some((cell, runs)) => (cell.clone(), *runs, BTreeMap::new()),
            None => one_by_one(backend, scenario, seeds, detail, stop)?,
        };
        if runs == 0 {
            tell!("{}: not run", scenario.name);
            continue;
        }
        let comparisons = compare(scenario, &cell);
        tell!("{}", report::heading(scenario));
        tell!("{}", report::table(&comparisons));
        for line in report::measured(scenario, &cell) {
            tell!("  {line}");
        }
        let evidence = gather(
            scenario,
            seeds,
            &cell,
            &comparisons,
            &mut recordings,
            backend.environment(),
            &store,
        )?;
        evidence.iter().for_each(show);
        tell!();
        write_tables(options, &store, scenario, cell.clone(), &comparisons)?;
        exit = report::worse(exit, report::exit(&comparisons));
        results.push(result(
            backend.environment(),
            scenario,
            runs,
            &cell,
            &comparisons,
            &evidence,
        ));
    }
    if options.json {
        say::print_json(&data::document("run", json!({ "results": results })))?;
    }
    Ok(match stop.load(Ordering::Relaxed) {
        true => Exit::Interrupted,
        false => exit,
    })
}

/// Writes a table of the results, and if wanted one of the runs.
fn write_tables(
    options: &Options,
    store: &Store,
    scenario: &Scenario,
    cell: Cell,
    comparisons: &[Comparison],
) -> anyhow::Result<()> {
    let store = store.of_scenario(&scenario.name, &scenario.overrides)?;
    let (environment, stem) = match options.on {
        On::World => ("world", ""),
        On::Redis => ("redis", "redis-"),
    };
    let cells = [cell];
    let overrides = data::parameters(&scenario.overrides);
    let table = data::table(
        &scenario.name,
        environment,
        &overrides,
        &cells,
        &[comparisons],
    );
    store.write(&format!("{stem}results.csv"), table.text().as_bytes())?;
    if options.per_run.per_run {
        let runs = per_run::csv(&scenario.name, environment, &overrides, &cells);
        let path = store.write(&format!("{stem}runs.csv"), runs.text().as_bytes())?;
        tell!("    runs     {}\n", path.display());
    }
    Ok(())
}

/// The requested seeds, or the backend's default number of seeds.
fn seeds(options: &Options, backend: &dyn Backend, scenario: &Scenario) -> Range<u64> {
    match (options.seed, &options.seeds) {
        (Some(seed), _) => seed..seed + 1,
        (None, Some(seeds)) => seeds.range(),
        (None, None) => 0..backend.usual_seeds(scenario),
    }
}

fn names(options: &Options) -> Vec<String> {
    if options.all {
        SHIPPED.iter().map(|(name, _)| (*name).into()).collect()
    } else {
        options.scenarios.clone()
    }
}

fn load(names: &[String], sets: &[String]) -> anyhow::Result<Vec<Scenario>> {
    let mut folders = BTreeMap::new();
    let mut scenarios = Vec::new();
    for (place, name) in names.iter().enumerate() {
        // Before it is read: standard input has its text only once.
        ensure!(!names[..place].contains(name), "{name} is given twice");
        let source = Source::find(name)?;
        let scenario = source.scenario(sets);
        let scenario = scenario.map_err(|error| blame(error, name, names))?;
        let folder = store::folder_of(&scenario.name, sets);
        let file = source.file().to_owned();
        match folders.insert(folder.clone(), (name, file.clone())) {
            None => scenarios.push(scenario),
            Some((other, same)) if same == file => {
                bail!("{other} and {name} are the same scenario; name it once");
            }
            Some((other, _)) => {
                bail!(
                    "{other} and {name} would both write to the folder {folder}; run one at a time"
                );
            }
        }
    }
    Ok(scenarios)
}

/// An error with the name of the scenario where only an override is blamed, and there are several
/// scenarios.
pub(super) fn blame(error: ScenarioError, name: &str, names: &[String]) -> anyhow::Error {
    match error {
        ScenarioError::Invalid {
            place: Place::Option(_),
            ..
        } if names.len() > 1 => anyhow!("{name}: {error}"),
        error => error.into(),
    }
}

/// Runs a scenario with one seed after the other, until `stop` is set, and returns the number of
/// runs and the recordings by seed, for a backend whose runs cannot be repeated, so that they cannot
/// be recorded later.
fn one_by_one(
    backend: &dyn Backend,
    scenario: &Scenario,
    seeds: &Range<u64>,
    detail: Detail,
    stop: &AtomicBool,
) -> anyhow::Result<(Cell, u64, BTreeMap<u64, Recording>)> {
    let mut cell = Cell::default();
    let mut recordings = BTreeMap::new();
    let on_redis = format!("{} on real Redis", scenario.name);
    let progress = Progress::new(&on_redis, seeds.end - seeds.start);
    for seed in seeds.clone() {
        if stop.load(Ordering::Relaxed) {
            progress.clear();
            tell!(
                "stopped; --seeds {seed}..{} of {} does the rest",
                seeds.end,
                scenario.name
            );
            return Ok((cell, seed - seeds.start, recordings));
        }
        let Drawn { scenario, schedule } = scenario.drawn(seed);
        let doing = format!("{on_redis}, seed {seed}");
        progress.aside(|| tell!("{doing} …"));
        let keep = Keep::MESSAGES;
        let attempt = attempt(backend, &scenario, seed, &schedule, keep, LONGEST_STALL_NS);
        let attempt = attempt.map_err(anyhow::Error::from_boxed).context(doing)?;
        progress.add(1);
        if attempt.discarded > 0 {
            let (discarded, limit_ms) = (attempt.discarded, LONGEST_STALL_NS / NS_PER_MS);
            progress.aside(|| {
                tell!(
                    "discarded {discarded} of these runs: the machine stood still for more than \
                     {limit_ms} ms"
                );
            });
        }
        let Some(run) = attempt.run else {
            continue;
        };
        if let Some(version) = run.server_version.as_ref().filter(|_| seed == seeds.start) {
            progress.aside(|| tell!("redis-server {version}"));
        }
        let run = JudgedRun::of(run, schedule, &scenario);
        cell.add(seed, &run.judged());
        if detail == Detail::Runs {
            cell.keep(seed, &run.judged());
        }
        let recording = judged::recording(&scenario, seed, run, backend.environment());
        recordings.insert(seed, recording);
    }
    progress.clear();
    Ok((cell, seeds.end - seeds.start, recordings))
}

/// Writes the run with the earliest violation of each violated property, and the first run if
/// no run could be judged; the headline's comes first. Properties violated by the same run
/// share it.
fn gather(
    scenario: &Scenario,
    seeds: &Range<u64>,
    cell: &Cell,
    comparisons: &[Comparison],
    recordings: &mut BTreeMap<u64, Recording>,
    environment: Environment,
    store: &Store,
) -> anyhow::Result<Vec<Evidence>> {
    let store = store.of_scenario(&scenario.name, &scenario.overrides)?;
    let mut shown: BTreeMap<u64, Vec<Property>> = BTreeMap::new();
    for comparison in comparisons {
        let property = comparison.property;
        let seed = match (cell.shortest.get(&property), comparison.judgement) {
            (Some(shortest), _) => shortest.seed,
            (None, Judgement::Inconclusive) => seeds.start,
            (None, _) => continue,
        };
        shown.entry(seed).or_default().push(property);
    }
    let headline = scenario.headline();
    let mut shown: Vec<(u64, Vec<Property>)> = shown.into_iter().collect();
    shown.sort_by_key(|(_, properties)| !properties.contains(&headline));
    let mut evidence = Vec::new();
    for (seed, properties) in shown {
        let recording = match (recordings.entry(seed), environment) {
            (Entry::Occupied(recorded), _) => recorded.into_mut(),
            (Entry::Vacant(missing), Environment::World) => {
                missing.insert(judged::record(scenario, seed)?)
            }
            // This run was discarded.
            (Entry::Vacant(_), Environment::Redis) => continue,
        };
        let drawn = pictures::drawn(&properties, scenario);
        let stem = match environment {
            Environment::World => format!("seed-{seed}"),
            Environment::Redis => format!("redis-seed-{seed}"),
        };
        let mut kept = pictures::keep(&store, &stem, scenario, recording, drawn)?;
        kept.properties = properties;
        evidence.push(kept);
    }
    Ok(evidence)
}

fn show(evidence: &Evidence) {
    tell!();
    tell!(
        "{}",
        report::sentences(&evidence.verdicts, &evidence.properties)
    );
    evidence.tell();
}

fn result(
    environment: Environment,
    scenario: &Scenario,
    runs: u64,
    cell: &Cell,
    comparisons: &[Comparison],
    evidence: &[Evidence],
) -> Value {
    let environment = match environment {
        Environment::World => "world",
        Environment::Redis => "redis",
    };
    let mut value = report::json(scenario, environment, runs, cell, comparisons);
    let recordings = evidence.iter().flat_map(|evidence| {
        let path = evidence.recording.display().to_string();
        let named = |p: &Property| (p.name().to_owned(), Value::from(path.clone()));
        evidence.properties.iter().map(named).collect::<Vec<_>>()
    });
    let parameters = data::parameters(&scenario.overrides).into_iter();
    let parameters = parameters.map(|(path, value)| (path, Value::from(value)));
    value["parameters"] = Value::Object(parameters.collect());
    value["recordings"] = Value::Object(recordings.collect());
    value
}
