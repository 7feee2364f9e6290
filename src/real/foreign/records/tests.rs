//! Programs that tell the truth, nonsense, or nothing exact; each test has the lines and the records.

use locklab_values::units::NS_PER_MS;

use super::super::answers::segment;
use super::*;

/// A host whose clocks are right, or whose monotonic clock is fast or slow by a half.
#[derive(PartialEq)]
enum Clocks {
    Right,
    Fast,
    Slow,
}

impl HostReadings for Clocks {
    fn at(&self, _: &Name, mono_ns: u64) -> Readings {
        let mono_ns = match self {
            Clocks::Right => mono_ns,
            Clocks::Fast => mono_ns + mono_ns / 2,
            Clocks::Slow => mono_ns / 2,
        };
        Readings {
            wall_ns: mono_ns,
            mono_ns,
        }
    }

    fn may_be_wrong(&self, _: &Name) -> bool {
        *self != Clocks::Right
    }
}

/// News of c1's first process, which came about between these milliseconds.
fn told(after_ms: u64, by_ms: u64, news: News) -> Told {
    Told {
        host: "c1".into(),
        start: 1,
        after_ns: after_ms * NS_PER_MS,
        by_ns: by_ms * NS_PER_MS,
        news,
    }
}

/// A line that was written between these milliseconds.
fn line(after_ms: u64, by_ms: u64, json: &str) -> Told {
    let text = format!("{{\"locklab\":{json}}}");
    told(after_ms, by_ms, News::read(&text).expect("it is one"))
}

fn began() -> Told {
    told(0, 0, News::Began)
}

/// The records, each with its milliseconds.
#[track_caller]
fn check(told: &[Told], expected: &[(u64, &str)]) -> Converted {
    check_with(Clocks::Right, told, expected)
}

#[track_caller]
fn check_with(clocks: Clocks, told: &[Told], expected: &[(u64, &str)]) -> Converted {
    let converted = convert(told, &Answers::default(), &clocks);
    let short = |record: &Record| {
        let event = match &record.event {
            Event::Invoke { op, .. } => format!("calls {op:?}"),
            Event::Complete { op, outcome, .. } => format!("{op:?} returns {outcome:?}"),
            Event::BeliefBegins {
                grant, deadline, ..
            } => match deadline {
                None => format!("has {grant}"),
                Some(deadline) => format!("has {grant} to {}", deadline.at_ns / NS_PER_MS),
            },
            Event::BeliefEnds { grant } => format!("ends {grant}"),
            Event::Released { removed, .. } => format!("removed {removed}"),
            event if event.is_reached(Failpoint::GivingUp) => "gives up".to_owned(),
            other => format!("{other:?}"),
        };
        (record.at_ns / NS_PER_MS, event)
    };
    let records = converted.locks.values().flat_map(|lock| &lock.records);
    let found: Vec<(u64, String)> = records.map(short).collect();
    let expected = expected
        .iter()
        .map(|(ms, event)| (*ms, (*event).to_owned()));
    assert_eq!(found, expected.collect::<Vec<_>>());
    converted
}

#[test]
fn a_program_with_stamps_is_recorded_like_our_own_clients() {
    let converted = check(
        &[
            began(),
            line(9, 11, r#""acquiring","ns":10000000"#),
            line(19, 21, r#""refused","ns":20000000"#),
            line(29, 31, r#""acquiring","ns":30000000"#),
            line(39, 41, r#""acquired","ns":40000000,"ttl_ms":100"#),
            line(79, 81, r#""extended","ns":80000000,"ttl_ms":100"#),
            line(89, 91, r#""releasing","ns":90000000"#),
            line(94, 96, r#""released","ns":95000000,"removed":1"#),
        ],
        &[
            (10, "calls Acquire"),
            (20, "Acquire returns Failed"),
            (30, "calls Acquire"),
            (40, "Acquire returns Ok"),
            (40, "has 1 to 140"),
            (80, "has 1 to 180"),
            (90, "ends 1"),
            (90, "calls Release"),
            (95, "Release returns Ok"),
            (95, "removed 1"),
        ],
    );
    assert_eq!(converted.notes, [""; 0]);
}

/// It was paused in its call of acquire, and finds that its lease is over.
#[test]
fn a_grant_that_came_after_its_lease_gives_nothing() {
    let late = line(39, 41, r#""acquired","ns":40000000,"ttl_ms":-7.5"#);
    check(&[began(), late], &[(40, "has 1 to 40")]);
}

/// The line came late, or was written late: nothing is certain but what lies between.
#[test]
fn without_stamps_a_belief_is_as_long_as_is_certain_and_no_call_is_known() {
    check(
        &[
            began(),
            line(5, 6, r#""acquiring""#),
            line(10, 30, r#""acquired","ttl_ms":100"#),
            line(50, 90, r#""releasing""#),
            line(95, 96, r#""released""#),
        ],
        &[(30, "has 1 to 110"), (50, "ends 1")],
    );
    // Both lines came at once.
    check(
        &[
            began(),
            line(10, 30, r#""acquired""#),
            line(10, 30, r#""releasing""#),
        ],
        &[(30, "has 1"), (30, "ends 1")],
    );
}

#[test]
fn a_stamp_from_another_clock_is_not_believed() {
    let stamped = |ns: u64| format!("\"acquired\",\"ns\":{ns}");
    // In the future, and before the process began.
    let late = told(20, 20, News::Began);
    for ns in [31_000_000, 19_000_000] {
        check(
            &[late.clone(), line(25, 30, &stamped(ns))],
            &[(30, "has 1")],
        );
    }
    // It was paused before it wrote the line.
    let paused = [began(), line(25, 30, &stamped(10_000_000))];
    check(&paused, &[(10, "has 1")]);
}

/// The program may go by its host's clock, or by the machine's: what is certain ends with the first of them.
#[test]
fn without_stamps_a_lease_ends_by_the_clock_that_is_over_first() {
    let told = [began(), line(40, 41, r#""acquired","ttl_ms":100"#)];
    // By its host's clock at 160 of it, by the machine's at 140 ms, when its host's shows 210.
    check_with(Clocks::Fast, &told, &[(41, "has 1 to 160")]);
    // At 120, which it shows at 240 ms; and at 140 ms, when it shows 70.
    check_with(Clocks::Slow, &told, &[(41, "has 1 to 70")]);
}

#[test]
fn a_wrong_clock_is_converted_to_true_time() {
    // The clock shows 60 ms at 40 ms, and 160 ms at 106.
    let fast = Clocks::Fast;
    check_with(
        fast,
        &[
            began(),
            line(39, 41, r#""acquired","ns":60000000,"ttl_ms":100"#),
            line(49, 51, r#""releasing","ns":75000000"#),
        ],
        &[(40, "has 1 to 160"), (50, "ends 1"), (50, "calls Release")],
    );
    // The program reads the machine's clock, by which its lease ends at 140 ms: its host's shows 210.
    let fast = Clocks::Fast;
    check_with(
        fast,
        &[
            began(),
            line(39, 41, r#""acquired","ns":40000000,"ttl_ms":100"#),
            line(49, 51, r#""releasing","ns":50000000"#),
        ],
        &[(40, "has 1 to 210"), (50, "ends 1"), (50, "calls Release")],
    );
}

#[test]
fn nonsense_is_noted_once_and_makes_no_belief() {
    let converted = check(
        &[
            began(),
            line(1, 2, r#""released""#),
            line(3, 4, r#""released""#),
            line(5, 6, r#""releasing""#),
            line(7, 8, r#""extended""#),
            line(9, 10, r#""lost""#),
            line(11, 12, r#""grabbed""#),
        ],
        &[],
    );
    let begin = |note: &String| note.split(':').next().map(String::from);
    let notes: Vec<String> = converted.notes.iter().filter_map(begin).collect();
    assert_eq!(
        notes,
        [
            "c1 told \"released\" without a lock",
            "c1 told \"releasing\" without a lock",
            "c1 told \"extended\" without a lock",
            "c1 told what is not in the protocol",
        ]
    );
}

#[test]
fn much_nonsense_is_counted_and_quoted_in_part() {
    let garbled = |at: u64| {
        let word = format!("{at}{}", "x".repeat(10_000));
        line(at, at, &format!("\"{word}\""))
    };
    let told: Vec<Told> = (0..1000).map(garbled).collect();
    let notes = convert(&told, &Answers::default(), &Clocks::Right).notes;
    assert_eq!(notes.len(), MOST_NOTES + 1);
    assert_eq!(notes[MOST_NOTES], "950 more lines make no sense");
    assert!(notes.iter().all(|note| note.chars().count() < 300));
}

#[test]
fn a_second_grant_ends_the_first_and_a_release_out_of_the_blue_shortens_it() {
    let converted = check(
        &[
            began(),
            line(10, 11, r#""acquired","ns":10000000"#),
            line(20, 21, r#""acquired","ns":20000000"#),
            line(90, 91, r#""released","ns":90000000"#),
        ],
        &[(10, "has 1"), (20, "ends 1"), (20, "has 2"), (20, "ends 2")],
    );
    assert_eq!(converted.notes.len(), 2);
}

#[test]
fn a_process_that_ends_believes_nothing_and_its_successor_goes_on_counting() {
    check(
        &[
            began(),
            line(10, 11, r#""acquired","ns":10000000"#),
            told(40, 45, News::Ended),
            told(50, 50, News::Began),
            line(60, 61, r#""acquired","ns":60000000"#),
        ],
        &[(10, "has 1"), (40, "ends 1"), (60, "has 2")],
    );
}

#[test]
fn an_access_is_under_the_last_grant_if_its_time_is_known() {
    let access = |at_ms: u64| Record {
        at_ns: at_ms * NS_PER_MS,
        host: "resource".into(),
        wall_ns: 0,
        mono_ns: 0,
        event: Event::Access {
            client: "c1".into(),
            grant: 0,
            access: locklab_history::Access::Read { version: 0 },
            token: None,
            accepted: true,
        },
    };
    let told = [
        began(),
        line(10, 11, r#""acquired","ns":10000000"#),
        line(20, 21, r#""acquired","ns":20000000"#),
        line(30, 31, r#""acquired""#),
    ];
    let converted = convert(&told, &Answers::default(), &Clocks::Right);
    let mut records = [5, 15, 25, 35].map(access);
    assign_grants(&mut records, &converted.locks[&Name::from("")].grants);
    let grants = records.map(|record| match record.event {
        Event::Access { grant, .. } => grant,
        _ => unreachable!("it is an access"),
    });
    assert_eq!(grants, [0, 1, 2, 0]);
}

/// c1 reads under its first grant, c2 writes, and c1 writes under its second grant: from a read of its own, from none, or
/// where it is not known under which grant it read.
#[test]
fn a_read_of_an_earlier_grant_is_not_what_a_write_is_computed_from() {
    let access = |client: &str, grant, access| Record {
        at_ns: 0,
        host: "resource".into(),
        wall_ns: 0,
        mono_ns: 0,
        event: Event::Access {
            client: client.into(),
            grant,
            access,
            token: None,
            accepted: true,
        },
    };
    let based_on = |read_under, written_under| {
        let (based_on, version) = (0, 1);
        let mut records = [
            access("c1", read_under, Access::Read { version: 0 }),
            access("c2", 1, Access::Write { based_on, version }),
            access(
                "c1",
                written_under,
                Access::Write {
                    based_on,
                    version: 2,
                },
            ),
        ];
        forget_reads_of_earlier_grants(&mut records);
        match records[2].event {
            Event::Access {
                access: Access::Write { based_on, .. },
                ..
            } => based_on,
            _ => unreachable!("it is a write"),
        }
    };
    assert_eq!(based_on(1, 2), 1);
    for known_to_overwrite in [(1, 1), (0, 2), (1, 0)] {
        assert_eq!(based_on(known_to_overwrite.0, known_to_overwrite.1), 0);
    }
}

#[test]
fn each_task_knows_each_lock_for_itself() {
    let converted = check(
        &[
            began(),
            line(9, 11, r#""acquired","ns":10000000,"lock":"a","task":1"#),
            line(19, 21, r#""acquired","ns":20000000,"lock":"a","task":2"#),
            line(
                29,
                31,
                r#""acquired","ns":30000000,"lock":7,"task":1,"permits":3"#,
            ),
            line(39, 41, r#""releasing","ns":40000000,"lock":"a","task":1"#),
        ],
        &[
            (30, "has 1"),
            (10, "has 1"),
            (20, "has 1"),
            (40, "ends 1"),
            (40, "calls Release"),
        ],
    );
    let holders = |lock: &str| -> Vec<String> {
        let records = converted.locks[&Name::from(lock)].records.iter();
        records.map(|record| record.host.to_string()).collect()
    };
    assert_eq!(holders("7"), ["c1/1"]);
    assert_eq!(holders("a"), ["c1/1", "c1/2", "c1/1", "c1/1"]);
    assert_eq!(converted.locks[&Name::from("7")].permits, 3);
    assert_eq!(converted.notes, [""; 0]);
}

/// The program goes on, and another one of its processes asks for the lock.
#[test]
fn a_belief_ends_with_the_process_that_the_program_has_told() {
    let acquired = line(9, 11, r#""acquired","ns":10000000,"pid":40"#);
    check(
        &[
            began(),
            acquired.clone(),
            told(20, 25, News::Gone(41)),
            line(28, 30, r#""acquiring","ns":29000000,"pid":41"#),
            told(30, 35, News::Gone(40)),
            line(49, 51, r#""acquired","ns":50000000,"pid":41"#),
        ],
        &[
            (10, "has 1"),
            (29, "calls Acquire"),
            (30, "ends 1"),
            (50, "Acquire returns Ok"),
            (50, "has 2"),
        ],
    );
    check(&[began(), acquired], &[(10, "has 1")]);
}

#[test]
fn who_asks_for_another_lock_has_given_up_on_the_first() {
    let asks = |ms: u64, word: &str, lock: &str| {
        let json = format!("{word:?},\"ns\":{},\"lock\":{lock:?}", ms * NS_PER_MS);
        line(ms - 1, ms + 1, &json)
    };
    let refused = [
        began(),
        asks(10, "acquiring", "a"),
        asks(20, "refused", "a"),
    ];
    let of_a = [(10, "calls Acquire"), (20, "Acquire returns Failed")];
    let again = [&refused[..], &[asks(30, "acquiring", "a")]].concat();
    check(&again, &[&of_a[..], &[(30, "calls Acquire")]].concat());
    let other = [&refused[..], &[asks(30, "acquiring", "b")]].concat();
    check(
        &other,
        &[&of_a[..], &[(20, "gives up"), (30, "calls Acquire")]].concat(),
    );
}

#[test]
fn whoever_names_one_lock_or_task_in_some_lines_means_it_in_all() {
    let named = [
        began(),
        line(9, 11, r#""acquiring","ns":10000000"#),
        line(19, 21, r#""acquired","ns":20000000,"lock":"a","task":1"#),
        line(29, 31, r#""acquiring","ns":30000000,"lock":"a","task":1"#),
        line(39, 41, r#""releasing","ns":40000000"#),
    ];
    let expected = [
        (10, "calls Acquire"),
        (20, "Acquire returns Ok"),
        (20, "has 1"),
        (30, "calls Acquire"),
        (40, "ends 1"),
        (40, "calls Release"),
    ];
    let converted = check(&named, &expected);
    let locks: Vec<&str> = converted.locks.keys().map(|lock| &**lock).collect();
    assert_eq!(locks, ["a"]);
    let mut hosts = converted.locks[&Name::from("a")].records.iter();
    assert!(hosts.all(|record| *record.host == *"c1/1"));
    assert_eq!(converted.notes, [""; 0]);
}

#[test]
fn a_release_of_what_was_lost_makes_sense() {
    let lost = [
        began(),
        line(9, 11, r#""acquired","ns":10000000"#),
        line(19, 21, r#""lost","ns":20000000"#),
        line(29, 31, r#""releasing","ns":30000000"#),
        line(39, 41, r#""released","ns":40000000"#),
    ];
    let stopped = format!("{:?}", Event::reached(Failpoint::Stopped));
    let converted = check(&lost, &[(10, "has 1"), (20, &stopped), (20, "ends 1")]);
    assert_eq!(converted.notes, [""; 0]);
}

#[test]
fn lines_that_come_later_in_another_order_are_put_in_theirs() {
    let told = [
        began(),
        line(100, 101, r#""releasing","ns":40000000"#),
        line(100, 101, r#""acquired","ns":20000000"#),
        line(100, 101, r#""acquiring","ns":10000000"#),
        line(100, 101, r#""released","ns":50000000"#),
    ];
    let converted = check(
        &told,
        &[
            (10, "calls Acquire"),
            (20, "Acquire returns Ok"),
            (20, "has 1"),
            (40, "ends 1"),
            (40, "calls Release"),
            (50, "Release returns Ok"),
        ],
    );
    assert_eq!(converted.notes, [""; 0]);
}

/// The lease may count from before the request; the lock is had when the reply is there.
#[test]
fn a_program_has_the_lock_when_it_was_answered() {
    let ns = |ms: u64| ms * NS_PER_MS;
    let segments = [
        segment(1, ["c1", "n1"], ns(12), ns(50)),
        segment(1, ["n1", "c1"], ns(51), ns(90)),
    ];
    let answers = Answers::of(&segments, |name| name.starts_with('n'), 1);
    let told = [
        began(),
        line(10, 11, r#""acquiring","ns":10000000"#),
        line(91, 92, r#""acquired","ns":11000000,"ttl_ms":1000"#),
    ];
    let converted = convert(&told, &answers, &Clocks::Right);
    let records = &converted.locks[&Name::from("")].records;
    let begins = records.iter().find_map(|record| match record.event {
        Event::BeliefBegins { deadline, .. } => Some((record.at_ns, deadline?.at_ns)),
        _ => None,
    });
    assert_eq!(begins, Some((90 * NS_PER_MS, 1011 * NS_PER_MS)));
}
