//! One request with much output for other clients: which of them are disconnected.

use std::collections::BTreeSet;

use locklab_redis::resp::command;
use locklab_redis::{ConnId, Effect, Node, NodeConfig};

/// A node with a publisher, and subscribers that have read nothing.
struct Bench {
    node: Node,
    publisher: ConnId,
    subscribers: Vec<ConnId>,
}

/// The effects of one request.
struct Caused {
    closed: BTreeSet<ConnId>,
    /// The clients that received output.
    reached: BTreeSet<ConnId>,
}

impl Bench {
    /// Subscribers to one channel each.
    fn new(channels: &[&str]) -> Self {
        let mut node = Node::new(NodeConfig::default());
        let publisher = node.accept();
        let subscribe = |channel: &&str| {
            let conn = node.accept();
            let request = command(&[b"SUBSCRIBE", channel.as_bytes()]);
            node.receive(conn, &request, 0, &mut Vec::new());
            conn
        };
        let subscribers = channels.iter().map(subscribe).collect();
        Bench {
            node,
            publisher,
            subscribers,
        }
    }

    /// Publishes this many messages of 60,000 bytes to each of some channels, in turn, then one
    /// word to the channel `quiet`, all in one request.
    fn publish(&mut self, channels: &[&str], messages: usize) -> Caused {
        let script = format!(
            "local message = string.rep('x', 60000)
             for _ = 1, {messages} do
                 for _, channel in ipairs(ARGV) do redis.call('PUBLISH', channel, message) end
             end
             redis.call('PUBLISH', 'quiet', 'word')"
        );
        let mut words: Vec<&[u8]> = vec![b"EVAL", script.as_bytes(), b"0"];
        words.extend(channels.iter().map(|channel| channel.as_bytes()));
        let mut effects = Vec::new();
        let request = command(&words);
        self.node.receive(self.publisher, &request, 0, &mut effects);
        // For as long as the script takes.
        self.node.wake(10_000_000, &mut effects);
        let mut caused = Caused {
            closed: BTreeSet::new(),
            reached: BTreeSet::new(),
        };
        for effect in effects {
            match effect {
                Effect::Send { conn, .. } => caused.reached.insert(conn),
                Effect::Close { conn } => caused.closed.insert(conn),
                other => panic!("{other:?}"),
            };
        }
        caused
    }
}

const CHANNELS: [&str; 5] = ["a", "b", "c", "d", "e"];

/// Five times 60 MB are more than a node makes in one request: the oldest has to go, and then the
/// rest is within the limit.
#[test]
fn only_as_many_clients_as_necessary_are_disconnected() {
    let mut bench = Bench::new(&CHANNELS);
    let caused = bench.publish(&CHANNELS, 1_000);
    assert_eq!(caused.closed, BTreeSet::from([bench.subscribers[0]]));
}

/// Each of the five gets more than a client may have. When they are disconnected, their output does
/// not count for other clients.
#[test]
fn clients_with_little_output_stay_connected() {
    let mut bench = Bench::new(&["a", "b", "c", "d", "e", "quiet"]);
    let caused = bench.publish(&CHANNELS, 1_200);
    let (greedy, quiet) = bench.subscribers.split_at(CHANNELS.len());
    assert_eq!(caused.closed, greedy.iter().copied().collect());
    assert_eq!(caused.reached, BTreeSet::from([bench.publisher, quiet[0]]));
}

/// Each message exists once for all its receivers.
#[test]
fn receivers_of_the_same_messages_share_them() {
    let mut bench = Bench::new(&["a"; 10]);
    let caused = bench.publish(&["a"], 1_000);
    assert_eq!(caused.closed, BTreeSet::new());
    assert_eq!(caused.reached.len(), 1 + 10);
}
