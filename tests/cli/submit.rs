//! `submit` and `status`, with a scheduler that is a shell script, or a real Slurm.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use insta::assert_snapshot;
use locklab_testing::{Slurm, until, why_no_slurm};

use crate::bench::{Bench, Done};

const SWEEP: [&str; 6] = [
    "sweep",
    "kleppmann/k1",
    "--vary",
    "lock.ttl_ms=500,2000",
    "--seeds",
    "6",
];

/// A scheduler that runs everything at once, and loses the second shard of its first array.
const SBATCH: &str = r#"#!/bin/sh
shift
case "$1" in
--array=*)
    list=${1#--array=}
    echo "$list" >>arrays
    case "$list" in *-*) list=$(seq -s , "${list%-*}" "${list#*-}") ;; esac
    for shard in $(echo "$list" | tr , ' '); do
        [ "$list" = 1,2,3 ] && [ "$shard" = 2 ] && continue
        SLURM_ARRAY_TASK_ID=$shard sh "$2" >&2 || exit 1
    done
    echo '7;cluster'
    ;;
*)
    echo "$1" >>arrays
    sh "$2" "$3" >&2 || exit 1
    echo 8
    ;;
esac
"#;

/// The program, with this scheduler on the path.
fn locklab(bench: &Bench, arguments: &[&str]) -> Done {
    let path = format!("{}:/usr/bin:/bin", bench.folder.display());
    let mut command = bench.command(arguments);
    Done::from(
        command
            .env("PATH", path)
            .output()
            .expect("the program runs"),
    )
}

#[test]
fn a_dry_run_prints_the_scripts_and_writes_nothing() {
    let bench = Bench::new("submit-dry");
    let words = "submit --slurm --shards 8 --folder jobs/k1 --dry-run --cpus 4 --time 1:00:00 \
                 --mem 2G --partition long --at-once 3 --sbatch=--constraint=avx2 -- \
                 sweep kleppmann/k1 --seeds 1000";
    let vary = ["--vary", "fault.gc.duration_ms={uniform=[1, 5]},7"];
    let words: Vec<&str> = words.split_whitespace().chain(vary).collect();
    let done = bench.locklab(&words);
    assert_eq!(done.code, Some(0), "{}", done.told());
    let folder = fs::canonicalize(&bench.folder).expect("it is there");
    let out = done.out.replace(&*folder.to_string_lossy(), "/shared");
    assert_snapshot!(out.replace(&*bench.folder.to_string_lossy(), "/shared"));
    assert!(bench.files().is_empty(), "{:?}", bench.files());
}

#[test]
fn a_lost_shard_is_submitted_again_and_the_merge_is_the_whole() {
    let bench = Bench::new("submit a job");
    let sbatch = bench.folder.join(bench.write("sbatch", SBATCH));
    fs::set_permissions(sbatch, fs::Permissions::from_mode(0o755)).expect("it is ours");
    let whole = bench.locklab(&[&SWEEP[..], &["--out", "whole"]].concat());
    assert_eq!(whole.code, Some(0), "{}", whole.told());
    let submit = [
        "submit", "--slurm", "--shards", "3", "--folder", "job", "--",
    ];
    let done = locklab(&bench, &[&submit[..], &SWEEP].concat());
    assert_eq!(done.code, Some(0), "{}", done.told());
    assert_eq!(done.out, "submitted: array 7, merge 8\n");
    assert_eq!(
        bench.read("arrays"),
        "1-3\n--dependency=afterany:7\n2\n--dependency=afterany:7\n"
    );
    bench.assert_alike("whole", "job/result");

    let status = bench.locklab(&["status", "job"]);
    assert_eq!(status.code, Some(0), "{}", status.told());
    assert_snapshot!(status.out);
    // The same again has nothing to do, and another job has another folder.
    let again = locklab(&bench, &[&submit[..], &SWEEP].concat());
    assert_eq!(again.code, Some(0), "{}", again.told());
    let other = [&submit[..], &SWEEP, &["--per-run"]].concat();
    let refused = locklab(&bench, &other);
    assert_eq!(refused.code, Some(1), "{}", refused.told());
    assert!(refused.err.contains("has another job"), "{}", refused.err);
}

#[test]
fn a_command_that_cannot_be_a_shard_is_refused() {
    let bench = Bench::new("submit-refused");
    for (command, told) in [
        ("list locks", "makes no runs that have shards"),
        ("sweep k1 --fresh", "leave --fresh out"),
        ("sweep k1 --shard 1/2", "a shard has --jobs, --shard"),
        ("sweep k1 --out here", "a shard has --jobs, --shard"),
        ("sweep k1 --jobs 3", "a shard has --jobs, --shard"),
        ("swep k1", "unrecognized subcommand 'swep'"),
    ] {
        let submit = "submit --slurm --shards 3 --folder job --dry-run --";
        let words: Vec<&str> = submit.split(' ').chain(command.split(' ')).collect();
        let done = bench.locklab(&words);
        assert_eq!(done.code, Some(1), "{}", done.told());
        assert!(done.in_one_line().contains(told), "{}", done.told());
    }
}

#[test]
fn status_tells_how_far_each_shard_is_and_what_is_wrong() {
    let bench = Bench::new("status");
    let shard = |shard: &str, out: &str| {
        let options = ["--shard", shard, "--out", out];
        let done = bench.locklab(&[&SWEEP[..], &options].concat());
        assert_eq!(done.code, Some(0), "{}", done.told());
        let files = bench.files().into_iter();
        let mut ledgers = files.filter(|name| name.starts_with(out) && name.ends_with(".jsonl"));
        ledgers.next().expect("a ledger")
    };
    let (two, three) = (shard("2/4", "two"), shard("3/4", "three"));
    shard("4/4", "four");
    // As if the second was killed before its last part, and a disk lost a piece of the third.
    let lines = bench.read(&two);
    let lines: Vec<&str> = lines.lines().collect();
    let fewer = lines[..lines.len() - 2].join("\n") + "\n";
    fs::write(bench.folder.join(&two), fewer).expect("it can be written");
    let damaged = bench.read(&three).replacen("\"holds\":", "\"hold\":", 1);
    fs::write(bench.folder.join(&three), damaged).expect("it can be written");
    let status = bench.locklab(&["status", "two", "three", "four", "--json"]);
    assert_eq!(status.code, Some(3), "{}", status.told());
    let shards = status.json()["works"][0]["shards"].clone();
    let states = [0, 1, 2, 3].map(|place| shards[place]["state"].as_str().map(String::from));
    let states: Vec<&str> = states.iter().flatten().map(|it| &**it).collect();
    assert_eq!(states, ["not-begun", "unfinished", "damaged", "complete"]);
    assert_eq!(shards[1]["planned"], 4);
    assert_eq!(shards[1]["runs"], 2);
    let unfinished = bench.locklab(&["status", ".", "--unfinished"]);
    assert_eq!((unfinished.code, &*unfinished.out), (Some(3), "1,2,3\n"));
    let none = bench.locklab(&["status", "two/kleppmann-k1/nowhere"]);
    assert_eq!(none.code, Some(1), "{}", none.told());
}

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
    let sweep = ["sweep", "kleppmann/k1", "--vary", vary, "--seeds", seeds];
    let whole = bench.locklab(&[&sweep[..], &["--out", "whole"]].concat());
    assert_eq!(whole.code, Some(0), "{}", whole.told());

    let submit = "submit --slurm --shards 8 --folder job --time 30 --mem 10M --";
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
            let status = bench.locklab(&["status", &folder, "--json"]);
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
    assert_eq!(bench.locklab(&["status", "job"]).code, Some(0));
    drop(slurm);
    let left = Command::new("pgrep")
        .args(["-f", "slurm.*locklab-cli"])
        .output();
    let left = left.map(|left| String::from_utf8_lossy(&left.stdout).into_owned());
    assert_eq!(left.unwrap_or_default(), "", "a process was left");
}
