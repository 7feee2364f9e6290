//! Hashes (`src/t_hash.c`).

use bytes::Bytes;

use super::{integer, map};
use crate::engine::command::Call;
use crate::engine::errors::wrong_arity;
use crate::store::changes::Class;
use crate::store::value::Hash;
use crate::wire::number::parse_i64;
use crate::wire::reply::{Answer, Error, Reply};

/// `HSET key field value [field value …]`: returns the number of new fields.
pub(in crate::engine) fn hset(call: &mut Call<'_>) -> Answer {
    Ok(Reply::Integer(set_fields(call, "hset")? as i64))
}

/// `HMSET key field value [field value …]`.
pub(in crate::engine) fn hmset(call: &mut Call<'_>) -> Answer {
    set_fields(call, "hmset")?;
    Ok(Reply::OK)
}

fn set_fields(call: &mut Call<'_>, name: &str) -> Result<usize, Error> {
    let (key, pairs) = (call.args[1], call.args[2..].chunks_exact(2));
    if !pairs.remainder().is_empty() {
        return Err(wrong_arity(name));
    }
    let limits = call.state.db.limits.hash;
    let hash = call.edit_or_create::<Hash>(key)?;
    let new = pairs
        .filter(|pair| hash.set(pair[0], Bytes::copy_from_slice(pair[1]), limits))
        .count();
    call.reply_goes_here();
    call.changed_by(Class::Hash, "hset", key);
    Ok(new)
}

/// `HSETNX key field value`: 1 if the field did not exist and was set.
pub(in crate::engine) fn hsetnx(call: &mut Call<'_>) -> Answer {
    let (key, field, value) = (call.args[1], call.args[2], call.args[3]);
    let limits = call.state.db.limits.hash;
    let hash = call.edit_or_create::<Hash>(key)?;
    if hash.get(field).is_some() {
        return Ok(Reply::Integer(0));
    }
    hash.set(field, Bytes::copy_from_slice(value), limits);
    call.reply_goes_here();
    call.changed_by(Class::Hash, "hset", key);
    Ok(Reply::Integer(1))
}

/// `HGET key field`.
pub(in crate::engine) fn hget(call: &mut Call<'_>) -> Answer {
    Ok(Reply::bulk_or_nil(field(call)?.cloned()))
}

/// `HMGET key field [field …]`.
pub(in crate::engine) fn hmget(call: &mut Call<'_>) -> Answer {
    let fields = &call.args[2..];
    let hash = call.read::<Hash>(call.args[1])?;
    let value = |field: &&[u8]| hash.and_then(|hash| hash.get(field)).cloned();
    let values = fields.iter().map(|field| Reply::bulk_or_nil(value(field)));
    Ok(Reply::Array(values.collect()))
}

/// `HGETALL key`.
pub(in crate::engine) fn hgetall(call: &mut Call<'_>) -> Answer {
    let hash = call.read::<Hash>(call.args[1])?;
    let pairs = hash.into_iter().flat_map(Hash::iter);
    let pairs =
        pairs.map(|(field, value)| (Reply::Bulk(field.clone()), Reply::Bulk(value.clone())));
    Ok(map(pairs))
}

/// `HKEYS key`.
pub(in crate::engine) fn hkeys(call: &mut Call<'_>) -> Answer {
    let hash = call.read::<Hash>(call.args[1])?;
    let pairs = hash.into_iter().flat_map(Hash::iter);
    Ok(Reply::Array(
        pairs.map(|(field, _)| Reply::Bulk(field.clone())).collect(),
    ))
}

/// `HVALS key`.
pub(in crate::engine) fn hvals(call: &mut Call<'_>) -> Answer {
    let hash = call.read::<Hash>(call.args[1])?;
    let pairs = hash.into_iter().flat_map(Hash::iter);
    Ok(Reply::Array(
        pairs.map(|(_, value)| Reply::Bulk(value.clone())).collect(),
    ))
}

/// `HDEL key field [field …]`: returns the number of fields that existed.
pub(in crate::engine) fn hdel(call: &mut Call<'_>) -> Answer {
    let (key, fields) = (call.args[1], &call.args[2..]);
    let Some(hash) = call.edit::<Hash>(key)? else {
        return Ok(Reply::Integer(0));
    };
    let removed = fields.iter().filter(|field| hash.remove(field)).count();
    if removed > 0 {
        call.changed_by(Class::Hash, "hdel", key);
    }
    Ok(Reply::Integer(removed as i64))
}

/// `HEXISTS key field`.
pub(in crate::engine) fn hexists(call: &mut Call<'_>) -> Answer {
    Ok(Reply::Integer(field(call)?.is_some().into()))
}

/// `HLEN key`.
pub(in crate::engine) fn hlen(call: &mut Call<'_>) -> Answer {
    let hash = call.read::<Hash>(call.args[1])?;
    Ok(Reply::Integer(hash.map_or(0, Hash::len) as i64))
}

fn field<'a>(call: &'a mut Call<'_>) -> Result<Option<&'a Bytes>, Error> {
    let field = call.args[2];
    let hash = call.read::<Hash>(call.args[1])?;
    Ok(hash.and_then(|hash| hash.get(field)))
}

/// `HINCRBY key field increment`.
pub(in crate::engine) fn hincrby(call: &mut Call<'_>) -> Answer {
    let increment = integer(call.args[3])?;
    let old = match field(call)? {
        Some(text) => parse_i64(text).ok_or(Error::of("ERR hash value is not an integer"))?,
        None => 0,
    };
    let new = old
        .checked_add(increment)
        .ok_or(Error::of("ERR increment or decrement would overflow"))?;
    set_field(call, "hincrby", new.to_string())?;
    Ok(Reply::Integer(new))
}

fn set_field(
    call: &mut Call<'_>,
    event: &'static str,
    value: impl Into<Bytes>,
) -> Result<(), Error> {
    let (key, field) = (call.args[1], call.args[2]);
    let limits = call.state.db.limits.hash;
    let hash = call.edit_or_create::<Hash>(key)?;
    hash.set(field, value.into(), limits);
    call.reply_goes_here();
    call.changed_by(Class::Hash, event, key);
    Ok(())
}
