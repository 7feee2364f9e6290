//! Rules for the layout of a file.

use crate::source::{File, Finding};

/// Enough for one idea and its tests; a longer file covers more than one idea.
const MAX_LINES: usize = 600;

/// Files written by people, which must not have trailing spaces. Other files are generated:
/// snapshots, reports, pictures.
const HAND_WRITTEN: &[&str] = &[".rs", ".md", ".toml", ".lua", ".sh", ".yml"];

/// Every Rust file must begin with documentation of its purpose.
pub fn module_docs(files: &[File]) -> Vec<Finding> {
    let undocumented = files
        .iter()
        .filter(|file| file.is_rust() && !file.text.starts_with("//!"));
    undocumented
        .map(|file| file.finding(1, "module-docs", "begin with `//!`: what the file is for"))
        .collect()
}

/// Every Rust file must be short enough to cover one idea.
pub fn length(files: &[File]) -> Vec<Finding> {
    let too_long = |file: &File| file.is_rust() && file.text.lines().count() > MAX_LINES;
    let finding = |file: &File| {
        let remedy = format!("split it: more than {MAX_LINES} lines are more than one idea");
        file.finding(MAX_LINES + 1, "length", remedy)
    };
    files.iter().filter(|f| too_long(f)).map(finding).collect()
}

/// No line may end with a space.
pub fn trailing_space(files: &[File]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files {
        if !HAND_WRITTEN.iter().any(|end| file.path.ends_with(end)) {
            continue;
        }
        for (index, line) in file.text.lines().enumerate() {
            if line.ends_with([' ', '\t']) {
                let remedy = "remove the space at the end of the line";
                findings.push(file.finding(index + 1, "trailing-space", remedy));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::check;
    use super::*;

    #[test]
    fn a_rust_file_says_first_what_it_is_for() {
        let tree = [
            ("a.rs", "//! Says it.\n"),
            ("b.rs", "use std;\n//! Too late.\n"),
            ("c.rs", ""),
            ("d.md", "no Rust"),
        ];
        let expected = ["b.rs:1: module-docs", "c.rs:1: module-docs"];
        check(module_docs, &tree, &expected);
    }

    #[test]
    fn a_rust_file_ends_at_six_hundred_lines() {
        let longest = "\n".repeat(MAX_LINES);
        let longer = "\n".repeat(MAX_LINES + 1);
        let tree = [("a.rs", &*longest), ("b.rs", &longer), ("c.md", &longer)];
        check(length, &tree, &["b.rs:601: length"]);
    }

    #[test]
    fn no_line_of_a_written_file_ends_with_a_space() {
        let of_md = ("b.md", "x\ny \nz\t\n");
        let tree = [("a.rs", "x\n\n  y\n"), of_md, ("c.snap", "x \n")];
        let expected = ["b.md:2: trailing-space", "b.md:3: trailing-space"];
        check(trailing_space, &tree, &expected);
    }
}
