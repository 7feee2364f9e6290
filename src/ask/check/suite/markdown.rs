//! The results as Markdown, for a pull request or a job's summary.

use std::fmt::Write;

use super::results::{CaseResult, Results};
use locklab_evidence::{Judgement, thousands};
use locklab_values::untrusted::{markdown as plain, markdown_code as code};

/// A sentence, a table of what differs or is inconclusive, and one of the rest, folded.
pub fn markdown(results: &Results) -> String {
    let mut text = format!("# Locklab\n\n{}\n", summary(results));
    let good = |case: &&CaseResult| case.judgement() <= Judgement::AsPredicted;
    let (good, rest): (Vec<_>, Vec<_>) = results.cases.iter().partition(good);
    if !rest.is_empty() {
        text += "\n| case | property | |\n|:--|:--|:--|\n";
    }
    // Writing to a string cannot fail.
    for case in rest {
        if let Some(difference) = &case.unlike {
            let _ = writeln!(
                text,
                "| {} | determinism | **{}** |",
                code(&case.id),
                plain(difference)
            );
        }
        for found in &case.properties {
            let word = match found.judgement {
                Judgement::AsPredicted | Judgement::Unpredicted => continue,
                Judgement::Inconclusive => "inconclusive",
                Judgement::Differs => "**differs**",
            };
            let _ = write!(
                text,
                "| {} | {} | {word}: {}",
                code(&case.id),
                found.property,
                plain(&found.sentence())
            );
            if let Some(evidence) = &found.evidence {
                let _ = write!(
                    text,
                    "<br>{}<br>{}",
                    plain(&evidence.what),
                    code(&results.command(evidence))
                );
                if let Some(smallest) = &evidence.smallest {
                    let story = smallest.story.iter().map(|line| plain(line));
                    let _ = write!(
                        text,
                        "<br>smallest: {}<br>{}",
                        plain(&smallest.size),
                        story.collect::<Vec<_>>().join("<br>")
                    );
                }
            }
            text += " |\n";
        }
        if case.runs == 0 {
            let _ = writeln!(text, "| {} | | not run |", code(&case.id));
        }
    }
    if !good.is_empty() {
        text += "\n<details><summary>As predicted</summary>\n\n| case | runs | what it shows |\n";
        text += "|:--|--:|:--|\n";
        for case in good {
            let runs = thousands(case.runs);
            let (id, title) = (code(&case.id), plain(&case.title));
            let _ = writeln!(text, "| {id} | {runs} | {title} |");
        }
        text += "\n</details>\n";
    }
    text
}

/// `12 cases: 10 as predicted, 1 differs, 1 inconclusive.`
pub fn summary(results: &Results) -> String {
    let runs: u64 = results.cases.iter().map(|case| case.runs).sum();
    let part = match &results.shard {
        Some(shard) => format!(", part {shard} of {}", results.suite),
        None => String::new(),
    };
    let cases = results.cases.len();
    let differ = results.count(Judgement::Differs);
    let silent = match results.count(Judgement::Unpredicted) {
        0 => String::new(),
        1 => ", 1 predicts nothing".into(),
        several => format!(", {several} predict nothing"),
    };
    format!(
        "{cases} {}{part}, {} runs: {} as predicted, {differ} {}, {} inconclusive{silent}.",
        if cases == 1 { "case" } else { "cases" },
        thousands(runs),
        results.count(Judgement::AsPredicted),
        if differ == 1 { "differs" } else { "differ" },
        results.count(Judgement::Inconclusive),
    )
}
