//! What passes between the processes with the library and the servers, and what happens when a grant arrives.

use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use locklab_history::{ClockKind, Name};
use locklab_proxy::{Passing, Ruling, Watch};
use locklab_runner::label;
use locklab_vecmap::{VecMap, VecSet};
use serde::Serialize;

use super::Event;
use super::experiment::Springs;
use crate::passing::grants::Grants;
use crate::real_env::read_clock;

/// A message between a process and a server.
#[derive(Debug, Clone, Serialize)]
pub struct Message {
    /// When it left, by the machine's monotonic clock, in nanoseconds.
    #[serde(skip)]
    pub at_ns: u64,
    /// The sender.
    pub from: Name,
    /// The receiver.
    pub to: Name,
    /// Its words.
    pub text: String,
    /// Whether it is a request about the key of the lock, or the reply to one.
    pub about_key: bool,
    /// Whether it is an error.
    #[serde(skip)]
    pub is_error: bool,
}

/// What has passed, shared with the proxy's thread.
#[derive(Clone, Default)]
pub struct Wire(Arc<Mutex<Passed>>);

#[derive(Default)]
struct Passed {
    messages: Vec<Message>,
    /// The key of the lock, once it is known.
    key: Option<Vec<u8>>,
    /// The keys that granting requests made exist, in their order.
    candidates: Vec<Vec<u8>>,
    traps: VecMap<Name, Springs>,
    /// Whether the servers were emptied, and their copies have not been yet.
    is_emptied: bool,
}

/// The most messages that are kept of an experiment.
const MOST: usize = 20_000;

impl Wire {
    fn passed(&self) -> MutexGuard<'_, Passed> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What looks at the messages of these processes.
    pub fn watch(&self, clients: &[Name], events: Sender<Event>) -> Box<dyn Watch> {
        Box::new(Watcher {
            wire: self.clone(),
            clients: clients.iter().cloned().collect(),
            events,
            grants: Grants::default(),
            about_key: VecMap::new(),
        })
    }

    /// The keys that granting requests made exist, each once; only the lock's, if that is known.
    pub fn candidates(&self) -> Vec<Vec<u8>> {
        let passed = self.passed();
        match &passed.key {
            Some(key) => vec![key.clone()],
            None => passed.candidates.clone(),
        }
    }

    /// This is the key of the lock, whatever else is made.
    pub fn set_key(&self, key: &[u8]) {
        self.passed().key = Some(key.to_owned());
    }

    /// All servers have been emptied: what passed before does not count.
    pub fn begin_anew(&self) {
        let mut passed = self.passed();
        passed.messages.clear();
        passed.is_emptied = true;
    }

    /// This is to happen when a grant of this process arrives.
    pub fn set_trap(&self, client: &Name, springs: Springs) {
        self.passed().traps.insert(client.clone(), springs);
    }

    /// How many messages there were of this kind.
    pub fn count(&self, is_it: impl Fn(&Message) -> bool) -> usize {
        let passed = self.passed();
        passed.messages.iter().filter(|it| is_it(it)).count()
    }

    /// The messages so far.
    pub fn messages(&self) -> Vec<Message> {
        self.passed().messages.clone()
    }
}

struct Watcher {
    wire: Wire,
    clients: VecSet<Name>,
    events: Sender<Event>,
    grants: Grants,
    /// Whether the last request on each connection was about the key.
    about_key: VecMap<u64, bool>,
}

impl Watch for Watcher {
    fn leaves(&mut self, passing: Passing<'_>) {
        let mut passed = self.wire.passed();
        let is_request = self.clients.contains(passing.from);
        // As a word of its own: a script or a value may have it, too.
        let names = |key: &Vec<u8>| {
            let word = [format!("${}\r\n", key.len()).as_bytes(), key, b"\r\n"].concat();
            passing.payload.windows(word.len()).any(|part| part == word)
        };
        let about_key = match is_request {
            true => passed.key.as_ref().is_some_and(names),
            false => self.about_key.get(&passing.connection) == Some(&true),
        };
        if is_request {
            self.about_key.insert(passing.connection, about_key);
        }
        if passed.messages.len() < MOST {
            passed.messages.push(Message {
                at_ns: read_clock(ClockKind::Monotonic),
                from: passing.from.clone(),
                to: passing.to.clone(),
                text: label::of(passing.payload),
                about_key,
                is_error: !is_request && passing.payload.starts_with(b"-"),
            });
        }
    }

    fn arrives(&mut self, passing: Passing<'_>) -> Ruling {
        let mut passed = self.wire.passed();
        if std::mem::take(&mut passed.is_emptied) {
            self.grants.empty();
        }
        if self.clients.contains(passing.from) {
            if let Some(key) = self.grants.executes(&passing) {
                if passed.key.as_ref().is_some_and(|of_lock| *of_lock != key) {
                    // Another key, which is not the lock.
                    self.grants.take_reply(passing.from, passing.connection);
                } else if !passed.candidates.contains(&key) {
                    passed.candidates.push(key);
                }
            }
        } else if self.grants.is_reply(passing.to, passing.connection) {
            if let Some(springs) = passed.traps.remove(passing.to) {
                let by = passing.to.clone();
                // If nobody listens, the experiment is over.
                return match self.events.send(Event::Sprung { by, springs }) {
                    Ok(()) => Ruling::Waits,
                    Err(_) => Ruling::Arrives,
                };
            }
            self.grants.take_reply(passing.to, passing.connection);
        }
        Ruling::Arrives
    }
}
