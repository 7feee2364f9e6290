//! The clients in `tests/clients/`: real libraries, where their language and packages can be had.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A virtual environment with these requirements, below `target/clients/`; `None` where there is no
/// Python, or no package.
fn python(client: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = root.join("target/clients").join(client);
    let python = folder.join("bin/python");
    let requirements = root
        .join("tests/clients")
        .join(client)
        .join("requirements.txt");
    let runs = |command: &mut Command| {
        let quiet = command.stdin(Stdio::null()).stdout(Stdio::null());
        { quiet.stderr(Stdio::null()).status() }.is_ok_and(|status| status.success())
    };
    let has_all = || {
        let mut freeze = Command::new(&python);
        let freeze = freeze.args(["-m", "pip", "freeze"]).stderr(Stdio::null());
        let wanted = std::fs::read_to_string(&requirements).expect("it is in the tree");
        let found = freeze.output().map(|output| output.stdout);
        let found = String::from_utf8_lossy(&found.unwrap_or_default()).into_owned();
        { wanted.lines() }.all(|line| found.lines().any(|found| found == line))
    };
    let installed = has_all()
        || (runs(Command::new("python3").args(["-m", "venv"]).arg(&folder))
            && runs(
                Command::new(&python)
                    .args(["-m", "pip", "install", "--quiet", "-r"])
                    .arg(&requirements),
            ));
    if !installed {
        eprintln!("skipped: no Python with the packages of tests/clients/{client} can be had here");
    }
    installed.then_some(python)
}

/// The lease keeps its promise, the resource is corrupted, and the output says how to see and repeat it.
#[test]
fn redis_py_lets_two_workers_in_after_a_pause() {
    let Some(python) = python("redis-py") else {
        return;
    };
    let out = std::env::temp_dir().join(format!("locklab-redis-py-{}", std::process::id()));
    let output = Command::new(env!("CARGO_BIN_EXE_locklab"))
        .args(["attack", "--scenario", "attack/pause", "--out"])
        .arg(&out)
        .arg("--")
        .arg(&python)
        .arg("tests/clients/redis-py/worker.py")
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("the program runs");
    let told = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{told}\n{errors}");
    for expected in [
        "resource",
        "overwrote, unseen, version",
        "attack-seed-0.png",
        "attack --scenario attack/pause --seed 0 -- ",
    ] {
        assert!(told.contains(expected), "{expected} is not in\n{told}");
    }
    let picture = std::fs::read_to_string(out.join("attack-pause/attack-seed-0.svg"));
    assert!(picture.is_ok_and(|picture| picture.contains("pause")));
    std::fs::remove_dir_all(&out).expect("it was written");
}
