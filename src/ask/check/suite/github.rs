//! The results as workflow commands of GitHub Actions, which show them beside the line of the
//! scenario.

use super::results::{CaseResult, PropertyResult, Results};
use locklab_evidence::Judgement;
use locklab_values::untrusted;

/// A line for each property that is not as predicted: `::error file=…,line=…,title=…::…`.
pub fn annotations(results: &Results) -> Vec<String> {
    let of_case = |case: &CaseResult| {
        let unlike = case.unlike.as_ref().map(|difference| {
            let title = format!("{} is not deterministic", case.id);
            command("error", case, None, &title, difference)
        });
        let found = case.properties.iter();
        let found = found.filter_map(|found| of_property(results, case, found));
        unlike.into_iter().chain(found).collect::<Vec<_>>()
    };
    results.cases.iter().flat_map(of_case).collect()
}

fn of_property(results: &Results, case: &CaseResult, found: &PropertyResult) -> Option<String> {
    let level = match found.judgement {
        Judgement::AsPredicted | Judgement::Unpredicted => return None,
        Judgement::Inconclusive => "warning",
        Judgement::Differs => "error",
    };
    let title = format!("{}: {} {}", case.id, found.property, found.judgement.name());
    let mut message = found.sentence();
    if let Some(evidence) = &found.evidence {
        message += &format!("\n{}\nreplay: {}", evidence.what, results.command(evidence));
    }
    Some(command(level, case, found.line, &title, &message))
}

fn command(
    level: &str,
    case: &CaseResult,
    line: Option<usize>,
    title: &str,
    message: &str,
) -> String {
    let place = match line {
        Some(line) => format!("file={},line={line},", untrusted::property(&case.id)),
        None => String::new(),
    };
    format!(
        "::{level} {place}title={}::{}",
        untrusted::property(title),
        untrusted::message(message)
    )
}
