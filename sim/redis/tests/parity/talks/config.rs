//! CONFIG, and the effect of parameters.

use super::check;

#[test]
fn get_and_set() {
    check(&[
        "CONFIG GET
         CONFIG GET hz
         CONFIG GET HZ
         CONFIG GET nope
         CONFIG GET maxmemory-p*
         CONFIG GET lua-time-limit
         CONFIG GET notify-keyspace-events
         CONFIG SET foo
         CONFIG SET foo bar
         CONFIG SET hz x
         CONFIG SET hz 10 hz 11
         CONFIG SET hz -1
         CONFIG SET hz 501
         CONFIG GET hz
         CONFIG SET hz 0
         CONFIG GET hz
         CONFIG SET hz 10 foo bar
         CONFIG SET hz 12 appendonly maybe
         CONFIG GET hz
         CONFIG SET HZ 10
         CONFIG SET databases 4
         CONFIG GET databases
         CONFIG SET appendonly maybe
         CONFIG SET maxmemory 1gb
         CONFIG GET maxmemory
         CONFIG SET maxmemory 1x
         CONFIG SET maxmemory 0
         CONFIG SET maxmemory-policy foo
         CONFIG SET maxmemory-policy ALLKEYS-LRU
         CONFIG GET maxmemory-policy
         CONFIG SET maxmemory-policy noeviction
         CONFIG SET lua-time-limit 4000
         CONFIG GET busy-reply-threshold
         CONFIG SET busy-reply-threshold 5000
         CONFIG SET slave-priority 1
         CONFIG GET replica-priority
         CONFIG SET replica-priority 100
         CONFIG RESETSTAT
         CONFIG REWRITE
         CONFIG NOPE",
        "CONFIG SET notify-keyspace-events KEAn
         CONFIG GET notify-keyspace-events
         CONFIG SET notify-keyspace-events q
         CONFIG SET notify-keyspace-events g$lshzxetdnmKE
         CONFIG GET notify-keyspace-events
         CONFIG SET notify-keyspace-events K$xn
         CONFIG GET notify-keyspace-events
         CONFIG SET notify-keyspace-events A
         CONFIG GET notify-keyspace-events",
    ]);
}

#[test]
fn replicas_that_are_missing() {
    check(&["CONFIG SET min-replicas-to-write 1
         SET a 1
         GET a
         PUBLISH a b
         EVAL \"return redis.call('set', 'a', 1)\" 0
         EVAL \"return redis.call('get', 'a')\" 0
         MULTI
         SET a 1
         EXEC
         CONFIG SET min-replicas-max-lag 0
         SET a 1
         CONFIG SET min-replicas-max-lag 10
         SET a 1
         CONFIG SET min-replicas-to-write 0
         MULTI
         SET a 2
         2: CONFIG SET min-replicas-to-write 1
         EXEC
         GET a"]);
}

#[test]
fn debug_sleep_holds_everybody_up() {
    check(&[
        "DEBUG
         DEBUG FOO
         DEBUG SLEEP
         DEBUG SLEEP x
         DEBUG SLEEP 0
         DEBUG SLEEP 0.05
         PING
         MULTI
         DEBUG SLEEP 0.05
         PING
         EXEC",
        "SHUTDOWN FOO
         SHUTDOWN ABORT
         SHUTDOWN SAVE NOSAVE
         MULTI
         SHUTDOWN
         EXEC",
    ]);
}
