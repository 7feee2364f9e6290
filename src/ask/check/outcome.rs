//! What is told and written of a checked suite.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use anyhow::Context;
use console::style;
use locklab_vecmap::VecMap;
use serde_json::json;

use crate::check::suite::results::{Evidence, PropertyResult, Smallest};
use crate::check::suite::{Case, CaseResult, Results};
use crate::meaning::meanings;
use crate::shrink::Shrink;
use locklab_check::Property;
use locklab_evidence::{Judgement, Prediction, thousands};
use locklab_lab::output::Stdout;
use locklab_lab::report::Report;
use locklab_lab::section::{Form, Section};
use locklab_lab::{Exit, Session, Store, data, layout, output, recordings, store};
use locklab_model::scenario::Scenario;
use locklab_results::csv::{self, Csv};
use locklab_results::recording::Recording;
use locklab_runner::judged::{self, JudgedRun};
use locklab_runner::simulate::Keep;
use locklab_shrink::{Subject, USUAL_TRIES, toml};
use locklab_values::untrusted;

/// Adds to each property where its prediction stands, and to what differs a run that shows it.
/// Properties that the same run violates share it.
pub(super) fn explain(
    case: &Case,
    result: &mut CaseResult,
    store: &Store,
    shrinking: Option<&Session>,
) -> anyhow::Result<()> {
    let mut shown: VecMap<u64, Vec<&mut PropertyResult>> = VecMap::new();
    for found in &mut result.properties {
        found.line = case.lines.get(&found.property).copied();
        let seed = found.shortest;
        if let Some(seed) = seed.filter(|_| found.judgement == Judgement::Differs) {
            shown.entry(seed).or_default().push(found);
        }
    }
    for (seed, properties) in shown {
        let (run, replay) = match &case.recording {
            None => (
                judged::record(&case.scenario, seed)?,
                words(&["run", &case.id, "--seed", &seed.to_string()]),
            ),
            Some(recorded) => {
                let environment = recorded.header.environment;
                let run = again(case, recorded, Keep::MESSAGES)?;
                (
                    judged::recording(&case.scenario, seed, run, environment),
                    words(&["replay", &case.id]),
                )
            }
        };
        let names: Vec<Property> = properties.iter().map(|found| found.property).collect();
        let drawn = recordings::drawn(&names, &case.scenario, &run.footer.verdicts);
        let folder = store.of_scenario(&case.id, &[])?;
        let stem = format!("seed-{seed}");
        let kept = recordings::keep(&folder, &stem, &case.scenario, &run, drawn)?;
        let below = |path: &Path| {
            let below = path.strip_prefix(store.path("")).unwrap_or(path);
            below.to_string_lossy().into_owned()
        };
        let smallest = match shrinking {
            Some(session) if recordings::violation_of(&run, drawn).is_some() => {
                Some(smallest(case, seed, drawn, session, store)?)
            }
            _ => None,
        };
        for found in properties {
            let violation = recordings::violation_of(&run, found.property);
            let means = meanings(&run, &[found.property]).pop();
            found.evidence = Some(Evidence {
                seed,
                what: violation.map_or_else(String::new, |violation| violation.what.clone()),
                prevents: means.map_or_else(String::new, |meaning| meaning.prevents),
                replay: replay.clone(),
                recording: below(&kept.recording),
                picture: below(&kept.picture),
                smallest: { smallest.clone() }.filter(|_| found.property == drawn),
            });
        }
    }
    Ok(())
}

/// Shrinks the run of a case. What is left goes to the folder `regressions`, with the prediction that
/// the property holds, so that a suite with it fails until the lock is mended.
fn smallest(
    case: &Case,
    seed: u64,
    property: Property,
    session: &Session,
    store: &Store,
) -> anyhow::Result<Smallest> {
    let subject = match &case.recording {
        None => Subject::of(&case.scenario, seed),
        Some(recorded) => Subject {
            scenario: case.scenario.clone(),
            seed,
            schedule: recorded.header.schedule.clone(),
        },
    };
    let shrink = Shrink {
        subject,
        property: Some(property),
        tries: USUAL_TRIES,
    };
    let stem = format!("{}-{property}", store::folder_of(&case.id, &[]));
    let folder = store.below(REGRESSIONS)?;
    let shrunk = shrink.smallest(property, session, &folder, &stem)?.found;
    let scenario = Scenario {
        expect: [(property, Prediction::HOLDS)].into(),
        ..shrunk.scenario.clone()
    };
    let comments = [
        format!(
            "The smallest scenario found that violates `{property}` like seed {seed} of {}. Copy it into",
            case.id
        ),
        format!("regressions/: it fails until {property} holds."),
    ];
    let name = format!("{stem}.toml");
    folder.write(&name, toml(&scenario, &comments).as_bytes())?;
    Ok(Smallest {
        scenario: format!("{REGRESSIONS}/{name}"),
        size: shrunk.size(),
        story: shrunk.story,
    })
}

/// The folder of shrunk runs, below that of the results.
const REGRESSIONS: &str = "regressions";

/// The recorded run of a case, repeated with today's code.
pub(super) fn again(case: &Case, recorded: &Recording, keep: Keep) -> anyhow::Result<JudgedRun> {
    let header = &recorded.header;
    let schedule = header.schedule.clone();
    let run = judged::run_until_full(&case.scenario, header.seed, schedule, keep);
    run.with_context(|| case.id.clone())
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(ToString::to_string).collect()
}

/// The report of a suite.
pub(super) fn report(
    results: &Results,
    session: &Session,
    folder: &Store,
    exit: Exit,
) -> anyhow::Result<Report> {
    let document = data::document("check", serde_json::to_value(results)?);
    let text = describe(results, session, folder);
    let section = Section {
        forms: vec![
            Form::Text {
                name: "check.md".into(),
                text: super::suite::markdown(results),
            },
            Form::Text {
                name: "junit.xml".into(),
                text: super::suite::junit(results),
            },
            Form::Text {
                name: "badge.json".into(),
                text: badge(results, exit),
            },
            Form::Data(document.clone()),
            Form::List(table(results)),
        ],
        ..Section::of(text, folder, "check")
    };
    Ok(Report {
        sections: vec![section],
        closing: String::new(),
        document,
        exit,
    })
}

/// How many cases are as predicted, of those that predict something.
fn badge(results: &Results, exit: Exit) -> String {
    let kept = results.count(Judgement::AsPredicted);
    let cases = results.cases.len() - results.count(Judgement::Unpredicted);
    let message = format!("{kept} of {cases} as predicted");
    data::badge("locklab check", &message, exit)
}

/// A line for each case, what differs or is inconclusive, and a summary.
fn describe(results: &Results, session: &Session, folder: &Store) -> String {
    let path = |name: &String| folder.path(name).display().to_string();
    let mut lines = Vec::new();
    for case in results.cases.iter().filter(|case| case.was_run()) {
        let mark = match case.judgement() {
            Judgement::AsPredicted | Judgement::Unpredicted => style("✓").green(),
            Judgement::Inconclusive => style("?").yellow(),
            Judgement::Differs => style("✗").red(),
        };
        let id = style(untrusted::line(&case.id)).bold();
        let runs = match case.runs {
            1 => "1 run".into(),
            runs => format!("{} runs", thousands(runs)),
        };
        let folded = |line: String| layout::fold(&line);
        lines.push(folded(format!("{mark} {id}  {} ({runs})", case.title)));
        if let Some(difference) = &case.unlike {
            lines.push(folded(format!("    not deterministic: {difference}")));
        }
        let mut told: Vec<&String> = Vec::new();
        for found in &case.properties {
            if found.judgement >= Judgement::Inconclusive {
                let (property, sentence) = (found.property, found.sentence());
                lines.push(folded(format!("    {property}: {sentence}")));
            }
            if let Some(evidence) = &found.evidence {
                let replay: Vec<&str> = evidence.replay.iter().map(String::as_str).collect();
                lines.push(folded(format!("      {}", evidence.what)));
                if !evidence.prevents.is_empty() && !told.contains(&&evidence.prevents) {
                    lines.push(folded(format!("      {}", evidence.prevents)));
                    told.push(&evidence.prevents);
                }
                lines.push(format!(
                    "      replay     {}",
                    session.program.line(&replay)
                ));
                lines.push(format!("      recording  {}", path(&evidence.recording)));
                lines.push(format!("      picture    {}", path(&evidence.picture)));
                match &evidence.smallest {
                    Some(smallest) => {
                        lines.push(format!("      shrunk     {}", path(&smallest.scenario)));
                        let told = [&smallest.size].into_iter().chain(&smallest.story);
                        lines.extend(told.map(|line| folded(format!("        {line}"))));
                    }
                    None => {
                        let recording = path(&evidence.recording);
                        let words = ["shrink", &recording, "--property", found.property.name()];
                        lines.push(format!("      shrink     {}", session.program.line(&words)));
                    }
                }
            }
        }
    }
    let not_run = results.cases.iter().filter(|case| !case.was_run()).count();
    if not_run > 0 {
        let cases = if not_run == 1 { "case" } else { "cases" };
        lines.push(format!("{} {cases} not run", thousands(not_run as u64)));
    }
    lines.push(format!("\n{}", crate::check::suite::summary(results)));
    lines.join("\n")
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
pub(super) fn github(results: &Results, stdout: Stdout) -> anyhow::Result<()> {
    if std::env::var_os("GITHUB_ACTIONS").is_some_and(|value| value == "true")
        && stdout != Stdout::Json
    {
        for line in crate::check::suite::annotations(results) {
            output::print_exactly(&line)?;
        }
    }
    if let Some(path) = std::env::var_os("GITHUB_STEP_SUMMARY").filter(|path| !path.is_empty()) {
        let append = OpenOptions::new().append(true).create(true).open(&path);
        let written = append
            .and_then(|mut file| file.write_all(crate::check::suite::markdown(results).as_bytes()));
        written.with_context(|| format!("cannot write {}", path.to_string_lossy()))?;
    }
    Ok(())
}
