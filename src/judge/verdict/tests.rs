//! What the checks find, told line by line; and the checks held to the search: a history that they call
//! violated is not linearizable.

use std::path::Path;

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::json_lines;

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
    let history = json_lines::read(text.as_bytes(), Path::new("h.jsonl"), None).unwrap();
    judge_key(&history, &history.keys[0], BUDGET)
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

/// A holder that asks again at its deadline holds nothing by the old grant, also where it never released
/// that.
#[test]
fn a_grant_is_over_for_its_own_holder_at_its_deadline() {
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
    assert_eq!(violated(&asked_again(100)), []);
    assert_eq!(violated(&asked_again(99)), [("belief", &[2, 3, 8, 9][..])]);
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

/// One line of a random history: what a process does next, after how long, and how it ends.
type Drawn = (usize, u8, u32, u32, u8, u32);

fn drawn() -> impl Strategy<Value = Vec<Drawn>> {
    vec(
        (0..3_usize, 0..9_u8, 0..5_u32, 1..6_u32, 0..8_u8, 0..12_u32),
        1..14,
    )
}

/// The history of such processes.
fn history(drawn: &[Drawn], model: ModelName, has_leases: bool) -> LockHistory {
    let mut free_ms = [0; 3];
    let mut lines = Vec::new();
    for &(process, act, gap, lasts, end, amount) in drawn {
        let free_ms = &mut free_ms[process];
        let (from, to) = (*free_ms + gap, *free_ms + gap + lasts);
        *free_ms = to;
        // No two processes act at one instant, at which the order of lines would decide.
        let [from, to] = [from, to].map(|time| 3 * time + process as u32);
        let f = match act {
            0..=3 => "acquire",
            4..=6 => "release",
            7 if model != ModelName::Lease => "extend",
            _ => "crash",
        };
        let end = match end {
            0 => "fail",
            // A late release may end a later grant of its holder, who believes that it holds the lock
            // nevertheless.
            1 if f != "release" => "info",
            _ => "ok",
        };
        let mut more = String::new();
        if has_leases && f != "release" && amount > 3 {
            more += &format!(",\"validity\":{}", 3 * amount);
        }
        if f == "acquire" {
            more += &format!(",\"token\":{}", to / 2);
        }
        if model == ModelName::ReadWrite && amount % 2 == 0 {
            more += ",\"shared\":true";
        }
        if model == ModelName::Semaphore {
            more += &format!(",\"permits\":{}", 1 + amount % 2);
        }
        let line = |kind: &str, time: u32| {
            format!(
                "{{\"process\":{process},\"type\":\"{kind}\",\"f\":\"{f}\",\"time\":{time}{more}}}"
            )
        };
        if f == "crash" {
            lines.push(line("info", to));
        } else {
            lines.push(line("invoke", from));
            lines.push(line(end, to));
        }
    }
    let text = format!(
        "{{\"lock-history\":1,\"model\":\"{model}\",\"permits\":2}}\n{}",
        lines.join("\n")
    );
    json_lines::read(text.as_bytes(), Path::new("h.jsonl"), None).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 512,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn what_the_checks_call_violated_is_not_linearizable(drawn in drawn(), has_leases: bool) {
        for model in ModelName::ALL {
            let history = history(&drawn, model, has_leases);
            let Some(key) = history.keys.first() else {
                continue;
            };
            let report = judge_key(&history, key, BUDGET);
            let Some(linearizable) = report.verdict(Criterion::Linearizable) else {
                continue;
            };
            for (criterion, verdict) in &report.verdicts {
                let is_modelled = match criterion {
                    Criterion::GrantTokens => matches!(
                        model,
                        ModelName::Fenced | ModelName::Lease | ModelName::Renewal
                    ),
                    criterion => report.counts(*criterion),
                };
                if is_modelled && matches!(verdict, Verdict::Violated(_)) {
                    prop_assert!(
                        matches!(linearizable, Verdict::Violated(_)),
                        "{}: {}: {:?}", model, criterion, verdict
                    );
                }
            }
        }
    }

    /// Fewer permits and fewer servers forbid more, and a larger budget decides more.
    #[test]
    fn a_stricter_parameter_never_gives_fewer_violations(drawn in drawn(), has_leases: bool, budget in 1..40_u64) {
        for model in ModelName::ALL {
            let violated = |permits, servers, budget| {
                let mut history = history(&drawn, model, has_leases);
                (history.header.permits, history.header.servers) = (permits, servers);
                let key = history.keys.first()?;
                let verdicts = judge_key(&history, key, budget).verdicts.into_iter();
                let violated = verdicts.filter(|(_, verdict)| matches!(verdict, Verdict::Violated(_)));
                Some(violated.map(|(criterion, _)| criterion).collect::<Vec<_>>())
            };
            let strict = violated(2, 1, BUDGET).unwrap_or_default();
            for loose in [violated(3, 1, BUDGET), violated(2, 2, BUDGET), violated(2, 1, budget)] {
                for criterion in loose.unwrap_or_default() {
                    prop_assert!(strict.contains(&criterion), "{}: {}", model, criterion);
                }
            }
        }
    }

    /// Any lines that are read are judged: with the largest times, permits and tokens, clocks that are
    /// set back, and returns that come late.
    #[test]
    fn any_history_is_judged_without_panicking(drawn in vec((0..3_u8, 0..4_u8, 0..7_u8, 0..5_usize, 0..9_u8), 1..12)) {
        let numbers = ["0", "1", "7", "4294967295", "18446744073709551614"];
        for model in ModelName::ALL {
            let mut text = format!("{{\"lock-history\":1,\"model\":\"{model}\"}}\n");
            let mut open = [None; 3];
            for &(process, kind, f, number, more) in &drawn {
                // A call returns before the next one, as long as times rise.
                let (kind, f) = match open[usize::from(process)].take() {
                    Some(f) => (1 + kind % 3, f),
                    None => (if f < 3 { 0 } else { 1 }, f),
                };
                open[usize::from(process)] = (kind == 0).then_some(f);
                let kind = ["invoke", "ok", "fail", "info"][usize::from(kind)];
                let f = ["acquire", "release", "extend", "read", "write", "lost", "crash"][usize::from(f)];
                let (one, other) = (numbers[number], numbers[(number + 2) % 5]);
                let more = match more {
                    0 => format!(",\"validity\":{other}"),
                    1 => format!(",\"deadline\":{other},\"clock\":\"wall\",\"wall\":{one}"),
                    2 => format!(",\"deadline\":{one},\"clock\":\"mono\",\"mono\":{other}"),
                    3 => format!(",\"token\":{other}"),
                    4 => format!(",\"permits\":{}", numbers[number % 4]),
                    5 => ",\"shared\":true,\"owner\":9".into(),
                    6 => format!(",\"version\":{one},\"based_on\":{other}"),
                    _ => String::new(),
                };
                text += &format!(
                    "{{\"process\":{process},\"type\":\"{kind}\",\"f\":\"{f}\",\"time\":{one}{more}}}\n"
                );
            }
            if let Ok(history) = json_lines::read(text.as_bytes(), Path::new("h.jsonl"), None) {
                let reports = history.keys.iter().map(|key| judge_key(&history, key, 1_000));
                prop_assert_eq!(reports.count(), history.keys.len());
            }
        }
    }
}
