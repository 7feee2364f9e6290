//! Programs whose clocks are wrong: their waits go by the same clock, or they are refused.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use locklab_real::ConfirmError;

use crate::bench::{attack_that_counts, try_run};

/// The clock of c1 runs fast, from the beginning almost to the end.
const FAST: &str = "
    horizon_ms = 6000
    workload = { rounds = 100000 }
    [fault.fast]
    kind = 'clock-rate'
    on = 'c1'
    at_ms = 500
    duration_ms = 5000
    drift_ppm = 500000
";

/// A scenario of that kind in a file, for the command.
fn fast_file(name: &str) -> PathBuf {
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.toml"));
    let text = format!(
        "title = 'a fast clock'
         bound_ms = 3000
         lock = {{ name = 'set-nx-px', ttl_ms = 1000 }}
         topology = {{ nodes = 1, clients = 2 }}
         {FAST}"
    );
    std::fs::write(&file, text).expect("the folder is there");
    file
}

pub fn has(program: &str, version: &str) -> bool {
    let mut asked = Command::new(program);
    let asked = asked
        .arg(version)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let is_there = asked.status().is_ok_and(|status| status.success());
    if !is_there {
        eprintln!("skipped: there is no {program}");
    }
    is_there
}

/// What refuses a program, in words; `None` if there is no Bash here.
#[track_caller]
fn refused(script: &str) -> Option<String> {
    let error = try_run(1, FAST, script)?.map(drop).unwrap_err();
    assert!(
        matches!(error, ConfirmError::Untranslated { .. }),
        "{error:?}"
    );
    Some(error.to_string())
}

/// A worker that sleeps by its clock of 100 ms, of which the lease is ten times as much, does so also while that clock
/// gains on the node's.
#[test]
fn a_correct_lock_is_not_violated_because_its_worker_sleeps() {
    if !has("python3", "--version") {
        return;
    }
    let worker = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/attack/fast_worker.py");
    let scenario = fast_file("fast-worker").display().to_string();
    let script = format!("exec python3 {worker}");
    let Some((code, told)) = attack_that_counts("fast-worker", &["--scenario", &scenario], &script)
    else {
        return;
    };
    assert_eq!(code, Some(3), "{told}");
    assert!(
        !told.contains('✗') && !told.contains("slept for longer"),
        "{told}"
    );
}

#[test]
fn a_program_without_the_library_is_refused() {
    let Some(told) = refused("exec env -i sleep 100") else {
        return;
    };
    for expected in [
        "fault `fast` (clock-rate)",
        "sleep runs without",
        "--fault pause",
    ] {
        assert!(told.contains(expected), "{told}");
    }
    // Also one that another program has started, in a session of its own.
    refused("setsid env -u LD_PRELOAD sleep 100 & wait");
}

/// Only the clock of c1 is wrong.
#[test]
fn a_program_whose_clock_is_right_need_not_be_reached() {
    let script = r#"
        redis "$LOCKLAB_RESOURCE" INCR key
        [ "$LOCKLAB_HOST" = c1 ] && exec sleep 100
        exec env -i sleep 100
    "#;
    if let Some(run) = try_run(2, FAST, script) {
        run.map(drop).expect("the run ends");
    }
}

#[test]
fn a_program_that_is_linked_statically_is_refused_before_anything_is_started() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let (source, program) = (folder.join("static.c"), folder.join("static-program"));
    std::fs::write(&source, "int main(void) { return 0; }").expect("the folder is there");
    let built = Command::new("cc")
        .args(["-static", "-o"])
        .args([&program, &source])
        .output();
    if !built.is_ok_and(|built| built.status.success()) {
        eprintln!("skipped: no program can be linked statically here");
        return;
    }
    let told = refused_by_command("static", &program);
    assert!(told.contains("is linked statically"), "{told}");
}

#[track_caller]
fn refused_by_command(name: &str, program: &std::path::Path) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_locklab"))
        .args(["attack", "--scenario"])
        .arg(fast_file(name))
        .arg("--")
        .arg(program)
        .output()
        .expect("it starts");
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{told}");
    // No run, and no command that repeats one.
    assert!(!told.contains("reproduce"), "{told}");
    told
}

/// Also one that loads the C library, and so the preloaded one. Runs with `LOCKLAB_LONG=1`, since Go builds its own library.
#[test]
fn a_program_in_go_is_refused() {
    if std::env::var_os("LOCKLAB_LONG").is_none() {
        eprintln!("skipped: LOCKLAB_LONG is not set");
        return;
    }
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("go");
    std::fs::create_dir_all(&folder).expect("the folder is there");
    let sleeps = "for { time.Sleep(time.Second) } }";
    let plain = format!("package main\nimport \"time\"\nfunc main() {{ {sleeps}");
    let with_c = format!(
        "package main\n// #include <unistd.h>\nimport \"C\"\nimport \"time\"\nfunc main() {{ C.usleep(1); {sleeps}"
    );
    for (name, text) in [("plain", plain), ("with-c", with_c)] {
        let (source, program) = (folder.join(format!("{name}.go")), folder.join(name));
        std::fs::write(&source, text).expect("the folder is there");
        let built = Command::new("go")
            .args(["build", "-o"])
            .args([&program, &source])
            .output();
        if !built.is_ok_and(|built| built.status.success()) {
            eprintln!("skipped: {name}: there is no Go, or no C for it");
            continue;
        }
        let told = refused_by_command(name, &program);
        assert!(told.contains("is a Go program"), "{told}");
        let told = refused(&format!("{} & wait", program.display()));
        assert!(told.is_none_or(|told| told.contains("is a Go program")));
    }
}

/// No machine has this address, which is reserved for documentation.
#[test]
fn a_run_whose_program_could_not_suffer_a_fault_shows_nothing() {
    let script =
        "export LOCKLAB_SOURCE=192.0.2.1; bash -c 'exec 9<>/dev/tcp/127.0.0.1/1'; exec sleep 100";
    let Some(run) = try_run(1, FAST, script) else {
        return;
    };
    let told = run.map(drop).unwrap_err().to_string();
    assert!(
        told.contains("shows nothing") && told.contains("cannot be bound"),
        "{told}"
    );
}
