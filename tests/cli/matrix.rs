//! `locklab matrix` and `locklab cost`.

use insta::assert_snapshot;

use crate::bench::Bench;

#[test]
fn a_small_matrix_as_text_and_files() {
    let bench = Bench::new("small-matrix");
    let arguments = [
        "matrix",
        "--lock",
        "set-nx-px (release del)",
        "--lock",
        "redlock (sequential)",
        "--problem",
        "foreign-release",
        "--problem",
        "crash",
        "--seeds",
        "200",
    ];
    let matrix = bench.locklab(&arguments);
    assert_eq!(matrix.code, Some(0));
    assert_snapshot!("matrix_text", matrix.told());
    let files = bench.files();
    assert_snapshot!("matrix_files", files.join("\n"));
    let markdown = files.iter().find(|file| file.ends_with("matrix.md"));
    assert_snapshot!(
        "matrix_markdown",
        bench.read(markdown.expect("it is written"))
    );
    let list = files.iter().find(|file| file.ends_with("matrix.csv"));
    let list = bench.read(list.expect("it is written"));
    assert_snapshot!("matrix_csv", list.replace("\r\n", "\n"));
    let data = bench.locklab(&[&arguments[..], &["--json"]].concat());
    assert_eq!(data.json()["results"].as_array().map(Vec::len), Some(4));
}

#[test]
fn a_single_cell_shows_its_evidence() {
    let bench = Bench::new("single-cell");
    let cell = bench.locklab(&[
        "matrix",
        "--lock",
        "database-unique",
        "--problem",
        "crash",
        "--seeds",
        "10",
    ]);
    assert_snapshot!("matrix_cell", cell.told());
}

/// Too few runs neither refute a prediction nor confirm it.
#[test]
fn too_few_runs_give_neither_a_false_red_nor_a_false_green() {
    let bench = Bench::new("too-few");
    let some: [&[&str]; 2] = [
        &["--lock", "getset", "--problem", "crash", "--seeds", "20"],
        &["--lock", "redlock", "--seeds", "1", "--format", "svg"],
    ];
    for cells in some {
        let matrix = bench.locklab(&[&["matrix"], cells].concat());
        assert_eq!(matrix.code, Some(3), "{}", matrix.told());
        assert!(
            matrix.in_one_line().contains("more runs would decide"),
            "{}",
            matrix.out
        );
    }
}

#[test]
fn a_lock_that_is_not_there() {
    let bench = Bench::new("no-lock");
    let wrong = bench.locklab(&["cost", "--lock", "set-nx-xp"]);
    assert_eq!(wrong.code, Some(1));
    assert!(wrong.err.contains("set-nx-px"), "{}", wrong.err);
}

#[test]
fn a_small_table_of_costs() {
    let bench = Bench::new("small-cost");
    let arguments = ["cost", "--lock", "redisson-spin", "--seeds", "2"];
    let cost = bench.locklab(&arguments);
    assert_eq!(cost.code, Some(0));
    assert_snapshot!("cost_text", cost.told());
    let data = bench.locklab(&[&arguments[..], &["--json"]].concat());
    // Two forms, sixteen metrics.
    assert_eq!(data.json()["results"].as_array().map(Vec::len), Some(32));
}
