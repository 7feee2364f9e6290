//! What was recorded as an environment file for `locklab study risk`: TOML, with the causes that were seen,
//! and in comments those that were not.

mod causes;
mod notes;

use std::fmt::Write;

use toml::Value;

use super::calendar::date;
use super::events::Often;
use super::recorded::Recorded;
use super::values::Values;
pub use causes::{Amount, Cause, causes};
use locklab_values::untrusted;

/// More values than this are written as quantiles where there is no file for them.
const MOST_INLINE: usize = 1000;

/// The latency one way that stands where none was measured, in milliseconds.
const GUESSED_LATENCY_MS: f64 = 0.25;

/// Where the values of a cause are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lists {
    /// In the file itself.
    Inline,
    /// In files beside it, which [`lists`] has.
    Beside,
}

/// A file of values, one number of milliseconds a line.
#[derive(Debug, Clone, PartialEq)]
pub struct List {
    /// Its name.
    pub file: &'static str,
    /// Its contents.
    pub text: String,
}

/// The environment file.
pub fn write(recorded: &Recorded, lists: Lists) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = heading(&mut text, recorded)
        .and_then(|()| network(&mut text, recorded))
        .and_then(|()| {
            let mut causes = causes(recorded).into_iter();
            causes.try_for_each(|cause| cause_table(&mut text, &cause, lists))
        });
    let notes = [notes::notes(recorded), notes::not_seen(&causes(recorded))];
    for notes in notes.iter().filter(|notes| !notes.is_empty()) {
        text += "\n";
        for note in notes {
            comment(&mut text, note);
        }
    }
    text
}

/// The values that the file refers to, and those that it gives only as quantiles.
pub fn lists(recorded: &Recorded) -> Vec<List> {
    let list = |file: &'static str, what: &str, values: &Values| {
        let mut text = format!("# {}, in milliseconds\n", untrusted::line(what));
        for value in values.sorted_ms() {
            text += &number(*value);
            text += "\n";
        }
        List { file, text }
    };
    let causes = causes(recorded);
    let seen = causes.iter().filter(|cause| cause.events.count() > 0);
    let mut lists: Vec<List> = seen
        .map(|cause| list(cause.file, &cause.title, &cause.events.durations_ms))
        .collect();
    let live = recorded.live.as_ref();
    let latency = live.and_then(|live| live.latency.as_ref());
    let lag = live.and_then(|live| live.lag.as_ref());
    let others = [
        (
            "latency.txt",
            "one way to the server, half of a round trip",
            latency.map(|it| &it.one_way_ms),
        ),
        (
            "replication-lag.txt",
            "from a write's reply until the replica has it",
            lag.map(|it| &it.visible_ms),
        ),
        (
            "fsync.txt",
            "a sync of a small append",
            live.and_then(|live| live.fsync_ms.as_ref()),
        ),
    ];
    for (file, what, values) in others {
        lists.extend(
            values
                .filter(|it| it.count() > 0)
                .map(|it| list(file, what, it)),
        );
    }
    lists
}

fn heading(text: &mut String, recorded: &Recorded) -> std::fmt::Result {
    let live = recorded.live.as_ref();
    let mut subjects = Vec::new();
    if let Some(live) = live {
        subjects.push("one machine".to_owned());
        subjects.extend(live.redis.as_ref().map(|_| "one Redis".to_owned()));
        subjects.extend(live.replica.as_ref().map(|_| "its replica".to_owned()));
    }
    let files: usize = recorded.logs.iter().map(|log| log.files.len()).sum();
    match files {
        0 => {}
        1 => subjects.push("one log".into()),
        _ => subjects.push(format!("{files} logs")),
    }
    let title = format!(
        "Measured on {}: {}",
        date(recorded.begun_s),
        subjects.join(", ")
    );
    let mut about = Vec::new();
    if let Some(live) = live {
        about.push(format!(
            "locklab record watched for {}.",
            seconds(live.seconds)
        ));
    }
    for log in &recorded.logs {
        let covered = seconds(log.pauses.watched_s);
        about.push(format!("{} covers {covered}.", log.files.join(", ")));
    }
    about.push("Comments say what was not seen, and what was not looked for.".into());
    writeln!(text, "title = {}", quoted(&title))?;
    writeln!(text, "about = {}", quoted(&about.join(" ")))
}

/// The network. If it was not measured there is a guess, marked as one: a file without it cannot be used.
fn network(text: &mut String, recorded: &Recorded) -> std::fmt::Result {
    let live = recorded.live.as_ref();
    let measured = live.and_then(|live| {
        let values = &live.latency.as_ref()?.one_way_ms;
        Some((live.seconds, values, live.redis.as_ref()?)).filter(|_| values.count() > 0)
    });
    writeln!(text, "\n[network]")?;
    let Some((watched_s, values, redis)) = measured else {
        writeln!(text, "latency_ms = {GUESSED_LATENCY_MS}")?;
        let guess = "not measured: locklab record --redis URL does; this is a quiet network in one data centre";
        return writeln!(text, "guess = {}", quoted(guess));
    };
    let source = format!(
        "locklab record, {}, {} PINGs to {redis}, half of each round trip",
        seconds(watched_s),
        values.count()
    );
    writeln!(text, "latency_ms = {}", quantiles(values))?;
    writeln!(text, "source = {}", quoted(&source))
}

fn cause_table(text: &mut String, cause: &Cause, lists: Lists) -> std::fmt::Result {
    let Often::Every {
        mean_s,
        low_s,
        high_s,
    } = cause.events.often()
    else {
        return Ok(());
    };
    writeln!(text, "\n[cause.{}]", cause.name)?;
    writeln!(text, "title = {}", quoted(&cause.title))?;
    writeln!(text, "fault = {}", quoted(cause.fault))?;
    writeln!(text, "on = [{}]", quoted(cause.on))?;
    writeln!(
        text,
        "every = \"{} s\"  # {} in {}: between {} and {}, at 95 % if they are independent",
        number(mean_s),
        cause.events.count(),
        seconds(cause.events.watched_s),
        seconds(low_s),
        seconds(high_s),
    )?;
    let values = &cause.events.durations_ms;
    let all = || values.sorted_ms().iter().map(|it| number(*it));
    let distribution = match lists {
        Lists::Beside => format!("{{ file = {} }}", quoted(cause.file)),
        Lists::Inline if values.count() <= MOST_INLINE => {
            format!("{{ values = [{}] }}", all().collect::<Vec<_>>().join(", "))
        }
        Lists::Inline => quantiles(values),
    };
    writeln!(text, "{} = {distribution}", cause.amount.key())?;
    if let Some(direction) = cause.amount.direction() {
        writeln!(text, "direction = {}", quoted(direction))?;
    }
    writeln!(text, "source = {}", quoted(&cause.source))
}

/// The quantiles as a distribution. Each is larger than the one before, so that one that is not is left
/// out; if all values are the same, it is a constant.
fn quantiles(values: &Values) -> String {
    let mut told: Vec<(&str, String)> = Vec::new();
    for (name, value) in values.quantiles().into_iter().rev() {
        let value = number(value);
        if told.last().is_none_or(|(_, larger)| *larger != value) {
            told.push((name, value));
        }
    }
    if let [(_, only)] = &told[..] {
        return only.clone();
    }
    let key = |name: &str| match name.contains('.') {
        true => format!("\"{name}\""),
        false => name.to_owned(),
    };
    let told = told.iter().rev();
    let told: Vec<String> = told
        .map(|(name, value)| format!("{} = {value}", key(name)))
        .collect();
    format!("{{ quantiles = {{ {} }} }}", told.join(", "))
}

/// Times in a line: their quantiles, or a few as they are.
pub fn sizes(values: &Values) -> String {
    notes::told(values)
}

/// How far a clock is ahead, or behind: `0.5 ms behind`.
pub fn ahead(ms: f64) -> String {
    notes::ahead(ms).trim_end_matches(" of").to_owned()
}

/// Four significant digits: more than any of these measurements has.
pub fn number(value: f64) -> String {
    rounded(value, 4)
}

fn rounded(value: f64, digits: usize) -> String {
    let rounded = format!("{value:.*e}", digits - 1).parse();
    rounded.unwrap_or(value).to_string()
}

/// A time for people: `0.3 s`, `60 s`, `12.5 min`, `3 h`.
pub fn seconds(seconds: f64) -> String {
    match seconds {
        ..120.0 => format!("{} s", rounded(seconds, 3)),
        ..7200.0 => format!("{:.1} min", seconds / 60.0),
        ..172_800.0 => format!("{:.1} h", seconds / 3600.0),
        _ => format!("{:.1} days", seconds / 86_400.0),
    }
}

/// A string of TOML. Names of files and servers may have anything in them.
fn quoted(text: &str) -> String {
    Value::String(untrusted::line(text)).to_string()
}

/// Lines of a comment, at most a hundred characters each unless a word is longer.
fn comment(text: &mut String, note: &str) {
    let mut line = String::from("#");
    for word in untrusted::line(note).split(' ') {
        if line.chars().count() + word.chars().count() >= 100 {
            *text += &line;
            *text += "\n";
            line = "#".into();
        }
        line += " ";
        line += word;
    }
    *text += &line;
    *text += "\n";
}

#[cfg(test)]
mod tests;
