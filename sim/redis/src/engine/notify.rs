//! Delivers events of keys: to subscribers of keyspace notifications (`src/notify.c`), to
//! client-side caches, and to waiting clients.

use super::pubsub::publish;
use super::state::State;
use super::tracking;
use crate::store::changes::{Change, Class};

/// Delivers the events since the last call.
pub(super) fn deliver(state: &mut State) {
    let changes = state.db.changes.take();
    deliver_changes(state, changes);
}

/// Delivers the events that precede the reply of the command that caused them: a client may be
/// notified of its own changes, on the connection of its replies. [`deliver`] delivers the rest
/// after the reply.
pub(super) fn deliver_before_reply(state: &mut State) {
    let changes = state.db.changes.take_before_reply();
    deliver_changes(state, changes);
}

fn deliver_changes(state: &mut State, changes: Vec<Change>) {
    for change in changes {
        match change {
            Change::Modified(key) => tracking::invalidate(state, &key),
            Change::Flushed => tracking::invalidate_all(state),
            Change::Event {
                db,
                class,
                event,
                key,
            } => {
                state.waiting.may_be_ready(db, &key);
                notify(state, db, class, event, &key);
            }
        }
    }
}

/// `notifyKeyspaceEvent`.
fn notify(state: &mut State, db: usize, class: Class, event: &str, key: &[u8]) {
    let settings = &state.config.notify;
    if !settings.includes(class) {
        return;
    }
    let (keyspace, keyevent) = (settings.has('K'), settings.has('E'));
    if keyspace {
        let channel = [format!("__keyspace@{db}__:").as_bytes(), key].concat();
        publish(state, &channel, event.as_bytes());
    }
    if keyevent {
        let channel = format!("__keyevent@{db}__:{event}");
        publish(state, channel.as_bytes(), key);
    }
}
