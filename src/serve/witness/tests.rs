//! Who sent what, of requests that a node executes without sockets.

use locklab_redis::NodeConfig;
use locklab_testing::hostile;

use super::*;

/// A node that is watched; its clock shows the milliseconds that the test says.
struct Scene {
    witness: Witness,
    watched: Box<dyn Watch>,
    node: Node,
    clients: Vec<ConnId>,
}

fn scene() -> Scene {
    let witness = Witness::default();
    let mut node = Node::new(NodeConfig::default());
    let clients = (0..3).map(|_| node.accept()).collect();
    let watched = witness.of(&"n1".into());
    node.note_changes();
    watched.begins(&node);
    Scene {
        watched: Box::new(watched),
        witness,
        node,
        clients,
    }
}

fn at(ms: u64) -> Now {
    Now {
        wall_us: ms * 1000,
        ..Now::default()
    }
}

impl Scene {
    /// A client sends a command at this time.
    fn sends(mut self, ms: u64, client: usize, command: &str) -> Self {
        let words = command.split(' ');
        let words: String = { words.clone() }
            .map(|word| format!("${}\r\n{word}\r\n", word.len()))
            .collect();
        let count = command.split(' ').count();
        self.bytes(ms, client, format!("*{count}\r\n{words}").as_bytes());
        self
    }

    fn bytes(&mut self, ms: u64, client: usize, bytes: &[u8]) {
        let client = self.clients[client];
        let changed = self.node.take_changed();
        (self.watched).arrives(client, bytes, &changed, &self.node, at(ms));
        (self.node).receive(client, bytes, ms * 1000, &mut Vec::new());
        let changed = self.node.take_changed();
        self.watched.executed(client, &changed, &self.node);
    }

    /// Each request about the lock, by its owner.
    #[track_caller]
    fn check(&self, expected: &[&str]) {
        let seen = self.witness.seen(Some("lock")).expect("a lock");
        let told = seen.exchanges.iter().map(|exchange| {
            let commands = exchange.commands.iter();
            let commands = commands.map(|words| String::from_utf8_lossy(&words[0]));
            let commands: Vec<_> = commands.collect();
            let executed = exchange.executed.as_ref().expect("it was executed");
            let changes = if executed.changed.is_empty() {
                ""
            } else {
                " !"
            };
            format!("{} {}{changes}", exchange.client, commands.join("+"))
        });
        assert_eq!(told.collect::<Vec<_>>(), expected);
    }
}

#[test]
fn owner_is_told_by_its_text_over_any_connection() {
    let release = "EVAL return\nredis.call('del',KEYS[1]) 1 lock one";
    scene()
        .sends(0, 0, "SET lock one NX PX 50")
        .sends(1, 1, "SET lock two NX PX 50")
        .sends(2, 2, "PING")
        .sends(3, 2, release)
        .sends(4, 1, "SET lock two NX PX 50")
        .check(&["c1 SET !", "c2 SET", "c1 EVAL !", "c2 SET !"]);
}

#[test]
fn key_that_expires_is_changed_by_nobody() {
    scene()
        .sends(0, 0, "SET lock one NX PX 50")
        .sends(60, 1, "GET lock")
        .sends(61, 1, "HSETNX lock two 1")
        .check(&["c1 SET !", "other-2 GET", "c2 HSETNX !"]);
}

#[test]
fn change_without_a_name_is_of_the_present_holder() {
    scene()
        .sends(0, 0, "SET lock one NX PX 50")
        .sends(1, 1, "DEL lock")
        .sends(2, 1, "SET lock two NX PX 50")
        .sends(3, 0, "DEL lock")
        .check(&["c1 SET !", "c1 DEL !", "c2 SET !", "c2 DEL !"]);
}

#[test]
fn change_is_seen_whatever_names_the_key() {
    scene()
        .sends(0, 0, "SET lock one NX PX 50")
        .sends(1, 1, "FLUSHALL")
        .sends(2, 2, "EVAL redis.call('set','lo'..'ck','two') 0")
        .sends(3, 0, "FLUSHDB")
        .check(&["c1 SET !", "c1 FLUSHALL !", "c2 EVAL !", "c2 FLUSHDB !"]);
}

#[test]
fn only_key_needs_no_name() {
    let scene = scene();
    let problem = |scene: &Scene| scene.witness.seen(None).expect_err("which?");
    assert_eq!(
        problem(&scene),
        "no request made a key exist as a lock does"
    );
    let scene = scene.sends(0, 0, "SET lock one NX PX 50");
    assert_eq!(scene.witness.seen(None).expect("one").key, "lock");
    let scene = scene.sends(1, 0, "SET other one NX PX 50");
    assert_eq!(
        problem(&scene),
        "several keys were granted; name one of lock, other"
    );
}

#[test]
fn hostile_request_is_none_and_is_forgotten() {
    for (name, bytes) in hostile::resp() {
        let mut unread = Inbound::new(Bounds::FRAME);
        for piece in bytes.chunks(64 << 10) {
            unread.buffer().extend_from_slice(piece);
            assert!(commands(&mut unread).is_empty(), "{name}");
        }
        let is_line = name == "a line without end";
        assert!(unread.buffer().is_empty() || is_line, "{name}");
    }
}

#[test]
fn what_is_kept_is_bounded() {
    let mut scene = scene();
    let many = b"*1\r\n$4\r\nPING\r\n".repeat(1000);
    for _ in 0..=Kept::RUN.commands / 1000 {
        scene.bytes(0, 0, &many);
    }
    let scene = scene.sends(1, 0, "SET lock one NX PX 50");
    let seen = scene.witness.seen(Some("lock")).expect("it is named");
    assert!(seen.is_full && seen.exchanges.is_empty());
}
