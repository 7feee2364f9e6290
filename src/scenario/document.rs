//! A scenario's TOML as a tree that remembers where each value came from: a place in
//! the file, or an override. It knows nothing of what the keys mean.

use std::borrow::Cow;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::{Place, ScenarioError};

/// The tree, and the texts that it was read from.
///
/// A span up to the length of the file's text lies in the file. Every value of the
/// i-th override has the span that begins i + 1 bytes further on, so that a position
/// reported by the deserialiser always tells its origin.
pub(super) struct Document<'a> {
    file: &'a str,
    text: &'a str,
    sets: &'a [String],
    /// The tree.
    pub root: Spanned<DeTable<'a>>,
}

impl<'a> Document<'a> {
    /// Parses the text of `file` and applies overrides in their order.
    pub fn parse(file: &'a str, text: &'a str, sets: &'a [String]) -> Result<Self, ScenarioError> {
        let mut document = Document {
            file,
            text,
            sets,
            root: Spanned::new(0..0, DeTable::new()),
        };
        document.root = DeTable::parse(text).map_err(|error| {
            let span = error.span().unwrap_or(0..0);
            document.error(span, format!("this is not TOML: {}", error.message()))
        })?;
        for (i, set) in sets.iter().enumerate() {
            let start = text.len() + 1 + i;
            document
                .apply(set, start..start + 1)
                .map_err(|what| document.error(start..start + 1, what))?;
        }
        Ok(document)
    }

    /// An error at this span. One that lies in the file tells the overrides too, for
    /// it may take both to make something impossible.
    pub fn error(&self, span: Range<usize>, mut what: String) -> ScenarioError {
        if !self.is_override(&span) && !self.sets.is_empty() {
            what = format!("{what} (with --set {})", self.sets.join(" --set "));
        }
        ScenarioError::Invalid {
            place: self.place(span.start),
            what,
        }
    }

    /// Whether this span is an override's.
    pub fn is_override(&self, span: &Range<usize>) -> bool {
        span.start > self.text.len()
    }

    /// The keys that the file itself has in the table at a path.
    pub fn keys_from_file(&self, path: &[String]) -> Vec<String> {
        let table = self.get(path).and_then(|value| value.get_ref().as_table());
        let keys = table.into_iter().flat_map(|table| table.keys());
        keys.filter(|key| !self.is_override(&key.span()))
            .map(|key| key.get_ref().to_string())
            .collect()
    }

    fn place(&self, offset: usize) -> Place {
        if let Some(i) = offset.checked_sub(self.text.len() + 1) {
            return Place::Option(format!("--set {}", self.sets[i]));
        }
        let before = self.text.get(..offset).unwrap_or(self.text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Place::File {
            file: self.file.to_owned(),
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
        }
    }

    /// Applies one override, `path=value`.
    fn apply(&mut self, set: &'a str, span: Range<usize>) -> Result<(), String> {
        let (path, value) = set
            .split_once('=')
            .ok_or("an override is written path=value, such as lock.ttl_ms=500")?;
        let path: Vec<&str> = path.split('.').map(str::trim).collect();
        if path.iter().any(|key| key.is_empty()) {
            return Err("the path of an override has an empty part".into());
        }
        // What is not TOML is taken as a string, so that words need no quotes.
        let value = match DeValue::parse(value.trim()) {
            Ok(value) => value.into_inner(),
            Err(_) if is_bare_word(value.trim()) => DeValue::String(value.trim().into()),
            Err(error) => return Err(format!("the value is not TOML: {}", error.message())),
        };
        put(self.root.get_mut(), &path, stamp(value, &span), &span)
    }

    /// The path to the key or value at this span, and which of the two it is.
    pub fn find(&self, span: &Range<usize>) -> Option<(Vec<String>, Node)> {
        find_in_table(self.root.get_ref(), span)
    }

    /// The table or value at a path.
    pub fn get(&self, path: &[String]) -> Option<&Spanned<DeValue<'a>>> {
        let (first, rest) = path.split_first()?;
        rest.iter()
            .try_fold(self.root.get_ref().get(first.as_str())?, |value, key| {
                value.get_ref().get(key.as_str())
            })
    }

    /// The span of what stands at a path, or of the nearest table around it.
    pub fn span_of(&self, path: &[String]) -> Range<usize> {
        (1..=path.len())
            .rev()
            .find_map(|depth| self.get(&path[..depth]))
            .map_or(0..0, Spanned::span)
    }
}

/// Which half of `key = value` is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Node {
    Key,
    Value,
}

fn find_in_table(table: &DeTable<'_>, span: &Range<usize>) -> Option<(Vec<String>, Node)> {
    table.iter().find_map(|(key, value)| {
        let name = key.get_ref().to_string();
        if key.span() == *span {
            return Some((vec![name], Node::Key));
        }
        if value.span() == *span {
            return Some((vec![name], Node::Value));
        }
        // A value within an array counts as the array: its place is exact anyway.
        let (mut path, node) = match value.get_ref() {
            DeValue::Table(table) => find_in_table(table, span)?,
            DeValue::Array(_) if contains(value, span) => (vec![], Node::Value),
            _ => return None,
        };
        path.insert(0, name);
        Some((path, node))
    })
}

fn contains(value: &Spanned<DeValue<'_>>, span: &Range<usize>) -> bool {
    value.span().start <= span.start && span.end <= value.span().end
}

/// Words, and moments such as `c1 acquired #2`; not a list with a slip in it.
fn is_bare_word(text: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || "-_/# ".contains(c);
    !text.is_empty() && text.starts_with(char::is_alphabetic) && text.chars().all(plain)
}

/// Gives a value, and all within it, one span.
fn stamp<'a>(value: DeValue<'a>, span: &Range<usize>) -> Spanned<DeValue<'a>> {
    let value = match value {
        DeValue::Table(table) => DeValue::Table(
            table
                .into_iter()
                .map(|(key, value)| {
                    (
                        stamp_key(key.into_inner(), span),
                        stamp(value.into_inner(), span),
                    )
                })
                .collect(),
        ),
        DeValue::Array(items) => DeValue::Array(
            items
                .into_iter()
                .map(|item| stamp(item.into_inner(), span))
                .collect(),
        ),
        scalar => scalar,
    };
    Spanned::new(span.clone(), value)
}

fn stamp_key<'a>(key: Cow<'a, str>, span: &Range<usize>) -> Spanned<Cow<'a, str>> {
    Spanned::new(span.clone(), key)
}

/// Puts a value at a path, making the tables on the way.
fn put<'a>(
    table: &mut DeTable<'a>,
    path: &[&'a str],
    value: Spanned<DeValue<'a>>,
    span: &Range<usize>,
) -> Result<(), String> {
    let (key, rest) = match path {
        [] => return Ok(()),
        [key] => {
            table.remove(*key);
            table.insert(stamp_key((*key).into(), span), value);
            return Ok(());
        }
        [key, rest @ ..] => (*key, rest),
    };
    if !table.contains_key(key) {
        let empty = DeValue::Table(DeTable::new());
        table.insert(
            stamp_key(key.into(), span),
            Spanned::new(span.clone(), empty),
        );
    }
    match table.get_mut(key).map(Spanned::get_mut) {
        Some(DeValue::Table(inner)) => put(inner, rest, value, span),
        Some(DeValue::Array(items)) => put_into_array(items, key, rest, value),
        Some(other) => Err(format!(
            "\"{key}\" is of type {}, not a table that could have \"{}\" in it",
            other.type_str(),
            rest[0]
        )),
        None => Ok(()),
    }
}

/// The last part of the path may be a place in a list, counted from 0.
fn put_into_array<'a>(
    items: &mut toml::de::DeArray<'a>,
    key: &str,
    rest: &[&str],
    value: Spanned<DeValue<'a>>,
) -> Result<(), String> {
    let count = items.len();
    let slot = match rest {
        [index] => index.parse().ok().and_then(|i: usize| items.get_mut(i)),
        _ => None,
    };
    match slot {
        Some(slot) => *slot = value,
        None => {
            return Err(format!(
                "\"{key}\" is a list of {count}: its parts are {key}.0 to {key}.{}",
                count.saturating_sub(1)
            ));
        }
    }
    Ok(())
}
