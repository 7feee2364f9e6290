//! A served node does not let clients with many costly requests keep it from the others.

use std::cell::Cell;

use locklab_redis::resp::command;
use locklab_redis::{ConnId, Effect, Node, NodeConfig};

/// A clock that makes a node late at every reading. Every test, in a thread of its own, has one:
/// the readings of others would make its scripts busy.
fn clock() -> u64 {
    thread_local! {
        static NOW_US: Cell<u64> = const { Cell::new(1_000_000) };
    }
    NOW_US.replace(NOW_US.get() + 1_000_000)
}

/// The cheap requests after which a node looks at the clock.
const A_TURN: usize = 100;

fn node() -> Node {
    let mut node = Node::new(NodeConfig::default());
    node.read_clock(clock);
    node
}

/// The numbers that a client got, in order: each is the reply to one INCR.
fn numbers(effects: &[Effect], of: ConnId) -> Vec<u32> {
    let sent = effects.iter().filter_map(|effect| match effect {
        Effect::Send { conn, bytes } if *conn == of => Some(&bytes[..]),
        _ => None,
    });
    let text = String::from_utf8(sent.collect::<Vec<_>>().concat()).expect("numbers");
    let lines = text.lines();
    lines
        .map(|line| line[1..].parse().expect("a number"))
        .collect()
}

#[test]
fn many_requests_of_one_client_take_several_turns() {
    let mut node = node();
    let (busy, other) = (node.accept(), node.accept());
    let mut effects = Vec::new();
    let requests = command(&[b"INCR", b"n"]).repeat(4 * A_TURN);
    node.receive(busy, &requests, 0, &mut effects);
    let first = numbers(&effects, busy);
    assert_eq!(first.len(), A_TURN);
    // The rest of its requests is handled later.
    node.receive(busy, &command(&[b"INCR", b"n"]), 0, &mut effects);
    assert_eq!(numbers(&effects, busy), first);
    // The other client is answered immediately, and only this client.
    node.receive(other, &command(&[b"INCR", b"other"]), 0, &mut effects);
    assert_eq!(numbers(&effects, other), [1]);
    assert_eq!(numbers(&effects, busy), first);
    while let Some(wake_us) = node.next_wake_us() {
        assert_eq!(wake_us, 0);
        node.wake(wake_us, &mut effects);
    }
    assert_eq!(numbers(&effects, busy), (1..=401).collect::<Vec<_>>());
}

#[test]
fn clients_with_many_requests_take_turns() {
    let mut node = node();
    let mut effects = Vec::new();
    let clients = [(); 3].map(|()| node.accept());
    let names: [&[u8]; 3] = [b"a", b"b", b"c"];
    for (client, name) in clients.into_iter().zip(names) {
        node.receive(
            client,
            &command(&[b"INCR", name]).repeat(3 * A_TURN),
            0,
            &mut effects,
        );
    }
    for _ in 0..3 {
        node.wake(0, &mut effects);
    }
    let done = clients.map(|client| numbers(&effects, client).len());
    assert_eq!(done, [2 * A_TURN; 3]);
}

/// A script that runs for long is a turn of its own.
#[cfg(feature = "lua")]
#[test]
fn one_long_script_is_enough_for_a_turn() {
    let mut node = node();
    let client = node.accept();
    let mut effects = Vec::new();
    let script = b"for _ = 1, 200000 do end return redis.call('INCR', 'n')";
    let requests = command(&[b"EVAL", script, b"0"]).repeat(3);
    node.receive(client, &requests, 0, &mut effects);
    for turns in 1..=3 {
        assert_eq!(numbers(&effects, client), (1..=turns).collect::<Vec<_>>());
        node.wake(0, &mut effects);
    }
}

/// A request in parts leaves nothing to do until the next part.
#[test]
fn half_a_request_waits_for_no_turn() {
    let mut node = node();
    let client = node.accept();
    let mut effects = Vec::new();
    let mut requests = command(&[b"INCR", b"n"]).repeat(3).to_vec();
    requests.extend_from_slice(b"*2\r\n$4\r\nIN");
    node.receive(client, &requests, 0, &mut effects);
    assert_eq!(node.next_wake_us(), None);
    node.receive(client, b"CR\r\n$1\r\nn\r\n", 0, &mut effects);
    assert_eq!(numbers(&effects, client), [1, 2, 3, 4]);
}
