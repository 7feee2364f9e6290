//! What the checks find, told line by line.

mod random;

use std::path::Path;

use super::*;
use crate::json_lines;
use crate::raw::Given;

const BUDGET: u64 = 1_000_000;

/// The report on the only lock of a history in milliseconds, of which each line is given as process,
/// type, operation, time, and more fields.
fn report(header: &str, lines: &[(&str, &str, &str, u32, &str)]) -> KeyReport {
    let mut text = format!("{{\"lock-history\":1,\"unit\":\"ms\",{header}}}\n");
    for (process, kind, f, time, more) in lines {
        text += &format!(
            "{{\"process\":\"{process}\",\"type\":\"{kind}\",\"f\":\"{f}\",\"time\":{time}{more}}}\n"
        );
    }
    let history = json_lines::read(text.into(), Path::new("h.jsonl"), &Given::default()).unwrap();
    judge_key(&history, history.keys[0].clone(), BUDGET).0
}

/// The violated criteria with their lines.
fn violated(report: &KeyReport) -> Vec<(&'static str, &[u32])> {
    let verdicts = report.verdicts.iter();
    verdicts
        .filter_map(|(criterion, verdict)| match verdict {
            Verdict::Violated(evidence) => Some((criterion.name(), &evidence.lines[..])),
            _ => None,
        })
        .collect()
}

/// c1 has the lock from 1 to 100 ms of its lease, and c2 gets it at this time.
fn followed(at_ms: u32, model: &str) -> KeyReport {
    report(
        &format!("\"model\":\"{model}\""),
        &[
            ("c1", "invoke", "acquire", 0, ",\"validity\":100"),
            ("c1", "ok", "acquire", 1, ""),
            ("c2", "invoke", "acquire", 10, ",\"validity\":100"),
            ("c2", "ok", "acquire", at_ms, ""),
        ],
    )
}

#[test]
fn a_grant_before_the_deadline_violates_the_lease_and_one_at_the_deadline_does_not() {
    for model in ["lease", "renewal", "owner", "mutex", "fenced"] {
        let lines = &[2, 3, 4, 5][..];
        assert_eq!(
            violated(&followed(99, model)),
            [("belief", lines), ("lease", lines), ("linearizable", lines)],
            "{model}"
        );
        let at_deadline = followed(100, model);
        assert_eq!(violated(&at_deadline), [("belief", lines)], "{model}");
        assert!(!at_deadline.counts(Criterion::Checked(Property::Belief)));
    }
}

/// What holds and what is inconclusive.
#[track_caller]
fn check_shown(report: &KeyReport, holds: &[&str], inconclusive: &[&str]) {
    let named = |wanted: fn(&Verdict) -> bool| -> Vec<&str> {
        let verdicts = report
            .verdicts
            .iter()
            .filter(|(_, verdict)| wanted(verdict));
        verdicts.map(|(criterion, _)| criterion.name()).collect()
    };
    assert_eq!(named(|verdict| *verdict == Verdict::Holds), holds);
    let open = named(|verdict| matches!(verdict, Verdict::Inconclusive { .. }));
    assert_eq!(open, inconclusive);
}

#[test]
fn permits_hold_only_if_somebody_asked_for_more_than_were_left() {
    let two_of = |permits: u32, more: &[(&str, &str, &str, u32, &str)]| {
        let two = [
            ("a", "invoke", "acquire", 0, ""),
            ("a", "ok", "acquire", 1, ""),
            ("b", "invoke", "acquire", 2, ""),
            ("b", "ok", "acquire", 3, ""),
        ];
        let header = format!("\"model\":\"semaphore\",\"permits\":{permits}");
        report(&header, &[&two, more].concat())
    };
    let vacuous = ["permits", "unheld-release", "linearizable"];
    check_shown(&two_of(5, &[]), &[], &vacuous);
    check_shown(&two_of(2, &[]), &[], &vacuous);
    let shown = ["permits", "linearizable"];
    let refused = [
        ("c", "invoke", "acquire", 4, ""),
        ("c", "fail", "acquire", 5, ""),
    ];
    check_shown(&two_of(2, &refused), &shown, &["unheld-release"]);
    check_shown(&two_of(3, &refused), &[], &vacuous);
    // Nobody knows whether it was answered.
    check_shown(&two_of(2, &refused[..1]), &[], &vacuous);
    // It asked for two while one was left, and got them when there were two.
    let waits = [
        ("c", "invoke", "acquire", 4, ",\"permits\":2"),
        ("b", "invoke", "release", 5, ""),
        ("b", "ok", "release", 6, ""),
        ("c", "ok", "acquire", 7, ""),
    ];
    check_shown(
        &two_of(3, &waits),
        &["permits", "unheld-release", "linearizable"],
        &[],
    );
    // A permit that is returned before it asks is left.
    let returned = [
        ("b", "invoke", "release", 4, ""),
        ("b", "ok", "release", 5, ""),
        ("c", "invoke", "acquire", 6, ""),
        ("c", "ok", "acquire", 7, ""),
    ];
    check_shown(
        &two_of(2, &returned),
        &["unheld-release", "linearizable"],
        &["permits"],
    );
}

#[test]
fn tokens_grow_only_if_one_was_asked_for_after_another() {
    let second = |at_ms: u32| {
        report(
            "\"model\":\"fenced\"",
            &[
                ("c1", "invoke", "acquire", 0, ""),
                ("c2", "invoke", "acquire", at_ms, ""),
                ("c1", "ok", "acquire", at_ms + 1, ",\"token\":1"),
                ("c1", "invoke", "release", 11, ""),
                ("c1", "ok", "release", 12, ""),
                ("c2", "ok", "acquire", 13, ",\"token\":2"),
            ],
        )
    };
    let verdict = |at_ms| second(at_ms).verdict(Criterion::GrantTokens).cloned();
    assert!(matches!(verdict(5), Some(Verdict::Inconclusive { .. })));
    let after = report(
        "\"model\":\"fenced\"",
        &[
            ("c1", "invoke", "acquire", 0, ""),
            ("c1", "ok", "acquire", 1, ",\"token\":1"),
            ("c2", "invoke", "acquire", 5, ""),
            ("c1", "invoke", "release", 11, ""),
            ("c1", "ok", "release", 12, ""),
            ("c2", "ok", "acquire", 13, ",\"token\":2"),
        ],
    );
    assert_eq!(after.verdict(Criterion::GrantTokens), Some(&Verdict::Holds));
}

#[test]
fn an_extension_lengthens_what_is_surely_held() {
    let report = report(
        "\"model\":\"renewal\"",
        &[
            ("c1", "invoke", "acquire", 0, ",\"validity\":100"),
            ("c1", "ok", "acquire", 1, ""),
            ("c2", "invoke", "acquire", 10, ",\"validity\":1000"),
            ("c1", "invoke", "extend", 50, ",\"validity\":100"),
            ("c1", "ok", "extend", 51, ""),
            ("c2", "ok", "acquire", 149, ""),
        ],
    );
    let lines = &[2, 3, 4, 7][..];
    assert_eq!(
        violated(&report),
        [
            ("belief", lines),
            ("lease", lines),
            ("linearizable", &[2, 3, 4, 5, 6, 7])
        ]
    );
}

/// A holder that asks again holds nothing by the old grant, also where it never released that.
#[test]
fn a_grant_is_over_for_its_own_holder_when_it_has_another() {
    let asked_again = |at_ms: u32| {
        report(
            "\"model\":\"lease\"",
            &[
                ("c1", "invoke", "acquire", 0, ",\"validity\":100"),
                ("c1", "ok", "acquire", 1, ""),
                ("c1", "invoke", "acquire", at_ms, ",\"validity\":100"),
                ("c1", "ok", "acquire", 110, ""),
                ("c1", "invoke", "release", 120, ""),
                ("c1", "ok", "release", 121, ""),
                ("c2", "invoke", "acquire", 130, ",\"validity\":100"),
                ("c2", "ok", "acquire", 131, ""),
            ],
        )
    };
    for at_ms in [99, 100] {
        assert_eq!(violated(&asked_again(at_ms)), []);
    }
}

#[test]
fn who_asks_again_at_its_deadline_has_not_got_the_old_grant_to_release() {
    // `again_ms` is when a asks again, in vain, before it releases what may be b's.
    let asked_again = |again_ms: u32| {
        report(
            "\"model\":\"mutex\"",
            &[
                ("a", "invoke", "acquire", 0, ",\"validity\":100"),
                ("a", "ok", "acquire", 1, ""),
                ("a", "invoke", "acquire", again_ms, ""),
                ("a", "fail", "acquire", 101, ""),
                ("b", "invoke", "acquire", 102, ""),
                ("b", "ok", "acquire", 103, ""),
                ("a", "invoke", "release", 104, ""),
                ("a", "ok", "release", 105, ""),
                ("c", "invoke", "acquire", 106, ""),
                ("c", "ok", "acquire", 107, ""),
            ],
        )
    };
    let is_overlap = |report: &KeyReport| violated(report).iter().any(|(name, _)| *name == "lease");
    assert!(is_overlap(&asked_again(99)));
    assert!(!is_overlap(&asked_again(100)));
}

#[test]
fn a_deadline_is_on_the_clock_that_it_names() {
    // c1's wall clock is 5 s ahead, and is set back by 50 ms at 50 ms.
    let check = |at_ms: u32, expected: bool| {
        let report = report(
            "\"model\":\"renewal\"",
            &[
                ("c1", "invoke", "acquire", 0, ",\"wall\":5000"),
                (
                    "c1",
                    "ok",
                    "acquire",
                    1,
                    ",\"wall\":5001,\"deadline\":5100,\"clock\":\"wall\"",
                ),
                ("c2", "invoke", "acquire", 10, ",\"validity\":1000"),
                ("c1", "ok", "read", 50, ",\"wall\":5050"),
                ("c1", "ok", "read", 50, ",\"wall\":5000"),
                ("c2", "ok", "acquire", at_ms, ""),
            ],
        );
        let violated = violated(&report);
        let has = |name: &str| violated.iter().any(|(violated, _)| *violated == name);
        assert_eq!(
            (has("lease"), has("linearizable")),
            (expected, expected),
            "{at_ms}"
        );
    };
    check(149, true);
    check(150, false);
}

#[test]
fn more_permits_than_there_are_are_told_with_all_holders() {
    // c1 returns one of its two.
    let taken = |permits: &str| {
        report(
            "\"model\":\"semaphore\",\"permits\":3",
            &[
                ("c1", "invoke", "acquire", 0, ",\"permits\":2"),
                ("c1", "ok", "acquire", 1, ""),
                ("c1", "invoke", "release", 2, ""),
                ("c1", "ok", "release", 3, ""),
                ("c2", "invoke", "acquire", 10, permits),
                ("c2", "ok", "acquire", 11, ""),
            ],
        )
    };
    assert_eq!(violated(&taken(",\"permits\":2")), []);
    assert_eq!(
        violated(&taken(",\"permits\":3")),
        [
            ("permits", &[2, 4, 6, 7][..]),
            ("linearizable", &[2, 3, 4, 5, 6, 7][..])
        ]
    );
}

#[test]
fn a_token_has_to_rise_only_where_the_order_of_grants_is_known() {
    let granted = |asked_ms: u32| {
        report(
            "\"model\":\"fenced\"",
            &[
                ("c1", "invoke", "acquire", 0, ""),
                ("c1", "ok", "acquire", 10, ",\"token\":7"),
                ("c1", "invoke", "release", 20, ""),
                ("c2", "invoke", "acquire", asked_ms, ""),
                ("c1", "ok", "release", 30, ""),
                ("c2", "ok", "acquire", 40, ",\"token\":7"),
            ],
        )
    };
    let tokens = |report: &KeyReport| {
        violated(report)
            .iter()
            .any(|(name, lines)| *name == "grant-tokens" && *lines == [2, 3, 5, 7])
    };
    assert!(tokens(&granted(25)));
    assert!(tokens(&granted(25)));
    let overlapping = report(
        "\"model\":\"fenced\"",
        &[
            ("c1", "invoke", "acquire", 0, ""),
            ("c2", "invoke", "acquire", 5, ""),
            ("c1", "ok", "acquire", 10, ",\"token\":7"),
            ("c1", "invoke", "release", 20, ""),
            ("c1", "ok", "release", 30, ""),
            ("c2", "ok", "acquire", 40, ",\"token\":6"),
        ],
    );
    let names: Vec<_> = violated(&overlapping)
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    // The search knows that c2 cannot have been first.
    assert_eq!(names, ["linearizable"]);
}

#[test]
fn a_release_without_a_grant_is_told() {
    let released = |before: &[(&str, &str, &str, u32, &str)]| {
        let release = [
            ("c1", "invoke", "release", 50, ""),
            ("c1", "ok", "release", 60, ""),
        ];
        report("\"model\":\"owner\"", &[before, &release].concat())
    };
    let is_unheld = |report: &KeyReport| {
        violated(report)
            .iter()
            .any(|(name, _)| *name == "unheld-release")
    };
    assert!(is_unheld(&released(&[])));
    assert!(is_unheld(&released(&[
        ("c1", "invoke", "acquire", 0, ""),
        ("c1", "fail", "acquire", 1, ""),
    ])));
    // It may have been granted without knowing.
    assert!(!is_unheld(&released(&[
        ("c1", "invoke", "acquire", 0, ""),
        ("c1", "info", "acquire", 1, ""),
    ])));
}

#[test]
fn a_holder_that_knows_of_its_loss_holds_nothing() {
    let lost = |how: &str| {
        report(
            "\"model\":\"renewal\"",
            &[
                ("c1", "invoke", "acquire", 0, ",\"validity\":100"),
                ("c1", "ok", "acquire", 1, ""),
                ("c2", "invoke", "acquire", 10, ",\"validity\":100"),
                ("c1", "info", how, 20, ""),
                ("c2", "ok", "acquire", 30, ""),
            ],
        )
    };
    for how in ["lost", "crash"] {
        assert_eq!(violated(&lost(how)), [], "{how}");
    }
}

#[test]
fn what_the_resource_accepted_is_judged_where_its_order_is_known() {
    let wrote = |asked: Option<u32>| {
        let mut lines = vec![
            ("c1", "invoke", "acquire", 0, ",\"validity\":100"),
            ("c1", "ok", "acquire", 1, ",\"token\":1"),
            ("c2", "invoke", "acquire", 10, ",\"validity\":100"),
            ("c2", "ok", "acquire", 120, ",\"token\":2"),
        ];
        lines.extend(asked.map(|asked| ("c1", "invoke", "write", asked, "")));
        lines.extend([
            (
                "c2",
                "ok",
                "write",
                130,
                ",\"token\":2,\"version\":1,\"based_on\":0",
            ),
            (
                "c1",
                "ok",
                "write",
                140,
                ",\"token\":1,\"version\":2,\"based_on\":0",
            ),
        ]);
        report("\"model\":\"fenced\"", &lines)
    };
    let names = |report: &KeyReport| -> Vec<_> {
        violated(report).into_iter().map(|(name, _)| name).collect()
    };
    let served = ["belief", "stale-write", "lost-update", "token-regression"];
    assert_eq!(names(&wrote(None)), served);
    assert_eq!(names(&wrote(Some(135))), served);
    let overlaps = wrote(Some(125));
    assert_eq!(names(&overlaps), ["belief"]);
    let why = "the accesses of lines 7 and 8 overlap in time, so their order is unknown; log accesses \
               where the resource serves them";
    let stale = overlaps.verdict(Criterion::Checked(Property::StaleWrite));
    assert_eq!(stale, Some(&Verdict::Inconclusive { why: why.into() }));
}

#[test]
fn a_release_after_another_took_over_is_foreign_on_one_server() {
    let released = |servers: u32| {
        let report = report(
            &format!("\"model\":\"renewal\",\"servers\":{servers}"),
            &[
                ("c1", "invoke", "acquire", 0, ",\"validity\":100"),
                ("c1", "ok", "acquire", 1, ""),
                ("c2", "invoke", "acquire", 10, ",\"validity\":100"),
                ("c2", "ok", "acquire", 120, ""),
                ("c1", "invoke", "release", 130, ""),
                ("c1", "ok", "release", 131, ""),
            ],
        );
        violated(&report)
            .into_iter()
            .map(|(name, _)| name)
            .collect::<Vec<_>>()
    };
    assert_eq!(released(1), ["belief", "foreign-release", "linearizable"]);
    assert_eq!(released(5), ["belief"]);
}

/// c1 may have shortened its lease of 1,000 ms, to 102 ms, and c2 is granted the lock at 200 ms.
fn shortened(returned: &[(&str, &str, &str, u32, &str)]) -> KeyReport {
    let mut lines = vec![
        ("c1", "invoke", "acquire", 0, ",\"validity\":1000"),
        ("c1", "ok", "acquire", 1, ""),
        ("c1", "invoke", "extend", 2, ",\"validity\":100"),
    ];
    lines.extend(returned);
    lines.extend([
        ("c2", "invoke", "acquire", 10, ",\"validity\":1000"),
        ("c2", "ok", "acquire", 200, ""),
    ]);
    report("\"model\":\"renewal\"", &lines)
}

#[test]
fn an_extension_that_shortens_does_so_from_its_call_on_unless_it_failed() {
    let names = |report: KeyReport| -> Vec<_> {
        violated(&report)
            .into_iter()
            .map(|(name, _)| name)
            .collect()
    };
    for returned in [
        &[][..],
        &[("c1", "ok", "extend", 3, "")],
        &[("c1", "info", "extend", 3, "")],
        &[("c1", "ok", "extend", 300, "")],
    ] {
        assert_eq!(names(shortened(returned)), ["belief"], "{returned:?}");
    }
    let failed = shortened(&[("c1", "fail", "extend", 3, "")]);
    assert_eq!(names(failed), ["belief", "lease", "linearizable"]);
}

#[test]
fn one_release_ends_all_grants_of_a_lock_that_cannot_be_held_twice() {
    let taken_twice = |model: &str| {
        report(
            &format!("\"model\":\"{model}\""),
            &[
                ("c1", "invoke", "release", 0, ""),
                ("c1", "info", "release", 1, ""),
                ("c1", "invoke", "acquire", 2, ""),
                ("c1", "ok", "acquire", 3, ""),
                ("c1", "invoke", "acquire", 4, ""),
                ("c1", "ok", "acquire", 5, ""),
                ("c1", "invoke", "release", 6, ""),
                ("c1", "ok", "release", 7, ""),
                ("c2", "invoke", "acquire", 10, ""),
                ("c2", "ok", "acquire", 20, ""),
            ],
        )
    };
    assert_eq!(violated(&taken_twice("owner")), []);
    let [(belief, _), ..] = violated(&taken_twice("reentrant"))[..] else {
        panic!("c1 holds it still");
    };
    assert_eq!(belief, "belief");
}
