//! Which keys may be deleted when memory is short, and those that were drawn so far.

use bytes::Bytes;

/// Which keys are evicted when memory is short, and which first: `maxmemory-policy`. LRU is the least
/// recently used, LFU the least frequently used; the policies `Volatile…` are of keys with a time to
/// live.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum EvictionPolicy {
    /// None: commands that may need memory are refused.
    #[default]
    NoEviction,
    /// `allkeys-lru`.
    AllKeysLru,
    /// `allkeys-lfu`.
    AllKeysLfu,
    /// `allkeys-random`.
    AllKeysRandom,
    /// `volatile-lru`.
    VolatileLru,
    /// `volatile-lfu`.
    VolatileLfu,
    /// `volatile-random`.
    VolatileRandom,
    /// `volatile-ttl`: the key that expires first.
    VolatileTtl,
}

impl EvictionPolicy {
    /// Each policy with its name, in the order in which Redis lists them.
    pub const NAMED: [(&'static str, EvictionPolicy); 8] = [
        ("volatile-lru", EvictionPolicy::VolatileLru),
        ("volatile-lfu", EvictionPolicy::VolatileLfu),
        ("volatile-random", EvictionPolicy::VolatileRandom),
        ("volatile-ttl", EvictionPolicy::VolatileTtl),
        ("allkeys-lru", EvictionPolicy::AllKeysLru),
        ("allkeys-lfu", EvictionPolicy::AllKeysLfu),
        ("allkeys-random", EvictionPolicy::AllKeysRandom),
        ("noeviction", EvictionPolicy::NoEviction),
    ];

    /// The names, in that order.
    pub const NAMES: [&'static str; 8] = {
        let mut names = [""; 8];
        let mut index = 0;
        while index < names.len() {
            names[index] = EvictionPolicy::NAMED[index].0;
            index += 1;
        }
        names
    };

    /// The policy with this name.
    pub fn named(name: &str) -> Option<EvictionPolicy> {
        let mut named = EvictionPolicy::NAMED.iter();
        let found = named.find(|(known, _)| *known == name);
        found.map(|(_, policy)| *policy)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        let mut named = EvictionPolicy::NAMED.iter();
        let found = named.find(|(_, known)| *known == self);
        found.map_or("", |(name, _)| name)
    }

    /// Whether it uses the frequency of accesses: then OBJECT FREQ is answered, and IDLETIME is
    /// not.
    pub(in crate::engine) fn is_by_frequency(self) -> bool {
        use EvictionPolicy::{AllKeysLfu, VolatileLfu};
        matches!(self, AllKeysLfu | VolatileLfu)
    }
}

/// The state of eviction.
#[derive(Default)]
pub(in crate::engine) struct Eviction {
    /// The best candidates so far, the best one last.
    pub(in crate::engine) pool: Vec<Candidate>,
    /// The database from which the next random key is taken.
    pub(in crate::engine) next_db: usize,
    /// The limit or the policy has changed: see to it before the next request.
    pub(in crate::engine) is_due: bool,
    /// Whether memory was short when the last request with a limit began (`pre_command_oom_state`).
    /// If a transaction sets a limit and then runs a script, the state of an earlier request
    /// applies to the script, as in Redis.
    pub(in crate::engine) was_short: bool,
    /// The running script declared `allow-oom`.
    pub(in crate::engine) script_may_exceed: bool,
}

pub(in crate::engine) struct Candidate {
    pub(in crate::engine) db: usize,
    pub(in crate::engine) key: Bytes,
    /// The larger, the sooner it is evicted.
    pub(in crate::engine) score: i64,
}
