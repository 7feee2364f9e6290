//! Delivers events of keys: to subscribers of keyspace notifications (`src/notify.c`), to
//! client-side caches, and to waiting clients.

use super::pubsub::{Kind, publish};
use super::state::State;
use super::{blocking, tracking};
use crate::store::changes::{Change, Class};

/// The events to publish, and their channels: `notify-keyspace-events`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Notify {
    /// The letters, as CONFIG GET shows them.
    letters: String,
}

/// The classes that `A` stands for, in the order in which CONFIG GET shows them.
/// `t`, `d` and `m` (streams, modules, misses) never happen here.
const ALL: &str = "g$lshzxetd";

impl Notify {
    /// Parses the letters of CONFIG SET; `None` if one of them is invalid.
    pub(super) fn parse(text: &[u8]) -> Option<Self> {
        let known = |letter: &u8| *letter == b'A' || b"g$lshzxetdnKEm".contains(letter);
        if !text.iter().all(known) {
            return None;
        }
        let has = |letter: char| text.contains(&(letter as u8));
        let mut letters: String = match has('A') || ALL.chars().all(has) {
            true => "A".to_owned(),
            false => ALL.chars().filter(|letter| has(*letter)).collect(),
        };
        letters.extend("nKEm".chars().filter(|letter| has(*letter)));
        Some(Notify { letters })
    }

    /// The form that CONFIG GET shows: 7.0 omits `n` next to `A`, but obeys it.
    pub(super) fn shown(&self) -> String {
        match self.letters.strip_prefix('A') {
            Some(rest) => format!("A{}", rest.replace('n', "")),
            None => self.letters.clone(),
        }
    }

    /// Whether no events are ever published.
    pub(super) fn is_empty(&self) -> bool {
        self.letters.is_empty()
    }

    /// Whether events of this class are published.
    pub(super) fn includes(&self, class: Class) -> bool {
        let in_all = class != Class::New && self.has('A');
        let mut letters = Class::LETTERS.iter().filter(|(known, _)| *known == class);
        in_all || letters.any(|(_, letter)| self.has(*letter))
    }

    fn has(&self, letter: char) -> bool {
        self.letters.contains(letter)
    }
}

/// Delivers the events since the last call.
pub(super) fn deliver(state: &mut State) {
    let changes = state.db.changes.take();
    pass_on(state, changes);
}

/// Delivers the events that precede the reply of the command that caused them: a client may be
/// notified of its own changes, on the connection of its replies. [`deliver`] delivers the rest
/// after the reply.
pub(super) fn deliver_before_reply(state: &mut State) {
    let changes = state.db.changes.take_before_reply();
    pass_on(state, changes);
}

fn pass_on(state: &mut State, changes: Vec<Change>) {
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
                blocking::may_be_ready(state, db, &key);
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
        publish(state, Kind::Channel, &channel, event.as_bytes());
    }
    if keyevent {
        let channel = format!("__keyevent@{db}__:{event}");
        publish(state, Kind::Channel, channel.as_bytes(), key);
    }
}

#[cfg(test)]
mod tests {
    use super::Notify;

    #[test]
    fn letters_are_shown_as_redis_shows_them() {
        for (text, expected) in [
            ("", Some("")),
            ("KEA", Some("AKE")),
            ("KEAn", Some("AKE")),
            ("g$lshzxetdnmKE", Some("AKEm")),
            ("K$xn", Some("$xnK")),
            ("Kq", None),
        ] {
            let shown = Notify::parse(text.as_bytes()).map(|notify| notify.shown());
            assert_eq!(shown.as_deref(), expected, "{text}");
        }
    }
}
