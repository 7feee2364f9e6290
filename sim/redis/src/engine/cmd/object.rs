//! TYPE and OBJECT: the type of a value, and its encoding (`src/object.c`).

use crate::engine::command::Call;
use crate::store::keyspace::Entry;
use crate::wire::reply::{Answer, Error, Reply};

/// `TYPE key`.
pub(in crate::engine) fn type_of(call: &mut Call<'_>) -> Answer {
    let now_ms = call.now_ms();
    let entry = call.state.db.peek(call.args[1], now_ms);
    let name = entry.map_or("none", |entry| entry.value.type_name());
    Ok(Reply::Status(name.into()))
}

/// `OBJECT ENCODING key`.
pub(in crate::engine) fn encoding(call: &mut Call<'_>) -> Answer {
    Ok(entry(call).map_or(Reply::Nil, |entry| Reply::bulk(entry.value.encoding())))
}

/// `OBJECT IDLETIME key`: the seconds since the last access; an error under an eviction policy that
/// goes by frequency.
pub(in crate::engine) fn idletime(call: &mut Call<'_>) -> Answer {
    let now_ms = call.now_ms();
    let by_frequency = call.state.config.policy().is_by_frequency();
    match entry(call) {
        None => Ok(Reply::Nil),
        Some(_) if by_frequency => Err(Error::of(
            "ERR An LFU maxmemory policy is selected, idle time not tracked. Please note that when switching between policies at runtime LRU and LFU data will take some time to adjust.",
        )),
        Some(entry) => Ok(Reply::Integer(entry.usage.idle_s(now_ms))),
    }
}

/// `OBJECT FREQ key`: the counter of accesses; an error under an eviction policy that does not go
/// by frequency.
pub(in crate::engine) fn freq(call: &mut Call<'_>) -> Answer {
    let now_ms = call.now_ms();
    let by_frequency = call.state.config.policy().is_by_frequency();
    match entry(call) {
        None => Ok(Reply::Nil),
        Some(entry) if by_frequency => Ok(Reply::Integer(entry.usage.frequency(now_ms).into())),
        Some(_) => Err(Error::of(
            "ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that when switching between policies at runtime LRU and LFU data will take some time to adjust.",
        )),
    }
}

fn entry<'a>(call: &'a mut Call<'_>) -> Option<&'a Entry> {
    let now_ms = call.now_ms();
    call.state.db.peek(call.args[2], now_ms)
}
