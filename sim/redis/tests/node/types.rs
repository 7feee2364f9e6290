//! Results that are random in Redis and determined in the fake node: the order of a scan, and
//! random draws.

use std::collections::BTreeSet;

use locklab_redis::{ConnId, Effect, Node, NodeConfig};

struct Client {
    node: Node,
    conn: ConnId,
}

impl Client {
    fn new(run_id_seed: u64) -> Self {
        let mut node = Node::new(NodeConfig {
            run_id_seed,
            ..NodeConfig::default()
        });
        let conn = node.accept();
        Client { node, conn }
    }

    /// Sends an inline command; returns the lines of the reply without lengths.
    fn send(&mut self, command: &str) -> Vec<String> {
        let mut effects = Vec::new();
        let line = format!("{command}\r\n");
        self.node
            .receive(self.conn, line.as_bytes(), 1_000_000, &mut effects);
        let [Effect::Send { bytes, .. }] = &effects[..] else {
            panic!("{command}: {effects:?}");
        };
        let text = String::from_utf8_lossy(bytes);
        let lines = text.lines().filter(|line| !line.starts_with(['$', '*']));
        lines.map(str::to_owned).collect()
    }

    /// Completes a scan, and calls `meanwhile` after each step; returns the elements found, and the
    /// number of steps.
    fn scan(&mut self, command: &str, mut meanwhile: impl FnMut(&mut Self)) -> (Vec<String>, u32) {
        let (mut found, mut steps) = (Vec::new(), 0);
        let mut cursor = "0".to_owned();
        loop {
            let mut page = self.send(&command.replace("CURSOR", &cursor));
            cursor = page.remove(0);
            found.extend(page);
            steps += 1;
            if cursor == "0" {
                return (found, steps);
            }
            meanwhile(self);
        }
    }
}

fn numbered(prefix: &str, count: usize) -> BTreeSet<String> {
    (0..count).map(|i| format!("{prefix}{i}")).collect()
}

#[test]
fn scan_finds_every_element_present_throughout() {
    let mut client = Client::new(0);
    for key in numbered("stays", 500) {
        client.send(&format!("SET {key} 1"));
    }
    for key in numbered("goes", 500) {
        client.send(&format!("SET {key} 1"));
    }
    let mut changes = 0..500;
    let (found, steps) = client.scan("SCAN CURSOR COUNT 7", |client| {
        for change in changes.by_ref().take(5) {
            client.send(&format!("DEL goes{change}"));
            client.send(&format!("SET comes{change} 1"));
        }
    });
    let found: BTreeSet<String> = found.into_iter().collect();
    assert!(numbered("stays", 500).is_subset(&found));
    assert!(steps > 100, "{steps} steps for about a thousand keys");
}

#[test]
fn scan_of_unchanged_data_returns_each_element_once() {
    let mut client = Client::new(0);
    for member in numbered("m", 600) {
        client.send(&format!("SET {member} 1"));
        client.send(&format!("SADD set {member}"));
        client.send(&format!("HSET hash {member} 1"));
        client.send(&format!("ZADD zset 1 {member}"));
    }
    for command in [
        "SCAN CURSOR COUNT 7 MATCH m*",
        "SCAN CURSOR TYPE string",
        "SSCAN set CURSOR COUNT 7",
        "HSCAN hash CURSOR COUNT 7",
        "ZSCAN zset CURSOR COUNT 7",
    ] {
        let (mut found, steps) = client.scan(command, |_| ());
        // Values and scores.
        found.retain(|line| line != "1");
        assert_eq!(found.len(), 600, "{command}");
        let found: BTreeSet<String> = found.into_iter().collect();
        assert_eq!(found, numbered("m", 600), "{command}");
        assert!(steps >= 30, "{command}: {steps}");
    }
}
