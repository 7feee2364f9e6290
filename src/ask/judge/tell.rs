//! What was found of a history, as text, as JSON and as a picture.

use std::path::{Path, PathBuf};

use locklab_evidence::thousands;
use locklab_judge::{Evidence, KeyReport, Verdict};
use locklab_lab::{Store, layout};
use locklab_report::{Provenance, Sheet, spacetime, svg};
use locklab_values::untrusted;
use serde_json::{Value, json};

use super::read::Judged;

/// Of so many locks the verdicts are told one by one.
const TOLD: usize = 10;

/// What was judged, in a line.
pub(crate) fn heading(judged: &Judged, name: &Path) -> String {
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
    let mut text = layout::fold(&format!("{}  {}", name.display(), parts.join(", ")));
    for note in &history.notes {
        text += &layout::fold(&format!("\n  note: {}", untrusted::line(note)));
    }
    text
}

/// The verdicts of each lock; of many locks, those with a violation.
pub(crate) fn verdicts(reports: &[KeyReport]) -> String {
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
pub(crate) fn picture(judged: &Judged, name: &Path, out: &Path) -> anyhow::Result<Option<PathBuf>> {
    let mut reports = judged.reports.iter();
    let found = reports.find_map(|report| match report.verdict(report.exclusion) {
        Some(Verdict::Violated(evidence)) => Some((&report.key, evidence)),
        _ => None,
    });
    let (Some((key, evidence)), Some(around)) = (found, &judged.around) else {
        return Ok(None);
    };
    let file = name
        .file_name()
        .map_or_else(String::new, |file| file.to_string_lossy().into_owned());
    let title = format!("{file}: lock {key}");
    let drawing = spacetime::draw(
        around,
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
    let store = Store::at(out, &[])?.of_scenario(&format!("judge-{file}"), &[])?;
    let picture = svg(&provenance.stamp(drawing));
    Ok(Some(store.write("violation.svg", picture.as_bytes())?))
}

/// All that was found.
pub(crate) fn document(judged: &Judged, name: &Path, picture: Option<&Path>) -> Value {
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
        "notes": judged.history.notes,
        "locks": keys,
        "picture": picture.map(|path| path.display().to_string()),
    })
}
