//! The keys of the lock on each node, noted whenever they change.

use locklab_redis::{Key, Node};
use locklab_vecmap::VecMap;

use locklab_history::{Deadline, KeyChange, KeySnapshot, KeyState, Name};
use locklab_locks::KEY;

/// A time, by all the clocks that a snapshot has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// True time in nanoseconds since the run began.
    pub at_ns: u64,
    /// The node's wall clock, nanoseconds since the Unix epoch.
    pub wall_ns: u64,
    /// The node's monotonic clock, nanoseconds since an origin of its own.
    pub mono_ns: u64,
}

/// The keys that are noted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Keys {
    /// Those of Locklab's own locks.
    #[default]
    OfLock,
    /// All.
    All,
    /// The one of this name.
    One(String),
}

impl Keys {
    fn has(&self, key: &Key) -> bool {
        match self {
            Keys::OfLock => {
                let mut places = key.name.windows(KEY.len());
                places.any(|place| place == KEY.as_bytes())
            }
            Keys::All => true,
            Keys::One(name) => key.name == name.as_bytes(),
        }
    }
}

/// The snapshots of the nodes of a run.
#[derive(Debug, Default)]
pub struct KeyLog {
    keys: Keys,
    /// The keys of each node at its last snapshot.
    seen: VecMap<Name, VecMap<String, KeyState>>,
    snapshots: Vec<KeySnapshot>,
}

impl KeyLog {
    /// A log of these keys.
    pub fn of(keys: Keys) -> Self {
        Self {
            keys,
            ..Self::default()
        }
    }

    /// Notes that a new process of this node has started. It has no keys yet.
    pub fn begin(&mut self, node: &Name) {
        self.seen.insert(node.clone(), VecMap::new());
    }

    /// Notes the keys on this node, if they have changed, and the host whose request changed them.
    /// Returns the changes. `deadline` converts the time at which a key expires.
    pub fn update(
        &mut self,
        name: &Name,
        moment: Moment,
        node: &Node,
        by: Option<&Name>,
        deadline: impl Fn(i64) -> Deadline,
    ) -> &[KeyChange] {
        let now: VecMap<String, KeyState> = (node.keys().filter(|key| self.keys.has(key)))
            .map(|key| {
                let state = KeyState {
                    value: key.to_string(),
                    has_several: key.has_several(),
                    expires: key.expires_at_ms.map(&deadline),
                };
                (String::from_utf8_lossy(key.name).into_owned(), state)
            })
            .collect();
        let before = self.seen.entry(name.clone()).or_default();
        if *before == now {
            return &[];
        }
        let gone = before.keys().filter(|key| !now.contains_key(*key));
        let gone = gone.map(|key| (key.clone(), None));
        let new = now
            .iter()
            .filter(|(key, state)| before.get(*key) != Some(state));
        let new = new.map(|(key, state)| (key.clone(), Some(state.clone())));
        let changed: VecMap<_, _> = gone.chain(new).collect();
        let changed = changed.into_iter().map(|(key, now)| KeyChange { key, now });
        let changed = changed.collect();
        *before = now;
        self.note(name, moment, by, changed);
        self.snapshots.last().map_or(&[], |last| &last.changed)
    }

    /// Returns all snapshots, with a final one of each node for its clocks.
    pub fn finish(&mut self, moment: impl Fn(&Name) -> Moment) -> Vec<KeySnapshot> {
        let nodes: Vec<Name> = self.seen.keys().cloned().collect();
        for name in nodes {
            self.note(&name, moment(&name), None, Vec::new());
        }
        std::mem::take(&mut self.snapshots)
    }

    fn note(&mut self, name: &Name, moment: Moment, by: Option<&Name>, changed: Vec<KeyChange>) {
        self.snapshots.push(KeySnapshot {
            at_ns: moment.at_ns,
            host: name.clone(),
            by: by.cloned(),
            wall_ns: moment.wall_ns,
            mono_ns: moment.mono_ns,
            changed,
        });
    }
}
