//! A Redis server whose disk is full. It answers as the stories of the simulated node say, `disk.txt`.

use locklab_shim::{ClockFile, SyncedLog};
use locklab_testing::until;

use crate::server::{Plan, Server, is_there};

const NOT_APPENDED: &str = "MISCONF Errors writing to the AOF file: No space left on device";

/// A server with these options, and what fills its disk.
fn start(test: &str, options: &[&'static str]) -> Option<(Plan, Server, ClockFile)> {
    if !is_there() {
        return None;
    }
    let mut plan = Plan::new(test);
    let clock = plan.folder.join("clock");
    let file = ClockFile::create(&clock).unwrap();
    (plan.clock, plan.synced) = (Some(clock), Some(plan.folder.join("synced")));
    plan.options = options.to_vec();
    let server = plan.start();
    Some((plan, server, file))
}

/// What it answers, also if that is an error.
fn said(server: &Server, command: &str) -> String {
    match server.try_ask(command) {
        Ok(answer) => answer.join(" "),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_server_that_cannot_append_refuses_writes_until_it_can() {
    let options = [
        "--save",
        "",
        "--appendonly",
        "yes",
        "--appendfsync",
        "everysec",
    ];
    let Some((plan, server, mut disk)) = start("full-append", &options) else {
        return;
    };
    assert_eq!(said(&server, "SET k v"), "OK");
    disk.set_disk_full(true).unwrap();
    assert_eq!(
        said(&server, "SET k w PX 50000"),
        "OK",
        "it has not noticed yet"
    );
    let script = |call: &str| format!("EVAL \"return redis.call('{call}', KEYS[1])\" 1 k");
    for (command, answer) in [
        ("SET k x", NOT_APPENDED),
        ("PING", NOT_APPENDED),
        ("GET k", "w"),
        (&script("get"), "w"),
    ] {
        assert_eq!(said(&server, command), answer, "{command}");
    }
    let refused = said(&server, &script("del"));
    assert!(refused.starts_with(NOT_APPENDED), "{refused}");
    disk.set_disk_full(false).unwrap();
    until(|| match said(&server, "SET k y") {
        answer if answer == "OK" => Ok(()),
        answer => Err(answer),
    });
    // The log of what is on the disk is no file of the server's.
    assert!(SyncedLog::read(plan.synced.as_ref().unwrap()).is_ok());
    server.kill();
    assert_eq!(plan.start().ask_one("GET k"), "y");
}

#[test]
fn a_server_that_cannot_save_refuses_writes_until_it_can() {
    let options = ["--save", "1 1", "--appendonly", "no"];
    let Some((_plan, server, mut disk)) = start("full-save", &options) else {
        return;
    };
    disk.set_disk_full(true).unwrap();
    assert_eq!(said(&server, "SET k v"), "OK");
    let is_refused = || match said(&server, "SET k w") {
        answer if answer.starts_with("MISCONF Redis is configured to save RDB snapshots") => Ok(()),
        answer => Err(answer),
    };
    until(is_refused);
    disk.set_disk_full(false).unwrap();
    until(|| match said(&server, "SET k w") {
        answer if answer == "OK" => Ok(()),
        answer => Err(answer),
    });
}
