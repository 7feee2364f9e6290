//! A recording that was written is read again, and other files are rejected.

use locklab_vecmap::VecMap;
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

use super::*;
use arbitrary::recordings;
use locklab_history::{Event, Op};

mod arbitrary;

const PATH: &str = "runs/7.jsonl";

fn read_text(text: &str) -> Result<Recording, String> {
    read(text.as_bytes(), Path::new(PATH)).map_err(|error| error.to_string())
}

fn record(at_ns: u64, host: &str, event: Event) -> Record {
    Record {
        at_ns,
        host: host.into(),
        wall_ns: 1_000 + at_ns,
        mono_ns: at_ns,
        event,
    }
}

fn sample() -> Recording {
    let header = Header {
        locklab: VERSION.into(),
        format: FORMAT,
        scenario: serde_json::json!({ "title": "K1" }),
        seed: 7,
        schedule: Schedule::default(),
        environment: Environment::World,
        redis: None,
        program: vec![],
        unshown: VecMap::new(),
        lease_ns: None,
        lock: None,
    };
    let records = vec![
        record(
            0,
            "c1",
            Event::Invoke {
                call: 1,
                op: Op::Acquire,
            },
        ),
        record(
            5,
            "c1",
            Event::BeliefBegins {
                grant: 1,
                deadline: None,
                token: Some(33),
                shared: false,
            },
        ),
    ];
    let messages = vec![Message {
        sent_ns: 0,
        arrived_ns: Some(2),
        from: "c1".into(),
        to: "n1".into(),
        label: "SET lock … NX PX 1000".into(),
    }];
    let verdicts = VecMap::from([(Property::Lease, Verdict::Holds)]);
    let history = History {
        records,
        messages,
        end_ns: 9,
    };
    let footer = Footer {
        trace_hash: "00ff".into(),
        verdicts,
    };
    Recording {
        header,
        history,
        footer,
    }
}

const SAMPLE: &str = r#"{"locklab":"0.1.0","format":1,"scenario":{"title":"K1"},"seed":7,"schedule":{"faults":[]},"environment":"world"}
{"at_ns":0,"host":"c1","wall_ns":1000,"mono_ns":0,"event":"invoke","call":1,"op":"acquire"}
{"at_ns":5,"host":"c1","wall_ns":1005,"mono_ns":5,"event":"belief-begins","grant":1,"token":33}
{"sent_ns":0,"arrived_ns":2,"from":"c1","to":"n1","label":"SET lock … NX PX 1000"}
{"end":{"at_ns":9,"records":2,"messages":1,"trace_hash":"00ff","verdicts":{"lease":{"verdict":"holds"}}}}
"#;

/// The sample with one of its lines, counted from 1, replaced or removed.
fn with_line(number: usize, replacement: Option<&str>) -> String {
    let lines = SAMPLE.lines().zip(1..);
    let lines = lines.filter_map(|(line, n)| if n == number { replacement } else { Some(line) });
    lines.map(|line| format!("{line}\n")).collect()
}

#[track_caller]
fn check_error(file: &str, expected: &str) {
    assert_eq!(read_text(file).unwrap_err(), format!("{PATH}:{expected}"));
}

#[test]
fn the_form_is_the_documented_one() {
    assert_eq!(String::from_utf8(write(&sample())).unwrap(), SAMPLE);
    assert_eq!(read_text(SAMPLE), Ok(sample()));
}

#[test]
fn spaces_and_a_missing_last_newline_do_not_matter() {
    assert_eq!(read_text(SAMPLE.trim_end()), Ok(sample()));
    let spaced = SAMPLE.replace("{\"at_ns\":", " { \"at_ns\": ");
    assert_eq!(read_text(&spaced), Ok(sample()));
}

#[test]
fn file_that_is_not_a_recording_is_rejected() {
    for file in ["", "\n", "title = \"K1\"", "{\"seed\":7}\n", "\u{0}\u{1}"] {
        check_error(
            file,
            "1: this is not a recording of a run, a .jsonl file that `locklab run` wrote; one begins with {\"locklab\":\"0.1.0\",…",
        );
    }
}

#[test]
fn other_format_is_rejected_and_later_release_with_this_format_is_read() {
    assert!(read_text(&SAMPLE.replacen("0.1.0", "0.2.9", 1)).is_ok());
    let of = |format: &str| SAMPLE.replacen("\"format\":1,", format, 1);
    let newer = "read it with a newer version";
    for (format, number, advice) in [
        ("\"format\":2,", 2, newer),
        ("\"format\":99,", 99, newer),
        ("", 0, "run the scenario again"),
    ] {
        check_error(
            &of(format),
            &format!(
                "1: recorded by Locklab 0.1.0 in format {number}, and Locklab 0.1.0 reads \
                 format 1; {advice}"
            ),
        );
    }
    // The format is read first: of a new one even the header may be unknown.
    let header = "{\"locklab\":\"9.0.0\",\"format\":7,\"new\":1}\n";
    let newer = read_text(header).unwrap_err();
    assert!(
        newer.contains("recorded by Locklab 9.0.0 in format 7"),
        "{newer}"
    );
}

#[test]
fn a_missing_line_is_noticed() {
    check_error(
        &with_line(3, None),
        "4: the recording is truncated: its last line counts 2 records, but it has 1",
    );
    check_error(
        &with_line(4, None),
        "4: the recording is truncated: its last line counts 1 messages, but it has 0",
    );
    check_error(
        &with_line(5, None),
        "4: the recording is truncated: it has no last line, which begins with {\"end\":",
    );
}

#[test]
fn a_bad_line_is_named() {
    check_error(
        &with_line(2, Some("{\"at_ns\":0,\"host\":\"c1\",\"wall_ns\":0}")),
        "2: missing field `mono_ns`, at column 35",
    );
    check_error(
        &with_line(2, Some("{\"at_ns\":x")),
        "2: expected value, at column 10",
    );
    check_error(
        &with_line(3, Some("{\"at\":5}")),
        "3: a line begins with \"at_ns\", \"sent_ns\" or \"end\"; this one does not",
    );
    check_error(
        &with_line(3, Some("")),
        "3: EOF while parsing a value, at column 0",
    );
    let early = SAMPLE.replace("{\"at_ns\":0,", "{\"at_ns\":6,");
    check_error(&early, "3: this record is earlier than the one before it");
    check_error(
        &format!("{SAMPLE}{SAMPLE}"),
        "6: there is text after the recording's last line",
    );
    let lines: Vec<&str> = SAMPLE.lines().collect();
    check_error(
        &[lines[0], lines[3], lines[1]].join("\n"),
        "3: a record follows a message",
    );
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 64,
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(
            "tests/regressions/history-file.txt",
        ))),
        ..ProptestConfig::default()
    })]

    #[test]
    fn recording_round_trips_byte_for_byte(recording in recordings()) {
        let file = write(&recording);
        let again = read(&file, Path::new(PATH)).unwrap();
        let mut expected = recording;
        if expected.header.environment == Environment::Redis {
            // In a file it is the hash of the lines.
            expected.footer.trace_hash.clone_from(&again.footer.trace_hash);
        }
        prop_assert_eq!(&again, &expected);
        prop_assert_eq!(write(&again), file);
    }

    #[test]
    fn a_file_cut_anywhere_is_truncated(recording in recordings(), cut in any::<prop::sample::Index>()) {
        let file = write(&recording);
        let cut = &file[..cut.index(file.len() - 1)];
        let error = read(cut, Path::new(PATH)).unwrap_err();
        let in_first_key = cut.len() < "{\"locklab".len();
        match error {
            FileError::Truncated { .. } => {}
            FileError::NotARecording { .. } if in_first_key => {}
            error => prop_assert!(false, "{}", error),
        }
    }

    #[test]
    fn any_change_of_a_byte_is_read_or_refused(
        recording in recordings(),
        place in any::<prop::sample::Index>(),
        byte: u8,
    ) {
        let mut file = write(&recording);
        let place = place.index(file.len());
        file[place] = byte;
        if let Ok(read_anyway) = read(&file, Path::new(PATH)) {
            prop_assert!(read(&write(&read_anyway), Path::new(PATH)).is_ok());
        }
    }
}
