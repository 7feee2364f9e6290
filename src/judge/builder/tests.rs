//! What changes no verdict: a history is judged the same if each call is made by another process that names the owner,
//! since who holds a lock is its owner; and if its lines, which have times, come in another order.

use std::path::Path;

use proptest::collection::vec;
use proptest::prelude::*;

use crate::evidence::Evidence;
use crate::json_lines;
use crate::models::ModelName;
use crate::raw::Given;
use crate::verdict::{Criterion, Verdict, judge_key};

const BUDGET: u64 = 100_000;

/// As many as there are owners, so that one is free for each call.
const PROCESSES: usize = 3;

/// What an owner does next, if it is not in a call.
#[derive(Debug, Clone, Copy)]
enum Does {
    Calls(&'static str),
    Reads,
    Writes,
    LosesIt,
}

/// One step: the owner, what it does, the process that it does it in, and how its call ends.
type Drawn = (usize, Does, usize, &'static str, u32);

fn drawn() -> impl Strategy<Value = Vec<Drawn>> {
    let does = prop_oneof![
        6 => Just(Does::Calls("acquire")),
        4 => Just(Does::Calls("release")),
        2 => Just(Does::Calls("extend")),
        1 => Just(Does::Reads),
        2 => Just(Does::Writes),
        1 => Just(Does::LosesIt),
    ];
    let ends = prop_oneof![6 => Just("ok"), 1 => Just("fail"), 1 => Just("info")];
    vec((0..PROCESSES, does, 0..PROCESSES, ends, 0..4_u32), 1..24)
}

/// A line of a history: the owner, the process, the time in milliseconds, and the rest.
struct Line {
    owner: usize,
    process: usize,
    text: String,
}

/// The lines of these steps. A call returns when its owner is drawn again.
fn lines(drawn: &[Drawn], model: ModelName, has_leases: bool) -> Vec<Line> {
    // Per owner: its call, the process in it, and how it ends.
    let mut open: [Option<(&str, usize, &str)>; PROCESSES] = [None; PROCESSES];
    let (mut lines, mut token) = (Vec::new(), 0);
    for (time, &(owner, does, wanted, ends, amount)) in (1_u32..).zip(drawn) {
        let amounts = match model {
            ModelName::Semaphore => format!(",\"permits\":{}", 1 + amount % 2),
            ModelName::ReadWrite if amount == 0 => ",\"shared\":true".to_owned(),
            _ => String::new(),
        };
        let (kind, f, process, more) = match (open[owner].take(), does) {
            (Some((f, process, ends)), _) => {
                // Grants of a reentrant lock may share theirs.
                token += u32::from(f == "acquire" && amount > 0);
                let more = match f {
                    "acquire" => format!(",\"token\":{token}"),
                    _ => String::new(),
                };
                (ends, f, process, more)
            }
            (None, Does::Calls(f)) => {
                let is_free =
                    |process: &usize| !open.iter().flatten().any(|(_, taken, _)| taken == process);
                let mut processes = (wanted..PROCESSES).chain(0..wanted);
                let process = processes.find(is_free).expect("no more calls than owners");
                open[owner] = Some((f, process, ends));
                let lease = match has_leases && f != "release" {
                    true => format!(",\"validity\":{}", 2 + 3 * amount),
                    false => String::new(),
                };
                ("invoke", f, process, amounts + &lease)
            }
            (None, Does::LosesIt) => ("info", "lost", wanted, String::new()),
            (None, does) => {
                let f = if matches!(does, Does::Reads) {
                    "read"
                } else {
                    "write"
                };
                let more = format!(",\"token\":{}", token.saturating_sub(amount % 2));
                ("ok", f, wanted, more)
            }
        };
        let text = format!("\"type\":\"{kind}\",\"f\":\"{f}\",\"time\":{time}{more}");
        lines.push(Line {
            owner,
            process,
            text,
        });
    }
    lines
}

/// What is found of each criterion: its violation's times and lines, or another verdict in words.
type Judged = Vec<(Criterion, String)>;

/// Judges lines, each of which says as this who it is about.
fn judged(lines: &[Line], model: ModelName, who: impl Fn(&Line) -> String) -> Judged {
    let permits = if model == ModelName::Semaphore { 2 } else { 1 };
    let mut text = format!(
        "{{\"lock-history\":1,\"unit\":\"ms\",\"model\":\"{model}\",\"permits\":{permits}}}\n"
    );
    for line in lines {
        text += &format!("{{{},{}}}\n", who(line), line.text);
    }
    let read = json_lines::read(
        text.as_str().into(),
        Path::new("h.jsonl"),
        &Given::default(),
    );
    let history = read.unwrap_or_else(|error| panic!("{error:?}: {text}"));
    let (report, _) = judge_key(&history, history.keys[0].clone(), BUDGET);
    let told = |verdict: &Verdict| match verdict {
        Verdict::Violated(evidence) => {
            let violation = &evidence.violation;
            format!(
                "{} {} {:?}",
                violation.at_ns, violation.until_ns, evidence.lines
            )
        }
        other => format!("{other:?}"),
    };
    let verdicts = report.verdicts.iter();
    verdicts
        .map(|(criterion, verdict)| (*criterion, told(verdict)))
        .collect()
}

/// Where lines have times their order in the file says nothing, but for lines of one process at one instant, and for
/// accesses.
fn shuffled(lines: &[Line], keys: &[u64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..lines.len()).collect();
    order.sort_by_key(|place| keys[*place]);
    // The lines of each process come in their order again.
    for owner in 0..PROCESSES {
        let is_theirs = |place: &usize| lines[*place].owner == owner;
        let mut theirs: Vec<usize> = order.iter().copied().filter(is_theirs).collect();
        theirs.sort_unstable();
        let mut theirs = theirs.into_iter();
        for place in &mut order {
            if lines[*place].owner == owner {
                *place = theirs.next().expect("as many as before");
            }
        }
    }
    order
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 400,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn the_process_that_calls_for_an_owner_changes_no_verdict(drawn in drawn(), has_leases: bool) {
        for model in ModelName::ALL {
            // A lease has no extend.
            let is_possible = |it: &&Drawn| !(model == ModelName::Lease && matches!(it.1, Does::Calls("extend")));
            let drawn: Vec<Drawn> = drawn.iter().filter(is_possible).copied().collect();
            let lines = lines(&drawn, model, has_leases);
            if lines.is_empty() {
                continue;
            }
            // Each owner is a process.
            let alone = judged(&lines, model, |line| format!("\"process\":\"o{}\"", line.owner));
            // Any process calls, and says for whom.
            let moved = judged(&lines, model, |line| {
                format!("\"process\":\"p{}\",\"owner\":\"o{}\"", line.process, line.owner)
            });
            prop_assert_eq!(alone, moved, "{}", model);
        }
    }

    #[test]
    fn the_order_of_lines_changes_no_verdict(
        drawn in drawn(),
        has_leases: bool,
        coarse in 1..8_u32,
        keys in vec(any::<u64>(), 24),
        bystanders in prop_oneof![Just(0), Just(70)],
    ) {
        let is_call = |it: &&Drawn| !matches!(it.1, Does::Reads | Does::Writes);
        let drawn: Vec<Drawn> = drawn.iter().filter(is_call).copied().collect();
        let mut lines = lines(&drawn, ModelName::Renewal, has_leases);
        for line in &mut lines {
            let (before, rest) = line.text.split_once("\"time\":").expect("a time");
            let end = rest.find(',').unwrap_or(rest.len());
            let time: u32 = rest[..end].parse().expect("a number");
            line.text = format!("{before}\"time\":{}{}", time / coarse * coarse, &rest[end..]);
        }
        if lines.is_empty() {
            return Ok(());
        }
        let who = |line: &Line| format!("\"process\":\"o{}\"", line.owner);
        let text = |order: &[usize]| -> String {
            let mut text = String::from("{\"lock-history\":1,\"unit\":\"ms\",\"model\":\"renewal\"}\n");
            for place in order {
                text += &format!("{{{},{}}}\n", who(&lines[*place]), lines[*place].text);
            }
            // Many lines at an instant of other processes at another lock.
            for other in 0..bystanders {
                text += &format!("{{\"process\":\"b{other}\",\"type\":\"invoke\",\"f\":\"acquire\",\"key\":\"other\",\"time\":{coarse}}}\n");
            }
            text
        };
        let verdicts = |text: &str| {
            let history = json_lines::read(text.into(), Path::new("h.jsonl"), &Given::default()).expect("it is read");
            let key = history.keys.iter().find(|key| key.key == "lock").expect("it is there");
            let (report, _) = judge_key(&history, key.clone(), BUDGET);
            let told = report.verdicts.into_iter().map(|(criterion, verdict)| match verdict {
                Verdict::Violated(Evidence { violation, .. }) => {
                    (criterion, format!("{} {}", violation.at_ns, violation.until_ns))
                }
                other => (criterion, format!("{other:?}")),
            });
            told.collect::<Vec<_>>()
        };
        let in_order: Vec<usize> = (0..lines.len()).collect();
        let (one, other) = (text(&in_order), text(&shuffled(&lines, &keys)));
        prop_assert_eq!(verdicts(&one), verdicts(&other), "{}\n{}", one, other);
    }
}

#[test]
fn returns_at_one_instant_are_in_the_order_of_names() {
    let line = |process: &str, kind: &str, time: u32| {
        format!(
            "{{\"process\":\"{process}\",\"type\":\"{kind}\",\"f\":\"acquire\",\"time\":{time}}}\n"
        )
    };
    let text = String::from("{\"lock-history\":1,\"model\":\"mutex\"}\n")
        + &line("b", "invoke", 1)
        + &line("a", "invoke", 1)
        + &line("b", "ok", 5)
        + &line("a", "ok", 5);
    let read = json_lines::read(text.into(), Path::new("h.jsonl"), &Given::default());
    let history = read.expect("it is read");
    let points = history.keys[0].points.iter();
    let lines: Vec<u32> = points.map(|point| point.line).collect();
    assert_eq!(lines, [3, 2, 5, 4]);
}

/// A process that names no owner goes on as the last one.
#[test]
fn a_process_stays_the_owner_that_it_was() {
    let line = |owner: usize, process: usize, text: &str| Line {
        owner,
        process,
        text: text.to_owned(),
    };
    let lines = [
        line(0, 0, r#""type":"invoke","f":"acquire","time":1"#),
        line(0, 0, r#""type":"ok","f":"acquire","time":2"#),
        line(0, 0, r#""type":"invoke","f":"release","time":3"#),
        line(0, 0, r#""type":"ok","f":"release","time":4"#),
        line(1, 0, r#""type":"invoke","f":"acquire","time":5"#),
        line(1, 0, r#""type":"ok","f":"acquire","time":6"#),
        line(1, 1, r#""type":"invoke","f":"release","time":7"#),
        line(1, 1, r#""type":"ok","f":"release","time":8"#),
        line(1, 0, r#""type":"invoke","f":"acquire","time":9"#),
        line(1, 0, r#""type":"ok","f":"acquire","time":10"#),
        line(1, 1, r#""type":"invoke","f":"release","time":11"#),
        line(1, 1, r#""type":"ok","f":"release","time":12"#),
    ];
    let named = [0, 4, 6].map(|place| lines[place].text.clone());
    let sticky = judged(&lines, ModelName::Owner, |line| {
        match named.contains(&line.text) {
            true => format!(
                "\"process\":\"p{}\",\"owner\":\"o{}\"",
                line.process, line.owner
            ),
            false => format!("\"process\":\"p{}\"", line.process),
        }
    });
    let alone = judged(&lines, ModelName::Owner, |line| {
        format!("\"process\":\"o{}\"", line.owner)
    });
    assert_eq!(sticky, alone);
    assert_eq!(
        sticky.last(),
        Some(&(Criterion::Linearizable, "Holds".to_owned()))
    );
}
