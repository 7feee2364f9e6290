//! Text from outside in what the program writes: titles, names of files, and what recordings quote.

use crate::bench::Bench;

/// A title in TOML: a workflow command of GitHub Actions on a line of its own, a sequence that clears
/// a terminal, a bar and a backquote.
const TITLE: &str = r#"a\n::error title=x::y\n##[error]z \u001b[2J | `b` <img src=x>"#;

/// K1 with that title, in a file whose name a spreadsheet would take for a formula.
fn hostile(test: &str) -> (Bench, &'static str) {
    let bench = Bench::new(test);
    let shown = include_str!("../../scenarios/kleppmann/k1.toml");
    let (_, rest) = shown.split_once('\n').expect("several lines");
    assert!(shown.starts_with("title = "));
    bench.write("=1+1.toml", &format!("title = \"{TITLE}\"\n{rest}"));
    (bench, "=1+1.toml")
}

fn assert_harmless(what: &str, text: &str) {
    assert!(!text.contains('\u{1b}'), "{what}: {text:?}");
    for line in text.lines() {
        let is_command = line.trim_start().starts_with("::") || line.contains("##[");
        assert!(!is_command, "{what}: {line:?}");
    }
}

#[test]
fn titles_control_neither_terminals_nor_runners() {
    let (bench, file) = hostile("untrusted-terminal");
    for arguments in [
        &["run", file, "--seeds", "3"][..],
        &["run", file, "--seeds", "3", "--json"],
        &[
            "study",
            "sweep",
            file,
            "--vary",
            "lock.ttl_ms=900",
            "--seeds",
            "3",
        ],
        &["check", file],
        &["view", file],
        // Errors quote the scenario, and the command line.
        &["run", file, "--set", "lock.ttl_ms=1\n::error::x\u{1b}[2J"],
        &["run", "\n::error::x\u{1b}[2J"],
        &["\n::error::x\u{1b}[2J"],
    ] {
        let done = bench.locklab(arguments);
        let what = arguments.join(" ");
        assert_harmless(&what, &done.out);
        assert_harmless(&what, &done.err);
        assert!(!done.told().trim().is_empty(), "{what}");
    }
}

#[test]
fn a_recording_controls_neither_terminals_nor_runners() {
    let (bench, file) = hostile("untrusted-recording");
    bench.locklab(&["run", file, "--seeds", "3"]);
    let files = bench.files();
    let recording = files
        .iter()
        .find(|name| name.contains("seed-") && name.ends_with(".jsonl"));
    let recording = recording.expect("a violation is recorded");
    for command in ["replay", "view"] {
        let done = bench.locklab(&[command, recording]);
        assert_harmless(command, &done.told());
    }
    let damaged = bench
        .read(recording)
        .replace("\"acquire", "\"acquire\\n::error::x\\u001b[2J");
    std::fs::write(bench.folder.join(recording), damaged).expect("it can be written");
    assert_harmless("replay", &bench.locklab(&["replay", recording]).told());
}

#[test]
fn the_files_of_a_check_keep_titles_and_names_in_their_cells() {
    let (bench, file) = hostile("untrusted-files");
    let mut command = bench.command(&["check", file]);
    command.env("GITHUB_ACTIONS", "true");
    let done = crate::bench::Done::from(command.output().expect("the program runs"));
    for line in done.out.lines().filter(|line| line.starts_with("::")) {
        assert!(line.starts_with("::warning file==1+1.toml,"), "{line}");
    }
    let markdown = bench.read("target/locklab/check/check.md");
    let rows: Vec<&str> = markdown
        .lines()
        .filter(|line| line.contains("1+1.toml"))
        .collect();
    assert!(!rows.is_empty(), "{markdown}");
    for row in rows {
        assert!(
            row.starts_with("| `=1+1.toml` | ") && row.ends_with(" |"),
            "{row}"
        );
        let cells = row.replace("\\|", "").matches('|').count();
        assert_eq!(cells, 4, "{row}");
        assert!(!row.contains(" <img") || row.contains(" \\<img"), "{row}");
    }
    let csv = bench.read("target/locklab/check/check.csv");
    assert!(csv.contains("\r\n1,'=1+1.toml,"), "{csv}");
}
