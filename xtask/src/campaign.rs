//! A search over all locks with a seed that nobody has tried: no fault may do to a lock what its design rules out.
//!
//! Scenarios and the matrix predict what given faults do. This predicts what none does, however many are drawn, of
//! whatever kind, at whatever step.

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::tool::{cargo, fresh_seed, locklab, perform};

const STRATEGIES: [&str; 4] = ["uniform", "swarm", "steps", "mixed"];

/// Seeds are drawn from as many starts as this, and a search goes on from its start.
const STARTS: u64 = 1 << 40;

/// The runs of each lock that a search has at least: all turns of a mix.
const LEAST: u64 = 64;

/// A form of a lock, and a property that its lock says no fault makes it violate.
type RuledOut = (String, String);

/// Searches with each strategy for this many minutes, from this seed on, or from a new one.
/// Fails if a campaign fails, or a run violates what is ruled out: with the command
/// that shows it.
pub fn run(minutes: u64, seed: Option<u64>) -> Result<()> {
    let seed = seed.unwrap_or_else(|| fresh_seed() % STARTS);
    println!("from seed {seed} on; to use it again: cargo xtask campaign --seed {seed}");
    perform(cargo("build --profile ci --package locklab --bin locklab"))?;
    let ruled_out = ruled_out(&json(&["list", "locks", "--json"])?);
    ensure!(!ruled_out.is_empty(), "no lock keeps anything");
    let mut wrong = Vec::new();
    for strategy in STRATEGIES {
        let results = campaign(strategy, minutes, seed)?;
        println!("{strategy}: {}", extent(&results));
        wrong.extend(violations(&results, &ruled_out, strategy, seed));
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

/// The results of a campaign of all locks.
fn campaign(strategy: &str, minutes: u64, seed: u64) -> Result<Vec<Value>> {
    let out = format!("target/campaign/{strategy}");
    let seeds = format!("{seed}..{}", seed + LEAST);
    let budget = format!("{minutes}m");
    let words = [
        "study",
        "campaign",
        "--fresh",
        "--json",
        "--strategy",
        strategy,
    ];
    let many = ["--seeds", &seeds, "--budget", &budget, "--out", &out];
    match json(&[&words[..], &many].concat())?["results"].take() {
        Value::Array(results) => Ok(results),
        other => bail!("locklab study campaign has no list of results, but {other}"),
    }
}

/// What locklab prints as JSON.
fn json(words: &[&str]) -> Result<Value> {
    serde_json::from_str(&locklab("ci", words)?).context("its results")
}

/// What the locks say of themselves.
fn ruled_out(locks: &Value) -> Vec<RuledOut> {
    let mut found = Vec::new();
    for lock in locks.as_array().into_iter().flatten() {
        for (row, properties) in lock["keeps"].as_object().into_iter().flatten() {
            let names = properties.as_array().into_iter().flatten();
            let names = names.filter_map(Value::as_str);
            found.extend(names.map(|property| (row.clone(), property.to_owned())));
        }
    }
    found
}

/// How many locks were run, and how often.
fn extent(results: &[Value]) -> String {
    let rows = results.iter().filter(|it| it["measure"] == "resource");
    let runs: u64 = rows.clone().filter_map(|it| it["runs"].as_u64()).sum();
    format!("{} locks, {runs} runs", rows.count())
}

/// What a campaign shows against what is ruled out: a violation, or that nothing put it to the test.
fn violations(results: &[Value], ruled_out: &[RuledOut], strategy: &str, seed: u64) -> Vec<String> {
    let wrong = ruled_out.iter().filter_map(|(row, property)| {
        let found = results
            .iter()
            .find(|it| it["measure"] == **property && it["row"] == **row);
        let count = |name: &str| found.and_then(|it| it[name].as_u64());
        let (Some(runs), Some(violated)) = (count("runs"), count("violated")) else {
            return Some(format!("{row}: the campaign has no {property}"));
        };
        let again = format!(
            "locklab study campaign --lock '{row}' --strategy {strategy} --seeds {seed}..{}",
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

    fn locks() -> Vec<RuledOut> {
        ruled_out(&json!([
            {"name": "setnx", "keeps": {}},
            {"name": "database-unique", "keeps": {"database-unique": ["lease", "belief"]}},
        ]))
    }

    /// Every result that is asked for, without a violation.
    fn sound() -> Vec<Value> {
        let result = |(row, property): RuledOut| json!({"measure": property, "row": row, "runs": 30, "violated": 0, "inconclusive": 29});
        locks().into_iter().map(result).collect()
    }

    #[test]
    fn a_violation_is_shown_with_the_command_that_repeats_it() {
        let mut results = sound();
        assert_eq!(
            violations(&results, &locks(), "steps", 7),
            Vec::<String>::new()
        );
        results[0]["violated"] = json!(1);
        assert_eq!(
            violations(&results, &locks(), "steps", 7),
            ["database-unique: 1 of 30 runs violate lease; \
              locklab study campaign --lock 'database-unique' --strategy steps --seeds 7..37"]
        );
    }

    #[test]
    fn what_was_not_put_to_the_test_is_not_sound() {
        let mut results = sound();
        results[1]["inconclusive"] = json!(30);
        let wrong = violations(&results, &locks(), "swarm", 7);
        assert!(
            wrong[0].contains("no run of 30 could have violated belief"),
            "{wrong:?}"
        );
        results.remove(0);
        let wrong = violations(&results, &locks(), "swarm", 7);
        assert_eq!(wrong[0], "database-unique: the campaign has no lease");
    }
}
