//! COMMAND INFO: every command of the node has the flags of Redis.

use std::collections::{BTreeMap, BTreeSet};

use locklab_redis::{Effect, Node};
use redis_protocol::resp2::decode::decode;
use redis_protocol::resp2::types::OwnedFrame;

use crate::real::RealServer;
use crate::versions;

/// The flags of each command, subcommands included.
fn flags(reply: &[u8]) -> BTreeMap<String, BTreeSet<String>> {
    let Ok(Some((OwnedFrame::Array(rows), _))) = decode(reply) else {
        panic!("{}", reply.escape_ascii());
    };
    let mut all = BTreeMap::new();
    let mut left = rows;
    while let Some(row) = left.pop() {
        let OwnedFrame::Array(fields) = row else {
            panic!("{row:?}");
        };
        let OwnedFrame::Array(flags) = &fields[2] else {
            panic!("{fields:?}");
        };
        all.insert(text(&fields[0]), flags.iter().map(text).collect());
        if let OwnedFrame::Array(subcommands) = &fields[9] {
            left.extend(subcommands.iter().cloned());
        }
    }
    all
}

fn text(frame: &OwnedFrame) -> String {
    match frame {
        OwnedFrame::BulkString(text) | OwnedFrame::SimpleString(text) => {
            String::from_utf8_lossy(text).into_owned()
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn commands_and_subcommands_have_the_flags_of_redis() {
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
    let mut here = flags(bytes);
    // Only later versions have it.
    here.remove("waitaof");
    let server = RealServer::start();
    let mut real = server.connect();
    let mut there = flags(&real.request(b"COMMAND\r\n"));
    there.retain(|name, _| here.contains_key(name));
    assert_eq!(here, there);
    let request = b"COMMAND INFO client|setname CONFIG|Get cluster|info\r\n";
    effects.clear();
    node.receive(conn, request, 0, &mut effects);
    let [Effect::Send { bytes, .. }] = &effects[..] else {
        panic!("{effects:?}");
    };
    assert_eq!(flags(bytes), flags(&real.request(request)));
}
