//! The commands of Redis that the node lacks: exactly those that the documentation names.

use std::collections::BTreeSet;
use std::fs;

use locklab_redis::{Effect, Node};

use crate::real::RealServer;
use crate::versions;

/// The names in a reply of `COMMAND` or `COMMAND LIST`, in capitals.
fn names(reply: &[u8]) -> BTreeSet<String> {
    let text = String::from_utf8_lossy(reply).to_ascii_uppercase();
    let words = text.split("\r\n").filter(|line| !line.is_empty());
    let words = words.filter(|line| !line.starts_with(['*', '$', '+', ':']));
    words.map(str::to_owned).collect()
}

/// The patterns of the page's table of absent commands.
fn documented() -> Vec<String> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/redis-commands.md");
    let page = fs::read_to_string(path).expect("the page is there");
    let (_, table) = page.split_once("## Absent").expect("the page has a table");
    let table = table.split("##").next().unwrap_or_default();
    let patterns = table.split('`').skip(1).step_by(2);
    patterns.map(|text| text.replace("\\|", "|")).collect()
}

fn is_meant(pattern: &str, name: &str) -> bool {
    match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (Some(end), _) => name.ends_with(end),
        (_, Some(start)) => name.starts_with(start),
        _ => name == pattern,
    }
}

#[test]
fn documentation_names_absent_commands() {
    if versions::skips_test() {
        return;
    }
    let mut node = Node::new(versions::node_config());
    let conn = node.accept();
    let mut effects = Vec::new();
    node.receive(conn, b"COMMAND\r\n", 0, &mut effects);
    let [Effect::Send { bytes, .. }] = &effects[..] else {
        panic!("{effects:?}");
    };
    let here = names(bytes);
    let there = names(&RealServer::start().connect().request(b"COMMAND LIST\r\n"));
    assert!(here.len() > 100 && there.len() > 300);
    let absent: Vec<&String> = there.difference(&here).collect();
    let patterns = documented();
    for name in &absent {
        let is_named = patterns.iter().any(|pattern| is_meant(pattern, name));
        assert!(is_named, "{name} is absent, and nobody says so");
    }
    for pattern in &patterns {
        let is_absent = absent.iter().any(|name| is_meant(pattern, name));
        assert!(is_absent, "{pattern} names nothing that is absent");
    }
    // Commands of later versions.
    let more: Vec<&String> = here.difference(&there).collect();
    assert_eq!(more, ["WAITAOF"]);
}
