//! SELECT, MOVE and SWAPDB (`src/db.c`).

use crate::engine::command::{Call, Context};
use crate::store::changes::Class;
use crate::wire::number::parse_i64;
use crate::wire::reply::{Answer, Error, Reply};

pub(super) const OUT_OF_RANGE: Error = Error::of("ERR DB index is out of range");
pub(super) const SAME_OBJECTS: Error = Error::of("ERR source and destination objects are the same");

/// `SELECT index`: the client's commands from here on run in this database. In a script, those of
/// the script do.
pub(in crate::engine) fn select(call: &mut Call<'_>) -> Answer {
    let index = existing(call, call.args[1])?;
    match call.context {
        Context::Script => call.state.db.select(index),
        Context::Direct | Context::Transaction => call.state.select(call.client, index),
    }
    Ok(Reply::OK)
}

/// `MOVE key index`: 0 if the key does not exist, or exists there.
pub(in crate::engine) fn move_key(call: &mut Call<'_>) -> Answer {
    let (key, now_ms) = (call.args[1], call.now_ms());
    let to = existing(call, call.args[2])?;
    let db = &mut call.state.db;
    if to == db.selected() {
        return Err(SAME_OBJECTS);
    }
    let Some(entry) = db.get(key, now_ms).cloned() else {
        return Ok(Reply::Integer(0));
    };
    if db.within(to, |db| db.get(key, now_ms).is_some()) {
        return Ok(Reply::Integer(0));
    }
    db.within(to, |db| db.set(key, entry, now_ms));
    db.remove(key, now_ms);
    db.event(Class::Generic, "move_from", key);
    db.within(to, |db| db.event(Class::Generic, "move_to", key));
    Ok(Reply::Integer(1))
}

/// `SWAPDB index index`: the clients of either database see the keys of the other.
pub(in crate::engine) fn swapdb(call: &mut Call<'_>) -> Answer {
    let read = |arg: &[u8], refusal| {
        let index = parse_i64(arg).and_then(|index| i32::try_from(index).ok());
        index.ok_or(Error::of(refusal))
    };
    let one = read(call.args[1], "ERR invalid first DB index")?;
    let other = read(call.args[2], "ERR invalid second DB index")?;
    let (one, other) = (in_range(call, one)?, in_range(call, other)?);
    let now_ms = call.now_ms();
    call.state.db.swap(one, other, now_ms);
    if one != other {
        call.state.waiting.all_may_be_ready(one);
        call.state.waiting.all_may_be_ready(other);
    }
    Ok(Reply::OK)
}

/// The number of an existing database.
///
/// # Errors
///
/// It is no number, or that of no database.
pub(super) fn existing(call: &Call<'_>, arg: &[u8]) -> Result<usize, Error> {
    let index = i32::try_from(super::integer(arg)?).map_err(|_| {
        Error::of("ERR value is out of range, value must between -2147483648 and 2147483647")
    })?;
    in_range(call, index)
}

fn in_range(call: &Call<'_>, index: i32) -> Result<usize, Error> {
    let index = usize::try_from(index).ok();
    let index = index.filter(|index| *index < call.state.db.count);
    index.ok_or(OUT_OF_RANGE)
}
