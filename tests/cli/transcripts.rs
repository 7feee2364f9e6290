//! Runs the transcripts in `tests/cli/transcripts/`, and compares what each command prints with what stands below it.
//!
//! A line that begins with `# ` begins a section, which has an empty folder of its own. Indented by two spaces come the
//! commands, for `sh`:
//!
//! - `$ command`, continued in lines with `> `; `^INT command` and `^KILL command` send that signal once a part of the
//!   work is in the ledger;
//! - below it the lines of standard output, then those of standard error behind `2> `, and the exit code as `[1]` unless
//!   it is 0. `…` stands for any text in a line, and alone for any lines.
//!
//! All else is prose. `$ROOT` is the repository, `$SEEDS` are as many seeds as take a while in this build.
//! `LOCKLAB_TRANSCRIPTS=write cargo test --test cli transcripts` writes what is printed now into the files.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use nix::sys::signal::Signal;

use crate::bench::{Bench, Done};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// A command, and what stands below it.
struct Step {
    line: usize,
    /// With its continuations.
    command: Vec<String>,
    expected: Vec<String>,
}

enum Item {
    Prose(String),
    Step(Step),
}

fn parse(text: &str) -> Vec<Item> {
    let mut items = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let indented = line.strip_prefix("  ");
        let command = |line: &str| {
            ["$ ", "^INT ", "^KILL "]
                .iter()
                .any(|it| line.starts_with(it))
        };
        match (indented, items.last_mut()) {
            (Some(text), _) if command(text) => items.push(Item::Step(Step {
                line: index + 1,
                command: vec![text.into()],
                expected: Vec::new(),
            })),
            (Some(text), Some(Item::Step(step)))
                if (text.starts_with("> ") || text == ">") && step.expected.is_empty() =>
            {
                step.command.push(text.into());
            }
            (Some(text), Some(Item::Step(step))) => step.expected.push(text.into()),
            // Of an output, if it goes on.
            (None, Some(Item::Step(step))) if line.is_empty() => step.expected.push(String::new()),
            (_, _) => items.push(Item::Prose(line.into())),
        }
    }
    items
}

fn execute(bench: &Bench, step: &Step) -> Vec<String> {
    let (prompt, first) = step.command[0].split_once(' ').expect("it has a prompt");
    let others = step.command[1..].iter();
    let others = others.map(|line| line.get(2..).unwrap_or_default());
    let command: Vec<&str> = [first].into_iter().chain(others).collect();
    let command = command.join("\n");
    let program = Path::new(env!("CARGO_BIN_EXE_locklab")).parent();
    let folders = [program.expect("a folder"), &bench.folder];
    let [program, folder] = folders.map(Path::display);
    let path = format!("{program}:{folder}:/usr/bin:/bin");
    let seeds = if cfg!(debug_assertions) { "30" } else { "500" };
    let mut shell = Command::new("sh");
    bench.settle(&mut shell);
    shell
        .env("PATH", path)
        .env("ROOT", ROOT)
        .env("SEEDS", seeds);
    let done = match prompt {
        "$" => {
            shell.args(["-c", &command]);
            Done::from(shell.output().expect("there is a shell"))
        }
        signal => {
            shell.args(["-c", &format!("exec {command}")]);
            let signal = format!("SIG{}", &signal[1..]).parse::<Signal>();
            bench.interrupt(shell, signal.expect("a signal"))
        }
    };
    shown(bench, &done)
}

/// The lines of an output, as a transcript has them.
fn shown(bench: &Bench, done: &Done) -> Vec<String> {
    let (out, err) = (done.printed(), done.complained());
    let lines = out.lines().map(String::from);
    let lines = lines.chain(err.lines().map(|line| format!("2> {line}")));
    let code = match done.code {
        Some(0) => None,
        Some(code) => Some(format!("[{code}]")),
        None => Some("[a signal]".into()),
    };
    let folder = bench.folder.to_string_lossy();
    let lines = lines.chain(code);
    let lines = lines.map(|line| line.replace(&*folder, "/here").trim_end().to_owned());
    lines.collect()
}

/// Whether a text has these pieces, with anything in the place of each `…`.
fn fits(expected: &str, line: &str) -> bool {
    match expected.split_once('…') {
        None => expected == line,
        Some((begin, rest)) => line.strip_prefix(begin).is_some_and(|line| {
            let mut ends = line.char_indices().map(|(at, _)| at).chain([line.len()]);
            ends.any(|at| fits(rest, &line[at..]))
        }),
    }
}

fn all_fit(expected: &[String], lines: &[String]) -> bool {
    let Some((first, rest)) = expected.split_first() else {
        return lines.is_empty();
    };
    let is_error = |line: &&String| line.starts_with("2>");
    let is_code = |line: &&String| line.starts_with('[') && line.ends_with(']');
    let any = match &**first {
        "…" => lines
            .iter()
            .take_while(|line| !is_error(line) && !is_code(line))
            .count(),
        "2> …" => lines.iter().take_while(is_error).count(),
        _ => {
            let line = lines.split_first();
            return line.is_some_and(|(line, others)| fits(first, line) && all_fit(rest, others));
        }
    };
    (0..=any).any(|at| all_fit(rest, &lines[at..]))
}

/// Runs the transcript of this name.
fn compare(name: &str) {
    let path = Path::new(ROOT).join(format!("tests/cli/transcripts/{name}.txt"));
    let text = fs::read_to_string(&path).expect("the transcript is there");
    let mut bench = Bench::new(name);
    let (mut new, mut wrong) = (String::new(), String::new());
    for item in parse(&text) {
        match item {
            Item::Prose(line) => {
                if line.starts_with("# ") {
                    bench = Bench::new(name);
                }
                new += &format!("{line}\n");
            }
            Item::Step(mut step) => {
                let lines = execute(&bench, &step);
                let end = { step.expected.iter() }.rposition(|line| !line.is_empty());
                let blank = step.expected.split_off(end.map_or(0, |end| end + 1));
                if !all_fit(&step.expected, &lines) {
                    let (line, command) = (step.line, step.command.join("\n"));
                    let _ = writeln!(
                        wrong,
                        "{name}.txt:{line}: {command}\n{}\n",
                        lines.join("\n")
                    );
                    step.expected = lines;
                }
                for line in [step.command, step.expected].concat() {
                    new += &format!("{}\n", format!("  {line}").trim_end());
                }
                new += &"\n".repeat(blank.len());
            }
        }
    }
    if std::env::var_os("LOCKLAB_TRANSCRIPTS").is_some_and(|what| what == "write") {
        fs::write(path, new).expect("it can be written");
    } else {
        assert!(
            wrong.is_empty(),
            "these commands print something else now:\n{wrong}"
        );
    }
}

#[test]
fn bad_input() {
    compare("bad_input");
}

#[test]
fn campaign() {
    compare("campaign");
}

#[test]
fn check() {
    compare("check");
}

#[test]
fn judge() {
    compare("judge");
}

#[test]
fn matrix() {
    compare("matrix");
}

#[test]
fn museum() {
    compare("museum");
}

#[test]
fn new() {
    compare("new");
}

#[test]
fn rare() {
    compare("rare");
}

#[test]
fn record() {
    compare("record");
}

#[test]
fn redis() {
    compare("redis");
}

#[test]
fn replay() {
    compare("replay");
}

#[test]
fn reproduce() {
    compare("reproduce");
}

#[test]
fn risk() {
    compare("risk");
}

#[test]
fn run() {
    compare("run");
}

#[test]
fn shards() {
    compare("shards");
}

#[test]
fn shrink() {
    compare("shrink");
}

#[test]
fn streams() {
    compare("streams");
}

#[test]
fn submit() {
    compare("submit");
}

#[test]
fn sweep() {
    compare("sweep");
}

#[test]
fn view() {
    compare("view");
}

#[test]
fn every_transcript_has_a_test() {
    let folder = Path::new(ROOT).join("tests/cli/transcripts");
    for entry in fs::read_dir(folder).expect("a folder") {
        let name = entry.expect("an entry").file_name();
        if let Some(name) = name.to_string_lossy().strip_suffix(".txt") {
            let call = format!("compare(\"{name}\");");
            assert!(include_str!("transcripts.rs").contains(&call), "{name}");
        }
    }
}
