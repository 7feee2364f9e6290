//! From the deserialiser's message to one that helps: which key, in which table, and
//! what may have been meant.
//!
//! serde words its errors the same way for every format (``unknown field `x`,
//! expected one of `a`, `b` ``), and our own types keep to that wording; so the words
//! in backticks are the culprit and its alternatives.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::document::{Document, Node};
use super::error::{ScenarioError, did_you_mean};

/// Explains why the document is no scenario.
pub(super) fn explain(document: &Document<'_>, error: &toml::de::Error) -> ScenarioError {
    let span = error.span().unwrap_or_else(|| document.root.span());
    let message = error.message();
    let (complaint, alternatives) = match message.split_once(", expected ") {
        Some((complaint, alternatives)) => (complaint, quoted(alternatives)),
        None => (message, Vec::new()),
    };
    let culprit = Culprit::locate(document, span, &quoted(complaint));

    let word = quoted(complaint).into_iter().next().unwrap_or_default();
    let what = if complaint.starts_with("unknown field") {
        let hint = did_you_mean(&word, &alternatives);
        format!("unknown key \"{word}\" in {}{hint}", culprit.table())
    } else if let Some(noun) = unknown(complaint, &culprit) {
        let hint = did_you_mean(&word, &alternatives);
        format!("unknown {noun} \"{word}\"{}{hint}", culprit.of_what(noun))
    } else if let Some(name) = culprit.is_new_fault(document, &word) {
        let faults = document.keys_from_file(&["fault".into()]);
        format!("unknown fault \"{name}\"{}", did_you_mean(name, &faults))
    } else if complaint.starts_with("missing field") {
        format!("{} lacks \"{word}\"", culprit.itself())
    } else if complaint.starts_with("invalid ") {
        format!("{}: {}", culprit.itself(), plainly(message))
    } else {
        message.replace('`', "\"")
    };
    document.error(culprit.span, what)
}

/// What is at fault.
struct Culprit {
    span: Range<usize>,
    path: Vec<String>,
    node: Node,
}

impl Culprit {
    /// The deserialiser's span is exact, except within a table that it had to read to
    /// the end before it knew its type, such as `[lock]`. There the culprit is the key,
    /// or else the value, that the complaint quotes.
    fn locate(document: &Document<'_>, span: Range<usize>, words: &[String]) -> Culprit {
        let (path, node) = document.find(&span).unwrap_or((vec![], Node::Value));
        let table = match document.get(&path).map(Spanned::get_ref) {
            Some(DeValue::Table(table)) if node == Node::Value || words_in(table, words) => table,
            None => document.root.get_ref(),
            _ => return Culprit { span, path, node },
        };
        let key = |word: &String| table.get_key_value(word.as_str());
        let holding = |word: &String| {
            table
                .iter()
                .find(|(_, value)| text_of(value.get_ref()) == Some(word))
        };
        let (found, node) = if let Some(found) = words.iter().find_map(key) {
            (found, Node::Key)
        } else if let Some(found) = words.iter().find_map(holding) {
            (found, Node::Value)
        } else {
            return Culprit {
                span,
                path,
                node: Node::Value,
            };
        };
        let span = match node {
            Node::Key => found.0.span(),
            Node::Value => found.1.span(),
        };
        let path = path
            .into_iter()
            .chain([found.0.get_ref().to_string()])
            .collect();
        Culprit { span, path, node }
    }

    /// The table in which the culprit stands.
    fn table(&self) -> String {
        name_of_table(&self.path[..self.path.len().saturating_sub(1)])
    }

    /// ` for lock.clock`, where the noun alone leaves open what it is that is unknown.
    fn of_what(&self, noun: &str) -> String {
        match noun {
            "value" => format!(" for {}", self.path.join(".")),
            _ => String::new(),
        }
    }

    /// The name of the fault that an override began although it meant to change one.
    fn is_new_fault(&self, document: &Document<'_>, lacking: &str) -> Option<&str> {
        match &self.path[..] {
            [fault, name] if fault == "fault" && lacking == "kind" => {
                document.is_override(&self.span).then_some(name)
            }
            _ => None,
        }
    }

    /// The culprit itself, by its path.
    fn itself(&self) -> String {
        match self.path.len() {
            0 | 1 => name_of_table(&self.path),
            _ => self.path.join("."),
        }
    }
}

fn words_in(table: &DeTable<'_>, words: &[String]) -> bool {
    words.iter().any(|word| table.contains_key(word.as_str()))
}

fn name_of_table(path: &[String]) -> String {
    match path {
        [] => "the scenario".into(),
        path => format!("[{}]", path.join(".")),
    }
}

/// What kind of thing is unknown, if that is the complaint.
fn unknown<'a>(complaint: &'a str, culprit: &Culprit) -> Option<&'a str> {
    let noun = complaint.strip_prefix("unknown ")?.split(" `").next()?;
    if noun != "variant" {
        return Some(noun);
    }
    let path: Vec<&str> = culprit.path.iter().map(String::as_str).collect();
    Some(match (&path[..], culprit.node) {
        (["lock", "name"], _) => "lock",
        (["fault", _, "kind"], _) => "fault kind",
        (["expect", _], Node::Key) => "property",
        (["expect", _], Node::Value) => "verdict",
        ([.., parent, _], Node::Key) if parent.ends_with("_ms") => "distribution",
        _ => "value",
    })
}

/// Without the names of Rust's types.
fn plainly(message: &str) -> String {
    let message = match message.rsplit_once(", expected ") {
        Some((complaint, "u64" | "u32")) => {
            format!("{complaint}, expected a whole number, 0 or more")
        }
        Some((complaint, "i64")) => format!("{complaint}, expected a whole number"),
        Some((complaint, "f64")) => format!("{complaint}, expected a number"),
        Some((complaint, "a boolean")) => format!("{complaint}, expected true or false"),
        _ => message.into(),
    };
    // Strings stand in double quotes already, numbers in backticks.
    message.replace('`', "")
}

/// The pieces of a message in backticks or double quotes.
fn quoted(message: &str) -> Vec<String> {
    message
        .split(['`', '"'])
        .skip(1)
        .step_by(2)
        .map(String::from)
        .collect()
}

/// A scalar as a complaint would quote it.
fn text_of<'a>(value: &'a DeValue<'_>) -> Option<&'a str> {
    match value {
        DeValue::String(text) => Some(text),
        DeValue::Integer(number) => Some(number.as_str()),
        DeValue::Float(number) => Some(number.as_str()),
        DeValue::Boolean(true) => Some("true"),
        DeValue::Boolean(false) => Some("false"),
        _ => None,
    }
}
