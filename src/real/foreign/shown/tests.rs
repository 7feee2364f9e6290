//! Requests of clients, the replies, and the accesses that are recorded.

use std::cell::RefCell;
use std::future::Future;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Waker};

use locklab_model::workload::Fencing;
use locklab_testing::hostile;

use super::*;

/// Sends these commands, each `client: words`; returns the replies, and the accesses that were recorded.
fn ask(fencing: Fencing, commands: &[&str]) -> (Vec<String>, Vec<String>) {
    let (mut contents, seen) = (Contents::new(Register::new(fencing)), RefCell::default());
    let report = |_: &[u8], event| {
        let seen: &RefCell<Vec<Event>> = &seen;
        seen.borrow_mut().push(event)
    };
    let mut replies = Vec::new();
    for command in commands {
        let (client, words) = command.split_once(": ").expect("a client");
        let word = |word: &str| BytesFrame::BulkString(word.to_owned().into());
        let frame = BytesFrame::Array(words.split(' ').map(word).collect());
        let reply = contents.answer(&frame, &client.into(), &report);
        let reply = String::from_utf8(reply.to_bytes(Protocol::Resp2)).expect("it is text");
        replies.push(reply.trim_end().replace("\r\n", " "));
    }
    let accesses = seen.borrow();
    let short = |event: &Event| match event {
        Event::Access {
            client,
            access,
            token,
            accepted,
            ..
        } => {
            let access = match access {
                Access::Read { version } => format!("reads {version}"),
                Access::Write { based_on, version } => format!("writes {version} from {based_on}"),
            };
            let token = token.map_or(String::new(), |token| format!(" with {token}"));
            let refused = if *accepted { "" } else { " in vain" };
            format!("{client} {access}{token}{refused}")
        }
        other => format!("{other:?}"),
    };
    (replies, accesses.iter().map(short).collect())
}

#[test]
fn a_write_is_based_on_what_its_client_has_read() {
    let (replies, accesses) = ask(
        Fencing::None,
        &[
            "c1: GET k",
            "c2: GET k",
            "c2: SET k 1",
            "c1: SET k 2",
            "c1: GET k",
            "c1: INCR k",
            "c2: INCRBY k -5",
            "c2: SET k 9",
        ],
    );
    assert_eq!(
        replies,
        ["$-1", "$-1", "+OK", "+OK", "$1 2", ":3", ":-2", "+OK"]
    );
    assert_eq!(
        accesses,
        [
            "c1 reads 0",
            "c2 reads 0",
            "c2 writes 1 from 0",
            // c2's is lost.
            "c1 writes 2 from 0",
            "c1 reads 2",
            "c1 writes 3 from 2",
            "c2 writes 4 from 3",
            // It has read nothing since its last write, and overwrites what there is.
            "c2 writes 5 from 4",
        ]
    );
}

#[test]
fn a_token_too_low_is_refused_where_the_resource_is_fenced() {
    let commands = ["c1: SET k a TOKEN 34", "c2: SET k b token 33", "c2: GET k"];
    let (replies, accesses) = ask(Fencing::Writes, &commands);
    assert_eq!(replies, ["+OK", "-FENCED a higher token was seen", "$1 a"]);
    assert_eq!(
        accesses,
        [
            "c1 writes 1 from 0 with 34",
            "c2 writes 1 from 1 with 33 in vain",
            "c2 reads 1",
        ]
    );
}

#[test]
fn a_client_chooses_its_protocol() {
    let mut contents = Contents::new(Register::new(Fencing::None));
    let words = ["HELLO", "3"].map(|word| BytesFrame::BulkString(word.into()));
    let hello = BytesFrame::Array(words.into());
    let reply = contents.answer(&hello, &"c1".into(), &|_: &[u8], _| {});
    assert_eq!(reply, Reply::Hello(Protocol::Resp3));
    let map = reply.to_bytes(Protocol::Resp3);
    assert!(map.starts_with(b"%5\r\n+server\r\n") && map.ends_with(b"+proto\r\n:3\r\n"));
    assert_eq!(Reply::Nil.to_bytes(Protocol::Resp3), b"_\r\n");
}

#[test]
fn libraries_find_what_they_ask_for_and_mistakes_are_answered_with_words() {
    let (replies, accesses) = ask(
        Fencing::None,
        &[
            "c1: HELLO 4",
            "c1: client SETINFO LIB-NAME x",
            "c1: ping",
            "c1: GET",
            "c1: SET k v NX",
            "c1: SET k v TOKEN -1",
            "c1: SET k v",
            "c1: INCR other",
            "c1: INCR k",
            "c1: DEL k",
        ],
    );
    let kinds: Vec<&str> = replies
        .iter()
        .map(|reply| reply.split(' ').next().unwrap_or_default())
        .collect();
    assert_eq!(
        kinds,
        [
            "-NOPROTO", "+OK", "+PONG", "-ERR", "-ERR", "-ERR", "+OK", ":1", "-ERR", "-ERR"
        ]
    );
    assert!(
        replies[9].contains("knows GET key [TOKEN n], SET"),
        "{}",
        replies[9]
    );
    // Each key is a register of its own.
    assert_eq!(accesses, ["c1 writes 1 from 0"; 2]);
}

/// Serves a connection that sends these bytes and ends; returns the number of writes.
fn writes_of(bytes: &[u8]) -> u64 {
    let contents = Contents::new(Register::new(Fencing::None));
    let contents = Rc::new(RefCell::new(contents));
    let stream = tokio::io::join(bytes, tokio::io::sink());
    let mut served = pin!(serve(
        stream,
        "c1".into(),
        contents.clone(),
        |_: &[u8], _| {}
    ));
    let context = &mut Context::from_waker(Waker::noop());
    // All bytes are there, so nothing is waited for.
    assert!(served.as_mut().poll(context).is_ready());
    let contents = contents.borrow();
    contents.keys.values().map(|cell| cell.version).sum()
}

#[test]
fn hostile_request_ends_its_connection() {
    let write = b"*2\r\n$4\r\nINCR\r\n$1\r\nk\r\n";
    assert_eq!(writes_of(&write.repeat(3)), 3);
    for (name, bytes) in hostile::resp() {
        let bytes = [&write[..], &bytes, write].concat();
        assert_eq!(writes_of(&bytes), 1, "{name}");
    }
}

#[test]
fn value_of_a_megabyte_is_too_large() {
    let set = |length: usize| {
        let value = "v".repeat(length);
        format!("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n${length}\r\n{value}\r\n")
    };
    assert_eq!(writes_of(set((1 << 20) - 100).as_bytes()), 1);
    assert_eq!(writes_of(set(1 << 20).as_bytes()), 0);
}
