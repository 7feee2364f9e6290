//! `locklab reproduce`: the debate on Redis locks, claim by claim, executed and published.

mod machine;
mod views;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use anyhow::bail;
use clap::Args;
use console::style;
use serde_json::json;

use super::bug::Bug;
use super::data::document;
use super::progress::Progress;
use super::resumable::Work;
use super::run::On;
use super::say::{self, tell};
use super::seeds::Seeds;
use super::store::Store;
use super::{Exit, Jobs, Out, interrupt, report, sweep};
use locklab_critique::{Claim, Critique};
use locklab_evidence::Judgement;
use locklab_model::scenario::{self, Scenario, Source};
use locklab_real::series::{Confirmed, LONGEST_STALL_NS, Runs, Series};
use locklab_real::{Programs, RealRedis};
use locklab_results::{Cell, Detail, Sweep};
use locklab_runner::batch::Job;
use locklab_runner::pool::lock;
use locklab_runner::prediction::{Comparison, compare, worst};

const EXAMPLES: &str = "\
Examples:
  locklab reproduce --quick                  every claim, without sweeps
  locklab reproduce                          with sweeps: some minutes
  locklab reproduce --only K10,R             one claim, and all of redis.io's page
  locklab reproduce --on redis               every claim on real Redis too

Writes index.html, one page that needs no network: for each claim its text, the prediction, what was
observed, the picture of a run, and the command that makes it again.

Letters: K, F Kleppmann; A antirez; R, S redis.io; J published numbers.

Exit codes: 0 every claim came out as predicted; 1 usage; 2 one did not; 3 one had too few runs;
130 interrupted.";

/// Runs of each scenario on real Redis, and of one in doubt.
const REAL_RUNS: Runs = Runs { least: 4, most: 16 };

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Options {
    /// Only these claims: letters, or letters with numbers
    #[arg(long, value_name = "CLAIM", value_delimiter = ',')]
    only: Vec<String>,
    /// Leave the sweeps out
    #[arg(long)]
    quick: bool,
    /// Where to run: in the world, or also on real Redis
    #[arg(long, value_enum, value_name = "WHERE", default_value_t = On::World)]
    on: On,
    /// Print the results as JSON on standard output
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    out: Out,
    #[command(flatten)]
    jobs: Jobs,
}

/// A scenario of a claim, and what was observed of it.
struct Shown {
    scenario: Scenario,
    world: Cell,
    comparisons: Vec<Comparison>,
    /// On real Redis, if it ran there; or why it cannot.
    real: Option<Result<Confirmed, String>>,
}

/// All that was observed.
struct Observed {
    /// By the scenario's name.
    shown: BTreeMap<String, Shown>,
    /// By the scenario's name.
    sweeps: BTreeMap<String, Sweep>,
    /// The version of the real servers.
    redis: Option<String>,
}

pub(super) fn reproduce(options: &Options) -> anyhow::Result<Exit> {
    let begun = Instant::now();
    let critique = Critique::shipped();
    let claims = choose(&critique, &options.only)?;
    let store = Store::open(&options.out)?;
    let stop = interrupt::flag()?;
    let Some(observed) = observe(options, &claims, &store, stop)? else {
        return Ok(Exit::Interrupted);
    };
    let verdicts: Vec<_> = claims.iter().map(|claim| judge(claim, &observed)).collect();
    for (claim, verdict) in claims.iter().zip(&verdicts) {
        tell!("{}", line(claim, *verdict));
    }
    let how = machine::how(options.quick, observed.redis.as_deref(), begun.elapsed());
    let page = views::page(&critique, &claims, &verdicts, &observed, how)?;
    tell!("\n{}", page.summary);
    let path = store.write("index.html", page.html().as_bytes())?;
    tell!("  page  {}", path.display());
    let data: Vec<_> = claims
        .iter()
        .zip(&verdicts)
        .map(|(c, v)| data(c, *v, &observed))
        .collect();
    let data = document("reproduce", json!({ "claims": data }));
    store.write("claims.json", &serde_json::to_vec_pretty(&data)?)?;
    if options.json {
        say::print_json(&data)?;
    }
    let exits = verdicts.iter().flatten().map(|verdict| match verdict {
        Judgement::AsPredicted | Judgement::Unpredicted => Exit::AsPredicted,
        Judgement::Inconclusive => Exit::Inconclusive,
        Judgement::Differs => Exit::Differs,
    });
    Ok(exits.fold(Exit::AsPredicted, report::worse))
}

/// The claims with these letters, or letters and numbers; without any, all.
fn choose<'a>(critique: &'a Critique, only: &[String]) -> anyhow::Result<Vec<&'a Claim>> {
    let is = |claim: &Claim, wanted: &str| {
        let wanted = wanted.to_uppercase();
        claim.id == wanted || claim.id.trim_end_matches(char::is_numeric) == wanted
    };
    for wanted in only {
        if !critique.claims.iter().any(|claim| is(claim, wanted)) {
            let ids: Vec<&str> = critique.claims.iter().map(|claim| &*claim.id).collect();
            bail!(
                "there is no claim \"{wanted}\"; the claims are {}",
                ids.join(", ")
            );
        }
    }
    let chosen = critique.claims.iter();
    Ok(chosen
        .filter(|claim| only.is_empty() || only.iter().any(|wanted| is(claim, wanted)))
        .collect())
}

/// Runs everything; `None` if it was interrupted.
fn observe(
    options: &Options,
    claims: &[&Claim],
    store: &Store,
    stop: &'static AtomicBool,
) -> anyhow::Result<Option<Observed>> {
    let mut names: Vec<&str> = Vec::new();
    for name in claims.iter().flat_map(|claim| &claim.scenarios) {
        if !names.contains(&&**name) {
            names.push(name);
        }
    }
    let scenarios: Vec<Scenario> = names
        .iter()
        .map(|name| scenario::load(name, &[]))
        .collect::<Result<_, _>>()?;
    let mut jobs: Vec<Job> = scenarios
        .iter()
        .map(|scenario| Job {
            scenario: scenario.clone(),
            parameters: vec![],
            seeds: 0..scenario.usual_seeds(),
        })
        .collect();
    let swept = match options.quick {
        true => vec![],
        false => sweeps(claims, &mut jobs)?,
    };
    let work = Work {
        jobs: &jobs,
        doing: "reproducing",
        threads: options.jobs.threads(),
        detail: Detail::Counts,
        stop,
        bug: &|broken| {
            let job = &jobs[broken.job];
            let sets = locklab_model::scenario::grid::overrides(&job.parameters);
            let reproduce = say::run_line(&job.scenario.name, &sets, broken.seed);
            Bug::or_usage(broken, &job.scenario.name, reproduce)
        },
    };
    let Some(mut cells) = work.finish(&store.path("reproduce.jsonl"))? else {
        return Ok(None);
    };
    let mut sweeps = BTreeMap::new();
    for (base, place) in swept.into_iter().rev() {
        let axes = base.sweep.as_ref().map(|sweep| sweep.vary.clone());
        let seeds = Seeds::from_zero(jobs[place.start].seeds.end);
        let of_sweep = cells.split_off(place.start);
        let sweep = sweep::of_cells(&base, &axes.unwrap_or_default(), &seeds, of_sweep)?;
        sweeps.insert(base.name.clone(), sweep);
    }
    let worlds: Vec<(Scenario, Cell)> = scenarios.into_iter().zip(cells).collect();
    let (redis, mut real) = match options.on {
        On::World => (None, BTreeMap::new()),
        On::Redis => {
            let programs = Programs::find()?;
            let version = locklab_real::version(&programs)?;
            (Some(version), on_redis(options, programs, &worlds, stop))
        }
    };
    if stop.load(Ordering::Relaxed) {
        return Ok(None);
    }
    let show = |(place, (scenario, world)): (usize, (Scenario, Cell))| {
        let real = redis
            .as_ref()
            .map(|_| match locklab_real::why_not(&scenario) {
                Some(why) => Err(why.to_string()),
                None => real.remove(&place).ok_or_else(|| "it did not run".into()),
            });
        let comparisons = compare(&scenario, &world);
        let shown = Shown {
            comparisons,
            world,
            real,
            scenario,
        };
        (shown.scenario.name.clone(), shown)
    };
    let shown = worlds.into_iter().enumerate().map(show).collect();
    Ok(Some(Observed {
        shown,
        sweeps,
        redis,
    }))
}

/// Adds the jobs of the claims' sweeps; returns each with the places of its jobs.
fn sweeps(claims: &[&Claim], jobs: &mut Vec<Job>) -> anyhow::Result<Vec<(Scenario, Range<usize>)>> {
    let mut swept: Vec<(Scenario, Range<usize>)> = Vec::new();
    for name in claims.iter().filter_map(|claim| claim.sweep.as_ref()) {
        let source = Source::find(name)?;
        let base = source.scenario(&[])?;
        let Some(spec) = &base.sweep else { continue };
        if swept.iter().any(|(other, _)| other.name == *name) {
            continue;
        }
        let first = jobs.len();
        jobs.extend(sweep::jobs(&source, &[], &spec.vary, |_| 0..spec.seeds)?);
        swept.push((base, first..jobs.len()));
    }
    Ok(swept)
}

/// What can run on real Redis, by its place.
fn on_redis(
    options: &Options,
    programs: Programs,
    scenarios: &[(Scenario, Cell)],
    stop: &'static AtomicBool,
) -> BTreeMap<usize, Confirmed> {
    let can_run = |place: &usize| locklab_real::why_not(&scenarios[*place].0).is_none();
    let places: Vec<usize> = (0..scenarios.len()).filter(can_run).collect();
    let progress = Progress::of("on real Redis", "scenarios", places.len() as u64);
    let results = Mutex::new(BTreeMap::new());
    let series = Series {
        backend: &RealRedis { programs, stop },
        scenarios,
        runs: REAL_RUNS,
        longest_stall_ns: LONGEST_STALL_NS,
        stop,
        finished: &|place, confirmed| {
            let mut results = lock(&results);
            results.insert(place, confirmed.clone());
            let name = &scenarios[place].0.name;
            let (done, all) = (results.len(), places.len());
            progress.aside(|| tell!("[{done} of {all}] {name} on real Redis"));
            progress.add(1);
        },
    };
    series.run(places.iter().copied(), 12 * options.jobs.threads());
    progress.clear();
    results
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Whether the predictions of all scenarios of a claim came true; `None` if no scenario shows it.
fn judge(claim: &Claim, observed: &Observed) -> Option<Judgement> {
    let shown = claim.scenarios.iter().map(|name| &observed.shown[name]);
    shown.map(|shown| worst(&shown.comparisons)).max()
}

fn line(claim: &Claim, verdict: Option<Judgement>) -> String {
    let word = |text: &str| style(format!("{text:<14}")).for_stderr();
    let word = match verdict {
        None => word("see the page"),
        Some(Judgement::AsPredicted | Judgement::Unpredicted) => word("as predicted").green(),
        Some(Judgement::Inconclusive) => word("too few runs").yellow(),
        Some(Judgement::Differs) => word("DIFFERS").red().bold(),
    };
    format!("  {:<5}{word} {}", claim.id, claim.says)
}

/// A claim, for programs.
fn data(claim: &Claim, verdict: Option<Judgement>, observed: &Observed) -> serde_json::Value {
    let scenario = |name: &String| {
        let shown = &observed.shown[name];
        let runs = shown.scenario.usual_seeds();
        let mut value = report::json(
            &shown.scenario,
            "world",
            runs,
            &shown.world,
            &shown.comparisons,
        );
        match &shown.real {
            None => {}
            Some(Err(why)) => value["real"] = json!({ "refused": why }),
            Some(Ok(confirmed)) => value["real"] = json!(confirmed),
        }
        value
    };
    json!({
        "claim": claim.id,
        "source": claim.source,
        "says": claim.says,
        "prediction": claim.prediction,
        "judgement": verdict,
        "scenarios": claim.scenarios.iter().map(scenario).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(only: &[&str]) -> Result<Vec<String>, String> {
        let critique = Critique::shipped();
        let only: Vec<String> = only.iter().map(|&wanted| wanted.into()).collect();
        let claims = choose(&critique, &only).map_err(|error| error.to_string())?;
        Ok(claims.iter().map(|claim| claim.id.clone()).collect())
    }

    #[test]
    fn a_claim_is_chosen_by_its_letter_or_its_number() {
        assert_eq!(chosen(&["k1"]).as_deref(), Ok(&["K1".to_owned()][..]));
        let all = chosen(&[]).expect("no choice");
        let of_k: Vec<String> = all
            .iter()
            .filter(|id| id.starts_with('K'))
            .cloned()
            .collect();
        assert!(of_k.len() > 10);
        assert_eq!(chosen(&["K"]), Ok(of_k));
        let error = chosen(&["K10", "X"]).expect_err("nobody claims X");
        assert!(
            error.starts_with("there is no claim \"X\"; the claims are K1, "),
            "{error}"
        );
    }
}
