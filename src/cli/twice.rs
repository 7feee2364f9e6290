//! `locklab run --twice`: the determinism gate.

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use locklab_sim::world::first_difference;
use serde_json::json;

use super::progress::Progress;
use super::{Exit, report};
use crate::runner::judged::{self, JudgedRun};
use crate::runner::simulate::Keep;
use crate::scenario::Scenario;
use crate::stats::thousands;

/// Runs everything two times, and compares every event of the world, every record and
/// every verdict.
pub(super) fn compare(
    scenarios: &[Scenario],
    seeds: &Range<u64>,
    threads: usize,
    as_json: bool,
) -> anyhow::Result<Exit> {
    let count = (seeds.end - seeds.start) as usize;
    let progress = Progress::new("running twice", (scenarios.len() * count) as u64);
    let next = AtomicUsize::new(0);
    let differences = Mutex::new(Vec::new());
    let work = || {
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(scenario) = scenarios.get(place / count) else {
                return;
            };
            let seed = seeds.start + (place % count) as u64;
            if let Some(difference) = difference(scenario, seed) {
                progress.say(&format!("{} with seed {seed}: {difference}", scenario.name));
                let mut differences = differences.lock().unwrap_or_else(|e| e.into_inner());
                differences.push(json!({
                    "scenario": scenario.name, "seed": seed, "difference": difference,
                }));
            }
            progress.add(1);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(work);
        }
        work();
    });
    progress.clear();
    let differences = differences.into_inner().unwrap_or_else(|e| e.into_inner());
    let runs = thousands((scenarios.len() * count) as u64);
    eprintln!(
        "{} scenarios, {runs} runs, each two times: {}",
        scenarios.len(),
        match differences.len() {
            0 => "every event alike".to_owned(),
            n => format!("{n} differ"),
        }
    );
    if as_json {
        report::print_json(
            &json!({ "runs": scenarios.len() * count, "differences": differences }),
        )?;
    }
    Ok(if differences.is_empty() {
        Exit::AsPredicted
    } else {
        Exit::Bug
    })
}

/// Where two runs of one seed part, if they do.
fn difference(scenario: &Scenario, seed: u64) -> Option<String> {
    let keep = Keep {
        messages: true,
        trace: true,
    };
    describe(
        &judged::run(scenario, seed, keep),
        &judged::run(scenario, seed, keep),
    )
}

/// Where two runs part, if they do: at which event of the world, or else in what.
fn describe(one: &JudgedRun, other: &JudgedRun) -> Option<String> {
    if let Some(place) = first_difference(&one.trace, &other.trace) {
        let event = |run: &JudgedRun| match run.trace.get(place) {
            Some(event) => format!("{} at {} ns {:?}", event.what, event.at_ns, event.which),
            None => "the end of the run".to_owned(),
        };
        let (one, other) = (event(one), event(other));
        return Some(format!(
            "the runs part at event {place}: {one}, and {other}"
        ));
    }
    if one.history != other.history {
        return Some("the same events, but other histories".into());
    }
    (one != other).then(|| "the same histories, but other verdicts or schedules".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::load;

    #[test]
    fn two_runs_of_one_seed_are_alike_and_of_two_seeds_part_at_an_event() {
        let scenario = load("kleppmann/k1", &[]).expect("it ships");
        let keep = Keep {
            messages: true,
            trace: true,
        };
        let run = |seed| judged::run(&scenario, seed, keep);
        assert_eq!(describe(&run(1), &run(1)), None);
        let difference = describe(&run(1), &run(2)).expect("other latencies");
        assert!(
            difference.starts_with("the runs part at event "),
            "{difference}"
        );
    }
}
