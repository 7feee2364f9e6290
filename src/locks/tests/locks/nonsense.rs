//! A node sends an invalid reply to a command. This is an error of the command, which may
//! have been executed; it is neither "no" nor 0.

use std::time::Duration;

use locklab_env::Env;
use locklab_env::redis::{Client, Error};
use locklab_history::{Name, Outcome};
use locklab_locks::{CATALOGUE, Grant, LockError, Mode, Owner, redlock_fenced};
use locklab_runner::workload::resource::{self, AccessError, Credentials};

use crate::stage::{attempt, attempt_in, lock, on_answers};

/// The operation on the lock.
#[derive(Debug, Clone, Copy)]
enum Ask {
    Attempt,
    Extend,
    Release,
    IsHeld,
}
use Ask::{Attempt, Extend, IsHeld, Release};

/// The replies to commands.
type Answers = &'static [(&'static str, &'static str)];

/// Replies that are invalid for every command.
const NONSENSE: [&str; 2] = ["+WHAT\r\n", "*1\r\n*1\r\n+WHAT\r\n"];

/// Its token is `t`.
const HELD: &str = "$1\r\nt\r\n";
const NIL: &str = "$-1\r\n";
const OK: &str = "+OK\r\n";
const NO: &str = ":0\r\n";
const YES: &str = ":1\r\n";

/// A grant of any of these locks.
fn grant() -> Grant {
    Grant {
        owner: Owner::ONLY,
        token: "t".into(),
        deadline: None,
        fencing_token: Some(1),
    }
}

/// Checks that with these answers, and nonsense to all other commands, `ask` fails because of the
/// command `blamed`.
#[track_caller]
fn check(parameters: &'static str, ask: Ask, answers: Answers, blamed: &'static str) {
    for nonsense in NONSENSE {
        on_answers(answers, nonsense, move |env, nodes| async move {
            let lock = lock(&env, &nodes, parameters);
            let failed = match ask {
                Attempt => attempt(&lock).await.map(drop),
                Extend => lock.extend(&grant()).await.map(drop),
                Release => lock.release(&grant()).await.map(drop),
                IsHeld => lock.is_held(&grant()).await.map(drop),
            };
            let Err(LockError::Unknown(error)) = failed else {
                panic!("{parameters}, {ask:?}: {failed:?}");
            };
            assert_unexpected(&error, "n1", blamed);
        });
    }
}

#[track_caller]
fn assert_unexpected(error: &Error, by: &str, blamed: &str) {
    let text = error.to_string();
    let expected = format!("{by} answered {blamed} with ");
    assert!(text.starts_with(&expected), "{expected}…, but {text}");
    assert_eq!(error.outcome(), Outcome::Unknown);
}

/// The tests below check the command that the error names.
#[test]
fn of_every_lock_in_every_form() {
    for entry in CATALOGUE {
        let named = |(_, parameters): &(_, &str)| {
            let parameters = parameters.replace("LEASE", "1000");
            format!("name = \"{}\"\n{parameters}", entry.name)
        };
        let each = |parameters| NONSENSE.map(|nonsense| (parameters, nonsense));
        let forms: Vec<String> = entry.forms.iter().map(named).collect();
        for (parameters, nonsense) in forms.iter().flat_map(each) {
            let parameters = parameters.clone();
            on_answers(&[], nonsense, move |env, nodes| {
                let parameters = parameters.clone();
                async move {
                    let lock = lock(&env, &nodes, &parameters);
                    let patience = Some(Duration::from_secs(1));
                    let failed = attempt_in(&lock, Owner::ONLY, patience, Mode::Exclusive).await;
                    let Err(LockError::Unknown(_) | LockError::NotAcquired { .. }) = failed else {
                        panic!("{parameters}: {failed:?}");
                    };
                }
            });
        }
    }
}

#[test]
fn of_the_locks_on_one_node() {
    const SETNX: &str = "name = \"setnx\"";
    check(SETNX, Attempt, &[], "SETNX");
    check(SETNX, Release, &[], "DEL");
    check(SETNX, IsHeld, &[], "GET");
    let expire = "name = \"setnx-expire\"\nttl_ms = 1000";
    check(expire, Attempt, &[("SETNX", YES)], "PEXPIRE");
    let repair = "name = \"setnx-expire-repair\"\nttl_ms = 1000";
    check(repair, Attempt, &[("SETNX", NO)], "PTTL");
    let lua = "name = \"setnx-expire-lua\"\nttl_ms = 1000";
    check(lua, Attempt, &[], "EVALSHA");
    check(lua, Extend, &[], "EVALSHA");
    const SET: &str = "name = \"set-nx-px\"\nttl_ms = 1000";
    check(SET, Attempt, &[], "SET");
    let token = "name = \"set-nx-px\"\nttl_ms = 1000\nfencing_token = true";
    check(token, Attempt, &[], "EVALSHA");
    let replica = "name = \"set-nx-px\"\nttl_ms = 1000\nwait_replicas = 1";
    check(replica, Attempt, &[("SET", OK)], "WAIT");
}

#[test]
fn of_each_way_to_release() {
    const DEL: &str = "name = \"set-nx-px\"\nttl_ms = 1000\nrelease = \"del\"";
    check(DEL, Release, &[], "DEL");
    const GET_DEL: &str = "name = \"set-nx-px\"\nttl_ms = 1000\nrelease = \"get-del\"";
    check(GET_DEL, Release, &[], "GET");
    check(GET_DEL, Release, &[("GET", HELD)], "DEL");
    const COMPARE: &str = "name = \"set-nx-px\"\nttl_ms = 1000\nrelease = \"compare-del\"";
    check(COMPARE, Release, &[], "EVALSHA");
    const WATCH: &str = "name = \"set-nx-px\"\nttl_ms = 1000\nrelease = \"watch-del\"";
    const STEPS: Answers = &[
        ("WATCH", OK),
        ("GET", HELD),
        ("MULTI", OK),
        ("DEL", "+QUEUED\r\n"),
    ];
    check(WATCH, Release, &[], "WATCH");
    check(WATCH, Release, &STEPS[..1], "GET");
    check(WATCH, Release, &STEPS[..2], "MULTI");
    check(WATCH, Release, &STEPS[..3], "DEL");
    check(WATCH, Release, STEPS, "EXEC");
    check(WATCH, Release, &[("WATCH", OK), ("GET", NIL)], "UNWATCH");
}

#[test]
fn of_the_locks_with_a_time_as_value() {
    const GETSET: &str = "name = \"getset\"\nttl_ms = 1000";
    const PAST: Answers = &[("SETNX", NO), ("GET", "$1\r\n1\r\n")];
    check(GETSET, Attempt, &[("SETNX", NO)], "GET");
    check(GETSET, Attempt, PAST, "GETSET");
    let del = "name = \"getset\"\nttl_ms = 1000\ntakeover = \"del-setnx\"";
    check(del, Attempt, PAST, "DEL");
    const LISTED: &str = "name = \"getset-as-listed\"";
    check(LISTED, Attempt, &[("SETNX", NO)], "GETSET");
    check(LISTED, Extend, &[], "SET");
}

#[test]
fn of_the_baselines() {
    const UNIQUE: &str = "name = \"database-unique\"";
    check(UNIQUE, Attempt, &[], "INSERT");
    check(UNIQUE, Release, &[], "DELETE");
    check(UNIQUE, IsHeld, &[], "SELECT");
    const CAS: &str = "name = \"database-cas\"\nttl_ms = 1000";
    const ROW: &str = "*4\r\n$1\r\n-\r\n:1\r\n:0\r\n:5\r\n";
    const NEGATIVE: &str = "*4\r\n$1\r\n-\r\n:-1\r\n:0\r\n:5\r\n";
    check(CAS, Attempt, &[], "SELECT");
    check(CAS, Attempt, &[("SELECT", NIL)], "NOW");
    check(
        CAS,
        Attempt,
        &[("SELECT", NIL), ("NOW", ":5\r\n")],
        "INSERT",
    );
    check(CAS, Attempt, &[("SELECT", ROW)], "UPDATE");
    check(CAS, Attempt, &[("SELECT", NEGATIVE)], "SELECT");
    check(CAS, Extend, &[], "NOW");
    check(CAS, Release, &[], "UPDATE");
    const CONSENSUS: &str = "name = \"consensus\"\nsession_ms = 1000";
    const CREATED: Answers = &[
        ("SESSION", YES),
        ("CREATE", "*2\r\n$7\r\n/lock/c\r\n:1\r\n"),
    ];
    check(CONSENSUS, Attempt, &[], "SESSION");
    check(CONSENSUS, Attempt, &CREATED[..1], "CREATE");
    check(CONSENSUS, Attempt, CREATED, "CHILDREN");
    check(CONSENSUS, IsHeld, &CREATED[..1], "CHILDREN");
}

/// Without an answer to its pings a client does not know that its session lives.
#[test]
fn of_a_ping() {
    const ANSWERS: Answers = &[
        ("SESSION", YES),
        ("CREATE", "*2\r\n$7\r\n/lock/c\r\n:1\r\n"),
        ("CHILDREN", "*2\r\n$7\r\n/lock/c\r\n:1\r\n"),
        ("DELETE", YES),
    ];
    on_answers(ANSWERS, NONSENSE[0], async |env, nodes| {
        let lock = lock(&env, &nodes, "name = \"consensus\"\nsession_ms = 300");
        let grant = attempt(&lock).await.expect("it is the lowest");
        env.sleep(Duration::from_millis(200)).await;
        let lost = lock.release(&grant).await;
        assert!(matches!(lost, Err(LockError::Lost(_))), "{lost:?}");
    });
}

#[test]
fn of_redissons_locks() {
    const PLAIN: &str = "name = \"redisson\"\nlease_ms = 1000";
    for parameters in [
        PLAIN,
        "name = \"redisson-fenced\"\nlease_ms = 1000",
        "name = \"redisson-fair\"\nlease_ms = 1000",
        "name = \"redisson-read-write\"\nlease_ms = 1000",
    ] {
        check(parameters, Attempt, &[], "EVALSHA");
        check(parameters, Release, &[], "EVALSHA");
        check(parameters, Extend, &[], "EVALSHA");
        check(parameters, IsHeld, &[], "HEXISTS");
    }
    check(PLAIN, Release, &[("EVALSHA", ":-7\r\n")], "EVALSHA");
    let multi = "name = \"redisson-multi\"\nlease_ms = 1000";
    check(multi, Release, &[], "EVALSHA");
    const REPLICAS: &str = "name = \"redisson\"\nlease_ms = 1000\ncheck_replicas = true";
    const INFO: (&str, &str) = ("INFO", "$18\r\nconnected_slaves:1\r\n");
    check(REPLICAS, Attempt, &[], "INFO");
    check(REPLICAS, Attempt, &[("INFO", HELD)], "INFO");
    check(REPLICAS, Attempt, &[INFO, ("EVALSHA", NIL)], "WAIT");
    let fenced = "name = \"redisson-fenced\"\nlease_ms = 1000";
    check(
        fenced,
        Attempt,
        &[("EVALSHA", "*2\r\n:5\r\n:5\r\n")],
        "EVALSHA",
    );
}

/// A lock on many nodes treats a node with invalid replies as one that did not grant.
#[test]
fn of_the_locks_on_many_nodes() {
    const REDLOCK: &str = "name = \"redlock\"\nttl_ms = 1000";
    check(REDLOCK, Release, &[], "EVALSHA");
    check(REDLOCK, IsHeld, &[], "GET");
    for parameters in [
        REDLOCK,
        "name = \"redlock-fenced\"\nttl_ms = 1000",
        "name = \"redisson-redlock\"\nlease_ms = 1000",
        "name = \"redisson-multi\"\nlease_ms = 1000",
    ] {
        on_answers(&[], NONSENSE[0], move |env, nodes| async move {
            let lock = lock(&env, &nodes, parameters);
            let patience = Some(Duration::from_secs(1));
            let failed = attempt_in(&lock, Owner::ONLY, patience, Mode::Exclusive).await;
            let Err(LockError::NotAcquired { .. }) = failed else {
                panic!("{parameters}: {failed:?}");
            };
        });
    }
    // The node grants the lock, but does not count.
    on_answers(&[("SET", OK)], NONSENSE[0], async |env, nodes| {
        let parameters = "name = \"redlock-fenced\"\nttl_ms = 1000\ncounter = \"majority\"";
        let failed = attempt(&lock(&env, &nodes, parameters)).await;
        let error = failed.expect_err("no number came").to_string();
        assert!(error.contains("0 of 1 nodes counted"), "{error}");
    });
}

#[test]
fn of_the_resource() {
    for nonsense in [NONSENSE[0], NONSENSE[1], ":-7\r\n"] {
        on_answers(&[], nonsense, async |env, nodes: Vec<Name>| {
            let client = Client::new(env, nodes[0].clone(), None);
            let token = redlock_fenced::token(&client).await;
            assert_unexpected(&token.expect_err("no number came"), "n1", "TOKEN");
            let credentials = Credentials {
                client: "c1".into(),
                grant: 1,
                token: None,
            };
            let read = resource::read(&client, &credentials).await;
            let written = resource::write(&client, &credentials, 1).await;
            for (accessed, command) in [(read, "READ"), (written, "WRITE")] {
                match accessed {
                    Err(AccessError::Failed(error)) => assert_unexpected(&error, "n1", command),
                    other => panic!("{command}: {other:?}"),
                }
            }
        });
    }
}
