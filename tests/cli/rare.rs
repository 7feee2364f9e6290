//! `locklab rare`: rates of rare violations.

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::bench::Bench;

const MEAN: &str = "fault.gc.duration_ms.exponential=150";

#[test]
fn the_same_seed_prints_the_same_on_any_number_of_threads() {
    let bench = Bench::new("rare-jobs");
    let rare = |scenario, set, runs, jobs| {
        let done = bench.locklab(&[
            "rare", scenario, "--set", set, "--runs", runs, "--jobs", jobs,
        ]);
        (done.code, done.out)
    };
    for (scenario, set, runs) in [
        ("kleppmann/k1-exponential", MEAN, "2000"),
        ("kleppmann/k4-loss", "fault.loss.probability=0.2", "1000"),
    ] {
        let (code, out) = rare(scenario, set, runs, "1");
        assert_eq!(code, Some(0), "{out}");
        assert_eq!(rare(scenario, set, runs, "3"), (code, out));
    }
}

#[test]
fn too_few_runs_are_inconclusive() {
    let bench = Bench::new("rare-few");
    let few = ["kleppmann/k1-exponential", "--set", MEAN, "--runs", "100"];
    let done = bench.locklab(&[&["rare"], &few[..]].concat());
    assert_eq!(done.code, Some(3), "{}", done.told());
    assert!(done.out.contains("inconclusive"), "{}", done.told());
    let done = bench.locklab(&[&["rare", "--json"], &few[..]].concat());
    let found: Value = serde_json::from_str(&done.out).expect("JSON");
    assert_eq!(found["interval"], Value::Null);
    assert_eq!(found["method"], "sampling");
}

#[test]
fn a_method_that_cannot_help_is_refused() {
    let bench = Bench::new("rare-refused");
    let done = bench.locklab(&["rare", "kleppmann/k10", "--by", "sampling"]);
    assert_eq!(done.code, Some(1), "{}", done.told());
    assert!(
        done.in_one_line().contains("write --by splitting"),
        "{}",
        done.told()
    );
    let done = bench.locklab(&[
        "rare",
        "kleppmann/k1-exponential",
        "--property",
        "foreign-release",
        "--runs",
        "100",
    ]);
    assert_eq!(done.code, Some(3), "{}", done.told());
    assert!(
        done.in_one_line().contains("try --by splitting"),
        "{}",
        done.told()
    );
}

#[test]
fn an_interrupted_rate_is_resumed_and_is_that_of_the_whole() {
    for (name, asked) in [
        (
            "sampling",
            &[
                "rare",
                "kleppmann/k1-exponential",
                "--set",
                MEAN,
                "--runs",
                "6000",
            ][..],
        ),
        (
            "splitting",
            &[
                "rare",
                "kleppmann/k4-loss",
                "--set",
                "fault.loss.probability=0.3",
                "--runs",
                "1000",
            ],
        ),
    ] {
        let bench = Bench::new(&format!("rare-interrupted-{name}"));
        let interrupted = bench.interrupt(&[asked, &["--jobs", "1"]].concat(), Signal::SIGINT);
        assert_eq!(interrupted.code, Some(130), "{}", interrupted.told());
        // A rate of some of the runs is not what was asked for.
        assert_eq!(interrupted.out, "", "{}", interrupted.told());
        let advice = format!(" of {} runs; run it again to resume", asked[5]);
        let told = interrupted.err.replace(',', "");
        assert!(told.contains(&advice), "{}", interrupted.told());
        let resumed = bench.locklab(asked);
        assert_eq!(resumed.code, Some(0), "{}", resumed.told());
        assert!(resumed.err.contains("already done"), "{}", resumed.told());
        let whole = bench.locklab(&[asked, &["--fresh", "--jobs", "3"]].concat());
        assert!(!whole.err.contains("already done"), "{}", whole.told());
        assert_eq!(resumed.out, whole.out);
    }
}

#[test]
fn runs_of_another_method_are_not_resumed() {
    let bench = Bench::new("rare-other");
    let asked = [
        "rare",
        "kleppmann/k1-exponential",
        "--set",
        MEAN,
        "--runs",
        "1500",
    ];
    let interrupted = bench.interrupt(&[&asked[..], &["--jobs", "1"]].concat(), Signal::SIGINT);
    assert_eq!(interrupted.code, Some(130), "{}", interrupted.told());
    let plain = bench.locklab(&[&asked[..], &["--by", "plain"]].concat());
    assert!(!plain.err.contains("already done"), "{}", plain.told());
}

/// However many rounds there was time for, the result is that of as many runs without a budget.
#[test]
fn a_budget_makes_further_runs_of_the_same_series() {
    let bench = Bench::new("rare-budget");
    let asked = ["rare", "kleppmann/k1-exponential", "--set", MEAN, "--json"];
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

/// During the further runs of a budget everything that was asked for is made already.
#[test]
fn an_interrupted_budget_has_a_rate() {
    let bench = Bench::new("rare-interrupted-budget");
    let asked = [
        "rare",
        "kleppmann/k1-exponential",
        "--set",
        MEAN,
        "--by",
        "plain",
        "--runs",
        "100",
    ];
    let budget = ["--budget", "1h", "--jobs", "1"];
    let interrupted = bench.interrupt(&[&asked[..], &budget].concat(), Signal::SIGINT);
    assert_eq!(interrupted.code, Some(130), "{}", interrupted.told());
    assert!(
        interrupted.out.contains("  rate    "),
        "{}",
        interrupted.told()
    );
}
