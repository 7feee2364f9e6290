//! The commands of random sequences: few keys, so that commands meet values of other types.

use proptest::prelude::*;

/// A time in seconds, far enough in the future that no test reaches it.
const FAR_S: u64 = 4_102_444_800;

const COMPARE_AND_DELETE: &str = "if(redis.call('get',KEYS[1])==ARGV[1])then\treturn(redis.call('del',KEYS[1]))else\treturn(0)end";

/// Any command, with one space between words.
pub fn any() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => strings(),
        4 => expiry(),
        4 => of_any_type(),
        4 => transactions(),
        3 => from(DATABASES),
        3 => from(HASHES),
        4 => from(LISTS),
        3 => from(SETS),
        5 => from(SORTED_SETS),
    ]
}

/// Any command, on servers whose memory is often too small for any key.
pub fn with_limits_on_memory() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => any(),
        1 => from(MEMORY),
    ]
}

/// Makes a command of a template: `K` becomes a key, `M` a member, `V` a value, `I` an
/// index, `D` that of a database, `N` a count, `S` a score, `B` a bound of scores.
fn from(templates: &'static [&'static str]) -> impl Strategy<Value = String> {
    let words = prop::collection::vec(proptest::prelude::any::<u8>(), 8);
    (prop::sample::select(templates.to_vec()), words).prop_map(|(template, chosen)| {
        let mut chosen = chosen.into_iter();
        let words = template.split(' ').map(|word| {
            let choices: &[&str] = match word {
                "K" => &["a", "b", "c"],
                "M" => &["x", "y", "1", "2", "-5"],
                "V" => &["1", "-5", "x", "9223372036854775807", "0.5"],
                "I" => &["0", "1", "-1", "2", "-2", "5", "-9", "x"],
                "D" => &["0", "1", "2", "1", "0", "16", "x"],
                "N" => &["0", "1", "2", "3", "100", "-1"],
                "S" => &["1", "2", "-1", "0.1", "1e20", "inf", "-inf", "0", "x"],
                "B" => &["-inf", "+inf", "1", "(1", "2", "(0.1", "-1", "x"],
                _ => return word,
            };
            let index = chosen.next().unwrap_or_default();
            choices[usize::from(index) % choices.len()]
        });
        words.collect::<Vec<_>>().join(" ")
    })
}

fn strings() -> impl Strategy<Value = String> {
    let key = || prop::sample::select(vec!["a", "b", "c"]);
    let value = || prop::sample::select(vec!["1", "-5", "x", "9223372036854775807"]);
    // Relative times are never compared with each other: the two servers do not
    // run a command in the same millisecond.
    let expiry = prop_oneof![
        Just(String::new()),
        Just(" EX 100".to_owned()),
        Just(" PX 100000".to_owned()),
        Just(" PX 0".to_owned()),
        Just(" KEEPTTL".to_owned()),
        Just(" PXAT 1".to_owned()),
        Just(format!(" EXAT {FAR_S}")),
    ];
    let condition = prop::sample::select(vec!["", " NX", " XX", " GET", " NX GET", " XX GET"]);
    prop_oneof![
        4 => (key(), value(), condition, expiry)
            .prop_map(|(key, value, condition, expiry)| format!("SET {key} {value}{condition}{expiry}")),
        4 => from(STRINGS),
        1 => (key(), value())
            .prop_map(|(key, value)| format!("EVAL {COMPARE_AND_DELETE} 1 {key} {value}")),
    ]
}

fn expiry() -> impl Strategy<Value = String> {
    let key = || prop::sample::select(vec!["a", "b", "c"]);
    let when = (0..3_u64).prop_map(|more| (FAR_S + more).to_string());
    let flag = prop::sample::select(vec!["", " NX", " XX", " GT", " LT", " XX GT"]);
    prop_oneof![
        2 => (key(), when, flag).prop_map(|(key, when, flag)| format!("EXPIREAT {key} {when}{flag}")),
        3 => from(EXPIRY),
    ]
}

fn of_any_type() -> impl Strategy<Value = String> {
    from(OF_ANY_TYPE)
}

fn transactions() -> impl Strategy<Value = String> {
    from(TRANSACTIONS)
}

const STRINGS: &[&str] = &[
    "GET K",
    "GETDEL K",
    "GETSET K V",
    "SETNX K V",
    "INCR K",
    "DECR K",
    "INCRBY K V",
    "STRLEN K",
    "MSET K V K V",
    "MSETNX K V K V",
    "MGET K K",
    "SETEX K 100 V",
];

const EXPIRY: &[&str] = &[
    "TTL K",
    "PTTL K",
    "EXPIRETIME K",
    "PEXPIRETIME K",
    "PERSIST K",
    "PEXPIRE K 100000",
    "PEXPIRE K -1",
];

const OF_ANY_TYPE: &[&str] = &[
    "DEL K",
    "UNLINK K",
    "EXISTS K",
    "TYPE K",
    "KEYS *",
    "SCAN 0 COUNT 1000",
    "SCAN 0 COUNT 1000 TYPE hash",
    "DBSIZE",
    "FLUSHALL",
];

const TRANSACTIONS: &[&str] = &[
    "MULTI",
    "EXEC",
    "EXEC",
    "DISCARD",
    "UNWATCH",
    "PING",
    "NOPE",
    "WATCH K K",
];

const DATABASES: &[&str] = &[
    "SELECT D",
    "SELECT D",
    "FLUSHDB",
    "INFO keyspace",
    "EVAL redis.call('select',ARGV[1])return(redis.call('set',KEYS[1],ARGV[1])) 1 K D",
];

/// A limit of one byte is exceeded by any server: then all keys go that the policy lets go, in an
/// order that no reply shows.
const MEMORY: &[&str] = &[
    "CONFIG SET maxmemory 1",
    "CONFIG SET maxmemory 1",
    "CONFIG SET maxmemory 0",
    "CONFIG SET maxmemory 0",
    "CONFIG SET maxmemory 0",
    "CONFIG SET maxmemory-policy noeviction",
    "CONFIG SET maxmemory-policy noeviction",
    "CONFIG SET maxmemory-policy volatile-ttl",
    "CONFIG SET maxmemory-policy volatile-random",
    "CONFIG SET maxmemory-policy allkeys-lru",
    "EVAL return(redis.call('lpush',KEYS[1],ARGV[1])) 1 K V",
    "EVAL redis.call('del',KEYS[1])return(redis.call('set',KEYS[1],ARGV[1])) 1 K V",
];

const HASHES: &[&str] = &[
    "HSET K M V",
    "HSET K M V M V",
    "HSETNX K M V",
    "HGET K M",
    "HMGET K M M",
    "HGETALL K",
    "HDEL K M",
    "HDEL K M M",
    "HEXISTS K M",
    "HINCRBY K M V",
    "HLEN K",
    "HKEYS K",
    "HVALS K",
    "HSCAN K 0",
];

const LISTS: &[&str] = &[
    "LPUSH K M",
    "RPUSH K M M M",
    "RPUSH K M M",
    "LPOP K",
    "RPOP K",
    "LPOP K N",
    "RPOP K N",
    "LINDEX K I",
    "LRANGE K I I",
    "LRANGE K 0 -1",
    "LREM K I M",
    "LLEN K",
    "LMOVE K K LEFT RIGHT",
    "LMOVE K K RIGHT RIGHT",
    "RPOPLPUSH K K",
];

const SETS: &[&str] = &[
    "SADD K M",
    "SADD K M M",
    "SADD K 1 2",
    "SREM K M",
    "SMEMBERS K",
    "SISMEMBER K M",
    "SCARD K",
    "SSCAN K 0 COUNT 1000",
];

const SORTED_SETS: &[&str] = &[
    "ZADD K S M",
    "ZADD K S M S M",
    "ZADD K NX S M",
    "ZADD K XX CH S M",
    "ZADD K GT CH S M",
    "ZADD K LT INCR S M",
    "ZADD K CH S M S M",
    "ZREM K M",
    "ZSCORE K M",
    "ZRANGE K I I",
    "ZRANGE K 0 -1 WITHSCORES",
    "ZRANGE K I I REV WITHSCORES",
    "ZRANGE K B B BYSCORE LIMIT I I",
    "ZRANGE K B B BYSCORE REV LIMIT I I",
    "ZRANGEBYSCORE K B B WITHSCORES",
    "ZREVRANGE K I I",
    "ZREMRANGEBYSCORE K B B",
    "ZREMRANGEBYRANK K I I",
    "ZRANK K M",
    "ZINCRBY K S M",
    "ZCARD K",
    "ZCOUNT K B B",
    "ZSCAN K 0",
];
