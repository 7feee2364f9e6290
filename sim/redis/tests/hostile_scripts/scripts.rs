//! Hostile scripts and what they get, from files; their format is in `tests/testing/src/transcript.rs`.
//!
//! Each command is a script for a new node, in which `⏎` is a line break. After it the next script runs as if nothing
//! had been.

use std::cell::Cell;
use std::path::Path;
use std::rc::Rc;

use locklab_redis::endpoint::Now;
use locklab_redis::resp::command;
use locklab_redis::{Effect, Node, NodeConfig};
use locklab_testing::{check_transcript, transcripts};

use super::client::Client;

#[path = "../fuzz/patience.rs"]
mod patience;

use self::patience::Patience;

/// Compares the replies to the scripts of a file with those in it.
fn check(path: &Path) {
    let reply: fn(&str) -> String = match path.ends_with("endless.txt") {
        true => reply_when_killed,
        false => reply,
    };
    let run = |(): &mut (), _: &str, script: &str| {
        let reply = reply(&script.replace('⏎', "\n"));
        let reply = reply.replace("\r\n", "⏎").replace('\n', "·");
        vec![reply.replace(|c: char| c.is_control(), "·")]
    };
    check_transcript(path, &["$ "], || (), run);
}

fn reply(script: &str) -> String {
    let mut client = Client::new();
    let reply = client.eval(script);
    assert_eq!(client.eval("return 1"), ":1\r\n", "after {script}");
    reply
}

/// The same of a node that looks up from its script again and again, until another client ends it.
fn reply_when_killed(script: &str) -> String {
    let mut node = Node::new(NodeConfig::default());
    node.read_clock(Now::default);
    let patience = Patience(Rc::new(Cell::new(8)));
    node.attend(patience.clone());
    let conn = node.accept();
    let mut eval = |script: &str| {
        let mut effects = Vec::new();
        let words = [b"EVAL", script.as_bytes(), b"0"];
        node.receive(conn, &command(&words), 0, &mut effects);
        match &effects[..] {
            [Effect::Send { bytes, .. }] => String::from_utf8_lossy(bytes).into_owned(),
            other => panic!("{script}: {other:?}"),
        }
    };
    let reply = eval(script);
    patience.0.set(8);
    assert_eq!(eval("return 1"), ":1\r\n", "after {script}");
    reply
}

transcripts! {
    "tests/hostile_scripts/scripts", check:
    endless
    recursion
    sizes
    tables
    texts
}
