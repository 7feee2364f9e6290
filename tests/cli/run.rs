//! `locklab run`: verdicts, evidence, exit codes.

use insta::assert_snapshot;
use nix::sys::signal::Signal;

use crate::bench::Bench;

#[test]
fn a_small_run_as_text_and_as_data() {
    let bench = Bench::new("small-run");
    let text = bench.locklab(&["run", "kleppmann/k1", "--seeds", "0..3"]);
    assert_snapshot!("run_text", text.told());
    let data = bench.locklab(&["run", "kleppmann/k1", "--seeds", "0..3", "--json"]);
    assert_snapshot!("run_json", data.out);
}

/// What was run with other parameters lies in another folder.
#[test]
fn overrides_have_a_folder_of_their_own() {
    let bench = Bench::new("overrides");
    for set in ["lock.ttl_ms=500", "lock.ttl_ms=900"] {
        let run = bench.locklab(&[
            "run",
            "kleppmann/k1",
            "--seed",
            "0",
            "--set",
            set,
            "--per-run",
        ]);
        assert_eq!(run.code, Some(3), "{}", run.told());
    }
    let plain = bench.locklab(&["run", "kleppmann/k1", "--seed", "0"]);
    assert_eq!(plain.code, Some(3), "{}", plain.told());
    let files = bench.files();
    let recordings: Vec<&String> = files
        .iter()
        .filter(|f| f.ends_with("seed-0.jsonl"))
        .collect();
    assert_eq!(recordings.len(), 3, "{files:?}");
    assert_eq!(
        files.iter().filter(|f| f.ends_with("/results.csv")).count(),
        3
    );
    assert_eq!(files.iter().filter(|f| f.ends_with("/runs.csv")).count(), 2);
    // A replay knows the overrides, and so the folder.
    let replayed = bench.locklab(&["replay", recordings[1]]);
    assert_eq!(replayed.code, Some(0), "{}", replayed.told());
    let folder = recordings[1].split('/').rev().nth(1).expect("a folder");
    let svg = bench.read(&format!("target/locklab/{folder}/replay-seed-0.svg"));
    assert!(svg.contains(", with lock.ttl_ms="), "{svg}");
}

#[test]
fn the_number_of_threads_shows_in_nothing() {
    let bench = Bench::new("threads");
    let run = |jobs| {
        let seeds = ["--seeds", "0..100", "--jobs", jobs, "--json"];
        bench.locklab(
            &[
                &["run", "kleppmann/k5", "redis-docs/r5-compared"],
                &seeds[..],
            ]
            .concat(),
        )
    };
    let (one, two, five) = (run("1"), run("2"), run("5"));
    assert_eq!(one.json()["results"][0]["runs"], 100);
    assert_eq!(one.told(), two.told());
    assert_eq!(one.told(), five.told());
}

#[test]
fn every_violation_ends_with_a_line_that_replays_it() {
    let bench = Bench::new("pasted line");
    let out = "my results";
    let run = bench.locklab(&["run", "redis-docs/r5", "--seeds", "0..5", "--out", out]);
    assert_eq!(run.code, Some(3), "{}", run.told());
    let blocks: Vec<&str> = run
        .out
        .split("\n\n")
        .skip(1)
        .filter(|b| !b.is_empty())
        .collect();
    assert!(!blocks.is_empty(), "{}", run.out);
    for block in blocks {
        let mut lines = block.lines();
        let line = lines.find_map(|line| line.trim_start().strip_prefix("replay "));
        let line = line.expect(block);
        let mut shell = std::process::Command::new("sh");
        let pasted = shell
            .args(["-c", line])
            .current_dir(&bench.folder)
            .output()
            .expect("sh");
        let told = String::from_utf8_lossy(&pasted.stdout).into_owned();
        assert_eq!(pasted.status.code(), Some(0), "{line}\n{told}");
        assert!(told.contains("the same run, byte for byte"), "{told}");
    }
}

/// The exit code of K1 with other predictions.
fn exit_with(expect: &str, set: &str) -> Option<i32> {
    let bench = Bench::new(&format!("exit-{expect}-{set}"));
    let scenario = format!(
        "title = \"Mine\"\n[lock]\nname = \"set-nx-px\"\nttl_ms = 1000\n[workload]\nhold_ms = 20\n\
         [fault.gc]\nkind = \"pause\"\non = \"c1\"\nafter = \"c1 read\"\nduration_ms = 1500\n\
         [expect]\n{expect}\n"
    );
    bench.write("mine.toml", &scenario);
    bench
        .locklab(&["run", "mine.toml", "--seeds", "0..80", "--set", set])
        .code
}

#[test]
fn exit_codes() {
    let nothing = "horizon_ms=60000";
    assert_eq!(exit_with("resource = \"violated\"", nothing), Some(0));
    assert_eq!(exit_with("resource = \"holds\"", nothing), Some(2));
    // A violation without a prediction.
    assert_eq!(exit_with("lease = \"holds\"", nothing), Some(2));
    // No prediction and no violation.
    assert_eq!(exit_with("", "fault.gc.duration_ms=100"), Some(0));
    // A violation is predicted and none occurs: that refutes a rate, but not a mere
    // possibility.
    let often = "resource = { verdict = \"violated\", rate = [0.2, 0.8] }";
    assert_eq!(exit_with(often, nothing), Some(0));
    assert_eq!(exit_with(often, "fault.gc.duration_ms=100"), Some(2));
    assert_eq!(
        exit_with("lease = \"violated\"", "fault.gc.duration_ms=100"),
        Some(3)
    );
    // The prediction needs more than eighty runs to be confirmed.
    let never = "lease = { verdict = \"holds\", at_most = 0.01 }\nresource = \"violated\"";
    assert_eq!(exit_with(never, nothing), Some(3));
    // The fault comes after the end of the run.
    assert_eq!(
        exit_with("lease = \"holds\"", "fault.gc.delay_ms=60000"),
        Some(3)
    );
}

#[test]
fn what_could_not_be_judged_says_why() {
    let bench = Bench::new("inconclusive");
    let set = ["--set", "fault.gc.delay_ms=60000"];
    let run = bench.locklab(&[&["run", "kleppmann/k1", "--seeds", "0..2"], &set[..]].concat());
    assert_snapshot!("run_inconclusive", run.told());
}

#[test]
fn twice_compares_every_event() {
    let bench = Bench::new("twice");
    let twice = ["--twice", "--seeds", "0..1", "--on", "world", "--json"];
    let done = bench.locklab(&[&["run", "--all"], &twice[..]].concat());
    assert_eq!(done.code, Some(0), "{}", done.told());
    assert!(
        done.err.ends_with("each twice: every event identical\n"),
        "{}",
        done.err
    );
    assert_eq!(done.json()["differences"], serde_json::json!([]));
    // The command compares and writes no file.
    assert_eq!(bench.files(), [""; 0]);
}

#[test]
fn what_ctrl_c_leaves_of_a_run_is_told_and_need_not_be_run_again() {
    let seeds = ["run", "kleppmann/k1", "--seeds", "0..9000"];
    let bench = Bench::new("run-interrupted");
    let interrupted = bench.interrupt(&seeds, Signal::SIGINT);
    assert_eq!(interrupted.code, Some(130), "{}", interrupted.told());
    let told = &interrupted.err;
    assert!(
        told.contains(" of 9,000 runs; run it again to resume"),
        "{told}"
    );
    assert!(interrupted.out.contains("resource"), "{}", interrupted.out);
    let resumed = bench.locklab(&[&seeds[..], &["--json"]].concat());
    assert_eq!(resumed.code, Some(0), "{}", resumed.told());
    assert!(
        resumed.err.contains("runs were already done"),
        "{}",
        resumed.err
    );
    let whole = Bench::new("run-uninterrupted");
    let whole = whole.locklab(&[&seeds[..], &["--json"]].concat());
    assert_eq!(resumed.out, whole.out);
}

#[test]
fn what_relies_on_tokens_is_told_how_to_strike_it_elsewhere() {
    let bench = Bench::new("run-fenced");
    let fenced = bench.locklab(&["run", "kleppmann/k5", "--seeds", "10"]);
    assert!(
        fenced.told().contains(" place kleppmann/k5"),
        "{}",
        fenced.told()
    );
    // With another resource it is another question, and nothing is predicted.
    let sets = [
        "run",
        "kleppmann/k5",
        "--seeds",
        "10",
        "--set",
        "resource.fencing=none",
    ];
    for other in [&sets[..], &["run", "kleppmann/k1", "--seeds", "10"]] {
        let told = bench.locklab(other).told();
        assert!(!told.contains(" place "), "{told}");
    }
}
