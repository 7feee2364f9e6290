//! RENAME, RENAMENX and COPY (`src/db.c`). They preserve the time to live.

use super::SYNTAX;
use super::databases::{self, SAME_OBJECTS};
use crate::engine::command::Call;
use crate::store::changes::Class;
use crate::store::keyspace::Entry;
use crate::wire::reply::{Answer, Error, Reply};

/// `RENAME key newkey`: replaces the new key if it exists.
pub(in crate::engine) fn rename(call: &mut Call<'_>) -> Answer {
    let (key, new, now_ms) = (call.args[1], call.args[2], call.now_ms());
    existing(call, key)?;
    if key != new
        && let Some(entry) = call.state.db.remove(key, now_ms)
    {
        call.state.db.remove(new, now_ms);
        call.state.db.set(new, entry, now_ms);
        call.notify(Class::Generic, "rename_from", key);
        call.notify(Class::Generic, "rename_to", new);
    }
    Ok(Reply::OK)
}

/// `RENAMENX key newkey`: 0 if the new key exists, even if both are the same.
pub(in crate::engine) fn renamenx(call: &mut Call<'_>) -> Answer {
    let (key, new, now_ms) = (call.args[1], call.args[2], call.now_ms());
    existing(call, key)?;
    if key == new || call.state.db.get(new, now_ms).is_some() {
        return Ok(Reply::Integer(0));
    }
    if let Some(entry) = call.state.db.remove(key, now_ms) {
        call.state.db.set(new, entry, now_ms);
        call.notify(Class::Generic, "rename_from", key);
        call.notify(Class::Generic, "rename_to", new);
    }
    Ok(Reply::Integer(1))
}

fn existing<'a>(call: &'a mut Call<'_>, key: &[u8]) -> Result<&'a Entry, Error> {
    let now_ms = call.now_ms();
    let entry = call.state.db.get(key, now_ms);
    entry.ok_or(Error::of("ERR no such key"))
}

/// `COPY source destination [DB index] [REPLACE]`: 1 if it was copied.
pub(in crate::engine) fn copy(call: &mut Call<'_>) -> Answer {
    let (source, destination, now_ms) = (call.args[1], call.args[2], call.now_ms());
    let (to, existing) = copy_options(call)?;
    let db = &mut call.state.db;
    if to == db.selected() && source == destination {
        return Err(SAME_OBJECTS);
    }
    let Some(entry) = db.get(source, now_ms).cloned() else {
        return Ok(Reply::Integer(0));
    };
    let copied = db.within(to, |db| {
        if db.get(destination, now_ms).is_some() && existing == Existing::Keep {
            return false;
        }
        db.remove(destination, now_ms);
        db.set(destination, entry, now_ms);
        db.event(Class::Generic, "copy_to", destination);
        true
    });
    Ok(Reply::Integer(copied.into()))
}

/// The handling of an existing destination.
#[derive(PartialEq)]
enum Existing {
    Keep,
    Replace,
}

/// The number of the destination's database, and the handling of an existing key.
fn copy_options(call: &Call<'_>) -> Result<(usize, Existing), Error> {
    let mut to = call.state.db.selected();
    let mut existing = Existing::Keep;
    let mut options = &call.args[3..];
    while let [option, rest @ ..] = options {
        options = rest;
        if option.eq_ignore_ascii_case(b"replace") {
            existing = Existing::Replace;
        } else if option.eq_ignore_ascii_case(b"db")
            && let [index, rest @ ..] = options
        {
            options = rest;
            to = databases::existing(call, index)?;
        } else {
            return Err(SYNTAX);
        }
    }
    Ok((to, existing))
}
