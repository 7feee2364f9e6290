//! Rules of this project that a program can check and clippy cannot.
//!
//! A rule is a function from the files of the repository to its findings, in a file of its
//! own. Anything that rustc or clippy can check is left to them: see `clippy.toml`.

mod cycles;
mod dependencies;
mod guards;
mod imports;
mod layout;
mod select;
mod words;

use crate::source::{File, Finding};
use anyhow::{Result, bail};

/// A rule: reads all files and returns the violations.
type Rule = fn(&[File]) -> Vec<Finding>;

const RULES: &[Rule] = &[
    layout::module_docs,
    layout::length,
    layout::trailing_space,
    words::banned,
    guards::dropped_early,
    select::biased,
    dependencies::unused,
    cycles::none,
    crate::plants::fit,
];

/// Checks all rules against every file that git tracks or would add.
pub fn run() -> Result<()> {
    let files = crate::source::files()?;
    let mut findings: Vec<Finding> = RULES.iter().flat_map(|rule| rule(&files)).collect();
    findings.sort();
    for finding in &findings {
        println!("{finding}");
    }
    if !findings.is_empty() {
        bail!("{} places are not tidy", findings.len());
    }
    Ok(())
}

/// Checks the findings of a rule in a tree of (path, text), as lines `path:line: rule`.
#[cfg(test)]
#[track_caller]
pub fn check(rule: Rule, tree: &[(&str, &str)], expected: &[&str]) {
    let files: Vec<File> = tree
        .iter()
        .map(|(path, text)| File::new(path.to_string(), text.to_string()))
        .collect();
    let mut findings = rule(&files);
    findings.sort();
    let found: Vec<String> = findings
        .iter()
        .map(|found| format!("{}:{}: {}", found.path, found.line, found.rule))
        .collect();
    assert_eq!(found, expected);
}
