//! Checks that every dependency in a `Cargo.toml` is used by the code of its package.

use crate::source::Finding;
use crate::source::{File, innermost, places};

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
            .collect();
        for dependency in dependencies(&manifest.text) {
            let name = dependency.name;
            let used = match dependency.scope {
                // A package without a file of its own has those of another (`tests/own-lock`).
                Scope::Package => {
                    sources.is_empty() || sources.iter().any(|file| mentions(&file.code, name))
                }
                Scope::Workspace => manifests.iter().any(|other| {
                    let inherits = |d: &Dependency| d.scope == Scope::Package && d.name == name;
                    dependencies(&other.text).iter().any(inherits)
                }),
            };
            if !used {
                let remedy = format!("remove `{name}`, or name it as the code does");
                findings.push(manifest.finding(dependency.line, "unused-dependency", remedy));
            }
        }
    }
    findings
}

struct Dependency<'a> {
    name: &'a str,
    line: usize,
    scope: Scope,
}

#[derive(Clone, Copy, PartialEq)]
enum Scope {
    Package,
    Workspace,
}

/// The dependencies of every kind in a manifest, one per line or one per section.
fn dependencies(manifest: &str) -> Vec<Dependency<'_>> {
    let mut found = Vec::new();
    let mut section = None;
    for (index, line) in manifest.lines().enumerate() {
        let mut name_here = |name, scope| {
            found.push(Dependency {
                name,
                line: index + 1,
                scope,
            });
        };
        if let Some(header) = line.trim().strip_prefix('[') {
            let header = header.trim_end_matches(']');
            let scope = if header.starts_with("workspace.") {
                Scope::Workspace
            } else {
                Scope::Package
            };
            section = header.ends_with("dependencies").then_some(scope);
            if let Some((_, name)) = header.rsplit_once("dependencies.") {
                name_here(name, scope);
            }
        } else if let (Some(scope), Some((key, _))) = (section, line.split_once('=')) {
            // A value over several lines continues indented; a key is not indented.
            if !key.starts_with([' ', '\t', '#', '}', ']']) {
                let name = key.split('.').next().unwrap_or(key);
                name_here(name.trim().trim_matches('"'), scope);
            }
        }
    }
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
            &[("Cargo.toml", manifest), ("src/lib.rs", "")],
            &[
                "Cargo.toml:4: unused-dependency",
                "Cargo.toml:7: unused-dependency",
                "Cargo.toml:10: unused-dependency",
                "Cargo.toml:13: unused-dependency",
            ],
        );
    }

    #[test]
    fn a_package_without_a_file_of_its_own_has_those_of_another() {
        let manifest = "[lib]\npath = \"../x.rs\"\n[dependencies]\na = \"1\"";
        check(unused, &[("Cargo.toml", manifest)], &[]);
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
