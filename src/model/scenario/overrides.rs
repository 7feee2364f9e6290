//! Overrides, `path=value`: changes to a scenario's TOML before it is interpreted.

use std::borrow::Cow;
use std::ops::Range;

use locklab_values::durations::parse_ms;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

/// Applies one override, after these others. All its values get this span, so that errors about
/// them point at the override.
pub(super) fn apply<'a>(
    root: &mut DeTable<'a>,
    set: &'a str,
    before: &[String],
    span: &Range<usize>,
) -> Result<(), String> {
    let (path, value) = set
        .split_once('=')
        .ok_or("an override is written path=value, such as lock.ttl_ms=500")?;
    let path = keys(path);
    if path.iter().any(|key| key.is_empty()) {
        return Err("the path of an override has an empty part".into());
    }
    before.iter().try_for_each(|other| keep(other, &path))?;
    if value.trim().is_empty() {
        let path = path.join(".");
        return Err(format!(
            "there is no value; write it after the \"=\" of {path}="
        ));
    }
    // A value that is not TOML is treated as a string, so that words need no quotes.
    let value = match DeValue::parse(value.trim()) {
        Ok(value) => value.into_inner(),
        Err(_) if is_bare_word(value.trim()) => DeValue::String(value.trim().into()),
        Err(_) if parse_ms(value).is_some() => {
            return Err(format!(
                "a value has no unit; write a number, in the unit that the name of {} ends in",
                path.join(".")
            ));
        }
        Err(error) => return Err(format!("the value is not TOML: {}", error.message())),
    };
    put(root, &path, with_span(value, span), span)
}

/// The keys of a path.
fn keys(path: &str) -> Vec<&str> {
    path.split('.').map(str::trim).collect()
}

/// Refuses a path at which nothing of another override would remain.
fn keep(other: &str, path: &[&str]) -> Result<(), String> {
    let replaced = other.split_once('=').map(|(replaced, _)| keys(replaced));
    match replaced {
        Some(replaced) if replaced == path => Err(format!(
            "\"{}\" is set twice; write it once",
            path.join(".")
        )),
        Some(replaced) if replaced.starts_with(path) => Err(format!(
            "this replaces all of \"{}\", and so what {other} has set; write this one first",
            path.join("."),
        )),
        _ => Ok(()),
    }
}

/// Puts a value at a path, and creates missing tables.
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

/// The last part of the path may be an index into a list, counted from 0.
fn put_into_array<'a>(
    items: &mut DeArray<'a>,
    key: &str,
    rest: &[&str],
    value: Spanned<DeValue<'a>>,
) -> Result<(), String> {
    let slot = match rest {
        [index] => index.parse().ok().and_then(|i: usize| items.get_mut(i)),
        _ => None,
    };
    match slot {
        Some(slot) => {
            *slot = value;
            Ok(())
        }
        None => Err(format!(
            "\"{key}\" is a list of {}, counted from 0; it has no \"{}\"",
            items.len(),
            rest.join(".")
        )),
    }
}

/// Words, versions such as `redis-8.4`, and moments such as `c1 acquired #2`; not a malformed list.
fn is_bare_word(text: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || "-_/#. ".contains(c);
    !text.is_empty() && text.starts_with(char::is_alphabetic) && text.chars().all(plain)
}

/// Gives a value, and all values within it, one span.
fn with_span<'a>(value: DeValue<'a>, span: &Range<usize>) -> Spanned<DeValue<'a>> {
    let value = match value {
        DeValue::Table(table) => DeValue::Table(
            table
                .into_iter()
                .map(|(key, value)| {
                    (
                        stamp_key(key.into_inner(), span),
                        with_span(value.into_inner(), span),
                    )
                })
                .collect(),
        ),
        DeValue::Array(items) => DeValue::Array(
            items
                .into_iter()
                .map(|item| with_span(item.into_inner(), span))
                .collect(),
        ),
        scalar => scalar,
    };
    Spanned::new(span.clone(), value)
}

fn stamp_key<'a>(key: Cow<'a, str>, span: &Range<usize>) -> Spanned<Cow<'a, str>> {
    Spanned::new(span.clone(), key)
}
