//! `--shard` and `merge`, of every command that makes many runs.

use crate::bench::Bench;

/// Runs a command whole, and as three shards that are joined; every file and the exit code have to
/// be the same, but those files that name one of `unlike`.
fn check(test: &str, command: &str, unlike: &[&str]) {
    let bench = Bench::new(test);
    let words: Vec<&str> = command.split(' ').collect();
    let run = |options: &[&str]| bench.locklab(&[&words[..], options].concat());
    let whole = run(&["--out", "whole"]);
    for (shard, out) in [("1/3", "one"), ("2/3", "two"), ("3/3", "three")] {
        let done = run(&["--shard", shard, "--out", out]);
        assert_eq!(done.code, Some(0), "{}", done.told());
        assert!(done.err.contains("is complete: "), "{}", done.told());
    }
    let ledgers = bench.files().into_iter();
    let ledgers: Vec<String> = ledgers.filter(|name| name.contains("-shard-")).collect();
    let ledgers: Vec<&str> = ledgers.iter().map(String::as_str).collect();
    assert_eq!(ledgers.len(), 3, "{ledgers:?}");
    let merged = bench.locklab(&[&["merge", "--out", "merged"], &ledgers[..]].concat());
    assert_eq!(merged.code, whole.code, "{}", merged.told());
    bench.assert_alike_but("whole", "merged", unlike);
}

#[test]
fn the_shards_of_a_run_join_to_the_whole() {
    check(
        "shards-run",
        "run kleppmann/k1 redis-docs/r5 --seeds 20 --per-run",
        &[],
    );
}

#[test]
fn the_shards_of_the_determinism_gate_join_to_the_whole() {
    let bench = Bench::new("shards-twice");
    let twice = ["run", "kleppmann/k1", "--twice", "--seeds", "5", "--json"];
    let whole = bench.locklab(&twice);
    for shard in ["1/2", "2/2"] {
        let done = bench.locklab(&[&twice[..], &["--shard", shard]].concat());
        assert_eq!(done.code, Some(0), "{}", done.told());
    }
    let ledgers =
        ["1", "2"].map(|number| format!("target/locklab/twice-shard-{number}-of-2.jsonl"));
    let merged = bench.locklab(&["merge", &ledgers[0], &ledgers[1], "--json"]);
    assert_eq!(merged.out, whole.out);
}

#[test]
fn the_shards_of_a_sweep_join_to_the_whole() {
    let sweep = "sweep kleppmann/k1 --vary fault.gc.duration_ms=500,1500 --seeds 7 --per-run";
    check("shards-sweep", sweep, &[]);
}

#[test]
fn the_shards_of_a_matrix_join_to_the_whole() {
    check(
        "shards-matrix",
        "matrix --lock redlock --problem outlives --seeds 4",
        &[],
    );
}

#[test]
fn the_shards_of_a_campaign_join_to_the_whole() {
    check(
        "shards-campaign",
        "campaign --lock consensus --seeds 4",
        &[],
    );
}

/// The seeds of a group are in several shards.
#[test]
fn the_shards_of_a_mix_join_to_the_whole() {
    check(
        "shards-mix",
        "campaign --lock lease-guard --strategy mixed --seeds 58..69",
        &[],
    );
}

#[test]
fn the_shards_of_cost_join_to_the_whole() {
    check("shards-cost", "cost --lock set-nx-px --seeds 4", &[]);
}

#[test]
fn the_shards_of_risk_join_to_the_whole() {
    check(
        "shards-risk",
        "risk --lease 10s --work 2s --runs 100 --set environment.cause.partition.duration_ms=3000 \
         --set environment.cause.rack.duration_ms=3000",
        &[],
    );
    check(
        "shards-risk-leases",
        "risk set-nx-px getset --leases 1s,5s --work 500ms --runs 100 --environment go-on-bare-metal",
        &[],
    );
}

#[test]
fn the_shards_of_rare_join_to_the_whole() {
    check(
        "shards-rare-sampling",
        "rare kleppmann/k1-exponential --set fault.gc.duration_ms.exponential=150 --runs 1500",
        &[],
    );
    check(
        "shards-rare-splitting",
        "rare kleppmann/k4-loss --set fault.loss.probability=0.3 --runs 500 --by splitting",
        &[],
    );
    check(
        "shards-rare-plain",
        "rare kleppmann/k1 --by plain --runs 100",
        &[],
    );
}

#[test]
fn the_shards_of_a_map_of_faults_join_to_the_whole() {
    check("shards-place", "place kleppmann/k1", &[]);
}

#[test]
fn the_shards_of_claims_join_to_the_whole() {
    // The page has the time that it took.
    check(
        "shards-reproduce",
        "reproduce --only R5 --quick",
        &["index.html"],
    );
}

/// One shard had time for fewer rounds than the other: those that both have count.
#[test]
fn shards_with_a_budget_join_in_whole_rounds() {
    let bench = Bench::new("shards-budget");
    let sweep = [
        "sweep",
        "kleppmann/k1",
        "--vary",
        "lock.ttl_ms=900",
        "--seeds",
        "16",
    ];
    for shard in ["1/2", "2/2"] {
        let part = || bench.locklab(&[&sweep[..], &["--shard", shard, "--budget", "1s"]].concat());
        // A busy machine may not end what was planned in a second: the command resumes.
        let mut parts = std::iter::repeat_with(part).take(30);
        let done = parts.find(|done| done.code != Some(3));
        let done = done.expect("thirty seconds are enough for eight runs");
        assert_eq!(done.code, Some(0), "{}", done.told());
    }
    let ledgers: Vec<String> = bench.files();
    let ledgers: Vec<&str> = ledgers.iter().map(String::as_str).collect();
    // Its header, the plan, the planned runs, and what it has of the first further round.
    let text = bench.read(ledgers[1]);
    let is_made = |line: &&str| !line.contains("\"complete\":");
    let shortened: String = text
        .lines()
        .filter(is_made)
        .take(4)
        .map(|line| format!("{line}\n"))
        .collect();
    std::fs::write(bench.folder.join(ledgers[1]), shortened).expect("it can be written");
    let merged = bench.locklab(&[&["merge", "--json"], &ledgers[..]].concat());
    assert_eq!(merged.code, Some(0), "{}", merged.told());
    let runs = merged.json()["runs_in_each_cell"].as_u64();
    // None of the further rounds on a machine that stood still, during either of them.
    let both = [bench.read(ledgers[0]), text].map(|text| text.contains("runs+1")) == [true; 2];
    assert!(runs == Some(18) || (runs == Some(16) && !both), "{runs:?}");
}

#[test]
fn what_is_not_all_of_one_work_is_refused() {
    let bench = Bench::new("shards-refused");
    let sweep = [
        "sweep",
        "kleppmann/k1",
        "--vary",
        "lock.ttl_ms=500,900",
        "--seeds",
    ];
    let shard = |seeds: &str, shard: &str, out: &str| {
        let options = [seeds, "--shard", shard, "--out", out];
        let done = bench.locklab(&[&sweep[..], &options].concat());
        assert_eq!(done.code, Some(0), "{}", done.told());
        let files = bench.files().into_iter();
        let mut ledgers = files.filter(|name| name.starts_with(out) && name.ends_with(".jsonl"));
        ledgers.next().expect("a ledger")
    };
    let (one, two) = (shard("4", "1/2", "one"), shard("4", "2/2", "two"));
    let (other, third) = (shard("5", "2/2", "other"), shard("4", "2/3", "third"));
    let refused = |ledgers: &[&str], told: &str| {
        let merged = bench.locklab(&[&["merge"], ledgers].concat());
        assert_eq!(merged.code, Some(1), "{}", merged.told());
        assert!(merged.err.contains(told), "{}", merged.told());
    };
    refused(&[&one], "shard 2/2 is missing");
    refused(&[&one, &other], "is of other work");
    refused(&[&one, &third], "is shard 1/2 and ");
    let name = |path: &str| bench.folder.join(path);
    let text = bench.read(&two);
    let edited = text.replacen("\"violated\":", "\"violated\":1", 1);
    assert_ne!(edited, text);
    std::fs::write(name(&two), edited).expect("it can be written");
    refused(&[&one, &two], "this line is damaged");
    // As if the shard was killed before its last part, and that it is complete.
    let lines: Vec<&str> = text.lines().collect();
    let fewer = lines[..lines.len() - 2].join("\n") + "\n";
    std::fs::write(name(&two), fewer).expect("it can be written");
    refused(&[&one, &two], "shard 2/2 is not finished");
    bench.write("no-ledger.jsonl", "{}\n");
    refused(&["no-ledger.jsonl"], "this is not a shard's ledger");
}
