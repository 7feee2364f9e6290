//! A served node does not let clients with many costly requests keep it from the others.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use bytes::Bytes;
use locklab_redis::resp::command;
use locklab_redis::{Addresses, Arrival, ConnId, Effect, Node, NodeConfig, OtherClients};

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

/// It may do so without end.
#[test]
fn client_that_keeps_sending_waits_for_the_others() {
    let mut node = node();
    let (busy, other) = (node.accept(), node.accept());
    let mut effects = Vec::new();
    let requests = command(&[b"INCR", b"n"]).repeat(4 * A_TURN);
    node.receive(busy, &requests, 0, &mut effects);
    node.receive(busy, &command(&[b"INCR", b"n"]), 0, &mut effects);
    node.receive(other, &command(&[b"INCR", b"other"]), 0, &mut effects);
    assert_eq!(node.next_wake_us(), Some(0));
    node.wake(0, &mut effects);
    assert_eq!(numbers(&effects, other), [1]);
    let done = numbers(&effects, busy).len();
    assert!((A_TURN..401).contains(&done), "{done}");
    while let Some(wake_us) = node.next_wake_us() {
        assert_eq!(wake_us, 0);
        node.wake(wake_us, &mut effects);
    }
    assert_eq!(numbers(&effects, busy), (1..=401).collect::<Vec<_>>());
}

/// As in Redis. For a lock, the order decides who gets it.
#[test]
fn requests_sent_together_are_finished_before_the_next_client() {
    let mut node = node();
    let mut effects = Vec::new();
    let clients = [(); 3].map(|()| node.accept());
    let requests = command(&[b"INCR", b"n"]).repeat(3 * A_TURN);
    for client in clients {
        node.receive(client, &requests, 0, &mut effects);
    }
    for begins in [1, 301, 601] {
        let answered = |effects: &[Effect]| {
            let numbers = clients.map(|client| numbers(effects, client));
            numbers.concat()
        };
        while answered(&effects).len() < begins as usize {
            node.wake(0, &mut effects);
        }
        assert_eq!(answered(&effects), (1..begins + 300).collect::<Vec<_>>());
    }
}

/// A script that runs for long is a turn of its own.
#[test]
fn one_long_script_is_enough_for_a_turn() {
    let mut node = node();
    let [client, other] = [(); 2].map(|()| node.accept());
    let mut effects = Vec::new();
    let script = b"for _ = 1, 200000 do end return redis.call('INCR', 'n')";
    let requests = command(&[b"EVAL", script, b"0"]).repeat(3);
    node.receive(client, &requests, 0, &mut effects);
    node.receive(other, &command(&[b"INCR", b"n"]), 0, &mut effects);
    assert!(effects.is_empty());
    node.wake(0, &mut effects);
    assert_eq!(numbers(&effects, client), [1, 2, 3]);
    node.wake(0, &mut effects);
    assert_eq!(numbers(&effects, other), [4]);
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

/// What the other clients of a node do while a script runs.
#[derive(Clone, Default)]
struct Others {
    arrivals: Rc<RefCell<VecDeque<Arrival>>>,
    /// The replies, and what became of the clients that connected.
    heard: Rc<RefCell<Vec<String>>>,
    /// To which of the first three clients the node listened when it last looked up.
    listened: Rc<Cell<[bool; 3]>>,
    clients: Rc<Cell<Option<[ConnId; 3]>>>,
}

impl Others {
    fn say(&self, conn: ConnId, words: &[&[u8]]) {
        let bytes = command(words).to_vec();
        let arrival = Arrival::Received { conn, bytes };
        self.arrivals.borrow_mut().push_back(arrival);
    }

    fn heard(&self) -> Vec<String> {
        self.heard.take()
    }
}

impl OtherClients for Others {
    fn poll(&mut self, listens: &dyn Fn(ConnId) -> bool) -> Option<Arrival> {
        if let Some(clients) = self.clients.get() {
            self.listened.set(clients.map(listens));
        }
        self.arrivals.borrow_mut().pop_front()
    }

    fn accepted(&mut self, conn: Option<ConnId>) {
        self.heard.borrow_mut().push(format!("{conn:?}"));
    }

    fn send(&mut self, _: ConnId, bytes: Bytes) -> Bytes {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        self.heard.borrow_mut().push(text);
        Bytes::new()
    }
}

const BUSY: &str = "-BUSY Redis is busy running a script. You can only call SCRIPT KILL or \
                    SHUTDOWN NOSAVE.\r\n";

/// A script of some turns of the interpreter; the clock makes it late at the first of them.
const LATE: &[u8] = b"redis.call('set', 'k', 'v') for i = 1, 3000000 do end return 'over'";

#[test]
fn script_that_is_late_by_the_clock_ends_with_its_answer() {
    let mut node = node();
    let others = Others::default();
    node.attend(others.clone());
    let (runner, other) = (node.accept(), node.accept());
    others.say(other, &[b"GET", b"k"]);
    others.say(other, &[b"SCRIPT", b"KILL"]);
    // Its requests wait for the script.
    others.say(runner, &[b"GET", b"k"]);
    let mut effects = Vec::new();
    let eval = command(&[b"EVAL", LATE, b"0"]);
    node.receive(runner, &eval, 0, &mut effects);
    let heard = others.heard().concat();
    let unkillable = heard.strip_prefix(BUSY).unwrap_or_default();
    assert!(unkillable.starts_with("-UNKILLABLE"), "{heard:?}");
    node.wake(0, &mut effects);
    assert_eq!(texts(&effects), ["$4\r\nover\r\n", "$1\r\nv\r\n"]);
    assert_eq!(say(&mut node, other, &[b"GET", b"k"]), "$1\r\nv\r\n");
}

#[test]
fn messages_of_a_script_arrive_before_it_ends() {
    let mut node = node();
    let others = Others::default();
    node.attend(others.clone());
    let [runner, subscriber, other] = [(); 3].map(|()| node.accept());
    say(&mut node, subscriber, &[b"SUBSCRIBE", b"c"]);
    let mut effects = Vec::new();
    let pause = command(&[b"CLIENT", b"PAUSE", b"1000", b"WRITE"]);
    let requests = [pause, command(&[b"PUBLISH", b"c", b"m"])].concat();
    node.receive(other, &requests, 0, &mut effects);
    let script = [b"redis.call('publish', 'c', 'n')", LATE].concat();
    let eval = command(&[b"EVAL", &script, b"0"]);
    node.receive(runner, &eval, 0, &mut effects);
    assert!(others.heard().is_empty());
    effects.clear();
    node.wake(1_000_000, &mut effects);
    let message = |text| format!("*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\n{text}\r\n");
    // So do the message and the reply of a client that came before it in the same turn.
    let heard = [message("m") + &message("n"), ":1\r\n".to_owned()];
    assert_eq!(others.heard(), heard);
    node.wake(1_000_000, &mut effects);
    assert_eq!(texts(&effects), ["$4\r\nover\r\n"]);
}

#[test]
fn a_request_that_came_in_parts_while_a_script_ran_costs_its_client_no_turn() {
    let mut node = node();
    let others = Others::default();
    node.attend(others.clone());
    let (runner, conn) = (node.accept(), node.accept());
    for part in [&b"GET "[..], b"k\r\n"] {
        let bytes = part.to_vec();
        let arrival = Arrival::Received { conn, bytes };
        others.arrivals.borrow_mut().push_back(arrival);
    }
    let eval = command(&[b"EVAL", LATE, b"0"]);
    node.receive(runner, &eval, 0, &mut Vec::new());
    assert_eq!(others.heard(), [BUSY]);
    assert_eq!(say(&mut node, conn, &[b"GET", b"k"]), "$1\r\nv\r\n");
}

#[test]
fn requests_of_a_client_that_disconnected_are_executed_after_a_sleep() {
    let mut node = node();
    let [sleeper, leaver, killed] = [(); 3].map(|()| node.accept());
    let mut effects = Vec::new();
    let sleep = command(&[b"DEBUG", b"SLEEP", b"0.1"]);
    node.receive(sleeper, &sleep, 0, &mut effects);
    let requests = [
        command(&[b"SET", b"k", b"v"]),
        command(&[b"BLPOP", b"q", b"0"]),
    ];
    node.receive(leaver, &requests.concat(), 10_000, &mut effects);
    node.closed(leaver);
    node.receive(
        killed,
        &command(&[b"SET", b"k", b"w"]),
        20_000,
        &mut effects,
    );
    node.disconnect(killed);
    assert!(effects.is_empty());
    node.wake(100_000, &mut effects);
    assert_eq!(texts(&effects), ["+OK\r\n"]);
    assert_eq!(say(&mut node, sleeper, &[b"GET", b"k"]), "$1\r\nv\r\n");
    // It does not wait for the list.
    say(&mut node, sleeper, &[b"RPUSH", b"q", b"1"]);
    assert_eq!(say(&mut node, sleeper, &[b"LLEN", b"q"]), ":1\r\n");
    let list = say(&mut node, sleeper, &[b"CLIENT", b"LIST"]);
    assert_eq!(list.matches(" addr=").count(), 1, "{list}");
}

#[test]
fn sleep_between_postponed_requests_does_not_cost_the_turn() {
    let mut node = node();
    let [sleeper, first, second] = [(); 3].map(|()| node.accept());
    let mut effects = Vec::new();
    let sleep = command(&[b"DEBUG", b"SLEEP", b"0.1"]);
    node.receive(sleeper, &sleep, 0, &mut effects);
    let requests = [sleep, command(&[b"SET", b"lock", b"first", b"NX"])].concat();
    node.receive(first, &requests, 1, &mut effects);
    let request = command(&[b"SET", b"lock", b"second", b"NX"]);
    node.receive(second, &request, 2, &mut effects);
    node.wake(100_000, &mut effects);
    node.wake(200_000, &mut effects);
    assert_eq!(
        say(&mut node, sleeper, &[b"GET", b"lock"]),
        "$5\r\nfirst\r\n"
    );
}

/// A sleep has held back a script. The first part of a request comes when the sleep is over but nobody has woken the
/// node, and the second while the script runs.
#[test]
fn parts_of_a_request_stay_in_order_around_a_script_that_a_sleep_held_back() {
    let mut node = node();
    let others = Others::default();
    node.attend(others.clone());
    let [sleeper, runner, conn] = [(); 3].map(|()| node.accept());
    let mut effects = Vec::new();
    let sleep = command(&[b"DEBUG", b"SLEEP", b"0.1"]);
    node.receive(sleeper, &sleep, 0, &mut effects);
    let eval = command(&[b"EVAL", LATE, b"0"]);
    node.receive(runner, &eval, 50_000, &mut effects);
    let bytes = b"T k\r\n".to_vec();
    let arrival = Arrival::Received { conn, bytes };
    others.arrivals.borrow_mut().push_back(arrival);
    node.receive(conn, b"GE", 200_000, &mut effects);
    // The first is the answer to the sleep.
    assert_eq!(others.heard(), ["+OK\r\n", BUSY]);
    node.wake(300_000, &mut effects);
    effects.clear();
    let get = command(&[b"GET", b"k"]);
    node.receive(conn, &get, 300_000, &mut effects);
    assert_eq!(texts(&effects), ["$1\r\nv\r\n"]);
}

#[test]
fn while_a_script_runs_neither_its_client_nor_a_long_request_is_heard() {
    let mut node = node();
    let others = Others::default();
    node.attend(others.clone());
    let clients = [(); 3].map(|()| node.accept());
    let [runner, long, other] = clients;
    others.clients.set(Some(clients));
    others.say(other, &[b"GET", b"k"]);
    let request = [&b"*2\r\n$4\r\nECHO\r\n$100000\r\n"[..], &[b'x'; 70_000]].concat();
    others.arrivals.borrow_mut().push_back(Arrival::Received {
        conn: long,
        bytes: request,
    });
    let mut effects = Vec::new();
    let eval = command(&[b"EVAL", LATE, b"0"]);
    node.receive(runner, &eval, 0, &mut effects);
    assert_eq!(others.listened.get(), [false, false, true]);
    assert_eq!(others.heard(), [BUSY]);
    // The rest of the request.
    let rest = [&[b'x'; 30_000][..], b"\r\n"].concat();
    node.receive(long, &rest, 0, &mut effects);
    node.wake(0, &mut effects);
    let reply = texts(&effects).pop().expect("a reply");
    assert!(reply.starts_with("$100000\r\nxxx"), "{reply:.20}");
}

#[test]
fn endless_script_is_ended_by_a_client_that_connects_meanwhile() {
    for body in [
        "while true do end",
        "while true do redis.call('ping') end",
        "while true do pcall(function() while true do end end) end",
        "return string.find(string.rep('a', 40), string.rep('a*', 20) .. 'b')",
    ] {
        let mut node = node();
        let others = Others::default();
        node.attend(others.clone());
        let (runner, other) = (node.accept(), node.accept());
        let connected = Arrival::Connected(Addresses::default());
        others.arrivals.borrow_mut().push_back(connected);
        others.say(other, &[b"SCRIPT", b"KILL"]);
        let mut effects = Vec::new();
        let eval = command(&[b"EVAL", body.as_bytes(), b"0"]);
        node.receive(runner, &eval, 0, &mut effects);
        assert_eq!(others.heard(), ["Some(ConnId(3))", "+OK\r\n"], "{body}");
        let reply = &texts(&effects)[0];
        assert!(reply.starts_with("-ERR Script killed by user"), "{reply}");
        assert_eq!(say(&mut node, other, &[b"PING"]), "+PONG\r\n");
    }
}

#[test]
fn endless_script_that_wrote_is_ended_with_the_process() {
    let mut node = node();
    let others = Others::default();
    node.attend(others.clone());
    let (runner, other) = (node.accept(), node.accept());
    others.say(other, &[b"SHUTDOWN", b"NOSAVE"]);
    let mut effects = Vec::new();
    let body = b"redis.call('set', 'k', 'v') while true do end";
    let eval = command(&[b"EVAL", body, b"0"]);
    node.receive(runner, &eval, 0, &mut effects);
    assert_eq!(effects.last(), Some(&Effect::Exit), "{effects:?}");
}

#[test]
fn short_script_lets_no_other_client_in() {
    let mut node = node();
    let others = Others::default();
    node.attend(others.clone());
    let (runner, other) = (node.accept(), node.accept());
    others.say(other, &[b"GET", b"k"]);
    let reply = say(&mut node, runner, &[b"EVAL", b"return 1", b"0"]);
    assert_eq!(reply, ":1\r\n");
    assert_eq!(others.heard(), [""; 0]);
}

fn say(node: &mut Node, conn: ConnId, words: &[&[u8]]) -> String {
    let mut effects = Vec::new();
    node.receive(conn, &command(words), 0, &mut effects);
    texts(&effects).concat()
}

fn texts(effects: &[Effect]) -> Vec<String> {
    let text = |effect: &Effect| match effect {
        Effect::Send { bytes, .. } => String::from_utf8_lossy(bytes).into_owned(),
        other => panic!("{other:?}"),
    };
    effects.iter().map(text).collect()
}
