//! Serves clients that waited for keys, and ends scripts that ran for a long time.

use super::blocking::{On, unblock};
use super::cmd::blocking::Taken;
use super::command::{Call, Context, Table};
use super::notify::{deliver, deliver_before_reply};
use super::propagate::{self, Unit};
use super::state::State;
use super::state::blocked::Place;
use super::state::busy::Busy;
use super::tracking;
use crate::store::effects::{Op, Targets};

/// `handleClientsBlockedOnKeys`: serves blocked clients from the changed keys. That may make
/// further keys ready.
pub(super) fn serve(table: Table, state: &mut State, wall_us: u64) {
    while state.waiting.has_ready() {
        for place in state.waiting.take_ready() {
            serve_key(table, state, &place, wall_us);
        }
    }
}

/// Serves the clients that wait for a key, as long as it exists.
fn serve_key(table: Table, state: &mut State, place: &Place, wall_us: u64) {
    let (db, key) = place;
    let Some(last) = state.waiting.last(place) else {
        return;
    };
    let mut after = 0;
    while state.db.space(*db).entry(key).is_some()
        && let Some((number, client)) = state.waiting.next(place, after)
        && number <= last
    {
        serve_client(table, state, client, place, wall_us);
        after = number;
    }
}

fn serve_client(table: Table, state: &mut State, client: u64, place: &Place, wall_us: u64) {
    let (db, key) = place;
    let blocked = state.clients.get(&client).and_then(|c| c.blocked.as_ref());
    let Some(On::Keys(_, want)) = blocked.map(|blocked| &blocked.on) else {
        return;
    };
    let want = want.clone();
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
    let now_us = state.process_us(wall_us);
    let over = |busy: &Busy| busy.ends_us.is_some_and(|ends_us| ends_us <= now_us);
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

#[cfg(test)]
mod tests {
    use crate::{ConnId, Effect, Node, NodeConfig};

    /// A node on which so many clients wait for the same keys, so many each.
    fn waiting(clients: u64, keys: u64) -> (Node, Vec<ConnId>) {
        let mut node = Node::new(NodeConfig::default());
        let names: Vec<String> = (0..keys).map(|key| format!("k{key}")).collect();
        let request = format!("BLPOP {} 0\r\n", names.join(" "));
        let waiting: Vec<ConnId> = (0..clients).map(|_| node.accept()).collect();
        for client in &waiting {
            node.receive(*client, request.as_bytes(), 0, &mut Vec::new());
        }
        (node, waiting)
    }

    fn say(node: &mut Node, client: ConnId, line: &str) -> usize {
        let mut effects = Vec::new();
        node.receive(client, format!("{line}\r\n").as_bytes(), 0, &mut effects);
        let is_sent = |effect: &&Effect| matches!(effect, Effect::Send { .. });
        effects.iter().filter(is_sent).count()
    }

    #[test]
    fn served_client_costs_its_keys_and_not_the_other_clients() {
        let (clients, keys) = (300, 20);
        let (mut node, _) = waiting(clients, keys);
        let pusher = node.accept();
        for index in 0..clients {
            let sent = say(&mut node, pusher, &format!("RPUSH k{} x", index % keys));
            assert_eq!(sent, 2, "the element, and the length");
        }
        assert!(node.looks() <= clients * (keys + 2), "{}", node.looks());
        assert_eq!(say(&mut node, pusher, "RPUSH k0 x"), 1);
    }

    #[test]
    fn closed_client_costs_its_keys() {
        let (mut node, clients) = waiting(300, 20);
        for client in clients {
            node.closed(client);
        }
        assert_eq!(node.looks(), 300 * 20);
    }
}
