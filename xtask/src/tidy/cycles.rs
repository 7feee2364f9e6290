//! Checks that the imports between the top modules of a crate form no cycle.

use std::collections::{BTreeMap, BTreeSet};

use super::Finding;
use super::source::{File, innermost};

/// Finds modules that depend on each other, directly or through other modules. Tests are
/// excluded: they may import anything.
pub fn imports(files: &[File]) -> Vec<Finding> {
    let roots = crate_roots(files);
    let is_source_of =
        |file: &File, root: &str| file.is_rust() && innermost(&file.path, &roots) == Some(root);
    let cycles = roots.iter().map(|root| {
        let sources = files.iter().filter(|file| is_source_of(file, root));
        cycles_of_crate(root, &sources.collect::<Vec<_>>())
    });
    cycles.flatten().collect()
}

fn cycles_of_crate(root: &str, sources: &[&File]) -> Vec<Finding> {
    let modules: BTreeSet<&str> = sources.iter().map(|f| top_module(root, &f.path)).collect();
    let reexported = reexports(root, sources, &modules);
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
        let module_of = |word| match modules.contains(word) {
            true => Some(word),
            false => reexported.get(word).copied(),
        };
        let modules_found = (found.into_iter())
            .filter_map(|(word, line)| module_of(word).map(|module| (module, line)));
        let others = modules_found.filter(|(to, _)| *to != from);
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
fn crate_roots(files: &[File]) -> Vec<&str> {
    let root = |file: &'_ File| -> Option<usize> {
        let root = file.path.strip_suffix("lib.rs")?;
        (root.is_empty() || root.ends_with('/')).then_some(root.len())
    };
    let roots = files
        .iter()
        .filter_map(|file| Some(&file.path[..root(file)?]));
    roots.collect()
}

/// The items that the root of the crate re-exports, each with its module: `crate::Item` imports
/// from that module.
fn reexports<'a>(
    root: &str,
    sources: &[&'a File],
    modules: &BTreeSet<&'a str>,
) -> BTreeMap<&'a str, &'a str> {
    let lib = sources
        .iter()
        .find(|file| file.path == format!("{root}lib.rs"));
    let statements = lib.into_iter().flat_map(|lib| lib.code.split(';'));
    let paths =
        statements.filter_map(|statement| statement.split_once("use ").map(|(_, path)| path));
    let mut items = BTreeMap::new();
    for path in paths {
        let mut words = path
            .split(|c: char| !c.is_alphanumeric() && c != '_')
            .filter(|word| !word.is_empty() && !["self", "crate"].contains(word));
        let Some(module) = words.next().and_then(|first| modules.get(first)) else {
            continue;
        };
        items.extend(words.map(|item| (item, *module)));
    }
    items
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
    fn what_the_root_re_exports_is_imported_from_its_module() {
        check(
            imports,
            &[
                (
                    "src/lib.rs",
                    "mod a;\nmod b;\npub use self::a::{A, Other};\npub struct C;",
                ),
                ("src/a.rs", "use crate::b::B;"),
                ("src/b.rs", "use crate::{A, C};"),
            ],
            &["src/a.rs:1: import-cycle", "src/b.rs:1: import-cycle"],
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
