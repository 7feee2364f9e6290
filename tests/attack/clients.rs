//! The clients in `tests/clients/`: real libraries, where their language and packages can be had.

use std::iter;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A virtual environment with these requirements, below `target/clients/`; `None` where there is no
/// Python, or no package.
fn python(client: &str) -> Option<PathBuf> {
    python_with(client, "", "requirements.txt")
}

/// The same in a folder below it, with the requirements in this file.
fn python_with(client: &str, below: &str, requirements: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = root.join("target/clients").join(client).join(below);
    let python = folder.join("bin/python");
    let requirements = root.join("tests/clients").join(client).join(requirements);
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

/// The folder of a client whose packages npm has installed below `target/clients/`; `None` where there is no
/// Node.js, or no package.
fn node(client: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = root.join("target/clients").join(client);
    std::fs::create_dir_all(&folder).expect("target can be written");
    let own = std::fs::read_dir(root.join("tests/clients").join(client));
    let files = own.expect("it is in the tree").flatten();
    let helper = root.join("docs/attack/locklab_tell.mjs");
    for file in files.map(|file| file.path()).chain([helper]) {
        let name = file.file_name().expect("a file has a name");
        std::fs::copy(&file, folder.join(name)).expect("target can be written");
    }
    let mut install = Command::new("npm");
    install.args(["ci", "--silent"]).current_dir(&folder);
    let installed = install.stdin(Stdio::null()).output();
    let is_installed = installed.is_ok_and(|output| output.status.success());
    if !is_installed {
        eprintln!(
            "skipped: no Node.js with the packages of tests/clients/{client} can be had here"
        );
    }
    is_installed.then_some(folder)
}

/// The exit code of an attack by a pause, and what was told.
fn attack(name: &str, words: &[&str]) -> (Option<i32>, String) {
    let pause = ["attack/pause", "--set", "horizon_ms=4500"];
    attack_in(&pause, "pause", name, words)
}

/// The same in another scenario, which may have options; its picture has this word.
fn attack_in(scenario: &[&str], word: &str, name: &str, words: &[&str]) -> (Option<i32>, String) {
    let out = std::env::temp_dir().join(format!("locklab-{name}-{}", std::process::id()));
    let run = || {
        Command::new(env!("CARGO_BIN_EXE_locklab"))
            .args(["attack", "--fresh", "--scenario"])
            .args(scenario)
            .arg("--out")
            .arg(&out)
            .arg("--")
            .args(words)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .env("PYTHONPATH", "docs/attack")
            .output()
            .expect("the program runs")
    };
    // On a machine with much to do every run may be discarded.
    let counts =
        |output: &Output| !String::from_utf8_lossy(&output.stdout).contains("no run counts");
    let mut runs = iter::repeat_with(run).take(10);
    let output = runs.find(counts).expect("a run that counts");
    let mut told = String::from_utf8_lossy(&output.stdout).into_owned();
    told += &String::from_utf8_lossy(&output.stderr);
    let drawn = std::fs::read_dir(&out).expect("it was written").flatten();
    let picture = drawn
        .map(|folder| folder.path().join("attack-seed-0.svg"))
        .find(|it| it.exists());
    let picture = picture.map(std::fs::read_to_string);
    assert!(
        picture.is_some_and(|text| text.is_ok_and(|text| text.contains(word))),
        "{told}"
    );
    std::fs::remove_dir_all(&out).expect("it was written");
    (output.status.code(), told)
}

/// The lease keeps its promise, the resource is corrupted, and the output says how to see and repeat it. The lock is not
/// blamed for what only tokens prevent.
#[test]
fn redis_py_lets_two_workers_in_after_a_pause() {
    let Some(python) = python("redis-py") else {
        return;
    };
    let python = python.display().to_string();
    let (code, told) = attack("redis-py", &[&python, "tests/clients/redis-py/worker.py"]);
    assert_eq!(code, Some(3), "{told}");
    for expected in [
        "stale-write",
        "not the lock's fault, once: ",
        "attack-seed-0.svg",
        "attack --scenario attack/pause --set horizon_ms=4500 --seed 0 -- ",
    ] {
        assert!(told.contains(expected), "{expected} is not in\n{told}");
    }
    assert!(!told.contains("lease      holds      violated"), "{told}");
}

/// Its holder hears of the loss when it has woken up, before it writes; while it stands still it cannot know.
#[test]
fn redis_semaphore_believes_in_a_lost_lock_until_its_next_extension() {
    let Some(folder) = node("redis-semaphore") else {
        return;
    };
    let worker = folder.join("worker.mjs").display().to_string();
    let (code, told) = attack("redis-semaphore", &["node", &worker]);
    assert_eq!(code, Some(3), "{told}");
    for expected in [
        "belief, lease: c2 was granted the lock at",
        "not the lock's fault, once: lease: the holder, which is told no",
    ] {
        assert!(told.contains(expected), "{expected} is not in\n{told}");
    }
    assert!(!told.contains("stale-write"), "{told}");
}

/// Nothing is wrong with its lock: what it reads is the reply of another command. The next release closes the
/// connection of a cancelled call. Runs with `LOCKLAB_LONG=1`, since it installs two versions.
#[test]
fn redis_py_4_5_3_takes_the_reply_of_a_cancelled_call_for_a_grant() {
    if std::env::var_os("LOCKLAB_LONG").is_none() {
        eprintln!("skipped: LOCKLAB_LONG is not set");
        return;
    }
    let client = "redis-py-4.5.3";
    let folder = format!("tests/clients/{client}");
    let scenario = format!("{folder}/late-reply.toml");
    let attacked = |python: PathBuf| {
        let words = [python.display().to_string(), format!("{folder}/worker.py")];
        let words = words.each_ref().map(String::as_str);
        attack_in(&[&scenario], "slow", client, &words)
    };
    if let Some(python) = python(client) {
        let (code, told) = attacked(python);
        assert_eq!(code, Some(2), "{told}");
        let expected = "lease: c1 was granted the lock at";
        assert!(told.contains(expected), "{told}");
    }
    if let Some(python) = python_with(client, "mended", "mended.txt") {
        let (code, told) = attacked(python);
        assert_eq!(code, Some(3), "{told}");
    }
}
