//! The published result of mutants: for each file two scores, and what nothing notices.

use std::collections::BTreeMap;
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
    /// The samples of each subject, the oldest first.
    #[serde(default)]
    pub samples: BTreeMap<String, Vec<OfSample>>,
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
}

impl Sampled {
    /// Its name, as `xtask/survivors.txt` has it.
    pub fn name(&self) -> String {
        self.mutant.name(&self.file)
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
    /// What came of it later, if nothing noticed it and it was tried again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again: Option<Outcome>,
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
            again: None,
        }
    }

    /// Its name in this file, as `xtask/survivors.txt` has it.
    pub fn name(&self, file: &str) -> String {
        format!("{file}: {}", self.change)
    }

    /// Whether this survivor of this file is that one. Lines move: the changed line says it, not its number.
    pub fn is(&self, file: &str, mutant: &Mutant, files: &[File]) -> bool {
        self.name(file) == mutant.name() && self.diff == diff(mutant, text_of(mutant, files))
    }

    /// Whether nothing noticed it when it was tried first.
    pub fn survives(&self) -> bool {
        self.outcome.survives()
    }

    /// Whether nothing has noticed it, not even later.
    pub fn survives_still(&self) -> bool {
        self.survives() && self.again.is_none_or(Outcome::survives)
    }

    /// Whether it was noticed later only.
    fn is_noticed_since(&self) -> bool {
        self.survives() && !self.survives_still()
    }
}

impl Results {
    /// Reads a published result; an empty one if there is none.
    pub fn read(path: &Path) -> Result<Results> {
        match fs::read_to_string(path) {
            Ok(text) => {
                serde_json::from_str(&text).with_context(|| format!("read {}", path.display()))
            }
            Err(_) => Ok(Results::default()),
        }
    }

    /// Adds a sample of a subject, or puts it in the place of the one with the same seed. What came of survivors later
    /// is kept.
    pub fn add(&mut self, subject: &str, mut sample: OfSample) {
        let of = self.samples.entry(subject.to_owned()).or_default();
        let Some(same) = of.iter_mut().find(|it| it.seed == sample.seed) else {
            of.push(sample);
            return;
        };
        for it in &mut sample.mutants {
            let is_it =
                |old: &&Sampled| old.name() == it.name() && old.mutant.diff == it.mutant.diff;
            let known = same.mutants.iter().find(is_it);
            it.mutant.again = known.and_then(|known| known.mutant.again);
        }
        *same = sample;
    }

    /// The mutants of all samples.
    pub fn sampled(&self) -> impl Iterator<Item = &Sampled> {
        let samples = self.samples.values().flatten();
        samples.flat_map(|of| &of.mutants)
    }

    /// The survivors that were published: the file of each, and what is known of it.
    pub fn survivors(&mut self) -> impl Iterator<Item = (&str, &mut OfMutant)> {
        let sampled = self.samples.values_mut().flatten();
        let sampled =
            { sampled.flat_map(|of| &mut of.mutants) }.map(|it| (it.file.as_str(), &mut it.mutant));
        let of_files = { self.files.iter_mut() }
            .flat_map(|(file, of)| of.mutants.iter_mut().map(move |it| (file.as_str(), it)));
        sampled.chain(of_files).filter(|(_, it)| it.survives())
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
                noticed since, by tests that were written for them. A subject has a row for each sample, the \
                oldest first: between two samples, tests were added.\n\n\
                | subject | seed | mutants | tried | seen by a scenario | seen by a test | seen by neither | dropped | noticed since |\n\
                |---|---|---|---|---|---|---|---|---|\n";
        let samples = || {
            { self.samples.iter() }
                .flat_map(|(subject, all)| all.iter().map(move |of| (subject, of)))
        };
        for (subject, of) in samples() {
            let mutants: Vec<&OfMutant> = of.mutants.iter().map(|it| &it.mutant).collect();
            *out += &format!(
                "| {subject} | {} | {} | {} | {} of {} | {} |\n",
                of.seed,
                of.all,
                cells(&mutants, share),
                of.dropped,
                of.drawn,
                noticed_since(&mutants)
            );
        }
        for (subject, of) in samples() {
            *out += &format!("\n### Survivors of {subject} (`--seed {}`)\n", of.seed);
            for it in of.mutants.iter().filter(|it| it.mutant.survives()) {
                let place = format!("`{}`, line", it.file);
                it.mutant.write(&place, &it.name(), reasons, out);
            }
        }
    }

    fn write_files(&self, reasons: &BTreeMap<String, String>, out: &mut String) {
        *out += "\n## One after the other\n\n\
                | file | tried | seen by a scenario | seen by a test | seen by neither | dropped | not tried yet | noticed since |\n\
                |---|---|---|---|---|---|---|---|\n";
        let percent =
            |count, of: usize| format!("{count} ({} %)", (100 * count + of / 2) / of.max(1));
        let rows = self
            .files
            .iter()
            .map(|(file, of)| (format!("`{file}`"), vec![of]));
        for (name, of) in rows.chain([("all".to_owned(), self.files.values().collect())]) {
            let mutants: Vec<&OfMutant> = of.iter().flat_map(|it| &it.mutants).collect();
            *out += &format!(
                "| {name} | {} | {} | {} | {} |\n",
                cells(&mutants, percent),
                of.iter().map(|it| it.dropped).sum::<usize>(),
                of.iter().map(|it| it.untried).sum::<usize>(),
                noticed_since(&mutants)
            );
        }
        *out += "\n## Seen by neither\n";
        for (file, of) in &self.files {
            let survivors: Vec<_> = of.mutants.iter().filter(|it| it.survives()).collect();
            if !survivors.is_empty() {
                *out += &format!("\n### `{file}`\n");
            }
            for mutant in survivors {
                mutant.write("Line", &mutant.name(file), reasons, out);
            }
        }
    }
}

/// The cells of a table that say how many of these mutants were tried, and seen by whom.
fn cells(all: &[&OfMutant], share: impl Fn(usize, usize) -> String) -> String {
    let tried = all.len();
    let count = |is: fn(&OfMutant) -> bool| all.iter().filter(|it| is(it)).count();
    let seen = |reached, seen| match reached {
        0 => "–".to_owned(),
        _ => share(seen, tried),
    };
    let by_scenario = seen(
        count(|it| it.outcome.scenarios > 0),
        count(|it| it.outcome.by_scenario),
    );
    let by_test = seen(
        count(|it| it.outcome.tests > 0),
        count(|it| it.outcome.by_test),
    );
    let neither = share(count(OfMutant::survives), tried);
    format!("{tried} | {by_scenario} | {by_test} | {neither}")
}

fn noticed_since(all: &[&OfMutant]) -> usize {
    all.iter().filter(|it| it.is_noticed_since()).count()
}

impl OfMutant {
    /// A paragraph on a survivor.
    fn write(&self, place: &str, name: &str, reasons: &BTreeMap<String, String>, out: &mut String) {
        let reached = match (self.outcome.scenarios, self.outcome.tests) {
            (0, 0) => "; nothing reaches it".to_owned(),
            (scenarios, tests) => format!("; {scenarios} scenarios and {tests} tests reach it"),
        };
        let OfMutant { line, change, .. } = self;
        let since = if self.is_noticed_since() {
            " Noticed since."
        } else {
            ""
        };
        let reason = reasons
            .get(name)
            .map_or(String::new(), |reason| format!(" {reason}"));
        let diff = self.diff.join("\n");
        *out += &format!(
            "\n{place} {line}: {change}{reached}.{since}{reason}\n\n```diff\n{diff}\n```\n"
        );
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

    fn fixture() -> (Results, BTreeMap<String, String>) {
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
                by_test: number == 1,
            };
            of_file.mutants.push(OfMutant::new(mutant, outcome, &files));
            let again = (number == 2).then_some(Outcome {
                by_test: true,
                ..outcome
            });
            of.mutants.push(Sampled {
                file: "a.rs".into(),
                mutant: OfMutant {
                    again,
                    ..OfMutant::new(mutant, outcome, &files)
                },
            });
        }
        let results = Results {
            command: "c".into(),
            seeds: 3,
            samples: BTreeMap::from([("subject".to_owned(), vec![of])]),
            files: BTreeMap::from([("a.rs".to_owned(), of_file)]),
        };
        let name = "a.rs: replace < with > in f".to_owned();
        (results, BTreeMap::from([(name, "It is so.".to_owned())]))
    }

    #[test]
    fn a_survivor_is_listed_with_its_line_and_its_reason() {
        let (results, reasons) = fixture();
        let text = results.to_markdown(&reasons);
        assert!(
            text.contains("| `a.rs` | 3 | 1 (33 %) | 1 (33 %) | 1 (33 %) | 0 | 0 | 0 |\n"),
            "{text}"
        );
        let expected = "Line 2: replace < with > in f; 2 scenarios and 1 tests reach it. It is so.\n\n\
                        ```diff\n-    a < b;\n+    a > b;\n```\n";
        assert!(text.contains(expected), "{text}");
    }

    #[test]
    fn a_sample_takes_the_place_of_the_one_with_its_seed_only() {
        let (mut results, _) = fixture();
        let again = |results: &Results| -> Vec<bool> {
            let mutants = results.samples["subject"][0].mutants.iter();
            mutants.map(|it| it.mutant.again.is_some()).collect()
        };
        assert_eq!(again(&results), [false, false, true]);
        let (fresh, _) = fixture();
        let mut fresh = fresh.samples.into_values().flatten().next().expect("one");
        for it in &mut fresh.mutants {
            it.mutant.again = None;
        }
        results.add("subject", fresh);
        assert_eq!(again(&results), [false, false, true]);
        let of = |seed, all| OfSample {
            seed,
            all,
            ..OfSample::default()
        };
        results.add("subject", of(7, 1));
        results.add("subject", of(8, 2));
        results.add("other", of(7, 3));
        let found: Vec<_> = { results.samples.iter() }
            .flat_map(|(name, all)| all.iter().map(|it| (&**name, it.seed, it.all)))
            .collect();
        assert_eq!(
            found,
            [("other", 7, 3), ("subject", 7, 1), ("subject", 8, 2)]
        );
    }

    #[test]
    fn a_sample_keeps_its_shares_and_says_what_was_noticed_since() {
        let (results, reasons) = fixture();
        let text = results.to_markdown(&reasons);
        let share = "1: 33 % (6–79)";
        let row = format!("| subject | 7 | 9 | 3 | {share} | {share} | {share} | 2 of 5 | 1 |\n");
        assert!(text.contains(&row), "{text}");
        assert!(
            text.contains("reach it. Noticed since. It is so.\n"),
            "{text}"
        );
    }
}
