//! `locklab check`: a suite of scenarios and recorded failures, for continuous integration.

use std::fs;
use std::ops::Range;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, ensure};
use clap::Args;
use xxhash_rust::xxh3::xxh3_64;

mod outcome;

use self::outcome::{again, explain, github};
pub(super) use self::outcome::{present, write};
use super::bug::Bug;
use super::cells::{self, Kept};
use super::format::Format;
use super::say::{self, tell};
use super::store::Store;
use super::{Exit, Jobs, Out, compare, interrupt, report, scenario_completer, twice};
use locklab_results::Detail;
use locklab_runner::pool::Broken;
use locklab_runner::simulate::Keep;
use locklab_suite::{Case, CaseResult, Filter, Results, Shard};

const EXAMPLES: &str = "\
Examples:
  locklab check                              the folders scenarios and regressions
  locklab check my/scenarios my/one.toml     folders and files; - is standard input
  locklab check -E 'lock(redlock) & !fault(pause)'
  locklab check --budget 5m --seed-from HEAD new seeds for each commit, for five minutes
  locklab check --shard 2/4                  the second of four parts; see locklab merge
  locklab check --save-baseline main         keep the result under a name …
  locklab check --baseline main              … and compare with it

First every scenario runs twice with a few seeds, which has to give the same events. Then it runs
with as many seeds as its predictions need; with --budget again and again with further ones, until
the time is over. A recording (.jsonl) is repeated with its seed and its faults: what its scenario
predicts to hold has to hold in it. To keep a failure, copy its recording into regressions/.

-E takes name(…), claim(…), lock(…), fault(…), property(…) and on(redis), with ! & | and
parentheses; * stands for any characters.

Options that are not given are those of [profile.default] in locklab.toml, or of --profile.

Writes check.json, junit.xml, check.md and check.csv into DIR/check; where GitHub Actions runs it,
also annotations and the job's summary.

Exit codes: 0 as predicted; 1 usage; 2 a verdict differs, or runs of one seed are not the same;
3 inconclusive; 70 a bug in Locklab; 130 interrupted.";

#[derive(Args, Clone)]
#[command(after_help = EXAMPLES)]
pub(super) struct Options {
    /// Scenarios, recordings, and folders of both; by default scenarios and regressions, or all
    /// scenarios that ship
    #[arg(value_name = "PATH", add = scenario_completer())]
    pub(super) paths: Vec<String>,
    /// Only the cases for which this is true
    #[arg(short = 'E', long, value_name = "EXPRESSION")]
    pub(super) filter: Option<Filter>,
    /// How long it may take: 90s, 5m, 1h
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(super) budget: Option<Duration>,
    /// Take seeds from this commit, or from any text, instead of 0, 1, 2, …
    #[arg(long, value_name = "REF")]
    pub(super) seed_from: Option<String>,
    /// Only this part of the cases
    #[arg(long, value_name = "K/N")]
    pub(super) shard: Option<Shard>,
    /// Keep the result under this name
    #[arg(long, value_name = "NAME", value_parser = plain_name)]
    pub(super) save_baseline: Option<String>,
    /// Compare with the result that has this name
    #[arg(long, value_name = "NAME", value_parser = plain_name)]
    pub(super) baseline: Option<String>,
    /// The profile of locklab.toml
    #[arg(long, value_name = "NAME")]
    pub(super) profile: Option<String>,
    /// Print the results as JSON on standard output
    #[arg(long)]
    pub(super) json: bool,
    #[command(flatten)]
    pub(super) out: Out,
    #[command(flatten)]
    pub(super) jobs: Jobs,
}

impl Options {
    /// Those of a test: these paths, whatever `locklab.toml` says of paths.
    pub(super) fn of(paths: Vec<String>, out: PathBuf) -> Options {
        let format = vec![Format::Svg, Format::Png];
        Options {
            paths,
            filter: None,
            budget: None,
            seed_from: None,
            shard: None,
            save_baseline: None,
            baseline: None,
            profile: None,
            json: false,
            out: Out { out, format },
            jobs: Jobs { jobs: None },
        }
    }
}

/// The longest budget, in seconds: far beyond what anybody means.
const A_YEAR_S: u64 = 365 * 86_400;

/// `90s`, `5m` or `1h`.
fn duration(text: &str) -> Result<Duration, String> {
    let usage = || format!("invalid duration `{text}`; write 90s, 5m or 1h");
    let unit = text.char_indices().next_back().ok_or_else(usage)?;
    let seconds = match unit.1 {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        _ => return Err(usage()),
    };
    let count: u64 = text[..unit.0].parse().map_err(|_| usage())?;
    let seconds = count.checked_mul(seconds);
    let seconds = seconds.filter(|seconds| (1..=A_YEAR_S).contains(seconds));
    Ok(Duration::from_secs(seconds.ok_or_else(usage)?))
}

/// A name that is a file's.
fn plain_name(text: &str) -> Result<String, String> {
    let is_plain = |c: char| c.is_alphanumeric() || "-_.".contains(c);
    match !text.is_empty() && !text.starts_with('.') && text.chars().all(is_plain) {
        true => Ok(text.into()),
        false => Err(format!(
            "`{text}` cannot be the name of a file; write letters, digits, -, _ and ."
        )),
    }
}

/// With how many seeds every scenario runs twice.
const TWICE: u64 = 2;

pub(super) fn check(options: &Options) -> anyhow::Result<Exit> {
    let checked = suite(options)?;
    Ok(match checked.stopped {
        Stopped::ByUser => Exit::Interrupted,
        Stopped::AtTheEnd => report::exit_of(checked.results.judgement()),
    })
}

/// A suite that has run.
pub(crate) struct Checked {
    /// What came of it.
    pub(crate) results: Results,
    stopped: Stopped,
}

/// Runs a suite; prints and writes what came of it.
pub(crate) fn suite(options: &Options) -> anyhow::Result<Checked> {
    let options = &with_profile(options)?;
    let (cases, suite) = choose(options)?;
    let store = Store::open(&options.out)?.below("check")?;
    let baseline = options.baseline.as_ref();
    let baseline = baseline
        .map(|name| read_baseline(&store, name))
        .transpose()?;
    let mut results = Results {
        shard: options.shard,
        suite,
        first_seed: first_seed(options.seed_from.as_deref()),
        program: say::program_name(),
        cases: { cases.iter() }
            .map(|(place, case)| CaseResult::of(*place, case))
            .collect(),
    };
    let stopped = run(options, &store, &cases, &mut results)?;
    for ((_, case), result) in cases.iter().zip(&mut results.cases) {
        explain(case, result, &store)?;
    }
    present(&results, Some(&store));
    let document = write(&results, &store)?;
    github(&results, options.json)?;
    if options.json {
        say::print_json(&document)?;
    }
    if let Some(name) = &options.save_baseline {
        let text = serde_json::to_vec_pretty(&document)?;
        let path = store.write(&format!("baseline-{name}.json"), &text)?;
        tell!("  kept as the baseline {name}: {}", path.display());
    }
    if let Some((name, before)) = baseline {
        compare::present(&name, "this", &locklab_suite::compare(&before, &results));
    }
    Ok(Checked { results, stopped })
}

/// The options, with what the profile says of those that are not given.
fn with_profile(options: &Options) -> anyhow::Result<Options> {
    let profile = locklab_suite::profile(options.profile.as_deref())?;
    let mut options = options.clone();
    if options.paths.is_empty() {
        options.paths = profile.paths;
    }
    let wrong = |error: String| anyhow!("locklab.toml: {error}");
    if let (None, Some(filter)) = (&options.filter, &profile.filter) {
        options.filter = Some(filter.parse().map_err(wrong)?);
    }
    if let (None, Some(budget)) = (options.budget, &profile.budget) {
        options.budget = Some(duration(budget).map_err(wrong)?);
    }
    options.seed_from = options.seed_from.or(profile.seed_from);
    options.baseline = options.baseline.or(profile.baseline);
    Ok(options)
}

/// The cases to run, each with its place in the whole suite, and the number of cases in that.
fn choose(options: &Options) -> anyhow::Result<(Vec<(usize, Case)>, usize)> {
    let mut cases = locklab_suite::find(&options.paths)?;
    if let Some(filter) = &options.filter {
        cases.retain(|case| filter.accepts(&case.scenario));
    }
    ensure!(!cases.is_empty(), "no scenario or recording matches");
    let suite = cases.len();
    let mut cases: Vec<(usize, Case)> = cases.into_iter().enumerate().collect();
    if let Some(shard) = options.shard {
        cases.retain(|(place, _)| shard.has(*place));
    }
    Ok((cases, suite))
}

/// The seed with which every scenario begins: 0, or one made of the commit that `from` names, or of
/// `from` itself if git knows no such commit.
fn first_seed(from: Option<&str>) -> u64 {
    let Some(from) = from else { return 0 };
    let commit = format!("{from}^{{commit}}");
    let asked = Command::new("git")
        .args([
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            &commit,
        ])
        .output();
    let id = match asked {
        Ok(asked) if asked.status.success() => String::from_utf8_lossy(&asked.stdout).into(),
        _ => from.to_owned(),
    };
    // Far from the largest seed, and short enough to be typed.
    let seed = xxh3_64(id.trim().as_bytes()) >> 24;
    tell!("seeds from {seed} on, made of {}", id.trim());
    seed
}

/// Why no more runs were made.
enum Stopped {
    /// All were made, or the time was over.
    AtTheEnd,
    /// By Ctrl-C.
    ByUser,
}

/// Runs the cases.
fn run(
    options: &Options,
    store: &Store,
    cases: &[(usize, Case)],
    results: &mut Results,
) -> anyhow::Result<Stopped> {
    let by_user = interrupt::flag()?;
    match options.budget {
        None => run_until(by_user, options, store, cases, results)?,
        Some(budget) => {
            let deadline = Instant::now() + budget;
            let is_over = || by_user.load(Ordering::Relaxed) || Instant::now() >= deadline;
            let stop = &AtomicBool::new(false);
            thread::scope(|scope| {
                let (working, watched) = mpsc::channel::<()>();
                // It ends with the work, which drops the other end.
                scope.spawn(move || {
                    while watched.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                        if is_over() {
                            stop.store(true, Ordering::Relaxed);
                        }
                    }
                });
                let _working = working;
                run_until(stop, options, store, cases, results)
            })?;
        }
    }
    Ok(match by_user.load(Ordering::Relaxed) {
        true => Stopped::ByUser,
        false => Stopped::AtTheEnd,
    })
}

/// How often it is looked whether the time is over.
const TICK: Duration = Duration::from_millis(20);

/// Runs the cases until `stop` is set: each scenario with as many seeds as its predictions need, and,
/// if there is a budget of time, again and again with further ones.
fn run_until(
    stop: &AtomicBool,
    options: &Options,
    store: &Store,
    cases: &[(usize, Case)],
    results: &mut Results,
) -> anyhow::Result<()> {
    let (mut places, mut scenarios) = (Vec::new(), Vec::new());
    for (place, (_, case)) in cases.iter().enumerate() {
        match &case.recording {
            Some(recorded) => {
                let run = again(case, recorded, Keep::default())?;
                results.cases[place].judge_again(case, recorded, &run);
            }
            None => {
                places.push(place);
                scenarios.push(case.scenario.clone());
            }
        }
    }
    let bug = |broken: Broken| {
        let id = &cases[places[broken.job]].1.id;
        let reproduce = say::run_line(id, &[], broken.seed);
        Bug::or_usage(broken, id, reproduce)
    };
    let threads = options.jobs.threads();
    let few = results.first_seed..results.first_seed + TWICE;
    let few = vec![few; scenarios.len()];
    let unlike = twice::differences(&scenarios, &few, threads, stop).map_err(bug)?;
    if !stop.load(Ordering::Relaxed) {
        places
            .iter()
            .for_each(|place| results.cases[*place].repeated = TWICE);
    }
    for (job, seed, difference) in unlike {
        let case = &mut results.cases[places[job]];
        case.repeated = TWICE;
        case.unlike
            .get_or_insert(format!("seed {seed}, run twice: {difference}"));
    }
    let first = results.first_seed;
    let mut seeds: Vec<Range<u64>> = { scenarios.iter() }
        .map(|scenario| first..first + scenario.usual_seeds())
        .collect();
    let mut sums = cells::kept(
        &scenarios,
        &seeds,
        &Kept {
            doing: "checking",
            threads,
            detail: Detail::Counts,
            stop,
            path: &store.path("check.jsonl"),
            bug: &bug,
        },
    )?;
    // What the budget adds is not kept, since another run has another time for it.
    while options.budget.is_some() && !scenarios.is_empty() && !stop.load(Ordering::Relaxed) {
        for seeds in &mut seeds {
            *seeds = seeds.end..seeds.end + (seeds.end - seeds.start);
        }
        let more = cells::until(&scenarios, &seeds, threads, Detail::Counts, stop);
        for (((sum, runs), seeds), cell) in sums.iter_mut().zip(&seeds).zip(more.map_err(bug)?) {
            if let Some(cell) = cell {
                sum.merge(cell);
                *runs += seeds.end - seeds.start;
            }
        }
    }
    for (place, (cell, runs)) in places.iter().zip(sums) {
        results.cases[*place].judge(&cases[*place].1, cell, runs);
    }
    Ok(())
}

/// A baseline, with its name.
fn read_baseline(store: &Store, name: &str) -> anyhow::Result<(String, Results)> {
    let path = store.path(&format!("baseline-{name}.json"));
    let text = fs::read_to_string(&path).with_context(|| {
        format!(
            "cannot read the baseline {}; make it with --save-baseline {name}",
            path.display()
        )
    })?;
    let results = Results::read(&text).with_context(|| path.display().to_string())?;
    Ok((name.to_owned(), results))
}
