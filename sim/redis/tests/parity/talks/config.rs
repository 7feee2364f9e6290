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
fn save_points_and_output_limits() {
    check(&[
        "CONFIG SET save 60
         CONFIG SET save \"60 1 x\"
         CONFIG SET save \"0 1\"
         CONFIG SET save \"60 -1\"
         CONFIG SET save \"60  1\"
         CONFIG SET save \" 60 1\"
         CONFIG SET save \"60 1 \"
         CONFIG SET save \" \"
         CONFIG SET save \"x y\"
         CONFIG SET save \"60 1x\"
         CONFIG GET save
         CONFIG SET save \"+6000 0100000\"
         CONFIG GET save
         CONFIG SET save \"6000 100000 30000 2000000\"
         CONFIG GET save
         CONFIG SET save \"99999999999999999999 5000000000\"
         CONFIG GET save
         CONFIG SET save \"9000000000 \"
         CONFIG GET save
         CONFIG SET save \"\"
         CONFIG GET save",
        "CONFIG GET client-output-buffer-limit
         CONFIG SET client-output-buffer-limit \"normal 1 2\"
         CONFIG SET client-output-buffer-limit \"master 1 2 3\"
         CONFIG SET client-output-buffer-limit \"foo 1 2 3\"
         CONFIG SET client-output-buffer-limit \"normal 1x 2 3\"
         CONFIG SET client-output-buffer-limit \"normal -1 2 3\"
         CONFIG SET client-output-buffer-limit \"normal 1 2 -3\"
         CONFIG SET client-output-buffer-limit \"normal 1 2 3x\"
         CONFIG SET client-output-buffer-limit \"normal 0 0 0  slave 1 1 1\"
         CONFIG SET client-output-buffer-limit \"normal 0 0 0 pubsub 1x 0 0\"
         CONFIG GET client-output-buffer-limit
         CONFIG SET client-output-buffer-limit \"normal 100mb 2kb 3\"
         CONFIG GET client-output-buffer-limit
         CONFIG SET client-output-buffer-limit \"REPLICA 1 2 3 pubsub 4m 5k 6\"
         CONFIG GET client-output-buffer-limit
         CONFIG SET client-output-buffer-limit \"\"
         CONFIG GET client-output-buffer-limit
         CONFIG SET client-output-buffer-limit \"normal 0 0 0 normal 1gb 1gb 1\"
         CONFIG GET client-output-buffer-limit
         CONFIG SET client-output-buffer-limit \"normal  0 0\"
         CONFIG GET client-output-buffer-limit
         CONFIG SET client-output-buffer-limit \"normal 0 0 99999999999\"
         CONFIG GET client-output-buffer-limit
         CONFIG SET client-output-buffer-limit \"normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60\"",
        "CONFIG SET hash-max-listpack-value 99999999999gb
         CONFIG SET zset-max-ziplist-value 9223372036854775808
         CONFIG GET zset-max-ziplist-value
         CONFIG SET repl-backlog-size 0
         CONFIG SET proto-max-bulk-len 1
         CONFIG SET maxmemory 99999999999gb
         CONFIG GET maxmemory
         CONFIG SET hash-max-listpack-entries 5 hash-max-ziplist-entries 512
         CONFIG GET hash-max-listpack-entries
         CONFIG SET hash-max-listpack-entries 5 HASH-max-listpack-entries 512
         CONFIG SET replica-priority 7 slave-priority 100
         CONFIG GET replica-priority",
        "CONFIG SET maxmemory mb
         CONFIG SET maxmemory -1
         CONFIG SET maxmemory 1tb
         CONFIG SET maxmemory \"\"
         CONFIG GET maxmemory",
    ]);
}

/// A master is not changed by CONFIG SET, so that nobody connects to port 1.
#[test]
fn replica_commands_at_a_master() {
    check(&["CONFIG GET replicaof
         CONFIG GET slaveof
         CONFIG GET replicao*
         CONFIG SET replicaof \"127.0.0.1 1\"
         CONFIG SET slaveof \"no one\"
         CONFIG GET masterauth
         CONFIG SET masterauth x
         CONFIG GET masterauth
         CONFIG SET masterauth \"\"
         CONFIG GET masteruser
         CONFIG SET masteruser u
         CONFIG GET masteruser
         CONFIG SET masteruser \"\""]);
}

#[test]
fn the_slow_log_has_parameters() {
    check(&["CONFIG GET slowlog-log-slower-than
         CONFIG SET slowlog-log-slower-than -2
         CONFIG SET slowlog-log-slower-than x
         CONFIG SET slowlog-log-slower-than -1
         CONFIG GET slowlog-log-slower-than
         CONFIG SET slowlog-log-slower-than 10000
         CONFIG SET slowlog-max-len -1
         CONFIG SET slowlog-max-len 128
         CONFIG GET slowlog-max-len"]);
}

#[test]
fn errors_to_order() {
    check(&["DEBUG ERROR \"HELLO w\"
         DEBUG ERROR \"a\nb\rc\"
         DEBUG ERROR \"\"
         DEBUG ERROR
         DEBUG ERROR a b
         MULTI
         DEBUG ERROR \"FOO bar\"
         PING
         EXEC"]);
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
