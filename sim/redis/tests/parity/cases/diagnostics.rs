//! SLOWLOG, LATENCY, MEMORY: of a server that has nothing to report.

use super::check;

#[test]
fn nothing_to_report() {
    check(&[
        "SLOWLOG GET
         SLOWLOG GET 5
         SLOWLOG GET -1
         SLOWLOG GET -2
         SLOWLOG GET x
         SLOWLOG GET 1 2
         SLOWLOG LEN
         SLOWLOG LEN x
         SLOWLOG RESET
         SLOWLOG
         SLOWLOG NOPE",
        "LATENCY LATEST
         LATENCY HISTORY command
         LATENCY HISTORY
         LATENCY RESET
         LATENCY RESET a b
         LATENCY GRAPH command
         LATENCY DOCTOR
         LATENCY NOPE
         LATENCY",
        "MEMORY USAGE nope
         SET a 1
         MEMORY USAGE a
         SET a x
         MEMORY USAGE a
         SET a xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
         MEMORY USAGE a
         SET a xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
         MEMORY USAGE a
         SETRANGE large 1005 x
         MEMORY USAGE large
         SETRANGE larger 20000 x
         MEMORY USAGE larger
         SET a-key-of-more-than-thirty-one-characters x
         MEMORY USAGE a-key-of-more-than-thirty-one-characters
         RPUSH l a b c d e f g h
         MEMORY USAGE l
         HSET h f v g w
         MEMORY USAGE h
         SADD i 1 2 3
         MEMORY USAGE i
         SADD s a b
         MEMORY USAGE s
         ZADD z 1 a
         MEMORY USAGE z
         RPUSH numbers 127 128 -1 4095 -4096 32767 -8388608 8388608 2147483648 01
         MEMORY USAGE numbers
         SADD numbers-only 1 40000 -3
         MEMORY USAGE numbers-only
         SADD numbers-only 4000000000
         MEMORY USAGE numbers-only
         ZADD scored 1 a 200 b 2.5 c 1e20 d -inf e
         MEMORY USAGE scored
         MEMORY USAGE a SAMPLES 5
         MEMORY USAGE a SAMPLES x
         MEMORY USAGE a SAMPLES -1
         MEMORY USAGE a SAMPLES
         MEMORY USAGE a FOO
         MEMORY USAGE a FOO x
         MEMORY USAGE nope FOO
         MEMORY USAGE
         MEMORY PURGE
         MEMORY DOCTOR
         MEMORY NOPE",
    ]);
}
