//! Serves clients that waited for keys, and ends scripts that ran for a long time.

use bytes::Bytes;

use super::blocking::{On, unblock};
use super::cmd::blocking::Taken;
use super::command::{Call, Context, Table};
use super::notify::{deliver, deliver_before_reply};
use super::propagate::{self, Unit};
use super::state::State;
use super::state::busy::Busy;
use super::tracking;
use crate::store::effects::{Op, Targets};

/// `handleClientsBlockedOnKeys`: serves blocked clients from the changed keys. That may make
/// further keys ready.
pub(super) fn serve(table: Table, state: &mut State, wall_us: u64) {
    while !state.waiting.ready.is_empty() {
        for place in std::mem::take(&mut state.waiting.ready) {
            let waiters = state.waiting.keys.get(&place).cloned();
            for client in waiters.unwrap_or_default() {
                serve_client(table, state, client, &place, wall_us);
            }
        }
    }
}

fn serve_client(
    table: Table,
    state: &mut State,
    client: u64,
    place: &(usize, Bytes),
    wall_us: u64,
) {
    let (db, key) = place;
    let blocked = state.clients.get(&client).and_then(|c| c.blocked.as_ref());
    let Some(On::Keys(_, want)) = blocked.map(|blocked| blocked.on.clone()) else {
        return;
    };
    let current = state.current.replace(client);
    state.db.select(*db);
    let taken = want.take(
        &mut Call {
            table,
            state,
            client,
            args: &[],
            wall_us,
            context: Context::Direct,
        },
        key,
    );
    if let Taken::Reply(reply) = taken {
        record_served(state);
        deliver_before_reply(state);
        unblock(state, client, &reply);
        deliver(state);
        tracking::deliver_own(state, client);
    }
    state.current = current;
}

/// Ends a script whose time has passed: releases its effects, and deferred clients continue.
pub(super) fn end_if_over(table: Table, state: &mut State, wall_us: u64) {
    let over = |busy: &Busy| busy.ends_us.is_some_and(|ends_us| ends_us <= wall_us);
    let Some(Busy { client, .. }) = state.busy.take_if(|busy| over(busy)) else {
        return;
    };
    propagate::flush(state, Unit::Whole);
    tracking::deliver_own(state, client);
    let written = state.written();
    if let Some(session) = state.mark_dirty(client) {
        session.written = written;
    }
    state.waiting.resumed.push_back(client);
    state.waiting.resumed.extend(state.repl.master_conn());
    serve(table, state, wall_us);
    propagate::flush(state, Unit::Whole);
}

/// Records the command that served a waiting client.
fn record_served(state: &mut State) {
    let db = Some(state.db.selected());
    let effects = &mut state.db.effects;
    if let Some(words) = effects.instead.take() {
        let targets = Targets::ALL;
        effects.push(Op { db, words, targets });
    }
}
