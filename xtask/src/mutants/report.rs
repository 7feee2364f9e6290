//! The published result of mutants: for each file two scores, and what nothing notices.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::draw::share;
use super::generate::{Edit, Mutant};
use super::trial::Outcome;
use crate::source::File;

/// The results, as `reports/mutants/mutants.json` has them.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Results {
    /// The command that makes them.
    pub command: String,
    /// The seeds with which each scenario ran.
    pub seeds: u64,
    /// The samples, by subject.
    #[serde(default)]
    pub samples: BTreeMap<String, OfSample>,
    /// By file, where all mutants are tried in turn.
    pub files: BTreeMap<String, OfFile>,
}

/// A random sample of the mutants of a subject.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfSample {
    /// The seed of which it follows.
    pub seed: u64,
    /// How many mutants there are, with those that do not compile.
    pub all: usize,
    /// How many were drawn and made switches.
    pub drawn: usize,
    /// How many of these do not compile.
    pub dropped: usize,
    /// Those that were tried.
    pub mutants: Vec<Sampled>,
}

/// A mutant of a sample.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sampled {
    pub file: String,
    #[serde(flatten)]
    pub mutant: OfMutant,
    /// What came of it later, if nothing noticed it and it was tried again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again: Option<Outcome>,
}

impl Sampled {
    /// Its name, as `xtask/survivors.txt` has it.
    pub fn name(&self) -> String {
        format!("{}: {}", self.file, self.mutant.change)
    }

    /// Whether it is this one. Lines move: the changed line says it, not its number.
    pub fn is(&self, mutant: &Mutant, files: &[File]) -> bool {
        self.name() == mutant.name() && self.mutant.diff == diff(mutant, text_of(mutant, files))
    }

    /// Whether nothing has noticed it, not even later.
    pub fn survives(&self) -> bool {
        self.mutant.survives() && self.again.is_none_or(Outcome::survives)
    }
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
    /// What came of a mutant of these files.
    pub fn new(mutant: &Mutant, outcome: Outcome, files: &[File]) -> OfMutant {
        OfMutant {
            line: mutant.line,
            change: mutant.change.clone(),
            outcome,
            diff: match outcome.survives() {
                true => diff(mutant, text_of(mutant, files)),
                false => Vec::new(),
            },
        }
    }

    /// Whether nothing notices it.
    pub fn survives(&self) -> bool {
        self.outcome.survives()
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

    /// The results for people. `reasons` says why a survivor is none that matters.
    pub fn to_markdown(&self, reasons: &BTreeMap<String, String>) -> String {
        let mut out = format!(
            "# Mutants\n\nMade with `{}`. Each mutant is one change of one place: another operator, the \
             opposite condition, a `match` without an arm, a function that only returns a value. It is \
             *seen by a scenario* if a prediction of a shipped scenario differs with the mutant, a run \
             fails, or does not end; each scenario runs with {} seeds. It is *seen by a test* if a test of \
             its subject that reaches it fails or does not end. *Dropped* are changes that do not compile. \
             A dash: none reaches it, or none is to.\n",
            self.command, self.seeds
        );
        if !self.samples.is_empty() {
            self.write_samples(reasons, &mut out);
        }
        if !self.files.is_empty() {
            self.write_files(reasons, &mut out);
        }
        out
    }

    fn write_samples(&self, reasons: &BTreeMap<String, String>, out: &mut String) {
        *out += "\n## Random samples\n\nThe shares are those when the sample was drawn, before anybody had read \
                its survivors, with their 95 % Wilson intervals. The last column counts the survivors that are \
                noticed since, by tests that were written for them.\n\n\
                | subject | mutants | tried | seen by a scenario | seen by a test | seen by neither | dropped | noticed since |\n\
                |---|---|---|---|---|---|---|---|\n";
        for (subject, of) in &self.samples {
            let tried = of.mutants.len();
            let count = |is: fn(&Sampled) -> bool| of.mutants.iter().filter(|it| is(it)).count();
            let by_scenario = match count(|it| it.mutant.outcome.scenarios > 0) {
                0 => "–".to_owned(),
                _ => share(count(|it| it.mutant.outcome.by_scenario), tried),
            };
            let by_test = share(count(|it| it.mutant.outcome.by_test), tried);
            let neither = share(count(|it| it.mutant.survives()), tried);
            let since = count(|it| it.mutant.survives() && !it.survives());
            writeln!(
                out,
                "| {subject} | {} | {tried} | {by_scenario} | {by_test} | {neither} | {} of {} | {since} |",
                of.all, of.dropped, of.drawn
            )
            .expect("a string takes all");
        }
        for (subject, of) in &self.samples {
            writeln!(out, "\n### Survivors of {subject} (`--seed {}`)", of.seed)
                .expect("a string takes all");
            for it in of.mutants.iter().filter(|it| it.mutant.survives()) {
                let since = match it.survives() {
                    true => "",
                    false => " Noticed since.",
                };
                let place = format!("`{}`, line", it.file);
                it.mutant.write(&place, &it.name(), since, reasons, out);
            }
        }
    }

    fn write_files(&self, reasons: &BTreeMap<String, String>, out: &mut String) {
        *out += "\n## One after the other\n\n\
                | file | tried | seen by a scenario | seen by a test | seen by neither | dropped | not tried yet |\n\
                |---|---|---|---|---|---|---|\n";
        let mut total = Row::default();
        for (file, of) in &self.files {
            let row = Row::of(of);
            row.write(&format!("`{file}`"), out);
            total.add(&row);
        }
        total.write("all", out);
        *out += "\n## Seen by neither\n";
        for (file, of) in &self.files {
            let mut survivors = { of.mutants.iter() }
                .filter(|mutant| mutant.survives())
                .peekable();
            if survivors.peek().is_some() {
                write!(out, "\n### `{file}`\n").expect("a string takes all");
            }
            for mutant in survivors {
                let name = format!("{file}: {}", mutant.change);
                mutant.write("Line", &name, "", reasons, out);
            }
        }
    }
}

impl OfMutant {
    /// A paragraph on a survivor.
    fn write(
        &self,
        place: &str,
        name: &str,
        since: &str,
        reasons: &BTreeMap<String, String>,
        out: &mut String,
    ) {
        let reached = match (self.outcome.scenarios, self.outcome.tests) {
            (0, 0) => "; nothing reaches it".to_owned(),
            (scenarios, tests) => format!("; {scenarios} scenarios and {tests} tests reach it"),
        };
        let OfMutant { line, change, .. } = self;
        let reason = reasons.get(name).map_or("", |reason| reason);
        let space = if reason.is_empty() { "" } else { " " };
        write!(
            out,
            "\n{place} {line}: {change}{reached}.{since}{space}{reason}\n\n```diff\n{}\n```\n",
            self.diff.join("\n")
        )
        .expect("a string takes all");
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

/// The text of the file of a mutant.
fn text_of<'a>(mutant: &Mutant, files: &'a [File]) -> &'a str {
    let file = files.iter().find(|file| file.path == mutant.file);
    file.map_or("", |file| &file.text)
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

    fn check(by: [bool; 3]) -> (Results, BTreeMap<String, String>) {
        let text = "fn f() {\n    a < b;\n}\n";
        let files = [File::new("a.rs".into(), text.into())];
        let mut of = OfSample {
            seed: 7,
            all: 9,
            drawn: 5,
            dropped: 2,
            mutants: Vec::new(),
        };
        let mut of_file = OfFile::default();
        for (number, mutant) in mutants("a.rs", text).iter().enumerate() {
            let outcome = Outcome {
                scenarios: 2,
                by_scenario: number == 0,
                tests: 1,
                by_test: by[number] && number > 0,
            };
            of_file.mutants.push(OfMutant::new(mutant, outcome, &files));
            let again = (number == 2).then_some(Outcome {
                by_test: true,
                ..outcome
            });
            of.mutants.push(Sampled {
                file: "a.rs".into(),
                mutant: OfMutant::new(mutant, outcome, &files),
                again,
            });
        }
        let results = Results {
            command: "c".into(),
            seeds: 3,
            samples: BTreeMap::from([("subject".to_owned(), of)]),
            files: BTreeMap::from([("a.rs".to_owned(), of_file)]),
        };
        let name = "a.rs: replace < with > in f".to_owned();
        (results, BTreeMap::from([(name, "It is so.".to_owned())]))
    }

    #[test]
    fn a_survivor_is_listed_with_its_line_and_its_reason() {
        let (results, reasons) = check([true, true, false]);
        let text = results.to_markdown(&reasons);
        assert!(
            text.contains("| `a.rs` | 3 | 1 (33 %) | 1 (33 %) | 1 (33 %) | 0 | 0 |\n"),
            "{text}"
        );
        let expected = "Line 2: replace < with > in f; 2 scenarios and 1 tests reach it. It is so.\n\n\
                        ```diff\n-    a < b;\n+    a > b;\n```\n";
        assert!(text.contains(expected), "{text}");
    }

    #[test]
    fn a_sample_keeps_its_shares_and_says_what_was_noticed_since() {
        let (results, reasons) = check([true, true, false]);
        let text = results.to_markdown(&reasons);
        let share = "1: 33 % (6–79)";
        let row = format!("| subject | 9 | 3 | {share} | {share} | {share} | 2 of 5 | 1 |\n");
        assert!(text.contains(&row), "{text}");
        assert!(
            text.contains("reach it. Noticed since. It is so.\n"),
            "{text}"
        );
    }
}
