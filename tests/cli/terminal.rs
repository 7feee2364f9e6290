//! Text fits the terminal: its width, and the characters of its locale.

use crate::bench::{Bench, Done};
use crate::help::commands;

/// Commands with tables.
const TOLD: [&str; 11] = [
    "run kleppmann/k1 redis-docs/r5 --seeds 40",
    "run jepsen/j2-adds --seeds 1",
    "study sweep kleppmann/k1 --vary fault.gc.duration_ms=500,1500 --vary workload.hold_ms=20,40 --vary \
     lock.ttl_ms=900,1000 --seeds 5",
    "study matrix --lock setnx --seeds 1",
    "study cost --lock redisson-spin --seeds 2",
    "study campaign --lock consensus --seeds 1",
    "check kleppmann/k1",
    "list locks",
    "list faults",
    "list properties",
    "list scenarios",
];

/// What a command prints where this is set.
fn told(bench: &Bench, command: &str, name: &str, value: &str) -> String {
    let mut command = bench.command(&command.split(' ').collect::<Vec<_>>());
    let done = Done::from(command.env(name, value).output().expect("it runs"));
    assert!(matches!(done.code, Some(0 | 3)), "{}", done.told());
    done.out
}

/// Whether a line is to be pasted, or has a word that nothing could break.
fn is_whole(line: &str) -> bool {
    let is_pasted = line.contains("locklab ") || line.contains("target/locklab/");
    is_pasted || line.contains("http")
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    let bench = Bench::new("terminal-width");
    let narrow = TOLD.iter().filter(|command| command.starts_with("list"));
    let usual = TOLD.iter().map(|command| (command, 80));
    for (command, columns) in usual.chain(narrow.map(|command| (command, 60))) {
        let out = told(&bench, command, "COLUMNS", &columns.to_string());
        for line in out.lines().filter(|line| !is_whole(line)) {
            let width = line.chars().count();
            assert!(width <= columns, "{command} at {columns}: {width}\n{line}");
        }
    }
}

#[test]
fn help_fits_80_columns_where_nothing_says_how_wide_the_terminal_is() {
    let bench = Bench::new("help-width");
    for name in commands().iter().filter(|name| *name != "help") {
        for help in ["-h", "--help"] {
            for line in bench.locklab(&[name, help]).out.lines() {
                let width = line.chars().count();
                assert!(width <= 80, "{name} {help}: {width}\n{line}");
            }
        }
    }
}

#[test]
fn the_locale_c_has_ascii_only() {
    let bench = Bench::new("ascii");
    for (name, locale) in [("LC_ALL", "C"), ("LANG", "POSIX")] {
        for command in [
            "run kleppmann/k1 --seeds 80",
            "check kleppmann/k1",
            "study matrix --lock redlock --problem foreign-release --seeds 3",
            "check --help",
            "list locks",
        ] {
            let out = told(&bench, command, name, locale);
            assert!(out.is_ascii(), "{command}: {out}");
        }
    }
    let mut command = bench.command(&["run", "kleppmann/k0–1"]);
    let refused = Done::from(command.env("LC_ALL", "C").output().expect("it runs"));
    assert!(refused.err.is_ascii(), "{}", refused.err);
    let out = told(&bench, "run kleppmann/k1 --seeds 80", "LC_ALL", "C.UTF-8");
    assert!(out.contains("violated ✓"), "{out}");
}
