//! Client-side caching (`src/tracking.c`): the server remembers which client read
//! which key, or which prefixes a client wants to hear of, and tells it when such
//! a key changes.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;

use super::state::State;
use crate::wire::reply::{Reply, Resp};

/// Where invalidations go as messages, to a client that speaks RESP2.
const CHANNEL: &str = "__redis__:invalidate";

/// What CLIENT TRACKING ON set for a client.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Tracking {
    /// The client that gets the invalidations instead; 0 for none.
    pub(super) redirect: u64,
    /// That client was gone when there was something to tell.
    pub(super) broken: bool,
    pub(super) mode: Mode,
    pub(super) own_changes: OwnChanges,
    /// CLIENT CACHING was called for the next command.
    pub(super) caching: bool,
}

/// Which keys a client hears of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Mode {
    /// Those it read.
    Default,
    /// Those it read right after CLIENT CACHING YES.
    OptIn,
    /// Those it read, but for right after CLIENT CACHING NO.
    OptOut,
    /// All with one of these prefixes.
    Broadcast(BTreeSet<Bytes>),
}

/// Whether a client hears of what it changes itself.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum OwnChanges {
    Told,
    /// NOLOOP.
    Untold,
}

/// Who has to be told of what.
#[derive(Default)]
pub(super) struct Caches {
    /// Who read a key since it last changed.
    readers: BTreeMap<Bytes, BTreeSet<u64>>,
    /// What the client whose command runs has to be told after its reply; `None`
    /// for all keys.
    own: Vec<Option<Bytes>>,
    /// The keys of the EVAL that is running.
    declared: Vec<Bytes>,
    /// Keys that changed since the last broadcast, with whoever changed them last.
    changed: BTreeMap<Bytes, Option<u64>>,
}

impl Caches {
    /// A script runs from now on: its client declared these keys.
    pub(super) fn declare(&mut self, keys: Vec<&[u8]>) {
        self.declared = keys.into_iter().map(Bytes::copy_from_slice).collect();
    }
}

/// `trackingRememberKeys`: a client read keys; `None` for those that were declared
/// of its script.
pub(super) fn remember(state: &mut State, client: u64, keys: Option<Vec<&[u8]>>) {
    let Some(tracking) = state.clients.get(&client).and_then(|c| c.tracking.as_ref()) else {
        return;
    };
    let remembers = match tracking.mode {
        Mode::Default => true,
        Mode::OptIn => tracking.caching,
        Mode::OptOut => !tracking.caching,
        Mode::Broadcast(_) => false,
    };
    if remembers {
        let keys = match keys {
            Some(keys) => keys.into_iter().map(Bytes::copy_from_slice).collect(),
            None => state.caches.declared.clone(),
        };
        for key in keys {
            let readers = state.caches.readers.entry(key).or_default();
            readers.insert(client);
        }
    }
}

/// `trackingInvalidateKey`: a key changed.
pub(super) fn invalidate(state: &mut State, key: &Bytes) {
    let writer = state.current;
    if state.clients.values().any(|c| c.prefixes().is_some()) {
        state.caches.changed.insert(key.clone(), writer);
    }
    for id in state.caches.readers.remove(key).unwrap_or_default() {
        let Some(tracking) = state.clients.get(&id).and_then(|c| c.tracking.as_ref()) else {
            continue;
        };
        let own = writer == Some(id);
        if matches!(tracking.mode, Mode::Broadcast(_))
            || (own && tracking.own_changes == OwnChanges::Untold)
        {
            continue;
        }
        if own {
            state.caches.own.push(Some(key.clone()));
        } else {
            send(state, id, Reply::Array(vec![Reply::Bulk(key.clone())]));
        }
    }
}

/// `trackingInvalidateKeysOnFlush`: every key is gone.
pub(super) fn invalidate_all(state: &mut State) {
    state.caches.readers.clear();
    let clients = state.clients.values();
    let tracking: Vec<u64> = clients
        .filter(|client| client.tracking.is_some())
        .map(|client| client.id)
        .collect();
    for id in tracking {
        if state.current == Some(id) {
            state.caches.own.push(None);
        } else {
            send(state, id, Reply::Nil);
        }
    }
}

/// `trackingHandlePendingKeyInvalidations`: after its reply, a client hears of
/// what it changed itself.
pub(super) fn deliver_own(state: &mut State, client: u64) {
    for key in std::mem::take(&mut state.caches.own) {
        let keys = match key {
            Some(key) => Reply::Array(vec![Reply::Bulk(key)]),
            None => Reply::Nil,
        };
        send(state, client, keys);
    }
}

/// `trackingBroadcastInvalidationMessages`: once all requests that arrived together
/// are done, whoever wants to know of a prefix hears which keys changed.
pub(super) fn broadcast(state: &mut State) {
    let changed = std::mem::take(&mut state.caches.changed);
    if changed.is_empty() {
        return;
    }
    let mut messages = Vec::new();
    for client in state.clients.values() {
        for prefix in client.prefixes().into_iter().flatten() {
            let keys: Vec<Reply> = changed
                .range(prefix.clone()..)
                .take_while(|(key, _)| key.starts_with(prefix))
                .filter(|(_, writer)| client.hears_of(**writer))
                .map(|(key, _)| Reply::Bulk(key.clone()))
                .collect();
            if !keys.is_empty() {
                messages.push((prefix.clone(), client.id, keys));
            }
        }
    }
    messages.sort_by(|a, b| (&a.0, a.1).cmp(&(&b.0, b.1)));
    for (_, id, keys) in messages {
        send(state, id, Reply::Array(keys));
    }
}

/// `sendTrackingMessage`.
fn send(state: &mut State, id: u64, keys: Reply) {
    let Some(session) = state.mark_dirty(id) else {
        return;
    };
    let redirect = session.tracking.as_ref().map_or(0, |t| t.redirect);
    if redirect == 0 {
        if session.resp == Resp::V3 {
            session.push(&Reply::Push(vec![Reply::bulk("invalidate"), keys]));
        }
        return;
    }
    let Some(target) = state.mark_dirty(redirect) else {
        let session = state.client(id);
        if let Some(tracking) = &mut session.tracking {
            tracking.broken = true;
        }
        if session.resp == Resp::V3 {
            session.push(&Reply::Push(vec![
                Reply::bulk("tracking-redir-broken"),
                Reply::Integer(redirect as i64),
            ]));
        }
        return;
    };
    if target.resp == Resp::V3 {
        target.push(&Reply::Push(vec![Reply::bulk("invalidate"), keys]));
    } else if target.subscriptions.any() {
        target.push(&Reply::Push(vec![
            Reply::bulk("message"),
            Reply::bulk(CHANNEL),
            keys,
        ]));
    }
}

impl super::session::Session {
    /// The prefixes that it wants to hear of, if it is in that mode.
    fn prefixes(&self) -> Option<&BTreeSet<Bytes>> {
        match &self.tracking.as_ref()?.mode {
            Mode::Broadcast(prefixes) => Some(prefixes),
            _ => None,
        }
    }

    fn hears_of(&self, writer: Option<u64>) -> bool {
        let untold = |tracking: &Tracking| tracking.own_changes == OwnChanges::Untold;
        !(writer == Some(self.id) && self.tracking.as_ref().is_some_and(untold))
    }
}
