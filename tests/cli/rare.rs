//! `locklab rare`: rates of rare violations.

use serde_json::Value;

use crate::bench::Bench;

const MEAN: &str = "fault.gc.duration_ms.exponential=150";

#[test]
fn the_same_seed_prints_the_same_on_any_number_of_threads() {
    let bench = Bench::new("rare-jobs");
    let rare = |scenario, set, jobs| {
        let done = bench.locklab(&[
            "rare", scenario, "--set", set, "--runs", "3000", "--jobs", jobs,
        ]);
        (done.code, done.out)
    };
    for (scenario, set) in [
        ("kleppmann/k1-exponential", MEAN),
        ("kleppmann/k4-loss", "fault.loss.probability=0.2"),
    ] {
        let (code, out) = rare(scenario, set, "1");
        assert_eq!(code, Some(0), "{out}");
        assert_eq!(rare(scenario, set, "3"), (code, out));
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
