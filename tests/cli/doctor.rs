//! `locklab doctor`: what is there, and what each missing part would add.

use std::process::Command;

use serde_json::Value;

use crate::bench::Bench;

/// A part of what the doctor found, with this program as the Redis server.
fn part(bench: &Bench, server: &str, name: &str) -> Value {
    let mut command = bench.command(&["doctor", "--json"]);
    command.env("LOCKLAB_REDIS_SERVER", bench.folder.join(server));
    let done = crate::bench::Done::from(command.output().expect("it starts"));
    assert_eq!(done.code, Some(0), "{}", done.told());
    let mut parts = done.json()["parts"].as_array().expect("parts").clone();
    parts.retain(|it| it["part"] == name);
    assert_eq!(parts.len(), 1, "{name}");
    parts.remove(0)
}

#[test]
fn what_is_missing_says_what_it_would_add() {
    let bench = Bench::new("doctor-nothing");
    let mut command = bench.command(&["doctor"]);
    // Wherever PostgreSQL is installed, that need not be on the path.
    command
        .env("PATH", &bench.folder)
        .env("LOCKLAB_POSTGRES", &bench.folder);
    let done = crate::bench::Done::from(command.output().expect("it starts"));
    assert_eq!(done.code, Some(0), "{}", done.told());
    let lines = done.in_one_line();
    for expected in ["it adds real servers", "it adds new --drill python"] {
        assert!(lines.contains(expected), "{expected}: {}", done.out);
    }
    assert!(!lines.contains('✓'), "{}", done.out);
}

#[test]
fn a_server_loads_the_library_unless_it_is_linked_statically() {
    let bench = Bench::new("doctor-server");
    // The shell loads it.
    let script = "script";
    let text = "#!/bin/sh\necho Redis server v=7.0.15\n";
    locklab_testing::script(&bench.folder.join(script), text);
    assert_eq!(part(&bench, script, "Redis")["found"], "7.0.15");
    assert!(part(&bench, script, "preloading")["missing"].is_null());

    let source =
        "#include <stdio.h>\nint main(void) { puts(\"Redis server v=7.0.15\"); return 0; }\n";
    bench.write("static.c", source);
    let mut cc = Command::new("cc");
    cc.args(["-static", "-o", "static", "static.c"]);
    if !cc
        .current_dir(&bench.folder)
        .status()
        .is_ok_and(|it| it.success())
    {
        println!("skipped: no program can be linked statically here");
        return;
    }
    assert_eq!(part(&bench, "static", "Redis")["found"], "7.0.15");
    let loads = part(&bench, "static", "preloading");
    assert!(loads["found"].is_null(), "{loads}");
}
