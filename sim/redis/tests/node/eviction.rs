//! `maxmemory`: the memory that is counted, and which keys are evicted.

use std::collections::BTreeSet;

use locklab_redis::{ConnId, Effect, Node, NodeConfig};
use proptest::prelude::*;

struct Server {
    node: Node,
    conn: ConnId,
    now_us: u64,
}

impl Server {
    fn start() -> Self {
        let mut node = Node::new(NodeConfig::default());
        let conn = node.accept();
        Server {
            node,
            conn,
            now_us: 1_000_000_000_000,
        }
    }

    fn say(&mut self, line: &str) -> String {
        let mut effects = Vec::new();
        let line = format!("{line}\r\n");
        self.node
            .receive(self.conn, line.as_bytes(), self.now_us, &mut effects);
        let sent = effects.iter().filter_map(|effect| match effect {
            Effect::Send { bytes, .. } => Some(String::from_utf8_lossy(bytes).into_owned()),
            _ => None,
        });
        sent.collect()
    }

    fn pass(&mut self, seconds: u64) {
        self.now_us += seconds * 1_000_000;
    }

    fn info(&mut self, name: &str) -> u64 {
        let info = self.say("INFO");
        let line = info.lines().find_map(|line| line.strip_prefix(name));
        let number = line.and_then(|line| line.strip_prefix(':'));
        number.expect("INFO has it").parse().expect("a number")
    }

    /// Sets a limit that leaves this much memory for more keys.
    fn leave(&mut self, bytes: u64) {
        let limit = self.info("used_memory") + bytes;
        assert_eq!(
            self.say(&format!("CONFIG SET maxmemory {limit}")),
            "+OK\r\n"
        );
    }

    fn policy(&mut self, policy: &str) {
        let set = self.say(&format!("CONFIG SET maxmemory-policy {policy}"));
        assert_eq!(set, "+OK\r\n");
    }

    /// Writes keys of others, in turn, one a second.
    fn write_others(&mut self, count: u32) {
        for number in 0..count {
            self.pass(1);
            let set = format!("SET other:{number} {}", "x".repeat(1000));
            assert_eq!(self.say(&set), "+OK\r\n");
        }
    }

    fn has(&mut self, key: &str) -> bool {
        self.say(&format!("EXISTS {key}")) == ":1\r\n"
    }
}

/// Chance decides nothing then.
const ALL_ARE_CANDIDATES: &str = "CONFIG SET maxmemory-samples 1000";

#[test]
fn a_full_server_refuses_a_lock_until_there_is_room() {
    let mut server = Server::start();
    server.say(&format!("SET other {}", "x".repeat(1000)));
    server.leave(0);
    assert_eq!(server.say("SET lock me NX PX 1000"), "+OK\r\n");
    assert_eq!(
        server.say("SET second me NX PX 1000"),
        "-OOM command not allowed when used memory > 'maxmemory'.\r\n"
    );
    assert_eq!(server.say("DEL other"), ":1\r\n");
    assert_eq!(server.say("SET second me NX PX 1000"), "+OK\r\n");
    assert_eq!(server.info("evicted_keys"), 0);
}

/// The key of a lock that no client requests is as old as its acquisition.
#[test]
fn a_held_lock_is_evicted_once_it_is_the_least_recently_used() {
    for (policy, goes) in [
        ("allkeys-lru", true),
        ("volatile-lru", true),
        ("volatile-ttl", true),
        ("noeviction", false),
    ] {
        let mut server = Server::start();
        server.policy(policy);
        server.say(ALL_ARE_CANDIDATES);
        assert_eq!(server.say("SET lock me NX PX 600000"), "+OK\r\n");
        server.leave(20_000);
        if goes {
            server.write_others(19);
            assert!(!server.has("lock"), "{policy}");
            assert!(server.info("evicted_keys") >= 1);
        } else {
            server.write_others(18);
            assert!(server.has("lock"), "{policy}");
        }
    }
}

/// Each attempt to take a lock is an access of its key, even if it fails.
#[test]
fn clients_that_poll_for_a_lock_keep_it_from_being_evicted() {
    let mut server = Server::start();
    server.policy("allkeys-lru");
    server.say(ALL_ARE_CANDIDATES);
    server.say("SET lock me NX PX 600000");
    server.leave(20_000);
    for _ in 0..100 {
        server.write_others(1);
        assert_eq!(server.say("SET lock you NX PX 600000"), "$-1\r\n");
        let filler = format!("SET filler:{} {}", server.now_us, "x".repeat(1000));
        assert_eq!(server.say(&filler), "+OK\r\n");
    }
    assert_eq!(server.say("GET lock"), "$2\r\nme\r\n");
    assert!(server.info("evicted_keys") > 50);
}

/// The best of a few drawn keys is evicted, so a young lock may be evicted before older keys.
#[test]
fn seed_decides_which_keys_are_evicted() {
    let outcome = |seed| {
        let mut server = Server::start();
        server.node = Node::new(NodeConfig {
            run_id_seed: seed,
            ..NodeConfig::default()
        });
        server.conn = server.node.accept();
        server.policy("allkeys-lru");
        server.write_others(300);
        server.leave(0);
        server.write_others(350);
        (0..300)
            .filter(|number| !server.has(&format!("other:{number}")))
            .collect::<BTreeSet<u32>>()
    };
    let first = outcome(1);
    assert_eq!(first, outcome(1));
    assert_ne!(first, outcome(2));
}

#[test]
fn evicted_key_is_deleted_from_replicas_and_files() {
    let mut server = Server::start();
    let replica = server.node.accept();
    server.say("CONFIG SET repl-diskless-sync-delay 0");
    let mut effects = Vec::new();
    let now_us = server.now_us;
    server
        .node
        .receive(replica, b"PSYNC ? -1\r\n", now_us, &mut effects);
    server.policy("allkeys-lru");
    server.say("SET lock me");
    server.leave(0);
    server.say("SET other 1");
    let mut effects = Vec::new();
    let now_us = server.now_us;
    server
        .node
        .receive(server.conn, b"SET another 1\r\n", now_us, &mut effects);
    let stream: Vec<u8> = effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Send { conn, bytes } if *conn == replica => Some(&bytes[..]),
            _ => None,
        })
        .collect::<Vec<_>>()
        .concat();
    let stream = String::from_utf8_lossy(&stream);
    let deleted = stream.find("DEL\r\n$4\r\nlock").expect("the eviction");
    assert!(
        deleted < stream.find("another").expect("the write"),
        "{stream}"
    );
}

/// Commands that change the memory of keys in all ways.
fn any_command() -> impl Strategy<Value = String> {
    let key = (0..4_u32).prop_map(|key| format!("k{key}"));
    let text = (1..300_usize).prop_map(|len| "x".repeat(len));
    let form = prop_oneof![
        Just("SET {k} {t}"),
        Just("SET {k} {t} PX 5000"),
        Just("DEL {k}"),
        Just("EXPIRE {k} 5"),
        Just("PERSIST {k}"),
        Just("RPUSH l{k} {t} {t}"),
        Just("LPOP l{k}"),
        Just("HSET h{k} {t} {t}"),
        Just("HDEL h{k} {t}"),
        Just("SREM s{k} {t}"),
        Just("LMOVE l{k} lk0 LEFT RIGHT"),
        Just("SADD s{k} {t} 1 2"),
        Just("ZADD z{k} 1 {t} 2 a"),
        Just("ZREMRANGEBYRANK z{k} 0 0"),
        Just("FLUSHDB"),
        Just("SELECT 1"),
        Just("SELECT 0"),
        Just("GETDEL {k}"),
    ];
    (form, key, text).prop_map(|(form, key, text)| form.replace("{k}", &key).replace("{t}", &text))
}

proptest! {
    /// Memory that is counted with each change is what a measurement of all keys finds.
    #[test]
    fn counted_memory_is_measured_memory(commands in prop::collection::vec(any_command(), 1..60)) {
        let mut server = Server::start();
        server.say("CONFIG SET maxmemory 1gb");
        for command in commands {
            server.say(&command);
            server.pass(1);
        }
        let counted = server.info("used_memory");
        server.say("CONFIG SET maxmemory 0");
        prop_assert_eq!(counted, server.info("used_memory"));
    }
}
