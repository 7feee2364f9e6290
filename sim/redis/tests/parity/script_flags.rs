//! The flags that scripts declare in their first line.
//!
//! A line is a request; words with spaces are in backticks, where `\n` is a line's end.

use locklab_testing::free_ports;

use crate::pair::Pair;
use crate::wire::{Likeness, words};

fn check(cases: &[&str]) {
    let mut pair = Pair::start(1);
    let mut failures = Vec::new();
    for case in cases {
        pair.clear();
        for line in case.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let words = words(&line.replace("\\n", "\n"), '`');
            let words: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
            if let Err(difference) = pair.compare(0, &words, Likeness::Bytes) {
                failures.push(difference);
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn first_lines_of_scripts() {
    let first_lines = [
        "#!lua",
        "#!lua flags=",
        "#!lua flags=no-writes",
        "#!lua flags=nope",
        "#!lua flags=no-writes,allow-oom",
        "#!lua flags=no-writes,,allow-oom",
        "#!lua flags=no-writes,",
        "#!lua flags=NO-WRITES",
        "#!lua flags=\"no-writes\"",
        "#!lua flags=no-writes flags=allow-oom",
        "#!lua  flags=no-writes  x",
        "#!lua Flags=no-writes",
        "#!lua name=x",
        "#!LUA",
        "#! lua",
        "#!",
        "#!lua \"",
    ];
    let cases: Vec<String> = first_lines
        .iter()
        .map(|line| {
            format!(
                "EVAL `{line}\\nreturn 1` 0
                 EVAL_RO `{line}\\nreturn 1` 0
                 SCRIPT LOAD `{line}\\nreturn 1`
                 EVAL `{line}\\nreturn redis.call('set', 'a', '1')` 0
                 EVAL_RO `{line}\\nreturn redis.call('set', 'a', '1')` 0
                 EVAL `{line}` 0"
            )
        })
        .collect();
    check(&cases.iter().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn read_only_scripts_cannot_publish() {
    let mut lines = String::new();
    for command in ["publish"] {
        for body in [
            format!("return redis.call('{command}', 'c', 'm')"),
            format!("return redis.pcall('{command}', 'c', 'm')"),
            format!("#!lua\\nreturn redis.call('{command}', 'c', 'm')"),
            format!("#!lua flags=no-writes\\nreturn redis.call('{command}', 'c', 'm')"),
            format!("#!lua flags=no-writes\\nreturn redis.pcall('{command}', 'c', 'm')"),
        ] {
            let sha = sha1_smol::Sha1::from(body.replace("\\n", "\n"))
                .digest()
                .to_string();
            lines += &format!(
                "EVAL `{body}` 0
                 EVAL_RO `{body}` 0
                 EVALSHA {sha} 0
                 EVALSHA_RO {sha} 0
                "
            );
        }
    }
    check(&[&lines]);
}

#[test]
fn commands_allowed_in_read_only_scripts() {
    let scripts = [
        "return 1",
        "#!lua\\nreturn 1",
        "#!lua flags=no-writes\\nreturn 1",
        "#!lua flags=allow-stale\\nreturn 1",
        "#!lua flags=no-writes,allow-stale\\nreturn 1",
        "#!lua flags=no-writes,allow-stale\\nreturn redis.call('get', 'a')",
        "#!lua flags=nope\\nreturn 1",
        "return redis.call('set', 'a', '1')",
    ];
    let lines: Vec<String> = scripts
        .iter()
        .map(|script| {
            format!(
                "EVAL `{script}` 0
                 EVAL_RO `{script}` 0
                 MULTI
                 EVAL `{script}` 0
                 EXEC"
            )
        })
        .collect();
    let lines = lines.join("\n");
    // Nobody listens there: a port that this process has bound and closed.
    let [no_master] = free_ports();
    check(&[&format!(
        "CONFIG SET min-replicas-to-write 1
         {lines}
         CONFIG SET min-replicas-to-write 0
         REPLICAOF 127.0.0.1 {no_master}
         {lines}
         CONFIG SET replica-serve-stale-data no
         {lines}
         CONFIG SET replica-serve-stale-data yes
         REPLICAOF NO ONE"
    )]);
}
