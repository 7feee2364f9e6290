//! WAIT and WAITAOF: wait until replicas or files have a client's writes.

use super::blocking::integer_timeout;
use super::{integer, not_negative};
use crate::engine::blocking::{Blocked, NO_FILE, On, block};
use crate::engine::command::{Call, Context};
use crate::wire::reply::{Answer, Error, Reply};

/// `WAIT numreplicas timeout`: how many replicas have all writes of this client. Replies as soon
/// as there are enough, or after the timeout.
pub(in crate::engine) fn wait(call: &mut Call<'_>) -> Answer {
    if call.state.repl.link().is_some() {
        return Err(Error::of(
            "ERR WAIT cannot be used with replica instances. Please also note that since Redis \
             4.0 if a replica is configured to be writable (which is not the default) writes to \
             replicas are just local and are not propagated.",
        ));
    }
    let replicas = integer(call.args[1])?;
    let timeout_ms = integer_timeout(call.args[2])?;
    let offset = call.session().written.offset;
    Ok(until_enough(
        call,
        On::Replicas { replicas, offset },
        timeout_ms,
    ))
}

/// `WAITAOF numlocal numreplicas timeout`, as of Redis 7.2: in how many append-only files of this
/// server, and of its replicas, all writes of this client are durable.
pub(in crate::engine) fn waitaof(call: &mut Call<'_>) -> Answer {
    let local = integer(call.args[1])?;
    if !(0..=1).contains(&local) {
        return Err(Error::of(
            "ERR value is out of range, value must between 0 and 1",
        ));
    }
    let replicas = not_negative(call.args[2])? as i64;
    let timeout_ms = integer_timeout(call.args[3])?;
    if call.state.repl.link().is_some() {
        return Err(Error::of(
            "ERR WAITAOF cannot be used with replica instances. Please also note that writes to \
             replicas are just local and are not propagated.",
        ));
    }
    if local == 1 && !call.state.config.append_only() {
        return Err(NO_FILE);
    }
    let on = On::Files {
        local,
        replicas,
        written: call.session().written,
    };
    Ok(until_enough(call, on, timeout_ms))
}

/// The counts if they are sufficient, or if the client may not block here; otherwise it blocks.
fn until_enough(call: &mut Call<'_>, on: On, timeout_ms: i64) -> Reply {
    if let Some(reply) = on.reply_if_enough(call.state) {
        return reply;
    }
    if call.context != Context::Direct {
        return on.timeout_reply(call.state);
    }
    call.state.repl.acks_wanted = true;
    let until_ms = (timeout_ms > 0).then(|| call.now_ms().saturating_add(timeout_ms));
    block(call.state, call.client, Blocked { on, until_ms });
    Reply::NONE
}
