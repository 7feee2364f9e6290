//! A replica whose master is played by the test; pairs of nodes are in `stories/replication.txt`.

use locklab_redis::{ConnId, Effect, Node, NodeConfig};

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
