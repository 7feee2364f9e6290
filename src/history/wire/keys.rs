//! Which keys were granted, as a lock is.

use locklab_vecmap::{VecMap, VecSet};

use super::Wire;
use super::visits::visits;
use crate::Name;

/// Keys that were granted, as a lock is.
#[derive(Debug, Default)]
pub struct GrantedKeys {
    /// All of them.
    pub all: Vec<String>,
    /// Those that may be the lock's: the ones that several clients were granted. If there are none, those that a node
    /// granted twice, such as a client's sign of life; if there are none either, all.
    pub likely: Vec<String>,
}

/// The keys that were granted.
pub fn granted_keys(wire: &Wire) -> GrantedKeys {
    let executed = wire.exchanges.iter().filter_map(|it| it.executed.as_ref());
    let changed = executed.flat_map(|it| &it.changed);
    let keys: VecSet<&String> = changed.map(|change| &change.key).collect();
    let mut granted = GrantedKeys::default();
    let (mut to_several, mut often) = (Vec::new(), Vec::new());
    for key in keys {
        let mut clients: VecSet<&Name> = VecSet::new();
        let mut by_node: VecMap<&Name, u32> = VecMap::new();
        for visit in visits(wire, key).iter().filter(|visit| visit.grants) {
            clients.insert(&visit.exchange.client);
            *by_node.entry(&visit.exchange.node).or_default() += 1;
        }
        if clients.is_empty() {
            continue;
        }
        granted.all.push(key.clone());
        if clients.len() > 1 {
            to_several.push(key.clone());
        }
        if by_node.values().any(|grants| *grants > 1) {
            often.push(key.clone());
        }
    }
    let ranks = [to_several, often];
    let likely = ranks.into_iter().find(|keys| !keys.is_empty());
    granted.likely = likely.unwrap_or_else(|| granted.all.clone());
    granted
}

/// Whether this key has belonged to several clients at a time, or could: then it is no exclusive lock.
pub fn has_several(wire: &Wire, key: &str) -> bool {
    let executed = wire.exchanges.iter().filter_map(|it| it.executed.as_ref());
    let mut changed = executed.flat_map(|it| &it.changed);
    changed.any(|change| change.key == key && change.now.as_ref().is_some_and(|it| it.has_several))
}

/// The longest time to live that any request gave this key, in nanoseconds.
pub fn longest_lease_ns(wire: &Wire, key: &str) -> Option<u64> {
    let visits = visits(wire, key);
    let ttls = visits.iter().filter_map(|visit| visit.set_ttl_ns.flatten());
    ttls.max()
}
