//! Runs on real Redis judged twice, from their history and from what the servers held: the two agree.
//!
//! What the servers held follows from the messages, executed again; a run whose replies differ then
//! says nothing. `LOCKLAB_LONG=1` takes every shipped scenario that can be repeated. With `--nocapture`
//! the test prints what came of each run.
#![cfg(target_os = "linux")]

use locklab_model::scenario::{SHIPPED, Scenario, load};
use locklab_real::{Programs, RealRedis, why_not_repeated};
use locklab_runner::backend::Backend;
use locklab_runner::judged::{self, JudgedRun};
use locklab_runner::simulate::Keep;
use locklab_testing::at_once;
use locklab_truth::{Subject, compare, rule};

/// Scenarios with different locks and faults; the longest runs take half a minute.
const SOME: &[&str] = &[
    "antirez/a10",
    "kleppmann/f1",
    "kleppmann/k1",
    "kleppmann/k10",
    "kleppmann/k12-one-node",
    "kleppmann/k13",
    "kleppmann/k4-loss",
    "redis-docs/r2",
    "redis-docs/r5",
    "redis-docs/r6",
    "redisson/fenced",
    "redisson/read-write",
    "redisson/watchdog-pause",
];

/// The runs of each scenario.
const SEEDS: u64 = 3;

/// Most of a run is waiting.
const AT_ONCE: usize = 12;

/// A run that can be repeated.
struct Job {
    name: String,
    scenario: Scenario,
    seed: u64,
}

/// The differences between history and servers; or why nothing was compared.
fn compared(redis: &RealRedis, job: &Job) -> Result<Vec<String>, String> {
    let drawn = job.scenario.drawn(job.seed);
    let rule = rule(&drawn.scenario.lock, &drawn.scenario.topology)?;
    let run = redis.run(&drawn.scenario, job.seed, &drawn.schedule, Keep::CONTENTS);
    let run = run.map_err(|error| error.to_string())?;
    let run = JudgedRun::of(run, drawn.schedule, &drawn.scenario);
    let contents = run.contents.expect("they were kept");
    if let Some(why) = contents.unknown {
        return Err(why);
    }
    let subject = Subject {
        history: &run.history,
        contents: &contents,
        topology: &drawn.scenario.topology,
        bounds: &judged::bounds(&drawn.scenario),
        verdicts: &run.verdicts,
    };
    let differences = compare(&subject, rule).differences;
    Ok(differences.iter().map(ToString::to_string).collect())
}

/// The runs of these scenarios that can be repeated, on locks whose holder the nodes tell.
fn jobs(names: &[&str]) -> Vec<Job> {
    let all = names.iter().flat_map(|name| {
        let scenario = load(name, &[]).expect("it ships");
        (0..SEEDS).map(move |seed| Job {
            name: format!("{name} seed {seed}"),
            scenario: scenario.clone(),
            seed,
        })
    });
    let can_be_compared = |job: &Job| {
        let drawn = job.scenario.drawn(job.seed).scenario;
        why_not_repeated(&drawn).is_none()
            && locklab_real::why_not(&drawn).is_none()
            && rule(&drawn.lock, &drawn.topology).is_ok()
    };
    all.filter(can_be_compared).collect()
}

#[test]
fn history_and_real_servers_agree() {
    let names: Vec<&str> = match std::env::var_os("LOCKLAB_LONG").is_some() {
        true => SHIPPED.iter().map(|(name, _)| *name).collect(),
        false => SOME.to_vec(),
    };
    let programs = Programs {
        locklab: env!("CARGO_BIN_EXE_locklab").into(),
        ..Programs::find().expect("this program has a path")
    };
    let redis = RealRedis::new(programs);
    let jobs = jobs(&names);
    let outcomes = at_once(AT_ONCE, &jobs, |job| compared(&redis, job));
    let (mut count, mut differences) = (0, Vec::new());
    for (Job { name, .. }, outcome) in jobs.iter().zip(outcomes) {
        match outcome {
            Err(why) => println!("{name}: {why}"),
            Ok(found) => {
                println!("{name}: compared");
                count += 1;
                differences.extend(found.into_iter().map(|it| format!("{name}, {it}")));
            }
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    // The others say nothing, so there must be few of them.
    let of = jobs.len();
    assert!(
        count > 0 && 10 * count >= 9 * of,
        "{count} of {of} compared"
    );
}
