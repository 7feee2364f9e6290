//! Invalid input: an error with a suggestion, exit code 1, and no file written.

use insta::assert_snapshot;

use crate::bench::Bench;

const SCENARIO: &str = "\
title = \"Mine\"

[lock]
name = \"set-nx-px\"
ttl_ms = 1000

[fault.gc]
kind = \"pause\"
on = \"c1\"
after = \"c1 read\"
duration_ms = 1500

[expect]
lease = \"holds\"
";

/// The errors of these invalid commands, one after the other. The folder has this scenario in
/// `mine.toml`.
fn transcript(test: &str, scenario: &str, commands: &[&[&str]]) -> String {
    let bench = Bench::new(&format!("errors-{test}"));
    bench.write("mine.toml", scenario);
    let told = |arguments: &&[&str]| {
        let done = bench.locklab(arguments);
        let command = arguments.join(" ");
        assert_eq!(done.code, Some(1), "{command}: {}", done.told());
        assert_eq!(done.out, "", "{command}");
        assert_eq!(bench.files(), ["mine.toml"], "{command}");
        format!("$ locklab {command}\n{}\n", done.err)
    };
    commands.iter().map(told).collect()
}

#[test]
fn scenarios() {
    let told = |(piece, other): (&str, &str)| {
        assert!(SCENARIO.contains(piece), "{piece}");
        let scenario = SCENARIO.replace(piece, other);
        let told = transcript("scenarios", &scenario, &[&["run", "mine.toml"]]);
        format!("# {piece} → {other}\n{told}")
    };
    let all: String = [
        ("ttl_ms", "ttl"),
        ("set-nx-px", "set-nx-xp"),
        ("pause", "puase"),
        ("lease = ", "leese = "),
        ("c1 read", "c1 reed"),
        ("on = \"c1\"", "on = \"c3\""),
        ("ttl_ms = 1000", "ttl_ms = 0"),
        ("ttl_ms = 1000", "ttl_ms = 9223372036854775807"),
        ("[fault.gc]", "[fault.gc"),
    ]
    .map(told)
    .concat();
    assert_snapshot!(all);
}

#[test]
fn scenarios_that_are_not_there() {
    assert_snapshot!(transcript(
        "not-there",
        SCENARIO,
        &[
            &["run", "kleppman/k1"],
            &["run", "my.toml"],
            &["run"],
            &["run", "kleppmann/k1", "kleppmann/k1"],
        ],
    ));
}

#[test]
fn options() {
    let run = ["run", "kleppmann/k1"];
    let all: String = [
        &["--set", "lock.ttl_ms"][..],
        &["--set", "lock.tll_ms=5"],
        &["--set", "horizon_ms=99999999999999"],
        &["--seeds", "5..5"],
        &["--seeds", "many"],
        &["--seed", "-1"],
        &["--seed", "18446744073709551615"],
        &["--seed", "1", "--seeds", "0..2"],
        &["--jobs", "0"],
        &["--on", "mars"],
        &["--on", "redis", "--twice"],
    ]
    .map(|options| transcript("options", SCENARIO, &[&[&run, options].concat()]))
    .concat();
    assert_snapshot!(all);
}

#[test]
fn commands() {
    assert_snapshot!(transcript(
        "commands",
        SCENARIO,
        &[
            &["--out", "elsewhere", "list", "locks"],
            &["lst"],
            &["list"],
            &["list", "lock"],
            &["completions", "tcsh"]
        ],
    ));
}

#[test]
fn sweeps() {
    let sweep = ["sweep", "kleppmann/k1"];
    let all: String = [
        &["--vary", "lock.tll_ms=1,2"][..],
        &["--vary", "lock.ttl_ms=1,x"],
        &["--vary", "lock.ttl_ms"],
        &["--vary", "lock.ttl_ms=1..5"],
        &["--vary", "lock.ttl_ms=1", "--vary", "lock.ttl_ms=2"],
        &["--property", "leese"],
        &["--seeds", "0"],
    ]
    .map(|options| transcript("sweeps", SCENARIO, &[&[&sweep, options].concat()]))
    .concat();
    let no_grid = transcript("no-grid", SCENARIO, &[&["sweep", "mine.toml"]]);
    assert_snapshot!(all + &no_grid);
}

#[test]
fn a_folder_that_cannot_be_written() {
    for command in [
        &["run", "kleppmann/k1"][..],
        &["sweep", "kleppmann/k1"],
        &["demo"],
        &[],
    ] {
        let arguments = [command, &["--out", "mine.toml"]].concat();
        let told = transcript("folder", SCENARIO, &[&arguments]);
        let (_, told) = told.split_once('\n').expect("a line after the command");
        assert_eq!(
            told.trim_end(),
            "error: cannot write to the folder mine.toml; choose another with --out: \
             File exists (os error 17)"
        );
    }
}
