//! Programs that are no Redis server, in the place of one: a run ends, with words, and no process
//! of it remains.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Output;

use locklab_testing::until;

use crate::bench::Bench;

/// What `run --on redis` says with this script in the place of `redis-server`.
fn with(bench: &Bench, script: &str) -> Output {
    let program = bench.folder.join("server");
    fs::write(&program, script).expect("the folder can be written");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("it is ours");
    let mut command = bench.command(&["run", "k1", "--on", "redis"]);
    command.env("LOCKLAB_REDIS_SERVER", &program);
    let output = command.output().expect("the program runs");
    assert_eq!(output.status.code(), Some(1));
    output
}

/// Waits until the process whose number the script wrote into this file has ended. The kernel may
/// need a moment for that; a zombie waits for its parent only.
fn has_ended(bench: &Bench, file: &str) {
    let stat = format!("/proc/{}/stat", bench.read(file).trim());
    until(|| match fs::read_to_string(&stat) {
        Ok(stat) if !stat.contains(") Z ") => Err(stat),
        _ => Ok(()),
    });
}

/// After ten seconds, the period in which progress is told.
fn is_told(output: &Output, error: &str) {
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains(error), "{told}");
    let last = told.lines().last();
    assert!(
        last.is_some_and(|line| line.starts_with("took 1")),
        "{told}"
    );
}

#[test]
fn one_that_does_not_say_its_version() {
    let bench = Bench::new("silent");
    let sleeps = "#!/bin/sh\necho $$ > shell\nsleep 1000 &\necho $! > sleeper\nwait\n";
    let output = with(&bench, sleeps);
    is_told(
        &output,
        "--version` did not answer within 10 s; name a Redis server in",
    );
    has_ended(&bench, "shell");
    has_ended(&bench, "sleeper");
}

#[test]
fn one_that_is_never_ready() {
    let bench = Bench::new("never-ready");
    let mute = "#!/bin/sh\n\
                if [ \"$1\" = --version ]; then echo 'Redis server v=7.0.15'; exit; fi\n\
                echo $$ > shell\nsleep 1000 &\necho $! > sleeper\nwait\n";
    let output = with(&bench, mute);
    is_told(&output, "the process of `n1` was not ready within 10 s; ");
    has_ended(&bench, "shell");
    has_ended(&bench, "sleeper");
}

#[test]
fn one_that_is_something_else() {
    let bench = Bench::new("something-else");
    let output = with(&bench, "#!/bin/sh\nyes\n");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(
        told.contains("does not look like a Redis server: it answered \"y\""),
        "{told}"
    );
}
