//! Checks that the imports between the top modules of a crate form no cycle.

use std::collections::{BTreeMap, BTreeSet};

use super::Finding;
use super::source::File;

/// Finds modules that depend on each other, directly or through other modules. Tests are
/// excluded: they may import anything.
pub fn imports(files: &[File]) -> Vec<Finding> {
    let roots = crate_roots(files);
    let mut findings = Vec::new();
    for root in &roots {
        let inner = |file: &&File| owner(&file.path, &roots) == Some(root);
        let sources: Vec<&File> = files.iter().filter(inner).collect();
        findings.extend(cycles_of_crate(root, &sources));
    }
    findings
}

fn cycles_of_crate(root: &str, sources: &[&File]) -> Vec<Finding> {
    let modules: BTreeSet<&str> = sources.iter().map(|f| top_module(root, &f.path)).collect();
    let mut imports: Vec<Import> = Vec::new();
    for file in sources {
        let from = top_module(root, &file.path);
        if ["lib", "main"].contains(&from) {
            continue;
        }
        let code = without_tests(&file.code);
        let mut found = named_after(code, "crate::");
        if is_top_file(root, &file.path) {
            found.extend(named_after(code, "super::"));
        }
        let others = found
            .into_iter()
            .filter(|(to, _)| *to != from && modules.contains(to));
        imports.extend(others.map(|(to, line)| Import {
            from,
            to,
            file,
            line,
        }));
    }
    let mut graph: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for import in &imports {
        graph.entry(import.from).or_default().insert(import.to);
    }
    let closes = |import: &&Import| reaches(&graph, import.to, import.from);
    let finding = |import: &Import| {
        let Import { from, to, .. } = import;
        let remedy = format!("`{to}` needs `{from}` too: move what both need below them");
        import.file.finding(import.line, "import-cycle", remedy)
    };
    imports.iter().filter(closes).map(finding).collect()
}

/// An import: code of one top module names another.
struct Import<'a> {
    from: &'a str,
    to: &'a str,
    file: &'a File,
    line: usize,
}

/// The source folders of the crates, each with a trailing slash.
fn crate_roots(files: &[File]) -> Vec<String> {
    let root = |path: &str| {
        let root = path.strip_suffix("lib.rs")?;
        let is_root = root.is_empty() || root.ends_with('/');
        is_root.then(|| root.to_owned())
    };
    files.iter().filter_map(|file| root(&file.path)).collect()
}

/// The innermost crate folder that contains a Rust file.
fn owner<'a>(path: &str, roots: &'a [String]) -> Option<&'a String> {
    let holding = roots.iter().filter(|root| path.starts_with(root.as_str()));
    let innermost = holding.max_by_key(|root| root.len());
    innermost.filter(|_| path.ends_with(".rs"))
}

fn top_module<'a>(root: &str, path: &'a str) -> &'a str {
    let inner = path.strip_prefix(root).unwrap_or(path);
    let first = inner.split('/').next().unwrap_or(inner);
    first.strip_suffix(".rs").unwrap_or(first)
}

/// Whether `super` in this file is the root of the crate.
fn is_top_file(root: &str, path: &str) -> bool {
    let inner = path.strip_prefix(root).unwrap_or(path);
    !inner.contains('/') || inner.matches('/').count() == 1 && inner.ends_with("/mod.rs")
}

/// The code before the tests at the end of a file.
fn without_tests(code: &str) -> &str {
    code.split("#[cfg(test)]\nmod ").next().unwrap_or(code)
}

/// The words right after `path`, or in braces after it, each with its line.
fn named_after<'a>(code: &'a str, path: &str) -> Vec<(&'a str, usize)> {
    let mut found = Vec::new();
    for (start, _) in code.match_indices(path) {
        let before = &code[..start];
        if before.ends_with(|c: char| c == ':' || c.is_alphanumeric() || c == '_') {
            continue;
        }
        let line = before.matches('\n').count() + 1;
        let rest = &code[start + path.len()..];
        match rest.strip_prefix('{') {
            Some(group) => found.extend(first_words(group).into_iter().map(|word| (word, line))),
            None => found.push((word(rest), line)),
        }
    }
    found
}

/// The first word of each entry of a group of imports, up to its closing brace.
fn first_words(group: &str) -> Vec<&str> {
    let (mut depth, mut start, mut words) = (0, 0, Vec::new());
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => {
                words.push(word(&group[start..at]));
                break;
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                words.push(word(&group[start..at]));
                start = at + 1;
            }
            _ => {}
        }
    }
    words
}

fn word(text: &str) -> &str {
    let text = text.trim_start();
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_');
    &text[..end.unwrap_or(text.len())]
}

fn reaches(graph: &BTreeMap<&str, BTreeSet<&str>>, from: &str, to: &str) -> bool {
    let (mut seen, mut next) = (BTreeSet::from([from]), vec![from]);
    while let Some(module) = next.pop() {
        if module == to {
            return true;
        }
        let needed = graph.get(module).into_iter().flatten();
        next.extend(needed.filter(|needed| seen.insert(needed)));
    }
    false
}

#[cfg(test)]
mod tests {
    use super::super::check;
    use super::*;

    #[test]
    fn a_cycle_is_found_by_way_of_others() {
        check(
            imports,
            &[
                ("src/lib.rs", "mod a;\nmod b;\nmod c;\nmod d;\n"),
                ("src/a/mod.rs", "use crate::b;\nuse crate::d::E;\n"),
                ("src/b.rs", "\nuse super::{d, c::{self, F}};\n"),
                ("src/c/deep.rs", "use super::b;\nfn f() { crate::a::g() }\n"),
                ("src/d.rs", "// crate::a\nuse other_crate::a;\n"),
            ],
            &[
                "src/a/mod.rs:1: import-cycle",
                "src/b.rs:2: import-cycle",
                "src/c/deep.rs:2: import-cycle",
            ],
        );
    }

    #[test]
    fn crates_within_crates_and_tests_are_apart() {
        check(
            imports,
            &[
                ("src/lib.rs", ""),
                ("src/check/lib.rs", ""),
                ("src/check/a.rs", "use crate::b;"),
                (
                    "src/check/b.rs",
                    "#[cfg(test)]\nmod tests {\nuse crate::a;\n}",
                ),
                ("src/a.rs", "use crate::check;"),
                ("src/b.rs", "use crate::a;"),
            ],
            &[],
        );
    }
}
