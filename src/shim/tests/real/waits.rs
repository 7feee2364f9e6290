//! Programs of several languages whose waits go by a clock that is struck while they wait.
//!
//! Each program begins all its waits at once, of 200 ms by its own clock. How long they take by its monotonic clock, follows
//! from the fault. A wait that ends too early is wrong at once; a machine that is busy makes one longer, so each wait has to
//! be on time in one of a few attempts.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use locklab_shim::ClockFile;

use crate::folder::Folder;

/// The length of each wait, by the clock that it goes by, in milliseconds.
const LENGTH_MS: f64 = 200.0;

/// When the fault strikes after the program has begun.
const STRIKES: Duration = Duration::from_millis(50);

/// How long the host is suspended: until every wait would be over by the right time.
const SUSPENDED: Duration = Duration::from_millis(500);

/// What is lost between two readings, by rounding to milliseconds or to ticks, in milliseconds.
const TOO_EARLY_MS: f64 = 2.0;

/// How late a wait may be, in milliseconds: less than any of these faults makes a wait wrong by.
const TOO_LATE_MS: f64 = 85.0;

/// How often a program is started until each of its waits was on time.
const ATTEMPTS: u32 = 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    Fast,
    Slow,
    StepForward,
    StepBack,
    Suspend,
}

impl Fault {
    const ALL: [Fault; 6] = [
        Fault::None,
        Fault::Fast,
        Fault::Slow,
        Fault::StepForward,
        Fault::StepBack,
        Fault::Suspend,
    ];

    /// How long a wait takes by the monotonic clock, in milliseconds.
    fn expected_ms(self, clock: &str) -> f64 {
        let struck_ms = STRIKES.as_secs_f64() * 1e3;
        match (self, clock) {
            (Fault::StepForward, "wall") => LENGTH_MS - STEP_MS,
            (Fault::StepBack, "wall" | "both") => LENGTH_MS + STEP_MS,
            // The wall clock goes on meanwhile.
            (Fault::Suspend, "wall") => struck_ms,
            _ => LENGTH_MS,
        }
    }

    fn strike(self, clocks: &mut ClockFile, program: &Child) {
        let done = match self {
            Fault::None => Ok(()),
            Fault::Fast => clocks.set_drift_ppm(1_000_000).map(drop),
            Fault::Slow => clocks.set_drift_ppm(-500_000).map(drop),
            Fault::StepForward => clocks.step_wall((STEP_MS * 1e6) as i64),
            Fault::StepBack => clocks.step_wall((-STEP_MS * 1e6) as i64),
            Fault::Suspend => clocks.freeze().and_then(|()| {
                signal(program, "-STOP");
                thread::sleep(SUSPENDED);
                let thawed = clocks.thaw();
                signal(program, "-CONT");
                thawed
            }),
        };
        done.expect("the clock file can be written");
    }
}

/// How far the wall clock is set, in milliseconds.
const STEP_MS: f64 = 100.0;

fn signal(program: &Child, signal: &str) {
    let group = format!("-{}", program.id());
    let status = Command::new("kill").args([signal, "--", &group]).status();
    assert!(status.expect("there is kill").success());
}

/// How long each wait took, with its clock; in milliseconds.
type Waits = BTreeMap<String, (String, f64)>;

/// Runs a program, strikes its clock, and returns what it says.
fn run(folder: &Folder, words: &[&str], fault: Fault) -> Waits {
    let clock = folder.join(&format!("{fault:?}.clock"));
    let mut clocks = ClockFile::create(&clock).expect("a new file");
    let (program, arguments) = words.split_first().expect("a program");
    let mut child = Command::new(program)
        .args(arguments)
        .envs(locklab_shim::environment(
            &folder.library,
            Some(&clock),
            None,
        ))
        .stdout(Stdio::piped())
        .process_group(0)
        .spawn()
        .expect("the program starts");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let begun = lines.next().expect("it begins").expect("text");
    assert_eq!(begun, "begin");
    thread::sleep(STRIKES);
    fault.strike(&mut clocks, &child);
    let mut waits = Waits::new();
    for line in lines {
        let line = line.expect("text");
        let words: Vec<&str> = line.split(' ').collect();
        let &[name, clock, took_ms] = &words[..] else {
            panic!("{fault:?}: {line}");
        };
        waits.insert(
            name.into(),
            (clock.into(), took_ms.parse().expect("a number")),
        );
    }
    assert!(
        child.wait().expect("it ends").success(),
        "{fault:?}: {waits:?}"
    );
    fs::remove_file(&clock).expect("it is there");
    waits
}

/// What is said of each wait that is not on time. One that is too early is wrong, whenever it began.
fn untimely(waits: &Waits, fault: Fault) -> BTreeMap<String, String> {
    let mut untimely = BTreeMap::new();
    for (name, (clock, took_ms)) in waits {
        let expected_ms = fault.expected_ms(clock);
        let from_ms = match (fault, &**clock) {
            // The fault strikes as much later as the wait began earlier.
            (Fault::Suspend, "wall") => 0.0,
            _ => expected_ms - TOO_EARLY_MS,
        };
        let told = format!("{fault:?}: {name} took {took_ms} ms, and not {expected_ms} ms");
        // One that began after the fault has struck takes as long as without it.
        let least_ms = from_ms.min(LENGTH_MS - TOO_EARLY_MS);
        assert!(*took_ms >= least_ms, "{told}");
        if !(from_ms..=expected_ms + TOO_LATE_MS).contains(took_ms) {
            untimely.insert(name.clone(), told);
        }
    }
    untimely
}

/// A program that makes at least so many waits. Each has to be on time once.
fn check(folder: &Folder, words: &[&str], count: usize) {
    for fault in Fault::ALL {
        let mut never_timely: Option<BTreeMap<String, String>> = None;
        for _ in 0..ATTEMPTS {
            let waits = run(folder, words, fault);
            assert!(waits.len() >= count, "{fault:?}: {waits:?}");
            let mut now = untimely(&waits, fault);
            if let Some(before) = &never_timely {
                now.retain(|name, _| before.contains_key(name));
            }
            let is_done = now.is_empty();
            never_timely = Some(now);
            if is_done {
                break;
            }
        }
        assert_eq!(never_timely, Some(BTreeMap::new()));
    }
}

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/real/waits")
        .join(name)
}

/// Whether this is there and its version can be asked for; says so if not.
fn has(program: &str, version: &str) -> bool {
    let asked = Command::new(program)
        .arg(version)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    let is_there = asked.is_ok_and(|status| status.success());
    if !is_there {
        eprintln!("skipped: there is no {program}");
    }
    is_there
}

/// The tests of languages whose programs take long to build or to start.
fn is_long() -> bool {
    let is_long = std::env::var_os("LOCKLAB_LONG").is_some();
    if !is_long {
        eprintln!("skipped: LOCKLAB_LONG is not set");
    }
    is_long
}

/// Compiles a program; `None`, with the reason, where the compiler cannot.
fn compiled(folder: &Folder, compiler: &str, arguments: &[&str], name: &str) -> Option<PathBuf> {
    let program = folder.join("program");
    let mut command = Command::new(compiler);
    let done = command
        .args(arguments)
        .arg("-o")
        .args([&program, &source(name)])
        .output();
    match done {
        Ok(done) if done.status.success() => Some(program),
        Ok(done) => {
            eprintln!(
                "skipped: {compiler}: {}",
                String::from_utf8_lossy(&done.stderr)
            );
            None
        }
        Err(error) => {
            eprintln!("skipped: {compiler}: {error}");
            None
        }
    }
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path of text")
}

#[test]
fn c_waits_by_the_clock_that_it_reads() {
    let folder = Folder::new("waits-c");
    let program = folder.compile("waits/waits.c", &["-ldl"]);
    check(&folder, &[text(&program)], 64);
}

#[test]
fn python_waits_by_the_clock_that_it_reads() {
    if has("python3", "--version") {
        let folder = Folder::new("waits-python");
        check(&folder, &["python3", text(&source("waits.py"))], 23);
    }
}

#[test]
fn cpp_waits_by_the_clock_that_it_reads() {
    let folder = Folder::new("waits-cpp");
    let arguments = ["-std=c++20", "-pthread"];
    if is_long()
        && let Some(program) = compiled(&folder, "c++", &arguments, "waits.cpp")
    {
        check(&folder, &[text(&program)], 12);
    }
}

#[test]
fn rust_waits_by_the_clock_that_it_reads() {
    let folder = Folder::new("waits-rust");
    if is_long()
        && let Some(program) = compiled(&folder, "rustc", &["--edition=2021"], "waits.rs")
    {
        check(&folder, &[text(&program)], 7);
    }
}

#[test]
fn node_waits_by_the_clock_that_it_reads() {
    if is_long() && has("node", "--version") {
        let folder = Folder::new("waits-node");
        check(&folder, &["node", text(&source("waits.mjs"))], 10);
    }
}

#[test]
fn java_waits_by_the_clock_that_it_reads() {
    if !is_long() || !has("javac", "-version") {
        return;
    }
    let folder = Folder::new("waits-java");
    let classes = folder.join("classes");
    let done = Command::new("javac")
        .arg("-d")
        .args([&classes, &source("Waits.java")])
        .status();
    assert!(done.expect("it starts").success());
    check(&folder, &["java", "-cp", text(&classes), "Waits"], 20);
}

/// Whoever wakes a waiter need not hold the mutex, and may do so between two slices of the wait.
#[test]
fn no_wake_up_is_lost_between_two_looks_at_the_clock() {
    let folder = Folder::new("wake-ups");
    let program = folder.compile("waits/woken.c", &[]);
    let clock = folder.join("clock");
    let _clocks = ClockFile::create(&clock).expect("a new file");
    let variables = locklab_shim::environment(&folder.library, Some(&clock), None);
    let output = Command::new(&program)
        .envs(variables)
        .output()
        .expect("it starts");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stdout)
    );
}

/// The names in the lists of `waits.h`.
fn listed() -> Vec<String> {
    let header = Path::new(env!("CARGO_MANIFEST_DIR")).join("preload/waits.h");
    let header = fs::read_to_string(header).expect("it is in the tree");
    let names = header
        .split("each(")
        .skip(1)
        .filter_map(|rest| rest.split(')').next());
    names
        .filter(|name| name.chars().all(|c| c.is_alphanumeric() || c == '_'))
        .map(str::to_owned)
        .collect()
}

#[test]
fn docs_list_every_function_that_is_replaced() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/faults.md");
    let docs = fs::read_to_string(docs).expect("it is in the tree");
    let (_, section) = docs.split_once("## Clocks of programs").expect("a section");
    let listed = listed();
    assert!(listed.len() > 50, "{listed:?}");
    for name in &listed {
        assert!(
            section.contains(&format!("`{name}`")),
            "docs/faults.md lacks {name}"
        );
    }
    // And no other: the table's rows name functions and nothing else, but for the last one.
    let rows = section
        .lines()
        .filter(|line| line.starts_with("| ") && !line.starts_with("| the same"));
    let named = rows
        .filter_map(|row| row.split('|').nth(2))
        .flat_map(|cell| cell.split('`').skip(1).step_by(2));
    for name in named {
        assert!(listed.iter().any(|it| it == name), "{name} is not replaced");
    }
}
