//! `locklab judge`: the history of a lock from anywhere, judged.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum, ValueHint};
use serde_json::{Value, json};

use super::{Exit, number};
use locklab_check::{Property, judge_by};
use locklab_evidence::thousands;
use locklab_experiments::output::{self, Stdout};
use locklab_experiments::{Store, data, layout};
use locklab_history::timeline::Timeline;
use locklab_judge::{
    Criterion, Evidence, Header, Intervals, KeyReport, LockHistory, ModelName, Verdict, by_search,
    jepsen, json_lines, judge_key, recorded,
};
use locklab_report::{Provenance, Sheet, spacetime, svg};
use locklab_results::recording;
use locklab_runner::{judged, recorded as recorded_run};

const EXAMPLES: &str = "\
Examples:
  locklab judge history.jsonl
  locklab judge --model owner store/latest/history.edn
  locklab judge - < history.jsonl
  locklab judge history.jsonl --format edn > history.edn
  locklab judge target/locklab/kleppmann-k1/seed-3.jsonl

HISTORY is a log of a lock's calls: JSON lines in the schema of docs/judge.md,
Jepsen's EDN, or a recording of `locklab run`.

Exit codes: 0 nothing that the lock promises is violated; 1 the history cannot
be used; 2 violated; 3 inconclusive: the lock was never contended, or the budget
was spent.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Options {
    /// The history, `-` for standard input
    #[arg(value_name = "HISTORY", value_hint = ValueHint::FilePath)]
    history: PathBuf,
    /// The kind of lock; by default that of the header, and `mutex` for EDN
    #[arg(long, value_name = "MODEL", value_parser = model_parser())]
    model: Option<ModelName>,
    /// How many steps the search for an order may try, for each lock
    #[arg(long, value_name = "STEPS", default_value_t = BUDGET, value_parser = number::whole::<u64>(1..=u64::MAX))]
    budget: u64,
    /// Print the history in this format instead of judging it
    #[arg(long, value_enum, value_name = "FORMAT")]
    format: Option<Format>,
    /// Print the result as JSON on standard output
    #[arg(long)]
    json: bool,
    /// Folder for the picture of a violation
    #[arg(long, value_name = "DIR", default_value = "target/locklab")]
    out: PathBuf,
}

/// A few seconds of search.
const BUDGET: u64 = 10_000_000;

/// Of so many locks the verdicts are told one by one.
const TOLD: usize = 10;

fn model_parser() -> impl TypedValueParser<Value = ModelName> {
    let values = ModelName::ALL.map(|model| PossibleValue::new(model.name()).help(model.about()));
    PossibleValuesParser::new(values).try_map(|name| name.parse::<ModelName>())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Jepsen's
    Edn,
}

/// A history, and what was found of it.
struct Judged {
    history: LockHistory,
    reports: Vec<KeyReport>,
}

pub(super) fn judge(options: &Options) -> anyhow::Result<Exit> {
    let file = bytes(&options.history)?;
    let name = match options.history == Path::new("-") {
        true => PathBuf::from("standard input"),
        false => options.history.clone(),
    };
    if let Some(Format::Edn) = options.format {
        let history = match read(&file, &name, options.model)? {
            Input::Log(history) => history,
            Input::Recording(recording) => recorded::history(&recording.history, 1, options.model),
        };
        output::print_exactly(&jepsen::write(&history))?;
        return Ok(Exit::AsPredicted);
    }
    let judged = match read(&file, &name, options.model)? {
        Input::Log(history) => {
            let keys = history.keys.iter();
            let reports = keys
                .map(|key| judge_key(&history, key, options.budget))
                .collect();
            Judged { history, reports }
        }
        Input::Recording(recording) => of_recording(&recording, &name, options)?,
    };
    drop(file);
    let stdout = Stdout::of(options.json);
    stdout.tell(&heading(&judged, &name))?;
    stdout.tell(&tell(&judged.reports))?;
    let picture = picture(&judged, &name, options)?;
    if let Some(picture) = &picture {
        stdout.tell(&format!("  picture  {}", picture.display()))?;
    }
    if options.json {
        let document = document(&judged, &name, picture.as_deref());
        output::print_json(&data::document("judge", document))?;
    }
    Ok(exit(&judged.reports))
}

fn bytes(path: &Path) -> anyhow::Result<Vec<u8>> {
    if path == Path::new("-") {
        let mut file = Vec::new();
        io::stdin()
            .lock()
            .read_to_end(&mut file)
            .context("cannot read standard input")?;
        return Ok(file);
    }
    let cannot = || {
        format!(
            "cannot read {}; give a history, or - for standard input",
            path.display()
        )
    };
    let found = std::fs::metadata(path).with_context(cannot)?;
    ensure!(
        found.is_file(),
        "{} is no regular file; use - for a pipe",
        path.display()
    );
    std::fs::read(path).with_context(cannot)
}

enum Input {
    Log(LockHistory),
    Recording(Box<recording::Recording>),
}

fn read(file: &[u8], name: &Path, model: Option<ModelName>) -> anyhow::Result<Input> {
    let is_recording = file.trim_ascii_start().starts_with(b"{\"locklab\"");
    Ok(if is_recording {
        Input::Recording(Box::new(recording::read(file, name)?))
    } else if json_lines::is_one(file) {
        Input::Log(json_lines::read(file, name, model)?)
    } else if jepsen::is_one(file) {
        Input::Log(jepsen::read(
            file,
            name,
            Header::of(model.unwrap_or(jepsen::MODEL)),
        )?)
    } else {
        bail!(
            "{}:1: this is not a history; begin it with {{\"lock-history\":1,\"model\":\"mutex\"}}, and \
             see docs/judge.md",
            name.display()
        )
    })
}

/// A recording is judged as `locklab run` judges it, and an order of its calls is searched for.
fn of_recording(
    recording: &recording::Recording,
    name: &Path,
    options: &Options,
) -> anyhow::Result<Judged> {
    let scenario =
        recorded_run::scenario(recording).with_context(|| format!("{}:1", name.display()))?;
    let bounds = judged::bounds(&scenario);
    let timeline = Timeline::of(&recording.history);
    let mut verdicts: BTreeMap<Criterion, Verdict> = BTreeMap::new();
    let lines = |at_ns: u64| {
        let records = &recording.history.records;
        let from = records.partition_point(|record| record.at_ns < at_ns);
        let end = records.partition_point(|record| record.at_ns <= at_ns);
        // The first line is the header.
        (from..end).map(|record| record as u32 + 2)
    };
    for (property, verdict) in judge_by(&timeline, &bounds, &Property::ALL) {
        let verdict = match verdict {
            locklab_check::Verdict::Holds => Verdict::Holds,
            locklab_check::Verdict::Inconclusive { why } => Verdict::Inconclusive { why },
            locklab_check::Verdict::Violated(violation) => {
                let lines = lines(violation.at_ns);
                Verdict::Violated(Evidence::new(violation, lines))
            }
        };
        verdicts.insert(Criterion::Checked(property), verdict);
    }
    let history = recorded::history(&recording.history, bounds.nodes, options.model);
    let key = &history.keys[0];
    let linearizable = by_search(&history, key, options.budget);
    let mut not_searched = None;
    match linearizable {
        Ok(verdict) => drop(verdicts.insert(Criterion::Linearizable, verdict)),
        Err(why) => not_searched = Some(why),
    }
    let report = KeyReport {
        key: key.key.clone(),
        calls: key.calls.len(),
        exclusion: Criterion::Checked(Property::Lease),
        verdicts: verdicts.into_iter().collect(),
        not_searched,
    };
    Ok(Judged {
        reports: vec![report],
        history,
    })
}

fn exit(reports: &[KeyReport]) -> Exit {
    let is_violated = |report: &KeyReport| {
        let mut verdicts = report.verdicts.iter();
        verdicts.any(|(criterion, verdict)| {
            matches!(verdict, Verdict::Violated(_)) && report.counts(*criterion)
        })
    };
    let is_unknown = |report: &KeyReport| {
        let searched = report.verdict(Criterion::Linearizable);
        matches!(searched, Some(Verdict::Inconclusive { .. }))
    };
    let excludes = |report: &KeyReport| report.verdict(report.exclusion) == Some(&Verdict::Holds);
    if reports.iter().any(is_violated) {
        Exit::Differs
    } else if reports.iter().any(is_unknown) || !reports.iter().any(excludes) {
        Exit::Inconclusive
    } else {
        Exit::AsPredicted
    }
}

fn heading(judged: &Judged, name: &Path) -> String {
    let history = &judged.history;
    let count = |count: usize, one: &str, many: &str| match count {
        1 => format!("1 {one}"),
        _ => format!("{} {many}", thousands(count as u64)),
    };
    let calls = judged.reports.iter().map(|report| report.calls).sum();
    let mut parts = vec![
        format!("model {}", history.header.model),
        count(judged.reports.len(), "lock", "locks"),
        count(calls, "call", "calls"),
    ];
    if history.skipped > 0 {
        parts.push(format!(
            "{} passed over",
            count(history.skipped, "operation", "operations")
        ));
    }
    layout::fold(&format!("{}  {}", name.display(), parts.join(", ")))
}

/// The verdicts of each lock; of many locks, those with a violation.
fn tell(reports: &[KeyReport]) -> String {
    let has_violation = |report: &&KeyReport| {
        let mut verdicts = report.verdicts.iter();
        verdicts.any(|(_, verdict)| matches!(verdict, Verdict::Violated(_)))
    };
    let told: Vec<&KeyReport> = match reports.len() {
        0..=TOLD => reports.iter().collect(),
        _ => reports.iter().filter(has_violation).take(TOLD).collect(),
    };
    let mut lines: Vec<String> = told.iter().map(|report| tell_key(report)).collect();
    let rest = reports.len() - told.len();
    if rest > 0 {
        let violated = reports.iter().filter(has_violation).count()
            - told.iter().filter(|it| has_violation(it)).count();
        lines.push(format!(
            "  {} more locks, {} of them with a violation; --json has all",
            thousands(rest as u64),
            thousands(violated as u64),
        ));
    }
    lines.join("\n")
}

fn tell_key(report: &KeyReport) -> String {
    let mut rows: Vec<[String; 3]> = Vec::new();
    for (criterion, verdict) in &report.verdicts {
        let (word, why) = match verdict {
            Verdict::Holds => ("holds", String::new()),
            Verdict::Violated(Evidence { violation, lines }) => {
                ("violated", format!("{}; {}", violation.what, listed(lines)))
            }
            Verdict::Inconclusive { why } => ("inconclusive", why.clone()),
        };
        rows.push([format!("  {criterion}"), word.into(), why]);
    }
    let mut text = format!("  lock {}\n{}", report.key, layout::rows(&rows));
    if let Some(why) = &report.not_searched {
        text.push_str(&layout::fold(&format!(
            "\n    no order was searched for: {why}"
        )));
    }
    text
}

fn listed(lines: &[u32]) -> String {
    let numbers: Vec<String> = lines.iter().map(u32::to_string).collect();
    match numbers.len() {
        1 => format!("line {}", numbers[0]),
        _ => format!("lines {}", numbers.join(", ")),
    }
}

/// Draws the first violation of exclusion, if there is one, and says where.
fn picture(judged: &Judged, name: &Path, options: &Options) -> anyhow::Result<Option<PathBuf>> {
    let found = judged
        .reports
        .iter()
        .enumerate()
        .find_map(
            |(place, report)| match (report.exclusion, report.verdict(report.exclusion)) {
                (Criterion::Checked(_), Some(Verdict::Violated(evidence))) => {
                    Some((place, evidence))
                }
                _ => None,
            },
        );
    let Some((place, evidence)) = found else {
        return Ok(None);
    };
    let key = &judged.history.keys[place];
    let around =
        Intervals::of(key, &judged.history.names, judged.history.header.model).around(evidence);
    let file = name
        .file_name()
        .map_or_else(String::new, |file| file.to_string_lossy().into_owned());
    let title = format!("{file}: lock {}", key.key);
    let drawing = spacetime::draw(
        &around,
        &title,
        Some(&evidence.violation),
        &[],
        &Sheet::SCREEN,
    )?;
    let provenance = Provenance {
        subject: file.clone(),
        overrides: vec![],
        seeds: listed(&evidence.lines),
        environment: "recorded elsewhere".into(),
    };
    let store = Store::at(&options.out, &[])?.of_scenario(&format!("judge-{file}"), &[])?;
    let picture = svg(&provenance.stamp(drawing));
    Ok(Some(store.write("violation.svg", picture.as_bytes())?))
}

fn document(judged: &Judged, name: &Path, picture: Option<&Path>) -> Value {
    let keys: Vec<Value> = judged
        .reports
        .iter()
        .map(|report| {
            let verdicts: serde_json::Map<String, Value> = report
                .verdicts
                .iter()
                .map(|(criterion, verdict)| (criterion.name().into(), json!(verdict)))
                .collect();
            json!({
                "key": report.key,
                "calls": report.calls,
                "exclusion": report.exclusion,
                "verdicts": verdicts,
                "not_searched": report.not_searched,
            })
        })
        .collect();
    json!({
        "history": name.display().to_string(),
        "model": judged.history.header.model,
        "passed_over": judged.history.skipped,
        "locks": keys,
        "picture": picture.map(|path| path.display().to_string()),
    })
}
