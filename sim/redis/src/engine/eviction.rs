//! `maxmemory`: the eviction of keys when they need more memory (`src/evict.c`).
//!
//! Before each request a server deletes keys until the rest is within the limit. The policy
//! determines which keys may be evicted, and in which order. Redis does not look for the best one:
//! it draws a few keys, and remembers the best of what it has drawn; a node draws with its own
//! generator. If no key may be evicted, or none is left, commands that may need memory are refused.
//!
//! A lock is a key like any other: under most policies it may be deleted while it is held.

use bytes::Bytes;

use super::notify::deliver;
use super::propagate::{self, Unit};
use super::script::{Flags, ScriptFlag};
use super::state::State;
use super::state::eviction::{Candidate, EvictionPolicy};
use crate::store::keyspace::{Entry, Keyspace};
use crate::wire::reply::Error;

/// How many candidates are remembered (`EVPOOL_SIZE`).
const POOL: usize = 16;

/// The error of a command that is refused.
pub(super) const OUT_OF_MEMORY: Error =
    Error::of("OOM command not allowed when used memory > 'maxmemory'.");

/// Evicts keys until the rest is within `maxmemory`, before a request (`performEvictions`).
/// Returns whether memory is short: whether the rest is not.
pub(super) fn make_room(state: &mut State, wall_us: u64) -> bool {
    state.eviction.is_due = false;
    if state.busy.is_some() || state.config.max_memory() == 0 {
        return false;
    }
    let may_evict = may_evict(state);
    while may_evict
        && is_over(state)
        && let Some((db, key)) = choose(state, wall_us)
    {
        state.db.within(db, |db| db.evict(&key));
        deliver(state);
        propagate::flush(state, Unit::Parts);
    }
    state.eviction.was_short = may_evict && is_over(state);
    state.eviction.was_short
}

/// Whether a script that declares these flags, or none, is refused.
///
/// # Errors
///
/// Memory was short when the request began.
pub(super) fn may_run(state: &mut State, flags: Option<&Flags>) -> Result<(), Error> {
    let has = |flag| flags.is_some_and(|flags| flags.contains(&flag));
    let may_exceed = has(ScriptFlag::AllowOom);
    state.eviction.script_may_exceed = may_exceed;
    let exempt = may_exceed || has(ScriptFlag::NoWrites) || flags.is_none();
    match is_short_for_scripts(state) && !exempt {
        true => Err(Error::of(
            "OOM allow-oom flag is not set on the script, can not run it when used memory > \
             'maxmemory'",
        )),
        false => Ok(()),
    }
}

/// Whether a script's command that may need memory is refused: not after its first change.
pub(super) fn refuses_in_script(state: &State, client: u64) -> bool {
    let eviction = &state.eviction;
    is_short_for_scripts(state)
        && !eviction.script_may_exceed
        && !state.script_wrote
        && !state.repl.is_master(client)
        && !state.loading
}

fn is_short_for_scripts(state: &State) -> bool {
    state.config.max_memory() > 0 && state.eviction.was_short
}

fn is_over(state: &State) -> bool {
    state.db.used_bytes() as u64 > state.config.max_memory()
}

/// `isSafeToPerformEvictions`: a replica waits for its master's deletions, and a pause suspends
/// them. Then memory is not short either.
fn may_evict(state: &State) -> bool {
    !state.loading && state.repl.link().is_none() && state.paused().is_none()
}

/// The next key to evict.
fn choose(state: &mut State, wall_us: u64) -> Option<(usize, Bytes)> {
    use EvictionPolicy::*;
    let policy = state.config.policy();
    let keys = match policy {
        NoEviction => return None,
        AllKeysLru | AllKeysLfu | AllKeysRandom => Keys::All,
        VolatileLru | VolatileLfu | VolatileRandom | VolatileTtl => Keys::Volatile,
    };
    match policy {
        AllKeysRandom | VolatileRandom => choose_at_random(state, keys),
        _ => choose_best(state, keys, policy, wall_us),
    }
}

/// The keys that may be evicted.
#[derive(Clone, Copy)]
enum Keys {
    All,
    /// Keys with a time to live.
    Volatile,
}

impl Keys {
    fn count(self, space: &Keyspace) -> usize {
        match self {
            Keys::All => space.len(),
            Keys::Volatile => space.volatile_len(),
        }
    }

    fn nth(self, space: &Keyspace, index: usize) -> Option<Bytes> {
        match self {
            Keys::All => space.nth(index),
            Keys::Volatile => space.nth_volatile(index),
        }
        .cloned()
    }
}

/// A key of the next database that has any.
fn choose_at_random(state: &mut State, keys: Keys) -> Option<(usize, Bytes)> {
    let databases = state.db.spaces().count();
    for _ in 0..databases {
        let db = state.eviction.next_db % databases;
        state.eviction.next_db = db + 1;
        let count = keys.count(state.db.space(db));
        if count > 0 {
            let index = state.choose(count);
            return keys.nth(state.db.space(db), index).map(|key| (db, key));
        }
    }
    None
}

/// Draws some keys of each database, and takes the best of all that were drawn so far and still
/// exist.
fn choose_best(
    state: &mut State,
    keys: Keys,
    policy: EvictionPolicy,
    wall_us: u64,
) -> Option<(usize, Bytes)> {
    let now_ms = (wall_us / 1000) as i64;
    loop {
        let mut count = 0;
        for db in 0..state.db.spaces().count() {
            let here = keys.count(state.db.space(db));
            count += here;
            for index in draw(state, here) {
                if let Some(key) = keys.nth(state.db.space(db), index) {
                    consider(state, db, key, policy, now_ms);
                }
            }
        }
        if count == 0 {
            return None;
        }
        while let Some(Candidate { db, key, .. }) = state.eviction.pool.pop() {
            let may_go = |entry: &Entry| match keys {
                Keys::All => true,
                Keys::Volatile => entry.expires_at_ms.is_some(),
            };
            if state.db.space(db).entry(&key).is_some_and(may_go) {
                return Some((db, key));
            }
        }
    }
}

/// The indices of `maxmemory-samples` keys among this number of keys: of all keys if there are
/// fewer.
fn draw(state: &mut State, count: usize) -> Vec<usize> {
    let samples = state.config.eviction_samples();
    match count <= samples {
        true => (0..count).collect(),
        false => (0..samples).map(|_| state.choose(count)).collect(),
    }
}

/// Remembers a key if it is better than one of the pool (`evictionPoolPopulate`).
fn consider(state: &mut State, db: usize, key: Bytes, policy: EvictionPolicy, now_ms: i64) {
    let entry = state.db.space(db).entry(&key);
    let Some(score) = entry.map(|entry| score(entry, policy, now_ms)) else {
        return;
    };
    let pool = &mut state.eviction.pool;
    if pool.iter().any(|known| known.db == db && known.key == key) {
        return;
    }
    let place = pool.partition_point(|known| known.score < score);
    if pool.len() == POOL {
        if place == 0 {
            return;
        }
        pool.remove(0);
        pool.insert(place - 1, Candidate { db, key, score });
    } else {
        pool.insert(place, Candidate { db, key, score });
    }
}

fn score(entry: &Entry, policy: EvictionPolicy, now_ms: i64) -> i64 {
    match policy {
        EvictionPolicy::VolatileTtl => entry.expires_at_ms.map_or(i64::MIN, |when| -when),
        policy if policy.is_by_frequency() => 255 - i64::from(entry.usage.frequency(now_ms)),
        _ => entry.usage.idle_s(now_ms),
    }
}
