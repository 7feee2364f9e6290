//! What each request did to one key of its node.

use std::iter::successors;

use locklab_vecmap::{VecMap, VecSet};

use super::{Exchange, Executed, Wire};
use crate::{ClockKind, Deadline, KeyState, Name};

/// A request, as far as one key is concerned.
#[derive(Debug, Clone)]
pub(super) struct Visit<'a> {
    pub(super) exchange: &'a Exchange,
    /// The places of the requests that the client sent to the same node before and after it.
    pub(super) before: Option<usize>,
    pub(super) after: Option<usize>,
    /// Whether it asks for the key.
    pub(super) asks: bool,
    /// Whether it names the key, or changed it: a script may know the name.
    pub(super) names: bool,
    /// Whether it made the key exist, as a lock does, or took it over.
    pub(super) grants: bool,
    /// Whether it replaced the value by which another client held the key.
    takes_over: bool,
    /// The grant that the node held the key by afterwards: its place among the visits.
    pub(super) holder: Option<usize>,
    /// The time to live that it gave the key, in nanoseconds; the inner `None`: no end.
    pub(super) set_ttl_ns: Option<Option<u64>>,
    /// Whether the key then lived on for longer than before.
    pub(super) extends: bool,
    /// Whether it named the value that the key had, and kept: its sender knows by what the key is held.
    pub(super) knows_value: bool,
    /// The grant that the key was held by, if it replaced its value.
    pub(super) replaces: Option<usize>,
    /// Whether it deleted the key, and the grant that it was held by.
    pub(super) deleted: Option<Option<usize>>,
    /// Whether it deleted it in the name of the client that held it, to which it was handed over: it named a value that
    /// this client alone has set.
    pub(super) hands_back: bool,
}

impl Visit<'_> {
    /// Whether the node is known to have held the key by this grant when it had executed the request, which does
    /// not ask for it.
    pub(super) fn keeps(&self, grant: usize) -> bool {
        self.holder == Some(grant) && !self.asks
    }

    /// When the whole reply had arrived.
    pub(super) fn answered_ns(&self) -> Option<u64> {
        self.exchange.executed.as_ref()?.answered_ns
    }
}

/// The key on a node.
#[derive(Default)]
struct OnNode<'a> {
    process: usize,
    state: Option<&'a KeyState>,
    holder: Option<usize>,
    /// Who was granted the key by which value.
    owners: VecMap<&'a str, VecSet<&'a Name>>,
}

/// The requests of all clients, in the order of the wire, as far as this key is concerned.
pub(super) fn visits<'a>(wire: &Wire<'a>, key: &str) -> Vec<Visit<'a>> {
    let mut nodes: VecMap<&Name, OnNode> = VecMap::new();
    let mut visits = Vec::new();
    for (place, exchange) in wire.exchanges.iter().enumerate() {
        let node = nodes.entry(&exchange.node).or_default();
        let mut visit = Visit {
            exchange,
            before: None,
            after: None,
            asks: takes_if_absent(exchange, key),
            names: names(exchange, key),
            grants: false,
            takes_over: false,
            holder: None,
            set_ttl_ns: None,
            extends: false,
            knows_value: false,
            replaces: None,
            deleted: None,
            hands_back: false,
        };
        if let Some(executed) = &exchange.executed {
            execute(node, &mut visit, executed, place, key);
            if let (Some(held), Some(now)) = (visit.replaces, node.state)
                && now.expires.is_some()
                && takes_over(&visit, &visits[held], key)
            {
                (visit.grants, visit.takes_over) = (true, true);
                visit.set_ttl_ns = Some(ttl_ns(executed, now));
                visit.extends = true;
                node.holder = Some(place);
            }
            visit.holder = node.holder;
        }
        visits.push(visit);
    }
    // Whatever has the form of a request that was granted asks, too; what takes a lock over has that of a renewal.
    let granting = visits
        .iter()
        .filter(|visit| visit.grants && !visit.takes_over);
    let forms: VecSet<_> = granting
        .flat_map(|visit| forms(visit.exchange, key))
        .collect();
    for visit in &mut visits {
        let mut own = forms_of(visit.exchange, key);
        visit.asks |= visit.grants || own.any(|form| forms.contains(&form));
    }
    link(&mut visits);
    visits
}

/// Links the requests of each client to each node, in the order in which they left.
fn link(visits: &mut [Visit]) {
    let mut order: Vec<usize> = (0..visits.len()).collect();
    order.sort_by_key(|place| (visits[*place].exchange.sent_ns, *place));
    let mut last: VecMap<(&Name, &Name), usize> = VecMap::new();
    for place in order {
        let exchange = visits[place].exchange;
        let before = last.insert((&exchange.client, &exchange.node), place);
        visits[place].before = before;
        if let Some(before) = before {
            visits[before].after = Some(place);
        }
    }
}

/// The later requests of the same client to the same node, in the order in which they left.
pub(super) fn later<'v, 'a>(
    visits: &'v [Visit<'a>],
    place: usize,
) -> impl Iterator<Item = &'v Visit<'a>> + Clone {
    let after = |visit: &Visit| visit.after.map(|after| &visits[after]);
    successors(after(&visits[place]), move |visit| after(visit))
}

/// Executes a request.
fn execute<'a>(
    node: &mut OnNode<'a>,
    visit: &mut Visit<'a>,
    executed: &'a Executed,
    place: usize,
    key: &str,
) {
    if executed.process != node.process {
        *node = OnNode {
            process: executed.process,
            ..OnNode::default()
        };
    }
    let is_alive = |state: &KeyState| {
        let over = |end: Deadline| reading(executed, end.clock) >= end.at_ns;
        !state.expires.is_some_and(over)
    };
    if node.state.is_some_and(|state| !is_alive(state)) {
        (node.state, node.holder) = (None, None);
    }
    let mut changed = executed.changed.iter();
    let Some(change) = changed.find(|change| change.key == key) else {
        return;
    };
    visit.names = true;
    let before = node.state;
    node.state = change.now.as_ref().filter(|state| is_alive(state));
    match (before, node.state) {
        (_, None) => {
            visit.deleted = before.map(|_| node.holder);
            visit.hands_back = before.is_some_and(|before| hands_back(visit, before, node));
            node.holder = None;
        }
        (None, Some(now)) => {
            visit.grants = now.expires.is_some() || visit.asks;
            visit.set_ttl_ns = Some(ttl_ns(executed, now));
            visit.extends = true;
            node.holder = visit.grants.then_some(place);
            if visit.grants {
                let owners = node.owners.entry(&*now.value).or_default();
                owners.insert(&visit.exchange.client);
            }
        }
        (Some(before), Some(now)) if before.value == now.value => {
            visit.set_ttl_ns = Some(ttl_ns(executed, now));
            visit.extends = is_later(before.expires, now.expires);
            visit.knows_value = carries(visit.exchange, &now.value);
        }
        // Whose value this is, is known only of a few requests.
        (Some(_), Some(_)) => visit.replaces = node.holder.take(),
    }
}

/// Whether a key lives for longer with the second end.
fn is_later(before: Option<Deadline>, now: Option<Deadline>) -> bool {
    match (before, now) {
        (Some(before), Some(now)) => now.at_ns > before.at_ns,
        (before, now) => before.is_some() && now.is_none(),
    }
}

/// Whether a request that deleted the key named the value that it had, by which only another client was granted it. A
/// short value, such as 1, may stand for something else.
fn hands_back(visit: &Visit, before: &KeyState, node: &OnNode) -> bool {
    let client = &visit.exchange.client;
    let owners = node.owners.get(&*before.value);
    let is_anothers = owners.is_some_and(|owners| owners.len() == 1 && !owners.contains(client));
    is_anothers && before.value.len() >= TOKEN && carries(visit.exchange, &before.value)
}

/// The shortest value, in bytes, that says who has set it.
const TOKEN: usize = 8;

/// Whether a request has a word that is the value, or, as a token of some length, a part of it, such as a field of a hash.
fn carries(exchange: &Exchange, value: &str) -> bool {
    let mut words = exchange.commands.iter().flatten();
    words.any(|word| {
        word == value.as_bytes() || (word.len() >= TOKEN && contains(value.as_bytes(), word))
    })
}

fn reading(executed: &Executed, clock: ClockKind) -> u64 {
    match clock {
        ClockKind::Wall => executed.wall_ns,
        ClockKind::Monotonic => executed.mono_ns,
    }
}

/// What is left of the time to live, in nanoseconds. A key expires one millisecond after its time is over.
fn ttl_ns(executed: &Executed, state: &KeyState) -> Option<u64> {
    const ROUNDED_NS: u64 = 1_000_000;
    let end = state.expires?;
    let last_ns = end.at_ns.saturating_sub(ROUNDED_NS);
    Some(last_ns.saturating_sub(reading(executed, end.clock)))
}

/// Whether the request sets this key only if it is absent.
fn takes_if_absent(exchange: &Exchange, key: &str) -> bool {
    let mut commands = exchange.commands.iter();
    commands.any(|words| names_key(words, key) && takes(words))
}

/// Whether a command with these words sets a key only if it is absent.
pub fn takes(words: &[impl AsRef<[u8]>]) -> bool {
    match words.first() {
        Some(command) if is_one_of(command, &["SETNX", "HSETNX"]) => true,
        Some(command) if is_one_of(command, &["SET"]) => has_option(words, &["NX"]),
        _ => false,
    }
}

/// Whether a command with these words sets a key to a value, whatever it held.
fn overwrites(words: &[Vec<u8>]) -> bool {
    match words.first() {
        Some(command) if is_one_of(command, &["SETEX", "PSETEX"]) => true,
        Some(command) if is_one_of(command, &["SET"]) => !has_option(words, LOOKS),
        _ => false,
    }
}

/// The options of `SET` with which it takes only what is free, or its sender learns or says what was there. `XX` is none of
/// them: any value will do.
const LOOKS: &[&str] = &["NX", "GET", "IFEQ", "IFNE", "IFDEQ", "IFDNE"];

fn has_option(words: &[impl AsRef<[u8]>], options: &[&str]) -> bool {
    words.iter().skip(3).any(|word| is_one_of(word, options))
}

fn is_one_of(word: &impl AsRef<[u8]>, wanted: &[&str]) -> bool {
    let is = |it: &&str| word.as_ref().eq_ignore_ascii_case(it.as_bytes());
    wanted.iter().any(is)
}

/// Whether this request, which replaced the value of the key, took it over from the client that had been granted it. One
/// that overwrites it does, as a careless renewal, if the key then has a time to live. It does not if the key was granted
/// by such a request, too: then clients share it, like an entry of a cache.
fn takes_over(visit: &Visit, held: &Visit, key: &str) -> bool {
    let overwritten = |exchange: &Exchange| {
        let commands = exchange.commands.iter();
        let mut of_key = commands.filter(|words| names_key(words, key));
        of_key.any(|words| overwrites(words))
    };
    visit.exchange.client != held.exchange.client
        && overwritten(visit.exchange)
        && !overwritten(held.exchange)
}

/// Whether the first argument of a command is the key.
fn names_key(words: &[Vec<u8>], key: &str) -> bool {
    words.get(1).is_some_and(|word| word == key.as_bytes())
}

fn names(exchange: &Exchange, key: &str) -> bool {
    let mut words = exchange.commands.iter().flatten();
    words.any(|word| contains(word, key.as_bytes()))
}

fn contains(word: &[u8], part: &[u8]) -> bool {
    !part.is_empty() && word.windows(part.len()).any(|place| place == part)
}

/// A command, whether it sets a key only if it is absent, and its script, if it has one.
type Form<'a> = (Vec<u8>, bool, Option<&'a [u8]>);

/// The forms of the commands that name the key.
fn forms_of<'a>(exchange: &'a Exchange, key: &str) -> impl Iterator<Item = Form<'a>> {
    let key = key.as_bytes();
    let of_key = move |words: &&Vec<Vec<u8>>| words.iter().any(|word| contains(word, key));
    { exchange.commands.iter().filter(of_key) }.filter_map(|words| {
        let command = words.first()?.to_ascii_uppercase();
        let has_script = command.starts_with(b"EVAL") || command.starts_with(b"FCALL");
        let script = words.get(1).filter(|_| has_script).map(Vec::as_slice);
        Some((command, takes(words), script))
    })
}

fn forms<'a>(exchange: &'a Exchange, key: &str) -> Vec<Form<'a>> {
    forms_of(exchange, key).collect()
}
