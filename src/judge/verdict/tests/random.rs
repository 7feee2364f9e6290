//! The checks held to the search, and to what processes say, on random histories.

use std::collections::BTreeSet;
use std::path::Path;

use proptest::collection::vec;
use proptest::prelude::*;

use super::BUDGET;
use crate::history::What;
use crate::json_lines;
use crate::raw::Given;
use crate::verdict::*;

/// One line of a random history: what a process does next, after how long, and how it ends.
type Drawn = (usize, u8, u32, u32, u8, u32);

fn drawn() -> impl Strategy<Value = Vec<Drawn>> {
    vec(
        (0..3_usize, 0..9_u8, 0..5_u32, 1..6_u32, 0..8_u8, 0..12_u32),
        1..14,
    )
}

/// Whether two processes may act at one instant.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Ties {
    Some,
    None,
}

/// The history of such processes.
fn history(drawn: &[Drawn], model: ModelName, has_leases: bool, ties: Ties) -> LockHistory {
    let mut free_ms = [0; 3];
    let mut lines = Vec::new();
    for &(process, act, gap, lasts, end, amount) in drawn {
        let free_ms = &mut free_ms[process];
        let (from, to) = (*free_ms + gap, *free_ms + gap + lasts);
        *free_ms = to;
        let (stretch, shift) = match ties {
            Ties::Some => (1, 0),
            Ties::None => (3, process as u32),
        };
        let [from, to] = [from, to].map(|time| stretch * time + shift);
        let f = match act {
            0..=3 => "acquire",
            4..=6 => "release",
            7 if model != ModelName::Lease => "extend",
            _ => "crash",
        };
        let end = match end {
            0 => "fail",
            1 => "info",
            _ => "ok",
        };
        let mut more = String::new();
        if has_leases && f != "release" && amount > 3 {
            more += &format!(",\"validity\":{}", stretch * amount);
        }
        if f == "acquire" {
            more += &format!(",\"token\":{}", to / 2);
        }
        let has_readers = matches!(model, ModelName::ReadWrite | ModelName::ReentrantReadWrite);
        if has_readers && amount % 2 == 0 {
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
    let permits = if model == ModelName::Semaphore { 2 } else { 1 };
    let text = format!(
        "{{\"lock-history\":1,\"model\":\"{model}\",\"permits\":{permits}}}\n{}",
        lines.join("\n")
    );
    json_lines::read(text.into(), Path::new("h.jsonl"), &Given::default()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 512,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn what_the_checks_call_violated_is_not_linearizable(
        drawn in drawn(),
        has_leases: bool,
        ties in prop_oneof![Just(Ties::Some), Just(Ties::None)],
    ) {
        for model in ModelName::ALL {
            let history = history(&drawn, model, has_leases, ties);
            let Some(key) = history.keys.first() else {
                continue;
            };
            let (report, _) = judge_key(&history, key.clone(), BUDGET);
            let Some(linearizable) = report.verdict(Criterion::Linearizable) else {
                continue;
            };
            // A late release may end a later grant of its holder, and a late extension shorten it. The holder believes that
            // it holds the lock nevertheless.
            let is_late = |call: &Call| call.act != Act::Acquire && call.outcome == Outcome::Unknown;
            let has_late = |client: &Name| {
                key.calls.iter().any(|call| is_late(call) && key.names[call.holder as usize] == *client)
            };
            for (criterion, verdict) in &report.verdicts {
                if let Verdict::Violated(evidence) = verdict
                    && evidence.violation.clients.iter().any(has_late)
                {
                    continue;
                }
                let is_modelled = match criterion {
                    Criterion::GrantTokens => matches!(
                        model,
                        ModelName::Fenced | ModelName::ReentrantFenced | ModelName::Lease | ModelName::Renewal
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

    /// Who holds it is what each process says: it holds the lock from the return of acquire to its next call of
    /// release, whatever became of releases before.
    #[test]
    fn belief_is_what_processes_say(drawn in drawn()) {
        for model in [ModelName::Owner, ModelName::Fenced] {
            let history = history(&drawn, model, false, Ties::None);
            let Some(key) = history.keys.first() else {
                continue;
            };
            let mut holders: BTreeSet<u32> = BTreeSet::new();
            let mut is_violated = false;
            let mut last_ns = 0;
            for point in &key.points {
                is_violated |= holders.len() > 1 && point.at_ns > last_ns;
                last_ns = point.at_ns;
                let (What::Invoked(index) | What::Returned(index)) = point.what else {
                    holders.remove(&point.holder);
                    continue;
                };
                let call = &key.calls[index as usize];
                match (call.act, call.outcome, point.what) {
                    (Act::Acquire, Outcome::Ok, What::Returned(_)) => drop(holders.insert(point.holder)),
                    (Act::Release, _, What::Invoked(_)) => drop(holders.remove(&point.holder)),
                    _ => {}
                }
            }
            is_violated |= holders.len() > 1;
            let (verdicts, _) = judge_intervals(&history, key.clone());
            let belief = verdicts.iter().find(|(criterion, _)| *criterion == Criterion::Checked(Property::Belief));
            let (_, verdict) = belief.expect("it is judged");
            prop_assert_eq!(matches!(verdict, Verdict::Violated(_)), is_violated, "{:?}", verdict);
        }
    }

    /// Fewer permits and fewer servers forbid more, and a larger budget decides more.
    #[test]
    fn a_stricter_parameter_never_gives_fewer_violations(drawn in drawn(), has_leases: bool, budget in 1..40_u64) {
        for model in ModelName::ALL {
            let violated = |permits, servers, budget| {
                let mut history = history(&drawn, model, has_leases, Ties::None);
                (history.header.permits, history.header.servers) = (permits, servers);
                let key = history.keys.pop()?;
                let verdicts = judge_key(&history, key, budget).0.verdicts.into_iter();
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
            if let Ok(history) = json_lines::read(text.into(), Path::new("h.jsonl"), &Given::default()) {
                for key in &history.keys {
                    judge_key(&history, key.clone(), 1_000);
                }
            }
        }
    }
}
