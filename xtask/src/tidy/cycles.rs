//! Checks that the imports within a crate form no cycle: not between its files, and not between
//! its top modules.
//!
//! Which import counts is said in [`imports`]. One cycle between files is allowed:
//! a module's own file (`x.rs`, `lib.rs`) may need the files below it, and they may
//! need it. So of a cycle that consists of a module's own file and files below it, the module's
//! own file is taken out, and what is a cycle without it is reported.

use std::collections::{BTreeMap, BTreeSet};

use super::imports::{self, Import};
use crate::source::File;
use crate::source::Finding;

/// Finds top modules that depend on each other, directly or through other modules.
pub fn modules(files: &[File]) -> Vec<Finding> {
    let roots = imports::crate_roots(files);
    let cycles = roots.iter().map(|root| {
        let imports = imports::of_crate(root, &roots, files);
        cycles_of_modules(root, &imports)
    });
    cycles.flatten().collect()
}

/// Finds files that depend on each other, directly or through other files.
pub fn files(files: &[File]) -> Vec<Finding> {
    let roots = imports::crate_roots(files);
    let imports: Vec<Import<'_>> = roots
        .iter()
        .flat_map(|root| imports::of_crate(root, &roots, files))
        .collect();
    let mut graph = Graph::new();
    for import in &imports {
        graph
            .entry(&import.from.path)
            .or_default()
            .insert(&import.to.path);
    }
    let cycles = beside_parents(&graph);
    let findings = cycles
        .iter()
        .filter_map(|cycle| finding_of(cycle, &graph, &imports));
    findings.collect()
}

fn cycles_of_modules(root: &str, imports: &[Import<'_>]) -> Vec<Finding> {
    let mut graph = Graph::new();
    let mut crossing = Vec::new();
    for import in imports {
        let from = top_module(root, &import.from.path);
        let to = top_module(root, &import.to.path);
        let is_root = |module| ["lib", "main"].contains(&module);
        if from != to && !is_root(from) && !is_root(to) {
            graph.entry(from).or_default().insert(to);
            crossing.push((from, to, import));
        }
    }
    let closing = crossing
        .iter()
        .filter(|(from, to, _)| path(&graph, to, from).is_some());
    let finding = |(from, to, import): &(&str, &str, &Import<'_>)| {
        let remedy = format!("`{to}` needs `{from}` too: move what both need below them");
        import.from.finding(import.line, "import-cycle", remedy)
    };
    closing.map(finding).collect()
}

fn finding_of(
    cycle: &BTreeSet<&str>,
    graph: &Graph<'_>,
    imports: &[Import<'_>],
) -> Option<Finding> {
    let start = *cycle.first()?;
    let next = graph
        .get(start)?
        .iter()
        .filter(|next| cycle.contains(**next));
    let round = next
        .filter_map(|next| path(graph, next, start))
        .min_by_key(Vec::len)?;
    let of_first = |import: &&Import<'_>| import.from.path == start && import.to.path == round[0];
    let import = imports.iter().find(of_first)?;
    let remedy = format!(
        "{} files need each other, as in {start} -> {}: move what they share below them\n    {}",
        cycle.len(),
        round.join(" -> "),
        cycle.iter().copied().collect::<Vec<_>>().join("\n    "),
    );
    Some(import.from.finding(import.line, "file-cycle", remedy))
}

/// What each node needs.
type Graph<'a> = BTreeMap<&'a str, BTreeSet<&'a str>>;

fn top_module<'a>(root: &str, path: &'a str) -> &'a str {
    let inner = path.strip_prefix(root).unwrap_or(path);
    let first = inner.split('/').next().unwrap_or(inner);
    first.strip_suffix(".rs").unwrap_or(first)
}

/// A shortest path from a node to another, with both.
fn path<'a>(graph: &Graph<'a>, from: &'a str, to: &str) -> Option<Vec<&'a str>> {
    let mut reached_from: BTreeMap<&str, &str> = BTreeMap::new();
    let mut next = std::collections::VecDeque::from([from]);
    while let Some(node) = next.pop_front() {
        if node == to {
            let mut path = vec![node];
            while path[0] != from {
                path.insert(0, reached_from[path[0]]);
            }
            return Some(path);
        }
        for needed in graph.get(node).into_iter().flatten().copied() {
            if needed != from && !reached_from.contains_key(needed) {
                reached_from.insert(needed, node);
                next.push_back(needed);
            }
        }
    }
    None
}

/// The cycles that remain without those between a module's own file and the files below it.
fn beside_parents<'a>(graph: &Graph<'a>) -> Vec<BTreeSet<&'a str>> {
    let apart = components(graph).into_iter().flat_map(|cycle| {
        let is_parent = |parent: &&&str| {
            let is_below = |file: &&str| file == *parent || file.starts_with(&folder(parent));
            cycle.iter().all(is_below)
        };
        match cycle.iter().find(is_parent) {
            Some(parent) => beside_parents(&within(graph, &cycle, parent)),
            None => vec![cycle],
        }
    });
    apart.collect()
}

/// The part of a graph that is in a cycle, without one of its files.
fn within<'a>(graph: &Graph<'a>, cycle: &BTreeSet<&'a str>, without: &str) -> Graph<'a> {
    let is_in = |file: &&str| cycle.contains(file) && *file != without;
    let inner = graph.iter().filter(|(file, _)| is_in(file));
    let needs = |needed: &BTreeSet<&'a str>| needed.iter().copied().filter(is_in).collect();
    inner.map(|(file, needed)| (*file, needs(needed))).collect()
}

/// The folder of the files below a module's own file, with a trailing slash.
fn folder(file: &str) -> String {
    let (folder, name) = file.rsplit_once('/').unwrap_or(("", file));
    match name {
        "lib.rs" | "main.rs" => format!("{folder}/"),
        _ => format!("{}/", file.strip_suffix(".rs").unwrap_or(file)),
    }
}

/// The sets of more than one node that all need each other.
fn components<'a>(graph: &Graph<'a>) -> Vec<BTreeSet<&'a str>> {
    let reached = |from: &&'a str| -> BTreeSet<&'a str> {
        let (mut seen, mut next) = (BTreeSet::new(), vec![*from]);
        while let Some(node) = next.pop() {
            let needed = graph.get(node).into_iter().flatten().copied();
            next.extend(needed.filter(|needed| seen.insert(*needed)));
        }
        seen
    };
    let reach: Graph<'a> = graph.keys().map(|node| (*node, reached(node))).collect();
    let mut found = BTreeSet::new();
    for (node, below) in &reach {
        let is_mutual = |other: &&&str| reach.get(**other).is_some_and(|back| back.contains(node));
        let cycle: BTreeSet<&str> = below.iter().filter(is_mutual).copied().collect();
        if cycle.len() > 1 {
            found.insert(cycle);
        }
    }
    found.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::super::check;
    use super::*;

    #[test]
    fn a_cycle_is_found_by_way_of_others() {
        check(
            modules,
            &[
                ("src/lib.rs", "mod a;\nmod b;\nmod c;\nmod d;\n"),
                ("src/a.rs", "use crate::b;\nuse crate::d::E;\n"),
                ("src/b.rs", "\nuse super::{d, c::{self, F}};\n"),
                ("src/c.rs", "mod deep;"),
                ("src/c/deep.rs", "use super::b;\nfn f() { crate::a::g() }\n"),
                ("src/d.rs", "// crate::a\nuse other_crate::a;\n"),
            ],
            &[
                "src/a.rs:1: import-cycle",
                "src/b.rs:2: import-cycle",
                "src/c/deep.rs:2: import-cycle",
            ],
        );
    }

    #[test]
    fn what_the_root_re_exports_is_imported_from_its_module() {
        let tree = [
            (
                "src/lib.rs",
                "mod a;\nmod b;\npub use self::a::{A, Other};\npub struct C;",
            ),
            ("src/a.rs", "use crate::b::B;"),
            ("src/b.rs", "use crate::{A, C};"),
        ];
        check(
            modules,
            &tree,
            &["src/a.rs:1: import-cycle", "src/b.rs:1: import-cycle"],
        );
        check(files, &tree, &["src/a.rs:1: file-cycle"]);
    }

    #[test]
    fn crates_within_crates_and_tests_are_apart() {
        let tree = [
            ("src/lib.rs", ""),
            ("src/check/lib.rs", ""),
            ("src/check/a.rs", "use crate::b;"),
            (
                "src/check/b.rs",
                "#[cfg(test)]\nmod tests {\nuse crate::a;\n}",
            ),
            ("src/a.rs", "use crate::check;"),
            ("src/b.rs", "use crate::a;"),
        ];
        check(modules, &tree, &[]);
        check(files, &tree, &[]);
    }

    #[test]
    fn files_within_one_top_module_form_a_cycle() {
        let circle = |last| {
            [
                ("src/lib.rs", "mod a;"),
                ("src/a.rs", "mod x; mod y; pub use x::X; pub use z::Z;"),
                (
                    "src/a/x.rs",
                    "\nuse super::y;\npub struct X; fn f() { y::f() }",
                ),
                ("src/a/y.rs", "use super::Z;\npub fn f() {}"),
                ("src/a/z.rs", last),
            ]
        };
        let imports_x = circle("pub struct Z(super::X);");
        check(files, &imports_x, &["src/a/x.rs:3: file-cycle"]);
        check(modules, &imports_x, &[]);
        check(files, &circle("pub struct Z(super::Other);"), &[]);
        check(
            files,
            &circle("pub struct Z; #[cfg(test)] mod tests { use super::super::X; }"),
            &[],
        );
    }

    #[test]
    fn a_modules_own_file_and_the_files_below_it_may_need_each_other() {
        let module = |below| {
            [
                ("src/lib.rs", ""),
                (
                    "src/a.rs",
                    "mod x; mod y; pub struct A; fn f() { x::f(); y::f() }",
                ),
                ("src/a/x.rs", "use super::A; pub fn f() {}"),
                ("src/a/y.rs", below),
                ("src/b.rs", "fn f() { crate::a::A }"),
            ]
        };
        check(
            files,
            &module("pub fn f() { super::A; super::x::f() }"),
            &[],
        );
        let with_another = module("pub fn f() { super::A; crate::b::f() }");
        check(files, &with_another, &["src/a.rs:1: file-cycle"]);
    }

    #[test]
    fn submodules_that_need_each_other_are_a_cycle_without_their_parent() {
        check(
            files,
            &[
                ("src/lib.rs", ""),
                ("src/a.rs", "mod x; mod y; pub struct A; fn f() { x::f() }"),
                ("src/a/x.rs", "use super::A; pub fn f() { super::y::g() }"),
                ("src/a/y.rs", "pub fn g() { super::x::f() }"),
            ],
            &["src/a/x.rs:1: file-cycle"],
        );
    }
}
