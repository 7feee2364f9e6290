//! Scripts of lock clients, on hashes, lists and sorted sets, step by step: after each step
//! both servers hold the same data.

use crate::pair::Pair;
use crate::wire::Likeness;

/// Acquires a reentrant lock: KEYS name; ARGV lease in ms, owner.
const LOCK: &str = "
    local owned = redis.call('hexists', KEYS[1], ARGV[2]) == 1
    if owned or redis.call('exists', KEYS[1]) == 0 then
        redis.call('hincrby', KEYS[1], ARGV[2], 1)
        redis.call('pexpire', KEYS[1], ARGV[1])
        return nil
    end
    return redis.call('pttl', KEYS[1])";

/// Releases a reentrant lock once: KEYS name, channel, latch; ARGV lease, owner, the time to
/// live of the latch in ms.
const UNLOCK: &str = "
    local done = redis.call('get', KEYS[3])
    if done then return tonumber(done) end
    if redis.call('hexists', KEYS[1], ARGV[2]) == 0 then return nil end
    local held = redis.call('hincrby', KEYS[1], ARGV[2], -1)
    local left = held > 0
    if left then
        redis.call('pexpire', KEYS[1], ARGV[1])
    else
        redis.call('del', KEYS[1])
        redis.call('publish', KEYS[2], 0)
    end
    redis.call('set', KEYS[3], left and 0 or 1, 'px', ARGV[3])
    return left and 0 or 1";

/// Extends several leases: KEYS names; ARGV lease, then the owner of each.
const RENEW: &str = "
    local renewed = {}
    for i, name in ipairs(KEYS) do
        renewed[i] = 0
        if redis.call('hexists', name, ARGV[i + 1]) == 1 then
            redis.call('pexpire', name, ARGV[1])
            renewed[i] = 1
        end
    end
    return renewed";

/// Acquires a fair lock, or queues for it: KEYS name, queue, deadlines; ARGV lease, owner,
/// maximum wait, now, all in ms.
const FAIR_LOCK: &str = "
    local lease, owner, patience, now = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
    while true do
        local head = redis.call('lindex', KEYS[2], 0)
        local deadline = head and redis.call('zscore', KEYS[3], head)
        if not deadline or tonumber(deadline) > now then break end
        redis.call('zrem', KEYS[3], head)
        redis.call('lpop', KEYS[2])
    end
    local head = redis.call('lindex', KEYS[2], 0)
    if redis.call('exists', KEYS[1]) == 0 and (not head or head == owner) then
        redis.call('lpop', KEYS[2])
        redis.call('zrem', KEYS[3], owner)
        for _, waiter in ipairs(redis.call('zrange', KEYS[3], 0, -1)) do
            redis.call('zincrby', KEYS[3], -patience, waiter)
        end
        redis.call('hset', KEYS[1], owner, 1)
        redis.call('pexpire', KEYS[1], lease)
        return nil
    end
    if redis.call('hincrby', KEYS[1], owner, 0) > 0 then
        redis.call('hincrby', KEYS[1], owner, 1)
        return nil
    end
    redis.call('hdel', KEYS[1], owner)
    if redis.call('zscore', KEYS[3], owner) then return {'queued', redis.call('llen', KEYS[2])} end
    local last = redis.call('lindex', KEYS[2], -1)
    local wait = last and tonumber(redis.call('zscore', KEYS[3], last)) - now or 100
    if redis.call('zadd', KEYS[3], wait + patience + now, owner) == 1 then
        redis.call('rpush', KEYS[2], owner)
    end
    return wait";

/// Acquires a permit of a counting semaphore: KEYS permits; ARGV limit, owner, now, lease.
const SEMAPHORE: &str = "
    redis.call('zremrangebyscore', KEYS[1], '-inf', ARGV[3])
    if redis.call('zcard', KEYS[1]) >= tonumber(ARGV[1]) then return 0 end
    redis.call('zadd', KEYS[1], 'nx', ARGV[3] + ARGV[4], ARGV[2])
    return redis.call('zrank', KEYS[1], ARGV[2]) + 1";

/// Runs scripts one after the other, each with its keys and arguments; compares the replies,
/// and the state after each.
fn check(steps: &[(&str, &[&str], &[&str])]) {
    let mut pair = Pair::start(1);
    pair.clear();
    for (script, keys, argv) in steps {
        let count = keys.len().to_string();
        let mut words = vec!["EVAL", script, &count];
        words.extend(*keys);
        words.extend(*argv);
        compare(&mut pair, &words, Likeness::Within(2000));
        for key in ["name", "other", "queue", "deadlines", "latch"] {
            for (look, likeness) in [
                (&["TYPE", key][..], Likeness::Bytes),
                (&["PTTL", key], Likeness::Within(2000)),
                (&["GET", key], Likeness::Bytes),
                (&["HGETALL", key], Likeness::Bytes),
                (&["LRANGE", key, "0", "-1"], Likeness::Bytes),
                (&["ZRANGE", key, "0", "-1", "WITHSCORES"], Likeness::Bytes),
            ] {
                compare(&mut pair, look, likeness);
            }
        }
    }
}

fn compare(pair: &mut Pair, words: &[&str], likeness: Likeness) {
    let words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
    if let Err(difference) = pair.compare(0, &words, likeness) {
        panic!("{difference}");
    }
}

#[test]
fn a_reentrant_lock() {
    let (name, unlock) = (&["name"][..], &["name", "channel", "latch"][..]);
    check(&[
        (LOCK, name, &["30000", "a:1"]),
        (LOCK, name, &["30000", "a:1"]),
        (LOCK, name, &["30000", "b:1"]),
        (LOCK, &["other"], &["30000", "b:1"]),
        (
            RENEW,
            &["name", "other", "queue"],
            &["60000", "a:1", "a:1", "a:1"],
        ),
        (UNLOCK, unlock, &["30000", "b:1", "20000"]),
        (UNLOCK, unlock, &["30000", "a:1", "20000"]),
        (UNLOCK, unlock, &["30000", "a:1", "20000"]),
        ("return redis.call('del', KEYS[1])", &["latch"], &[]),
        (UNLOCK, unlock, &["30000", "a:1", "20000"]),
        (LOCK, name, &["30000", "b:1"]),
    ]);
}

#[test]
fn a_fair_lock() {
    let keys = &["name", "queue", "deadlines"][..];
    check(&[
        (FAIR_LOCK, keys, &["30000", "a", "5000", "1700000000000"]),
        (FAIR_LOCK, keys, &["30000", "a", "5000", "1700000000001"]),
        (FAIR_LOCK, keys, &["30000", "b", "5000", "1700000000002"]),
        (FAIR_LOCK, keys, &["30000", "c", "5000", "1700000000003"]),
        (FAIR_LOCK, keys, &["30000", "b", "5000", "1700000000004"]),
        ("return redis.call('del', KEYS[1])", keys, &[]),
        (FAIR_LOCK, keys, &["30000", "c", "5000", "1700000000005"]),
        (FAIR_LOCK, keys, &["30000", "b", "5000", "1700000000006"]),
        // Every waiter in the queue has timed out.
        ("return redis.call('del', KEYS[1])", keys, &[]),
        (FAIR_LOCK, keys, &["30000", "d", "5000", "1800000000000"]),
    ]);
}

#[test]
fn a_counting_semaphore() {
    let permits = &["deadlines"][..];
    check(&[
        (SEMAPHORE, permits, &["2", "a", "1000", "500"]),
        (SEMAPHORE, permits, &["2", "b", "1100.5", "500"]),
        (SEMAPHORE, permits, &["2", "c", "1200", "500"]),
        (SEMAPHORE, permits, &["2", "c", "1500", "500"]),
    ]);
}
