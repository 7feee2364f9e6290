//! Which reply grants a client the lock, found out from the wire while the run is under way.
//!
//! Each request is executed once more, on a simulated node, when it arrives. It *grants* if it makes a key
//! exist that did not exist before, and the key has a time to live then or the request is `SETNX`, `HSETNX` or a `SET`
//! with `NX`: that is how locks on Redis are taken, by a command or by a script. The first data that comes back
//! over its connection is the reply.
//!
//! A copy may err: it goes by the machine's clock, by the order of arrival, and knows nothing of a restart of
//! its server. So it decides when a fault strikes, and nothing else; no verdict rests on it.

use locklab_bounds::Bounds;
use locklab_bounds::resp::Inbound;
use locklab_history::{ClockKind, Name, wire};
use locklab_proxy::Passing;
use locklab_redis::{ConnId, Node, NodeConfig};
use locklab_values::units::NS_PER_US;
use locklab_vecmap::{VecMap, VecSet};

use crate::real_env::read_clock;

/// The copies of the servers, and the connections on which a granting reply comes next.
#[derive(Default)]
pub(crate) struct Grants {
    copies: VecMap<Name, Copy>,
    granting: VecSet<(Name, u64)>,
}

/// A simulated node that executes what a server executes.
struct Copy {
    node: Node,
    /// Each with what has arrived of its next request.
    connections: VecMap<u64, (ConnId, Inbound)>,
}

impl Grants {
    /// A request of a client has arrived at a server. Returns the key that it makes exist, if it grants.
    pub(crate) fn executes(&mut self, passing: &Passing<'_>) -> Option<Vec<u8>> {
        let copy = self
            .copies
            .entry(passing.to.clone())
            .or_insert_with(|| Copy {
                node: Node::new(NodeConfig::default()),
                connections: VecMap::new(),
            });
        let granted = copy.grants(passing)?;
        let reply = (passing.from.clone(), passing.connection);
        self.granting.insert(reply);
        Some(granted)
    }

    /// All servers have been emptied, past the proxy.
    pub(crate) fn empty(&mut self) {
        for copy in self.copies.values_mut() {
            let conn = copy.node.accept();
            let now_us = read_clock(ClockKind::Wall) / NS_PER_US;
            (copy.node).receive(conn, b"FLUSHALL\r\n", now_us, &mut Vec::new());
        }
        self.granting = VecSet::new();
    }

    /// Whether the next data that this client gets on this connection grants it the lock.
    pub(crate) fn is_reply(&self, client: &Name, connection: u64) -> bool {
        self.granting.contains(&(client.clone(), connection))
    }

    /// The same, of data that has arrived.
    pub(crate) fn take_reply(&mut self, client: &Name, connection: u64) -> bool {
        self.granting.remove(&(client.clone(), connection))
    }
}

impl Copy {
    /// Executes a request; returns the key that it grants, if it does.
    fn grants(&mut self, passing: &Passing<'_>) -> Option<Vec<u8>> {
        let node = &mut self.node;
        let (conn, left) = (self.connections)
            .entry(passing.connection)
            .or_insert_with(|| (node.accept(), Inbound::new(Bounds::FRAME)));
        left.buffer().extend_from_slice(passing.payload);
        let takes = takes_if_absent(left);
        let now_us = read_clock(ClockKind::Wall) / NS_PER_US;
        let lives = |expires_at_ms: Option<i64>| {
            expires_at_ms.is_none_or(|at_ms| i128::from(at_ms) * 1000 > i128::from(now_us))
        };
        let there = node.keys().filter(|key| lives(key.expires_at_ms));
        let before: VecSet<Vec<u8>> = there.map(|key| key.name.to_vec()).collect();
        node.receive(*conn, passing.payload, now_us, &mut Vec::new());
        let mut new = node.keys().filter(|key| !before.contains(key.name));
        let granted =
            new.find(|key| lives(key.expires_at_ms) && (takes || key.expires_at_ms.is_some()));
        granted.map(|key| key.name.to_vec())
    }
}

/// Whether one of the complete requests, which it removes, sets a key only if it is absent. What is no
/// request is removed, too.
fn takes_if_absent(left: &mut Inbound) -> bool {
    let mut takes = false;
    loop {
        let words = match left.next_words() {
            Ok(Some(words)) => words,
            Ok(None) => return takes,
            Err(_) => {
                left.clear();
                return takes;
            }
        };
        takes |= wire::takes(&words);
    }
}

#[cfg(test)]
mod tests {
    use locklab_testing::hostile;

    use super::*;

    fn request(words: &[&str]) -> Vec<u8> {
        let parts = words.iter();
        let parts = parts.map(|word| format!("${}\r\n{word}\r\n", word.len()));
        format!("*{}\r\n{}", words.len(), parts.collect::<String>()).into_bytes()
    }

    fn executes(grants: &mut Grants, words: &[&str]) -> Option<Vec<u8>> {
        let (from, to) = ("c1".into(), "n1".into());
        let payload = request(words);
        grants.executes(&Passing {
            from: &from,
            to: &to,
            connection: 1,
            payload: &payload,
        })
    }

    #[test]
    fn an_emptied_server_grants_again_by_the_scripts_that_it_knows() {
        const TAKE: &str = "return redis.call('set', KEYS[1], ARGV[1], 'nx', 'px', 1000)";
        let mut grants = Grants::default();
        // Only a script that takes: it is known by its digest from then on.
        assert_eq!(
            executes(&mut grants, &["EVAL", TAKE, "1", "lock", "a"]),
            Some(b"lock".to_vec())
        );
        let by_digest = [
            "EVALSHA",
            "d3a35557535dfca84370af83450cd26a5208417c",
            "1",
            "lock",
            "b",
        ];
        assert_eq!(executes(&mut grants, &by_digest), None, "it is held");
        assert!(grants.is_reply(&"c1".into(), 1));
        grants.empty();
        assert!(!grants.is_reply(&"c1".into(), 1));
        assert_eq!(executes(&mut grants, &by_digest), Some(b"lock".to_vec()));
    }

    #[test]
    fn hostile_request_is_none_and_is_forgotten() {
        for (name, bytes) in hostile::resp() {
            let mut left = Inbound::new(Bounds::FRAME);
            for piece in bytes.chunks(64 << 10) {
                left.buffer().extend_from_slice(piece);
                assert!(!takes_if_absent(&mut left), "{name}");
            }
            assert!(
                left.buffer().is_empty() || name == "a line without end",
                "{name}"
            );
            left.clear();
            left.buffer()
                .extend_from_slice(b"*3\r\n$5\r\nSETNX\r\n$1\r\nk\r\n$1\r\nv\r\n");
            assert!(takes_if_absent(&mut left), "{name}");
            assert!(left.buffer().is_empty(), "{name}");
        }
    }
}
