//! `locklab advise`: the commands on its page make its numbers again, and show what it says.

use serde_json::Value;

use crate::bench::Bench;

/// What a command prints as JSON.
fn json(bench: &Bench, arguments: &[&str]) -> Value {
    let done = bench.locklab(&[arguments, &["--json"]].concat());
    assert!(matches!(done.code, Some(0 | 3)), "{}", done.told());
    serde_json::from_str(&done.out).expect("JSON")
}

/// The words of a command.
fn words(command: &Value) -> Vec<&str> {
    let words = command.as_array().expect("a command");
    words
        .iter()
        .map(|word| word.as_str().expect("a word"))
        .collect()
}

/// The answer in an environment in which the causes are few and frequent.
fn advice(bench: &Bench, question: &str) -> Value {
    let environment = "title = \"T\"\n[network]\nlatency_ms = 2\nguess = \"g\"\n[cause.gc]\ntitle = \"a pause\"\n\
                       fault = \"pause\"\non = [\"client\"]\nevery = \"1 min\"\nduration_ms = { exponential = 5000 }\n\
                       guess = [\"how often\"]\nwhy = \"w\"\n";
    std::fs::write(bench.folder.join("ours.toml"), environment).expect("a file");
    let more = "--work 2s --every 10s --environment ours.toml --runs 300";
    let question = format!("advise {question} {more}");
    json(bench, &question.split(' ').collect::<Vec<_>>())
}

#[test]
fn every_number_is_made_again_by_its_command() {
    let bench = Bench::new("advise-numbers");
    let advice = advice(
        &bench,
        "--for efficiency --servers redis --today set-nx-px --lease 3s --set lock.release=del",
    );
    let cases = advice["cases"].as_array().expect("cases");
    let changes: Vec<&str> = cases
        .iter()
        .filter_map(|it| it["change"].as_str())
        .collect();
    assert_eq!(
        changes,
        [
            "",
            "with tokens at the resource",
            "no look at the clock",
            "twice the lease",
            "renewed at each third",
            "as it is today"
        ]
    );
    for case in cases {
        let again = json(&bench, &words(&case["command"]));
        for property in ["lease", "resource"] {
            let number = &again["violations"][property]["per_year"];
            assert_eq!(&case["per_year"][property], number, "{case:#}");
        }
    }
    let corrupted = |place: usize| cases[place]["per_year"]["resource"]["mean"].as_f64();
    assert!(corrupted(0) < corrupted(2), "the look at the clock helps");
    assert_eq!(corrupted(1), Some(0.0), "tokens help");
    let cost = &advice["cost"];
    let again = json(&bench, &words(&cost["command"]));
    let leases = &again["leases"][0];
    for (number, name) in [("messages", "messages"), ("wait_ms", "wait_ms")] {
        assert_eq!(cost[number], leases[name]["mean"], "{name}");
    }
    let mistakes = advice["mistakes"].as_array().expect("mistakes");
    let mistakes: Vec<&str> = mistakes
        .iter()
        .filter_map(|it| words(&it["shown_by"]).pop())
        .collect();
    assert_eq!(mistakes, ["unconditional-release", "unnoticed-loss"]);
    let is_never = corrupted(0) == Some(0.0) && cases[0]["per_year"]["lease"]["mean"] == 0.0;
    match is_never {
        true => assert!(advice["dominant"].is_null()),
        false => assert_eq!(advice["dominant"]["cause"], "gc (a pause)"),
    }
}

#[test]
fn every_sentence_is_shown_by_its_command() {
    let bench = Bench::new("advise-claims");
    let advice = advice(&bench, "--for correctness --tokens no --servers nodes");
    for (part, is_violated) in [("survives", false), ("does_not_survive", true)] {
        let claims = advice[part].as_array().expect("claims");
        assert!(claims.len() > 2, "{part}");
        for claim in claims {
            let command = [words(&claim["command"]), vec!["--seeds", "40"]].concat();
            let run = json(&bench, &command);
            let properties = run["results"][0]["properties"]
                .as_array()
                .expect("properties");
            let found = properties
                .iter()
                .find(|it| it["property"] == claim["property"]);
            let violated = found.expect("it is judged")["violated"].as_u64();
            assert_eq!(violated > Some(0), is_violated, "{claim:#}");
        }
    }
    let says = advice["advice"].as_str().expect("a sentence");
    assert!(
        says.starts_with("No lock on Redis gives correctness"),
        "{says}"
    );
}

#[test]
fn page_fits_a_screen_and_says_where_each_number_comes_from() {
    let bench = Bench::new("advise-page");
    advice(&bench, "--for efficiency --servers redis");
    let question =
        "advise --for efficiency --servers redis --work 2s --environment ours.toml --runs 100";
    let done = bench.locklab(&question.split(' ').collect::<Vec<_>>());
    assert_eq!(done.code, Some(0), "{}", done.told());
    let lines = done.out.lines().count();
    assert!(lines <= 64, "{lines} lines:\n{}", done.out);
    for expected in [
        "before each write",
        "redis-docs/r2",
        "--set workload.check=deadline --quick",
        "corrupted, a year",
        "\n      no --set workload.check=deadline\n",
        "\n      --lease 20s\n",
        "messages for a grant",
        "reports/scorecard",
    ] {
        assert!(done.out.contains(expected), "{expected}:\n{}", done.out);
    }
    let refused = bench.locklab(&["advise", "--for", "correctness"]);
    assert_eq!(refused.code, Some(1));
    assert!(
        refused.err.contains("--tokens yes|no, --servers"),
        "{}",
        refused.err
    );
}
