//! INCR, DECR, INCRBY, DECRBY. They keep the key's time to live.

use bytes::Bytes;

use super::{NOT_AN_INTEGER, integer};
use crate::engine::command::Call;
use crate::store::changes::Class;
use crate::wire::number::{decimal, parse_i64};
use crate::wire::reply::{Answer, Error, Reply};

/// `INCR key`.
pub(in crate::engine) fn incr(call: &mut Call<'_>) -> Answer {
    add(call, 1)
}

/// `DECR key`.
pub(in crate::engine) fn decr(call: &mut Call<'_>) -> Answer {
    add(call, -1)
}

/// `INCRBY key increment`.
pub(in crate::engine) fn incrby(call: &mut Call<'_>) -> Answer {
    let increment = integer(call.args[2])?;
    add(call, increment)
}

/// `DECRBY key decrement`.
pub(in crate::engine) fn decrby(call: &mut Call<'_>) -> Answer {
    let increment = integer(call.args[2])?
        .checked_neg()
        .ok_or(Error::of("ERR decrement would overflow"))?;
    add(call, increment)
}

fn add(call: &mut Call<'_>, increment: i64) -> Answer {
    let key = call.args[1];
    let new = match call.edit::<Bytes>(key)? {
        Some(text) => {
            let old = parse_i64(text).ok_or(NOT_AN_INTEGER)?;
            let new = old
                .checked_add(increment)
                .ok_or(Error::of("ERR increment or decrement would overflow"))?;
            *text = decimal(new);
            new
        }
        None => {
            *call.edit_or_create::<Bytes>(key)? = decimal(increment);
            increment
        }
    };
    call.filled_by(Class::String, "incrby", key);
    Ok(Reply::Integer(new))
}
