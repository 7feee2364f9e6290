//! The steps of the composite action `docs/ci/action.yml`, executed as a runner does it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use super::ROOT;

/// A step: its script, and its environment, in which inputs are not replaced yet.
#[derive(Debug, Default)]
struct Step {
    name: String,
    script: String,
    environment: BTreeMap<String, String>,
}

/// The steps of the action. Each has a `name`, a `run` of several lines, and an `env`.
fn steps(action: &str) -> Vec<Step> {
    let (_, steps) = action.split_once("\n  steps:\n").expect("steps");
    let mut found: Vec<Step> = Vec::new();
    let mut within = "";
    for line in steps.lines() {
        let text = line.trim();
        if let Some(name) = text.strip_prefix("- name: ") {
            let name = name.into();
            found.push(Step {
                name,
                ..Step::default()
            });
            continue;
        }
        let step = found.last_mut().expect("a name comes first");
        match (line.len() - line.trim_start().len(), text) {
            (6, "run: |") => within = "run",
            (6, "env:") => within = "env",
            (6, _) => within = "",
            _ if within == "run" => step.script += &format!("{text}\n"),
            _ if within == "env" => {
                let (name, value) = text.split_once(": ").expect("a name and a value");
                step.environment.insert(name.into(), value.into());
            }
            _ => panic!("unexpected: {line}"),
        }
    }
    found
}

/// The value of an expression such as `${{ inputs.shard }}`.
fn value(expression: &str, inputs: &BTreeMap<&str, &str>) -> String {
    let input = expression.strip_prefix("${{ inputs.");
    let input = input.and_then(|rest| rest.strip_suffix(" }}"));
    let input = input.unwrap_or_else(|| panic!("no input: {expression}"));
    inputs[input].to_owned()
}

/// Executes a step in a folder, and requires that it succeeds.
fn execute(step: &Step, folder: &Path, inputs: &BTreeMap<&str, &str>) {
    let environment = step.environment.iter();
    let environment = environment.map(|(name, text)| (name, value(text, inputs)));
    let done = Command::new("bash")
        .args([
            "--noprofile",
            "--norc",
            "-eo",
            "pipefail",
            "-c",
            &step.script,
        ])
        .current_dir(folder)
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .envs(environment)
        .output()
        .expect("there is a bash");
    let told = String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned();
    assert_eq!(done.status.code(), Some(0), "{step:?}: {told}");
}

#[test]
fn the_action_runs_shards_and_joins_them() {
    let action = Path::new(ROOT).join("docs/ci/action.yml");
    let steps = steps(&fs::read_to_string(action).expect("it is there"));
    let [check, merge] = &steps[..] else {
        panic!("two steps: {steps:?}");
    };
    assert_eq!((&*check.name, &*merge.name), ("Check", "Merge"));

    let folder = std::env::temp_dir().join(format!("locklab-action-{}", std::process::id()));
    fs::create_dir_all(folder.join("scenarios")).expect("the folder can be written");
    for name in ["kleppmann/k1", "kleppmann/k9"] {
        let from = Path::new(ROOT).join(format!("scenarios/{name}.toml"));
        let to = folder
            .join("scenarios")
            .join(from.file_name().expect("a file"));
        fs::copy(from, to).expect("the folder can be written");
    }
    fs::copy(env!("CARGO_BIN_EXE_locklab"), folder.join("program")).expect("a copy");
    let inputs = |shard, ledgers, out| {
        let program = ("program", "./program");
        BTreeMap::from([
            program,
            ("shard", shard),
            ("ledgers", ledgers),
            ("out", out),
        ])
    };
    execute(check, &folder, &inputs("1/2", "", "shards/shard-1"));
    execute(check, &folder, &inputs("2/2", "", "shards/shard-2"));
    let ledgers = "shards/*/check/*-shard-*.jsonl";
    execute(merge, &folder, &inputs("1/1", ledgers, "target/locklab"));

    let results = fs::read_to_string(folder.join("target/locklab/check/check.json"));
    let results = results.expect("the shards are joined");
    assert!(results.contains("scenarios/k1.toml") && results.contains("scenarios/k9.toml"));
    // The workflow gives the action these ledgers.
    let workflow = fs::read_to_string(Path::new(ROOT).join("docs/ci/github.yml"));
    assert!(workflow.expect("it is there").contains(ledgers));
    fs::remove_dir_all(&folder).expect("it is ours");
}
