//! What is not as predicted, as plain text for a test that fails.

use std::fmt::Write;

use super::results::Results;
use super::summary;
use locklab_evidence::Judgement;
use locklab_values::untrusted::line;

/// A sentence, and a paragraph for each case that is not as predicted.
pub fn failures(results: &Results) -> String {
    let mut text = summary(results);
    // Writing to a string cannot fail.
    for case in &results.cases {
        if case.judgement() <= Judgement::AsPredicted {
            continue;
        }
        let _ = write!(text, "\n\n{}", line(&case.id));
        if let Some(difference) = &case.unlike {
            let _ = write!(text, "\n  not deterministic: {}", line(difference));
        }
        for found in &case.properties {
            if found.judgement < Judgement::Inconclusive {
                continue;
            }
            let _ = write!(text, "\n  {}: {}", found.property, line(&found.sentence()));
            if let Some(evidence) = &found.evidence {
                let command = results.command(evidence);
                let _ = write!(
                    text,
                    "\n    {}\n    replay  {command}",
                    line(&evidence.what)
                );
            }
        }
    }
    text
}
