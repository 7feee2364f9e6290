//! What a shell completes after `--set`: the paths of the scenario that the command line names, and their values. The
//! model says in its errors what it accepts, and is asked by a mistake.

use std::collections::BTreeSet;
use std::env;
use std::ffi::OsStr;

use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use locklab_locks::CATALOGUE;
use locklab_model::scenario::{SHIPPED, Source};
use serde_json::Value;

/// No key and no value of a scenario, nor near one.
const NONE: &str = "?";

/// The scenario whose paths are offered where none is named yet.
const USUAL: &str = "kleppmann/k1";

/// `path=`, or `path=value` where the values of a path have names.
pub(crate) fn set_completer() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        let begun = current.to_string_lossy();
        let Some(subject) = Subject::named() else {
            return vec![];
        };
        let settings = match begun.split_once('=') {
            Some((path, _)) => subject.values(path),
            None => subject.paths(),
        };
        let fitting = settings.into_iter().filter(|it| it.starts_with(&*begun));
        fitting.map(CompletionCandidate::new).collect()
    })
}

/// A scenario, and its values.
struct Subject {
    source: Source,
    values: Value,
}

impl Subject {
    /// The first one that a word of the command line names. Before these words stand `--`, the program and its command.
    fn named() -> Option<Subject> {
        let words = env::args().skip_while(|word| word != "--").skip(3);
        // `-` would be read from standard input.
        let names = words.filter(|word| !word.starts_with('-'));
        let mut named = names.filter_map(|name| Source::find(&name).ok());
        let source = named.next().or_else(|| Source::find(USUAL).ok())?;
        let values = source.scenario(&[]).ok()?.to_json();
        Some(Subject { source, values })
    }

    /// What is wrong with such a setting.
    fn complaint(&self, path: &str, value: &str) -> String {
        let set = format!("{path}={value}");
        let refused = self.source.scenario(&[set]).err();
        refused.map_or(String::new(), |error| error.to_string())
    }

    /// Every path that has a value, each with `=`.
    fn paths(&self) -> Vec<String> {
        let mut found = Vec::new();
        self.below("", &self.values, &mut found);
        found
    }

    fn below(&self, path: &str, value: &Value, found: &mut Vec<String>) {
        let at = |key: &str| match path {
            "" => key.to_owned(),
            path => format!("{path}.{key}"),
        };
        let complaint = self.complaint(&at(NONE), "0");
        let known = match complaint.contains(&format!("unknown key \"{NONE}\"")) {
            true => offered(&complaint),
            false => vec![],
        };
        let named = value.as_object().into_iter().flatten();
        let mut keys: BTreeSet<String> = named.map(|(key, _)| key.clone()).collect();
        keys.extend(known);
        if path.is_empty() {
            keys.extend(self.absent_tables());
        }
        // A distribution may be one number as well.
        if !path.is_empty() && (keys.is_empty() || path.ends_with("_ms")) {
            found.push(format!("{path}="));
        }
        for key in keys {
            let value = value.get(&key).unwrap_or(&Value::Null);
            self.below(&at(&key), value, found);
        }
    }

    /// The tables that other scenarios have.
    fn absent_tables(&self) -> BTreeSet<String> {
        let headings = SHIPPED.iter().flat_map(|(_, text)| text.lines());
        let headings = headings.filter_map(|line| line.strip_prefix('['));
        let tables = headings.filter_map(|heading| heading.split(['.', ']']).next());
        let absent = tables.filter(|table| self.values.get(table).is_none());
        absent.map(String::from).collect()
    }

    /// The values of this path that have names, each with the path.
    fn values(&self, path: &str) -> Vec<String> {
        let names: Vec<String> = match path {
            "lock.name" => CATALOGUE.iter().map(|lock| lock.name.to_owned()).collect(),
            path => {
                let complaint = self.complaint(path, &format!("\"{NONE}\""));
                match complaint.contains("write true or false") {
                    true => vec!["true".into(), "false".into()],
                    false => offered(&complaint),
                }
            }
        };
        let set = |name: &String| format!("{path}={name}");
        names.iter().map(set).collect()
    }
}

/// What an error says that can stand there.
fn offered(complaint: &str) -> Vec<String> {
    let (_, list) = complaint.split_once("; it can be ").unwrap_or_default();
    list.split('"')
        .skip(1)
        .step_by(2)
        .map(String::from)
        .collect()
}
