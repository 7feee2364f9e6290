//! `locklab study risk`: how often a lock fails in an environment.

use crate::risk::model::{Demand, Environment, SHIPPED, Sampling, Setup, Time};
use crate::risk::{Depth, Leases, One};
use anyhow::{bail, ensure};
use clap::Args;
use locklab_lab::{Exit, conduct, layout};
use locklab_model::scenario;
use locklab_values::dist::Dist;

use crate::options::many::Many;
use crate::options::number::whole;
use crate::options::setting::set_completer;
use crate::options::{Ask, Context, seeds};
use crate::problems::lock_completer;

const EXAMPLES: &str = "\
Examples:
  locklab study risk --lease 10s --work 2s
  locklab study risk redlock --lease 10s --work 2s --every 1h
               --environment functions
  locklab study risk --lease 30s
               --work '{ log_normal = { median = 2000, sigma = 1 } }'
               --set environment.cause.gc.every='1 min' --quick
  locklab study risk set-nx-px redlock --leases 1s,3s,10s,30s --work 500ms
  locklab study risk 'set-nx-px (with token)' set-nx-px+replica redisson
               consensus --leases 3s,30s --work 500ms --runs 300

An environment says what goes wrong, how often and for how long: `locklab list
environments`, or a TOML file of your own. For each cause, runs of one grant of
the lock, which a fault strikes at a random time, say how likely it is that two
clients can rely on it at once, and that the resource is corrupted. With the
cause's frequency this is a number a year. The answer names the environment and
the source of each number; see docs/risk.md for what it means. With --leases it
is a table and a chart of several leases and locks, with what a lease costs and
the knee, from which on a longer one is worth little.

What the lock calls its lease is set to it: the lease, the session, the time of
a watchdog. The resource compares tokens if the lock gives any.

--set lock.…, workload.…, resource.…, topology.… and so on change the scenario
of the grant; --set environment.… changes the environment.

Exit codes: 0 an answer; 1 usage; 3 not finished; 70 a bug in Locklab; 130
interrupted.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// The lock, or one of its forms, as `locklab study cost` names them; several with --leases.
    /// With +replica its node has a replica, and a sentinel that promotes it
    #[arg(value_name = "LOCK", default_value = "set-nx-px", add = lock_completer())]
    locks: Vec<String>,
    /// Its lease, such as 10s
    #[arg(long, value_name = "TIME", value_parser = Time::parse, required_unless_present = "leases")]
    lease: Option<Time>,
    /// Several leases, and a chart of violations a year against them: 1s,3s,10s,30s
    #[arg(long, value_name = "TIME", value_delimiter = ',', value_parser = Time::parse,
          conflicts_with = "lease")]
    leases: Vec<Time>,
    /// How long the work under the lock takes: 2s, or a distribution of milliseconds in TOML
    #[arg(long, value_name = "TIME", value_parser = work)]
    work: Dist,
    /// How often the lock is asked for, on average, by all clients together; with --keys, how often any of them
    #[arg(long, value_name = "TIME", default_value = EVERY, value_parser = Time::parse)]
    every: Time,
    /// So many locks, which are asked for alike: 100 jobs a second over 5,000 keys are --every 10ms --keys 5000
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole::<u64>(1..=1_000_000_000))]
    keys: u64,
    /// Another client always waits for the lock
    #[arg(long)]
    contended: bool,
    /// The environment: the name of a shipped one, or a file
    #[arg(long, value_name = "NAME|FILE", default_value = ENVIRONMENT)]
    environment: String,
    /// Override a value of the scenario, or of the environment; may be given several times
    #[arg(long = "set", value_name = "PATH=VALUE", add = set_completer())]
    sets: Vec<String>,
    /// Runs for each cause [default: 20000, or a tenth where each takes as long as ten others: of locks whose servers talk
    /// to each other all the time, and with leases above 200s; with --leases such locks always have a tenth]
    #[arg(long, value_name = "N", value_parser = whole::<u64>(100..=100_000_000))]
    runs: Option<u64>,
    /// Lengths that are exceeded less often than this are not looked for
    #[arg(long, value_name = "PROBABILITY", default_value_t = 1e-9, value_parser = probability)]
    until: f64,
    /// The answer alone, without the causes together and without what would change it
    #[arg(long)]
    quick: bool,
    /// The seed from which the seeds of all runs are drawn
    #[arg(long, value_name = "N", value_parser = seeds::one, default_value = "0")]
    seed: u64,
    #[command(flatten)]
    pub(crate) many: Many,
}

/// The longest time of a scenario.
const MS_PER_YEAR: f64 = 365.0 * 86_400_000.0;

/// How often the lock is asked for, if nobody says so.
pub(crate) const EVERY: &str = "1min";

/// The environment, if nobody says one.
pub(crate) const ENVIRONMENT: &str = "jvm-on-vms";

/// Runs for each cause, if none are asked for.
const RUNS: u64 = 20_000;

/// A time with a unit, or a distribution of milliseconds.
pub(crate) fn work(text: &str) -> Result<Dist, String> {
    match text.trim_start().starts_with('{') {
        false => Time::parse(text).map(|time| Dist::Constant(time.0)),
        true => {
            #[derive(serde::Deserialize)]
            struct Written {
                work: Dist,
            }
            let read = scenario::read::<Written>("--work", &format!("work = {text}"), &[]);
            read.map(|it| it.work).map_err(|error| error.to_string())
        }
    }
}

fn probability(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if (1e-15..=0.1).contains(&value) => Ok(value),
        _ => Err(format!(
            "invalid probability \"{text}\"; write a number from 1e-15 to 0.1"
        )),
    }
}

/// An override of an environment. A time needs no quotes: `cause.gc.every=1 min`.
fn quoted(set: &str) -> String {
    match set.split_once('=') {
        Some((path, time)) if path.ends_with(".every") && Time::parse(time).is_ok() => {
            format!("{path}=\"{}\"", time.trim())
        }
        _ => set.to_owned(),
    }
}

impl Ask for Options {
    fn many(&mut self) -> Option<&mut Many> {
        Some(&mut self.many)
    }

    fn answer(&self, context: &Context) -> anyhow::Result<Exit> {
        self.check_times()?;
        self.check_load()?;
        let session = self.many.session(context)?;
        let environment = self.environment()?;
        let setup = |lock: &String, lease: Time| Setup {
            lock: lock.clone(),
            lease,
            work_ms: self.work.clone(),
            demand: match self.contended {
                true => Demand::Contended,
                false => Demand::Poisson {
                    every_ms: self.every_ms(),
                },
            },
            sets: self.of_scenario().cloned().collect(),
            environment: environment.clone(),
        };
        let sampling = |runs: u64| Sampling {
            runs,
            until: self.until,
            seed: self.seed,
        };
        let (every, sets) = (self.every, &self.sets[..]);
        match (self.lease, &self.locks[..]) {
            (Some(lease), [lock]) => {
                let depth = match self.quick {
                    true => Depth::Quick,
                    false => Depth::Full,
                };
                let setup = setup(lock, lease);
                let runs = match self.runs {
                    Some(runs) => runs,
                    None => setup.affordable_runs(RUNS)?,
                };
                let one = One::plan(setup, every, sets, sampling(runs), depth)?;
                conduct(&one, &session)
            }
            (Some(_), _) => {
                bail!("several locks need several leases: write --leases 1s,3s,10s,30s")
            }
            (None, locks) => {
                let setups = locks.iter().map(|lock| {
                    let of_lock = self.leases.iter().map(|lease| setup(lock, *lease));
                    (lock.clone(), of_lock.collect())
                });
                let sampling = sampling(self.runs.unwrap_or(RUNS));
                let leases = Leases::plan(setups.collect(), every, sets, sampling)?;
                conduct(&leases, &session)
            }
        }
    }
}

impl Options {
    const PREFIX: &str = "environment.";

    /// The mean time between two requests for one lock.
    fn every_ms(&self) -> f64 {
        self.every.0 * self.keys as f64
    }

    /// Refuses times for which no grant can be simulated.
    fn check_times(&self) -> anyhow::Result<()> {
        for lease in self.lease.iter().chain(&self.leases) {
            ensure!(
                lease.0 >= 1.0,
                "a lease of less than 1ms is over before it begins; write at least 1ms"
            );
            ensure!(
                lease.0 <= MS_PER_YEAR,
                "a lease of {lease} is longer than anything that is simulated; write at most 365days"
            );
        }
        ensure!(
            self.work.mean_ms() <= MS_PER_YEAR,
            "--work takes {:.1e} years on average; write at most 365days",
            self.work.mean_ms() / MS_PER_YEAR
        );
        Ok(())
    }

    /// Refuses more work than fits one after the other.
    fn check_load(&self) -> anyhow::Result<()> {
        let work_ms = self.work.mean_ms();
        ensure!(
            work_ms < self.every_ms(),
            "work of {} once in {} is more than {} can do with one holder at a time; ask at most once in {}, or write \
             --keys {} if there are as many locks",
            Time(work_ms),
            self.every,
            match self.keys {
                1 => "one lock".to_owned(),
                keys => format!("{keys} locks"),
            },
            Time(work_ms / self.keys as f64),
            (work_ms / self.every.0).floor() as u64 + 1,
        );
        Ok(())
    }

    fn environment(&self) -> anyhow::Result<Environment> {
        let sets = { self.sets.iter() }.filter_map(|set| set.strip_prefix(Self::PREFIX));
        let sets: Vec<String> = sets.map(quoted).collect();
        Ok(Environment::load(&self.environment, &sets)?)
    }

    /// The overrides of the scenario.
    fn of_scenario(&self) -> impl Iterator<Item = &String> {
        { self.sets.iter() }.filter(|set| !set.starts_with(Self::PREFIX))
    }
}

/// The environments that ship, for `locklab list`.
pub(crate) fn environments() -> anyhow::Result<(String, serde_json::Value)> {
    let (mut text, mut data) = (String::new(), Vec::new());
    for (name, _) in SHIPPED {
        let environment = Environment::load(name, &[])?;
        let about = environment.about.trim().replace('\n', " ");
        text += &layout::fold(&format!("{name}: {}\n  {about}\n", environment.title));
        let causes = environment.cause.iter();
        let rows = causes.map(|(name, cause)| {
            let every = format!("every {}", cause.every);
            [name.clone(), every, cause.title.clone()]
        });
        text += &(layout::list(&rows.collect::<Vec<_>>()) + "\n\n");
        let causes = environment.cause.iter();
        let causes = causes.map(|(name, cause)| {
            serde_json::json!({
                "name": name, "title": cause.title, "per_year": cause.every.per_year(),
                "source": cause.source, "why": cause.why,
            })
        });
        data.push(serde_json::json!({
            "name": name,
            "title": environment.title,
            "about": environment.about,
            "causes": causes.collect::<Vec<_>>(),
        }));
    }
    Ok((text, serde_json::json!(data)))
}
