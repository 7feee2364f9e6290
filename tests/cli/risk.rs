//! `locklab risk`: how often a lock fails in an environment.

use serde_json::Value;

use crate::bench::Bench;

const ASKED: [&str; 8] = [
    "risk", "--lease", "10s", "--work", "2s", "--runs", "300", "--quick",
];

#[test]
fn no_number_is_printed_without_lock_and_environment() {
    let bench = Bench::new("risk-text");
    let done = bench.locklab(&ASKED);
    assert_eq!(done.code, Some(0), "{}", done.told());
    let (about, rest) = done.out.split_once("\n\n").expect("two parts");
    for expected in [
        "set-nx-px, lease 10 s",
        "2 s",
        "once in 1 min",
        "jvm-on-vms",
    ] {
        assert!(about.contains(expected), "{}", done.told());
    }
    assert!(
        rest.contains("The resource is corrupted"),
        "{}",
        done.told()
    );
    assert!(rest.contains("a guess: how often"), "{}", done.told());
}

#[test]
fn causes_are_in_json_and_csv_with_their_sources() {
    let bench = Bench::new("risk-json");
    let done = bench.locklab(&[&ASKED[..], &["--json"]].concat());
    let answer: Value = serde_json::from_str(&done.out).expect("JSON");
    assert_eq!(answer["environment"], "jvm-on-vms");
    assert_eq!(answer["left_out"][0], "failover");
    let causes = answer["causes"].as_array().expect("a list");
    let done = bench.locklab(&[&ASKED[..], &["--format", "csv"]].concat());
    // A heading, and a row for each of two properties.
    assert_eq!(
        done.out.lines().count(),
        1 + 2 * causes.len(),
        "{}",
        done.told()
    );
    assert!(done.out.contains("VEE 2018"), "{}", done.told());
}

#[test]
fn everything_is_said_unless_it_has_to_be_quick() {
    let bench = Bench::new("risk-all");
    let pauses = "title = \"T\"\n[network]\nlatency_ms = 2\nguess = \"g\"\n[cause.gc]\ntitle = \"a pause\"\n\
                  fault = \"pause\"\non = [\"client\"]\nevery = \"10 s\"\nduration_ms = { exponential = 4000 }\n\
                  guess = [\"how often\"]\nwhy = \"w\"\n";
    bench.write("ours.toml", pauses);
    let done = bench.locklab(&[
        "risk",
        "--lease",
        "10s",
        "--work",
        "2s",
        "--runs",
        "800",
        "--contended",
        "--environment",
        "ours.toml",
    ]);
    let told = done.in_one_line();
    assert_eq!(done.code, Some(0), "{}", done.told());
    for expected in [
        "All causes together: the resource is corrupted",
        "What would change the number of corruptions most:",
        "a fencing token, which the resource compares none in these runs",
        "gc 10 times as often (a guess) 10 times as many",
        "another client always waits",
    ] {
        assert!(told.contains(expected), "{expected}: {}", done.told());
    }
}

#[test]
fn a_mistake_says_what_to_write() {
    let bench = Bench::new("risk-refused");
    for (options, expected) in [
        (&["--lease", "10", "--work", "2s"][..], "such as 500ms"),
        (
            &["--lease", "10s", "--work", "{ exponential = -1 }"],
            "cannot be negative",
        ),
        (
            &["--lease", "10s", "--work", "2s", "--environment", "jvm"],
            "list environments",
        ),
        (
            &["set-nx-p", "--lease", "10s", "--work", "2s"],
            "did you mean \"set-nx-px\"?",
        ),
        (
            &[
                "--lease",
                "10s",
                "--work",
                "2s",
                "--set",
                "environment.cause.gc.every=5",
            ],
            "such as \"10 min\"",
        ),
        (
            &["--lease", "10s", "--work", "2s", "--set", "lock.tll_ms=5"],
            "did you mean \"ttl_ms\"?",
        ),
    ] {
        let done = bench.locklab(&[&["risk"], options].concat());
        assert_eq!(done.code, Some(1), "{options:?}: {}", done.told());
        assert!(
            done.in_one_line().contains(expected),
            "{options:?}: {}",
            done.told()
        );
    }
}

#[test]
fn environments_are_listed() {
    let bench = Bench::new("risk-list");
    let done = bench.locklab(&["list", "environments"]);
    assert_eq!(done.code, Some(0), "{}", done.told());
    for name in ["jvm-on-vms", "go-on-bare-metal", "functions"] {
        assert!(done.out.contains(name), "{}", done.told());
    }
}
