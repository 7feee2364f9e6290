//! BLPOP and its relatives. If an element is available, they run as the commands that do not
//! block (LPOP, LMOVE, …).

use bytes::Bytes;

use super::{SYNTAX, integer};
use crate::engine::blocking::{Blocked, On, block};
use crate::engine::command::{Call, Context, Flag};
use crate::engine::state::blocked::Want;
use crate::wire::float;
use crate::wire::reply::{Answer, Error, Reply};

/// The result of taking from a key.
pub(in crate::engine) enum Taken {
    /// Nothing, or a value of another type.
    Nothing,
    Reply(Reply),
}

impl Want {
    /// Takes the requested elements from a key, if there are any.
    pub(in crate::engine) fn take(&self, call: &mut Call<'_>, key: &[u8]) -> Taken {
        let Reply::Integer(1..) = run(call, &[b"llen", key]) else {
            return Taken::Nothing;
        };
        Taken::Reply(match self {
            Want::Element(name) => {
                let element = run(call, &[name.as_bytes(), key]);
                Reply::Array(vec![Reply::bulk(key), element])
            }
            Want::Move([to, from_end, to_end]) => run(call, &[b"lmove", key, to, from_end, to_end]),
            Want::Rotate(to) => run(call, &[b"rpoplpush", key, to]),
        })
    }

    /// The reply if the client may not wait.
    pub(in crate::engine) fn nothing(&self) -> Reply {
        match self {
            Want::Move(_) | Want::Rotate(_) => Reply::Nil,
            Want::Element(_) => Reply::NilArray,
        }
    }
}

/// Calls a command in place of the original one, and propagates it in its own words.
fn run(call: &mut Call<'_>, words: &[&[u8]]) -> Reply {
    let mut inner = Call {
        table: call.table,
        state: &mut *call.state,
        client: call.client,
        args: words,
        wall_us: call.wall_us,
        context: call.context,
    };
    match call.table.find(words) {
        Some(command) => {
            let reply = (command.run)(&mut inner).unwrap_or_else(Reply::Error);
            if command.flags.contains(&Flag::Write) {
                let name = words[0].to_ascii_uppercase();
                inner.propagate_as(&[&[&name[..]], &words[1..]].concat());
            }
            reply
        }
        None => Reply::Nil,
    }
}

/// `BLPOP key [key …] timeout`.
pub(in crate::engine) fn blpop(call: &mut Call<'_>) -> Answer {
    take_from_keys(call, Want::Element("lpop"))
}

/// `BRPOP key [key …] timeout`.
pub(in crate::engine) fn brpop(call: &mut Call<'_>) -> Answer {
    take_from_keys(call, Want::Element("rpop"))
}

/// `BLMOVE source destination LEFT | RIGHT LEFT | RIGHT timeout`.
pub(in crate::engine) fn blmove(call: &mut Call<'_>) -> Answer {
    let end = |word: &[u8]| match word.to_ascii_lowercase().as_slice() {
        b"left" => Ok(Bytes::from_static(b"left")),
        b"right" => Ok(Bytes::from_static(b"right")),
        _ => Err(SYNTAX),
    };
    let [from_end, to_end] = [end(call.args[3])?, end(call.args[4])?];
    let until_ms = deadline(call, call.args[5])?;
    let (from, to) = (&call.args[1..2], Bytes::copy_from_slice(call.args[2]));
    let reply = take_or_wait(call, from, Want::Move([to, from_end, to_end]), until_ms)?;
    // In the words of the request, if there was an element.
    if call.session().blocked.is_none() {
        let [_, from, to, from_end, to_end, _] = call.args else {
            return Ok(reply);
        };
        call.propagate_as(&[b"LMOVE", from, to, from_end, to_end]);
    }
    Ok(reply)
}

/// `BRPOPLPUSH source destination timeout`.
pub(in crate::engine) fn brpoplpush(call: &mut Call<'_>) -> Answer {
    let until_ms = deadline(call, call.args[3])?;
    let (from, to) = (&call.args[1..2], Bytes::copy_from_slice(call.args[2]));
    take_or_wait(call, from, Want::Rotate(to), until_ms)
}
fn take_from_keys(call: &mut Call<'_>, want: Want) -> Answer {
    let args = call.args;
    let (keys, timeout) = (&args[1..args.len() - 1], args[args.len() - 1]);
    let until_ms = deadline(call, timeout)?;
    take_or_wait(call, keys, want, until_ms)
}

fn take_from_first(call: &mut Call<'_>, keys: &[&[u8]], want: &Want) -> Option<Reply> {
    for key in keys {
        if let wrong @ Reply::Error(_) = run(call, &[b"llen", key]) {
            return Some(wrong);
        }
        if let Taken::Reply(reply) = want.take(call, key) {
            return Some(reply);
        }
    }
    None
}

/// Takes from the first key that has an element. If none has, the client blocks, except in a
/// transaction or a script.
fn take_or_wait(call: &mut Call<'_>, keys: &[&[u8]], want: Want, until_ms: Option<i64>) -> Answer {
    if let Some(reply) = take_from_first(call, keys, &want) {
        return Ok(reply);
    }
    if call.context != Context::Direct {
        return Ok(want.nothing());
    }
    let keys = keys.iter().map(|key| Bytes::copy_from_slice(key)).collect();
    let on = On::Keys(keys, want);
    block(call.state, call.client, Blocked { on, until_ms });
    Ok(Reply::NONE)
}

/// `getTimeoutFromObjectOrReply`: a timeout in seconds, possibly with a fraction. Returns when it
/// ends; 0 seconds means no timeout.
fn deadline(call: &Call<'_>, timeout: &[u8]) -> Result<Option<i64>, Error> {
    const NOT_A_FLOAT: Error = Error::of("ERR timeout is not a float or out of range");
    let seconds = float::prefix(timeout)
        .filter(|(seconds, len)| *len == timeout.len() && !seconds.is_nan())
        .map(|(seconds, _)| seconds)
        .ok_or(NOT_A_FLOAT)?;
    let ms = libm::ceil(seconds * 1000.0);
    // A number out of range is converted to C's smallest number.
    if !(0.0..9_223_372_036_854_775_807.0).contains(&ms) {
        return Err(Error::of("ERR timeout is negative"));
    }
    if ms == 0.0 {
        return Ok(None);
    }
    let until_ms = call.now_ms().checked_add(ms as i64);
    until_ms
        .map(Some)
        .ok_or(Error::of("ERR timeout is out of range"))
}

/// A timeout in whole milliseconds, for WAIT and CLIENT PAUSE.
pub(in crate::engine) fn integer_timeout(timeout: &[u8]) -> Result<i64, Error> {
    let ms =
        integer(timeout).map_err(|_| Error::of("ERR timeout is not an integer or out of range"))?;
    if ms < 0 {
        return Err(Error::of("ERR timeout is negative"));
    }
    Ok(ms)
}
