//! DEL, and UNLINK, which differs only in where Redis frees the memory; and the conditional forms of
//! later servers.

use bytes::Bytes;

use super::comparison::Comparison;
use crate::Imitated;
use crate::engine::command::Call;
use crate::engine::errors::wrong_arity;
use crate::store::changes::Class;
use crate::store::value::Kind as _;
use crate::wire::reply::{Answer, Error, Reply};

/// `DEL key [key …]`, and `UNLINK key [key …]`: returns the number of keys that existed.
pub(in crate::engine) fn del(call: &mut Call<'_>) -> Answer {
    let now_ms = call.now_ms();
    let mut removed = 0;
    for key in &call.args[1..] {
        if call.state.db.remove(key, now_ms).is_some() {
            call.notify(Class::Generic, "del", key);
            removed += 1;
        }
    }
    Ok(Reply::Integer(removed))
}

/// `DELEX key [IFEQ value | IFNE value | IFDEQ digest | IFDNE digest]`: deletes the key if the
/// condition is true of its text, or if there is none.
pub(in crate::engine) fn delex(call: &mut Call<'_>) -> Answer {
    let (condition, value) = match call.args[2..] {
        [] => return del(call),
        [condition, value] => (condition, value),
        _ => return Err(wrong_arity("delex")),
    };
    let now_ms = call.now_ms();
    // As in Redis, a condition is not looked at if there is no key.
    let Some(entry) = call.state.db.get(call.args[1], now_ms) else {
        return Ok(Reply::Integer(0));
    };
    let Some(text) = Bytes::of(&entry.value) else {
        return Err(Error::of(
            "ERR Key should be of string type if conditions are specified",
        ));
    };
    let Some(comparison) = Comparison::of(condition, value, Imitated::Redis8_4) else {
        return Err(Error::of(
            "ERR Invalid condition. Use IFEQ, IFNE, IFDEQ, or IFDNE",
        ));
    };
    let holds = comparison.holds(Some(text));
    Ok(delete_if(call, holds))
}

/// `DELIFEQ key value`: deletes the key if this is its text.
pub(in crate::engine) fn delifeq(call: &mut Call<'_>) -> Answer {
    let (key, value) = (call.args[1], call.args[2]);
    let is_equal = call.read::<Bytes>(key)?.is_some_and(|text| text == value);
    Ok(delete_if(call, is_equal))
}

/// Deletes the key of a request if `holds`. Replicas and the append-only file receive a DEL, so that
/// earlier versions understand it.
fn delete_if(call: &mut Call<'_>, holds: bool) -> Reply {
    let (key, now_ms) = (call.args[1], call.now_ms());
    if !holds || call.state.db.remove(key, now_ms).is_none() {
        return Reply::Integer(0);
    }
    call.notify(Class::Generic, "del", key);
    call.propagate_as(&[b"DEL", key]);
    Reply::Integer(1)
}
