//! `submit` with a real Slurm; with a scheduler that is a shell script it is in `transcripts/submit.txt`.

use std::process::Command;

use locklab_testing::{Slurm, until, why_no_slurm};

use crate::bench::{Bench, Done};

/// Eight elements on two nodes. One is killed, one is requeued as if it was preempted, and the second
/// node is drained; the result is that of the command without shards.
#[test]
fn the_shards_of_a_job_on_real_slurm_join_to_the_whole() {
    if let Some(why) = why_no_slurm() {
        eprintln!("SKIPPED: {why}");
        return;
    }
    let bench = Bench::new("slurm");
    let slurm = Slurm::start(&bench.folder.join("slurm"));
    let seeds = if cfg!(debug_assertions) {
        "240"
    } else {
        "8000"
    };
    let vary = "fault.gc.duration_ms=0..2300/23";
    let sweep = [
        "study",
        "sweep",
        "kleppmann/k1",
        "--vary",
        vary,
        "--seeds",
        seeds,
    ];
    let whole = bench.locklab(&[&sweep[..], &["--out", "whole"]].concat());
    assert_eq!(whole.code, Some(0), "{}", whole.told());

    let submit = "shards submit --slurm --shards 8 --folder job --time 30 --mem 10M --";
    let words: Vec<&str> = submit.split(' ').chain(sweep).collect();
    let submitted = bench
        .command(&words)
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("SLURM_CONF", slurm.conf())
        .output();
    let done = Done::from(submitted.expect("the program runs"));
    assert_eq!(done.code, Some(0), "{}", done.told());
    let array = done.out.split_once("array ").expect("its number").1;
    let array = array.split(',').next().unwrap_or_default();

    let element = |shard: usize| format!("{array}_{shard}");
    let is_half_done = |shard: usize| {
        let folder = format!("job/shard-{shard}");
        until(|| {
            let status = bench.locklab(&["shards", "status", &folder, "--json"]);
            if status.code != Some(3) {
                return Err(status.told());
            }
            let status = status.json()["works"][0]["shards"][shard - 1].clone();
            match (status["state"].as_str(), status["runs"].as_u64()) {
                (Some("unfinished"), Some(1..)) => Ok(()),
                _ => Err(format!("{status}")),
            }
        });
    };
    let ask = |program: &str, words: &[&str]| {
        let answer = slurm.ask(program, words);
        answer.unwrap_or_else(|| panic!("{program} {words:?}"))
    };
    is_half_done(1);
    ask("scancel", &["--signal=KILL", "--full", &element(1)]);
    is_half_done(2);
    ask("scontrol", &["requeue", &element(2)]);
    let drain = ["update", "NodeName=n2", "State=DRAIN", "Reason=a test"];
    ask("scontrol", &drain);
    // Slurm lets a requeued job wait for two minutes, once it has ended.
    let state = ["-h", "-j", &element(2), "-o", "%T %r"];
    until(|| match ask("squeue", &state).trim() {
        "PENDING BeginTime" => Ok(()),
        other => Err(other.to_owned()),
    });
    let start = format!("JobId={}", element(2));
    ask("scontrol", &["update", &start, "StartTime=now"]);
    slurm.wait();
    let log = bench.read("job/log/merge.log");
    assert!(log.contains("submitted: array "), "{log}");
    let requeued = bench.read("job/log/shard-2.log");
    assert!(requeued.contains("DUE TO JOB REQUEUE"), "{requeued}");
    assert!(requeued.contains("runs were already done"), "{requeued}");
    let killed = bench.read("job/log/shard-1.log");
    assert!(killed.contains("runs were already done"), "{killed}");
    let states = ask("sinfo", &["-h", "-N", "-o", "%N %T"]);
    assert!(states.contains("n2 drained"), "{states}");
    bench.assert_alike("whole", "job/result");
    assert_eq!(bench.locklab(&["shards", "status", "job"]).code, Some(0));
    drop(slurm);
    let left = Command::new("pgrep")
        .args(["-f", "slurm.*locklab-cli"])
        .output();
    let left = left.map(|left| String::from_utf8_lossy(&left.stdout).into_owned());
    assert_eq!(left.unwrap_or_default(), "", "a process was left");
}
