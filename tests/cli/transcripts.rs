//! Runs the transcripts in `tests/cli/transcripts/`; their format is in `tests/testing/src/transcript.rs`.
//!
//! Each section has an empty folder of its own. Its commands are for `sh`. `^INT` and `^KILL` in the place of the prompt
//! `$` send that signal once a part of the work is in the ledger. `$ROOT` is the repository, `$SEEDS` are as many seeds
//! as take a while in this build.

use std::path::Path;
use std::process::Command;

use locklab_testing::{check_transcript, transcripts};
use nix::sys::signal::Signal;

use crate::bench::{Bench, Done};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// The prompts of commands.
const PROMPTS: [&str; 3] = ["$ ", "^INT ", "^KILL "];

fn execute(bench: &mut Bench, prompt: &str, command: &str) -> Vec<String> {
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
            shell.args(["-c", command]);
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

fn compare(path: &Path) {
    let name = path.file_stem().expect("a name").to_string_lossy();
    check_transcript(path, &PROMPTS, || Bench::new(&name), execute);
}

transcripts! {
    "tests/cli/transcripts", compare:
    bad_input
    campaign
    check
    judge
    many_runs
    matrix
    merge
    museum
    new
    rare
    rare_method
    rare_resumed
    record
    redis
    replay
    reproduce
    risk
    risk_leases
    run
    seeds
    shards
    shrink
    streams
    submit
    sweep
    view
}
