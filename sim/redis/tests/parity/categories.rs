//! `COMMAND LIST FILTERBY ACLCAT`: the node's commands are in the categories of Redis.

use std::collections::BTreeSet;

use locklab_redis::{Effect, Node, NodeConfig};

use crate::real::RealServer;
use crate::versions;

/// The words of a reply that is an array.
fn words(reply: &[u8]) -> BTreeSet<String> {
    let text = String::from_utf8_lossy(reply);
    let words = text.split("\r\n").filter(|line| !line.is_empty());
    let words = words.filter(|line| !line.starts_with(['*', '$']));
    words.map(str::to_owned).collect()
}

#[test]
fn every_command_is_in_the_categories_of_redis() {
    if versions::skips_test() {
        return;
    }
    let mut node = Node::new(NodeConfig::default());
    let conn = node.accept();
    let mut ask = |line: &str| {
        let mut effects = Vec::new();
        node.receive(conn, line.as_bytes(), 0, &mut effects);
        let [Effect::Send { bytes, .. }] = &effects[..] else {
            panic!("{line}: {effects:?}");
        };
        words(bytes)
    };
    let known = ask("COMMAND LIST\r\n");
    let server = RealServer::start();
    let mut real = server.connect();
    let categories = words(&real.request(b"ACL CAT\r\n"));
    assert!(categories.len() > 15);
    for category in categories {
        let line = format!("COMMAND LIST FILTERBY ACLCAT {category}\r\n");
        let there = words(&real.request(line.as_bytes()));
        let expected: BTreeSet<String> = there.intersection(&known).cloned().collect();
        let mut here = ask(&line);
        // Only later versions have it.
        here.remove("waitaof");
        assert_eq!(here, expected, "{category}");
    }
}
