//! TYPE and OBJECT: the type of a value, and its encoding (`src/object.c`).

use crate::engine::table::Call;
use crate::store::db::Entry;
use crate::store::value::Value;
use crate::wire::number::parse_i64;
use crate::wire::reply::{Answer, Error, Reply};

/// `TYPE key`.
pub(in crate::engine) fn type_of(call: &mut Call<'_>) -> Answer {
    let now_ms = call.now_ms();
    let entry = call.state.db.get(call.args[1], now_ms);
    let name = entry.map_or("none", |entry| entry.value.type_name());
    Ok(Reply::Status(name.into()))
}

/// `OBJECT ENCODING key`.
pub(in crate::engine) fn encoding(call: &mut Call<'_>) -> Answer {
    Ok(entry(call).map_or(Reply::Nil, |entry| Reply::bulk(entry.value.encoding())))
}

/// `OBJECT REFCOUNT key`: 1, except for the shared integers of a server.
pub(in crate::engine) fn refcount(call: &mut Call<'_>) -> Answer {
    Ok(entry(call).map_or(Reply::Nil, |entry| {
        Reply::Integer(match &entry.value {
            Value::String(text) if parse_i64(text).is_some_and(is_shared) => SHARED_REFCOUNT,
            _ => 1,
        })
    }))
}

/// `OBJ_SHARED_REFCOUNT` of `src/server.h`.
const SHARED_REFCOUNT: i64 = i32::MAX as i64;

/// `OBJ_SHARED_INTEGERS` of `src/server.h`: the number of shared integers, from 0.
fn is_shared(number: i64) -> bool {
    (0..10_000).contains(&number)
}

/// `OBJECT IDLETIME key`: always 0, because the node does not record access times.
pub(in crate::engine) fn idletime(call: &mut Call<'_>) -> Answer {
    Ok(entry(call).map_or(Reply::Nil, |_| Reply::Integer(0)))
}

/// `OBJECT FREQ key`: an error under the default eviction policy.
pub(in crate::engine) fn freq(call: &mut Call<'_>) -> Answer {
    match entry(call) {
        None => Ok(Reply::Nil),
        Some(_) => Err(Error::of(
            "ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that when switching between policies at runtime LRU and LFU data will take some time to adjust.",
        )),
    }
}

fn entry<'a>(call: &'a mut Call<'_>) -> Option<&'a Entry> {
    let now_ms = call.now_ms();
    call.state.db.get(call.args[2], now_ms)
}
