//! `locklab shrink`: the smallest counterexample of a run.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use clap::Args;

use crate::options::many::{Basics, duration};
use crate::options::{Ask, Context, interrupt, property_parser, scenario_completer, seeds};
use crate::problems::{self, lock_completer};
use crate::shrink::{Shrink, conduct_all, first_violating};
use locklab_check::Property;
use locklab_lab::output::status;
use locklab_lab::{Exit, Session, Stop};
use locklab_model::scenario;
use locklab_results::recording::{self, Environment};
use locklab_runner::recorded;
use locklab_shrink::{Subject, USUAL_TRIES};

const EXAMPLES: &str = "\
Examples:
  locklab shrink target/locklab/kleppmann-k10/seed-179.jsonl
  locklab shrink kleppmann/k10                    its first seed that violates
  locklab shrink kleppmann/k10 --seed 3 --property resource
  locklab shrink problems/campaign --budget 30s   the smallest found by then
  locklab shrink kleppmann/k1 redis-docs/r12 --campaign redlock
                                                  several, and a table

It first says which faults the run needed: without each, is the property still
violated? Then it leaves out faults, clients, servers and rounds, makes random
parts constant, places faults after what a client does, and rounds times. Each
step is a run in the simulator, and what violates the same property is kept.
The lock, the resource, the clients' program and the servers' configuration
stay as they are. The same input gives the same minimum, on any number of
threads; after Ctrl-C or the budget, the smallest scenario so far.

Writes shrunk.toml, a scenario with the story of its run; the recording
shrunk.jsonl; and a picture, into the folder of the scenario in DIR.

Exit codes: 0 minimal; 1 usage, or the run violates nothing; 3 the budget was
over before; 70 a bug in Locklab; 130 interrupted.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// A recording: a .jsonl file that `locklab run` wrote; or a scenario. Several are told in a table
    #[arg(value_name = "RECORDING", required_unless_present = "campaign", add = scenario_completer())]
    runs: Vec<String>,
    /// Also a run of this lock under random faults; may be given several times
    #[arg(long, value_name = "LOCK", value_parser = problems::lock, add = lock_completer())]
    campaign: Vec<String>,
    /// The seed of the run, for a scenario; by default its first one that violates a property
    #[arg(long, value_name = "N", value_parser = seeds::one)]
    seed: Option<u64>,
    /// Override a value of the scenario; may be given several times
    #[arg(long = "set", value_name = "PATH=VALUE")]
    sets: Vec<String>,
    /// The property that stays violated; by default the one that the scenario is about
    #[arg(long, value_name = "PROPERTY", value_parser = property_parser())]
    property: Option<Property>,
    /// Where the run's own seed violates nothing any more, also try the seeds 0..N
    #[arg(long, value_name = "N", default_value_t = USUAL_TRIES)]
    tries: u64,
    /// Stop after this time, with the smallest scenario so far: 90s, 5m, 1h
    #[arg(long, value_name = "TIME", value_parser = duration)]
    budget: Option<Duration>,
    #[command(flatten)]
    basics: Basics,
}

impl Ask for Options {
    fn answer(&self, context: &Context) -> anyhow::Result<Exit> {
        let session = Session {
            stop: Stop::within(interrupt::flag()?, self.budget),
            ..self.basics.session(context)?
        };
        let mut shrinks = Vec::new();
        for run in &self.runs {
            shrinks.push(Shrink {
                subject: subject(run, self)?,
                property: self.property,
                tries: self.tries,
            });
        }
        if !self.campaign.is_empty() {
            shrinks.extend(Shrink::of_campaign(&self.campaign, self.tries)?);
        }
        match &shrinks[..] {
            [one] => one.conduct(&session),
            several => conduct_all(several, &session),
        }
    }
}

/// The run to shrink.
fn subject(run: &str, options: &Options) -> anyhow::Result<Subject> {
    let path = Path::new(run);
    if path.extension().is_none_or(|ending| ending != "jsonl") {
        let scenario = scenario::load(run, &options.sets)?;
        let seed = match options.seed {
            Some(seed) => seed,
            None => first_violating(&scenario, options.property)?,
        };
        return Ok(Subject::of(&scenario, seed));
    }
    ensure!(
        options.seed.is_none() && options.sets.is_empty(),
        "--seed and --set are for a scenario; a recording has its own"
    );
    let recording = recording::read(&recording::bytes(path)?, path)?;
    ensure!(
        recording.header.program.is_empty(),
        "{}: its clients are a program of somebody else, whose lock is not in the simulator, so it cannot be shrunk \
         there; run the faults again one by one: `locklab attack --scenario …-again.toml` with some left out",
        path.display()
    );
    let scenario =
        recorded::scenario(&recording).with_context(|| format!("{}:1", path.display()))?;
    if recording.header.environment == Environment::Redis {
        status!("recorded on real Redis: its scenario and its faults are shrunk in the simulator");
    }
    Ok(Subject {
        scenario,
        seed: recording.header.seed,
        schedule: recording.header.schedule,
    })
}
