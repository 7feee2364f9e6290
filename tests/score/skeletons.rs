//! The drills that `locklab new --drill` writes: each is installed and run as its user is told, and does what is published
//! of the library that it examines. So the published scorecard is held to a run, too.

use std::fs;

use locklab_testing::{Skeleton, server};
use serde_json::Value;

/// The languages: what installs the drill, and the row of its lock in the scorecard.
const SKELETONS: [(&str, &str, &str); 5] = [
    ("python", "python3", "redis-py-Lock"),
    ("javascript", "npm", "redlock-Redlock"),
    ("go", "go", "redislock-Lock"),
    ("java", "mvn", "lock4j-RedisTemplateLockExecutor"),
    ("rust", "cargo", "rslock-LockManager"),
];

/// What each is held to: whose lock a release deletes, lost replies, late grants, dead holders.
const CELLS: [&str; 5] = ["O1", "O2a", "A1", "A3", "L1"];

#[test]
fn skeletons_do_what_is_published_of_their_libraries() {
    server();
    // CI has the first two, which install packages and build nothing.
    let (within_s, skeletons) = match std::env::var_os("LOCKLAB_LONG") {
        Some(_) => ("900", &SKELETONS[..]),
        None => ("60", &SKELETONS[..2]),
    };
    let published = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/reports/scorecard/scorecard.json"
    );
    let published = fs::read(published).expect("it is in the tree");
    let published: Value = serde_json::from_slice(&published).expect("it is JSON");
    for (language, installer, row) in skeletons {
        let rows = published["rows"].as_array().into_iter().flatten();
        let row = rows.into_iter().find(|it| it["name"] == *row);
        let row = row.expect("it is published");
        match played(language, installer, within_s) {
            Err(why) => println!("{language}: skipped: {why}"),
            Ok(seen) => assert_eq!(verdicts(&seen["experiments"]), verdicts(&row["cells"])),
        }
    }
}

/// What each of these cells comes to: its name, its verdict, and whether that is good.
fn verdicts(cells: &Value) -> Vec<[Value; 3]> {
    let cells = cells.as_array().into_iter().flatten();
    let is_meant = |cell: &&Value| CELLS.iter().any(|id| cell["id"] == *id);
    let verdict = |cell: &Value| {
        let verdict = &cell["verdict"];
        [&cell["id"], &verdict["is"], &verdict["good"]].map(Value::clone)
    };
    cells.filter(is_meant).map(verdict).collect()
}

/// Writes a drill, and does what Locklab says. An error says why it cannot be installed here.
fn played(language: &str, installer: &str, within_s: &'static str) -> Result<Value, String> {
    let locklab = env!("CARGO_BIN_EXE_locklab");
    let drill = Skeleton::new(locklab, "--drill", language, within_s);
    drill.install(installer)?;
    let run = drill.run.strip_prefix("score ").expect("a drill is scored");
    let cells = CELLS.join(" ");
    let score = drill.shell(&format!("'{locklab}' score {cells} --json {run}"), "600");
    let told = String::from_utf8_lossy(&score.stderr).into_owned();
    Ok(serde_json::from_slice(&score.stdout).unwrap_or_else(|_| panic!("{language}: {told}")))
}
