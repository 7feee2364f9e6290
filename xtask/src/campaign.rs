//! A search over all locks with a seed that nobody has tried: no fault may do to a lock what its design rules out.
//!
//! Scenarios and the matrix predict what given faults do. This predicts what none does, however many are drawn, of
//! whatever kind, at whatever step.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::tool::{cargo, fresh_seed, perform};

/// The default duration of the search with each strategy, in minutes.
pub const MINUTES: &str = "2";

const STRATEGIES: [&str; 4] = ["uniform", "swarm", "steps", "mixed"];

/// Seeds are drawn from as many starts as this, and a search goes on from its start.
const STARTS: u64 = 1 << 40;

/// The runs of each lock that a search has at least: all turns of a mix.
const LEAST: u64 = 64;

/// What is ruled out: the property, and the forms of locks that keep it whatever happens.
const RULED_OUT: [(&str, &[&str]); 4] = [
    // A row without an expiry, in a database that forgets nothing.
    ("lease", &["database-unique"]),
    ("belief", &["database-unique"]),
    // The resource compares tokens, and they come from what forgets nothing.
    (
        "resource",
        &["database-unique", "database-cas", "consensus"],
    ),
    // The server compares and deletes in one step, and no other client writes this client's value.
    (
        "foreign-release",
        &[
            "setnx-expire (release compare-del)",
            "setnx-expire-lua",
            "set-nx-px",
            "set-nx-px (release watch-del)",
            "set-nx-px (with token)",
            "set-nx-px (reentrant)",
            "lease-guard",
            "redisson",
            "redisson (lease given)",
            "redisson (newer release)",
            "redisson-fenced",
            "redisson-fenced (lease given)",
            "redisson-no-publish",
            "redisson-no-publish (lease given)",
            "redisson-spin",
            "redisson-spin (lease given)",
            "redisson-read-write",
            "redisson-read-write (lease given)",
            "database-cas",
        ],
    ),
];

/// Searches with each strategy for this many minutes, from this seed on, or from a new one.
///
/// # Errors
///
/// If `minutes` or `seed` is no number, a campaign fails, or a run violates what is ruled out: with the command
/// that shows it.
pub fn run(minutes: &str, seed: Option<&str>) -> Result<()> {
    let _: u64 = minutes.parse().context("--minutes takes a number")?;
    let seed = match seed {
        Some(seed) => seed.parse().context("--seed takes a number")?,
        None => fresh_seed() % STARTS,
    };
    println!("from seed {seed} on; to use it again: cargo xtask campaign --seed {seed}");
    perform(cargo("build --release --package locklab --bin locklab"))?;
    let mut wrong = Vec::new();
    for strategy in STRATEGIES {
        let results = campaign(strategy, minutes, seed)?;
        println!("{strategy}: {}", extent(&results));
        wrong.extend(violations(&results, strategy, seed));
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

/// The results of a campaign of all locks.
fn campaign(strategy: &str, minutes: &str, seed: u64) -> Result<Vec<Value>> {
    let out = format!("target/campaign/{strategy}");
    let seeds = format!("{seed}..{}", seed + LEAST);
    let output = Command::new(Path::new("target/release/locklab"))
        .args(["campaign", "--fresh", "--json", "--strategy", strategy])
        .args(["--seeds", &seeds, "--budget", &format!("{minutes}m")])
        .args(["--out", &out])
        .output()
        .context("locklab did not start")?;
    ensure!(
        output.status.success(),
        "locklab campaign: {}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    let mut printed: Value = serde_json::from_slice(&output.stdout).context("its results")?;
    match printed["results"].take() {
        Value::Array(results) => Ok(results),
        other => bail!("locklab campaign has no list of results, but {other}"),
    }
}

/// How many locks were run, and how often.
fn extent(results: &[Value]) -> String {
    let rows = results.iter().filter(|it| it["measure"] == "resource");
    let runs: u64 = rows.clone().filter_map(|it| it["runs"].as_u64()).sum();
    format!("{} locks, {runs} runs", rows.count())
}

/// What a campaign shows against what is ruled out: a violation, or that nothing put it to the test.
fn violations(results: &[Value], strategy: &str, seed: u64) -> Vec<String> {
    let ruled_out = RULED_OUT
        .iter()
        .flat_map(|(property, rows)| rows.iter().map(move |row| (*property, *row)));
    let wrong = ruled_out.filter_map(|(property, row)| {
        let found = results
            .iter()
            .find(|it| it["measure"] == property && it["row"] == row);
        let count = |name: &str| found.and_then(|it| it[name].as_u64());
        let (Some(runs), Some(violated)) = (count("runs"), count("violated")) else {
            return Some(format!("{row}: the campaign has no {property}"));
        };
        let again = format!(
            "locklab campaign --lock '{row}' --strategy {strategy} --seeds {seed}..{}",
            seed + runs
        );
        match (violated, count("inconclusive")) {
            (0, Some(inconclusive)) if inconclusive < runs => None,
            (0, _) => Some(format!(
                "{row}: no run of {runs} could have violated {property}; {again}"
            )),
            _ => Some(format!(
                "{row}: {violated} of {runs} runs violate {property}; {again}"
            )),
        }
    });
    wrong.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Every result that is asked for, without a violation.
    fn sound() -> Vec<Value> {
        let rows = RULED_OUT.iter().flat_map(|(property, rows)| {
            rows.iter().map(move |row| {
                json!({"measure": property, "row": row, "runs": 30, "violated": 0, "inconclusive": 29})
            })
        });
        rows.collect()
    }

    #[test]
    fn a_violation_is_shown_with_the_command_that_repeats_it() {
        let mut results = sound();
        assert_eq!(violations(&results, "steps", 7), Vec::<String>::new());
        results[0]["violated"] = json!(1);
        assert_eq!(
            violations(&results, "steps", 7),
            ["database-unique: 1 of 30 runs violate lease; \
              locklab campaign --lock 'database-unique' --strategy steps --seeds 7..37"]
        );
    }

    #[test]
    fn what_was_not_put_to_the_test_is_not_sound() {
        let mut results = sound();
        results[1]["inconclusive"] = json!(30);
        let wrong = violations(&results, "swarm", 7);
        assert!(
            wrong[0].contains("no run of 30 could have violated belief"),
            "{wrong:?}"
        );
        results.remove(0);
        let wrong = violations(&results, "swarm", 7);
        assert_eq!(wrong[0], "database-unique: the campaign has no lease");
    }
}
