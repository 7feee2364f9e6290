//! `locklab attack`, as a program that prints JSON.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use super::Violated;

/// Starts a program of `locklab attack`, which prints JSON, and writes to this folder.
pub(super) fn start(mut command: Command, out: &str, program: &[String]) -> Result<Child> {
    command.args(["--format", "svg", "--json", "--fresh", "--out"]);
    command.arg(Path::new("target/clients-runs").join(out));
    command.arg("--").args(program);
    let piped = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    Ok(piped.stdin(Stdio::null()).spawn()?)
}

/// The arguments of `locklab` that repeat a violation of each property.
type Repeats = BTreeMap<String, Vec<String>>;

/// What came of the scenario of a command.
pub(super) fn told(started: Child) -> Result<Outcome> {
    let output = started.wait_with_output()?;
    if !matches!(output.status.code(), Some(0 | 2 | 3)) {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("locklab attack: {}: {}", output.status, said.trim());
    }
    let document: Document = serde_json::from_slice(&output.stdout)?;
    let result = document.results.into_iter().next();
    result.context("locklab attack gave no result")
}

/// What `locklab attack --json` prints, as far as the table needs it.
#[derive(Deserialize)]
struct Document {
    results: Vec<Outcome>,
}

#[derive(Deserialize)]
pub(super) struct Outcome {
    pub(super) runs: u64,
    /// What the servers were, with their version.
    #[serde(default)]
    pub(super) server: Option<String>,
    pub(super) properties: Vec<Property>,
    #[serde(default)]
    pub(super) again: Repeats,
}

impl Outcome {
    pub(super) fn violated(&self) -> Vec<Violated> {
        let violated = self.properties.iter().filter(|it| it.violated > 0);
        let of_property = |it: &Property| {
            Some(Violated {
                seed: it.shortest.as_ref()?.seed,
                property: it.property.clone(),
                runs: it.violated,
                of: self.runs - it.inconclusive,
            })
        };
        violated.filter_map(of_property).collect()
    }
}

#[derive(Deserialize)]
pub(super) struct Property {
    pub(super) property: String,
    violated: u64,
    pub(super) inconclusive: u64,
    shortest: Option<Shortest>,
}

#[derive(Deserialize)]
struct Shortest {
    seed: u64,
}
