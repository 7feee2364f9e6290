//! `locklab doctor`: the programs of this machine that Locklab can use, and what each adds.

use std::process::{Command, Stdio};

use clap::Args;
use serde_json::json;

use crate::options::{Ask, Context};
use locklab_lab::output::{self, Stdout};
use locklab_lab::{Exit, data, layout};
use locklab_real::{Programs, preloads, version};

const EXAMPLES: &str = "\
Examples:
  locklab doctor
  locklab doctor --json

What simulates needs nothing of this: run, sweep, check, matrix, view, serve,
judge and most others. Real servers (--on real, attack, score, confirm,
measure) need Linux: macOS lacks network addresses and preloaded
libraries as they use them. There is no Locklab for Windows; in its subsystem
for Linux (WSL 2) everything runs.

Exit codes: 0 whatever it finds; 1 usage.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// Print the result as JSON on standard output
    #[arg(long)]
    json: bool,
}

/// Something that Locklab can use.
struct Part {
    name: &'static str,
    /// Its version, or another fact; or why it is of no use.
    found: Result<String, String>,
    /// What it is needed for.
    adds: &'static str,
}

/// Languages of programs under attack: the program that says its version, and what it adds.
const LANGUAGES: [(&str, &str, &[&str], &str); 5] = [
    (
        "Python",
        "python3",
        &["--version"],
        "new --drill python, new --attack python, and workers in Python",
    ),
    (
        "Node.js",
        "node",
        &["--version"],
        "new --drill javascript, new --attack javascript, and workers in JavaScript",
    ),
    (
        "Go",
        "go",
        &["version"],
        "new --drill go, new --attack go, and workers in Go",
    ),
    (
        "Java",
        "java",
        &["-version"],
        "new --drill java, new --attack java, and workers in Java; ZooKeeper needs it",
    ),
    (
        "Rust",
        "cargo",
        &["--version"],
        "new: a lock of your own in the simulator; new --drill rust, new --attack rust",
    ),
];

impl Ask for Options {
    fn answer(&self, _: &Context) -> anyhow::Result<Exit> {
        let parts = parts(&Programs::find()?);
        Stdout::of(self.json).tell(&layout::rows(&parts.iter().map(row).collect::<Vec<_>>()))?;
        if self.json {
            output::print_json(&data::document("doctor", document(&parts)))?;
        }
        Ok(Exit::AsPredicted)
    }
}

fn parts(programs: &Programs) -> Vec<Part> {
    let redis = version(programs).map_err(|error| error.to_string());
    let loads = match &redis {
        Ok(_) => preloads(programs).map_err(|error| error.to_string()),
        Err(_) => Err("there is no Redis server to try it with".into()),
    };
    let loads = loads.and_then(|loads| match loads {
        true => Ok("the Redis server loads Locklab's library".into()),
        false => Err(
            "the Redis server does not load Locklab's library: it is linked statically, \
                      or its C library is another or too old"
                .into(),
        ),
    });
    let zookeeper = programs.zookeeper.version();
    let mut parts = vec![
        Part {
            name: "Redis",
            found: redis,
            adds: "real servers: --on redis, attack, score, confirm, measure",
        },
        Part {
            name: "preloading",
            found: loads,
            adds: "clocks of real processes that are wrong, and power losses of real servers",
        },
        Part {
            name: "ZooKeeper",
            found: zookeeper.map_err(|error| error.to_string()),
            adds: "locks on real consensus servers: run kleppmann/k18 --on real",
        },
        Part {
            name: "PostgreSQL",
            found: (programs.postgres.version()).map_err(|error| error.to_string()),
            adds: "locks on a real database: run baselines/cas --on real",
        },
    ];
    parts.extend(LANGUAGES.map(|(name, program, words, adds)| Part {
        name,
        found: said(program, words),
        adds,
    }));
    parts.push(Part {
        name: "Slurm",
        found: said("sbatch", &["--version"]),
        adds: "shards submit --slurm",
    });
    parts
}

/// The first line that a program says.
fn said(program: &str, words: &[&str]) -> Result<String, String> {
    let output = Command::new(program)
        .args(words)
        .stdin(Stdio::null())
        .output();
    let output = output.map_err(|_| format!("no {program} on the PATH"))?;
    // Java says its version on the standard error.
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    match said.lines().next() {
        Some(line) if output.status.success() => Ok(line.trim().into()),
        _ => Err(format!("{program} ends with {}", output.status)),
    }
}

fn row(part: &Part) -> [String; 3] {
    let (mark, fact) = match &part.found {
        Ok(fact) => ("✓", fact.clone()),
        Err(why) => ("–", format!("{why}; it adds {}", part.adds)),
    };
    [mark.into(), part.name.into(), fact]
}

fn document(parts: &[Part]) -> serde_json::Value {
    let parts: Vec<_> = (parts.iter())
        .map(|it| {
            json!({
                "part": it.name, "adds": it.adds,
                "found": it.found.as_ref().ok(), "missing": it.found.as_ref().err(),
            })
        })
        .collect();
    json!({ "parts": parts })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_found_or_tells_what_it_adds() {
        let part = |found| Part {
            name: "Redis",
            found,
            adds: "real servers",
        };
        assert_eq!(row(&part(Ok("7.0.15".into()))), ["✓", "Redis", "7.0.15"]);
        let lacks = part(Err("there is none".into()));
        assert_eq!(
            row(&lacks),
            ["–", "Redis", "there is none; it adds real servers"]
        );
        let document = document(&[lacks]);
        assert!(document["parts"][0]["found"].is_null());
        assert_eq!(document["parts"][0]["missing"], "there is none");
    }

    #[test]
    fn a_program_that_fails_is_missing() {
        assert_eq!(said("echo", &["one\ntwo"]), Ok("one".into()));
        // It says why it fails.
        assert!(said("ls", &["/locklab-no-such-folder"]).is_err());
        assert!(said("locklab-no-such-program", &[]).is_err());
    }
}
