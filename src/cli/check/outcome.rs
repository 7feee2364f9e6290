//! What `locklab check` prints and writes.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;

use anyhow::Context;
use console::style;
use serde_json::{Value, json};

use crate::check::Property;
use crate::cli::say::{self, tell};
use crate::cli::store::Store;
use crate::cli::{data, pictures};
use crate::evidence::{Judgement, thousands};
use crate::results::csv::{self, Csv};
use crate::runner::judged;
use crate::runner::simulate::Keep;
use crate::scenario;
use crate::suite::results::Evidence;
use crate::suite::{self, Case, CaseResult, Results};

/// Adds to what differs where its prediction stands, and a run that shows it.
pub(super) fn explain(case: &Case, result: &mut CaseResult, store: &Store) -> anyhow::Result<()> {
    let text = match case.recording {
        None => fs::read_to_string(&case.id).ok(),
        Some(_) => None,
    };
    for found in &mut result.properties {
        let path = ["expect".to_owned(), found.property.name().to_owned()];
        found.line = text
            .as_deref()
            .and_then(|text| scenario::line_of(text, &path));
        let Some(seed) = found
            .shortest
            .filter(|_| found.judgement == Judgement::Differs)
        else {
            continue;
        };
        found.evidence = Some(evidence(case, found.property, seed, store)?);
    }
    Ok(())
}

/// Writes the run with this seed, and draws it.
fn evidence(case: &Case, property: Property, seed: u64, store: &Store) -> anyhow::Result<Evidence> {
    let scenario = &case.scenario;
    let (recording, replay) = match &case.recording {
        None => (
            judged::record(scenario, seed)?,
            words(&["run", &case.id, "--seed", &seed.to_string()]),
        ),
        Some(recorded) => {
            let schedule = recorded.header.schedule.clone();
            let run = judged::run_schedule(scenario, seed, schedule, Keep::MESSAGES)?;
            let environment = recorded.header.environment;
            (
                judged::recording(scenario, seed, run, environment),
                words(&["replay", &case.id]),
            )
        }
    };
    let what = match pictures::violation_of(&recording, property) {
        Some(violation) => violation.what.clone(),
        None => format!("{property} is not violated"),
    };
    let folder = store.of_scenario(&case.id, &[])?;
    let kept = pictures::keep(
        &folder,
        &format!("seed-{seed}"),
        scenario,
        &recording,
        property,
    )?;
    let below = |path: &Path| {
        let below = path.strip_prefix(store.path("")).unwrap_or(path);
        below.to_string_lossy().into_owned()
    };
    Ok(Evidence {
        seed,
        what,
        replay,
        recording: below(&kept.recording),
        picture: below(&kept.picture),
    })
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(ToString::to_string).collect()
}

/// A line for each case, what differs or is inconclusive, and a summary.
pub(in crate::cli) fn present(results: &Results, store: &Store) {
    for case in &results.cases {
        let mark = match case.judgement() {
            Judgement::AsPredicted | Judgement::Unpredicted => style("✓").green(),
            Judgement::Inconclusive => style("?").yellow(),
            Judgement::Differs => style("✗").red(),
        };
        let id = style(&case.id).for_stderr().bold();
        let runs = match case.runs {
            0 => "not run".into(),
            1 => "1 run".into(),
            runs => format!("{} runs", thousands(runs)),
        };
        tell!("{} {id}  {} ({runs})", mark.for_stderr(), case.title);
        if let Some(difference) = &case.unlike {
            tell!("    not deterministic: {difference}");
        }
        for found in &case.properties {
            if matches!(found.judgement, Judgement::Differs) || found.more_runs.is_some() {
                tell!("    {}: {}", found.property, found.sentence());
            }
            if let Some(evidence) = &found.evidence {
                tell!("      {}", evidence.what);
                let replay: Vec<&str> = evidence.replay.iter().map(String::as_str).collect();
                tell!("      replay     {}", say::line(&replay));
                tell!(
                    "      recording  {}",
                    store.path(&evidence.recording).display()
                );
                tell!(
                    "      picture    {}",
                    store.path(&evidence.picture).display()
                );
            }
        }
    }
    tell!("\n{}", suite::summary(results));
}

/// Writes the results in all formats, and returns them as a document.
pub(in crate::cli) fn write(results: &Results, store: &Store) -> anyhow::Result<Value> {
    let document = data::document("check", serde_json::to_value(results)?);
    let files = [
        (
            "check.json",
            serde_json::to_string_pretty(&document)? + "\n",
        ),
        ("junit.xml", suite::junit(results)?),
        ("check.md", suite::markdown(results)),
        ("check.csv", table(results).text()),
    ];
    for (name, text) in files {
        let path = store.write(name, text.as_bytes())?;
        tell!(
            "  {:<6}{}",
            name.rsplit('.').next().unwrap_or(name),
            path.display()
        );
    }
    Ok(document)
}

/// A row for each property.
fn table(results: &Results) -> Csv {
    let before = [
        "case",
        "kind",
        "claim",
        "property",
        "predicted",
        "observed",
        "judgement",
    ];
    let mut csv = Csv::new(
        before
            .into_iter()
            .chain(csv::COUNTS)
            .chain(["shortest_seed"]),
    );
    for case in &results.cases {
        for found in &case.properties {
            let mut row = vec![
                case.id.clone(),
                json!(case.kind).as_str().unwrap_or_default().to_owned(),
                case.claim.clone().unwrap_or_default(),
                found.property.to_string(),
                found.predicted.map_or(String::new(), |p| p.to_string()),
                found.observed.name().to_owned(),
                found.judgement.name().to_owned(),
            ];
            row.extend(csv::counts(&found.tally));
            row.push(
                found
                    .shortest
                    .map_or(String::new(), |seed| seed.to_string()),
            );
            csv.push(row);
        }
    }
    csv
}

/// Annotations and the job's summary, where GitHub Actions runs this.
pub(super) fn github(results: &Results, is_data: bool) -> anyhow::Result<()> {
    if std::env::var_os("GITHUB_ACTIONS").is_some_and(|value| value == "true") && !is_data {
        for line in suite::annotations(results) {
            say::print(&line)?;
        }
    }
    if let Some(path) = std::env::var_os("GITHUB_STEP_SUMMARY").filter(|path| !path.is_empty()) {
        let append = OpenOptions::new().append(true).create(true).open(&path);
        let written =
            append.and_then(|mut file| file.write_all(suite::markdown(results).as_bytes()));
        written.with_context(|| format!("cannot write {}", path.to_string_lossy()))?;
    }
    Ok(())
}
