//! What a newcomer with bad luck types: each of it is refused with words, or understood.

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use insta::assert_snapshot;

use crate::bench::{Bench, Done};

/// The errors of these commands, one after the other; none of them writes a file.
fn refused(bench: &Bench, commands: &[&[&str]]) -> String {
    let files = bench.files();
    let told = |arguments: &&[&str]| {
        let done = bench.locklab(arguments);
        let command = arguments.join(" ");
        assert_eq!(done.code, Some(1), "{command}: {}", done.told());
        assert_eq!(done.out, "", "{command}");
        assert_eq!(bench.files(), files, "{command}");
        format!("$ locklab {command}\n{}", done.err)
    };
    commands.iter().map(told).collect()
}

/// The same of a command with one option after the other.
fn refused_each(test: &str, command: &[&str], options: &[&[&str]]) -> String {
    let bench = Bench::new(test);
    let commands = options.iter().map(|option| [command, option].concat());
    let commands: Vec<Vec<&str>> = commands.collect();
    let commands: Vec<&[&str]> = commands.iter().map(Vec::as_slice).collect();
    refused(&bench, &commands)
}

/// The first lines of the shipped K1.
fn k1() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/kleppmann/k1.toml");
    fs::read_to_string(path).expect("it ships")
}

#[test]
fn files_that_are_no_scenarios() {
    let bench = Bench::new("no-scenarios");
    fs::create_dir(bench.folder.join("folder")).expect("the folder can be written");
    bench.write("folder/a.toml", &k1());
    bench.write("empty.toml", "\n \n");
    bench.write("half.toml", "title = \"Mine\"\n");
    bench.write("large.toml", &"# padding\n".repeat(110_000));
    bench.write("recording.jsonl", "{\"locklab\":\"0.1.0\",\"format\":1}\n");
    for (name, bytes) in [
        ("binary.toml", &b"\x7fELF\x02\x01\x01\0\0"[..]),
        ("latin-1.toml", b"title = \"Mine\"\nabout = \"Stra\xdfe\"\n"),
        ("utf-16.toml", b"\xff\xfet\0i\0t\0l\0e\0"),
    ] {
        fs::write(bench.folder.join(name), bytes).expect("the folder can be written");
    }
    assert_snapshot!(refused(
        &bench,
        &[
            &["run", "folder"],
            &["run", "folder/"],
            &["run", "."],
            &["sweep", "folder"],
            &["view", "folder"],
            &["run", "empty.toml"],
            &["run", "half.toml"],
            &["run", "large.toml"],
            &["run", "binary.toml"],
            &["run", "latin-1.toml"],
            &["run", "utf-16.toml"],
            &["run", "recording.jsonl"],
            &["run", "/dev/null"],
            &["run", "/dev/zero"],
            &["run", "-"],
        ],
    ));
}

#[test]
fn names_that_are_unclear() {
    let bench = Bench::new("unclear");
    bench.write("mine.toml", &k1());
    assert_snapshot!(refused(
        &bench,
        &[
            &["run", "crash"],
            &["view", "B24"],
            &["run", "K99"],
            &["sweep", ""],
            &["run", "k1", "k1"],
            &["run", "K1", "kleppmann/k1"],
            &["run", "mine.toml", "./mine.toml"],
            &["confirm", "k1", "kleppmann/k1"],
            &["run", "mine"],
            &["run", "k1.toml"],
            &["run", "scenarios/kleppmann/k1.toml"],
            &["run", "k1", "r2", "--set", "resource.fencing=nowhere"],
        ],
    ));
}

/// The name and the fingerprint of the scenario that was run with seed 0.
fn ran(done: &Done) -> (String, String) {
    let data = done.json();
    let text = |key: &str| data["results"][0][key].as_str().expect(key).to_owned();
    (text("scenario"), text("fingerprint"))
}

const JSON: [&str; 3] = ["--seed", "0", "--json"];

#[test]
fn a_scenario_is_found_by_less_than_its_whole_name() {
    let bench = Bench::new("short-names");
    let run = |name| ran(&bench.locklab(&[&["run", name], &JSON[..]].concat()));
    let whole = run("kleppmann/k1");
    assert_eq!(whole.0, "kleppmann/k1");
    for name in ["k1", "K1", "Kleppmann/K1"] {
        assert_eq!(run(name), whole);
    }
    assert_eq!(run("b16").0, "redisson/watchdog-retries-too-late");
}

/// The same bytes are the same run, wherever they come from.
#[test]
fn a_scenario_is_read_from_standard_input_and_from_a_pipe() {
    let bench = Bench::new("pipes");
    let shipped = ran(&bench.locklab(&[&["run", "k1"], &JSON[..]].concat())).1;
    let fed = |arguments: &[&str]| {
        let mut command = bench.command(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::piped()).spawn().expect("it starts");
        let mut stdin = child.stdin.take().expect("a pipe");
        stdin.write_all(k1().as_bytes()).expect("it reads");
        drop(stdin);
        Done::from(child.wait_with_output().expect("it ends"))
    };
    for name in ["-", "/dev/stdin"] {
        let read = ran(&fed(&[&["run", name], &JSON[..]].concat()));
        assert_eq!(read, ("stdin".into(), shipped.clone()));
    }
    // Each cell of a sweep has the text, which can be read only once.
    let sweep = fed(&[
        "sweep",
        "-",
        "--vary",
        "lock.ttl_ms=500,900",
        "--seeds",
        "2",
    ]);
    assert_eq!(sweep.code, Some(0), "{}", sweep.told());

    let fifo = bench.folder.join("fifo");
    let made = Command::new("mkfifo").arg(&fifo).status();
    assert!(made.expect("mkfifo").success());
    let writer = std::thread::spawn(move || fs::write(fifo, k1()));
    let read = ran(&bench.locklab(&[&["run", "fifo"], &JSON[..]].concat()));
    assert_eq!(read, ("fifo".into(), shipped));
    writer.join().expect("no panic").expect("it is read");
}

const WITH_SEEDS: [&[&str]; 5] = [
    &["run", "k1"],
    &["sweep", "k1"],
    &["matrix"],
    &["campaign"],
    &["cost"],
];

#[test]
fn seeds_are_refused_alike_by_every_command() {
    let options = [
        "0",
        "-5",
        "-5..5",
        "5..5",
        "9..5",
        "many",
        "1.5",
        "0..=5",
        "1000000001",
        "99999999999999999999",
    ];
    let options: Vec<[&str; 2]> = options.iter().map(|seeds| ["--seeds", seeds]).collect();
    let options: Vec<&[&str]> = options.iter().map(|option| &option[..]).collect();
    let told = |command: &&[&str]| {
        let told = refused_each("seeds", command, &options);
        told.replace(&command.join(" "), "…")
    };
    let told: Vec<String> = WITH_SEEDS.iter().map(told).collect();
    for other in &told {
        assert_eq!(*other, told[0]);
    }
    assert_snapshot!(told[0]);
}

#[test]
fn seeds_are_read_alike_by_every_command() {
    let bench = Bench::new("seeds-read");
    let small: [&[&str]; 5] = [
        &["run", "k1"],
        &["sweep", "k1", "--vary", "lock.ttl_ms=900"],
        &["matrix", "--lock", "setnx", "--problem", "outlives"],
        &["campaign", "--lock", "setnx"],
        &["cost", "--lock", "setnx"],
    ];
    for command in small {
        let run = |seeds| {
            let done = bench.locklab(&[command, &["--seeds", seeds, "--json"]].concat());
            assert_ne!(done.code, Some(1), "{}", done.told());
            done.json()
        };
        assert_eq!(run("2"), run("0..2"), "{command:?}");
        // Without a lease nothing is violated there, with any seed.
        if command[0] != "matrix" {
            assert_ne!(run("0..3"), run("7..10"), "{command:?}");
        }
    }
    let sweep = [
        "sweep",
        "k1",
        "--vary",
        "lock.ttl_ms=900,950",
        "--seeds",
        "7..9",
        "--json",
    ];
    let common = bench.locklab(&sweep).json();
    assert_eq!(
        (&common["first_seed"], &common["runs_in_each_cell"]),
        (&7.into(), &2.into())
    );
}

#[test]
fn numbers_that_do_not_fit() {
    let run = ["run", "k1"];
    let all = [
        refused_each(
            "jobs",
            &run,
            &[&["--jobs", "-1"], &["--jobs", "0"], &["--jobs", "x"]],
        ),
        refused_each(
            "seed",
            &run,
            &[&["--seed", "1..5"], &["--seed", "-1"], &["--seed", "x"]],
        ),
        refused_each(
            "port",
            &["serve"],
            &[&["--port", "-1"], &["--port", "65536"]],
        ),
        refused_each(
            "scale",
            &["confirm", "k1"],
            &[&["--scale", "-1"], &["--runs", "-1"]],
        ),
        refused_each("cost", &["cost"], &[&["--seeds", "2000000"]]),
    ];
    assert_snapshot!(all.concat());
}

#[test]
fn overrides_that_do_not_fit() {
    let sets = [
        "lock=5",
        "lock.ttl_ms=",
        "lock.ttl_ms= ",
        "lock.ttl_ms=-5",
        "lock.ttl_ms=1.5",
        "lock.ttl_ms=true",
        "lock.ttl_ms=\"5\"",
        "lock.ttl_ms=123456789012345678901234",
        "lock.ttl_ms=1e400",
        "lock.ttl_ms={ a = 1 }",
        "=5",
        "topology=5",
        "topology.nodes=-1",
        "topology.nodes=4294967296",
        "workload.hold_ms=999999999999999999999999",
        "workload.hold_ms=soon",
        "horizon_ms=-1",
        "fault=1",
        "fault.gc=1",
        "title=5",
        "sweep.vary=1",
        "resource.fencing=1",
        "expect=1",
        "expect.lease=5",
        "expect.lease=maybe",
        "expect.lease={ verdict = \"violated\", rate = [1] }",
    ];
    let options: Vec<[&str; 2]> = sets.iter().map(|set| ["--set", set]).collect();
    let options: Vec<&[&str]> = options.iter().map(|option| &option[..]).collect();
    assert_snapshot!(refused_each("overrides", &["run", "k1"], &options));
}

#[test]
fn grids_that_do_not_fit() {
    let axes = [
        "a=0..10/3.5",
        "a=0..10/0",
        "a=0..10/-1",
        "a=0..10/",
        "a=10..0/5",
        "a=5..5/3",
        "a=1..2..3/4",
        "a=5,6,5",
        "a=",
        "=1,2",
        "lock.ttl_ms=0..10/3",
        "lock.ttl_ms=-5..5/2",
        "lock.ttl_ms=0..1000000/1000000",
    ];
    let options: Vec<[&str; 2]> = axes.iter().map(|axis| ["--vary", axis]).collect();
    let options: Vec<&[&str]> = options.iter().map(|option| &option[..]).collect();
    assert_snapshot!(refused_each("grids", &["sweep", "k1"], &options));
}

#[test]
fn what_is_given_twice() {
    let lock = "lock={ name = \"set-nx-px\", ttl_ms = 6 }";
    let run = refused_each(
        "twice",
        &["run", "k1"],
        &[
            &["--set", "lock.ttl_ms=5", "--set", "lock.ttl_ms=5"],
            &["--set", "lock.ttl_ms=5", "--set", " lock . ttl_ms =6"],
            &["--set", "lock.ttl_ms=5", "--set", lock],
        ],
    );
    let sweep = refused_each(
        "twice-swept",
        &["sweep", "k1"],
        &[
            &["--set", "lock.ttl_ms=5", "--vary", "lock.ttl_ms=5,6"],
            &["--set", "fault.gc.duration_ms=5"],
            &["--vary", "lock.ttl_ms=5,6", "--vary", "lock.ttl_ms=7"],
        ],
    );
    let faults = ["--fault", "pause", "--set", "campaign.faults=[\"kill\"]"];
    let campaign = refused_each("twice-drawn", &["campaign"], &[&faults]);
    assert_snapshot!(run + &sweep + &campaign);
}

#[test]
fn properties_that_nothing_judges() {
    let run = refused_each(
        "unjudged",
        &["run", "k1"],
        &[
            &["--set", "expect.recovery=holds"],
            &["--set", "expect.acknowledged-lost=violated"],
            &["--set", "headline=recovery"],
        ],
    );
    let adds = refused_each(
        "unjudged-adds",
        &["run", "j2-adds"],
        &[&["--set", "expect.lease=holds"]],
    );
    let property = ["--property", "recovery"];
    let sweep = refused_each("unjudged-sweep", &["sweep", "k1"], &[&property]);
    assert_snapshot!(run + &adds + &sweep);
}

#[test]
fn options_that_do_not_go_together() {
    let bench = Bench::new("together");
    bench.write("mine.toml", &k1());
    assert_snapshot!(refused(
        &bench,
        &[
            &["serve", "--sentinels", "3"],
            &["list", "locks", "--on", "redis"],
            &["matrix", "--lock", "redlok"],
            &["matrix", "--lock", "nonsense"],
            &["reproduce", "--only", "K99"],
            &["view", "k1", "--out", "."],
            &["replay", "k1"],
            &["run", "k1", "--format", "jpg"],
            &["help", "nonsense"],
        ],
    ));
}

/// As a mail program or an editor of Windows writes it.
#[test]
fn a_recording_with_line_ends_of_windows() {
    let bench = Bench::new("windows");
    bench.locklab(&["run", "k1", "--seed", "0"]);
    let recording = bench.read("target/locklab/kleppmann-k1/seed-0.jsonl");
    bench.write("windows.jsonl", &recording.replace('\n', "\r\n"));
    let commands: [&[&str]; 2] = [&["replay", "windows.jsonl"], &["view", "windows.jsonl"]];
    assert_snapshot!(refused(&bench, &commands));
}

#[test]
fn a_value_with_a_unit_is_told_to_have_none() {
    let bench = crate::bench::Bench::new("unit");
    for value in ["1s", "2.5 ms", "10µs"] {
        let done = bench.locklab(&[
            "run",
            "kleppmann/k1",
            "--set",
            &format!("lock.ttl_ms={value}"),
        ]);
        assert_eq!(done.code, Some(1), "{}", done.told());
        let expected =
            "a value has no unit; write a number, in the unit that the name of lock.ttl_ms";
        assert!(done.err.contains(expected), "{}", done.told());
    }
}

#[test]
fn too_little_memory_is_an_error_and_no_signal() {
    let with = |kib: &str| {
        let line = "ulimit -v $0 && exec \"$1\" run kleppmann/k1 --seed 0";
        let mut shell = Command::new("sh");
        let words = ["-c", line, kib, env!("CARGO_BIN_EXE_locklab")];
        shell.args(words).output().expect("sh")
    };
    let little = with("98304");
    assert_eq!(little.status.code(), Some(1), "{little:?}");
    let said = String::from_utf8_lossy(&little.stderr);
    let expected = "limited to 96 MiB, and Locklab needs 128";
    assert!(said.contains(expected), "{said}");
    let enough = with("131072");
    assert_ne!(enough.status.code(), Some(1), "{enough:?}");
    assert!(enough.status.code().is_some(), "{enough:?}");
}
