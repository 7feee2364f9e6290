//! Without a clock and without a log the library changes nothing; and programs other than a
//! Redis server.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::Command;

use locklab_shim::{ClockFile, ClockReader, Readings, SyncedLog};
use locklab_testing::{program, until};
use locklab_values::units::{NS_PER_S, NS_PER_US};

use crate::folder::Folder;
use crate::preloaded::clocks;
use crate::server::{Plan, is_there};

const US_PER_S: u64 = NS_PER_S / NS_PER_US;

#[test]
fn library_without_faults_changes_nothing() {
    if !is_there() {
        return;
    }
    let mut plan = Plan::new("none");
    plan.options = vec!["--appendonly", "yes", "--appendfsync", "always"];
    let server = plan.start();
    let maps = fs::read_to_string(format!("/proc/{}/maps", server.id())).unwrap();
    assert!(maps.contains("liblocklab_shim.so"));
    let before_us = Readings::of_machine().wall_ns / NS_PER_US;
    let time_us = server.time_us();
    assert!((before_us..=Readings::of_machine().wall_ns / NS_PER_US).contains(&time_us));
    server.ask("SET lock x PX 1");
    until(|| match server.ask_one("GET lock").as_str() {
        "(nil)" => Ok(()),
        value => Err(value.to_owned()),
    });
    server.ask("SET lock x");
    server.kill();
    assert_eq!(plan.start().ask_one("GET lock"), "x");
    let files = fs::read_dir(plan.folder.join(".")).unwrap();
    assert_eq!(files.count(), 2, "the library and the data");
}

#[test]
fn a_process_without_a_clock_reads_the_right_time() {
    let folder = Folder::new("right-time");
    let before = Readings::of_machine();
    let [wall, _, mono, _, _, _] = clocks(&folder, None);
    let after = Readings::of_machine();
    assert!((before.wall_ns..=after.wall_ns).contains(&wall));
    assert!((before.mono_ns..=after.mono_ns).contains(&mono));
}

#[test]
fn a_sentinel_starts_with_wrong_clocks() {
    if !is_there() {
        return;
    }
    let mut plan = Plan::new("sentinel");
    let clock = plan.folder.join("clock");
    let mut clocks = ClockFile::create(&clock).unwrap();
    clocks.step_wall(-3_600 * NS_PER_S.cast_signed()).unwrap();
    let configuration = plan.data().join("sentinel.conf");
    fs::write(&configuration, "sentinel resolve-hostnames no\n").unwrap();
    plan.clock = Some(clock.clone());
    plan.synced = Some(plan.folder.join("synced"));
    plan.options = vec!["--sentinel"];
    let server = plan.start_with(&configuration);
    let reader = ClockReader::open(&clock).unwrap();
    let before_us = reader.now().wall_ns / NS_PER_US;
    // A sentinel has no TIME, but INFO has its time of day.
    let time_us: u64 = server.info("server_time_usec").parse().unwrap();
    assert!((before_us..=reader.now().wall_ns / NS_PER_US).contains(&time_us));
    assert_eq!(server.info("sentinel_masters"), "0");
    server.ask("SENTINEL MONITOR m 127.0.0.1 1 1");
    // It has synced its file.
    let log = SyncedLog::read(plan.synced.as_ref().unwrap()).unwrap();
    let metadata = fs::metadata(&configuration).unwrap();
    assert_eq!(log.durable_bytes(&metadata), metadata.len());
}

/// Redis calls `time` only for its log. A shell can be asked for it, and for `gettimeofday`.
#[test]
fn time_and_gettimeofday_are_wrong_too() {
    let folder = Folder::new("time");
    let clock = folder.join("clock");
    let mut clocks = ClockFile::create(&clock).unwrap();
    clocks
        .step_wall(1_000_000 * NS_PER_S.cast_signed())
        .unwrap();
    let reader = ClockReader::open(&clock).unwrap();
    let before_us = reader.now().wall_ns / NS_PER_US;
    let output = Command::new("bash")
        .args(["-c", "printf '%(%s)T %s' -1 $EPOCHREALTIME"])
        .env("LC_ALL", "C")
        .envs(locklab_shim::environment(
            &folder.library,
            Some(&clock),
            None,
        ))
        .output();
    let after_us = reader.now().wall_ns / NS_PER_US;
    let Ok(output) = output else {
        eprintln!("SKIPPED: there is no bash");
        return;
    };
    let said = String::from_utf8(output.stdout).unwrap();
    let (s, us) = said.split_once(' ').unwrap();
    let s: u64 = s.parse().unwrap();
    assert!((before_us / US_PER_S..=after_us / US_PER_S).contains(&s));
    let us: u64 = us.replace('.', "").parse().unwrap();
    assert!((before_us..=after_us).contains(&us), "{us}");
}

/// A thread that a library starts while ours maps the clock file.
#[test]
fn a_thread_that_arrives_during_the_preparation_reads_the_wrong_clock() {
    let folder = Folder::new("arrival");
    let clock = folder.join("clock");
    let mut clocks = ClockFile::create(&clock).unwrap();
    clocks
        .step_wall(1_000_000 * NS_PER_S.cast_signed())
        .unwrap();
    let reader = ClockReader::open(&clock).unwrap();
    let library = folder.compile("arrival.c", &["-shared", "-fPIC"]);
    let mut variables = locklab_shim::environment(&folder.library, Some(&clock), None);
    let preload = variables
        .iter_mut()
        .find(|(name, _)| name == "LD_PRELOAD")
        .unwrap();
    preload.1.push(":");
    preload.1.push(library);
    let before_s = reader.now().wall_ns / NS_PER_S;
    let output = Command::new("true").envs(variables).output().unwrap();
    let after_s = reader.now().wall_ns / NS_PER_S;
    let read_s: u64 = String::from_utf8(output.stdout)
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    assert!((before_s..=after_s).contains(&read_s), "{read_s}");
}

/// A library that is loaded behind ours and asks for the next function gets the one behind itself, and not its own.
#[test]
fn a_library_behind_finds_what_is_next() {
    let folder = Folder::new("next");
    let library = folder.compile("next.c", &["-shared", "-fPIC"]);
    let mut variables = locklab_shim::environment(&folder.library, None, None);
    let preload = { variables.iter_mut() }.find(|(name, _)| name == "LD_PRELOAD");
    let preload = &mut preload.unwrap().1;
    preload.push(":");
    preload.push(library);
    let output = Command::new("true").envs(variables).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "1 call\n");
}

/// `sync` calls `fsync` for its arguments, or with `-d` `fdatasync`.
#[test]
fn only_regular_files_are_logged_as_synced() {
    let folder = Folder::new("sync");
    let (file, other, log) = (
        folder.join("file"),
        folder.join("other"),
        folder.join("log"),
    );
    let sync = |arguments: &[&OsStr]| {
        let status = Command::new("sync")
            .args(arguments)
            .envs(locklab_shim::environment(&folder.library, None, Some(&log)))
            .status();
        assert!(status.unwrap().success());
    };
    let noted = || {
        let log = SyncedLog::read(&log).unwrap();
        [&file, &other].map(|path| log.durable_bytes(&fs::metadata(path).unwrap()))
    };
    fs::write(&file, "12345").unwrap();
    fs::write(&other, "123").unwrap();
    sync(&[file.parent().unwrap().as_os_str()]);
    assert_eq!(fs::read(&log).unwrap(), b"");
    sync(&[file.as_os_str()]);
    assert_eq!(noted(), [5, 0]);
    fs::write(&file, "1234567").unwrap();
    assert_eq!(noted(), [5, 0]);
    sync(&["-d".as_ref(), other.as_os_str(), file.as_os_str()]);
    assert_eq!(noted(), [7, 3]);
    // A shorter file is shorter on the disk too.
    fs::write(&file, "12").unwrap();
    sync(&[file.as_os_str()]);
    assert_eq!(noted(), [2, 3]);
    // A new file is another, even if it is given the same inode.
    fs::remove_file(&file).unwrap();
    fs::write(&file, "1").unwrap();
    assert_eq!(noted(), [0, 3]);
}

#[test]
fn a_server_may_change_its_folder() {
    let relative = Path::new("x");
    for (name, value) in locklab_shim::environment(relative, Some(relative), Some(relative)) {
        assert!(Path::new(&value).is_absolute(), "{name:?} {value:?}");
    }
}

#[test]
fn the_loader_does_not_complain() {
    if !is_there() {
        return;
    }
    let folder = Folder::new("loader");
    let output = Command::new(program())
        .arg("--version")
        .envs(locklab_shim::environment(&folder.library, None, None))
        .output()
        .unwrap();
    assert!(output.status.success());
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}
