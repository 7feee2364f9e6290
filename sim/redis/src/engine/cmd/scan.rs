//! SCAN and its relatives, KEYS (`src/db.c`).
//!
//! A SCAN cursor here means that every element whose hash is below it was returned. So it stays
//! valid when other elements are added or removed, like Redis's own cursor, and the node keeps no
//! state between two calls.

use bytes::Bytes;
use xxhash_rust::xxh3::xxh3_64;

use super::{SYNTAX, integer};
use crate::engine::command::Call;
use crate::glob;
use crate::store::value::{Hash, Kind, Set, Zset};
use crate::wire::float;
use crate::wire::reply::{Answer, Error, Reply};

/// `KEYS pattern`.
pub(in crate::engine) fn keys(call: &mut Call<'_>) -> Answer {
    let pattern = call.args[1];
    let names = call.state.db.iter(call.now_ms()).map(|(key, _)| key);
    let found = names.filter(|key| glob::matches(pattern, key));
    Ok(Reply::Array(found.cloned().map(Reply::Bulk).collect()))
}

/// `SCAN cursor [MATCH pattern] [COUNT count] [TYPE type]`.
pub(in crate::engine) fn scan(call: &mut Call<'_>) -> Answer {
    let cursor = parse_cursor(call.args[1])?;
    let options = Options::parse(&call.args[2..], Of::Keys)?;
    let now_ms = call.now_ms();
    let db = &mut call.state.db;
    let all = db.iter_all().map(|(key, _)| (key.clone(), ()));
    let (next, batch) = batch(all, cursor, options.count);
    let mut found = Vec::new();
    for (key, ()) in batch {
        // Accessing an expired key of any type deletes it.
        let type_name = db.peek(&key, now_ms).map(|entry| entry.value.type_name());
        let wanted = type_name.is_some_and(|name| options.wants_type(name));
        if wanted && options.matches(&key) {
            found.push(Reply::Bulk(key));
        }
    }
    Ok(page(next, found))
}

/// `HSCAN key cursor [MATCH pattern] [COUNT count]`.
pub(in crate::engine) fn hscan(call: &mut Call<'_>) -> Answer {
    scan_value::<Hash, _>(call, |hash| {
        let pairs = hash
            .iter()
            .map(|(field, value)| (field.clone(), Some(value.clone())));
        (hash.is_compact(), pairs.collect())
    })
}

/// `SSCAN key cursor [MATCH pattern] [COUNT count]`.
pub(in crate::engine) fn sscan(call: &mut Call<'_>) -> Answer {
    scan_value::<Set, _>(call, |set| {
        (
            set.is_compact(),
            set.iter().map(|member| (member, None)).collect(),
        )
    })
}

/// `ZSCAN key cursor [MATCH pattern] [COUNT count]`.
pub(in crate::engine) fn zscan(call: &mut Call<'_>) -> Answer {
    scan_value::<Zset, _>(call, |zset| {
        let ranked = zset.ranked().iter();
        let pairs = ranked.map(|(score, member)| {
            let text = float::general(*score, 17);
            (member.clone(), Some(Bytes::from(text)))
        });
        (zset.is_compact(), pairs.collect())
    })
}

/// An element of a value, with its associated field value or score.
type Element = (Bytes, Option<Bytes>);

/// Scans the elements of a value. `elements` returns them in order, and whether the value is
/// small, so that all of it is returned regardless of the count.
fn scan_value<T: Kind, F>(call: &mut Call<'_>, elements: F) -> Answer
where
    F: FnOnce(&T) -> (bool, Vec<Element>),
{
    let cursor = parse_cursor(call.args[2])?;
    let options = &call.args[3..];
    let Some(value) = call.read::<T>(call.args[1])? else {
        return Ok(page(0, Vec::new()));
    };
    let options = Options::parse(options, Of::Elements)?;
    let (compact, all) = elements(value);
    let (next, batch) = match compact {
        true => (0, all),
        false => batch(all.into_iter(), cursor, options.count),
    };
    let wanted = batch.into_iter().filter(|(name, _)| options.matches(name));
    let words = wanted
        .flat_map(|(name, value)| [Some(name), value])
        .flatten();
    Ok(page(next, words.map(Reply::Bulk).collect()))
}

/// The next elements by hash, at least `count` if there are enough, and the next cursor, 0 at the
/// end.
fn batch<T>(
    all: impl Iterator<Item = (Bytes, T)>,
    cursor: u64,
    count: usize,
) -> (u64, Vec<(Bytes, T)>) {
    let hashed = all.map(|(name, value)| (xxh3_64(&name) >> 1, name, value));
    let mut left: Vec<_> = hashed.filter(|(hash, _, _)| *hash >= cursor).collect();
    left.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
    // Elements with the same hash stay together, because the cursor could not distinguish them.
    let mut end = count.min(left.len());
    while end > 0 && end < left.len() && left[end].0 == left[end - 1].0 {
        end += 1;
    }
    let next = left.get(end).map_or(0, |(hash, _, _)| *hash);
    left.truncate(end);
    (
        next,
        left.into_iter()
            .map(|(_, name, value)| (name, value))
            .collect(),
    )
}

fn page(next: u64, found: Vec<Reply>) -> Reply {
    Reply::Array(vec![Reply::bulk(next.to_string()), Reply::Array(found)])
}

/// `parseScanCursorOrReply`: the number that C's `strtoul` parses, if it consumes everything.
fn parse_cursor(text: &[u8]) -> Result<u64, Error> {
    const INVALID: Error = Error::of("ERR invalid cursor");
    let (negative, digits) = match text {
        [] => return Ok(0),
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    if !digits.iter().all(u8::is_ascii_digit) {
        return Err(INVALID);
    }
    let digits = std::str::from_utf8(digits).map_err(|_| INVALID)?;
    let number: u64 = digits.parse().map_err(|_| INVALID)?;
    Ok(if negative {
        number.wrapping_neg()
    } else {
        number
    })
}

/// The kind of scan.
#[derive(Copy, Clone, PartialEq)]
enum Of {
    Keys,
    Elements,
}

struct Options<'a> {
    pattern: Option<&'a [u8]>,
    count: usize,
    type_name: Option<&'a [u8]>,
}

impl<'a> Options<'a> {
    fn parse(mut args: &[&'a [u8]], of: Of) -> Result<Self, Error> {
        let mut options = Options {
            pattern: None,
            count: 10,
            type_name: None,
        };
        while let [option, value, rest @ ..] = args {
            args = rest;
            match option.to_ascii_lowercase().as_slice() {
                b"count" => {
                    let count = usize::try_from(integer(value)?).map_err(|_| SYNTAX)?;
                    options.count = Some(count).filter(|count| *count > 0).ok_or(SYNTAX)?;
                }
                b"match" => options.pattern = Some(value),
                b"type" if of == Of::Keys => options.type_name = Some(value),
                _ => return Err(SYNTAX),
            }
        }
        match args {
            [] => Ok(options),
            _ => Err(SYNTAX),
        }
    }

    fn matches(&self, name: &[u8]) -> bool {
        self.pattern
            .is_none_or(|pattern| glob::matches(pattern, name))
    }

    fn wants_type(&self, name: &str) -> bool {
        self.type_name
            .is_none_or(|wanted| wanted.eq_ignore_ascii_case(name.as_bytes()))
    }
}
