//! `maxmemory`: which commands are refused, and which keys go. A limit of one byte is exceeded by
//! every server; which keys go first is compared where all of them are candidates.

use super::check;

#[test]
fn commands_that_may_need_memory_are_refused() {
    check(&[
        "SET k v
         RPUSH l a
         CONFIG SET maxmemory 1
         SET k w
         GET k
         SETNX new 1
         APPEND k x
         RPUSH l b
         LPOP l
         INCR n
         EXPIRE k 100
         PERSIST k
         DEL k
         GETSET k v
         PUBLISH c m
         HSET h f v
         ZADD z 1 a
         SADD s a
         BRPOPLPUSH l m 0
         BLPOP l 1
         CONFIG SET maxmemory 0
         SET k v",
        "CONFIG SET maxmemory 1
         MULTI
         GET k
         EXEC
         MULTI
         DISCARD
         MULTI
         CONFIG SET maxmemory 0
         EXEC
         CONFIG SET maxmemory 0
         MULTI
         SET k v
         CONFIG SET maxmemory 1
         EXEC
         CONFIG SET maxmemory 0
         MULTI
         SET k v
         2: CONFIG SET maxmemory 1
         EXEC
         CONFIG SET maxmemory 0",
        "SUBSCRIBE c
         2: CONFIG SET maxmemory 1
         SET k v
         2: CONFIG SET maxmemory 0",
    ]);
}

#[test]
fn scripts_are_refused_by_their_declared_flags() {
    check(&[
        "CONFIG SET maxmemory 1
         EVAL \"return redis.call('set','k','v')\" 0
         EVAL \"return redis.pcall('set','k','v')\" 0
         EVAL \"redis.call('del','k') return redis.call('set','k','v')\" 0
         EVAL \"return redis.call('get','k')\" 0
         EVAL_RO \"return redis.call('get','k')\" 0
         EVAL \"#!lua\\nreturn redis.call('get','k')\" 0
         EVAL \"#!lua flags=allow-oom\\nreturn redis.call('set','k','v')\" 0
         EVAL \"#!lua flags=no-writes\\nreturn redis.call('get','k')\" 0
         EVAL \"#!lua flags=no-writes\\nreturn redis.call('set','k','w')\" 0
         GET k
         CONFIG SET maxmemory 0
         MULTI
         EVAL \"#!lua\\nreturn 1\" 0
         CONFIG SET maxmemory 1
         EXEC
         MULTI
         CONFIG SET maxmemory 0
         CONFIG SET maxmemory 0",
        "CONFIG SET maxmemory 1
         SET k v
         CONFIG SET maxmemory 0
         MULTI
         CONFIG SET maxmemory 1
         EVAL \"return redis.call('append', 'k', 'x')\" 0
         EXEC
         CONFIG SET maxmemory 0
         MULTI
         CONFIG SET maxmemory 1
         EVAL \"return redis.call('append', 'k', 'x')\" 0
         CONFIG SET maxmemory 100mb
         EXEC
         GET k
         CONFIG SET maxmemory 0
         MULTI
         CONFIG SET maxmemory 1
         EVAL \"return redis.call('append', 'k', 'x')\" 0
         EXEC
         CONFIG SET maxmemory 0",
    ]);
}

#[test]
fn keys_go_by_the_policy() {
    check(&[
        "CONFIG SET notify-keyspace-events KEA
         SET stays 1
         SET soon 1 PX 100000
         SET later 1 PX 200000
         SET latest 1 PX 300000
         SELECT 3
         SET stays 3
         SET first 3 PX 50000
         2: PSUBSCRIBE __key*__:*
         3: HELLO 3
         3: CLIENT TRACKING ON
         3: GET soon
         CONFIG SET maxmemory-policy volatile-ttl
         CONFIG SET maxmemory 1
         DBSIZE
         KEYS *
         SELECT 0
         KEYS *
         SET stays 2
         CONFIG SET maxmemory 0
         CONFIG SET maxmemory-policy noeviction
         INFO nothing",
        "SET a 1
         SET b 2 PX 100000
         WATCH a
         CONFIG SET maxmemory-policy allkeys-lru
         2: CONFIG SET maxmemory 1
         MULTI
         2: CONFIG SET maxmemory 0
         PING
         EXEC
         DBSIZE
         CONFIG SET maxmemory-policy noeviction",
        "SET a 1
         SET b 2 PX 100000
         SET c 2 PX 100000
         CONFIG SET maxmemory-policy volatile-random
         CONFIG SET maxmemory 1
         KEYS *
         CONFIG SET maxmemory-policy volatile-lfu
         SET d 1 PX 1000
         CONFIG SET maxmemory-policy allkeys-random
         CONFIG SET maxmemory-samples 3
         CONFIG GET maxmemory-samples
         CONFIG SET maxmemory-samples 0
         DBSIZE
         CONFIG SET maxmemory 0
         CONFIG SET maxmemory-policy noeviction",
    ]);
}

#[test]
fn object_reports_the_access_data_of_the_policy() {
    check(&[
        "SET a x
         OBJECT IDLETIME a
         OBJECT FREQ a
         OBJECT IDLETIME nope
         CONFIG SET maxmemory-policy allkeys-lfu
         SET b x
         OBJECT FREQ b
         OBJECT FREQ nope
         OBJECT IDLETIME b
         CONFIG SET maxmemory-policy noeviction",
        "SET a x
         sleep 2100
         ~OBJECT IDLETIME a
         EXISTS a
         TYPE a
         TTL a
         ~OBJECT IDLETIME a
         SET a 2 NX
         OBJECT IDLETIME a",
    ]);
}
