//! `locklab check`, `merge` and `compare`.

use insta::assert_snapshot;
use nix::sys::signal::Signal;

use crate::bench::Bench;

/// A lock that deletes whatever it finds, and a prediction that this is safe.
const WRONG: &str = r#"
title = "A plain DEL is safe"

[topology]
clients = 2

[lock]
name = "set-nx-px"
ttl_ms = 300
release = "del"

[workload]
hold_ms = 20

[workload.client.c1]
hold_ms = 500

[workload.client.c2]
start_ms = 20
hold_ms = 400

[expect]
belief = "violated"
resource = "violated"
foreign-release = "holds"
"#;

const RIGHT: &[&str] = &["check", "kleppmann/k1", "kleppmann/k9", "redis-docs/r5"];

#[test]
fn a_suite_that_is_as_predicted() {
    let bench = Bench::new("check-good");
    let checked = bench.locklab(RIGHT);
    assert_eq!(checked.code, Some(0));
    assert_snapshot!("check_good", checked.told());
    let files = ["check.csv", "check.json", "check.md", "junit.xml"];
    let files = files.map(|name| format!("target/locklab/check/{name}"));
    assert_eq!(bench.files(), files);
    let data = bench.locklab(&[RIGHT, &["--json"]].concat());
    assert_eq!(data.json()["cases"].as_array().map(Vec::len), Some(3));
    assert_eq!(data.out.trim_end(), bench.read(&files[1]));
}

/// With a release that compares, the prediction of [`WRONG`] is right. The scenario then notices a
/// release that compares nothing; nothing in it extends a lease.
#[test]
fn a_suite_is_asked_which_mistakes_it_notices() {
    let bench = Bench::new("check-mutants");
    bench.write("late.toml", &WRONG.replace("release = \"del\"\n", ""));
    let checked = bench.locklab(&["check", "--mutants", "late.toml"]);
    assert_eq!(checked.code, Some(2));
    assert_snapshot!("check_mutants", checked.told());
    let data = bench.locklab(&["check", "--mutants", "late.toml", "--json"]);
    let found = data.json()["results"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let is_noticed = |mutant: &str| {
        let of = found.iter().find(|outcome| outcome["mutant"] == mutant);
        of.map(|outcome| outcome["noticed_by"][0] == "late.toml")
    };
    assert_eq!(is_noticed("release=del"), Some(true));
    assert_eq!(is_noticed("extend=expire"), Some(false));
    assert_eq!(is_noticed("wait_replicas=0"), None, "it is so already");
}

#[test]
fn what_differs_is_told_to_everybody_and_can_be_kept() {
    let bench = Bench::new("check-bad");
    bench.write("wrong.toml", WRONG);
    let mut command = bench.command(&["check", "wrong.toml"]);
    command.env("GITHUB_ACTIONS", "true");
    command.env("GITHUB_STEP_SUMMARY", bench.folder.join("summary.md"));
    let checked = crate::bench::Done::from(command.output().expect("it runs"));
    assert_eq!(checked.code, Some(2));
    assert_snapshot!("check_bad", checked.told());
    assert_snapshot!(
        "check_bad_junit",
        bench.read("target/locklab/check/junit.xml")
    );
    let summary = bench.read("summary.md");
    assert_snapshot!("check_bad_markdown", summary);
    assert_eq!(summary, bench.read("target/locklab/check/check.md"));

    // Kept, it fails again; mended, it does not.
    let folder = bench.folder.join("regressions");
    std::fs::create_dir_all(&folder).expect("the folder can be written");
    let data = bench.locklab(&["check", "wrong.toml", "--json"]).json();
    let properties = data["cases"][0]["properties"].as_array().cloned();
    let evidence = { properties.unwrap_or_default().into_iter() }
        .find_map(|found| found["evidence"]["recording"].as_str().map(String::from));
    let recording = bench.read(&format!(
        "target/locklab/check/{}",
        evidence.expect("a recording")
    ));
    std::fs::write(folder.join("del.jsonl"), &recording).expect("it can be written");
    let again = bench.locklab(&["check"]);
    assert_eq!(again.code, Some(2), "{}", again.err);
    assert!(
        again.out.contains("replay regressions/del.jsonl"),
        "{}",
        again.out
    );
    let mended = recording.replacen("\"release\":\"del\"", "\"release\":\"compare-del\"", 1);
    assert_ne!(mended, recording);
    std::fs::write(folder.join("del.jsonl"), mended).expect("it can be written");
    let again = bench.locklab(&["check"]);
    assert_eq!(again.code, Some(0), "{}", again.err);
}

#[test]
fn the_shards_of_a_suite_are_judged_and_join_to_the_whole() {
    let bench = Bench::new("check-shards");
    bench.write("wrong.toml", WRONG);
    let suite = [RIGHT, &["wrong.toml"]].concat();
    let shard = |shard: &str, out: &str| {
        let options = ["--shard", shard, "--out", out];
        bench.locklab(&[&suite[..], &options].concat()).code
    };
    let codes = [
        shard("1/3", "one"),
        shard("2/3", "two"),
        shard("3/3", "three"),
    ];
    assert_eq!(codes, [Some(2), Some(0), Some(0)]);
    let whole = bench.locklab(&[&suite[..], &["--out", "whole"]].concat());
    assert_eq!(whole.code, Some(2));
    let ledgers = [(3, "three"), (1, "one"), (2, "two")];
    let ledgers =
        ledgers.map(|(number, out)| format!("{out}/check/check-shard-{number}-of-3.jsonl"));
    let [three, one, two] = &ledgers;
    let merged = bench.locklab(&["merge", three, one, two, "--out", "merged"]);
    assert_eq!(merged.code, Some(2), "{}", merged.told());
    for file in ["check.json", "junit.xml", "check.md", "check.csv"] {
        let of = |out: &str| bench.read(&format!("{out}/check/{file}"));
        assert_eq!(of("merged"), of("whole"), "{file}");
    }
    assert_snapshot!("merge_lacking", bench.locklab(&["merge", one, two]).told());
    assert_snapshot!("merge_twice", bench.locklab(&["merge", one, one]).told());
}

#[test]
fn a_baseline_shows_what_became_worse() {
    let bench = Bench::new("check-baseline");
    bench.write("wrong.toml", &WRONG.replace("\"del\"", "\"compare-del\""));
    let good = ["check", "wrong.toml", "--save-baseline", "main"];
    assert_eq!(bench.locklab(&good).code, Some(0));
    bench.write("wrong.toml", WRONG);
    let bad = bench.locklab(&["check", "wrong.toml", "--baseline", "main"]);
    assert_eq!(bad.code, Some(2));
    assert_snapshot!("check_baseline", bad.told());
    let [before, after] = ["baseline-main.json", "check.json"];
    let path = |name: &str| format!("target/locklab/check/{name}");
    let compared = bench.locklab(&["compare", &path(before), &path(after), "--json"]);
    assert_eq!(compared.code, Some(2));
    assert_eq!(compared.json()["edits"][0]["path"], "lock.release");
    assert_eq!(compared.json()["changes"].as_array().map(Vec::len), Some(1));
    let back = bench.locklab(&["compare", &path(after), &path(before)]);
    assert_eq!(back.code, Some(0));
    assert_snapshot!("compare_back", back.told());
    let missing = bench.locklab(&["check", "wrong.toml", "--baseline", "none"]);
    assert_snapshot!("check_no_baseline", missing.told());
}

#[test]
fn what_ctrl_c_leaves_of_the_first_pass_is_kept() {
    let bench = Bench::new("check-interrupted");
    // All scenarios that ship: their first pass alone takes seconds.
    let interrupted = bench.interrupt(&["check", "--jobs", "1"], Signal::SIGINT);
    assert_eq!(interrupted.code, Some(130), "{}", interrupted.told());
    let advice = "runs; run it again to resume";
    assert!(interrupted.err.contains(advice), "{}", interrupted.told());
    let told: Vec<&str> = interrupted.out.lines().collect();
    assert!(
        told.iter().any(|line| line.ends_with(" cases not run")),
        "{told:?}"
    );
    assert!(told.len() < 20, "{told:?}");
    let ledger = bench.read("target/locklab/check/check.jsonl");
    assert!(ledger.contains("\"stage\":\"twice\""), "{ledger}");
}

#[test]
fn a_profile_says_what_the_command_line_does_not() {
    let bench = Bench::new("check-profile");
    let profile = "[profile.default]\npaths = [\"kleppmann/k1\", \"kleppmann/k9\"]\n\
                   [profile.one]\nfilter = \"claim(K9)\"\nseed-from = \"text:some text\"\n";
    bench.write("locklab.toml", profile);
    let cases = |arguments: &[&str]| {
        let done = bench.locklab(&[&["check", "--json"], arguments].concat());
        assert_eq!(done.code, Some(0), "{}", done.err);
        let data = done.json();
        let cases = data["cases"].as_array().cloned().unwrap_or_default();
        let ids = cases
            .iter()
            .map(|case| case["id"].as_str().unwrap_or_default());
        (
            ids.collect::<Vec<_>>().join(" "),
            data["first_seed"].as_u64(),
        )
    };
    assert_eq!(cases(&[]), ("kleppmann/k1 kleppmann/k9".into(), Some(0)));
    let (one, seed) = cases(&["--profile", "one"]);
    assert_eq!(one, "kleppmann/k9");
    assert_eq!(
        cases(&["-E", "claim(K9)", "--seed-from", "text:some text"]),
        (one, seed)
    );
    assert_eq!(cases(&["kleppmann/k5"]).0, "kleppmann/k5");
    let none = bench.locklab(&["check", "--profile", "two"]);
    assert_snapshot!("check_no_profile", none.told());
    let empty = bench.locklab(&["check", "-E", "claim(K99)"]);
    assert_snapshot!("check_empty", empty.told());
}

#[test]
fn a_budget_makes_more_runs_and_one_that_is_over_shows_nothing() {
    let bench = Bench::new("check-budget");
    let runs = |budget: &str| {
        let done = bench.locklab(&["check", "kleppmann/k1", "--budget", budget, "--json"]);
        (done.json()["cases"][0]["runs"].as_u64(), done.code)
    };
    let (runs, code) = runs("1s");
    // As many as the predictions need, and further rounds of an eighth of those before; none on a
    // machine that stood still.
    let runs = runs.expect("a number");
    let mut rounds = std::iter::successors(Some(302), |runs: &u64| Some(runs + runs.div_ceil(8)));
    assert!(
        runs == 0 || rounds.find(|all| *all >= runs) == Some(runs),
        "{runs}"
    );
    assert_eq!(code, Some(if runs == 0 { 3 } else { 0 }));
    for wrong in ["5", "0s", "m", "-1s", "5x"] {
        let told = bench.locklab(&["check", "kleppmann/k1", &format!("--budget={wrong}")]);
        assert_eq!(told.code, Some(1), "{wrong}");
    }
}

#[test]
fn seeds_from_a_commit_that_is_not_there_are_refused() {
    let bench = Bench::new("check-no-commit");
    // The folder is no repository.
    for name in ["HEAAD", "HEAD", "main", "4f2a"] {
        let done = bench.locklab(&["check", "kleppmann/k9", "--seed-from", name]);
        assert_eq!(done.code, Some(1), "{}", done.told());
        let expected = format!("--seed-from {name}: git finds no such commit here; write one");
        assert!(done.err.contains(&expected), "{}", done.told());
    }
}
