//! The bill of materials: the crates that the program is linked from, in the form of CycloneDX.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::tool::{cargo, said};

/// The bill for the program of this package, built for a target.
pub fn of(package: &str, target: &str) -> Result<String> {
    let line = format!("metadata --locked --format-version 1 --filter-platform {target}");
    let metadata: Value = serde_json::from_str(&said(&mut cargo(&line))?)?;
    // With the features of this package alone, and without what only tests and build scripts use.
    let line =
        format!("tree --locked --edges normal --prefix none --package {package} --target {target}");
    let tree = said(&mut cargo(&line))?;
    let bill = bill(&metadata, &tree).context("cargo's metadata has another form")?;
    Ok(serde_json::to_string_pretty(&bill)? + "\n")
}

/// From the packages that cargo knows, those of a tree, in which the program is the first.
fn bill(metadata: &Value, tree: &str) -> Option<Value> {
    let of_tree = |line: &str| {
        let (name, version) = line.split_once(" v")?;
        let version = version.split(' ').next()?;
        Some(format!("pkg:cargo/{name}@{version}"))
    };
    let program = of_tree(tree.lines().next()?)?;
    let linked: BTreeSet<String> = tree.lines().filter_map(of_tree).collect();
    let linked: BTreeMap<&str, &Value> = (metadata["packages"].as_array()?.iter())
        .filter(|it| linked.contains(&named(it)))
        .filter_map(|it| Some((it["id"].as_str()?, it)))
        .collect();
    let reference = |id: &Value| linked.get(id.as_str()?).map(|it| named(it));
    let node = |node: &Value| {
        let own = node["dependencies"]
            .as_array()?
            .iter()
            .filter_map(reference);
        let own: Vec<String> = own.collect();
        Some(json!({ "ref": reference(&node["id"])?, "dependsOn": own }))
    };
    let dependencies: Vec<Value> = (metadata["resolve"]["nodes"].as_array()?.iter())
        .filter_map(node)
        .collect();
    let (program, libraries): (Vec<Value>, Vec<Value>) = (linked.values())
        .map(|it| component(it, &program))
        .partition(|it| it["type"] == "application");
    Some(json!({
        "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
        "metadata": { "component": program.first()? },
        "components": libraries,
        "dependencies": dependencies,
    }))
}

fn component(package: &Value, program: &str) -> Value {
    let name = named(package);
    let kind = if name == program {
        "application"
    } else {
        "library"
    };
    let mut component = json!({
        "type": kind, "bom-ref": name, "name": package["name"], "version": package["version"],
        // Old manifests separate licences by a slash.
        "licenses": [{ "expression": text(package, "license").replace('/', " OR ") }],
    });
    if !package["source"].is_null() {
        component["purl"] = name.into();
    }
    component
}

/// The address of a package, which is its name in the bill.
fn named(package: &Value) -> String {
    format!(
        "pkg:cargo/{}@{}",
        text(package, "name"),
        text(package, "version")
    )
}

fn text<'a>(package: &'a Value, key: &str) -> &'a str {
    package[key].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bill_has_what_is_linked_and_nothing_else() {
        let package = |name: &str, source: Value| json!({ "id": name, "name": name, "version": "1.0.0", "license": "MIT/Zlib", "source": source });
        let metadata = json!({
            "packages": [
                package("program", Value::Null),
                package("library", "crates.io".into()),
                package("tester", "crates.io".into()),
            ],
            "resolve": { "nodes": [
                { "id": "program", "dependencies": ["library", "tester"] },
                { "id": "library", "dependencies": [] },
                { "id": "tester", "dependencies": ["library"] },
            ] },
        });
        let tree = "program v1.0.0 (/sources)\nlibrary v1.0.0\nlibrary v1.0.0 (*)\n";
        let bill = bill(&metadata, tree).expect("a bill");
        let program = &bill["metadata"]["component"];
        assert_eq!(program["bom-ref"], "pkg:cargo/program@1.0.0");
        let library = json!([{
            "type": "library", "bom-ref": "pkg:cargo/library@1.0.0", "purl": "pkg:cargo/library@1.0.0",
            "name": "library", "version": "1.0.0", "licenses": [{ "expression": "MIT OR Zlib" }],
        }]);
        assert_eq!(bill["components"], library);
        let expected = json!([
            { "ref": "pkg:cargo/program@1.0.0", "dependsOn": ["pkg:cargo/library@1.0.0"] },
            { "ref": "pkg:cargo/library@1.0.0", "dependsOn": [] },
        ]);
        assert_eq!(bill["dependencies"], expected);
    }
}
