//! The debate on Redis locks, claim by claim, executed and published.

mod counts;
mod debate;
mod every_step;
mod machine;
pub(crate) mod options;
mod standing;
#[cfg(test)]
mod tests;
mod views;

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context as _, anyhow, bail, ensure};
use console::style;
use locklab_vecmap::VecMap;
use serde::Serialize;
use serde_json::json;

use super::confirm::{OnRedis, measure, on_redis, simulate};
use super::place::{self, Faults, Place};
use super::run::On;
use super::sweep;
use crate::reproduce::debate::{Claim, Critique};
use crate::reproduce::standing::Standing;
use locklab_evidence::Judgement;
use locklab_lab::bug::Bug;
use locklab_lab::made_by::made_by;
use locklab_lab::parts::{By, Rounds, Stage};
use locklab_lab::report::Report;
use locklab_lab::section::{Form, Section};
use locklab_lab::work::{Made, Work};
use locklab_lab::{Exit, Experiment, Reports, Session, Store, data, describe, layout};
use locklab_model::scenario::grid::overrides;
use locklab_model::scenario::{self, Scenario, Source};
use locklab_real::Programs;
use locklab_real::comparison::{Comparison as Compared, Confirmed, Criteria, Runs, WITHIN};
use locklab_real::series::LONGEST_STALL_NS;
use locklab_results::{Cell, Detail, Sweep};
use locklab_runner::batch::Job;
use locklab_runner::pool::Broken;
use locklab_runner::prediction::{Comparison, compare, worst};

/// Runs of each scenario on real Redis, and of one that they do not decide. Sixteen pairs that all agree show that
/// rates are equivalent, by the one definition of that. After 48 a difference can be found among the rates of all claims; a test says so.
const REAL_RUNS: Runs = Runs {
    least: 16,
    most: 48,
};

/// The page to play with, as it stands beside the published page. Where it does, each claim links to its place in it.
const PLAY: &str = "../play/index.html";

/// What to reproduce.
pub struct Options {
    /// A file of claims instead of those that ship.
    pub claims: Option<PathBuf>,
    /// Only these claims: letters, or letters with numbers; if there are none, all.
    pub only: Vec<String>,
    /// Leave out the sweeps, and the locks compared.
    pub quick: bool,
    /// The runs of each scenario; by default as many as its predictions need.
    pub seeds: Option<u64>,
    /// Where to run: in the simulator, or also on real Redis.
    pub on: On,
}

/// The claims of the debate.
pub struct Reproduce {
    begun: Instant,
    /// The command line, for those who repeat it.
    command: String,
    critique: Critique,
    /// The places of the chosen claims.
    claims: Vec<usize>,
    quick: bool,
    /// The programs and the version of real Redis, if the claims run there, too.
    redis: Option<(Programs, String)>,
    /// What the claims call the scenarios.
    names: Vec<String>,
    scenarios: Vec<Scenario>,
    /// The swept scenarios, with what the claims call them, and the places of their jobs.
    swept: Vec<(String, Scenario, Range<usize>)>,
    /// One for each scenario, and then those of the sweeps.
    jobs: Vec<Job>,
    /// All locks under one fault at every step, which belong to the whole debate.
    place: Option<Place>,
}

/// A scenario of a claim, and what was observed of it.
pub struct Shown {
    scenario: Scenario,
    world: Cell,
    /// How many runs in the simulator there are.
    runs: u64,
    comparisons: Vec<Comparison>,
    /// On real Redis, if it ran there; or why it cannot.
    real: Option<Result<Real, String>>,
}

/// Runs on real Redis, beside those in the simulator.
pub struct Real {
    confirmed: Confirmed,
    comparison: Compared,
}

/// All that was observed.
pub struct Observed {
    /// By what the claims call the scenario.
    shown: VecMap<String, Shown>,
    /// By what the claims call the scenario.
    sweeps: VecMap<String, Sweep>,
    /// What one fault at every step does to each lock.
    placed: Option<place::Results>,
    /// The version of the real servers.
    redis: Option<String>,
}

impl Options {
    /// Whether the whole debate is asked for, with all that takes long.
    fn is_whole(&self) -> bool {
        self.claims.is_none() && self.only.is_empty() && !self.quick
    }
}

impl Reproduce {
    /// Plans to reproduce these claims.
    ///
    /// # Errors
    ///
    /// If there is no such claim, or no real Redis.
    pub fn plan(options: &Options) -> anyhow::Result<Reproduce> {
        let begun = Instant::now();
        let critique = match &options.claims {
            Some(file) => read(file)?,
            None => Critique::shipped(),
        };
        let claims = choose(&critique, &options.only)?;
        let chosen: Vec<&Claim> = claims
            .iter()
            .map(|place| &critique.claims[*place])
            .collect();
        let mut names: Vec<&str> = Vec::new();
        for name in chosen.iter().flat_map(|claim| &claim.scenarios) {
            if !names.contains(&&**name) {
                names.push(name);
            }
        }
        let load = |name: &&str| {
            scenario::load(name, &[]).with_context(|| {
                let claims =
                    { chosen.iter() }.filter(|it| it.scenarios.iter().any(|it| it == name));
                let claims: Vec<&str> = claims.map(|claim| &*claim.id).collect();
                format!("a scenario of {}", claims.join(", "))
            })
        };
        let scenarios: Vec<Scenario> = names.iter().map(load).collect::<Result<_, _>>()?;
        for (place, scenario) in scenarios.iter().enumerate() {
            let other = scenarios[..place]
                .iter()
                .position(|it| it.name == scenario.name);
            if let Some(other) = other {
                let (one, other) = (names[other], names[place]);
                bail!("{one} and {other} have the same name; rename one of the files");
            }
        }
        let names = names.into_iter().map(str::to_owned).collect();
        let jobs = scenarios.iter();
        let mut jobs: Vec<Job> = jobs
            .map(|s| Job::of(s, 0..options.seeds.unwrap_or(s.usual_seeds())))
            .collect();
        let swept = match options.quick {
            true => vec![],
            false => sweeps(&chosen, &mut jobs)?,
        };
        let place = match options.is_whole() {
            true => Some(compare_locks(&[])?),
            false => None,
        };
        let redis = match options.on {
            On::World => None,
            On::Redis => {
                let programs = Programs::find()?;
                let version = locklab_real::version(&programs)?;
                Some((programs, version))
            }
        };
        let quick = options.quick;
        Ok(Reproduce {
            begun,
            command: machine::command(options),
            critique,
            claims,
            quick,
            redis,
            names,
            scenarios,
            swept,
            jobs,
            place,
        })
    }

    /// The scenarios on real Redis that can run there, by their places.
    fn on_redis(
        &self,
        work: &Work<'_>,
        programs: &Programs,
    ) -> anyhow::Result<VecMap<usize, Real>> {
        let at_once = 12 * work.session().threads;
        let jitter = measure(work, programs, at_once)?;
        let simulated = simulate(work, jitter, &self.scenarios, REAL_RUNS, &[])?;
        let simulated = simulated.into_iter().map(|made| made.result);
        let scenarios: Vec<_> = self.scenarios.iter().cloned().zip(simulated).collect();
        let criteria = Criteria::of(self.scenarios.iter(), WITHIN);
        let redis = OnRedis {
            programs,
            scenarios: &scenarios,
            runs: REAL_RUNS,
            criteria,
            jitter,
            longest_stall_ns: LONGEST_STALL_NS,
            made_by: &made_by(),
            at_once,
            can_run: &|place| locklab_real::why_left_out(programs, &scenarios[place].0).is_none(),
            line: &|place, _| format!("{} on real Redis", scenarios[place].0.name),
        };
        let compared = |(place, confirmed): (usize, Confirmed)| {
            let (scenario, simulation) = &scenarios[place];
            let comparison = Compared::of(scenario, simulation, &confirmed, criteria);
            let real = Real {
                confirmed,
                comparison,
            };
            (place, real)
        };
        Ok(on_redis(work, &redis)?.into_iter().map(compared).collect())
    }

    fn claims(&self) -> Vec<&Claim> {
        { self.claims.iter() }
            .map(|place| &self.critique.claims[*place])
            .collect()
    }
}

impl Experiment for Reproduce {
    const NAME: &'static str = "reproduce";
    const REPORTS: Reports = Reports::Whole;
    type Results = Observed;

    fn identity(&self) -> impl Serialize {
        let job = |job: &Job| (job.scenario.clone(), job.seeds.clone());
        let version = self.redis.as_ref().map(|(_, version)| version.clone());
        (
            &self.claims,
            self.quick,
            version,
            self.jobs.iter().map(job).collect::<Vec<_>>(),
            self.place.as_ref().map(Place::identity),
        )
    }

    fn run(&self, work: &Work<'_>) -> anyhow::Result<Observed> {
        let stage = Stage {
            doing: "reproducing",
            by: By::Job,
            // What comes after them has no time of its own.
            rounds: match self.swept.is_empty() && self.redis.is_none() && self.place.is_none() {
                true => Rounds::WhileThereIsTime,
                false => Rounds::One,
            },
            ..Stage::SIMULATED
        };
        let program = &work.session().program;
        let made = work.cells(&stage, &self.jobs, Detail::Counts, &|broken: Broken| {
            let job = &self.jobs[broken.job];
            let sets = overrides(&job.parameters);
            let reproduce = program.run_line(&job.scenario.name, &sets, broken.seed);
            Bug::or_usage(broken, &job.scenario.name, reproduce)
        })?;
        let mut sweeps = VecMap::new();
        for (name, base, places) in &self.swept {
            let made = &made[places.clone()];
            if !made.iter().all(Made::is_whole) {
                continue;
            }
            let axes = base.sweep.as_ref().map(|sweep| sweep.vary.clone());
            let seeds = self.jobs[places.start].seeds.clone();
            let cells = made.iter().map(|made| made.result.clone()).collect();
            let sweep = sweep::of_cells(base, &axes.unwrap_or_default(), &seeds, cells)?;
            sweeps.insert(name.clone(), sweep);
        }
        let placed = self.place.as_ref().map(|place| place.run(work));
        let placed = placed.transpose()?;
        let worlds = self.scenarios.iter().cloned().zip(made);
        // Also after an interruption, so that these runs are counted among those to be made.
        let mut real = match &self.redis {
            Some((programs, _)) => self.on_redis(work, programs)?,
            None => VecMap::new(),
        };
        let show = |(place, (scenario, made)): (usize, (Scenario, Made<Cell>))| {
            let Made {
                result: world,
                runs,
                ..
            } = made;
            let real = self.redis.as_ref().map(|(programs, _)| {
                match locklab_real::why_left_out(programs, &scenario) {
                    Some(why) => Err(why),
                    None => real.remove(&place).ok_or_else(|| "it did not run".into()),
                }
            });
            let shown = Shown {
                comparisons: compare(&scenario, &world),
                world,
                runs,
                real,
                scenario,
            };
            (self.names[place].clone(), shown)
        };
        Ok(Observed {
            shown: worlds.enumerate().map(show).collect(),
            sweeps,
            placed,
            redis: self.redis.as_ref().map(|(_, version)| version.clone()),
        })
    }

    fn report(&self, observed: Observed, _: &Session, folder: &Store) -> anyhow::Result<Report> {
        let claims = self.claims();
        let verdicts: Vec<_> = claims.iter().map(|claim| judge(claim, &observed)).collect();
        let lines = claims.iter().zip(&verdicts);
        let mut text: String = lines
            .map(|(claim, verdict)| line(claim, *verdict) + "\n")
            .collect();
        let how = machine::how(
            &self.command,
            observed.redis.as_deref(),
            self.begun.elapsed(),
        );
        let is_there = folder.path(PLAY).is_file() && self.critique == Critique::shipped();
        let play = is_there.then_some(PLAY);
        let mut page = views::page(&self.critique, &claims, &verdicts, &observed, play, how)?;
        text += &format!("\n{}", page.summary);
        let of_claim = |(claim, verdict): (&&Claim, &_)| data_of(claim, *verdict, &observed);
        let of_claims: Vec<_> = claims.iter().zip(&verdicts).map(of_claim).collect();
        let mut results = json!({ "claims": of_claims });
        if let (Some(place), Some(placed)) = (&self.place, &observed.placed) {
            let (rows, table) = place.of_locks_compared(placed);
            results["place"] = json!({ "locks": rows });
            let every_step = every_step::section(&rows, &table);
            text += &format!("\n\n{}", every_step::told(&every_step));
            page.every_step = Some(every_step);
        }
        let document = data::document(Self::NAME, results);
        let section = Section {
            forms: vec![
                Form::Text {
                    name: "index.html".into(),
                    text: page.html(),
                },
                Form::List(counts::list(&claims, &verdicts, &observed)),
                Form::Data(document.clone()),
            ],
            ..Section::of(text, folder, "claims")
        };
        let exits = verdicts.iter().flatten().map(|verdict| Exit::of(*verdict));
        Ok(Report {
            sections: vec![section],
            closing: String::new(),
            document,
            exit: exits.fold(Exit::AsPredicted, Exit::worse),
        })
    }
}

/// Claims of one's own. Scenarios that are files are named from the folder of the claims.
fn read(file: &Path) -> anyhow::Result<Critique> {
    let text = fs::read_to_string(file).with_context(|| format!("read {}", file.display()))?;
    let shown = file.display();
    let critique = Critique::parse(&text);
    let mut critique = critique.map_err(|error| anyhow!("{shown}:{error}"))?;
    ensure!(!critique.claims.is_empty(), "{shown}: no [[claim]]");
    let folder = file.parent().unwrap_or(Path::new(""));
    for claim in &mut critique.claims {
        for name in claim.scenarios.iter_mut().chain(&mut claim.sweep) {
            let beside = folder.join(&*name);
            if beside.is_file() {
                *name = beside.display().to_string();
            }
        }
    }
    Ok(critique)
}

/// Plans to compare these locks as `place --all` does; without any, all.
fn compare_locks(locks: &[String]) -> anyhow::Result<Place> {
    Place::of_locks(locks, &[], place::STANDARD_SEEDS, Faults::One)
}

/// The places of the claims with these letters, or letters and numbers; without any, of all.
fn choose(critique: &Critique, only: &[String]) -> anyhow::Result<Vec<usize>> {
    let is = |claim: &Claim, wanted: &str| {
        let wanted = wanted.to_uppercase();
        claim.id == wanted || claim.id.trim_end_matches(char::is_numeric) == wanted
    };
    for wanted in only {
        if !critique.claims.iter().any(|claim| is(claim, wanted)) {
            let ids: Vec<&str> = critique.claims.iter().map(|claim| &*claim.id).collect();
            bail!(
                "unknown claim \"{wanted}\"; the claims are {}",
                ids.join(", ")
            );
        }
    }
    let chosen = critique.claims.iter().enumerate();
    Ok(chosen
        .filter(|(_, claim)| only.is_empty() || only.iter().any(|wanted| is(claim, wanted)))
        .map(|(place, _)| place)
        .collect())
}

/// Adds the jobs of the claims' sweeps; returns each with the places of its jobs.
fn sweeps(
    claims: &[&Claim],
    jobs: &mut Vec<Job>,
) -> anyhow::Result<Vec<(String, Scenario, Range<usize>)>> {
    let mut swept: Vec<(String, Scenario, Range<usize>)> = Vec::new();
    for name in claims.iter().filter_map(|claim| claim.sweep.as_ref()) {
        let source = Source::find(name)?;
        let base = source.scenario(&[])?;
        let spec = base.sweep.as_ref();
        let spec = spec.with_context(|| format!("{name} has no [sweep] of its own"))?;
        if swept.iter().any(|(other, ..)| other == name) {
            continue;
        }
        let first = jobs.len();
        jobs.extend(sweep::jobs(&source, &[], &spec.vary, |_| 0..spec.seeds)?);
        swept.push((name.clone(), base, first..jobs.len()));
    }
    Ok(swept)
}

/// Whether the predictions of all scenarios of a claim came true; `None` if no scenario shows it.
fn judge(claim: &Claim, observed: &Observed) -> Option<Judgement> {
    let shown = claim.scenarios.iter().map(|name| &observed.shown[name]);
    shown.map(|shown| worst(&shown.comparisons)).max()
}

/// Where a claim stands; if its runs were too few or differ from the prediction, that.
fn line(claim: &Claim, verdict: Option<Judgement>) -> String {
    let word = |text: &str| style(format!("{text:<14}"));
    let word = match (Standing::of(claim, verdict), verdict) {
        (None, _) => word("see the page"),
        (_, Some(Judgement::Inconclusive)) => word("too few runs").yellow(),
        (_, Some(Judgement::Differs)) => word("DIFFERS").red().bold(),
        (Some(Standing::SupportedWithConditions), _) => word("on a condition").cyan(),
        (Some(standing @ Standing::NotReproduced), _) => word(standing.name()).red(),
        (Some(standing), _) => word(standing.name()).green(),
    };
    layout::fold(&format!("  {:<5}{word}  {}", claim.id, claim.says))
}

/// A claim, for programs.
fn data_of(claim: &Claim, verdict: Option<Judgement>, observed: &Observed) -> serde_json::Value {
    let scenario = |name: &String| {
        let shown = &observed.shown[name];
        let mut value = describe::json(
            &shown.scenario,
            "world",
            shown.runs,
            &shown.world,
            &shown.comparisons,
        );
        match &shown.real {
            None => {}
            Some(Err(why)) => value["real"] = json!({ "refused": why }),
            Some(Ok(real)) => {
                let Real {
                    confirmed,
                    comparison,
                } = real;
                value["real"] = json!({
                    "real": confirmed.real,
                    "discarded": confirmed.discarded,
                    "failure": confirmed.failure,
                    "seconds": confirmed.seconds,
                    "rates": comparison.rates,
                    "durations": comparison.durations,
                });
            }
        }
        value
    };
    let standing = Standing::of(claim, verdict);
    json!({
        "claim": claim.id,
        "source": claim.source,
        "says": claim.says,
        "prediction": claim.prediction,
        "standing": standing,
        "because": standing.and_then(|standing| standing.because(claim)),
        "judgement": verdict,
        "scenarios": claim.scenarios.iter().map(scenario).collect::<Vec<_>>(),
    })
}
