//! The command that repeats a violation.

use std::fs;
use std::path::Path;

use crate::bench::{LOCK, attack_that_counts};

const SCENARIO: &str = r#"
title = "A pause at a time"
horizon_ms = 5000

[topology]
nodes = 1
clients = 2

[lock]
name = "set-nx-px"
ttl_ms = 1000

[fault.gc]
kind = "pause"
on = "c1"
at_ms = 800
duration_ms = 2500
"#;

/// c1 takes the lock, reads, and is paused by the time of the run, past its lease. In the next run it comes a second
/// later, and the same happens: the scenario that repeats the first has the pause after the grant.
#[test]
fn a_fault_at_a_time_strikes_again_where_the_program_was() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("attack-again");
    fs::create_dir_all(&folder).expect("a folder");
    let file = folder.join("at.toml").display().to_string();
    fs::write(&file, SCENARIO).expect("a file");
    let script = |late: &str| {
        format!(
            r#"{LOCK}
            [ "$LOCKLAB_HOST" = c1 ] && sleep {late} || sleep 2
            take lock 1000
            redis "$LOCKLAB_RESOURCE" GET key
            sleep 1.2
            redis "$LOCKLAB_RESOURCE" SET key "$reply+1"
            give lock"#
        )
    };
    let Some((code, told)) =
        attack_that_counts("attack-again/first", &["--scenario", &file], &script("0"))
    else {
        return;
    };
    // The writer stood still, so that nobody blames its lock; and the lease is not decided by one run.
    assert_eq!(code, Some(3), "{told}");
    let again = { told.split_whitespace() }.find(|word| word.ends_with("-again.toml"));
    let again = again.unwrap_or_else(|| panic!("no scenario repeats the run: {told}"));
    let written = fs::read_to_string(again).expect("it is there");
    assert!(written.contains("after = \"c1 acquired\""), "{written}");
    let server = redis_server();
    let options = ["--scenario", again, "--server", &server];
    let (code, told) = attack_that_counts("attack-again/second", &options, &script("1"))
        .expect("there is a shell");
    assert_eq!(code, Some(3), "{told}");
    assert!(told.contains("resource, lost-update: c1 wrote"), "{told}");
    // That scenario places its fault so itself. Its command names the file, not the scenario, and the server.
    let command = format!("attack --server {server} --scenario {again} ");
    assert!(told.contains(&command), "{told}");
}

/// Where the usual server is.
fn redis_server() -> String {
    let path = std::env::var_os("PATH").expect("it is set");
    let mut files = std::env::split_paths(&path).map(|folder| folder.join("redis-server"));
    let file = files.find(|file| file.is_file());
    file.expect("it is installed").display().to_string()
}
