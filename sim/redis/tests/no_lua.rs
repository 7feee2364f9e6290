//! The replies of a node without Lua, if the crate is built without the feature.
#![cfg(not(feature = "lua"))]

use locklab_redis::{Effect, Node, NodeConfig};

/// The reply of a node to an inline command.
#[track_caller]
fn check(command: &str, expected: &str) {
    let mut node = Node::new(NodeConfig::default());
    let conn = node.accept();
    let mut effects = Vec::new();
    node.receive(conn, format!("{command}\r\n").as_bytes(), 0, &mut effects);
    let bytes = expected.to_owned().into();
    assert_eq!(effects, [Effect::Send { conn, bytes }]);
}

#[test]
fn scripts_are_refused_with_the_remedy() {
    let refused = "-ERR the Lua interpreter did not start: build locklab-redis with its feature \
        'lua'\r\n";
    check("EVAL 'return 1' 0", refused);
    check("SCRIPT LOAD 'return 1'", refused);
}

#[test]
fn without_lua_only_scripts_are_missing() {
    let sha = "0".repeat(40);
    check(&format!("SCRIPT EXISTS {sha}"), "*1\r\n:0\r\n");
    check("SET k v", "+OK\r\n");
}
