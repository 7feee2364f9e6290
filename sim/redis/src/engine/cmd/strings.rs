//! Strings: several in one command, and parts of one (`src/t_string.c`).

use bytes::Bytes;

use super::{NOT_A_FLOAT, float_reply, integer};
use crate::engine::command::Call;
use crate::engine::errors::wrong_arity;
use crate::store::changes::Class;
use crate::wire::float::LongDouble;
use crate::wire::reply::{Answer, Error, Reply};

/// `proto-max-bulk-len`: the longest string, in bytes.
const MAX_BYTES: usize = 512 * 1024 * 1024;

/// `MGET key [key …]`: nil for a key that does not hold a string.
pub(in crate::engine) fn mget(call: &mut Call<'_>) -> Answer {
    let keys = call.args[1..].iter();
    let values =
        keys.map(|key| Reply::bulk_or_nil(call.read::<Bytes>(key).ok().flatten().cloned()));
    Ok(Reply::Array(values.collect()))
}

/// `MSET key value [key value …]`.
pub(in crate::engine) fn mset(call: &mut Call<'_>) -> Answer {
    set_pairs(call, "mset")?;
    Ok(Reply::OK)
}

/// `MSETNX key value [key value …]`: sets all, or none if one of the keys exists.
pub(in crate::engine) fn msetnx(call: &mut Call<'_>) -> Answer {
    let now_ms = call.now_ms();
    let taken = |key: &&[u8]| call.state.db.get(key, now_ms).is_some();
    if call.args.len() % 2 == 1 && call.args[1..].iter().step_by(2).any(taken) {
        return Ok(Reply::Integer(0));
    }
    set_pairs(call, "msetnx")?;
    Ok(Reply::Integer(1))
}

fn set_pairs(call: &mut Call<'_>, name: &str) -> Result<(), Error> {
    let pairs = call.args[1..].chunks_exact(2);
    if !pairs.remainder().is_empty() {
        return Err(wrong_arity(name));
    }
    for pair in pairs {
        call.set_string(pair[0], Bytes::copy_from_slice(pair[1]));
    }
    Ok(())
}

/// `STRLEN key`, in bytes.
pub(in crate::engine) fn strlen(call: &mut Call<'_>) -> Answer {
    let text = call.read::<Bytes>(call.args[1])?;
    Ok(Reply::Integer(text.map_or(0, Bytes::len) as i64))
}

/// `APPEND key value`: the new length.
pub(in crate::engine) fn append(call: &mut Call<'_>) -> Answer {
    let (key, more) = (call.args[1], call.args[2]);
    let old = call.read::<Bytes>(key)?;
    let new = [old.map_or(&[][..], |old| old), more].concat();
    if new.len() > MAX_BYTES {
        return Err(TOO_LONG);
    }
    replace(call, "append", new)
}

/// `SETRANGE key offset value`: the new length. A gap before the offset is filled with zeros.
pub(in crate::engine) fn setrange(call: &mut Call<'_>) -> Answer {
    let part = call.args[3];
    let offset = usize::try_from(integer(call.args[2])?)
        .map_err(|_| Error::of("ERR offset is out of range"))?;
    let old = call.read::<Bytes>(call.args[1])?;
    if part.is_empty() {
        return Ok(Reply::Integer(old.map_or(0, Bytes::len) as i64));
    }
    let end = offset.saturating_add(part.len());
    if end > MAX_BYTES {
        return Err(TOO_LONG);
    }
    let mut new = old.map_or_else(Vec::new, |old| old.to_vec());
    new.resize(new.len().max(end), 0);
    new[offset..end].copy_from_slice(part);
    replace(call, "setrange", new)
}

const TOO_LONG: Error = Error::of("ERR string exceeds maximum allowed size (proto-max-bulk-len)");

/// Changes a string and keeps its time to live.
fn replace(call: &mut Call<'_>, event: &'static str, new: Vec<u8>) -> Answer {
    let key = call.args[1];
    let len = new.len();
    *call.edit_or_create::<Bytes>(key)? = new.into();
    call.changed_by(Class::String, event, key);
    Ok(Reply::Integer(len as i64))
}

/// `GETRANGE key start end`, and the older name `SUBSTR key start end`: both ends included,
/// negative from the end.
pub(in crate::engine) fn getrange(call: &mut Call<'_>) -> Answer {
    let (start, end) = (integer(call.args[2])?, integer(call.args[3])?);
    let text = call
        .read::<Bytes>(call.args[1])?
        .cloned()
        .unwrap_or_default();
    if start < 0 && end < 0 && start > end {
        return Ok(Reply::Bulk(Bytes::new()));
    }
    let from_start = |index: i64| match index {
        ..0 => index.saturating_add_unsigned(text.len() as u64).max(0) as usize,
        _ => usize::try_from(index).unwrap_or(usize::MAX),
    };
    let (start, end) = (
        from_start(start),
        from_start(end).saturating_add(1).min(text.len()),
    );
    Ok(Reply::Bulk(match start < end {
        true => text.slice(start..end),
        false => Bytes::new(),
    }))
}

/// `INCRBYFLOAT key increment`: the sum, which is the new value.
pub(in crate::engine) fn incrbyfloat(call: &mut Call<'_>) -> Answer {
    let (key, increment) = (call.args[1], call.args[2]);
    let old = match call.read::<Bytes>(key)? {
        Some(text) => LongDouble::parse(text).ok_or(NOT_A_FLOAT)?,
        None => LongDouble::ZERO,
    };
    let increment = LongDouble::parse(increment).ok_or(NOT_A_FLOAT)?;
    let (text, reply) = float_reply(old.plus(increment))?;
    call.propagate_as(&[b"SET", key, &text, b"KEEPTTL"]);
    *call.edit_or_create::<Bytes>(key)? = text;
    call.changed_by(Class::String, "incrbyfloat", key);
    Ok(reply)
}
