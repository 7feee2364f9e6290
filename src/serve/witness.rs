//! What clients requested of served nodes and what became of it, kept so that their locks can be judged.
//!
//! Who sent a request is told by what it says, not by its connection: clients pool connections, and threads share them.
//! A lock stores a text of its own for each holder (the value of the key, or the only field of a hash), and every later
//! request of that holder has this text among its words. So each text is an owner, `c1`, `c2`, … in the order in which
//! they were granted the lock. A request that changes the key and has no such word, as a careless `DEL`, is taken for one
//! of its present holder: then nobody is blamed for what another may have done. What remains was refused.
//!
//! The times are those of the nodes: requests left some microseconds before they arrived, and replies arrive some
//! microseconds after they left. Faults that make it more are blind spots of their links.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use bytes::Bytes;
use locklab_bounds::resp::Inbound;
use locklab_bounds::{Bounds, Kept};
use locklab_history::wire::{Exchange, Executed, Wire, granted_keys};
use locklab_history::{
    Deadline, Event, FaultKind, FaultyLinks, History, KeyChange, KeyState, Name, PacketFault,
    Phase, Record,
};
use locklab_redis::endpoint::Now;
use locklab_redis::server::Watch;
use locklab_redis::{ConnId, Key, Node};
use locklab_values::untrusted;

/// The log of all nodes. Clones are the same log.
#[derive(Clone)]
pub struct Witness(Arc<Mutex<Log>>);

struct Log {
    start: Instant,
    nodes: BTreeMap<Name, OnNode>,
    exchanges: Vec<Exchange>,
    faults: Vec<Struck>,
    connections: u64,
    commands: u64,
    command_bytes: u64,
    /// When more had been sent than is kept.
    full_ns: Option<u64>,
}

/// A node, as far as it is known.
#[derive(Default)]
struct OnNode {
    process: usize,
    keys: BTreeMap<Vec<u8>, KeyState>,
    connections: BTreeMap<ConnId, Connection>,
}

/// A connection of a client.
struct Connection {
    name: Name,
    unread: Inbound,
    /// When the first byte of an incomplete request arrived.
    since_ns: Option<u64>,
    /// The request that is executed.
    exchange: Option<Exchange>,
}

/// A fault, as long as it lasted.
#[derive(Clone, Debug)]
pub struct Struck {
    /// The node.
    pub node: Name,
    /// Its kind.
    pub kind: FaultKind,
    /// When it began, in nanoseconds since the start.
    pub from_ns: u64,
    /// When it was over; `u64::MAX`: not yet.
    pub until_ns: u64,
}

impl Struck {
    /// Its beginning and, if it is over, its end in the history of a run, of which it is the fault with this number.
    pub fn records(
        &self,
        number: usize,
        host: &Name,
        links: Option<&FaultyLinks>,
    ) -> impl Iterator<Item = Record> {
        let phases = [(self.from_ns, Phase::Begins), (self.until_ns, Phase::Ends)];
        let known = phases.into_iter().filter(|(at_ns, _)| *at_ns < u64::MAX);
        known.map(move |(at_ns, phase)| Record {
            at_ns,
            host: host.clone(),
            wall_ns: at_ns,
            mono_ns: at_ns,
            event: Event::Fault {
                fault: format!("fault-{number}").into(),
                kind: self.kind,
                phase,
                links: links.cloned().map(Box::new),
            },
        })
    }

    /// Whether requests and replies may have been held back, or lost.
    pub fn hides(&self) -> bool {
        HIDES.contains(&self.kind) || self.kind.ends_process()
    }
}

/// What is known of one lock.
#[derive(Debug)]
pub struct Seen {
    /// The key.
    pub key: String,
    /// The requests that concern it, each by its owner.
    pub exchanges: Vec<Exchange>,
    /// The owners: a name, and the text by which the node knows it.
    pub owners: Vec<(Name, String)>,
    /// The faults of nodes.
    pub faults: Vec<Struck>,
    /// When clients could not be seen, as the faults of a history that ends now, or when no more was kept.
    pub blind: History,
    /// Whether more was sent than is kept.
    pub is_full: bool,
}

impl Default for Witness {
    fn default() -> Self {
        Witness(Arc::new(Mutex::new(Log {
            start: Instant::now(),
            nodes: BTreeMap::new(),
            exchanges: Vec::new(),
            faults: Vec::new(),
            connections: 0,
            commands: 0,
            command_bytes: 0,
            full_ns: None,
        })))
    }
}

impl Witness {
    /// Looks on at a node.
    pub fn of(&self, node: &Name) -> impl Watch + 'static {
        Watched {
            log: self.clone(),
            node: node.clone(),
        }
    }

    /// Notes that a fault of a node has begun, for so many nanoseconds if that is known.
    pub(crate) fn begins(&self, node: &Name, kind: FaultKind, lasts_ns: Option<u64>) {
        let mut log = self.log();
        let from_ns = log.now_ns();
        let until_ns = lasts_ns.map_or(u64::MAX, |lasts_ns| from_ns.saturating_add(lasts_ns));
        let node = node.clone();
        log.faults.push(Struck {
            node,
            kind,
            from_ns,
            until_ns,
        });
    }

    /// Notes that the faults of these kinds are over that last on this node.
    pub(crate) fn ends(&self, node: &Name, kinds: &[FaultKind]) {
        let mut log = self.log();
        let now_ns = log.now_ns();
        let open = log.faults.iter_mut().filter(|fault| {
            fault.node == *node && kinds.contains(&fault.kind) && fault.until_ns == u64::MAX
        });
        open.for_each(|fault| fault.until_ns = now_ns);
    }

    /// What is known of this lock, or of the only one.
    ///
    /// # Errors
    ///
    /// What is missing, and what to do.
    pub fn seen(&self, key: Option<&str>) -> Result<Seen, String> {
        let log = self.log();
        let end_ns = log.full_ns.unwrap_or_else(|| log.now_ns());
        let key = log.key(key)?;
        let (exchanges, owners) = by_owners(&log.exchanges, &key);
        let clients = exchanges.iter().map(|exchange| exchange.client.clone());
        let clients: BTreeSet<Name> = clients.collect();
        Ok(Seen {
            blind: blind(&log.faults, &clients, end_ns),
            key,
            exchanges,
            owners,
            faults: log.faults.clone(),
            is_full: log.full_ns.is_some(),
        })
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        // A panic on another thread ends the program.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Log {
    fn now_ns(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }

    /// The key that was named, or the only one that was granted.
    fn key(&self, named: Option<&str>) -> Result<String, String> {
        let granted = granted_keys(&Wire {
            exchanges: &self.exchanges,
            history: &History::default(),
            ended: &[],
            nodes: 1,
            lapse: &|_, _, _| 0,
        });
        if let Some(key) = named {
            return Ok(key.to_owned());
        }
        match &*granted.likely {
            [key] => Ok(key.clone()),
            [] => Err("no request made a key exist as a lock does".into()),
            keys => {
                let keys: Vec<_> = keys.iter().map(|key| untrusted::line(key)).collect();
                Err(format!(
                    "several keys were granted; name one of {}",
                    keys.join(", ")
                ))
            }
        }
    }

    /// Counts what is kept; whether there is room for it.
    fn keeps(&mut self, commands: &[Vec<Vec<u8>>]) -> bool {
        self.commands += commands.len() as u64;
        let bytes: usize = commands.iter().flatten().map(Vec::len).sum();
        self.command_bytes += bytes as u64;
        let is_full =
            self.commands > Kept::RUN.commands || self.command_bytes > Kept::RUN.command_bytes;
        if is_full {
            let now_ns = self.now_ns();
            self.full_ns.get_or_insert(now_ns);
        }
        !is_full
    }
}

/// The requests that concern a key, with their owners as clients.
fn by_owners(exchanges: &[Exchange], key: &str) -> (Vec<Exchange>, Vec<(Name, String)>) {
    let change = |exchange: &Exchange| {
        let changed = exchange.executed.iter().flat_map(|it| it.changed.clone());
        changed.into_iter().find(|change| change.key == key)
    };
    let mut owners: Vec<(Name, String)> = Vec::new();
    for state in exchanges.iter().filter_map(|it| change(it)?.now) {
        if !owners.iter().any(|(_, text)| *text == state.value) {
            owners.push((format!("c{}", owners.len() + 1).into(), state.value));
        }
    }
    let owner = |text: &[u8]| owners.iter().find(|(_, own)| own.as_bytes() == text);
    let mut holders: BTreeMap<&Name, String> = BTreeMap::new();
    let mut concern = Vec::new();
    for exchange in exchanges {
        let changes = change(exchange);
        let mut words = exchange.commands.iter().flatten();
        let names_key = words.clone().any(|word| word == key.as_bytes());
        let named = words.find_map(|word| owner(word));
        let before = holders.get(&exchange.node).cloned();
        if let Some(KeyChange { now, .. }) = &changes {
            match now {
                Some(state) => drop(holders.insert(&exchange.node, state.value.clone())),
                None => drop(holders.remove(&exchange.node)),
            }
        }
        let holder = before.or_else(|| holders.get(&exchange.node).cloned());
        let holder = holder.filter(|_| changes.is_some());
        let client = named.or_else(|| owner(holder?.as_bytes()));
        if client.is_some() || names_key || changes.is_some() {
            let client = client.map_or(&exchange.client, |(name, _)| name).clone();
            concern.push(Exchange {
                client,
                ..exchange.clone()
            });
        }
    }
    (concern, owners)
}

/// The kinds of faults that hold requests or replies back.
const HIDES: &[FaultKind] = &[
    FaultKind::Partition,
    FaultKind::SlowLink,
    FaultKind::Reset,
    FaultKind::Pause,
];

/// The faults as those of a run: requests and replies that were held back were on a disturbed link.
fn blind(faults: &[Struck], clients: &BTreeSet<Name>, end_ns: u64) -> History {
    let mut records = Vec::new();
    for (number, fault) in (1..).zip(faults) {
        let links = |client: &Name| FaultyLinks {
            from: vec![client.clone()],
            to: vec![fault.node.clone()],
            both_ways: true,
            packets: PacketFault::Cut,
        };
        match HIDES.contains(&fault.kind) {
            true => clients.iter().for_each(|client| {
                records.extend(fault.records(number, client, Some(&links(client))));
            }),
            false => records.extend(fault.records(number, &fault.node, None)),
        }
    }
    records.sort_by_key(|record| record.at_ns);
    History {
        records,
        messages: Vec::new(),
        end_ns,
    }
}

/// A node that is watched.
struct Watched {
    log: Witness,
    node: Name,
}

impl Watch for Watched {
    fn begins(&self, node: &Node) {
        let mut log = self.log.log();
        let known = log.nodes.entry(self.node.clone()).or_default();
        known.process += 1;
        known.connections.clear();
        known.keys = node
            .keys()
            .map(|key| (key.name.to_vec(), state(key)))
            .collect();
    }

    fn arrives(&self, client: ConnId, bytes: &[u8], changed: &[Bytes], node: &Node, now: Now) {
        let mut log = self.log.log();
        let now_ns = log.now_ns();
        let number = log.connections + 1;
        let Some(known) = log.nodes.get_mut(&self.node) else {
            return;
        };
        changed.iter().for_each(|name| drop(known.note(name, node)));
        let process = known.process;
        let is_new = !known.connections.contains_key(&client);
        let connection = known
            .connections
            .entry(client)
            .or_insert_with(|| Connection {
                name: format!("other-{number}").into(),
                unread: Inbound::new(Bounds::FRAME),
                since_ns: None,
                exchange: None,
            });
        let sent_ns = connection.since_ns.unwrap_or(now_ns);
        connection.unread.buffer().extend_from_slice(bytes);
        let commands = commands(&mut connection.unread);
        let is_complete = connection.unread.buffer().is_empty();
        connection.since_ns =
            (!is_complete).then_some(if commands.is_empty() { sent_ns } else { now_ns });
        // What is no request may be a line for people, which the node executes as well.
        connection.exchange = (is_complete || !commands.is_empty()).then(|| Exchange {
            client: connection.name.clone(),
            node: self.node.clone(),
            sent_ns,
            commands,
            executed: Some(Executed {
                at_ns: now_ns,
                wall_ns: now.wall_us * 1000,
                mono_ns: now.monotonic.as_nanos() as u64,
                process,
                changed: Vec::new(),
                answered_ns: None,
            }),
        });
        log.connections += u64::from(is_new);
    }

    fn executed(&self, client: ConnId, changed: &[Bytes], node: &Node) {
        let mut log = self.log.log();
        let now_ns = log.now_ns();
        let Some(known) = log.nodes.get_mut(&self.node) else {
            return;
        };
        let changed: BTreeSet<&Bytes> = changed.iter().collect();
        let changed: Vec<Noted> = { changed.into_iter() }
            .map(|name| known.note(name, node))
            .collect();
        let connection = known.connections.get_mut(&client);
        let Some(mut exchange) = connection.and_then(|it| it.exchange.take()) else {
            return;
        };
        if let Some(executed) = &mut exchange.executed {
            executed.at_ns = now_ns;
            executed.answered_ns = Some(now_ns);
            let wall_ns = executed.wall_ns;
            let changed = changed.into_iter();
            executed.changed = changed.filter_map(|it| it.change(wall_ns)).collect();
        }
        if log.keeps(&exchange.commands) {
            log.exchanges.push(exchange);
        }
    }
}

/// A key, as it was known to be and as it is now.
struct Noted {
    key: String,
    before: Option<KeyState>,
    now: Option<KeyState>,
}

impl Noted {
    /// What a request at this reading of the wall clock changed. An expired key is none.
    fn change(self, wall_ns: u64) -> Option<KeyChange> {
        let lives = |state: &KeyState| state.expires.is_none_or(|end| end.at_ns > wall_ns);
        let Noted { key, before, now } = self;
        let [before, now] = [before, now].map(|state| state.filter(lives));
        (before != now).then_some(KeyChange { key, now })
    }
}

impl OnNode {
    /// Knows from now on what a key is.
    fn note(&mut self, name: &[u8], node: &Node) -> Noted {
        let now = node.key(name).map(state);
        let before = match now.clone() {
            Some(state) => self.keys.insert(name.to_vec(), state),
            None => self.keys.remove(name),
        };
        Noted {
            key: String::from_utf8_lossy(name).into_owned(),
            before,
            now,
        }
    }
}

fn state(key: Key<'_>) -> KeyState {
    let holder = key.holder().map(String::from_utf8_lossy);
    KeyState {
        value: holder.map_or_else(|| key.to_string(), String::from),
        has_several: key.has_several(),
        expires: key.expires_at_ms.map(Deadline::of_key),
    }
}

/// The complete requests, which it removes. What is no request is removed, too.
fn commands(unread: &mut Inbound) -> Vec<Vec<Vec<u8>>> {
    let mut commands = Vec::new();
    loop {
        match unread.next_words() {
            Ok(Some(words)) => {
                commands.push(words.iter().map(|word| word.to_vec()).collect());
            }
            Ok(None) => return commands,
            Err(_) => {
                unread.clear();
                return commands;
            }
        }
    }
}

#[cfg(test)]
mod tests;
