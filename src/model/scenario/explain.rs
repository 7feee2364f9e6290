//! Turns the deserialiser's message into a helpful one: it names the key and the table, and
//! suggests corrections.
//!
//! serde words its errors the same way for every format (``unknown field `x`, expected one of `a`,
//! `b` ``), and this crate's types use the same wording; so the words in backticks are the wrong
//! name and its alternatives.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::document::{Document, Node};
use super::error::{ScenarioError, did_you_mean};
use super::type_errors::plain_message;

/// Explains why the document is not a valid scenario.
pub(super) fn explain(document: &Document<'_>, error: &toml::de::Error) -> ScenarioError {
    let span = error.span().unwrap_or_else(|| document.root.span());
    let message = error.message();
    let (complaint, alternatives) = match message.split_once(", expected ") {
        Some((complaint, alternatives)) => (complaint, quoted(alternatives)),
        None => (message, Vec::new()),
    };
    let words = quoted(complaint);
    let word = words.first().cloned().unwrap_or_default();
    // A missing key has no location of its own: the error points at the table that lacks it.
    let is_missing = complaint.starts_with("missing field");
    let location = ErrorLocation::locate(document, span, if is_missing { &[] } else { &words });
    let what = if complaint.starts_with("unknown field") {
        let hint = did_you_mean(&word, &alternatives);
        format!("unknown key \"{word}\" in {}{hint}", location.table())
    } else if let Some(noun) = unknown(complaint, &location) {
        let hint = did_you_mean(&word, &alternatives);
        format!("unknown {noun} \"{word}\"{}{hint}", location.of_what(noun))
    } else if let Some(name) = location.is_new_fault(document, &word) {
        let faults = document.keys_from_file(&["fault".into()]);
        format!("unknown fault \"{name}\"{}", did_you_mean(name, &faults))
    } else if is_missing {
        let remedy = match (&location.path[..], &*word) {
            ([], "lock") => "; `locklab list locks` has what can be in a table [lock]",
            ([], "title") => "; write what it shows, in a few words",
            _ => "",
        };
        format!("{} lacks \"{word}\"{remedy}", location.itself(document))
    } else if complaint.starts_with("invalid ") {
        format!("{}: {}", location.itself(document), plain_message(message))
    } else {
        plain_message(message)
    };
    document.error(location.span, what)
}

/// The part of the document that is at fault.
struct ErrorLocation {
    span: Range<usize>,
    path: Vec<String>,
    node: Node,
}

impl ErrorLocation {
    /// The deserialiser's span is exact, except within a table that it had to read to the end
    /// before it knew its type, such as `[lock]`, and within an override, which has one span. In
    /// these cases the location is the key, or else the value, that the message quotes.
    fn locate(document: &Document<'_>, span: Range<usize>, words: &[String]) -> ErrorLocation {
        let (path, node) = document.find(&span).unwrap_or((vec![], Node::Value));
        let table = match document.get(&path).map(Spanned::get_ref) {
            Some(DeValue::Table(table)) => table,
            None => document.root.get_ref(),
            // In an override a key and its value have the same span.
            Some(value)
                if document.is_override(&span)
                    && words.first().map(String::as_str) == text_of(value) =>
            {
                let node = Node::Value;
                return ErrorLocation { span, path, node };
            }
            Some(_) => return ErrorLocation { span, path, node },
        };
        let exact = node == Node::Key && !document.is_override(&span);
        let named = if exact {
            None
        } else {
            search(table, &path, words)
        };
        named.unwrap_or(ErrorLocation { span, path, node })
    }

    /// The table that contains the wrong part.
    fn table(&self) -> String {
        name_of_table(&self.path[..self.path.len().saturating_sub(1)])
    }

    /// ` for lock.clock`, where the noun alone does not say what is unknown.
    fn of_what(&self, noun: &str) -> String {
        match noun {
            "value" => format!(" for {}", self.path.join(".")),
            _ => String::new(),
        }
    }

    /// The name of the fault that an override created instead of changing an existing one.
    fn is_new_fault(&self, document: &Document<'_>, lacking: &str) -> Option<&str> {
        match &self.path[..] {
            [fault, name] if fault == "fault" && lacking == "kind" => {
                document.is_override(&self.span).then_some(name)
            }
            _ => None,
        }
    }

    /// The path of the wrong part.
    fn itself(&self, document: &Document<'_>) -> String {
        let value = document.get(&self.path).map(Spanned::get_ref);
        match value {
            None | Some(DeValue::Table(_)) => name_of_table(&self.path),
            Some(_) => self.path.join("."),
        }
    }
}

/// The key with one of these names, or else the value, in a table or its subtables.
fn search(table: &DeTable<'_>, path: &[String], words: &[String]) -> Option<ErrorLocation> {
    let below = |key: &str| path.iter().cloned().chain([key.to_owned()]).collect();
    let key = |word: &String| table.get_key_value(word.as_str());
    let holding = |word: &String| {
        let mut entries = table.iter();
        entries.find(|(_, value)| text_of(value.get_ref()) == Some(word))
    };
    if let Some((key, _)) = words.iter().find_map(key) {
        return Some(ErrorLocation {
            span: key.span(),
            path: below(key.get_ref()),
            node: Node::Key,
        });
    }
    if let Some((key, value)) = words.iter().find_map(holding) {
        return Some(ErrorLocation {
            span: value.span(),
            path: below(key.get_ref()),
            node: Node::Value,
        });
    }
    table.iter().find_map(|(key, value)| {
        let table = value.get_ref().as_table()?;
        search(table, &below(key.get_ref()), words)
    })
}

fn name_of_table(path: &[String]) -> String {
    match path {
        [] => "the scenario".into(),
        path => format!("[{}]", path.join(".")),
    }
}

/// The noun for the unknown name, if the message is about one.
fn unknown<'a>(complaint: &'a str, location: &ErrorLocation) -> Option<&'a str> {
    let noun = complaint.strip_prefix("unknown ")?.split(" `").next()?;
    if noun != "variant" {
        return Some(noun);
    }
    let path: Vec<&str> = location.path.iter().map(String::as_str).collect();
    Some(match (&path[..], location.node) {
        (["lock", "name"], _) => "lock",
        (["fault", _, "kind"], _) => "fault kind",
        (["expect", _], Node::Key) => "property",
        (["expect", _], Node::Value) => "verdict",
        ([.., parent, _], Node::Key) if parent.ends_with("_ms") => "distribution",
        _ => "value",
    })
}

/// The parts of a message in backticks or double quotes.
fn quoted(message: &str) -> Vec<String> {
    message
        .split(['`', '"'])
        .skip(1)
        .step_by(2)
        .map(String::from)
        .collect()
}

/// A scalar as a message would quote it.
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
