//! Strings: several in one command, and their length (`src/t_string.c`).

use bytes::Bytes;

use crate::engine::command::Call;
use crate::engine::errors::wrong_arity;
use crate::wire::reply::{Answer, Error, Reply};

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
