//! Client-side caching (`src/tracking.c`): the server records which client read which key, and
//! notifies it when such a key changes.

use bytes::Bytes;
use locklab_vecmap::VecSet;

use super::state::State;
pub(super) use super::state::tracking::{Mode, OwnChanges, Tracking};
use crate::wire::reply::{Reply, Resp};

/// `trackingRememberKeys`: a client read keys; `None` for the declared keys of its script.
pub(super) fn remember(state: &mut State, client: u64, keys: Option<Vec<&[u8]>>) {
    let Some(tracking) = state.clients.get(&client).and_then(|c| c.tracking.as_ref()) else {
        return;
    };
    let remembers = match tracking.mode {
        Mode::Default => true,
        Mode::OptIn => tracking.caching,
        Mode::OptOut => !tracking.caching,
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
    for id in forget_key(state, key) {
        if writer == Some(id) {
            state.caches.own.push(Some(key.clone()));
        } else {
            send_key(state, id, key);
        }
    }
}

/// Forgets who read a key; returns the clients to notify.
fn forget_key(state: &mut State, key: &Bytes) -> Vec<u64> {
    let readers = state.caches.readers.swap_remove(key).unwrap_or_default();
    let is_told = |id: &u64| {
        let tracking = state.clients.get(id).and_then(|c| c.tracking.as_ref());
        tracking.is_some_and(|tracking| {
            let untold = tracking.own_changes == OwnChanges::Untold;
            let is_own = untold && state.current == Some(*id);
            !is_own
        })
    };
    readers.into_iter().filter(is_told).collect()
}

fn send_key(state: &mut State, id: u64, key: &Bytes) {
    send(state, id, Reply::Array(vec![Reply::Bulk(key.clone())]));
}

/// `trackingLimitUsedSlots`: if clients read more than `tracking-table-max-keys` keys, drops some,
/// chosen at random; the more, the more often in a row that was not enough.
pub(super) fn limit(state: &mut State) {
    const EFFORT: u32 = 100;
    if state.caches.readers.is_empty() {
        return;
    }
    for _ in 0..EFFORT.saturating_mul(state.caches.futile + 1) {
        if !is_too_large(state) {
            state.caches.futile = 0;
            return;
        }
        let index = state.choose(state.caches.readers.len());
        let drawn = state.caches.readers.get_index(index);
        if let Some(key) = drawn.map(|(key, _)| key.clone()) {
            // The client whose request is handled next also gets it immediately.
            for id in forget_key(state, &key) {
                send_key(state, id, &key);
            }
        }
    }
    state.caches.futile = match is_too_large(state) {
        true => state.caches.futile.saturating_add(1),
        false => 0,
    };
}

/// The counters of INFO.
pub(super) struct Tracked {
    pub(super) keys: usize,
    /// Keys, once for each client that read them.
    pub(super) items: usize,
}

/// Counts the keys whose changes clients receive.
pub(super) fn count(state: &State) -> Tracked {
    let readers = &state.caches.readers;
    Tracked {
        keys: readers.len(),
        items: readers.values().map(VecSet::len).sum(),
    }
}

/// `serverCron` limits the table as well.
pub(super) fn limit_at_tick(state: &mut State, wall_us: u64) {
    if state
        .caches
        .limit_us
        .is_some_and(|due_us| due_us <= wall_us)
    {
        limit(state);
    }
    state.caches.limit_us = is_too_large(state).then(|| state.tick_from(wall_us + 1));
}

/// Whether the table has to become smaller: not before a client is tracked again, if none is.
fn is_too_large(state: &State) -> bool {
    let keys = state.caches.readers.len();
    if keys == 0 {
        return false;
    }
    let most = state.config.most_tracked_keys();
    most > 0 && keys > most && state.caches_in_use()
}

/// `trackingInvalidateKeysOnFlush`: every key was deleted.
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

/// `trackingHandlePendingKeyInvalidations`: notifies a client of its own changes, after its
/// reply.
pub(super) fn deliver_own(state: &mut State, client: u64) {
    for key in std::mem::take(&mut state.caches.own) {
        let keys = match key {
            Some(key) => Reply::Array(vec![Reply::Bulk(key)]),
            None => Reply::Nil,
        };
        send(state, client, keys);
    }
}

/// `sendTrackingMessage`.
fn send(state: &mut State, id: u64, keys: Reply) {
    let Some(session) = state.mark_dirty(id) else {
        return;
    };
    // A client that speaks RESP2 could only be told by way of another.
    if session.resp == Resp::V3 {
        session.push(&Reply::Push(vec![Reply::bulk("invalidate"), keys]));
    }
}
