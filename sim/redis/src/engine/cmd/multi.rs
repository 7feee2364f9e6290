//! Transactions: MULTI, EXEC, DISCARD, WATCH, UNWATCH (`src/multi.c`).

use bytes::Bytes;

use crate::engine::command::{Call, Context};
use crate::engine::execute;
use crate::engine::state::session::{Transaction, copy_bytes};
use crate::wire::reply::{Answer, Error, Reply};

/// `MULTI`: the commands from here on are queued.
pub(in crate::engine) fn multi(call: &mut Call<'_>) -> Answer {
    if call.session().transaction.is_some() {
        return Err(Error::of("ERR MULTI calls can not be nested"));
    }
    call.session().transaction = Some(Transaction::default());
    Ok(Reply::OK)
}

/// `EXEC`: runs the queue, unless a command in it was refused (EXECABORT) or a
/// watched key changed (nil). Either way the watches end. Nothing is rolled back.
pub(in crate::engine) fn exec(call: &mut Call<'_>) -> Answer {
    let Some(transaction) = call.session().transaction.take() else {
        return Err(Error::of("ERR EXEC without MULTI"));
    };
    let changed = watched_key_changed(call);
    call.state.unwatch(call.client);
    if transaction.refused {
        return Err(Error::of(
            "EXECABORT Transaction discarded because of previous errors.",
        ));
    }
    if changed {
        return Ok(Reply::NilArray);
    }
    // Item by item, because messages that a command sends to its own client come between them.
    let session = call.session();
    session.executing = Some(transaction.queue.len());
    session.answer_array_of(transaction.queue.len());
    for args in &transaction.queue {
        let args: Vec<&[u8]> = args.iter().map(AsRef::as_ref).collect();
        let reply = execute::call(&mut Call {
            table: call.table,
            state: &mut *call.state,
            client: call.client,
            args: &args,
            wall_us: call.wall_us,
            context: Context::Transaction,
        });
        execute::answer(call.state, call.client, &reply);
    }
    call.session().executing = None;
    call.state.slept_us = 0;
    Ok(Reply::NONE)
}

fn watched_key_changed(call: &mut Call<'_>) -> bool {
    let (now_ms, client) = (call.now_ms(), call.client);
    let watched = std::mem::take(&mut call.session().watched);
    let databases = &mut call.state.db;
    let any = watched
        .iter()
        .any(|(db, key)| databases.within(*db, |db| db.changed_since_watch(key, client, now_ms)));
    call.session().watched = watched;
    any
}

/// `DISCARD`: drops the queue and the watches.
pub(in crate::engine) fn discard(call: &mut Call<'_>) -> Answer {
    if call.session().transaction.take().is_none() {
        return Err(Error::of("ERR DISCARD without MULTI"));
    }
    call.state.unwatch(call.client);
    Ok(Reply::OK)
}

/// `WATCH key [key …]`: the next EXEC runs only if these keys do not change.
pub(in crate::engine) fn watch(call: &mut Call<'_>) -> Answer {
    if call.session().transaction.is_some() {
        return Err(Error::of("ERR WATCH inside MULTI is not allowed"));
    }
    let now_ms = call.now_ms();
    for key in &call.args[1..] {
        if call.state.db.watch(key, call.client, now_ms) {
            let session = call.session();
            let watched = (session.db, Bytes::copy_from_slice(key));
            session.watched.push(watched);
            session.names_bytes += copy_bytes(key);
        }
    }
    Ok(Reply::OK)
}

/// `UNWATCH`.
pub(in crate::engine) fn unwatch(call: &mut Call<'_>) -> Answer {
    call.state.unwatch(call.client);
    Ok(Reply::OK)
}
