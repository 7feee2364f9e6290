//! Nodes that replicate each other, connected by a test that carries their bytes: no network,
//! and only the time that the test sets.

use std::collections::BTreeMap;

use locklab_redis::{ConnId, Effect, Node, NodeConfig};

/// Some nodes, each found by its name.
struct Cluster {
    nodes: BTreeMap<String, Node>,
    /// A client of each.
    clients: BTreeMap<String, ConnId>,
    /// The other end of each connection between nodes.
    wires: BTreeMap<(String, ConnId), (String, ConnId)>,
    /// The output that clients have received and not read yet.
    heard: BTreeMap<String, String>,
    now_ms: u64,
    /// Unreachable nodes.
    cut_off: Vec<String>,
}

impl Cluster {
    /// A master `n1` and its synchronised replicas `n2`, …
    fn of(count: u64) -> Self {
        let mut cluster = Cluster {
            nodes: BTreeMap::new(),
            clients: BTreeMap::new(),
            wires: BTreeMap::new(),
            heard: BTreeMap::new(),
            now_ms: 1_000_000,
            cut_off: Vec::new(),
        };
        for index in 1..=count {
            let name = format!("n{index}");
            let mut node = Node::new(NodeConfig {
                run_id_seed: index,
                ..NodeConfig::default()
            });
            let mut set = |parameter, value| {
                let done = node.configure(parameter, value);
                done.expect("the parameter exists");
            };
            set("repl-diskless-sync-delay", "0");
            set("replica-announce-ip", &name);
            if index > 1 {
                set("replicaof", "n1 6379");
            }
            let client = node.accept();
            cluster.clients.insert(name.clone(), client);
            cluster.nodes.insert(name, node);
        }
        cluster.sleep(1);
        cluster
    }

    /// Sends a line to a node and returns the output that its client then receives; replies
    /// between nodes arrive immediately.
    fn say(&mut self, node: &str, line: &str) -> String {
        let conn = self.clients[node];
        let bytes = format!("{line}\r\n");
        self.deliver(node.to_owned(), conn, bytes.as_bytes());
        self.heard.remove(node).unwrap_or_default()
    }

    /// The output that the client of a node received without a request.
    fn hear(&mut self, node: &str) -> String {
        self.heard.remove(node).unwrap_or_default()
    }

    /// Advances the time, and lets nodes do what is due.
    fn sleep(&mut self, ms: u64) {
        let end_ms = self.now_ms + ms;
        while self.now_ms < end_ms {
            self.now_ms += 1;
            for name in self.nodes.keys().cloned().collect::<Vec<_>>() {
                let due = |node: &Node| node.next_wake_us();
                while due(&self.nodes[&name]).is_some_and(|us| us <= self.now_ms * 1000) {
                    let now_us = self.now_ms * 1000;
                    let mut effects = Vec::new();
                    let node = self.nodes.get_mut(&name).expect("it is one of them");
                    node.wake(now_us, &mut effects);
                    self.carry_out(&name, effects);
                }
            }
        }
    }

    fn deliver(&mut self, to: String, conn: ConnId, bytes: &[u8]) {
        let now_us = self.now_ms * 1000;
        let node = self.nodes.get_mut(&to).expect("it is one of them");
        let mut effects = Vec::new();
        node.receive(conn, bytes, now_us, &mut effects);
        self.carry_out(&to, effects);
    }

    fn carry_out(&mut self, name: &str, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Send { conn, bytes } if self.clients[name] == conn => {
                    let heard = self.heard.entry(name.to_owned()).or_default();
                    heard.push_str(&String::from_utf8_lossy(&bytes));
                }
                Effect::Send { conn, bytes } => {
                    let from = (name.to_owned(), conn);
                    if let Some((to, end)) = self.wires.get(&from).cloned()
                        && !self.is_cut(name, &to)
                    {
                        self.deliver(to, end, &bytes);
                    }
                }
                Effect::Close { conn } => self.close(name, conn),
                Effect::Connect { conn, host, .. } => self.connect(name, conn, host),
                Effect::Disk(_) | Effect::Exit => {}
            }
        }
    }

    fn connect(&mut self, from: &str, conn: ConnId, to: String) {
        let mut effects = Vec::new();
        let now_us = self.now_ms * 1000;
        if self.is_cut(from, &to) || !self.nodes.contains_key(&to) {
            let node = self.nodes.get_mut(from).expect("it is one of them");
            return node.closed(conn);
        }
        let master = self.nodes.get_mut(&to).expect("it is one of them");
        let end = master.accept();
        let (here, there) = ((from.to_owned(), conn), (to, end));
        self.wires.insert(here.clone(), there.clone());
        self.wires.insert(there, here);
        let node = self.nodes.get_mut(from).expect("it is one of them");
        node.connected(conn, now_us, &mut effects);
        self.carry_out(from, effects);
    }

    fn close(&mut self, name: &str, conn: ConnId) {
        if let Some((to, end)) = self.wires.remove(&(name.to_owned(), conn)) {
            self.wires.remove(&(to.clone(), end));
            let peer = self.nodes.get_mut(&to).expect("it is one of them");
            peer.closed(end);
        }
    }

    fn is_cut(&self, one: &str, other: &str) -> bool {
        self.cut_off.iter().any(|name| name == one || name == other)
    }

    fn info(&mut self, node: &str, field: &str) -> String {
        let text = self.say(node, "INFO replication");
        let prefix = format!("{field}:");
        let found = text.lines().find_map(|line| line.strip_prefix(&prefix));
        found.unwrap_or_default().to_owned()
    }
}

#[test]
fn replica_has_the_data_and_the_offset_of_its_master() {
    let mut cluster = Cluster::of(2);
    for line in [
        "SET lock token NX PX 1000",
        "HINCRBY h f 1",
        "RPUSH l a b",
        "EVAL \"redis.call('incr','n'); redis.call('sadd','s','x'); return 1\" 0",
    ] {
        cluster.say("n1", line);
    }
    assert_eq!(cluster.say("n2", "GET lock"), "$5\r\ntoken\r\n");
    assert_eq!(cluster.say("n2", "HGET h f"), "$1\r\n1\r\n");
    assert_eq!(cluster.say("n2", "LLEN l"), ":2\r\n");
    assert_eq!(cluster.say("n2", "SISMEMBER s x"), ":1\r\n");
    assert_eq!(cluster.say("n2", "PTTL lock"), ":1000\r\n");
    let offset = cluster.info("n1", "master_repl_offset");
    assert_eq!(cluster.info("n2", "master_repl_offset"), offset);
    let refused = "-READONLY You can't write against a read only replica.\r\n";
    assert_eq!(cluster.say("n2", "SET k v"), refused);
    assert_eq!(cluster.info("n2", "master_link_status"), "up");
    let replica = cluster.info("n1", "slave0");
    assert!(
        replica.starts_with("ip=n2,port=6379,state=online,"),
        "{replica}"
    );
}

#[test]
fn snapshot_contains_earlier_data() {
    let mut cluster = Cluster::of(2);
    cluster.say("n2", "REPLICAOF NO ONE");
    cluster.say("n1", "SET k v");
    cluster.say("n1", "ZADD z 1.5 m");
    cluster.say("n2", "SET other v");
    cluster.say("n2", "SELECT 3");
    cluster.say("n2", "SET third v");
    cluster.say("n2", "SELECT 0");
    assert_eq!(cluster.say("n2", "REPLICAOF n1 6379"), "+OK\r\n");
    assert_eq!(cluster.say("n2", "GET k"), "$1\r\nv\r\n");
    assert_eq!(cluster.say("n2", "ZSCORE z m"), "$3\r\n1.5\r\n");
    assert_eq!(cluster.say("n2", "GET other"), "$-1\r\n");
    assert_eq!(cluster.say("n2", "SELECT 3"), "+OK\r\n");
    assert_eq!(cluster.say("n2", "DBSIZE"), ":0\r\n");
}

#[test]
fn replica_hides_expired_key_until_its_master_deletes_it() {
    let mut cluster = Cluster::of(2);
    cluster.say("n1", "DEBUG SET-ACTIVE-EXPIRE 0");
    cluster.say("n1", "SET k v PX 100");
    cluster.sleep(101);
    assert_eq!(cluster.say("n2", "GET k"), "$-1\r\n");
    assert_eq!(cluster.say("n2", "PTTL k"), ":-2\r\n");
    assert_eq!(cluster.say("n2", "DBSIZE"), ":1\r\n");
    assert_eq!(cluster.say("n1", "GET k"), "$-1\r\n");
    assert_eq!(cluster.say("n2", "DBSIZE"), ":0\r\n");
}

#[test]
fn wait_counts_the_replicas_that_have_it() {
    let mut cluster = Cluster::of(3);
    cluster.say("n1", "SET k v");
    assert_eq!(cluster.say("n1", "WAIT 2 0"), ":2\r\n");
    cluster.cut_off.push("n3".to_owned());
    cluster.say("n1", "SET k w");
    assert_eq!(cluster.say("n1", "WAIT 2 100"), "");
    cluster.sleep(250);
    assert_eq!(cluster.hear("n1"), ":1\r\n");
}

#[test]
fn a_master_that_hears_of_too_few_replicas_does_not_write() {
    let mut cluster = Cluster::of(2);
    cluster.say(
        "n1",
        "CONFIG SET min-replicas-to-write 1 min-replicas-max-lag 2",
    );
    cluster.sleep(1500);
    assert_eq!(cluster.say("n1", "SET k v"), "+OK\r\n");
    cluster.cut_off.push("n2".to_owned());
    cluster.sleep(4000);
    let refused = "-NOREPLICAS Not enough good replicas to write.\r\n";
    assert_eq!(cluster.say("n1", "SET k w"), refused);
    assert_eq!(cluster.say("n1", "GET k"), "$1\r\nv\r\n");
}

#[test]
fn reconnected_replica_resumes_at_its_offset() {
    let mut cluster = Cluster::of(2);
    cluster.say("n1", "SET k 1");
    let id = cluster.info("n2", "master_replid");
    cluster.say("n1", "CLIENT KILL TYPE replica");
    cluster.say("n1", "SET k 2");
    // With no data lost, no data is loaded: keys that only the replica has remain.
    cluster.sleep(1);
    assert_eq!(cluster.say("n2", "GET k"), "$1\r\n2\r\n");
    assert_eq!(cluster.info("n2", "master_replid"), id);
    assert_eq!(
        cluster.info("n2", "master_repl_offset"),
        cluster.info("n1", "master_repl_offset")
    );
}

#[test]
fn replicas_continue_in_the_selected_database_of_the_stream() {
    let mut cluster = Cluster::of(3);
    cluster.say("n1", "SELECT 5");
    cluster.say("n1", "SET k 1");
    // Takes a snapshot in the middle of the stream that n2 passes on.
    cluster.say("n3", "REPLICAOF n2 6379");
    cluster.sleep(1);
    cluster.say("n1", "SET k 2");
    // A lost link, and a stream without another SELECT.
    cluster.say("n1", "CLIENT KILL TYPE replica");
    cluster.sleep(1);
    cluster.say("n1", "SET j 3");
    for node in ["n2", "n3"] {
        assert_eq!(cluster.say(node, "DBSIZE"), ":0\r\n");
        cluster.say(node, "SELECT 5");
        assert_eq!(
            cluster.say(node, "MGET k j"),
            "*2\r\n$1\r\n2\r\n$1\r\n3\r\n"
        );
    }
    let role = cluster.info("n3", "master_host");
    assert_eq!(role, "n2");
    // The new master's stream begins with SELECT, wherever the old one was.
    cluster.say("n2", "REPLICAOF NO ONE");
    cluster.say("n1", "REPLICAOF n2 6379");
    cluster.sleep(1);
    cluster.say("n2", "SELECT 6");
    cluster.say("n2", "SET k 6");
    for node in ["n1", "n3"] {
        cluster.say(node, "SELECT 6");
        assert_eq!(cluster.say(node, "GET k"), "$1\r\n6\r\n", "{node}");
    }
    assert_eq!(
        cluster.info("n2", "master_replid"),
        cluster.info("n3", "master_replid")
    );
}

#[test]
fn a_master_deletes_expired_keys_of_all_databases_on_its_replicas() {
    let mut cluster = Cluster::of(2);
    for db in [0, 2, 5] {
        cluster.say("n1", &format!("SELECT {db}"));
        cluster.say("n1", "SET k v PX 100");
        cluster.say("n1", "SET stays v");
    }
    cluster.sleep(300);
    for db in [0, 2, 5] {
        cluster.say("n2", &format!("SELECT {db}"));
        assert_eq!(cluster.say("n2", "DBSIZE"), ":1\r\n", "database {db}");
    }
}

#[test]
fn failover_continues_in_the_selected_database_of_the_stream() {
    let mut cluster = Cluster::of(2);
    cluster.say("n1", "SELECT 5");
    cluster.say("n1", "SET k 1");
    cluster.say("n1", "FAILOVER");
    cluster.sleep(2000);
    cluster.say("n2", "SELECT 5");
    assert_eq!(cluster.say("n2", "INCR k"), ":2\r\n");
    assert_eq!(cluster.say("n1", "GET k"), "$1\r\n2\r\n");
}

#[test]
fn old_master_loses_its_unreplicated_writes_after_a_failover() {
    let mut cluster = Cluster::of(3);
    cluster.say("n1", "SET k 1");
    cluster.cut_off.push("n1".to_owned());
    cluster.say("n1", "SET k lost");
    cluster.say("n2", "REPLICAOF NO ONE");
    assert_eq!(cluster.say("n2", "SET k 2"), "+OK\r\n");
    // The other replica had the same offset as the new master: it continues.
    cluster.say("n3", "REPLICAOF n2 6379");
    cluster.sleep(1);
    assert_eq!(cluster.say("n3", "GET k"), "$1\r\n2\r\n");
    cluster.cut_off.clear();
    cluster.say("n1", "REPLICAOF n2 6379");
    cluster.sleep(1);
    assert_eq!(cluster.say("n1", "GET k"), "$1\r\n2\r\n");
    let role = cluster.say("n1", "ROLE");
    assert!(
        role.contains("slave") && role.contains("connected"),
        "{role}"
    );
}

#[test]
fn blocked_clients_are_released_when_the_node_becomes_a_replica() {
    let mut cluster = Cluster::of(2);
    cluster.say("n2", "REPLICAOF NO ONE");
    assert_eq!(cluster.say("n2", "BLPOP l 0"), "");
    let other = {
        let node = cluster.nodes.get_mut("n2").expect("it is one of them");
        node.accept()
    };
    cluster.deliver("n2".to_owned(), other, b"REPLICAOF n1 6379\r\n");
    let told = "-UNBLOCKED force unblock from blocking operation, instance state changed \
                (master -> replica?)\r\n";
    assert_eq!(cluster.hear("n2"), told);
}

#[test]
fn messages_reach_the_subscribers_of_replicas() {
    let mut cluster = Cluster::of(2);
    cluster.say("n2", "SUBSCRIBE a");
    cluster.say("n1", "PUBLISH a x");
    let message = "*3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\nx\r\n";
    assert_eq!(cluster.hear("n2"), message);
}

#[test]
fn waitaof_counts_replicas_whose_files_are_synced() {
    let mut cluster = Cluster::of(4);
    cluster.say("n2", "CONFIG SET appendonly yes appendfsync always");
    cluster.say("n3", "CONFIG SET appendonly yes appendfsync everysec");
    cluster.sleep(2000);
    cluster.say("n1", "SET before v");
    cluster.say("n1", "SET k v");
    assert_eq!(cluster.say("n1", "WAIT 3 0"), ":3\r\n");
    assert_eq!(cluster.say("n1", "WAITAOF 0 1 0"), "*2\r\n:0\r\n:1\r\n");
    // It is in the other's file within a second, and acknowledged at most a second later.
    assert_eq!(cluster.say("n1", "WAITAOF 0 2 0"), "");
    cluster.sleep(2200);
    assert_eq!(cluster.hear("n1"), "*2\r\n:0\r\n:2\r\n");
    // The third one has no file.
    assert_eq!(cluster.say("n1", "WAITAOF 0 3 100"), "");
    cluster.sleep(250);
    assert_eq!(cluster.hear("n1"), "*2\r\n:0\r\n:2\r\n");

    cluster.say("n1", "CONFIG SET appendonly yes appendfsync always");
    assert_eq!(cluster.say("n1", "SET k w"), "+OK\r\n");
    assert_eq!(cluster.say("n1", "WAITAOF 1 1 0"), "*2\r\n:1\r\n:1\r\n");
    let refused = "-ERR WAITAOF cannot be used with replica instances. Please also note that \
                   writes to replicas are just local and are not propagated.\r\n";
    assert_eq!(cluster.say("n2", "WAITAOF 1 0 0"), refused);
}

#[test]
fn waitaof_does_not_count_unsynced_files() {
    let mut cluster = Cluster::of(2);
    cluster.say("n2", "CONFIG SET appendonly yes appendfsync no");
    cluster.sleep(2000);
    cluster.say("n1", "SET k v");
    assert_eq!(cluster.say("n1", "WAITAOF 0 1 3000"), "");
    cluster.sleep(3200);
    assert_eq!(cluster.hear("n1"), "*2\r\n:0\r\n:0\r\n");
}

#[test]
fn pause_defers_commands_that_would_extend_the_stream() {
    let mut cluster = Cluster::of(2);
    cluster.say("n1", "SET k v PX 100");
    cluster.sleep(50);
    cluster.say("n1", "CLIENT PAUSE 1000 WRITE");
    let offset = cluster.info("n1", "master_repl_offset");
    cluster.sleep(200);
    assert_eq!(cluster.say("n1", "GET k"), "$-1\r\n");
    assert_eq!(cluster.say("n1", "DBSIZE"), ":1\r\n");
    assert_eq!(cluster.say("n1", "WAIT 2 50"), "");
    cluster.sleep(200);
    // The replica is not asked for its offset either, so it has not acknowledged.
    assert_eq!(cluster.hear("n1"), ":0\r\n");
    assert_eq!(cluster.info("n1", "master_repl_offset"), offset);
    cluster.sleep(1000);
    assert_eq!(cluster.say("n1", "DBSIZE"), ":0\r\n");
}

#[test]
fn failover_without_target_goes_to_the_first_replica_that_has_everything() {
    let mut cluster = Cluster::of(3);
    cluster.sleep(2000);
    cluster.cut_off.push("n2".to_owned());
    cluster.say("n1", "SET k v");
    assert_eq!(cluster.say("n1", "FAILOVER"), "+OK\r\n");
    cluster.sleep(1500);
    assert_eq!(cluster.info("n3", "role"), "master");
    assert_eq!(cluster.info("n1", "master_host"), "n3");
    assert_eq!(cluster.info("n1", "master_link_status"), "up");
    // The history of both continues, without a snapshot.
    let id = cluster.info("n3", "master_replid");
    assert_eq!(cluster.info("n1", "master_replid"), id);
    assert_eq!(
        cluster.info("n1", "master_replid2"),
        cluster.info("n3", "master_replid2")
    );
    // The other replica stays with the old master, and gets the new history.
    cluster.cut_off.clear();
    cluster.sleep(2500);
    assert_eq!(cluster.info("n2", "master_host"), "n1");
    assert_eq!(cluster.info("n2", "master_replid"), id);
    assert_eq!(cluster.say("n3", "SET k w"), "+OK\r\n");
    assert_eq!(cluster.say("n2", "GET k"), "$1\r\nw\r\n");
}

#[test]
fn info_for_a_sentinel_fits_into_one_packet() {
    /// The payload of a packet of 1500 bytes.
    const MAX_BYTES: usize = 1460;
    let mut cluster = Cluster::of(5);
    for node in ["n1", "n2"] {
        let read = cluster.say(node, "INFO server replication");
        assert!(read.len() < MAX_BYTES * 9 / 10, "{node}: {}", read.len());
        let all = cluster.say(node, "INFO");
        for line in read.lines().filter(|line| line.contains(':')) {
            assert!(all.contains(line), "{line}");
        }
    }
}

/// A replica whose master is played by the test.
struct Follower {
    node: Node,
    link: ConnId,
}

impl Follower {
    fn start(parameters: &[(&str, &str)]) -> (Self, String) {
        let mut node = Node::new(NodeConfig::default());
        for (name, value) in parameters {
            let done = node.configure(name, value);
            done.expect("the parameter exists");
        }
        let done = node.configure("replicaof", "n1 6379");
        done.expect("the parameter exists");
        let mut effects = Vec::new();
        node.wake(1_000_000, &mut effects);
        let [Effect::Connect { conn, .. }] = &effects[..] else {
            panic!("{effects:?}");
        };
        let link = *conn;
        let mut effects = Vec::new();
        node.connected(link, 1_000_000, &mut effects);
        let mut follower = Follower { node, link };
        let said = follower.carry_out(effects);
        (follower, said)
    }

    /// Lets the master say something; returns what the replica says to it.
    fn hear(&mut self, bytes: &[u8]) -> String {
        let mut effects = Vec::new();
        self.node.receive(self.link, bytes, 1_000_000, &mut effects);
        self.carry_out(effects)
    }

    fn carry_out(&mut self, effects: Vec<Effect>) -> String {
        let mut said = String::new();
        for effect in effects {
            match effect {
                Effect::Send { conn, bytes } if conn == self.link => {
                    let words = String::from_utf8_lossy(&bytes);
                    let words = words.split("\r\n").filter(|w| !w.starts_with(['*', '$']));
                    said.push_str(&words.collect::<Vec<_>>().join(" "));
                }
                Effect::Close { .. } => said.push_str("closes"),
                _ => {}
            }
        }
        said.trim().to_owned()
    }
}

#[test]
fn a_replica_takes_a_snapshot_with_an_end_mark() {
    let (mut follower, said) = Follower::start(&[("port", "7")]);
    assert_eq!(said, "PING");
    let said = follower.hear(b"+PONG\r\n");
    assert_eq!(
        said,
        "REPLCONF listening-port 7 REPLCONF capa eof capa psync2"
    );
    assert_eq!(follower.hear(b"+OK\r\n+OK\r\n"), "PSYNC ? -1");
    let mark = "0123456789abcdef0123456789abcdef01234567";
    let id = "a".repeat(40);
    let head = format!("+FULLRESYNC {id} 5\r\n$EOF:{mark}\r\n");
    assert_eq!(follower.hear(head.as_bytes()), "");
    // A snapshot that holds one key, in two parts.
    let snapshot = b"REDIS0010\xfe\x00\x00\x01k\x01v\xff\0\0\0\0\0\0\0\0";
    assert_eq!(follower.hear(&snapshot[..12]), "");
    assert_eq!(follower.hear(&snapshot[12..]), "");
    assert_eq!(follower.hear(&mark.as_bytes()[..39]), "");
    assert_eq!(follower.hear(&mark.as_bytes()[39..]), "REPLCONF ACK 5");
    let client = follower.node.accept();
    let mut effects = Vec::new();
    follower
        .node
        .receive(client, b"GET k\r\n", 1_000_000, &mut effects);
    let [Effect::Send { bytes, .. }] = &effects[..] else {
        panic!("{effects:?}");
    };
    assert_eq!(&bytes[..], b"$1\r\nv\r\n");
}

#[test]
fn a_replica_authenticates_first() {
    let (mut follower, _) = Follower::start(&[("masterauth", "secret")]);
    let said = follower.hear(b"-NOAUTH Authentication required.\r\n");
    assert_eq!(
        said,
        "AUTH secret REPLCONF listening-port 6379 REPLCONF capa eof capa psync2"
    );
    assert_eq!(follower.hear(b"+OK\r\n"), "");
    assert_eq!(follower.hear(b"+OK\r\n+OK\r\n"), "PSYNC ? -1");

    let user = [("masterauth", "secret"), ("masteruser", "default")];
    let (mut follower, _) = Follower::start(&user);
    assert!(
        follower
            .hear(b"+PONG\r\n")
            .starts_with("AUTH default secret REPLCONF")
    );
    let refused = follower.hear(b"-WRONGPASS invalid username-password pair\r\n");
    assert_eq!(refused, "closes");
}
