//! A writable replica deletes the expired keys that its own clients have set; those of its master
//! it only hides, until a client writes to them.

use crate::replication_state::{Fake, Pair, Real, Told};
use crate::versions;

/// Some keys that expire: `own` by a client of the replica, `over` by one of its master. The cycle
/// of a server has run by the end of a step.
fn story(pair: &mut impl Pair) -> Vec<String> {
    let mut told = Told::default();
    pair.follow(1);
    pair.until(1, "master_link_status:up");
    pair.say(0, "DEBUG SET-ACTIVE-EXPIRE 0");
    pair.say(1, "DEBUG SET-ACTIVE-EXPIRE 1");
    pair.say(
        1,
        "CONFIG SET replica-read-only no notify-keyspace-events KEA",
    );
    for (server, line) in [
        (0, "SET over 1 PX 1"),
        (0, "SET again 1 PX 1"),
        (0, "SET shared 1 PX 100000"),
        (0, "SET longer 1"),
        (0, "WAIT 1 5000"),
        (1, "SET own 1 PX 1"),
        (1, "SET own2 1"),
        (1, "PEXPIRE own2 1"),
        (1, "EVAL \"redis.call('set', 'own3', 1, 'px', 1)\" 0"),
        (1, "PEXPIRE shared 1"),
        (1, "SET kept 1 PX 1"),
        (1, "SET kept 2"),
        // Long enough for the next request to come before its end.
        (1, "PEXPIRE longer 200"),
        (1, "PEXPIRE longer 100000"),
        (1, "SELECT 3"),
        (1, "SET own 1 PX 1"),
        (1, "SELECT 0"),
    ] {
        pair.say(server, line);
    }
    for _ in 0..8 {
        pair.pass();
    }
    let seen = [
        (1, "DBSIZE"),
        (1, "GET own"),
        (1, "GET shared"),
        (1, "GET over"),
        (1, "DBSIZE"),
        (1, "INCR over"),
        (1, "DBSIZE"),
        (1, "EVAL \"return redis.call('set', 'again', 1, 'nx')\" 0"),
        (1, "PTTL again"),
        (1, "PEXPIRE kept -5"),
        (1, "EXISTS kept"),
        (1, "DBSIZE"),
    ];
    told.say(pair, "expired keys", &seen);
    for _ in 0..8 {
        pair.pass();
    }
    told.say(pair, "after another cycle", &[(1, "DBSIZE")]);
    pair.say(0, "FLUSHALL");
    pair.say(0, "WAIT 1 5000");
    told.say(pair, "without any key", &[(1, "DBSIZE")]);
    told.steps
}

#[test]
fn writable_replica_deletes_the_expired_keys_of_its_clients() {
    if versions::skips_test() {
        return;
    }
    let real = story(&mut Real::start());
    let fake = story(&mut Fake::start());
    assert_eq!(fake, real);
}
