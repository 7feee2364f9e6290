//! EVAL, EVALSHA, their read-only forms, and SCRIPT (`src/eval.c`).

use std::collections::btree_map::Entry;

use bytes::Bytes;

use super::integer;
use super::keys::is_flush_mode;
use crate::engine::busy;
use crate::engine::command::Call;
use crate::engine::script::{self, Access, Invocation, parse_sha};
use crate::engine::state::Sha;
use crate::wire::reply::{Answer, Error, Reply};

/// `EVAL script numkeys [key …] [arg …]`.
pub(in crate::engine) fn eval(call: &mut Call<'_>) -> Answer {
    eval_body(call, Access::ReadWrite)
}

/// `EVAL_RO script numkeys [key …] [arg …]`: like EVAL, but the script may not write.
pub(in crate::engine) fn eval_ro(call: &mut Call<'_>) -> Answer {
    eval_body(call, Access::ReadOnly)
}

/// `EVALSHA sha1 numkeys [key …] [arg …]`: a script that this node knows.
pub(in crate::engine) fn evalsha(call: &mut Call<'_>) -> Answer {
    eval_known(call, Access::ReadWrite)
}

/// `EVALSHA_RO sha1 numkeys [key …] [arg …]`: like EVALSHA, but the script may not write.
pub(in crate::engine) fn evalsha_ro(call: &mut Call<'_>) -> Answer {
    eval_known(call, Access::ReadOnly)
}

fn eval_body(call: &mut Call<'_>, access: Access) -> Answer {
    let (keys, argv) = keys_and_argv(call.args)?;
    let body = call.args[1];
    let sha = &script::sha(body);
    know(call, *sha, body)?;
    run(
        call,
        &Invocation {
            sha,
            body,
            keys,
            argv,
            access,
        },
    )
}

fn eval_known(call: &mut Call<'_>, access: Access) -> Answer {
    const UNKNOWN: Error = Error::of("NOSCRIPT No matching script. Please use EVAL.");
    // Redis checks the length, then the arguments, then looks up the script.
    let sha = &parse_sha(call.args[1]).ok_or(UNKNOWN)?;
    let (keys, argv) = keys_and_argv(call.args)?;
    let body = call.state.scripts.get(sha).cloned().ok_or(UNKNOWN)?;
    run(
        call,
        &Invocation {
            sha,
            body: &body,
            keys,
            argv,
            access,
        },
    )
}

/// Runs a script, and accounts for its running time.
fn run(call: &mut Call<'_>, invocation: &Invocation<'_>) -> Answer {
    let (answer, reading) = script::run(call, invocation)?;
    let reply = answer.unwrap_or_else(Reply::Error);
    busy::begin(call, invocation.sha, &reading, &reply);
    Ok(reply)
}

fn keys_and_argv<'a>(args: &'a [&'a [u8]]) -> Result<(Words<'a>, Words<'a>), Error> {
    let count = usize::try_from(integer(args[2])?)
        .map_err(|_| Error::of("ERR Number of keys can't be negative"))?;
    args[3..].split_at_checked(count).ok_or(Error::of(
        "ERR Number of keys can't be greater than number of args",
    ))
}

type Words<'a> = &'a [&'a [u8]];

/// `SCRIPT LOAD script`: returns its SHA-1, by which EVALSHA finds it from now on.
pub(in crate::engine) fn load(call: &mut Call<'_>) -> Answer {
    let body = call.args[2];
    let sha = script::sha(body);
    know(call, sha, body)?;
    Ok(Reply::bulk(sha))
}

/// `SCRIPT EXISTS sha1 [sha1 …]`.
pub(in crate::engine) fn exists(call: &mut Call<'_>) -> Answer {
    let known =
        |name: &&[u8]| parse_sha(name).is_some_and(|sha| call.state.scripts.contains_key(&sha));
    let found = call.args[2..]
        .iter()
        .map(|name| Reply::Integer(known(name).into()));
    Ok(Reply::Array(found.collect()))
}

/// `SCRIPT FLUSH [SYNC | ASYNC]`: the node drops all known scripts.
pub(in crate::engine) fn flush(call: &mut Call<'_>) -> Answer {
    if !is_flush_mode(&call.args[2..]) {
        return Err(Error::of("ERR SCRIPT FLUSH only support SYNC|ASYNC option"));
    }
    call.state.scripts.clear();
    Ok(Reply::OK)
}

/// `SCRIPT KILL`: ends a script for which other clients get BUSY.
pub(in crate::engine) fn kill(call: &mut Call<'_>) -> Answer {
    busy::kill(call.state).map(|()| Reply::OK)
}

/// Adds a script to those that EVALSHA finds, if it compiles.
fn know(call: &mut Call<'_>, sha: Sha, body: &[u8]) -> Result<(), Error> {
    if let Entry::Vacant(place) = call.state.scripts.entry(sha) {
        script::compile(&sha, body)?;
        place.insert(Bytes::copy_from_slice(body));
    }
    Ok(())
}
