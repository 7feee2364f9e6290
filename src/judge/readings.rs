//! What is read of histories in each form, what is refused, and what is written: the transcripts in `readings/`,
//! whose format is in `tests/testing/src/transcript.rs`.
//!
//! | | |
//! |---|---|
//! | `$ json`, with lines behind `> ` | what is read of these JSON lines: calls by lock, lines in the order of time, notes |
//! | `$ edn fenced` | the same of a history of Jepsen's, judged by this model; `permits=2` and `pairs=lock` may be given |
//! | `$ edn mutex, owner` | what is written of it, read as one judged by another model |
//! | `$ written mutex` | what is written of it |
//! | `$ values` | the values of a text in EDN, with their lines |

use std::path::Path;

use locklab_testing::{check_transcript, transcripts};

use crate::edn;
use crate::history::{Call, KeyHistory, LockHistory, What};
use crate::raw::{Given, Pairs};
use crate::{jepsen, json_lines};

transcripts! {
    "readings", check:
    jepsen_forms
    json_schema
    notation
}

fn check(path: &Path) {
    check_transcript(
        path,
        &["$ "],
        || (),
        |(), _, command| {
            let (asked, text) = command.split_once('\n').unwrap_or((command, ""));
            let (form, options) = asked.split_once(' ').unwrap_or((asked, ""));
            answer(form, options, text).unwrap_or_else(|error| vec![error])
        },
    );
}

fn answer(form: &str, options: &str, text: &str) -> Result<Vec<String>, String> {
    let mut answered = Vec::new();
    if form == "values" {
        let read = edn::read(text, |line, value| {
            answered.push(format!("{line}: {value:?}"));
            Ok(())
        });
        read.map_err(|bad| format!("{}: {}", bad.line, bad.what))?;
        return Ok(answered);
    }
    let mut text = text.to_owned();
    for options in options.split(", ") {
        let given = given(options);
        let history = match form {
            "json" => json_lines::read(text.into(), Path::new("h.jsonl"), &given),
            _ => jepsen::read(text.into(), Path::new("history.edn"), &given),
        };
        let history = history.map_err(|error| error.to_string())?;
        text = jepsen::write(&history);
        answered = outline(&history);
    }
    if form == "written" {
        answered = text.lines().map(str::to_owned).collect();
    }
    Ok(answered)
}

fn given(options: &str) -> Given {
    let mut given = Given::default();
    for option in options.split(' ').filter(|option| !option.is_empty()) {
        match option.split_once('=') {
            Some(("permits", count)) => given.permits = count.parse().ok(),
            Some((_, "lock")) => given.pairs = Some(Pairs::Lock),
            Some(_) => given.pairs = Some(Pairs::Value),
            None => given.model = Some(option.parse().expect("a model")),
        }
    }
    given
}

fn outline(history: &LockHistory) -> Vec<String> {
    let header = &history.header;
    let mut lines = vec![format!("{}, permits {}", header.model, header.permits)];
    for key in &history.keys {
        lines.extend(key.calls.iter().map(|call| of_call(key, call)));
        let points = key.points.iter().map(|point| match point.what {
            What::Lost => format!(
                "{} lost by {}",
                point.line, key.names[point.holder as usize]
            ),
            _ => point.line.to_string(),
        });
        let points: Vec<String> = points.collect();
        lines.push(format!("{}: lines {}", key.key, points.join(", ")));
    }
    if history.skipped > 0 {
        lines.push(format!("skipped {}", history.skipped));
    }
    lines.extend(history.notes.iter().cloned());
    lines
}

fn of_call(key: &KeyHistory, call: &Call) -> String {
    let name = |number: u32| &key.names[number as usize];
    let mut told = format!("{}: {}", key.key, name(call.process));
    if call.holder != call.process {
        told += &format!(" for {}", name(call.holder));
    }
    told += &format!(" {:?} from {}", call.act, call.invoked_ns);
    match call.returned {
        Some((at_ns, _)) => told += &format!(" to {at_ns} ns, {:?}", call.outcome),
        None => told += &format!(" ns on, {:?}", call.outcome),
    }
    if let Some(token) = call.token {
        told += &format!(", token {token}");
    }
    if let Some(deadline) = call.deadline {
        told += &format!(", until {:?} {}", deadline.clock, deadline.at_ns);
    }
    if call.shared {
        told += ", shared";
    }
    told
}
