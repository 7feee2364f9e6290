//! `locklab run --twice`: the determinism gate.

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use locklab_world::first_difference;
use serde_json::{Value, json};

use super::progress::Progress;
use super::say::tell;
use super::{Exit, cells};
use locklab_evidence::thousands;
use locklab_model::scenario::Scenario;
use locklab_runner::RunError;
use locklab_runner::judged::{self, JudgedRun};
use locklab_runner::pool::{self, Broken};
use locklab_runner::simulate::Keep;

/// Runs everything twice, and compares every event of the world, every record and every
/// verdict.
pub(super) fn compare(
    scenarios: &[Scenario],
    seeds: &[Range<u64>],
    threads: usize,
    bug: impl Fn(Broken) -> anyhow::Error,
) -> anyhow::Result<(Exit, Value)> {
    let stop = AtomicBool::new(false);
    let differences = differences(scenarios, seeds, threads, &stop).map_err(bug)?;
    for (place, seed, difference) in &differences {
        tell!("{} with seed {seed}: {difference}", scenarios[*place].name);
    }
    let (exit, came_out) = match differences.len() {
        0 => (Exit::AsPredicted, "every event identical".to_owned()),
        n => (Exit::Bug, format!("{n} differ")),
    };
    let all = cells::runs(seeds);
    tell!(
        "{}, {}, each twice: {came_out}",
        counted(scenarios.len() as u64, "scenario"),
        counted(all, "run"),
    );
    let told = |(place, seed, difference): &(usize, u64, String)| json!({ "scenario": scenarios[*place].name, "seed": seed, "difference": difference });
    let told: Vec<Value> = differences.iter().map(told).collect();
    Ok((exit, json!({ "runs": all, "differences": told })))
}

/// The runs that are not the same when they are repeated: the place of the scenario, the seed, and
/// where they diverge.
pub(super) fn differences(
    scenarios: &[Scenario],
    seeds: &[Range<u64>],
    threads: usize,
    stop: &AtomicBool,
) -> Result<Vec<(usize, u64, String)>, Broken> {
    let progress = Progress::new("running twice", cells::runs(seeds));
    let differences = Mutex::new(Vec::new());
    let run = |place: usize, seed, found: &mut Vec<(usize, u64, String)>| {
        let difference = difference(&scenarios[place], seed)?;
        found.extend(difference.map(|difference| (place, seed, difference)));
        Ok(())
    };
    let add = |_, seeds: Range<u64>, found| {
        pool::lock(&differences).extend(found);
        progress.add(seeds.end - seeds.start);
    };
    let ran = pool::run_chunks(seeds, threads, stop, run, add);
    progress.clear();
    ran?;
    let mut differences = std::mem::take(&mut *pool::lock(&differences));
    differences.sort_unstable();
    Ok(differences)
}

fn counted(number: u64, what: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{} {what}{ending}", thousands(number))
}

/// Where two runs of one seed diverge, if they do.
fn difference(scenario: &Scenario, seed: u64) -> Result<Option<String>, RunError> {
    let run = || judged::run(scenario, seed, Keep::EVERYTHING);
    Ok(describe(&run()?, &run()?))
}

/// Where two runs diverge: the first different event of the world, or else what differs.
fn describe(one: &JudgedRun, other: &JudgedRun) -> Option<String> {
    if let Some(place) = first_difference(&one.trace, &other.trace) {
        let event = |run: &JudgedRun| match run.trace.get(place) {
            Some(event) => format!("{} at {} ns {:?}", event.what, event.at_ns, event.which),
            None => "the end of the run".to_owned(),
        };
        let (one, other) = (event(one), event(other));
        return Some(format!(
            "the runs diverge at event {place}: {one}, and {other}"
        ));
    }
    if one.history != other.history {
        return Some("the same events, but different histories".into());
    }
    (one != other).then(|| "the same histories, but different verdicts or schedules".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use locklab_model::scenario::load;

    #[test]
    fn two_runs_of_one_seed_are_alike_and_of_two_seeds_part_at_an_event() {
        let scenario = load("kleppmann/k1", &[]).expect("it ships");
        let run = |seed| judged::run(&scenario, seed, Keep::EVERYTHING).expect("it ends");
        assert_eq!(describe(&run(1), &run(1)), None);
        let difference = describe(&run(1), &run(2)).expect("other latencies");
        assert!(
            difference.starts_with("the runs diverge at event "),
            "{difference}"
        );
    }
}
