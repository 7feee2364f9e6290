//! All locks under one fault at every step, as `place --all` compares them: what that says about the claims.
//!
//! It knows rows that are made, and names no lock: each sentence follows from the numbers.

use crate::reproduce::debate::page::{Answer, EveryStep, Mark};
use locklab_evidence::thousands;
use locklab_results::table::{Field, Look, Table, TableRow};

use crate::place::{ComparedRow, STANDARD_SEEDS};
use locklab_lab::layout;

/// The section of the page.
pub(super) fn section(rows: &[ComparedRow<'_>], table: &Table) -> EveryStep {
    let headings = std::iter::once(table.rows_are.to_owned());
    let row = |row: &TableRow| {
        let numbers = row.fields.iter().map(number).collect();
        (row.label.clone(), numbers)
    };
    EveryStep {
        summary: summary(rows),
        answers: answers(rows),
        columns: headings.chain(table.columns.iter().cloned()).collect(),
        rows: table.rows.iter().map(row).collect(),
        notes: table.notes.clone(),
        command: "locklab study place --all".into(),
    }
}

/// The same in lines for the terminal, without the table.
pub(super) fn told(section: &EveryStep) -> String {
    let answers = { section.answers.iter() }
        .map(|answer| format!("\n  {:<8}{}", answer.claims.join(", "), answer.says));
    let answers: String = answers.collect();
    layout::fold(&format!(
        "One fault at every step: {}{answers}",
        section.summary
    ))
}

fn number(field: &Field) -> Mark {
    let look = match field.look {
        Look::Holds => "good",
        Look::Violated(_) => "bad",
        _ => "",
    };
    Mark {
        text: field.text.clone(),
        sentence: String::new(),
        look,
    }
}

/// What was placed.
fn summary(rows: &[ComparedRow<'_>]) -> String {
    let sum = |of: fn(&ComparedRow<'_>) -> u64| thousands(rows.iter().map(of).sum());
    format!(
        "{} locks, each with seed {}: {} placements of one fault at {} steps, in {} classes, each of which is one run.",
        rows.len(),
        STANDARD_SEEDS.start,
        sum(|row| row.summary.counts.placements),
        sum(|row| row.summary.steps),
        sum(|row| row.summary.counts.classes),
    )
}

/// What the comparison says about the lease, and about the resource without and with tokens.
fn answers(rows: &[ComparedRow<'_>]) -> Vec<Answer> {
    let keep_lease = those(rows, |row| row.summary.counts.lease == 0);
    let mut answers = vec![Answer {
        claims: &["K13"],
        says: match &keep_lease[..] {
            [] => "Each lock has placements that violate its lease.".into(),
            keep => format!("No placement violates the lease of {}.", list(keep, code)),
        },
    }];
    let harmed = { keep_lease.into_iter() }.filter(|row| !is_safe(row));
    let harmed: Vec<&ComparedRow<'_>> = harmed.collect();
    if !harmed.is_empty() {
        answers.push(Answer {
            claims: &["K1"],
            says: format!(
                "Where none violates the lease, some violate the resource nevertheless: that of {}.",
                list(&harmed, violating)
            ),
        });
    }
    let without = those(rows, |row| !row.gives_tokens);
    if !without.is_empty() {
        answers.push(Answer {
            claims: &["K1"],
            says: format!("Without fencing tokens, {}.", safe_of(&without)),
        });
    }
    let with = those(rows, |row| row.gives_tokens);
    if !with.is_empty() {
        let harmed = those(with.iter().copied(), |row| !is_safe(row));
        let others = match harmed.is_empty() {
            true => String::new(),
            false => format!(
                " Some placements violate that of {}.",
                list(&harmed, violating)
            ),
        };
        answers.push(Answer {
            claims: &["K5", "K7"],
            says: format!("With fencing tokens, {}.{others}", safe_of(&with)),
        });
    }
    answers
}

/// Of how many locks no placement violates the resource, and of which. What that costs stands with it.
fn safe_of(locks: &[&ComparedRow<'_>]) -> String {
    let safe = those(locks.iter().copied(), is_safe);
    let which = match safe.is_empty() {
        true => String::new(),
        false => format!(
            ": {}",
            list(&safe, |row| match row.summary.counts.deadlock {
                0 => code(row),
                count => format!(
                    "{} ({} of {} leave it deadlocked)",
                    code(row),
                    thousands(count),
                    thousands(row.summary.counts.placements)
                ),
            })
        ),
    };
    let count = match safe.len() {
        0 => "none".to_owned(),
        count => count.to_string(),
    };
    let all = locks.len();
    format!("the resource of {count} of {all} locks withstands every placement{which}")
}

fn is_safe(row: &ComparedRow<'_>) -> bool {
    row.summary.counts.resource == 0
}

fn those<'a>(
    rows: impl IntoIterator<Item = &'a ComparedRow<'a>>,
    is: impl Fn(&ComparedRow<'_>) -> bool,
) -> Vec<&'a ComparedRow<'a>> {
    rows.into_iter().filter(|row| is(row)).collect()
}

fn code(row: &ComparedRow<'_>) -> String {
    format!("`{}`", row.label)
}

fn violating(row: &ComparedRow<'_>) -> String {
    let counts = &row.summary.counts;
    format!(
        "{} ({} of {})",
        code(row),
        thousands(counts.resource),
        thousands(counts.placements)
    )
}

/// `a, b and c`.
fn list(rows: &[&ComparedRow<'_>], word: impl Fn(&ComparedRow<'_>) -> String) -> String {
    let mut words: Vec<String> = rows.iter().map(|row| word(row)).collect();
    match words.pop() {
        Some(last) if !words.is_empty() => format!("{} and {last}", words.join(", ")),
        last => last.unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::debate::Critique;

    /// A lock of which so many of 1,000 placements violate lease and resource, and leave it deadlocked.
    fn lock(
        label: &str,
        gives_tokens: bool,
        [lease, resource, deadlock]: [u64; 3],
    ) -> ComparedRow<'static> {
        let mut row = ComparedRow {
            label: label.into(),
            gives_tokens,
            summary: Default::default(),
            pairs: vec![],
        };
        row.summary.steps = 50;
        let counts = &mut row.summary.counts;
        (counts.placements, counts.classes) = (1_000, 600);
        (counts.lease, counts.resource, counts.deadlock) = (lease, resource, deadlock);
        row
    }

    fn told(rows: &[ComparedRow<'_>]) -> Vec<String> {
        let answers = answers(rows).into_iter();
        answers
            .map(|answer| format!("{}: {}", answer.claims.join(" "), answer.says))
            .collect()
    }

    #[test]
    fn each_sentence_follows_from_the_numbers() {
        let rows = [
            lock("plain", false, [30, 88, 0]),
            lock("quorum", false, [0, 182, 0]),
            lock("row", false, [0, 0, 190]),
            lock("fenced", true, [0, 0, 0]),
            lock("plain (with token)", true, [30, 9, 0]),
        ];
        assert_eq!(
            told(&rows),
            [
                "K13: No placement violates the lease of `quorum`, `row` and `fenced`.",
                "K1: Where none violates the lease, some violate the resource nevertheless: that of `quorum` \
                 (182 of 1,000).",
                "K1: Without fencing tokens, the resource of 1 of 3 locks withstands every placement: `row` (190 of 1,000 \
                 leave it deadlocked).",
                "K5 K7: With fencing tokens, the resource of 1 of 2 locks withstands every placement: `fenced`. Some \
                 placements violate that of `plain (with token)` (9 of 1,000).",
            ]
        );
        assert_eq!(
            summary(&rows),
            "5 locks, each with seed 0: 5,000 placements of one fault at 250 steps, in 3,000 classes, each of which is one run."
        );
        // The other way round in everything.
        let rows = [
            lock("plain", false, [1, 0, 0]),
            lock("fenced", true, [1, 1, 0]),
        ];
        assert_eq!(
            told(&rows),
            [
                "K13: Each lock has placements that violate its lease.",
                "K1: Without fencing tokens, the resource of 1 of 1 locks withstands every placement: `plain`.",
                "K5 K7: With fencing tokens, the resource of none of 1 locks withstands every placement. Some placements \
                 violate that of `fenced` (1 of 1,000).",
            ]
        );
    }

    #[test]
    fn each_sentence_names_claims_that_ship() {
        let critique = Critique::shipped();
        let rows = [lock("a", false, [0, 1, 0]), lock("b", true, [0, 0, 0])];
        let answers = answers(&rows);
        assert_eq!(answers.len(), 4);
        for id in answers.iter().flat_map(|answer| answer.claims) {
            assert!(critique.claims.iter().any(|claim| claim.id == *id), "{id}");
        }
    }
}
