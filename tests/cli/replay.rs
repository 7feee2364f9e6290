//! `locklab replay`: recordings as they were written, and damaged or edited ones.

use insta::assert_snapshot;

use crate::bench::{Bench, Done};

const RECORDING: &str = "target/locklab/kleppmann-k1/seed-3.jsonl";

/// A folder in which K1 was run with seed 3, and the recording of it.
fn recorded(test: &str) -> (Bench, String) {
    let bench = Bench::new(test);
    let run = bench.locklab(&["run", "kleppmann/k1", "--seed", "3"]);
    // One run can show that a property is violated, but not that it holds.
    assert_eq!(run.code, Some(3), "{}", run.told());
    let recording = bench.read(RECORDING);
    (bench, recording)
}

/// The recording with the first occurrence of a piece replaced.
fn edited(recording: &str, piece: &str, other: &str) -> String {
    assert!(recording.contains(piece), "{piece}");
    recording.replacen(piece, other, 1)
}

fn replay(bench: &Bench, contents: &str) -> Done {
    bench.write("x.jsonl", contents);
    bench.locklab(&["replay", "x.jsonl"])
}

#[test]
fn the_same_byte_for_byte() {
    let (bench, recording) = recorded("replay");
    let replayed = bench.locklab(&["replay", RECORDING]);
    assert_snapshot!("replay_text", replayed.told());
    assert_eq!(
        bench.read("target/locklab/kleppmann-k1/replay-seed-3.jsonl"),
        recording
    );
    let data = bench.locklab(&["replay", RECORDING, "--json"]).json();
    assert_eq!(data["identical"], true);
    assert_eq!(data["seed"], 3);
}

/// The events of such a recording differ from what its header produces now: the program
/// reports it, and the run as it is now is an ordinary recording.
#[test]
fn an_edited_schedule_is_executed() {
    let (bench, recording) = recorded("replay-edited");
    let pause = "\"duration_ns\":1500000000";
    let shorter = edited(&recording, pause, "\"duration_ns\":100000000");
    assert_snapshot!("replay_edited", replay(&bench, &shorter).told());
    let begin = recording.find("\"faults\":[").expect("a schedule") + "\"faults\":[".len();
    let end = begin
        + recording[begin..]
            .find("]},\"environment\"")
            .expect("its end");
    let empty = [&recording[..begin], &recording[end..]].concat();
    for changed in [shorter, empty] {
        assert_eq!(replay(&bench, &changed).code, Some(2));
        let again = bench.locklab(&["replay", "target/locklab/kleppmann-k1/replay-seed-3.jsonl"]);
        assert_eq!(again.code, Some(0), "{}", again.told());
    }
}

#[test]
fn an_edited_record_is_noticed() {
    let (bench, recording) = recorded("replay-record");
    let edited = edited(&recording, "\"wall_ns\":", "\"wall_ns\":1");
    let replayed = replay(&bench, &edited);
    assert_eq!(replayed.code, Some(2));
    assert!(
        replayed.out.contains("NOT the same: line 2 of x.jsonl"),
        "{}",
        replayed.out
    );
}

/// A history from real Redis is checked again; this one only claims to be one.
#[test]
fn a_recording_from_real_redis_is_judged_again() {
    let (bench, recording) = recorded("replay-redis");
    let redis = edited(
        &recording,
        "\"environment\":\"world\"",
        "\"environment\":\"redis\"",
    );
    // The claim is a change.
    assert_eq!(replay(&bench, &redis).code, Some(2));
    let redis = bench.read("target/locklab/kleppmann-k1/replay-seed-3.jsonl");
    let replayed = replay(&bench, &redis);
    assert_eq!(replayed.code, Some(0), "{}", replayed.told());
    assert!(
        replayed
            .out
            .contains("recorded on real Redis: judged again, with the same verdicts")
    );
    let otherwise = edited(
        &redis,
        "\"lease\":{\"verdict\":\"holds\"}",
        "\"lease\":{\"verdict\":\"inconclusive\",\"why\":\"nobody looked\"}",
    );
    assert_eq!(replay(&bench, &otherwise).code, Some(2));
    for (old, new) in [
        ("\"wall_ns\":", "\"wall_ns\":1"),
        ("\"seed\":", "\"seed\":1"),
    ] {
        let changed = replay(&bench, &edited(&redis, old, new));
        assert_eq!(changed.code, Some(2), "{}", changed.told());
    }
}

#[test]
fn what_is_no_regular_file_is_refused() {
    let bench = Bench::new("replay-irregular");
    for path in [".", "/dev/zero"] {
        let done = bench.locklab(&["replay", path]);
        assert_eq!(done.code, Some(1), "{}", done.told());
        assert!(done.err.contains("no regular file"), "{}", done.err);
    }
}

#[test]
fn damaged_recordings() {
    let (bench, recording) = recorded("replay-damaged");
    let files = [bench.files(), vec!["x.jsonl".into()]].concat();
    let told = |contents: &str| {
        let done = replay(&bench, contents);
        assert_eq!(done.code, Some(1), "{}", done.told());
        assert_eq!(bench.files(), files);
        done.err
    };
    let lines: Vec<&str> = recording.lines().collect();
    let without_a_line = [&lines[..5], &lines[6..]].concat().join("\n");
    let edits = [
        ("\"format\":1", "\"format\":9"),
        (
            "\"kind\":{\"kind\":\"pause\"",
            "\"kind\":{\"kind\":\"puase\"",
        ),
        ("\"hosts\":[\"c1\"]", "\"hosts\":[\"c7\"]"),
        ("\"nodes\":1", "\"nodes\":0"),
        ("\"name\":\"set-nx-px\"", "\"name\":\"set-nx-xp\""),
        ("\"ttl_ms\":1000", "\"ttl_ms\":1e300"),
        ("\"at_ns\":", "\"at_ns\":x"),
    ];
    let damaged = [
        String::new(),
        "once upon a time".into(),
        recording[..recording.len() / 2].into(),
        lines[..lines.len() - 1].join("\n"),
        without_a_line,
    ];
    let edits = edits.map(|(piece, other)| edited(&recording, piece, other));
    let all: String = damaged
        .iter()
        .chain(&edits)
        .map(|text| told(text))
        .collect();
    assert_snapshot!(all);
}

/// Every truncated recording is distinguished from a shorter run.
#[test]
fn a_cut_anywhere_is_an_error() {
    let (bench, recording) = recorded("replay-cut");
    for cut in (0..recording.len() - 1).step_by(recording.len() / 10) {
        let replayed = replay(&bench, &recording[..cut]);
        assert_eq!(replayed.code, Some(1), "{cut}: {}", replayed.told());
    }
}

#[test]
fn a_recording_that_is_not_there() {
    let bench = Bench::new("replay-unreadable");
    let done = bench.locklab(&["replay", "nowhere.jsonl"]);
    let expected = "error: cannot read nowhere.jsonl; give a .jsonl file that `locklab run` wrote: \
                    No such file or directory (os error 2)\n";
    assert_eq!((done.code, done.err.as_str()), (Some(1), expected));
    assert_eq!(bench.files(), [""; 0]);
}
