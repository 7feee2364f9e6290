//! Writes a history in this form.

use std::fmt::Write;

use super::{HEADER, MODEL};
use crate::amount::Unit;
use crate::edn;
use crate::history::{Access, Clock, LockHistory, Outcome, Point, Shown, What};
use crate::models::Act;
use crate::raw::Header;

/// The history in this form, an operation a line, in the order of time.
pub fn write(history: &LockHistory) -> String {
    let mut points: Vec<(usize, usize, &Point)> = Vec::new();
    for (key, of_key) in history.keys.iter().enumerate() {
        let told =
            { of_key.points.iter().enumerate() }.filter(|(_, point)| point.what != What::Clocks);
        points.extend(told.map(|(place, point)| (key, place, point)));
    }
    points.sort_by_key(|(.., point)| (point.at_ns, point.line));
    let mut text = String::new();
    let header = Header {
        unit: Unit::Ns,
        ..history.header.clone()
    };
    if header != Header::of(MODEL) {
        // Nothing fails that writes to memory, and nothing in it is no JSON.
        text += &format!(
            "{HEADER}{}\n",
            serde_json::to_string(&header).unwrap_or_default()
        );
    }
    for (index, (key, place, point)) in points.iter().enumerate() {
        let shown = history.keys[*key].shown.get(place);
        let shown = shown.copied().unwrap_or_default();
        write_operation(&mut text, history, *key, (point, shown), index);
    }
    text
}

fn write_operation(
    text: &mut String,
    history: &LockHistory,
    key: usize,
    (point, shown): (&Point, Shown),
    index: usize,
) {
    let of_key = &history.keys[key];
    let name = |number: u32| {
        let name = &*of_key.names[number as usize];
        match name.parse::<i64>() {
            Ok(number) if number.to_string() == name => name.to_owned(),
            _ => edn::quoted(name),
        }
    };
    let (process, kind, f) = match point.what {
        What::Invoked(call) | What::Returned(call) => {
            let returns = matches!(point.what, What::Returned(_));
            let call = &of_key.calls[call as usize];
            let kind = match call.outcome {
                _ if !returns => "invoke",
                Outcome::Ok => "ok",
                Outcome::Failed => "fail",
                Outcome::Unknown => "info",
            };
            let f = match call.act {
                Act::Acquire => "acquire",
                Act::Release => "release",
                Act::Extend => "extend",
            };
            (call.process, kind, f)
        }
        What::Lost | What::Clocks => (point.holder, "info", "lost"),
        What::Access(access) => {
            let Access {
                writes, accepted, ..
            } = of_key.accesses[access as usize];
            let kind = if accepted { "ok" } else { "fail" };
            (point.holder, kind, if writes { "write" } else { "read" })
        }
    };
    // Nothing fails that writes to memory.
    let _ = write!(
        text,
        "{{:index {index}, :process {}, :type :{kind}, :f :{f}, :value nil, :time {}",
        name(process),
        point.at_ns,
    );
    let mut put = |keyword: &str, value: Option<String>| {
        if let Some(value) = value {
            let _ = write!(text, ", :{keyword} {value}");
        }
    };
    put("key", Some(edn::quoted(&of_key.key)));
    put("wall", shown.wall_ns.map(|ns| ns.to_string()));
    put("mono", shown.mono_ns.map(|ns| ns.to_string()));
    match point.what {
        What::Invoked(call) | What::Returned(call) => {
            let returns = matches!(point.what, What::Returned(_));
            let call = &of_key.calls[call as usize];
            put(
                "owner",
                (call.holder != call.process).then(|| name(call.holder)),
            );
            put("shared", call.shared.then(|| "true".into()));
            put(
                "permits",
                (call.permits != 1).then(|| call.permits.to_string()),
            );
            if returns {
                put("token", call.token.map(|token| token.to_string()));
                put(
                    "deadline",
                    call.deadline.map(|deadline| deadline.at_ns.to_string()),
                );
                let clock = call.deadline.map(|deadline| match deadline.clock {
                    Clock::Time => ":time",
                    Clock::Wall => ":wall",
                    Clock::Mono => ":mono",
                });
                put("clock", clock.map(String::from));
            }
        }
        What::Access(access) => {
            let access = of_key.accesses[access as usize];
            put("token", access.token.map(|token| token.to_string()));
            put("version", access.version.map(|version| version.to_string()));
            put(
                "based_on",
                access.based_on.map(|version| version.to_string()),
            );
        }
        What::Lost | What::Clocks => {}
    }
    text.push_str("}\n");
}
