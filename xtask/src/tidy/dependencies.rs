//! Checks that every dependency in a `Cargo.toml` is used by the code of its package.

use std::collections::BTreeSet;

use toml::{Table, Value};

use crate::source::{File, Finding, innermost, places};

/// A dependency is used if the code of its package contains `name::`, `name!` or `use name`;
/// a dependency of the workspace is used if a package names it.
pub fn unused(files: &[File]) -> Vec<Finding> {
    let manifests: Vec<&File> = files.iter().filter(|f| is_manifest(&f.path)).collect();
    let folders: Vec<&str> = manifests.iter().map(|f| folder(&f.path)).collect();
    let mut findings = Vec::new();
    for manifest in &manifests {
        let sources: Vec<&File> = files
            .iter()
            .filter(|f| f.is_rust() && innermost(&f.path, &folders) == Some(folder(&manifest.path)))
            .chain(elsewhere(manifest, files))
            .collect();
        for (scope, name) in dependencies(&manifest.text) {
            let used = match scope {
                Scope::Package => sources.iter().any(|file| mentions(&file.code, &name)),
                Scope::Workspace => manifests.iter().any(|other| {
                    dependencies(&other.text).contains(&(Scope::Package, name.clone()))
                }),
            };
            if !used {
                let line = places(&manifest.text, &name).next().map_or(1, |it| it.0);
                let remedy = format!("remove `{name}`, or name it as the code does");
                findings.push(manifest.finding(line, "unused-dependency", remedy));
            }
        }
    }
    findings
}

/// The code of targets that are in the folder of another package: `path = "../../docs/own-lock/src/lib.rs"`.
fn elsewhere<'f>(manifest: &File, files: &'f [File]) -> impl Iterator<Item = &'f File> {
    let paths = { manifest.text.lines() }.filter_map(|line| line.strip_prefix("path = \"../"));
    let targets = paths.filter_map(|path| path.strip_suffix(".rs\""));
    // The folder begins where the steps upwards end.
    let folders: Vec<String> = targets
        .map(|path| folder(path.trim_start_matches("../")).to_owned())
        .collect();
    let is_in = move |path: &str| folders.iter().any(|folder| path.starts_with(folder));
    files
        .iter()
        .filter(move |file| file.is_rust() && is_in(&file.path))
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Scope {
    Package,
    Workspace,
}

/// The dependencies of every kind in a manifest.
fn dependencies(manifest: &str) -> BTreeSet<(Scope, String)> {
    fn add(table: &Table, scope: Scope, found: &mut BTreeSet<(Scope, String)>) {
        for (key, value) in table {
            match value {
                Value::Table(names) if key.ends_with("dependencies") => {
                    found.extend(names.keys().map(|name| (scope, name.clone())));
                }
                Value::Table(inner) if key == "workspace" => add(inner, Scope::Workspace, found),
                Value::Table(inner) => add(inner, scope, found),
                _ => {}
            }
        }
    }
    let mut found = BTreeSet::new();
    // What is no manifest, Cargo refuses.
    add(
        &toml::from_str(manifest).unwrap_or_default(),
        Scope::Package,
        &mut found,
    );
    found
}

fn mentions(code: &str, dependency: &str) -> bool {
    let name = dependency.replace('-', "_");
    places(code, &name).any(|(_, start)| {
        let after = code[start + name.len()..].trim_start();
        let before = code[..start].trim_end();
        // In `a::name` the name is a different item; in `::name` it is the crate.
        let is_root = before
            .strip_suffix("::")
            .is_none_or(|path| !path.ends_with(|c: char| c.is_alphanumeric() || c == '>'));
        is_root && (after.starts_with("::") || after.starts_with('!') || before.ends_with("use"))
    })
}

fn is_manifest(path: &str) -> bool {
    path == "Cargo.toml" || path.ends_with("/Cargo.toml")
}

/// The folder of a path, with a trailing slash unless it is the root.
fn folder(path: &str) -> &str {
    &path[..path.rfind('/').map_or(0, |slash| slash + 1)]
}

#[cfg(test)]
mod tests {
    use super::super::check;
    use super::*;

    #[test]
    fn a_dependency_is_used_by_its_own_package() {
        check(
            unused,
            &[
                (
                    "Cargo.toml",
                    "[dependencies]\nserde_json = \"1\"\nred-is.workspace = true\n",
                ),
                ("src/lib.rs", "use red_is::Value;\n// serde_json::from_str"),
                (
                    "sim/Cargo.toml",
                    "[dependencies]\nbytes = \"1\"\n[dev-dependencies]\ninsta = \"1\"\n",
                ),
                (
                    "sim/src/lib.rs",
                    "fn f() { bytes::Bytes::new(); serde_json::to_string() }",
                ),
                ("sim/tests/a.rs", "insta::assert_snapshot!(x);"),
            ],
            &["Cargo.toml:2: unused-dependency"],
        );
    }

    #[test]
    fn every_way_to_name_a_dependency_is_read() {
        let manifest = "\
[package]
name = \"x\"
[dependencies]
a = { version = \"1\", features = [
    \"b\",
] }
[dependencies.c]
version = \"1\"
[target.'cfg(unix)'.build-dependencies]
d.version = \"1\"
[workspace.dependencies]
a = \"1\"
e = \"1\"
[profile.release]
f = 1
";
        check(
            unused,
            &[("Cargo.toml", manifest)],
            &[
                "Cargo.toml:4: unused-dependency",
                "Cargo.toml:7: unused-dependency",
                "Cargo.toml:10: unused-dependency",
                "Cargo.toml:13: unused-dependency",
            ],
        );
    }

    #[test]
    fn code_in_the_folder_of_another_package_counts() {
        let manifest =
            "[lib]\npath = \"../../docs/x/src/lib.rs\"\n[dependencies]\na = \"1\"\nb = \"1\"";
        check(
            unused,
            &[
                ("tests/x/Cargo.toml", manifest),
                ("docs/x/src/lib.rs", "mod y;"),
                ("docs/x/src/y.rs", "use a::A;"),
                ("docs/z/src/lib.rs", "use b::B;"),
            ],
            &["tests/x/Cargo.toml:5: unused-dependency"],
        );
    }

    #[test]
    fn use_macro_and_path_are_mentions() {
        for used in [
            "use a_b;",
            "use ::a_b::C;",
            "a_b!{}",
            "a_b::c()",
            "#[a_b::test]",
        ] {
            assert!(mentions(used, "a-b"), "{used}");
        }
        for unused in ["let a_b = 1;", "x_a_b::c()", "self::a_b::c()", "a_bc::d()"] {
            assert!(!mentions(unused, "a-b"), "{unused}");
        }
    }
}
