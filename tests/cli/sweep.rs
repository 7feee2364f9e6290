//! `locklab sweep`: grids, intermediate results, Ctrl-C, and resuming.

use insta::assert_snapshot;
use nix::sys::signal::Signal;

use crate::bench::{Bench, Done};

const SMALL: [&str; 8] = [
    "sweep",
    "kleppmann/k1",
    "--vary",
    "fault.gc.duration_ms=500,1500",
    "--vary",
    "workload.hold_ms=20..40/1",
    "--seeds",
    "5",
];

#[test]
fn a_small_sweep_as_text_and_files() {
    let bench = Bench::new("small-sweep");
    let sweep = bench.locklab(&SMALL);
    assert_snapshot!("sweep_text", sweep.told());
    let results = only(&bench, ".json");
    let data = bench.locklab(&[&SMALL[..], &["--json"]].concat());
    assert_eq!(data.out, bench.read(&results) + "\n");
    assert_eq!(data.json()["cells"].as_array().map(Vec::len), Some(4));
    for ending in [".svg", ".jsonl", ".csv"] {
        only(&bench, ending);
    }
    assert_eq!(bench.files().len(), 4, "{:?}", bench.files());
    assert_eq!(data.json()["format"], 1);
}

/// The runs of a resumed sweep are those of an uninterrupted one, and they explain its counts.
#[test]
fn every_run_has_its_row() {
    let bench = Bench::new("per-run");
    let arguments = [&SMALL[..], &["--per-run", "--set", "lock.ttl_ms=900"]].concat();
    let sweep = bench.locklab(&arguments);
    assert_eq!(sweep.code, Some(0), "{}", sweep.told());
    let runs = bench.read(&only(&bench, ".runs.csv"));
    let mut rows = runs.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let columns = rows.next().expect("a heading");
    let rows: Vec<Vec<&str>> = rows.collect();
    // Four cells of five runs.
    assert_eq!(rows.len(), 20, "{runs}");
    let column = |name: &str| {
        columns
            .iter()
            .position(|column| *column == name)
            .expect(name)
    };
    let (pause, verdict) = (column("fault.gc.duration_ms"), column("resource"));
    let (at, began) = (column("first_violation_ms"), column("faults_began"));
    for row in &rows {
        assert_eq!(row[column("lock.ttl_ms")], "900");
        assert!(row[began].starts_with("gc="), "{row:?}");
        assert_eq!(row[verdict] == "violated", row[pause] == "1500", "{row:?}");
        assert_eq!(row[at].is_empty(), row[pause] == "500", "{row:?}");
    }
    let again = bench.locklab(&arguments);
    assert!(
        again.err.contains("20 of 20 runs were already done"),
        "{}",
        again.err
    );
    assert_eq!(bench.read(&only(&bench, ".runs.csv")), runs);
    // Without the rows there is nothing to continue from, and the other way round.
    let without = bench.locklab(&arguments[..8]);
    assert!(!without.err.contains("already done"), "{}", without.err);
}

#[test]
fn pictures_come_in_the_formats_asked_for() {
    let bench = Bench::new("formats");
    let sweep = bench.locklab(&[&SMALL[..], &["--format", "pdf,svg"]].concat());
    assert_eq!(sweep.code, Some(0), "{}", sweep.told());
    let (pdf, svg) = (only(&bench, ".pdf"), bench.read(&only(&bench, ".svg")));
    let bytes = std::fs::read(bench.folder.join(pdf)).expect("it was written");
    assert!(bytes.starts_with(b"%PDF-1."));
    assert!(!bench.files().iter().any(|file| file.ends_with(".png")));
    let line = "Locklab 0.1.0 · kleppmann/k1 · seeds 0..5 in each cell · simulated world";
    // In the description, in the foot, and not elsewhere.
    assert_eq!(svg.matches(line).count(), 2, "{svg}");
}

#[test]
fn cells_share_their_seeds_unless_they_are_to_be_independent() {
    let bench = Bench::new("independent");
    let common = bench.locklab(&[&SMALL[..], &["--json"]].concat()).json();
    assert_eq!(common["common_random_numbers"], true);
    let independent = [&SMALL[..], &["--independent-seeds", "--json"]].concat();
    let independent = bench.locklab(&independent).json();
    assert_eq!(independent["common_random_numbers"], false);
    let fingerprint = |sweep: &serde_json::Value, cell: usize| {
        sweep["cells"][cell]["fingerprint"]
            .as_str()
            .map(String::from)
    };
    assert_eq!(fingerprint(&common, 0), fingerprint(&independent, 0));
    assert_ne!(fingerprint(&common, 1), fingerprint(&independent, 1));
    let rate = &common["cells"][0]["properties"]["resource"]["rates"][0];
    assert_eq!(
        (&rate["of"], &rate["runs"]),
        (&"all runs".into(), &5.into())
    );
}

#[test]
fn the_shortest_violation_can_be_pasted() {
    let bench = Bench::new("shortest");
    let sweep = bench.locklab(&SMALL);
    let line = sweep
        .out
        .lines()
        .find_map(|line| line.trim_start().strip_prefix("shortest "));
    let mut shell = std::process::Command::new("sh");
    let shell = shell.args(["-c", line.expect("a line to paste")]);
    let pasted = shell.current_dir(&bench.folder).output().expect("sh");
    let told = Done::from(pasted).in_one_line();
    assert!(
        told.contains("resource, stale-write, lost-update: c1 wrote version 2"),
        "{told}"
    );
}

#[test]
fn what_is_done_is_not_done_again_unless_wanted() {
    let bench = Bench::new("again");
    let first = bench.locklab(&SMALL);
    let results = bench.read(&only(&bench, ".json"));
    let again = bench.locklab(&SMALL);
    assert!(
        again.err.contains("20 of 20 runs were already done"),
        "{}",
        again.err
    );
    assert_eq!(bench.read(&only(&bench, ".json")), results);
    let fresh = bench.locklab(&[&SMALL[..], &["--fresh"]].concat());
    assert_eq!(fresh.err, first.err);
    // A sweep with other seeds is a different sweep.
    let other = bench.locklab(&[&SMALL[..7], &["6"]].concat());
    assert!(!other.err.contains("already done"), "{}", other.err);
}

/// A second of work or more, so that there is time to interrupt it.
const LONG: [&str; 6] = [
    "sweep",
    "kleppmann/k1",
    "--vary",
    "fault.gc.duration_ms=0..2000/20",
    "--seeds",
    if cfg!(debug_assertions) { "30" } else { "500" },
];

#[test]
fn an_interrupted_sweep_keeps_what_it_has_and_comes_to_the_same() {
    let whole = Bench::new("uninterrupted");
    assert_eq!(whole.locklab(&LONG).code, Some(0));
    let expected = whole.read(&only(&whole, ".json"));
    for jobs in ["1", "2"] {
        let bench = Bench::new(&format!("interrupted-{jobs}"));
        let arguments = [&LONG[..], &["--jobs", jobs]].concat();
        let interrupted = bench.interrupt(&arguments, Signal::SIGINT);
        assert_eq!(interrupted.code, Some(130), "{}", interrupted.told());
        let last = interrupted.err.lines().last().expect("a line");
        assert!(last.ends_with("; run it again to resume"), "{last}");

        let partial = bench.read(&only(&bench, ".json"));
        let partial: serde_json::Value = serde_json::from_str(&partial).expect("valid results");
        let full: serde_json::Value = serde_json::from_str(&expected).expect("valid results");
        let cells = |results: &serde_json::Value| results["cells"].as_array().cloned();
        let (some, all) = (
            cells(&partial).expect("cells"),
            cells(&full).expect("cells"),
        );
        assert!((1..all.len()).contains(&some.len()), "{} cells", some.len());
        assert!(some.iter().all(|cell| all.contains(cell)));

        let resumed = bench.locklab(&arguments);
        assert_eq!(resumed.code, Some(0), "{}", resumed.told());
        assert!(
            resumed.err.contains(" runs were already done"),
            "{}",
            resumed.err
        );
        assert_eq!(bench.read(&only(&bench, ".json")), expected, "{jobs} jobs");
        for ending in [".svg", ".jsonl"] {
            only(&bench, ending);
        }
    }
}

#[test]
fn a_killed_sweep_goes_on_too() {
    let bench = Bench::new("killed");
    let killed = bench.interrupt(&LONG, Signal::SIGKILL);
    assert_eq!(killed.code, None);
    let resumed = bench.locklab(&LONG);
    assert!(
        resumed.err.contains(" runs were already done"),
        "{}",
        resumed.err
    );
    assert_eq!(resumed.code, Some(0));
}

/// The only file with this ending.
fn only(bench: &Bench, ending: &str) -> String {
    let mut files = bench.files();
    files.retain(|name| name.ends_with(ending));
    match &files[..] {
        [only] => only.clone(),
        files => panic!("one file *{ending}, not {files:?}"),
    }
}
