//! What a reader can change in a scenario: numbers in their true units, and choices. Each change is an override, as
//! `locklab --set` takes it; the words for a number are those of the charts.

use locklab_locks::CATALOGUE;
use locklab_model::scenario::{Scenario, axis, grid::Grid};
use locklab_results::Axis;
use serde::Serialize;
use serde_json::{Value, json};

use super::subject::Subject;

/// The numbers that are offered wherever a scenario has them. `*` is any one key.
const NUMBERS: &[&str] = &[
    "lock.ttl_ms",
    "fault.*.duration_ms",
    "fault.*.extra_ms",
    "fault.*.step_ms",
    "fault.*.drift_ppm",
    "fault.*.probability",
    "fault.*.delay_ms",
    "workload.hold_ms",
    "lock.retry_delay_ms",
    "network.latency_ms",
    "network.loss",
];

/// A number to slide.
#[derive(Serialize)]
struct Number {
    path: String,
    name: String,
    unit: String,
    value: f64,
    least: f64,
    most: f64,
    step: f64,
}

/// A choice of several.
#[derive(Serialize)]
struct Choice {
    name: String,
    options: Vec<Choosable>,
}

/// One of several, by the overrides that choose it.
#[derive(Serialize)]
struct Choosable {
    label: String,
    sets: Vec<String>,
    chosen: bool,
}

/// The scenario with what can be changed in it.
pub fn scenario(subject: &Subject) -> Result<Value, Value> {
    let scenario = subject.scenario()?;
    let values = scenario.to_json();
    Ok(json!({
        "title": scenario.title,
        "claim": scenario.claim,
        "source": scenario.source,
        "about": scenario.about,
        "headline": scenario.headline().name(),
        "promises": scenario.headline().describes(),
        "text": subject.text()?,
        "numbers": numbers(&scenario, &values),
        "choices": choices(subject, &scenario, &values),
    }))
}

fn numbers(scenario: &Scenario, values: &Value) -> Vec<Number> {
    let mut found = Vec::new();
    for pattern in NUMBERS {
        let keys: Vec<&str> = pattern.split('.').collect();
        for (path, value) in at(&keys, values, "") {
            // Of a distribution its mean, or its longest value.
            let part = [
                ("", ""),
                ("/exponential", ".exponential"),
                ("/uniform/1", ".uniform.1"),
            ];
            let number = part.into_iter().find_map(|(pointer, key)| {
                let value = value.pointer(pointer)?.as_f64()?;
                Some(number(scenario, format!("{path}{key}"), value))
            });
            found.extend(number);
        }
    }
    let drift = |host: &str| {
        number(scenario, format!("clocks.host.{host}.drift_ppm"), {
            let pointer = format!("/clocks/host/{host}/drift_ppm");
            values
                .pointer(&pointer)
                .and_then(Value::as_f64)
                .unwrap_or(0.0)
        })
    };
    found.extend(["c1", "n1"].map(drift));
    found
}

/// The values at a path, of which some keys may be `*`.
fn at<'a>(keys: &[&str], value: &'a Value, path: &str) -> Vec<(String, &'a Value)> {
    let [key, rest @ ..] = keys else {
        return vec![(path.to_owned(), value)];
    };
    let entries = value.as_object().into_iter().flatten();
    let fitting = entries.filter(|(name, _)| *key == "*" || name == key);
    let below = |name: &str| match path {
        "" => name.to_owned(),
        path => format!("{path}.{name}"),
    };
    fitting
        .flat_map(|(name, value)| at(rest, value, &below(name)))
        .collect()
}

fn number(scenario: &Scenario, path: String, value: f64) -> Number {
    let (named, part) = match path.strip_suffix(".uniform.1") {
        Some(base) => (base, "longest "),
        None => (path.as_str(), ""),
    };
    let Axis { name, unit, .. } = axis(scenario, named);
    let is_share = path.ends_with("probability") || path.ends_with("loss");
    let (least, most, step) = match (is_share, swept(scenario, &path)) {
        (true, _) => (0.0, 1.0, 0.01),
        (_, Some([from, to])) => {
            let step = round_step((to - from) / 100.0);
            (from.min(value), to.max(value), step)
        }
        (_, None) if path.ends_with("ppm") => (-200_000.0, 200_000.0, 1_000.0),
        (_, None) => {
            let most = (3.0 * value.abs()).max(10.0);
            let step = round_step(most / 100.0);
            (if value < 0.0 { -most } else { 0.0 }, most, step)
        }
    };
    Number {
        name: format!("{part}{name}"),
        // A lease of nothing is none.
        least: if path == "lock.ttl_ms" { step } else { least },
        path,
        unit,
        value,
        most,
        step,
    }
}

/// The ends of the range in which the scenario's own sweep varies a number.
fn swept(scenario: &Scenario, path: &str) -> Option<[f64; 2]> {
    let values: Vec<f64> = (values_of(scenario, path)?.iter())
        .map(|value| value.parse().ok())
        .collect::<Option<_>>()?;
    Some([
        values.iter().copied().fold(f64::INFINITY, f64::min),
        values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
    ])
}

/// The values of a path in the scenario's own sweep.
fn values_of(scenario: &Scenario, path: &str) -> Option<Vec<String>> {
    let sweep = scenario.sweep.as_ref()?;
    let axis = sweep
        .vary
        .iter()
        .find(|axis| axis.starts_with(&format!("{path}=")))?;
    let cells = Grid::parse(std::slice::from_ref(axis)).ok()?.cells();
    let values = cells.into_iter().flatten().map(|(_, value)| value);
    Some(values.collect())
}

/// 1, 2 or 5 times a power of ten, and no less than this.
fn round_step(least: f64) -> f64 {
    let steps = (-3..=9).flat_map(|power| [1.0, 2.0, 5.0].map(|it| it * 10_f64.powi(power)));
    let mut fitting = steps.filter(|step| *step >= least);
    fitting.next().unwrap_or(1.0)
}

fn choices(subject: &Subject, scenario: &Scenario, values: &Value) -> Vec<Choice> {
    let set = |path: &str, value: &str| vec![format!("{path}={value}")];
    let locks = CATALOGUE.iter().map(|entry| {
        let label = format!("{}: {}", entry.name, entry.summary);
        (label, set("lock.name", entry.name))
    });
    let nodes =
        [1, 3, 5, 7].map(|nodes| (nodes.to_string(), set("topology.nodes", &nodes.to_string())));
    let with_token = "lock.fencing_token=true".to_owned();
    let fences = |fencing: &str| {
        let alone = set("resource.fencing", fencing);
        match subject.with(&alone) {
            Ok(_) => alone,
            Err(_) => [&alone[..], std::slice::from_ref(&with_token)].concat(),
        }
    };
    let tokens = [
        ("ignored by the resource", "none"),
        ("compared on writes", "writes"),
        ("compared on reads and writes", "reads-and-writes"),
    ];
    let tokens = tokens.map(|(label, fencing)| (label.to_owned(), fences(fencing)));
    let mut all = vec![
        choice("lock", locks.collect(), subject, values),
        choice("fencing tokens", tokens.into(), subject, values),
        choice("nodes", nodes.into(), subject, values),
    ];
    let swept = scenario.sweep.iter().flat_map(|sweep| &sweep.vary);
    let paths = swept
        .filter_map(|axis| axis.split_once('='))
        .map(|(path, _)| path);
    let others = paths.filter(|path| {
        let is_there = ["lock.name", "topology.nodes", "resource.fencing"].contains(path);
        !is_there && swept_number(scenario, values, path).is_none()
    });
    all.extend(others.map(|path| {
        let options = values_of(scenario, path).unwrap_or_default();
        let options = options
            .into_iter()
            .map(|value| (value.clone(), set(path, &value)));
        choice(
            &axis(scenario, path).title(),
            options.collect(),
            subject,
            values,
        )
    }));
    all.retain(|choice| choice.options.len() > 1);
    all
}

/// The value of a path, if there is a number to slide for it.
fn swept_number(scenario: &Scenario, values: &Value, path: &str) -> Option<f64> {
    let is_offered = numbers(scenario, values)
        .iter()
        .any(|number| number.path == path);
    let value = values.pointer(&format!("/{}", path.replace('.', "/")))?;
    value.as_f64().filter(|_| is_offered)
}

/// The options with which the scenario is valid.
fn choice(
    name: &str,
    options: Vec<(String, Vec<String>)>,
    subject: &Subject,
    values: &Value,
) -> Choice {
    let mut options: Vec<Choosable> = (options.into_iter())
        .filter_map(|(label, sets)| {
            // What changes nothing is what is chosen.
            let chosen = &subject.with(&sets).ok()?.to_json() == values;
            Some(Choosable {
                label,
                sets,
                chosen,
            })
        })
        .collect();
    let last = options.iter().rposition(|option| option.chosen);
    for (place, option) in options.iter_mut().enumerate() {
        option.chosen = Some(place) == last;
    }
    Choice {
        name: name.to_owned(),
        options,
    }
}
