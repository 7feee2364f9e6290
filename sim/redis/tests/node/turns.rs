//! A served node does not let clients with many costly requests keep it from the others.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use locklab_redis::endpoint::Now;
use locklab_redis::resp::command;
use locklab_redis::{Arrival, ConnId, Effect, Node, NodeConfig, OtherClients};

/// A clock that makes a node late at every reading. Every test, in a thread of its own, has one:
/// the readings of others would make its scripts busy.
fn clock() -> Now {
    thread_local! {
        static NOW_US: Cell<u64> = const { Cell::new(1_000_000) };
    }
    let now_us = NOW_US.replace(NOW_US.get() + 1_000_000);
    Now {
        wall_us: now_us,
        monotonic: Duration::from_micros(now_us),
    }
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
