//! A scenario's TOML as a tree that records the origin of each value: a place in the file, or
//! an override. It does not interpret the keys.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::{Place, ScenarioError};
use super::overrides;

/// The tree, and its source texts.
///
/// A span up to the length of the file's text lies in the file. Every value of the i-th
/// override has the span that begins i + 1 bytes after that length, so that a position reported
/// by the deserialiser always identifies its origin.
pub(super) struct Document<'a> {
    pub file: &'a str,
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
            sets: &[],
            root: Spanned::new(0..0, DeTable::new()),
        };
        document.root = DeTable::parse(text).map_err(|error| {
            let span = error.span().unwrap_or(0..0);
            document.error(span, format!("this is not TOML: {}", error.message()))
        })?;
        document.sets = sets;
        for (i, set) in sets.iter().enumerate() {
            let start = text.len() + 1 + i;
            let span = start..start + 1;
            overrides::apply(document.root.get_mut(), set, &sets[..i], &span)
                .map_err(|what| document.error(span, what))?;
        }
        Ok(document)
    }

    /// An error at this span. One that lies in the file also lists the overrides, because file
    /// and override may be valid separately and invalid together.
    pub fn error(&self, span: Range<usize>, mut what: String) -> ScenarioError {
        if !self.is_override(&span) && !self.sets.is_empty() {
            what = format!("{what} (with --set {})", self.sets.join(" --set "));
        }
        ScenarioError::Invalid {
            place: self.place(span.start),
            what,
        }
    }

    /// Whether this span belongs to an override.
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
        let beyond = offset.checked_sub(self.text.len() + 1);
        if let Some(set) = beyond.and_then(|i| self.sets.get(i)) {
            return Place::Option(format!("--set {set}"));
        }
        let before = self.text.get(..offset).unwrap_or(self.text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Place::File {
            file: self.file.to_owned(),
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
        }
    }

    /// The path to the key or value at this span, and which of the two it is.
    pub fn find(&self, span: &Range<usize>) -> Option<(Vec<String>, Node)> {
        find_in_table(self.root.get_ref(), span)
    }

    /// The table or value at this path.
    pub fn get(&self, path: &[String]) -> Option<&Spanned<DeValue<'a>>> {
        let (first, rest) = path.split_first()?;
        rest.iter()
            .try_fold(self.root.get_ref().get(first.as_str())?, |value, key| {
                value.get_ref().get(key.as_str())
            })
    }

    /// The span of the value at this path, or of the nearest enclosing table.
    pub fn span_of(&self, path: &[String]) -> Range<usize> {
        (1..=path.len())
            .rev()
            .find_map(|depth| self.get(&path[..depth]))
            .map_or(0..0, Spanned::span)
    }
}

/// Key or value in `key = value`.
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
        // A value within an array counts as the array: its location is exact anyway.
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
