//! `locklab risk`: how often a lock fails in an environment.

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::bench::Bench;

const ASKED: [&str; 8] = [
    "risk", "--lease", "10s", "--work", "2s", "--runs", "300", "--quick",
];

/// An environment in which clients pause, so often and for so many milliseconds on average.
fn pauses(every: &str, mean_ms: u64) -> String {
    format!(
        "title = \"T\"\n[network]\nlatency_ms = 2\nguess = \"g\"\n[cause.gc]\ntitle = \"a pause\"\n\
         fault = \"pause\"\non = [\"client\"]\nevery = \"{every}\"\nduration_ms = {{ exponential = {mean_ms} }}\n\
         guess = [\"how often\"]\nwhy = \"w\"\n"
    )
}

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
    let csv = bench.read("target/locklab/risk/jvm-on-vms/risk.csv");
    // A heading, and a row for each of two properties.
    assert_eq!(csv.lines().count(), 1 + 2 * causes.len(), "{csv}");
    assert!(csv.contains("VEE 2018"), "{csv}");
}

/// What no run shows is not printed as if it happened.
#[test]
fn property_that_no_run_violates_has_a_bound_that_says_what_it_is() {
    let bench = Bench::new("risk-bound");
    bench.write("ours.toml", &pauses("1 h", 3000));
    let asked = [
        "risk",
        "set-nx-px (with token)",
        "--work",
        "2s",
        "--contended",
    ];
    let runs = ["--environment", "ours.toml", "--runs", "200"];
    let one = [&asked[..], &["--lease", "10s", "--quick"], &runs].concat();
    let done = bench.locklab(&one);
    let told = done.in_one_line();
    for expected in [
        "The resource is corrupted in none of the runs.",
        "says how few runs there are, and nothing about the lock",
        "comes from the 200 runs of",
        "Grants that nothing strikes are not in it",
        "to a tenth with --runs 2000",
        "none (≤ ",
    ] {
        assert!(told.contains(expected), "{expected}: {}", done.told());
    }
    let answer = bench.locklab(&[&one[..], &["--json"]].concat()).json();
    let bound = &answer["bounds"]["resource"];
    assert_eq!(bound["runs"], 200, "{answer}");
    let chances = bound["chances"].as_u64();
    assert!(chances.is_some_and(|it| it > 100), "{answer}");
    assert_eq!(bound["undisturbed"]["runs"], 200, "{answer}");
    let not_excluded = &answer["violations"]["resource"]["per_year"]["not_excluded"];
    let [bound, not_excluded] =
        [&bound["per_year"], not_excluded].map(|it| it.as_f64().expect("a number"));
    assert!((bound / not_excluded - 1.0).abs() < 1e-9, "{answer}");
    let leases = bench.locklab(&[&asked[..], &["--leases", "5s,10s"], &runs].concat());
    let told = leases.in_one_line();
    let expected = "The number after ≤ is no estimate, and no reason to prefer another lock.";
    assert!(told.contains(expected), "{}", leases.told());
    let markdown = bench.read("target/locklab/risk/ours.toml/leases.md");
    assert!(markdown.contains(expected), "{markdown}");
}

/// A machine that was recorded with short pauses has an answer, and what it would take.
#[test]
fn pauses_that_fit_within_the_lease_are_excluded_by_their_sum() {
    let bench = Bench::new("risk-excluded");
    let exponential = "{ exponential = 3000 }";
    let text = pauses("1 min", 3000).replace(exponential, "{ values = [1, 4] }");
    bench.write("measured.toml", &text);
    let of = |lease: &[&str]| {
        let asked = [
            "risk",
            "--work",
            "2s",
            "--runs",
            "100",
            "--environment",
            "measured.toml",
        ];
        let done = bench.locklab(&[&asked[..], lease].concat());
        assert_eq!(done.code, Some(0), "{}", done.told());
        done.in_one_line()
    };
    let excluded = of(&["--lease", "10s", "--quick"]);
    for expected in [
        "No fault that strikes once can do it",
        "none (excluded)",
        "gc cannot: its longest, 4 ms, the longest work, 2 s, and the messages, 20 ms, are less than the lease of 10 s. \
         It would have to last 8 s.",
    ] {
        assert!(excluded.contains(expected), "{excluded}");
    }
    assert!(!of(&["--lease", "2s", "--quick"]).contains("excluded"));
    let several = of(&["--leases", "2s,10s"]);
    let expected = "none without a number: arithmetic excludes it for each cause. The sums: locklab risk 'set-nx-px' \
                    --lease '10 s' with the same options.";
    assert!(several.contains(expected), "{several}");
}

#[test]
fn more_work_than_a_lock_can_do_is_refused_with_what_is_possible() {
    let bench = Bench::new("risk-load");
    let asked = |more: &[&str]| bench.locklab(&[&ASKED[..], &["--every", "10ms"], more].concat());
    let refused = asked(&[]);
    assert_eq!(refused.code, Some(1), "{}", refused.told());
    let expected = "work of 2 s once in 10 ms is more than one lock can do with one holder at a time; ask at most \
                    once in 2 s, or write --keys 201 if there are as many locks";
    assert!(
        refused.in_one_line().contains(expected),
        "{}",
        refused.told()
    );
    let many = asked(&["--keys", "5000"]);
    assert_eq!(many.code, Some(0), "{}", many.told());
    let expected = "once in 10 ms over 5,000 locks, each once in 50 s, 3,155,760,000 grants a year";
    assert!(many.in_one_line().contains(expected), "{}", many.told());
}

/// The numbers of an environment stand beside the answer, each with where it comes from.
#[test]
fn sources_of_an_environment_are_a_table() {
    let bench = Bench::new("risk-sources");
    let done = bench.locklab(&[&ASKED[..], &["--json"]].concat());
    let markdown = bench.read("target/locklab/risk/jvm-on-vms/sources.md");
    for expected in [
        "of 25 numbers published",
        "| cause.migration.every | 1 month | a guess | Ruprecht",
        "| cause.migration.duration_ms | { quantiles = { p50 = 50.0, p99 = 300.0 } } | published | Ruprecht",
    ] {
        assert!(markdown.contains(expected), "{expected}: {markdown}");
    }
    let parameters = done.json()["parameters"].as_array().expect("a list").len();
    let csv = bench.read("target/locklab/risk/jvm-on-vms/sources.csv");
    assert_eq!((parameters, csv.lines().count()), (25, 26), "{csv}");
}

#[test]
fn several_leases_and_locks_are_a_table_and_a_chart() {
    let bench = Bench::new("risk-leases");
    let leases = [
        "--leases",
        "5s,500ms",
        "--work",
        "400ms",
        "--runs",
        "300",
        "--contended",
    ];
    let locks = ["risk", "set-nx-px", "getset", "--environment", "ours.toml"];
    bench.write("ours.toml", &pauses("1 h", 500));
    let done = bench.locklab(&[&locks[..], &leases].concat());
    assert_eq!(done.code, Some(0), "{}", done.told());
    let told = done.in_one_line();
    for expected in [
        "In ours.toml (T)",
        "set-nx-px, 500 ms",
        "getset, 5 s",
        "leases.svg",
    ] {
        assert!(told.contains(expected), "{expected}: {}", done.told());
    }
    let csv = bench.read("target/locklab/risk/ours.toml/leases.csv");
    let per_year = |lease: &str| {
        let begins = |line: &&str| line.contains(&format!(",set-nx-px,{lease},lease,resource,"));
        let row = csv.lines().find(begins).expect("a row");
        let mean = row.split(',').nth(6).expect("a mean");
        mean.parse::<f64>().expect("a number")
    };
    // Of exponential pauses with a mean of 0.5 s, e^9 times as many last 0.5 s as last 5 s.
    assert!(per_year("500") > 100.0 * per_year("5000"), "{csv}");
    let one = [
        "risk",
        "--lease",
        "500ms",
        "--work",
        "400ms",
        "--runs",
        "300",
        "--contended",
        "--quick",
    ];
    let done = bench.locklab(&[&one[..], &["--environment", "ours.toml", "--json"]].concat());
    let alone: Value = serde_json::from_str(&done.out).expect("JSON");
    let alone = &alone["violations"]["resource"]["per_year"]["mean"];
    assert_eq!(alone.as_f64(), Some(per_year("500")), "{}", done.told());
    assert!(
        bench
            .read("target/locklab/risk/ours.toml/leases.svg")
            .contains("lease (s)")
    );
    let done = bench.locklab(
        &[&[
            "risk",
            "set-nx-px",
            "getset",
            "--lease",
            "5s",
            "--work",
            "1s",
        ][..]]
        .concat(),
    );
    assert_eq!(done.code, Some(1), "{}", done.told());
    assert!(done.told().contains("write --leases"), "{}", done.told());
}

#[test]
fn everything_is_said_unless_it_has_to_be_quick() {
    let bench = Bench::new("risk-all");
    bench.write("ours.toml", &pauses("10 s", 4000));
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
fn an_interrupted_answer_is_resumed_and_is_that_of_the_whole() {
    let bench = Bench::new("risk-interrupted");
    bench.write("ours.toml", &pauses("1 h", 3000));
    let asked = [
        "risk",
        "--lease",
        "10s",
        "--work",
        "2s",
        "--contended",
        "--environment",
        "ours.toml",
        "--runs",
        "4000",
        "--quick",
        "--json",
    ];
    let interrupted = bench.interrupt(&[&asked[..], &["--jobs", "1"]].concat(), Signal::SIGINT);
    assert_eq!(interrupted.code, Some(130), "{}", interrupted.told());
    // Causes without runs would bring nothing.
    assert_eq!(interrupted.out, "", "{}", interrupted.told());
    let advice = "runs; run it again to resume";
    assert!(interrupted.err.contains(advice), "{}", interrupted.told());
    let resumed = bench.locklab(&asked);
    assert_eq!(resumed.code, Some(0), "{}", resumed.told());
    let told = &resumed.err;
    assert!(told.contains("runs were already done"), "{told}");
    let whole = bench.locklab(&[&asked[..], &["--fresh", "--jobs", "3"]].concat());
    assert!(!whole.err.contains("already done"), "{}", whole.told());
    assert_eq!(resumed.out, whole.out);
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
            &["redlock+replica", "--lease", "10s", "--work", "2s"],
            "leave out +replica",
        ),
        (
            &["setnx", "--lease", "10s", "--work", "2s"],
            "it has no lease",
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
