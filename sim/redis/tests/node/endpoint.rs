//! A node with its connections: the data buffered for a slow client, and when it is
//! disconnected.

use std::time::Duration;

use locklab_redis::endpoint::{self, Action, Endpoint, Expiry, Limits, MAX_SLEEP, Now};
use locklab_redis::{Addresses, ConnId, Node, NodeConfig};

const LIMITS: Limits = Limits {
    query_bytes: 1000,
    output_bytes: 2000,
    soft_bytes: 200,
    soft_for: Duration::from_secs(60),
    total_bytes: 3000,
    replication_bytes: 1 << 20,
};

/// GET answers with this many bytes, the head and the end of the reply included.
const REPLY_BYTES: usize = 300 + "$300\r\n\r\n".len();

fn endpoint(parameters: &[(&str, &str)]) -> Endpoint {
    let mut node = Node::new(NodeConfig::default());
    for (name, value) in parameters {
        node.configure(name, value).expect("they are sound");
    }
    Endpoint::new(node, LIMITS, Expiry::Always)
}

fn at(seconds: u64) -> Now {
    Now {
        wall_us: 1_000_000 + seconds * 1_000_000,
        monotonic: Duration::from_secs(seconds),
    }
}

/// A client whose socket accepts all data until it is set to be full.
struct Client {
    conn: ConnId,
    takes: usize,
}

impl Client {
    /// A client that has stored a value of 300 bytes, and stops reading.
    fn stalled(endpoint: &mut Endpoint) -> Self {
        let conn = accept(endpoint).expect("there is room");
        let mut client = Client {
            conn,
            takes: usize::MAX,
        };
        let value = "v".repeat(300);
        assert_eq!(
            client.send(endpoint, &format!("SET k {value}\r\n"), at(0)),
            []
        );
        client.takes = 0;
        client
    }

    /// Sends a text and lets the socket accept what it can; returns the other actions.
    fn send(&self, endpoint: &mut Endpoint, text: &str, now: Now) -> Vec<Action> {
        endpoint.receive(self.conn, text.as_bytes(), now);
        self.carry_out(endpoint)
    }

    fn carry_out(&self, endpoint: &mut Endpoint) -> Vec<Action> {
        let mut others = Vec::new();
        while let Some(action) = endpoint.poll() {
            match action {
                Action::Write { conn } if conn == self.conn => {
                    let len = endpoint.unwritten(conn).expect("something").len();
                    endpoint.wrote(conn, len.min(self.takes));
                }
                other => others.push(other),
            }
        }
        others
    }

    /// Lets the socket accept all unwritten data; returns the number of bytes.
    fn read_all(&self, endpoint: &mut Endpoint) -> usize {
        let mut read = 0;
        while let Some(bytes) = endpoint.unwritten(self.conn) {
            let len = bytes.len();
            endpoint.wrote(self.conn, len);
            read += len;
        }
        read
    }
}

fn accept(endpoint: &mut Endpoint) -> Option<ConnId> {
    endpoint.accept(Addresses::default(), at(0))
}

/// A client that reads everything.
fn accept_reading(endpoint: &mut Endpoint) -> Client {
    Client {
        conn: accept(endpoint).expect("there is room"),
        takes: usize::MAX,
    }
}

#[test]
fn unwritten_output_is_kept_in_order() {
    let mut endpoint = endpoint(&[]);
    let mut client = Client::stalled(&mut endpoint);
    client.takes = 10;
    assert_eq!(client.send(&mut endpoint, "GET k\r\n", at(0)), []);
    assert_eq!(client.send(&mut endpoint, "PING\r\n", at(0)), []);
    let rest = endpoint.unwritten(client.conn).expect("most of it").len();
    assert_eq!(rest, REPLY_BYTES - 10);
    assert_eq!(client.read_all(&mut endpoint), rest + "+PONG\r\n".len());
    assert_eq!(endpoint.poll(), None);
}

#[test]
fn a_client_that_reads_nothing_is_cut_off_at_the_hard_limit() {
    let mut endpoint = endpoint(&[]);
    let client = Client::stalled(&mut endpoint);
    for _ in 0..LIMITS.output_bytes / REPLY_BYTES {
        assert_eq!(client.send(&mut endpoint, "GET k\r\n", at(0)), []);
    }
    let close = Action::Close { conn: client.conn };
    assert_eq!(client.send(&mut endpoint, "GET k\r\n", at(0)), [close]);
    assert_eq!(endpoint.unwritten(client.conn), None);
    // The node has dropped the connection too.
    assert_eq!(client.send(&mut endpoint, "GET k\r\n", at(0)), []);
}

#[test]
fn single_reply_can_exceed_the_limit() {
    let mut endpoint = endpoint(&[]);
    let mut client = Client::stalled(&mut endpoint);
    let gets = "GET k\r\n".repeat(1 + LIMITS.output_bytes / REPLY_BYTES);
    // If its socket accepts enough immediately, it is not disconnected.
    client.takes = REPLY_BYTES;
    assert_eq!(client.send(&mut endpoint, &gets, at(0)), []);
    client.read_all(&mut endpoint);
    client.takes = 0;
    let close = Action::Close { conn: client.conn };
    assert_eq!(client.send(&mut endpoint, &gets, at(0)), [close]);
}

#[test]
fn client_may_exceed_the_soft_limit_for_a_while() {
    let mut endpoint = endpoint(&[]);
    let client = Client::stalled(&mut endpoint);
    assert_eq!(client.send(&mut endpoint, "GET k\r\n", at(0)), []);
    assert_eq!(client.send(&mut endpoint, "PING\r\n", at(60)), []);
    // Below the limit the time starts again.
    client.read_all(&mut endpoint);
    assert_eq!(client.send(&mut endpoint, "GET k\r\n", at(61)), []);
    assert_eq!(client.send(&mut endpoint, "PING\r\n", at(121)), []);
    let close = Action::Close { conn: client.conn };
    assert_eq!(client.send(&mut endpoint, "PING\r\n", at(122)), [close]);
}

#[test]
fn an_endless_request_ends_its_connection() {
    let mut endpoint = endpoint(&[]);
    let client = Client::stalled(&mut endpoint);
    let head = "*2\r\n$4\r\nECHO\r\n$2000\r\n";
    assert_eq!(client.send(&mut endpoint, head, at(0)), []);
    let most = "e".repeat(LIMITS.query_bytes - head.len());
    assert_eq!(client.send(&mut endpoint, &most, at(0)), []);
    let close = Action::Close { conn: client.conn };
    assert_eq!(client.send(&mut endpoint, "e", at(0)), [close]);
}

#[test]
fn arguments_of_incomplete_requests_count_with_their_places() {
    let mut endpoint = endpoint(&[]);
    let [one, two] = [(); 2].map(|()| accept_reading(&mut endpoint));
    // 600 bytes, and the places of a hundred arguments.
    let request = format!("*1000\r\n{}", "$0\r\n\r\n".repeat(100));
    assert_eq!(one.send(&mut endpoint, &request, at(0)), []);
    let close = Action::Close { conn: two.conn };
    assert_eq!(two.send(&mut endpoint, &request, at(0)), [close]);
}

#[test]
fn total_memory_is_limited_and_written_output_no_longer_counts() {
    let mut endpoint = endpoint(&[]);
    let [one, two] = [(); 2].map(|()| Client::stalled(&mut endpoint));
    for client in [&one, &two] {
        for _ in 0..4 {
            assert_eq!(client.send(&mut endpoint, "GET k\r\n", at(0)), []);
        }
    }
    one.read_all(&mut endpoint);
    for _ in 0..4 {
        assert_eq!(one.send(&mut endpoint, "GET k\r\n", at(0)), []);
    }
    assert_eq!(two.send(&mut endpoint, "GET k\r\n", at(0)), []);
    // Now "two" takes most.
    let close = Action::Close { conn: two.conn };
    assert_eq!(one.send(&mut endpoint, "GET k\r\n", at(0)), [close]);
    // That freed memory.
    assert_eq!(one.send(&mut endpoint, "GET k\r\n", at(0)), []);
}

#[test]
fn a_publisher_that_reads_stays_and_subscribers_that_do_not_are_cut_off() {
    let mut endpoint = endpoint(&[]);
    let stuck = [(); 4].map(|()| Client::stalled(&mut endpoint));
    for client in &stuck {
        assert_eq!(client.send(&mut endpoint, "SUBSCRIBE c\r\n", at(0)), []);
    }
    let publisher = accept_reading(&mut endpoint);
    let message = format!("PUBLISH c {}\r\n", "m".repeat(300));
    let mut cut = 0;
    for _ in 0..4 {
        let actions = publisher.send(&mut endpoint, &message, at(0));
        for action in actions {
            let Action::Close { conn } = action else {
                panic!("{action:?}");
            };
            assert_ne!(conn, publisher.conn);
            cut += 1;
        }
    }
    assert_eq!(cut, 2);
    assert!(endpoint.is_open(publisher.conn));
}

#[test]
fn a_large_message_is_counted_once_for_all_its_receivers() {
    let limits = Limits {
        output_bytes: 1 << 20,
        soft_bytes: 1 << 20,
        total_bytes: 200_000,
        ..Limits::default()
    };
    let mut endpoint = Endpoint::new(Node::new(NodeConfig::default()), limits, Expiry::Always);
    let stuck = [(); 100].map(|()| Client::stalled(&mut endpoint));
    for client in &stuck {
        client.send(&mut endpoint, "SUBSCRIBE c\r\n", at(0));
    }
    let publisher = accept_reading(&mut endpoint);
    let message = format!("PUBLISH c {}\r\n", "m".repeat(60_000));
    let mut send = || publisher.send(&mut endpoint, &message, at(0));
    assert_eq!([send(), send(), send()].concat(), []);
    // Without the 100 of them there is nothing to keep.
    assert_eq!(send().len(), 100);
}

#[test]
fn the_soft_limit_needs_no_further_output() {
    let mut endpoint = endpoint(&[]);
    let client = Client::stalled(&mut endpoint);
    assert_eq!(client.send(&mut endpoint, "GET k\r\n", at(3)), []);
    let due_us = at(63).wall_us + 1;
    assert_eq!(endpoint.next_wake_us(at(3)), Some(due_us));
    endpoint.wake(at(63));
    assert_eq!(client.carry_out(&mut endpoint), []);
    let monotonic = Duration::from_secs(63) + Duration::from_micros(1);
    let wall_us = due_us;
    endpoint.wake(Now { wall_us, monotonic });
    let close = Action::Close { conn: client.conn };
    assert_eq!(client.carry_out(&mut endpoint), [close]);
    assert_eq!(endpoint.next_wake_us(at(64)), None);
}

#[test]
fn the_queue_of_a_transaction_counts_as_input() {
    let mut endpoint = endpoint(&[]);
    let client = accept_reading(&mut endpoint);
    assert_eq!(client.send(&mut endpoint, "MULTI\r\n", at(0)), []);
    let set = format!("SET k {}\r\n", "v".repeat(300));
    assert_eq!(client.send(&mut endpoint, &set, at(0)), []);
    assert_eq!(
        client.send(&mut endpoint, "DISCARD\r\nMULTI\r\n", at(0)),
        []
    );
    assert_eq!(client.send(&mut endpoint, &set, at(0)), []);
    let close = Action::Close { conn: client.conn };
    assert_eq!(client.send(&mut endpoint, &set, at(0)), [close]);
}

#[test]
fn names_that_a_client_keeps_count_until_it_gives_them_up() {
    for (keep, give_up) in [
        ("SUBSCRIBE", "UNSUBSCRIBE\r\n"),
        ("PSUBSCRIBE", "PUNSUBSCRIBE\r\n"),
        ("WATCH", "UNWATCH\r\n"),
    ] {
        let mut endpoint = endpoint(&[]);
        let client = accept_reading(&mut endpoint);
        let name = |number: usize| format!("{keep} {number}{}\r\n", "n".repeat(250));
        for number in 0..2 {
            assert_eq!(client.send(&mut endpoint, &name(number), at(0)), []);
        }
        assert_eq!(client.send(&mut endpoint, give_up, at(0)), []);
        for number in 0..2 {
            assert_eq!(client.send(&mut endpoint, &name(number), at(0)), []);
        }
        let close = Action::Close { conn: client.conn };
        assert_eq!(
            client.send(&mut endpoint, &name(3), at(0)),
            [close],
            "{keep}"
        );
    }
}

#[test]
fn a_node_hands_over_much_output_before_it_makes_more() {
    let mut endpoint = Endpoint::new(
        Node::new(NodeConfig::default()),
        Limits::default(),
        Expiry::Always,
    );
    let client = accept_reading(&mut endpoint);
    let value = "v".repeat(6 << 20);
    client.send(&mut endpoint, &format!("SET k {value}\r\n"), at(0));
    // Ten replies of 6 MB; at most three exist at a time.
    endpoint.receive(client.conn, "GET k\r\n".repeat(10).as_bytes(), at(0));
    let mut rounds = 0;
    let mut read = 0;
    loop {
        while let Some(action) = endpoint.poll() {
            assert_eq!(action, Action::Write { conn: client.conn });
            let len = endpoint.unwritten(client.conn).expect("something").len();
            assert!(len < 20 << 20);
            endpoint.wrote(client.conn, len);
            read += len;
        }
        rounds += 1;
        let Some(wake_us) = endpoint.next_wake_us(at(0)) else {
            break;
        };
        assert_eq!(wake_us, at(0).wall_us);
        endpoint.wake(at(0));
    }
    assert_eq!(rounds, 4);
    assert!(read > 10 * (6 << 20));
}

#[test]
fn data_set_for_a_replica_may_exceed_the_limits_of_clients() {
    let mut endpoint = endpoint(&[("repl-diskless-sync-delay", "0")]);
    let replica = Client {
        conn: accept(&mut endpoint).expect("there is room"),
        takes: 0,
    };
    assert_eq!(replica.send(&mut endpoint, "PSYNC ? -1\r\n", at(0)), []);
    endpoint.wake(at(1));
    assert_eq!(replica.carry_out(&mut endpoint), []);
    let writer = Client {
        conn: accept(&mut endpoint).expect("there is room"),
        takes: usize::MAX,
    };
    let value = "v".repeat(700);
    for seconds in [2, 3, 4] {
        let set = format!("SET k {value}\r\n");
        assert_eq!(writer.send(&mut endpoint, &set, at(seconds)), []);
    }
    assert!(replica.read_all(&mut endpoint) > LIMITS.output_bytes);
}

/// A web page that makes a browser post to the port gets nothing executed.
#[test]
fn http_ends_the_connection() {
    for text in [
        "POST / HTTP/1.1\r\nSET pwned 1\r\n",
        "PING\r\nHost: x\r\nSET pwned 1\r\n",
    ] {
        let mut endpoint = endpoint(&[]);
        let client = accept_reading(&mut endpoint);
        let close = Action::Close { conn: client.conn };
        assert_eq!(client.send(&mut endpoint, text, at(0)), [close]);
        let other = Client::stalled(&mut endpoint);
        other.send(&mut endpoint, "DBSIZE\r\n", at(0));
        assert_eq!(
            endpoint.unwritten(other.conn).map(|reply| &reply[..]),
            Some(&b":1\r\n"[..])
        );
    }
}

#[test]
fn replies_before_the_end_are_still_written() {
    let mut endpoint = endpoint(&[]);
    let client = Client::stalled(&mut endpoint);
    let conn = client.conn;
    assert_eq!(client.send(&mut endpoint, "GET k\r\n", at(0)), []);
    let actions = client.send(&mut endpoint, "QUIT\r\n", at(0));
    assert_eq!(actions, [Action::StopReading { conn }]);
    assert!(endpoint.is_closing(conn));
    assert_eq!(
        client.read_all(&mut endpoint),
        REPLY_BYTES + "+OK\r\n".len()
    );
    assert_eq!(endpoint.poll(), Some(Action::Close { conn }));
    assert!(!endpoint.is_closing(conn));
}

#[test]
fn client_limit_has_room_again_when_a_client_leaves() {
    let mut endpoint = endpoint(&[("maxclients", "1")]);
    let first = accept(&mut endpoint).expect("there is room");
    assert_eq!(accept(&mut endpoint), None);
    endpoint.closed(first);
    assert!(accept(&mut endpoint).is_some());
}

#[test]
fn only_long_lived_nodes_wake_to_expire_unread_keys() {
    for (expiry, wakes) in [(Expiry::Always, true), (Expiry::WhenNoticed, false)] {
        let mut endpoint = Endpoint::new(Node::new(NodeConfig::default()), LIMITS, expiry);
        let conn = accept(&mut endpoint).expect("there is room");
        let client = Client {
            conn,
            takes: usize::MAX,
        };
        client.send(&mut endpoint, "SET k v PX 5000\r\n", at(0));
        assert_eq!(endpoint.next_wake_us(at(0)).is_some(), wakes, "{expiry:?}");
    }
}

/// As in Redis, whatever happens to the wall clock.
#[test]
fn debug_sleep_lasts_as_long_as_the_monotonic_clock_says() {
    let mut endpoint = endpoint(&[]);
    let conn = accept(&mut endpoint).expect("there is room");
    let client = Client { conn, takes: 0 };
    assert_eq!(client.send(&mut endpoint, "DEBUG SLEEP 4\r\n", at(0)), []);
    // It was set ahead, set back, and then stands still.
    for (wall_s, passed_s) in [(100, 1), (0, 2), (0, 3)] {
        let monotonic = Duration::from_secs(passed_s);
        let now = Now {
            monotonic,
            ..at(wall_s)
        };
        let left_s = 4 - passed_s;
        assert_eq!(endpoint.asleep_for(now), Some(Duration::from_secs(left_s)));
        let wake_us = at(wall_s + left_s).wall_us;
        assert_eq!(endpoint.next_wake_us(now), Some(wake_us));
        endpoint.wake(now);
        assert_eq!(endpoint.poll(), None);
    }
    let now = Now {
        monotonic: Duration::from_secs(4),
        ..at(0)
    };
    assert_eq!(endpoint.asleep_for(now), None);
    assert_eq!(endpoint.next_wake_us(now), Some(now.wall_us));
    endpoint.wake(now);
    assert_eq!(endpoint.poll(), Some(Action::Write { conn }));
}

#[test]
fn a_sleep_ends_when_something_is_due_and_is_never_long() {
    for (wake_us, wall_us, expected) in [
        (5, 9, Duration::ZERO),
        (5_000, 2_000, Duration::from_millis(3)),
        (5_000_000, 0, MAX_SLEEP),
    ] {
        assert_eq!(endpoint::sleep(wake_us, wall_us), expected);
    }
}

#[test]
fn nothing_is_left_of_connections_when_the_process_ends() {
    let mut endpoint = endpoint(&[]);
    let client = Client::stalled(&mut endpoint);
    client.send(&mut endpoint, "GET k\r\n", at(0));
    let actions = client.send(&mut endpoint, "SHUTDOWN NOW\r\n", at(0));
    let conn = client.conn;
    assert_eq!(actions, [Action::StopReading { conn }, Action::Exit]);
    assert_eq!(endpoint.unwritten(client.conn), None);
    assert_eq!(endpoint.next_wake_us(at(0)), None);
}
