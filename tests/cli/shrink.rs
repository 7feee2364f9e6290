//! `locklab shrink`: the smallest scenario of a run, its files, and what is said of them.

use insta::assert_snapshot;

use crate::bench::Bench;

const SHRUNK: &str = "target/locklab/kleppmann-k10/shrunk.toml";

#[test]
fn scenario_that_is_left_stands_alone_and_is_as_predicted() {
    let bench = Bench::new("shrink");
    let shrunk = bench.locklab(&["shrink", "kleppmann/k10", "--seed", "0", "--format", "svg"]);
    assert_eq!(shrunk.code, Some(0), "{}", shrunk.told());
    assert_snapshot!("shrink_text", shrunk.printed());
    assert_snapshot!("shrink_toml", bench.read(SHRUNK));
    let again = bench.locklab(&["run", SHRUNK, "--format", "svg"]);
    assert_eq!(again.code, Some(0), "{}", again.told());
    let replayed = bench.locklab(&["replay", "target/locklab/kleppmann-k10/shrunk.jsonl"]);
    assert_eq!(replayed.code, Some(0), "{}", replayed.told());
}

#[test]
fn recording_is_shrunk_like_its_scenario() {
    let bench = Bench::new("shrink-recording");
    bench.locklab(&["run", "kleppmann/k10", "--seed", "0"]);
    let recording = "target/locklab/kleppmann-k10/seed-0.jsonl";
    let json = |run: &[&str]| {
        let words = [&["shrink"], run, &["--property", "lease", "--json"]].concat();
        let mut json = bench.locklab(&words).json();
        // The recording has all faults as constants already.
        json["before"] = 0.into();
        json
    };
    let from_scenario = json(&["kleppmann/k10", "--seed", "0"]);
    assert_eq!(json(&[recording]), from_scenario);
    assert_eq!(from_scenario["needed"][1]["fault"], "cut-c2");
    assert_eq!(from_scenario["needed"][1]["verdict"], "violated");
    assert_eq!(from_scenario["after"]["faults"], 2);
}

#[test]
fn page_of_a_run_says_which_faults_it_needed() {
    let bench = Bench::new("shrink-view");
    bench.locklab(&["view", "kleppmann/k10", "--seed", "0", "--out", "k10.html"]);
    let page = bench.read("k10.html");
    let needed = r#""without":{"property":"lease","faults":[{"fault":"cut-c1","kind":"partition","verdict":"holds","needed":true}"#;
    assert!(page.contains(needed));
}

#[test]
fn run_that_violates_nothing_is_refused() {
    let bench = Bench::new("shrink-nothing");
    let told = |words: &[&str]| {
        let done = bench.locklab(&[&["shrink"], words].concat());
        assert_eq!(done.code, Some(1), "{}", done.told());
        done.err
    };
    assert_snapshot!(
        "shrink_refused",
        [
            told(&["kleppmann/k13"]),
            told(&["kleppmann/k1", "--seed", "0", "--property", "lease"]),
            told(&["kleppmann/k1", "--property", "leas"]),
            told(&["nothing.jsonl"]),
        ]
        .join("\n")
    );
}

#[test]
fn failed_check_is_shrunk_into_a_regression_that_fails() {
    let bench = Bench::new("shrink-check");
    let safe = "title = \"Our lock\"\n[lock]\nname = \"set-nx-px\"\nttl_ms = 1000\n\
        [workload]\nhold_ms = 20\n[workload.client.c2]\nstart_ms = { uniform = [20, 200] }\n\
        [fault.gc]\nkind = \"pause\"\non = \"c1\"\nafter = \"c1 read\"\nduration_ms = 1500\n\
        [expect]\nresource = \"holds\"\n";
    bench.write("safe.toml", safe);
    let checked = bench.locklab(&["check", "safe.toml", "--shrink", "--format", "svg"]);
    assert_eq!(checked.code, Some(2), "{}", checked.told());
    let regression = "target/locklab/check/regressions/safe.toml-resource.toml";
    assert!(checked.out.contains(regression), "{}", checked.out);
    assert!(
        bench
            .read("target/locklab/check/check.md")
            .contains("smallest: 1 fault")
    );
    let again = bench.locklab(&["check", regression, "--format", "svg"]);
    assert_eq!(again.code, Some(2), "{}", again.told());
}
