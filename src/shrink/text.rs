//! A scenario as a person would write it: in TOML, without what has its default, with comments.

use std::fmt::Write;

use serde_json::{Map, Value};

use crate::json::pointer;
use locklab_model::scenario::{Scenario, ScenarioError, parse};

/// The scenario as the text of a file, which begins with these lines as comments.
pub fn toml(scenario: &Scenario, comments: &[String]) -> String {
    let mut text = String::new();
    for line in comments {
        text += format!("# {line}").trim_end();
        text.push('\n');
    }
    if !comments.is_empty() {
        text.push('\n');
    }
    let value = written(scenario);
    let empty = Map::new();
    table(
        &mut text,
        &mut Vec::new(),
        value.as_object().unwrap_or(&empty),
    );
    text
}

/// The scenario with further overrides.
///
/// # Errors
///
/// If it is not a scenario with them.
pub fn overridden(scenario: &Scenario, sets: &[String]) -> Result<Scenario, ScenarioError> {
    let mut value = scenario.to_json();
    drop_nulls(&mut value);
    let text = toml::to_string(&value).unwrap_or_default();
    let parsed = parse(&scenario.name, &text, sets)?;
    Ok(Scenario {
        name: scenario.name.clone(),
        overrides: [&scenario.overrides[..], sets].concat(),
        ..parsed
    })
}

/// How many lines a scenario takes: those of its TOML, without empty ones, texts and predictions.
pub fn lines(scenario: &Scenario) -> usize {
    let bare = Scenario {
        title: String::new(),
        claim: None,
        source: None,
        about: String::new(),
        headline: None,
        expect: [].into(),
        on_redis: None,
        sweep: None,
        ..scenario.clone()
    };
    let text = toml(&bare, &[]);
    let lines = text.lines().filter(|line| !line.is_empty());
    // Each has a title.
    lines.count() - 1
}

/// What a file has to say of a scenario: nothing that has its default.
fn written(scenario: &Scenario) -> Value {
    let mut value = scenario.to_json();
    drop_nulls(&mut value);
    let same = |value: &Value| {
        let read = Scenario::from_json(value.clone());
        read.is_ok_and(|read| {
            let named = Scenario {
                name: scenario.name.clone(),
                overrides: scenario.overrides.clone(),
                ..read
            };
            named == *scenario
        })
    };
    prune(&mut value, &mut Vec::new(), &same);
    value
}

/// Removes each key, the outer ones first, without which the scenario is the same.
fn prune(root: &mut Value, path: &mut Vec<String>, same: &dyn Fn(&Value) -> bool) {
    let table = root.pointer(&pointer(path)).and_then(Value::as_object);
    let keys: Vec<String> = table.into_iter().flat_map(Map::keys).cloned().collect();
    for key in keys {
        let mut without = root.clone();
        let table = without.pointer_mut(&pointer(path));
        if let Some(table) = table.and_then(Value::as_object_mut) {
            table.remove(&key);
        }
        if same(&without) {
            *root = without;
        } else {
            path.push(key);
            prune(root, path, same);
            path.pop();
        }
    }
}

fn drop_nulls(value: &mut Value) {
    if let Value::Object(table) = value {
        table.retain(|_, value| !value.is_null());
        table.values_mut().for_each(drop_nulls);
    }
}

/// The order in which a person writes keys; others follow, by name.
const ORDER: [&str; 47] = [
    "title",
    "claim",
    "source",
    "about",
    "headline",
    "horizon_ms",
    "settle_ms",
    "bound_ms",
    "topology",
    "nodes",
    "replicas",
    "sentinels",
    "clients",
    "sentinel",
    "node",
    "lock",
    "name",
    "ttl_ms",
    "order",
    "workload",
    "kind",
    "rounds",
    "start_ms",
    "hold_ms",
    "think_ms",
    "client",
    "resource",
    "network",
    "latency_ms",
    "loss",
    "clocks",
    "fault",
    "on",
    "from",
    "to",
    "direction",
    "at_ms",
    "after",
    "delay_ms",
    "duration_ms",
    "step_ms",
    "drift_ppm",
    "extra_ms",
    "probability",
    "expect",
    "verdict",
    "rate",
];

fn rank(key: &str) -> usize {
    let place = ORDER.iter().position(|known| *known == key);
    place.unwrap_or(ORDER.len())
}

/// Writes the keys of a table, and then the tables in it.
fn table(text: &mut String, path: &mut Vec<String>, entries: &Map<String, Value>) {
    let mut entries: Vec<(&String, &Value)> = entries.iter().collect();
    // Properties have no order of their own.
    let rank = |key: &str| if path[..] == ["expect"] { 0 } else { rank(key) };
    entries.sort_by_key(|(key, _)| (rank(key), (*key).clone()));
    let (tables, values): (Vec<_>, Vec<_>) =
        { entries.into_iter() }.partition(|(key, value)| is_table(path, key, value));
    // A campaign may have nothing but defaults: its table alone says that it is one.
    if !path.is_empty() && (!values.is_empty() || tables.is_empty()) {
        if !text.is_empty() && !text.ends_with("\n\n") {
            text.push('\n');
        }
        let path: Vec<String> = path.iter().map(|key| bare(key)).collect();
        // Writing to a string cannot fail.
        let _ = writeln!(text, "[{}]", path.join("."));
    }
    for (key, value) in values {
        let value = match value.as_array().map(Vec::as_slice) {
            Some([only]) if ["on", "from", "to"].contains(&key.as_str()) => only,
            _ => value,
        };
        let _ = writeln!(text, "{} = {}", bare(key), self::value(value));
    }
    for (key, value) in tables {
        path.push(key.clone());
        if let Value::Object(entries) = value {
            table(text, path, entries);
        }
        path.pop();
    }
}

/// Whether a value is written as a table of its own: the sections of a scenario, and what they have by
/// name. A distribution or a prediction is written in a line.
fn is_table(path: &[String], key: &str, value: &Value) -> bool {
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    value.is_object()
        && matches!(
            (&path[..], key),
            ([], _)
                | (["workload"], "client")
                | (["workload", "client"] | ["fault"], _)
                | (["clocks"], "host")
                | (["clocks", "host"], _)
                | (["sweep"], "axis")
                | (["sweep", "axis"], _)
        )
}

/// A key, in quotes where TOML needs them.
fn bare(key: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    match !key.is_empty() && key.chars().all(is_bare) {
        true => key.into(),
        false => string(key),
    }
}

fn value(value: &Value) -> String {
    match value {
        Value::String(text) if text.contains('\n') => long(text),
        Value::String(text) => string(text),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(self::value).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(entries) => {
            let mut entries: Vec<(&String, &Value)> = entries.iter().collect();
            entries.sort_by_key(|(key, _)| (rank(key), (*key).clone()));
            let entry = |(key, value): &(&String, &Value)| {
                format!("{} = {}", bare(key), self::value(value))
            };
            let entries: Vec<String> = entries.iter().map(entry).collect();
            format!("{{ {} }}", entries.join(", "))
        }
        Value::Number(number) => match number.as_f64() {
            // 1500.0 is 1500 to a reader.
            Some(float) if number.is_f64() => float.to_string(),
            _ => number.to_string(),
        },
        other => other.to_string(),
    }
}

fn string(text: &str) -> String {
    toml::Value::String(text.into()).to_string()
}

/// A text of several lines. TOML reads a backslash and three quotes in it as more than they are.
fn long(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace("\"\"\"", "\"\"\\\"");
    format!("\"\"\"\n{escaped}\"\"\"")
}

#[cfg(test)]
mod tests {
    use super::*;
    use locklab_model::scenario::{SHIPPED, load, parse};

    #[test]
    fn every_shipped_scenario_is_read_back_as_it_was() {
        for (name, _) in SHIPPED {
            let scenario = load(name, &[]).expect("it ships");
            let text = toml(&scenario, &["A comment".into(), String::new()]);
            let again = parse(&format!("scenarios/{name}.toml"), &text, &[]);
            assert_eq!(
                again.unwrap_or_else(|error| panic!("{error}\n{text}")),
                scenario
            );
        }
    }

    #[test]
    fn file_has_nothing_that_is_the_default() {
        let text = "title = \"t\"\n\n[topology]\nclients = 3\n\n[lock]\nname = \"set-nx-px\"\n\
                    ttl_ms = 1000\n\n[workload.client.c2]\nstart_ms = { uniform = [20, 200] }\n\n\
                    [fault.gc]\nkind = \"pause\"\non = \"c1\"\nafter = \"c1 read\"\n\
                    duration_ms = 1500\n\n[expect]\n\
                    lease = { verdict = \"violated\", rate = [0.95, 1] }\n";
        let scenario = parse("t.toml", text, &[]).expect("it is valid");
        assert_eq!(toml(&scenario, &[]), text);
        assert_eq!(lines(&scenario), 12);
    }
}
