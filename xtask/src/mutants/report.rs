//! The published result of mutants: for each file two scores, and what nothing notices.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::generate::{Edit, Mutant};
use super::trial::Outcome;

/// The results, as `reports/mutants/mutants.json` has them.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Results {
    /// The command that makes them.
    pub command: String,
    /// The seeds with which each scenario ran.
    pub seeds: u64,
    /// By file.
    pub files: BTreeMap<String, OfFile>,
}

/// What came of a file.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfFile {
    /// The changes that do not compile as a switch.
    pub dropped: usize,
    /// The mutants that were not tried yet.
    pub untried: usize,
    /// Its mutants, in the order of their places.
    pub mutants: Vec<OfMutant>,
}

/// What came of a mutant.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfMutant {
    /// The line, from 1.
    pub line: usize,
    /// What is changed, in which function.
    pub change: String,
    /// How many scenarios reach it, and whether one notices it; the same of tests.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// Of one that nothing notices: the line, and what it becomes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub diff: Vec<String>,
}

impl OfMutant {
    /// Whether nothing notices it.
    pub fn survives(&self) -> bool {
        !self.outcome.by_scenario && !self.outcome.by_test
    }
}

impl Results {
    /// Reads a published result; an empty one if there is none.
    ///
    /// # Errors
    ///
    /// If it is something else.
    pub fn read(path: &Path) -> Result<Results> {
        match fs::read_to_string(path) {
            Ok(text) => {
                serde_json::from_str(&text).with_context(|| format!("read {}", path.display()))
            }
            Err(_) => Ok(Results::default()),
        }
    }

    /// Adds a mutant. Those of a file come in the order of their places.
    pub fn add(&mut self, mutant: &Mutant, outcome: Outcome, text: &str) {
        let mut of = OfMutant {
            line: mutant.line,
            change: mutant.change.clone(),
            outcome,
            diff: Vec::new(),
        };
        if of.survives() {
            of.diff = diff(mutant, text);
        }
        self.files
            .entry(mutant.file.clone())
            .or_default()
            .mutants
            .push(of);
    }

    /// All that were tried, by their names.
    pub fn names(&self) -> impl Iterator<Item = String> {
        self.files.iter().flat_map(|(file, of)| {
            let changes = of.mutants.iter().map(|mutant| &mutant.change);
            changes.map(move |change| format!("{file}: {change}"))
        })
    }

    /// The survivors, by the names that `xtask/survivors.txt` has.
    pub fn survivors(&self) -> impl Iterator<Item = String> {
        self.files.iter().flat_map(|(file, of)| {
            let survivors = of.mutants.iter().filter(|mutant| mutant.survives());
            survivors.map(move |mutant| format!("{file}: {}", mutant.change))
        })
    }

    /// The results for people. `reasons` says why a survivor is none that matters.
    pub fn to_markdown(&self, reasons: &BTreeMap<String, String>) -> String {
        let mut out = format!(
            "# Mutants\n\nMade with `{}`. Each mutant is one change of one place: another operator, the \
             opposite condition, a `match` without an arm, a function that only returns a value. It is \
             *seen by a scenario* if a prediction of a shipped scenario differs with the mutant, a run \
             fails, or does not end; each scenario runs with {} seeds. It is *seen by a test* if a test of \
             its crate, or one of the shared tests in the simulator, fails or does not end. *Dropped* are \
             changes that do not compile. A dash: none reaches the file, or none is to.\n\n",
            self.command, self.seeds
        );
        out += "| file | tried | seen by a scenario | seen by a test | seen by neither | dropped | not tried yet |\n\
                |---|---|---|---|---|---|---|\n";
        let mut total = Row::default();
        for (file, of) in &self.files {
            let row = Row::of(of);
            row.write(&format!("`{file}`"), &mut out);
            total.add(&row);
        }
        total.write("all", &mut out);
        out += "\n## Seen by neither\n";
        for (file, of) in &self.files {
            let mut survivors = of
                .mutants
                .iter()
                .filter(|mutant| mutant.survives())
                .peekable();
            if survivors.peek().is_some() {
                write!(out, "\n### `{file}`\n").expect("a string takes all");
            }
            for mutant in survivors {
                let reached = match (mutant.outcome.scenarios, mutant.outcome.tests) {
                    (0, 0) => "; nothing reaches it".to_owned(),
                    (scenarios, tests) => {
                        format!("; {scenarios} scenarios and {tests} tests reach it")
                    }
                };
                let OfMutant { line, change, .. } = mutant;
                write!(out, "\nLine {line}: {change}{reached}.").expect("a string takes all");
                if let Some(reason) = reasons.get(&format!("{file}: {change}")) {
                    write!(out, " {reason}").expect("a string takes all");
                }
                write!(out, "\n\n```diff\n{}\n```\n", mutant.diff.join("\n"))
                    .expect("a string takes all");
            }
        }
        out
    }
}

/// A row of the table.
#[derive(Default)]
struct Row {
    mutants: usize,
    /// How many some scenario reaches, and how many one sees.
    scenarios: (usize, usize),
    /// The same of tests.
    tests: (usize, usize),
    survivors: usize,
    dropped: usize,
    untried: usize,
}

impl Row {
    fn of(of: &OfFile) -> Row {
        let count = |is: fn(&OfMutant) -> bool| of.mutants.iter().filter(|it| is(it)).count();
        Row {
            mutants: of.mutants.len(),
            scenarios: (
                count(|it| it.outcome.scenarios > 0),
                count(|it| it.outcome.by_scenario),
            ),
            tests: (
                count(|it| it.outcome.tests > 0),
                count(|it| it.outcome.by_test),
            ),
            survivors: count(OfMutant::survives),
            dropped: of.dropped,
            untried: of.untried,
        }
    }

    fn add(&mut self, other: &Row) {
        self.mutants += other.mutants;
        self.scenarios.0 += other.scenarios.0;
        self.scenarios.1 += other.scenarios.1;
        self.tests.0 += other.tests.0;
        self.tests.1 += other.tests.1;
        self.survivors += other.survivors;
        self.dropped += other.dropped;
        self.untried += other.untried;
    }

    fn write(&self, name: &str, out: &mut String) {
        let all = self.mutants;
        let share = |count: usize| format!("{count} ({} %)", (100 * count + all / 2) / all.max(1));
        let seen = |(reached, seen): (usize, usize)| match reached {
            0 => "–".to_owned(),
            _ => share(seen),
        };
        let (by_scenario, by_test) = (seen(self.scenarios), seen(self.tests));
        let (neither, dropped, untried) = (share(self.survivors), self.dropped, self.untried);
        writeln!(
            out,
            "| {name} | {all} | {by_scenario} | {by_test} | {neither} | {dropped} | {untried} |"
        )
        .expect("a string takes all");
    }
}

/// The lines of a text that a mutant changes; of a function's body only the first.
fn diff(mutant: &Mutant, text: &str) -> Vec<String> {
    let start = text[..mutant.at.start].rfind('\n').map_or(0, |at| at + 1);
    let rest = &text[mutant.at.end..];
    let end = mutant.at.end + rest.find('\n').unwrap_or(rest.len());
    let (before, behind) = (&text[start..mutant.at.start], &text[mutant.at.end..end]);
    let was = &text[mutant.at.clone()];
    let becomes = match &mutant.edit {
        Edit::Put(put) => put.clone(),
        Edit::NoMatch if was.is_empty() => " if false".to_owned(),
        Edit::NoMatch => "false".to_owned(),
    };
    let lines = |sign: &str, middle: &str| -> Vec<String> {
        let whole = format!("{before}{middle}{behind}");
        let mut lines: Vec<String> = whole.lines().map(|line| format!("{sign}{line}")).collect();
        if lines.len() > MOST_LINES {
            lines.truncate(MOST_LINES - 1);
            lines.push(format!("{sign}    …"));
        }
        lines
    };
    [lines("-", was), lines("+", &becomes)].concat()
}

/// The longest part of a diff, in lines.
const MOST_LINES: usize = 6;

#[cfg(test)]
mod tests {
    use super::super::generate::mutants;
    use super::*;

    #[test]
    fn a_survivor_is_listed_with_its_line_and_its_reason() {
        let text = "fn f() {\n    a < b;\n}\n";
        let found = mutants("a.rs", text);
        let mut results = Results {
            command: "c".into(),
            seeds: 3,
            ..Results::default()
        };
        for (number, mutant) in found.iter().enumerate() {
            let outcome = Outcome {
                scenarios: 2,
                by_scenario: number == 0,
                tests: 1,
                by_test: number == 1,
            };
            results.add(mutant, outcome, text);
        }
        let survivor = "a.rs: replace < with > in f";
        assert_eq!(results.survivors().collect::<Vec<_>>(), [survivor]);
        let reasons = BTreeMap::from([(survivor.to_owned(), "It is so.".to_owned())]);
        let text = results.to_markdown(&reasons);
        assert!(
            text.contains("| `a.rs` | 3 | 1 (33 %) | 1 (33 %) | 1 (33 %) | 0 | 0 |\n"),
            "{text}"
        );
        let expected = "Line 2: replace < with > in f; 2 scenarios and 1 tests reach it. It is so.\n\n\
                        ```diff\n-    a < b;\n+    a > b;\n```\n";
        assert!(text.contains(expected), "{text}");
    }
}
