//! A process without access to its fault files ends immediately, with the reason.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;

use locklab_shim::{ClockReader, ClockRecord, Readings, SyncedLog};
use locklab_values::units::NS_PER_S;

use crate::folder::Folder;

#[track_caller]
fn check(folder: &Folder, clock: Option<&Path>, synced: Option<&Path>, expected: &str) {
    let variables = locklab_shim::environment(&folder.library, clock, synced);
    let output = Command::new("true").envs(variables).output().unwrap();
    assert_eq!(output.status.code(), Some(127));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.starts_with("locklab-shim: ") && said.contains(expected),
        "{said}"
    );
}

#[test]
fn files_that_cannot_be_used() {
    let folder = Folder::new("failures");
    let missing = folder.join("missing/file");
    check(&folder, Some(&missing), None, "cannot be opened");
    check(&folder, None, Some(&missing), "cannot be opened");
    let clock = folder.join("clock");
    fs::write(&clock, "LLCLOCK3").unwrap();
    check(&folder, Some(&clock), None, "too short");
    fs::write(&clock, [0; 72]).unwrap();
    check(&folder, Some(&clock), None, "no clock file");
}

/// A program of somebody else goes on, and the file says why its run counts for nothing.
#[test]
fn a_program_that_is_not_ours_is_not_ended() {
    let folder = Folder::new("not-ours");
    let failures = folder.join("failures");
    let missing = folder.join("missing/file");
    let mut variables = locklab_shim::environment(&folder.library, Some(&missing), None);
    variables.push(locklab_shim::failures_to(&failures));
    let output = Command::new("true").envs(variables).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let said = fs::read_to_string(&failures).unwrap();
    assert!(
        said.contains("cannot be opened") && said.contains("missing/file"),
        "{said}"
    );
}

/// As a daemon does when it starts. Its own files then have the numbers of those that it closed.
#[test]
fn a_process_that_closes_every_descriptor_has_no_foreign_lines_in_its_files() {
    let folder = Folder::new("daemon");
    let program = folder.compile("daemon.c", &[]);
    let (data, log) = (folder.join("data"), folder.join("log"));
    let output = Command::new(program)
        .arg(&data)
        .envs(locklab_shim::environment(&folder.library, None, Some(&log)))
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(fs::read_to_string(&data).unwrap(), "own");
    let log = SyncedLog::read(&log).unwrap();
    assert_eq!(log.durable_bytes(&fs::metadata(&data).unwrap()), 3);
}

/// Readers do not wait for it without end.
#[test]
fn a_writer_that_died_in_the_middle_of_a_change() {
    let folder = Folder::new("died");
    let clock = folder.join("clock");
    let wall_offset_ns = -86_400_000_000_000;
    let record = ClockRecord {
        version: 1,
        wall_offset_ns,
        ..ClockRecord::default()
    };
    fs::write(&clock, record.to_bytes()).unwrap();
    let reader = ClockReader::open(&clock).unwrap();
    let right = Readings::of_machine();
    let wrong = reader.convert(right);
    assert_eq!(
        wrong.wall_ns,
        right.wall_ns.saturating_add_signed(wall_offset_ns)
    );
    let output = Command::new("date")
        .arg("+%s")
        .envs(locklab_shim::environment(
            &folder.library,
            Some(&clock),
            None,
        ))
        .output();
    let said = String::from_utf8(output.unwrap().stdout).unwrap();
    let s: u64 = said.trim().parse().unwrap();
    assert!((wrong.wall_ns / NS_PER_S..right.wall_ns / NS_PER_S).contains(&s));
}

#[test]
fn a_sync_that_cannot_be_noted() {
    let folder = Folder::new("full");
    let file = folder.join("file");
    fs::write(&file, "x").unwrap();
    let full = Path::new("/dev/full");
    let variables = locklab_shim::environment(&folder.library, None, Some(full));
    let output = Command::new("sync").arg(&file).envs(variables).output();
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(127));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("cannot be noted"), "{said}");
}

#[test]
fn a_folder_that_the_loader_cannot_name() {
    let folder = Folder::new("names");
    for name in ["a b", "a:b"] {
        let path = folder.join(name);
        fs::create_dir(&path).unwrap();
        let error = locklab_shim::install(&path).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert_eq!(fs::read_dir(&path).unwrap().count(), 0);
    }
}

#[test]
fn same_library_is_kept_and_another_is_replaced() {
    use std::os::unix::fs::MetadataExt;
    let folder = Folder::new("again");
    let inode = || fs::metadata(&folder.library).unwrap().ino();
    let first = inode();
    let again = locklab_shim::install(folder.library.parent().unwrap()).unwrap();
    assert_eq!((&again, inode()), (&folder.library, first));
    let library = fs::read(&again).unwrap();
    fs::write(&again, "an older one").unwrap();
    locklab_shim::install(folder.library.parent().unwrap()).unwrap();
    assert_eq!(fs::read(&again).unwrap(), library);
}
