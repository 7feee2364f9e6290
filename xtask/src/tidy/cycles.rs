//! Checks that the imports within a crate form no cycle: not between its files, and not between
//! its top modules.
//!
//! Which import counts is said in [`imports`]. One cycle between files is allowed:
//! a module's own file (`x.rs`, `lib.rs`) may need the files below it, and they may
//! need it. So of a cycle that consists of a module's own file and files below it, the module's
//! own file is taken out, and what is a cycle without it is reported.

use std::collections::{BTreeMap, BTreeSet};

use super::imports::{self, Import};
use crate::source::{File, Finding};

/// Finds top modules that depend on each other, directly or through other modules, and files that do.
pub fn none(files: &[File]) -> Vec<Finding> {
    let roots = imports::crate_roots(files);
    let cycles = roots
        .iter()
        .flat_map(|root| match imports::of_crate(root, &roots, files) {
            Ok(imports) => [of_modules(root, &imports), of_files(&imports)].concat(),
            Err(no_rust) => vec![no_rust],
        });
    cycles.collect()
}

fn of_modules<'a>(root: &str, imports: &[Import<'a>]) -> Vec<Finding> {
    let ends = |import: &Import<'a>| {
        let [from, to] = [import.from, import.to].map(|file| top_module(root, &file.path));
        let is_root = |module| ["lib", "main"].contains(&module);
        (from != to && !is_root(from) && !is_root(to)).then_some((from, to))
    };
    let cycles = components(&graph(imports.iter().filter_map(ends)));
    let findings = imports.iter().filter_map(|import| {
        let (from, to) = ends(import)?;
        let is_in = |cycle: &BTreeSet<&str>| cycle.contains(from) && cycle.contains(to);
        let remedy = format!("`{to}` needs `{from}` too: move what both need below them");
        let finding = || import.from.finding(import.line, "import-cycle", remedy);
        cycles.iter().any(is_in).then(finding)
    });
    findings.collect()
}

fn of_files<'a>(imports: &[Import<'a>]) -> Vec<Finding> {
    let ends = |import: &Import<'a>| (&*import.from.path, &*import.to.path);
    let graph = graph(imports.iter().map(ends));
    let finding = |cycle: BTreeSet<&str>| {
        let is_in =
            |it: &&Import<'_>| cycle.contains(&*it.from.path) && cycle.contains(&*it.to.path);
        let within: Vec<&Import<'_>> = imports.iter().filter(is_in).collect();
        let lines = within
            .iter()
            .map(|it| format!("\n    {}:{} {}", it.from.path, it.line, it.to.path));
        let lines: String = lines.collect();
        let count = cycle.len();
        let remedy =
            format!("{count} files need each other: move what they share below them{lines}");
        within[0].from.finding(within[0].line, "file-cycle", remedy)
    };
    beside_parents(&graph).into_iter().map(finding).collect()
}

/// What each node needs.
type Graph<'a> = BTreeMap<&'a str, BTreeSet<&'a str>>;

fn graph<'a>(edges: impl Iterator<Item = (&'a str, &'a str)>) -> Graph<'a> {
    let mut graph = Graph::new();
    for (from, to) in edges {
        graph.entry(from).or_default().insert(to);
    }
    graph
}

fn top_module<'a>(root: &str, path: &'a str) -> &'a str {
    let inner = path.strip_prefix(root).unwrap_or(path);
    let first = inner.split('/').next().unwrap_or(inner);
    first.strip_suffix(".rs").unwrap_or(first)
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
    use super::none;

    #[test]
    fn a_cycle_is_found_by_way_of_others() {
        let tree = [
            ("src/lib.rs", "mod a;\nmod b;\nmod c;\nmod d;\n"),
            ("src/a.rs", "use crate::b;\nuse crate::d::E;\n"),
            ("src/b.rs", "\nuse super::{d, c::{self, F}};\n"),
            ("src/c.rs", "mod deep;"),
            ("src/c/deep.rs", "use super::b;\nfn f() { crate::a::g() }\n"),
            ("src/d.rs", "// crate::a\nuse other_crate::a;\n"),
        ];
        let expected = [
            "src/a.rs:1: import-cycle",
            "src/b.rs:2: import-cycle",
            "src/c/deep.rs:2: import-cycle",
        ];
        check(none, &tree, &expected);
    }

    #[test]
    fn what_the_root_re_exports_is_imported_from_its_module() {
        let root = "mod a;\nmod b;\npub use self::a::{A, Other};\npub struct C;";
        let tree = [
            ("src/lib.rs", root),
            ("src/a.rs", "use crate::b::B;"),
            ("src/b.rs", "use crate::{A, C};"),
        ];
        let expected = [
            "src/a.rs:1: file-cycle",
            "src/a.rs:1: import-cycle",
            "src/b.rs:1: import-cycle",
        ];
        check(none, &tree, &expected);
    }

    #[test]
    fn crates_within_crates_and_tests_are_apart() {
        let with_tests = "#[cfg(test)]\nmod tests {\nuse crate::a;\n}";
        let tree = [
            ("src/lib.rs", ""),
            ("src/check/lib.rs", ""),
            ("src/check/a.rs", "use crate::b;"),
            ("src/check/b.rs", with_tests),
            ("src/a.rs", "use crate::check;"),
            ("src/b.rs", "use crate::a;"),
        ];
        check(none, &tree, &[]);
    }

    #[test]
    fn files_within_one_top_module_form_a_cycle() {
        let circle = |last, expected: &[&str]| {
            let tree = [
                ("src/lib.rs", "mod a;"),
                ("src/a.rs", "mod x; mod y; pub use x::X; pub use z::Z;"),
                (
                    "src/a/x.rs",
                    "\nuse super::y;\npub struct X; fn f() { y::f() }",
                ),
                ("src/a/y.rs", "use super::Z;\npub fn f() {}"),
                ("src/a/z.rs", last),
            ];
            check(none, &tree, expected);
        };
        circle("pub struct Z(super::X);", &["src/a/x.rs:2: file-cycle"]);
        circle("pub struct Z(super::Other);", &[]);
        let in_tests = "pub struct Z; #[cfg(test)] mod tests { use super::super::X; }";
        circle(in_tests, &[]);
    }

    #[test]
    fn a_modules_own_file_and_the_files_below_it_may_need_each_other() {
        let module = |x, y, expected: &[&str]| {
            let own = "mod x; mod y; pub struct A; fn f() { x::f(); y::f() }";
            let tree = [
                ("src/lib.rs", ""),
                ("src/a.rs", own),
                ("src/a/x.rs", x),
                ("src/a/y.rs", y),
                ("src/b.rs", "fn f() { crate::a::A }"),
            ];
            check(none, &tree, expected);
        };
        let x = "use super::A; pub fn f() {}";
        module(x, "pub fn f() { super::A; super::x::f() }", &[]);
        let with_another = [
            "src/a.rs:1: file-cycle",
            "src/a/y.rs:1: import-cycle",
            "src/b.rs:1: import-cycle",
        ];
        module(x, "pub fn f() { super::A; crate::b::f() }", &with_another);
        let without_their_parent = ["src/a/x.rs:1: file-cycle"];
        let x = "use super::A; pub fn f() { super::y::g() }";
        module(x, "pub fn g() { super::x::f() }", &without_their_parent);
    }
}
