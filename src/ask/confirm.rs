//! Scenarios in the simulator and on real Redis, side by side.

use std::ops::Range;
use std::sync::Mutex;
use std::time::Instant;

use anyhow::{Context, anyhow, bail, ensure};
use locklab_values::units::fractional_ms_from_ns;
use locklab_vecmap::VecMap;
use serde::Serialize;

mod durations;
mod how;
mod line;
pub(crate) mod options;
mod outcome;

use self::how::How;
use self::line::Line;
use locklab_evidence::Prediction;
use locklab_lab::bug::Bug;
use locklab_lab::made_by::made_by;
use locklab_lab::output::status;
use locklab_lab::parts::{By, Rounds, Stage};
use locklab_lab::report::Report;
use locklab_lab::scenarios::{Scenarios, blame};
use locklab_lab::work::{Items, Made, Work};
use locklab_lab::{Experiment, Session, Store};
use locklab_model::scenario::{Scale, Scenario, Source};
use locklab_real::comparison::{Confirmed, Criteria, RARE, Runs};
use locklab_real::jitter::{Jitter, drowned};
use locklab_real::series::{LONGEST_STALL_NS, Series};
use locklab_real::simulated::{Simulated, Simulation, TWINS};
use locklab_real::{Programs, RealRedis};
use locklab_report::Provenance;
use locklab_results::recording::server_name;
use locklab_runner::RunError;
use locklab_runner::pool::{Broken, lock};

/// What to compare, and how.
pub struct Options {
    /// Scenarios: names of shipped ones, or files; if there are none, all that ship.
    pub scenarios: Vec<String>,
    /// The overrides.
    pub sets: Vec<String>,
    /// How many runs of each on real Redis.
    pub runs: Runs,
    /// Rates are equivalent within this, from 0 to 1.
    pub within: f64,
    /// By how much every duration is shortened.
    pub scale: Scale,
    /// How many runs on real Redis at the same time.
    pub at_once: usize,
    /// The programs of the servers.
    pub programs: Programs,
}

/// Scenarios in the simulator and on real Redis.
pub struct Confirm {
    options: Options,
    begun: Instant,
    version: String,
    /// The scenarios at their full length.
    full: Vec<Scenario>,
    /// The same, as they are run.
    scenarios: Vec<Scenario>,
    refused: Refused,
}

impl Confirm {
    /// Plans a comparison.
    ///
    /// # Errors
    ///
    /// If a scenario that was named cannot run on real Redis, none can, or there is no server; or if so
    /// few runs could not show a difference.
    pub fn plan(options: Options) -> anyhow::Result<Confirm> {
        let begun = Instant::now();
        let (all, mut refused) = choose(&options, &options.programs)?;
        let version = locklab_real::server_versions(&options.programs, &all)?;
        let (mut full, mut scenarios) = (Vec::new(), Vec::new());
        for scenario in all {
            let scaled = match options.scale == Scale::FULL {
                true => Ok(scenario.clone()),
                false => scenario.scaled(options.scale),
            };
            match scaled {
                Ok(scaled) => {
                    scenarios.push(scaled);
                    full.push(scenario);
                }
                Err(why) => leave_out(&options, scenario, why, &mut refused)?,
            }
        }
        let criteria = Criteria::of(scenarios.iter(), options.within);
        let (fewest, most) = (criteria.fewest_runs(), options.runs.most);
        ensure!(
            most >= fewest,
            "--max-runs {most}: of {} rates none could be found to differ by more than {:.0} points with so few \
             runs; write {fewest} or more",
            criteria.rates,
            100.0 * criteria.within,
        );
        Ok(Confirm {
            options,
            begun,
            version,
            full,
            scenarios,
            refused,
        })
    }

    /// Whether each scenario still shows what it shows, shortened and with this machine's jitter.
    fn drowned(
        &self,
        work: &Work<'_>,
        simulated: &[Made<Simulation>],
        jitter: Jitter,
    ) -> anyhow::Result<Vec<Option<String>>> {
        if self.options.scale == Scale::FULL || work.session().stop.is_set() {
            return Ok(vec![None; self.scenarios.len()]);
        }
        let Options { runs, sets, .. } = &self.options;
        let full = prompt(work, "full length", &self.full, *runs, sets)?;
        let seeds = 0..SIMULATED_RUNS.max(2 * runs.most);
        let late = on_simulator(
            work,
            "with jitter",
            &self.scenarios,
            sets,
            &|_| seeds.clone(),
            &|place, seed, late| late.add_late(&self.scenarios[place], seed, jitter),
        )?;
        let drowned = |place: usize| {
            let (full, late) = (&full[place], &late[place]);
            // Another shard has the others, or there was no time for them.
            if !(full.is_whole() && late.is_whole() && simulated[place].is_whole()) {
                return None;
            }
            let shortened = &simulated[place].result.prompt.cell;
            let (full, late) = (&full.result.cell, &late.result.cell);
            drowned(&self.scenarios[place], full, shortened, late)
        };
        Ok((0..self.scenarios.len()).map(drowned).collect())
    }
}

/// At least so many runs of each scenario are made in the simulator, and twice as many as real ones: their
/// chance is then small beside that of the real runs.
const SIMULATED_RUNS: u64 = 200;

/// At least so many where a rate that is not nearly 100 % is predicted, whose chance is the largest.
const SIMULATED_RUNS_OF_A_RATE: u64 = 1000;

fn simulated_runs(scenario: &Scenario) -> u64 {
    let is_between = |prediction: &Prediction| match prediction {
        Prediction::Violated {
            rate: Some([low, _]),
            ..
        } => *low < 1.0 - RARE,
        _ => false,
    };
    match scenario.expect.values().any(is_between) {
        true => SIMULATED_RUNS_OF_A_RATE,
        false => SIMULATED_RUNS,
    }
}

/// These scenarios in the simulator, as they are, and their twins on a machine with this jitter.
pub(crate) fn simulate(
    work: &Work<'_>,
    jitter: Jitter,
    scenarios: &[Scenario],
    runs: Runs,
    sets: &[String],
) -> anyhow::Result<Vec<Made<Simulation>>> {
    let prompt = prompt(work, "world", scenarios, runs, sets)?;
    let twins =
        |place: usize, seed, twins: &mut Simulated| twins.add_twin(&scenarios[place], seed, jitter);
    let twins = on_simulator(work, "twins", scenarios, sets, &|_| 0..TWINS, &twins)?;
    let both = prompt.into_iter().zip(twins);
    Ok(both
        .map(|(prompt, twins)| Made {
            runs: prompt.runs + twins.runs,
            planned: prompt.planned + twins.planned,
            result: Simulation {
                prompt: prompt.result,
                twins: twins.result,
            },
        })
        .collect())
}

/// This machine's jitter under the load of so many real runs at once.
pub(crate) fn measure(
    work: &Work<'_>,
    programs: &Programs,
    at_once: usize,
) -> anyhow::Result<Jitter> {
    let session = work.session();
    // The runs with the jitter of the machines that made them are in joined ledgers; after an interruption
    // none is made.
    if !session.joined.is_empty() || session.stop.is_set() {
        return Ok(Jitter::default());
    }
    let jitter = Jitter::measure(programs, at_once);
    let jitter = jitter.context("cannot measure this machine's jitter")?;
    status!(
        "this machine's jitter: 99 of 100 messages are late by at most {:.1} ms; a server's process \
         starts within {:.0} ms",
        fractional_ms_from_ns(jitter.message_ns),
        fractional_ms_from_ns(jitter.start_ns)
    );
    Ok(jitter)
}

/// These scenarios in the simulator, as they are.
fn prompt(
    work: &Work<'_>,
    name: &'static str,
    scenarios: &[Scenario],
    runs: Runs,
    sets: &[String],
) -> anyhow::Result<Vec<Made<Simulated>>> {
    let seeds = |scenario: &Scenario| {
        let usual = scenario.usual_seeds();
        0..usual.max(simulated_runs(scenario)).max(2 * runs.most)
    };
    on_simulator(
        work,
        name,
        scenarios,
        sets,
        &seeds,
        &|place, seed, simulated| simulated.add(&scenarios[place], seed),
    )
}

/// Runs of these scenarios in the simulator, each with these seeds.
fn on_simulator(
    work: &Work<'_>,
    name: &'static str,
    scenarios: &[Scenario],
    sets: &[String],
    seeds: &dyn Fn(&Scenario) -> Range<u64>,
    run: &(dyn Fn(usize, u64, &mut Simulated) -> Result<(), RunError> + Sync),
) -> anyhow::Result<Vec<Made<Simulated>>> {
    let stage = Stage {
        name,
        by: By::Job,
        rounds: Rounds::One,
        ..Stage::SIMULATED
    };
    let seeds: Vec<Range<u64>> = scenarios.iter().map(seeds).collect();
    let session = work.session();
    work.runs(&stage, &seeds, session.threads, run, &|broken: Broken| {
        let name = &scenarios[broken.job].name;
        let reproduce = session.program.run_line(name, sets, broken.seed);
        Bug::or_usage(broken, name, reproduce)
    })
}

/// What came of a comparison.
pub struct Compared {
    /// The scenarios, with their runs in the simulator.
    scenarios: Vec<(Scenario, Simulation)>,
    /// What decided.
    criteria: Criteria,
    /// Why a scenario was left out, if it was.
    left_out: Vec<Option<String>>,
    /// On real Redis, by the place of the scenario.
    real: VecMap<usize, Confirmed>,
}

impl Experiment for Confirm {
    const NAME: &'static str = "confirm";
    type Results = Compared;

    fn identity(&self) -> impl Serialize {
        (
            &self.version,
            self.options.runs,
            self.options.within,
            self.options.scale,
            &self.scenarios,
        )
    }

    fn run(&self, work: &Work<'_>) -> anyhow::Result<Compared> {
        let Options {
            runs,
            at_once,
            within,
            ..
        } = self.options;
        let sets = &self.options.sets;
        let jitter = measure(work, &self.options.programs, at_once)?;
        let simulated = simulate(work, jitter, &self.scenarios, runs, sets)?;
        let left_out = self.drowned(work, &simulated, jitter)?;
        let named = self.scenarios.iter().zip(&left_out);
        if let Some((scenario, Some(why))) =
            { named }.find(|(_, why)| why.is_some() && !self.options.scenarios.is_empty())
        {
            bail!("{} at scale {}: {why}", scenario.name, self.options.scale);
        }
        for (scenario, why) in self.refused.iter() {
            status!("skipped: {}: {why}", scenario.name);
        }
        for (scenario, why) in self.scenarios.iter().zip(&left_out) {
            if let Some(why) = why {
                status!("skipped: {}: {why}", scenario.name);
            }
        }
        ensure!(
            left_out.iter().any(Option::is_none),
            "none of the scenarios can be compared with real Redis"
        );
        let simulated = simulated.into_iter().map(|made| made.result);
        let scenarios: Vec<(Scenario, Simulation)> =
            self.scenarios.iter().cloned().zip(simulated).collect();
        let criteria = Criteria::of(self.scenarios.iter(), within);
        // Also after an interruption, so that these runs are counted among those to be made.
        let real = on_redis(
            work,
            &OnRedis {
                programs: &self.options.programs,
                scenarios: &scenarios,
                runs,
                criteria,
                jitter,
                longest_stall_ns: self.options.scale.of_ns(LONGEST_STALL_NS),
                made_by: &made_by(),
                at_once,
                can_run: &|place| left_out[place].is_none(),
                line: &|place, confirmed| {
                    let (scenario, simulation) = &scenarios[place];
                    Line::of(scenario, simulation, confirmed, criteria).sentence()
                },
            },
        )?;
        Ok(Compared {
            scenarios,
            criteria,
            left_out,
            real,
        })
    }

    fn report(
        &self,
        compared: Compared,
        session: &Session,
        folder: &Store,
    ) -> anyhow::Result<Report> {
        let mut refused = self.refused.clone();
        for (scenario, why) in self.scenarios.iter().zip(&compared.left_out) {
            refused.extend(why.clone().map(|why| (scenario.clone(), why)));
        }
        let Runs { least, most } = self.options.runs;
        let provenance = Provenance {
            subject: format!("{} scenarios", compared.real.len()),
            overrides: self.options.sets.clone(),
            seeds: format!(
                "seeds from 0 on: in the world {}, {SIMULATED_RUNS_OF_A_RATE} where a rate is predicted, or as \
                 many as the predictions need, on Redis {least} or {most}",
                SIMULATED_RUNS.max(2 * most),
            ),
            environment: format!("simulated world and {}", server_name(&self.version)),
        };
        let how = How {
            criteria: compared.criteria,
            version: &self.version,
            made_by: compared
                .real
                .values()
                .flat_map(|it| it.made_by.clone())
                .collect(),
            scale: self.options.scale,
            seconds: self.begun.elapsed().as_secs(),
            provenance,
        };
        let (scenarios, real) = (&compared.scenarios, &compared.real);
        let program = &session.program;
        Ok(outcome::report(
            how, scenarios, real, &refused, folder, program,
        ))
    }
}

/// Leaves a scenario out; one that was asked for by name is an error.
fn leave_out(
    options: &Options,
    scenario: Scenario,
    why: String,
    refused: &mut Refused,
) -> anyhow::Result<()> {
    match options.scenarios.is_empty() {
        true => {
            refused.push((scenario, why));
            Ok(())
        }
        false => Err(anyhow!(
            "{} at scale {}: {why}",
            scenario.name,
            options.scale
        )),
    }
}

/// Runs on real Redis.
pub(crate) struct OnRedis<'a> {
    pub(crate) programs: &'a Programs,
    /// The scenarios, with their runs in the simulator.
    pub(crate) scenarios: &'a [(Scenario, Simulation)],
    pub(crate) runs: Runs,
    pub(crate) criteria: Criteria,
    pub(crate) jitter: Jitter,
    pub(crate) longest_stall_ns: u64,
    /// Which Locklab makes the runs, on which machine.
    pub(crate) made_by: &'a str,
    /// How many runs at the same time.
    pub(crate) at_once: usize,
    /// Whether the scenario at this place is run.
    pub(crate) can_run: &'a (dyn Fn(usize) -> bool + Sync),
    /// What is told of a finished scenario.
    pub(crate) line: &'a (dyn Fn(usize, &Confirmed) -> String + Sync),
}

/// Runs what is not done yet; returns the result of each finished scenario. A shard has some of the
/// scenarios.
pub(crate) fn on_redis(
    work: &Work<'_>,
    redis: &OnRedis<'_>,
) -> anyhow::Result<VecMap<usize, Confirmed>> {
    let session = work.session();
    let stop = session.stop.flag();
    let items = Items {
        doing: "on real Redis",
        name: "redis",
        count: redis.scenarios.len(),
        jobs: redis.scenarios.len(),
        job: &|place| place,
        turn: &|place| place,
        is_wanted: &|place| (redis.can_run)(place),
        runs: &|place| {
            let (scenario, simulation) = &redis.scenarios[place];
            simulation.first_look(scenario, redis.runs)
        },
        is_needed: true,
    };
    let (kept, _) = work.items(&items, |open, progress, keep| {
        let done = Mutex::new(0);
        let finished = |place: usize, confirmed: &Confirmed| {
            keep(place, confirmed.clone());
            let mut done = lock(&done);
            *done += 1;
            let line = (redis.line)(place, confirmed);
            progress.aside(|| status!("[{done} of {}] {line}", open.len()));
            let (scenario, simulation) = &redis.scenarios[place];
            progress.add(simulation.first_look(scenario, redis.runs));
        };
        let series = Series {
            backend: &RealRedis {
                stop,
                ..RealRedis::new(redis.programs.clone())
            },
            scenarios: redis.scenarios,
            runs: redis.runs,
            criteria: redis.criteria,
            jitter: redis.jitter,
            longest_stall_ns: redis.longest_stall_ns,
            made_by: redis.made_by,
            stop,
            finished: &finished,
        };
        series.run(open.iter().copied(), redis.at_once);
        Ok(())
    })?;
    let finished = kept.into_iter().enumerate();
    let finished = finished.filter(|(_, kept)| !kept.parts.is_empty());
    Ok(finished.map(|(place, kept)| (place, kept.result)).collect())
}

type Refused = Vec<(Scenario, String)>;

/// The scenarios that can be compared, and the others with the reason. One that was asked for by
/// name and cannot run is an error.
fn choose(options: &Options, programs: &Programs) -> anyhow::Result<(Vec<Scenario>, Refused)> {
    let shipped = Scenarios::shipped();
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
        if options.scenarios.is_empty()
            && let Some(why) = locklab_real::why_left_out(programs, &scenario)
        {
            refused.push((scenario, why));
            continue;
        }
        match locklab_real::why_not_with(programs, &scenario) {
            None if scenario.expect.is_empty() => {
                refused.push((
                    scenario,
                    "it predicts nothing that could be compared".into(),
                ));
            }
            None => scenarios.push(scenario),
            Some(why) => return Err(why).with_context(|| format!("{name} on real Redis")),
        }
    }
    Ok((scenarios, refused))
}

#[cfg(test)]
mod tests;
