//! The steps of the composite action `docs/ci/action.yml`, executed as a runner does it.

use std::collections::BTreeMap;
use std::fs;
use std::iter;
use std::path::{Path, PathBuf};
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

/// A job: its folder, in which steps run one after the other, and what a runner keeps between them.
struct Job(PathBuf);

impl Job {
    /// In a folder of its own that has the scenarios of a project, and the program as `cargo xtask dist` packs it.
    fn new(name: &str) -> Job {
        let folder = format!("locklab-action-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        for inner in ["scenarios", "runner", "pack/locklab-0/bin"] {
            fs::create_dir_all(folder.join(inner)).expect("the folder can be written");
        }
        for name in ["k1", "k9"] {
            let from = Path::new(ROOT).join(format!("scenarios/kleppmann/{name}.toml"));
            fs::copy(from, folder.join(format!("scenarios/{name}.toml"))).expect("a copy");
        }
        let program = env!("CARGO_BIN_EXE_locklab");
        fs::copy(program, folder.join("pack/locklab-0/bin/locklab")).expect("a copy");
        let mut tar = Command::new("tar");
        tar.args(["-czf", "locklab-0.tar.gz", "-C", "pack", "locklab-0"]);
        let packed = tar.current_dir(&folder).status();
        assert!(packed.expect("there is a tar").success());
        Job(folder)
    }

    /// Executes a step, which has to succeed.
    fn execute(&self, step: &Step, inputs: &BTreeMap<&str, &str>) {
        let (code, told) = self.end_of(step, inputs);
        assert_eq!(code, Some(0), "{step:?}: {told}");
    }

    /// Executes a step; returns its exit code, and what it prints.
    fn end_of(&self, step: &Step, inputs: &BTreeMap<&str, &str>) -> (Option<i32>, String) {
        let environment = step.environment.iter();
        let environment = environment.map(|(name, text)| (name, value(text, inputs)));
        let runner = self.0.join("runner");
        let added = fs::read_to_string(runner.join("path")).unwrap_or_default();
        let done = Command::new("bash")
            .args([
                "--noprofile",
                "--norc",
                "-eo",
                "pipefail",
                "-c",
                &step.script,
            ])
            .current_dir(&self.0)
            .env_clear()
            .env("PATH", format!("{}:/usr/bin:/bin", added.trim()))
            .env("RUNNER_TEMP", &runner)
            .env("GITHUB_PATH", runner.join("path"))
            .env("GITHUB_STEP_SUMMARY", runner.join("summary"))
            .envs(environment)
            .output()
            .expect("there is a bash");
        let told = String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned();
        (done.status.code(), told)
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The steps of the action: Install, Check, Merge, Attack.
fn action() -> [Step; 4] {
    let action = Path::new(ROOT).join("docs/ci/action.yml");
    let steps = steps(&fs::read_to_string(action).expect("it is there"));
    let steps: [Step; 4] = steps.try_into().expect("four steps");
    let names: Vec<&str> = steps.iter().map(|step| &*step.name).collect();
    assert_eq!(names, ["Install", "Check", "Merge", "Attack"]);
    steps
}

#[test]
fn the_action_runs_shards_and_joins_them() {
    let [install, check, merge, _] = action();
    // A program as it was built, which need not be executable, or a package.
    for program in ["pack/locklab-0/bin/locklab", "locklab-0.tar.gz"] {
        let job = Job::new(if program.ends_with("gz") {
            "pack"
        } else {
            "program"
        });
        let inputs = |shard, ledgers, out| {
            BTreeMap::from([
                ("program", program),
                ("shard", shard),
                ("ledgers", ledgers),
                ("out", out),
            ])
        };
        job.execute(&install, &inputs("", "", ""));
        job.execute(&check, &inputs("1/2", "", "shards/shard-1"));
        job.execute(&check, &inputs("2/2", "", "shards/shard-2"));
        let ledgers = "shards/*/check/*-shard-*.jsonl";
        job.execute(&merge, &inputs("1/1", ledgers, "target/locklab"));

        let results = fs::read_to_string(job.0.join("target/locklab/check/check.json"));
        let results = results.expect("the shards are joined");
        assert!(results.contains("scenarios/k1.toml") && results.contains("scenarios/k9.toml"));
        // The workflow gives the action these ledgers.
        let workflow = fs::read_to_string(Path::new(ROOT).join("docs/ci/github.yml"));
        assert!(workflow.expect("it is there").contains(ledgers));
    }
}

#[test]
fn the_action_attacks_a_program_and_tells_what_broke() {
    let there = |name: &&str| Path::new("/usr/bin").join(name).is_file();
    if !["redis-server", "redis-cli"].iter().all(there) {
        println!("skipped: an attack needs a redis-server and a redis-cli in /usr/bin");
        return;
    }
    let [install, _, _, attack] = action();
    let job = Job::new("attack");
    let worker = "value=$(redis-cli -u \"$LOCKLAB_RESOURCE\" GET account)\nsleep 0.05\n\
                  redis-cli -u \"$LOCKLAB_RESOURCE\" SET account \"$value+\"\n";
    fs::write(job.0.join("worker.sh"), worker).expect("the folder can be written");
    let inputs = BTreeMap::from([
        ("program", "locklab-0.tar.gz"),
        ("attack", "sh worker.sh"),
        ("seeds", "2"),
        ("out", "target/locklab"),
    ]);
    job.execute(&install, &inputs);
    // On a machine with much to do every run may be discarded.
    let attacks = iter::repeat_with(|| job.end_of(&attack, &inputs));
    let counted = { attacks.take(10) }.find(|(_, told)| !told.contains("no run counts"));
    let (code, told) = counted.expect("a run that counts");
    assert_eq!(code, Some(2), "{told}");
    assert!(
        told.contains("\n::error title=locklab attack::sh worker.sh: "),
        "{told}"
    );
    let summary = fs::read_to_string(job.0.join("runner/summary")).expect("it is written");
    assert!(
        summary.contains("lost-update") && summary.ends_with("\n```\n"),
        "{summary}"
    );
}
