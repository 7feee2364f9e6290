//! How a run of somebody else's program is repeated.

use locklab_check::{Verdict, Violation};
use locklab_history::{Failpoint, Moment, Name};
use locklab_model::scenario::{Scenario, check_for_programs};
use locklab_real::Program;
use locklab_runner::judged::JudgedRun;
use locklab_shrink::{Span, Subject, toml};

use locklab_lab::recordings::Evidence;

/// A scenario that repeats a violation better than the seed of its run does: the faults up to then, those that struck
/// at a time placed after what the program did. `moments` are the points that it came to. `None` if the scenario
/// itself places them so, or nothing is violated.
pub(crate) fn restated(
    scenario: &Scenario,
    seed: u64,
    run: &JudgedRun,
    moments: &[(u64, Moment)],
) -> Option<String> {
    let violations = run.verdicts.values().filter_map(|verdict| match verdict {
        Verdict::Violated(violation) => Some(violation),
        _ => None,
    });
    let span = Span {
        granted_ns: { violations.clone() }
            .map(|it| granted_ns(it, moments))
            .min()?,
        violated_ns: violations.map(|it| it.at_ns).max()?,
    };
    let subject = Subject {
        scenario: scenario.clone(),
        seed,
        schedule: run.schedule.clone(),
    };
    let restated = subject.restated(moments, span)?.pinned();
    check_for_programs(&restated).ok()?;
    let comment = format!(
        "Faults of {} with seed {seed} before a violation, placed after what the clients had done.",
        scenario.name
    );
    Some(toml(&restated, &[comment]))
}

/// When the first of the clients was granted the lock that a violation is about; 0 if that is not known.
fn granted_ns(violation: &Violation, moments: &[(u64, Moment)]) -> u64 {
    let granted = |client: &Name| {
        let mut before = moments
            .iter()
            .rev()
            .filter(|(at_ns, _)| *at_ns <= violation.at_ns);
        let granted = before
            .find(|(_, moment)| moment.client == *client && moment.point == Failpoint::Acquired);
        granted.map_or(0, |(at_ns, _)| *at_ns)
    };
    violation.clients.iter().map(granted).min().unwrap_or(0)
}

/// The arguments that repeat a run that serves as evidence.
pub(crate) fn repeat(
    scenario: &str,
    sets: &[String],
    run: &Evidence,
    program: &Program,
) -> Vec<String> {
    match &run.again {
        None => words(scenario, sets, run.seed, program),
        Some(file) => words(
            &file.to_string_lossy(),
            &predictions(sets),
            run.seed,
            program,
        ),
    }
}

/// The overrides that are predictions: a scenario that repeats a run has the values of all others.
fn predictions(sets: &[String]) -> Vec<String> {
    let is_prediction = |set: &&String| set.trim_start().starts_with("expect.");
    sets.iter().filter(is_prediction).cloned().collect()
}

/// The arguments that run a program in a scenario with one seed.
pub(crate) fn words(scenario: &str, sets: &[String], seed: u64, program: &Program) -> Vec<String> {
    let mut words = vec!["attack".into(), "--scenario".into(), scenario.into()];
    for set in sets {
        words.extend(["--set".into(), set.clone()]);
    }
    if let Some(key) = &program.key {
        words.extend(["--key".into(), key.clone()]);
    }
    words.extend(["--seed".into(), seed.to_string(), "--".into()]);
    words.extend(program.words());
    words
}
