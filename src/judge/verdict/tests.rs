//! What the checks find, told line by line: the histories of `tests/histories.txt`.

mod random;

use std::path::Path;

use locklab_testing::check_transcript;

use super::*;
use crate::json_lines;
use crate::raw::Given;

const BUDGET: u64 = 1_000_000;

/// The report on the only lock of a history in milliseconds. Its first line is the model and more of the header;
/// the others are process, type, operation, time, and more fields.
fn report(history: &str) -> KeyReport {
    let mut lines = history.lines();
    let (model, more) = split(lines.next().expect("a header"));
    let mut text = format!(
        "{{\"lock-history\":1,\"unit\":\"ms\",\"model\":\"{model}\"{}}}\n",
        fields(more)
    );
    for line in lines {
        let (process, rest) = split(line);
        let (kind, rest) = split(rest);
        let (f, rest) = split(rest);
        let (time, more) = split(rest);
        text += &format!(
            "{{\"process\":\"{process}\",\"type\":\"{kind}\",\"f\":\"{f}\",\"time\":{time}{}}}\n",
            fields(more)
        );
    }
    let history = json_lines::read(text.into(), Path::new("h.jsonl"), &Given::default()).unwrap();
    judge_key(&history, history.keys[0].clone(), BUDGET).0
}

fn split(text: &str) -> (&str, &str) {
    text.split_once(' ').unwrap_or((text, ""))
}

fn fields(text: &str) -> String {
    let fields = text
        .split_whitespace()
        .filter_map(|field| field.split_once('='));
    fields
        .map(|(name, value)| format!(",\"{name}\":{value}"))
        .collect()
}

/// Each criterion, and what was found of it.
fn told(report: &KeyReport) -> Vec<String> {
    let verdicts = report.verdicts.iter().map(|(criterion, verdict)| {
        let found = match verdict {
            Verdict::Violated(evidence) => {
                let lines: Vec<String> = evidence.lines.iter().map(u32::to_string).collect();
                let counts = if report.counts(*criterion) {
                    ""
                } else {
                    ", which does not count"
                };
                format!("violated by {}{counts}", lines.join(" "))
            }
            Verdict::Holds => "holds".into(),
            Verdict::Inconclusive { why } => format!("inconclusive: {why}"),
        };
        format!("{}: {found}", criterion.name())
    });
    verdicts.collect()
}

#[test]
fn each_history_has_its_verdicts() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/verdict/tests/histories.txt");
    let run = |(): &mut (), _: &str, history: &str| told(&report(history));
    check_transcript(path.as_ref(), &["$ "], || (), run);
}
