//! `--budget`: how many runs there are depends on the machine, and the result is that of as many runs.

use crate::bench::Bench;

#[test]
fn a_budget_makes_more_runs_of_a_check() {
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
}

/// However many rounds there was time for, the result is that of as many runs without a budget.
#[test]
fn a_budget_makes_further_runs_of_the_same_series() {
    let bench = Bench::new("rare-budget");
    let asked = [
        "study",
        "rare",
        "kleppmann/k1-exponential",
        "--set",
        "fault.gc.duration_ms.exponential=150",
        "--json",
    ];
    let within = |options: &[&str]| bench.locklab(&[&asked[..], options].concat());
    // On a machine that stands still the first round may take longer; it is resumed.
    let mut attempts = std::iter::repeat_with(|| within(&["--runs", "100", "--budget", "1s"]));
    let budget = attempts.find(|done| !done.out.is_empty());
    let budget = budget.expect("each attempt goes further");
    let mut found = budget.json();
    let runs = found["runs"].as_u64().expect("a number");
    assert!(runs >= 100, "{}", budget.told());
    let csv = bench.files().into_iter();
    let csv: Vec<String> = csv.filter(|name| name.ends_with("rare.csv")).collect();
    assert!(
        bench.read(&csv[0]).contains(",resource,sampling,0,"),
        "{csv:?}"
    );
    let alike = within(&["--runs", &runs.to_string()]).json();
    assert_eq!(found.take(), alike);
}

/// One shard had time for fewer rounds than the other: those that both have count.
#[test]
fn shards_with_a_budget_join_in_whole_rounds() {
    let bench = Bench::new("shards-budget");
    let sweep = [
        "study",
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
    let merged = bench.locklab(&[&["shards", "merge", "--json"], &ledgers[..]].concat());
    assert_eq!(merged.code, Some(0), "{}", merged.told());
    let runs = merged.json()["runs_in_each_cell"].as_u64();
    // None of the further rounds on a machine that stood still, during either of them.
    let both = [bench.read(ledgers[0]), text].map(|text| text.contains("runs+1")) == [true; 2];
    assert!(runs == Some(18) || (runs == Some(16) && !both), "{runs:?}");
}
