//! A Redis server that loses its power.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

use locklab_shim::SyncedLog;
use locklab_shim::power::{Loss, lose_unsynced, settle};
use locklab_testing::until;

use crate::folder::Folder;
use crate::preloaded::Preloaded;
use crate::server::{Plan, Server, is_there};

fn plan(test: &str, options: &[&'static str]) -> Plan {
    let mut plan = Plan::new(test);
    plan.synced = Some(plan.folder.join("synced"));
    plan.options = options.to_vec();
    plan
}

fn append_only(test: &str, policy: &'static str) -> Plan {
    let options = ["--save", "", "--appendonly", "yes", "--appendfsync", policy];
    plan(test, &options)
}

fn lose(plan: &Plan) -> Vec<Loss> {
    lose_unsynced(&plan.data(), plan.synced.as_ref().unwrap()).unwrap()
}

/// The append-only file of the server.
fn increment(plan: &Plan) -> PathBuf {
    let files = fs::read_dir(plan.data().join("appendonlydir")).unwrap();
    let mut paths = files.map(|file| file.unwrap().path());
    let found = paths.find(|path| path.to_string_lossy().ends_with(".incr.aof"));
    found.expect("an append-only file")
}

/// Waits until all of a file is on the disk.
fn await_sync(plan: &Plan, file: &Path) {
    let synced = plan.synced.as_ref().unwrap();
    until(|| {
        let metadata = fs::metadata(file).unwrap();
        let durable = SyncedLog::read(synced).unwrap().durable_bytes(&metadata);
        match durable == metadata.len() {
            true => Ok(()),
            false => Err(format!("{durable} of {} bytes", metadata.len())),
        }
    });
}

fn value_after_restart(plan: &Plan) -> String {
    plan.start().ask_one("GET lock")
}

#[test]
fn a_write_that_is_always_synced_survives() {
    if !is_there() {
        return;
    }
    let plan = append_only("always", "always");
    let server = plan.start();
    server.ask("SET lock x");
    let synced_bytes = fs::metadata(increment(&plan)).unwrap().len();
    server.kill();
    assert_eq!(lose(&plan), []);
    assert_eq!(fs::metadata(increment(&plan)).unwrap().len(), synced_bytes);
    assert_eq!(value_after_restart(&plan), "x");
}

#[test]
fn a_write_that_is_never_synced_survives_a_kill_and_no_power_loss() {
    if !is_there() {
        return;
    }
    let plan = append_only("no", "no");
    let server = plan.start();
    server.ask("SET lock x");
    server.kill();
    let again = plan.start();
    assert_eq!(again.ask_one("GET lock"), "x");
    again.kill();
    let bytes_before = fs::metadata(increment(&plan)).unwrap().len();
    let loss = Loss {
        path: increment(&plan),
        bytes_before,
        bytes_kept: 0,
    };
    assert_eq!(lose(&plan), [loss]);
    assert_eq!(value_after_restart(&plan), "(nil)");
    assert_eq!(lose(&plan), []);
}

#[test]
fn everysec_writes_survive_if_they_are_on_the_disk() {
    if !is_there() {
        return;
    }
    let plan = append_only("everysec", "everysec");
    let server = plan.start();
    server.ask("SET lock x");
    await_sync(&plan, &increment(&plan));
    let kept = fs::metadata(increment(&plan)).unwrap().len();
    // Redis continues without a sync: later writes are not on the disk.
    server.ask("CONFIG SET appendfsync no");
    server.ask("SET lock y");
    server.kill();
    let losses = lose(&plan);
    let [loss] = &losses[..] else {
        panic!("{losses:?}");
    };
    assert_eq!((&loss.path, loss.bytes_kept), (&increment(&plan), kept));
    assert_eq!(value_after_restart(&plan), "x");
}

#[test]
fn a_snapshot_survives() {
    if !is_there() {
        return;
    }
    let plan = plan("snapshot", &["--save", "", "--appendonly", "no"]);
    let server = plan.start();
    server.ask("SET lock x");
    server.ask("SAVE");
    server.ask("SET lock y");
    server.kill();
    assert_eq!(lose(&plan), []);
    assert_eq!(value_after_restart(&plan), "x");
}

#[test]
fn the_snapshot_of_a_child_survives() {
    if !is_there() {
        return;
    }
    let plan = plan("child", &["--save", "", "--appendonly", "no"]);
    let server = plan.start();
    server.ask("SET lock x");
    server.ask("BGSAVE");
    await_child(&server, "rdb_bgsave_in_progress");
    assert_eq!(server.info("rdb_last_bgsave_status"), "ok");
    server.kill();
    assert_eq!(lose(&plan), []);
    assert_eq!(value_after_restart(&plan), "x");
}

fn await_child(server: &Server, field: &str) {
    until(|| match server.info(field).as_str() {
        "0" => Ok(()),
        _ => Err(format!("{field} is not 0")),
    });
}

/// A child syncs the rewritten file, and no process syncs the new increment. New files reuse the
/// inodes of the replaced ones; old lines of the log must not apply to them.
#[test]
fn a_rewritten_append_only_file_survives_and_its_unsynced_increment_does_not() {
    if !is_there() {
        return;
    }
    let plan = append_only("rewrite", "no");
    let server = plan.start();
    for round in 0..5 {
        server.ask(&format!("SET lock {round}"));
        server.ask("BGREWRITEAOF");
        await_rewrite(&server, round);
    }
    server.ask("SET lock later");
    server.kill();
    let losses = lose(&plan);
    let [loss] = &losses[..] else {
        panic!("{losses:?}");
    };
    assert_eq!((&loss.path, loss.bytes_kept), (&increment(&plan), 0));
    assert_eq!(value_after_restart(&plan), "4");
}

/// The name of the increment counts the rewrites; the one at the start is 1.
fn await_rewrite(server: &Server, round: u32) {
    let done = format!("{}", round + 1);
    until(|| {
        let state = [
            "aof_rewrite_in_progress",
            "aof_rewrite_scheduled",
            "aof_last_bgrewrite_status",
            "aof_rewrites",
        ]
        .map(|field| server.info(field));
        match state.each_ref().map(String::as_str) {
            ["0", "0", "ok", rewrites] if rewrites == done => Ok(()),
            _ => Err(format!("{state:?}")),
        }
    });
}

#[test]
fn power_loss_affects_only_files_below_the_folder() {
    let folder = Folder::new("lose");
    let data = folder.join("data");
    fs::create_dir_all(data.join("deeper")).unwrap();
    let (log, beside) = (folder.join("synced"), folder.join("beside"));
    fs::write(&log, "").unwrap();
    for path in [&beside, &data.join("b"), &data.join("deeper/a")] {
        fs::write(path, "12345").unwrap();
    }
    fs::write(data.join("empty"), "").unwrap();
    std::os::unix::fs::symlink(&beside, data.join("link")).unwrap();
    let lost = |name| Loss {
        path: data.join(name),
        bytes_before: 5,
        bytes_kept: 0,
    };
    let losses = lose_unsynced(&data, &log).unwrap();
    assert_eq!(losses, [lost("b"), lost("deeper/a")]);
    assert_eq!(fs::read(data.join("deeper/a")).unwrap(), b"");
    assert_eq!(fs::read(&beside).unwrap(), b"12345");
}

/// A new file may get the inode of one that is gone, with the same time of birth. The second names
/// tell what is noted of such an inode.
#[test]
fn of_a_file_that_is_gone_nothing_is_on_the_disk() {
    let folder = Folder::new("gone");
    let (data, log) = (folder.join("data"), folder.join("synced"));
    fs::create_dir(&data).unwrap();
    Preloaded::start_noting(&folder, None, Some(&log), "files").finish();
    let losses = lose_unsynced(&data, &log).unwrap();
    let lost: Vec<_> = losses.iter().map(|loss| loss.path.clone()).collect();
    assert_eq!(lost, [data.join("gone-too"), data.join("replaced-too")]);
    assert_eq!(fs::read(data.join("kept-too")).unwrap(), b"synced");
}

/// The program syncs each file, opens it again by the function of its name, and writes without a sync.
#[test]
fn of_a_file_that_was_opened_anew_nothing_is_on_the_disk() {
    let folder = Folder::new("emptied");
    let (data, log) = (folder.join("data"), folder.join("synced"));
    fs::create_dir(&data).unwrap();
    let done = Command::new(folder.compile("emptied.c", &[]))
        .arg(&data)
        .envs(locklab_shim::environment(&folder.library, None, Some(&log)))
        .output()
        .unwrap();
    assert!(done.status.success(), "{done:?}");
    let losses = lose_unsynced(&data, &log).unwrap();
    let lost: Vec<_> = losses
        .iter()
        .filter(|loss| loss.bytes_kept == 0)
        .map(|loss| loss.path.file_name().unwrap().to_str().unwrap())
        .collect();
    let emptied = [
        "creat",
        "creat64",
        "fopen",
        "fopen64",
        "freopen",
        "freopen64",
        "ftruncate",
        "ftruncate64",
        "open",
        "open64",
        "openat",
        "openat64",
        "truncate",
        "truncate64",
    ];
    assert_eq!(lost, emptied);
    for kept in ["continued", "read", "refused", "shortened", "lengthened"] {
        assert_eq!(fs::read(data.join(kept)).unwrap(), b"synced", "{kept}");
    }
}

#[test]
fn what_was_there_before_the_run_survives() {
    let folder = Folder::new("settled");
    let (data, log) = (folder.join("data"), folder.join("synced"));
    fs::create_dir_all(data.join("below")).unwrap();
    fs::write(&log, "").unwrap();
    let [old, grown] = ["old", "below/grown"].map(|name| data.join(name));
    fs::write(&old, "12345").unwrap();
    fs::write(&grown, "12345").unwrap();
    settle(&data, &log).unwrap();
    fs::write(&grown, "1234567").unwrap();
    fs::write(data.join("new"), "1").unwrap();
    let kept = lose_unsynced(&data, &log).unwrap();
    let kept: Vec<_> = kept.iter().map(|loss| loss.bytes_kept).collect();
    assert_eq!(kept, [5, 0]);
    assert_eq!(fs::read(old).unwrap(), b"12345");
}

#[test]
fn invalid_sync_log_discards_nothing() {
    let folder = Folder::new("no-log");
    let data = folder.join("data");
    fs::create_dir(&data).unwrap();
    fs::write(data.join("a"), "12345").unwrap();
    let kind = |log: &Path| lose_unsynced(&data, log).unwrap_err().kind();
    assert_eq!(kind(&folder.join("synced")), ErrorKind::NotFound);
    fs::write(folder.join("synced"), "1 2 3\n").unwrap();
    assert_eq!(kind(&folder.join("synced")), ErrorKind::InvalidData);
    fs::write(data.join("synced"), "").unwrap();
    assert_eq!(kind(&data.join("synced")), ErrorKind::InvalidInput);
    assert_eq!(fs::read(data.join("a")).unwrap(), b"12345");
}

/// `mv` and `rm` name files by their folder.
#[test]
fn a_name_that_goes_from_a_folder_is_noted() {
    let folder = Folder::new("names-in-folders");
    let synced = folder.join("synced");
    let script = "set -e; dd if=/dev/zero of=one count=1 conv=fsync; : > two; mv -f two one; rm one; \
                  dd if=/dev/zero of=three count=1 conv=fsync; rm three";
    let done = Command::new("sh")
        .args(["-c", script])
        .current_dir(folder.join("."))
        .env("LD_PRELOAD", &folder.library)
        .env("LOCKLAB_SYNCED", &synced)
        .output()
        .unwrap();
    assert!(done.status.success(), "{done:?}");
    let log = fs::read_to_string(&synced).unwrap();
    let sizes: Vec<&str> = log
        .lines()
        .filter_map(|line| line.rsplit(' ').next())
        .collect();
    // Opened, synced; the other opened; replaced, its replacement removed; opened, synced, removed.
    let expected = ["0", "512", "0", "0", "0", "0", "512", "0"];
    assert_eq!(sizes, expected, "{log}");
}
