//! What `locklab score` came to, in words, as JUnit XML and as a badge.

use std::fmt::Write as _;

use locklab_lab::{data, layout};
use locklab_real::score::{Cell, Fact, Passed, Verdict};
use serde_json::json;

use super::{Entry, exit};
use crate::check::suite::xml;

/// The most messages that are shown of a play.
const MESSAGES: usize = 60;

/// Folded, and below its heading.
pub(super) fn indented(text: &str) -> String {
    let lines = layout::fold(text);
    let lines: Vec<String> = lines.lines().map(|line| format!("    {line}")).collect();
    lines.join("\n")
}

/// The result, for people.
pub(super) fn told(entries: &[Entry], show: bool) -> String {
    let mut text = String::new();
    for (title, must) in [("Musts", true), ("Facts", false)] {
        let rows: Vec<Vec<String>> = { entries.iter() }
            .filter(|entry| entry.must == must && !is_missing(entry))
            .map(|entry| {
                let verdict = format!("{} {}", sign(entry), words(&entry.cell));
                vec![entry.id.to_owned(), verdict, entry.title.to_owned()]
            })
            .collect();
        if !rows.is_empty() {
            text += &format!("{title}\n{}\n", layout::rows(&rows));
        }
    }
    let missing: Vec<Vec<String>> = { entries.iter() }
        .filter_map(|entry| match &entry.cell.verdict {
            Verdict::NotApplicable { lacks } => {
                let lacks: Vec<String> = lacks.iter().map(ToString::to_string).collect();
                Some(vec![
                    entry.id.to_owned(),
                    format!("no call to {}", lacks.join(", ")),
                ])
            }
            _ => None,
        })
        .collect();
    if !missing.is_empty() {
        text += &format!("Not applicable\n{}\n", layout::rows(&missing));
    }
    if show {
        for entry in entries {
            text += &shown(entry);
        }
    }
    text.trim_end().to_owned()
}

/// What is seen at first sight: only of a must.
fn sign(entry: &Entry) -> &'static str {
    match &entry.cell.verdict {
        Verdict::Is {
            good: Some(true), ..
        } if entry.must && entry.cell.varies.is_empty() => "✓",
        _ if entry.must && entry.cell.is_bad() => "✗",
        _ if !entry.cell.is_decided() => "?",
        _ => " ",
    }
}

/// A cell, in words.
fn words(cell: &Cell) -> String {
    if !cell.varies.is_empty() {
        return format!("varies: {}", cell.varies.join(", "));
    }
    match &cell.verdict {
        Verdict::Is {
            is, value: None, ..
        } => is.clone(),
        Verdict::Is {
            is,
            value: Some(value),
            unit,
            ..
        } => {
            let unit = unit.as_deref().unwrap_or_default();
            let range = cell
                .range
                .filter(|it| it.least.round() < it.greatest.round());
            let range = range.map_or(String::new(), |it| {
                format!(" ({:.0} to {:.0})", it.least, it.greatest)
            });
            format!("{is}, {value:.0} {unit}{range}")
        }
        Verdict::NotApplicable { .. } => "n/a".into(),
        Verdict::Undecided { why } => format!("not decided: {why}"),
    }
}

/// What was seen in the last play, and what passed.
fn shown(entry: &Entry) -> String {
    let Some(play) = entry.plays.last() else {
        return String::new();
    };
    let fact = |(name, fact): (&String, &Fact)| format!("    {name} = {}", json!(fact));
    let facts: Vec<String> = play.facts.iter().map(fact).collect();
    let passed = |it: &Passed| {
        let message = &it.message;
        format!(
            "    {:9.2} ms  {} → {}  {}",
            it.ms, message.from, message.to, message.text
        )
    };
    let wire: Vec<String> = play.wire.iter().take(MESSAGES).map(passed).collect();
    format!(
        "\n{}\n{}\n{}\n",
        entry.id,
        facts.join("\n"),
        wire.join("\n")
    )
}

fn is_missing(entry: &Entry) -> bool {
    matches!(entry.cell.verdict, Verdict::NotApplicable { .. })
}

/// How many musts are kept, of those that the library has a call for, as a badge.
pub(super) fn badge(entries: &[Entry]) -> String {
    let musts = entries
        .iter()
        .filter(|entry| entry.must && !is_missing(entry));
    let is_kept = |entry: &&Entry| entry.cell.is_decided() && !entry.cell.is_bad();
    let kept = musts.clone().filter(is_kept).count();
    let message = format!("{kept} of {} musts", musts.count());
    data::badge("redis lock", &message, exit(entries))
}

/// The musts as JUnit XML: a bad verdict is a failure, none an error, and what the library has no call for is skipped.
pub(super) fn junit(entries: &[Entry]) -> String {
    let musts: Vec<&Entry> = entries.iter().filter(|entry| entry.must).collect();
    let count = |is: &dyn Fn(&Entry) -> bool| musts.iter().filter(|entry| is(entry)).count();
    let mut file = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"locklab score\">\n<testsuite name=\"musts\" \
         tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\">\n",
        musts.len(),
        count(&|entry| entry.cell.is_bad()),
        count(&|entry| !entry.cell.is_decided()),
        count(&is_missing)
    );
    for entry in musts {
        let words = xml::quoted(&words(&entry.cell));
        let inside = match (entry.cell.is_bad(), entry.cell.is_decided()) {
            (true, _) => format!("<failure message={words}/>"),
            (_, false) => format!("<error message={words}/>"),
            _ if is_missing(entry) => "<skipped/>".to_owned(),
            _ => String::new(),
        };
        let name = xml::quoted(&format!("{} {}", entry.id, entry.title));
        let _ = writeln!(
            file,
            "<testcase classname=\"score\" name={name}>{inside}</testcase>"
        );
    }
    file + "</testsuite>\n</testsuites>\n"
}
