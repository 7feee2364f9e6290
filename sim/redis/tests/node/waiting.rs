//! Actions of a node as its clock advances: ends of waits, pauses, sleeps, and keys that expire
//! without access.

use locklab_redis::{ConnId, Effect, Node, NodeConfig};

/// A node whose ticks are at the full tenths of a second: that of seed 0.
struct Server {
    node: Node,
    clients: Vec<ConnId>,
}

impl Server {
    fn with_clients(count: usize) -> Self {
        let mut node = Node::new(NodeConfig::default());
        let clients = (0..count).map(|_| node.accept()).collect();
        Server { node, clients }
    }

    /// The output and its recipients when a client sends a line at a time in milliseconds.
    fn say(&mut self, now_ms: u64, client: usize, line: &str) -> Vec<(usize, String)> {
        let mut effects = Vec::new();
        let line = format!("{line}\r\n");
        let conn = self.clients[client];
        self.node
            .receive(conn, line.as_bytes(), now_ms * 1000, &mut effects);
        self.sent(effects)
    }

    fn wake(&mut self, now_ms: u64) -> Vec<(usize, String)> {
        let mut effects = Vec::new();
        self.node.wake(now_ms * 1000, &mut effects);
        self.sent(effects)
    }

    fn next_wake_ms(&self) -> Option<u64> {
        self.node.next_wake_us().map(|us| us / 1000)
    }

    fn sent(&self, effects: Vec<Effect>) -> Vec<(usize, String)> {
        let text = |effect| match effect {
            Effect::Send { conn, bytes } => {
                let client = self.clients.iter().position(|known| *known == conn)?;
                Some((client, String::from_utf8_lossy(&bytes).into_owned()))
            }
            _ => None,
        };
        effects.into_iter().filter_map(text).collect()
    }
}

fn to(client: usize, text: &str) -> Vec<(usize, String)> {
    vec![(client, format!("{text}\r\n"))]
}

#[test]
fn clients_that_acknowledgements_let_go_on_go_on_from_the_latest_wait() {
    let mut server = Server::with_clients(4);
    server.say(0, 0, "PSYNC ? -1");
    for client in [2, 1, 3] {
        server.say(0, client, "SET k v");
        server.say(0, client, "WAIT 1 0");
        server.say(0, client, &format!("RPUSH q {client}"));
    }
    // The first of the two is enough for the first wait.
    server.say(1, 0, "REPLCONF ACK 100\r\nREPLCONF ACK 1000000");
    let queue = server.say(1, 1, "LRANGE q 0 -1");
    assert_eq!(queue, to(1, "*3\r\n$1\r\n3\r\n$1\r\n1\r\n$1\r\n2"));
}

#[test]
fn a_node_that_only_answers_never_asks_to_be_woken() {
    let mut server = Server::with_clients(2);
    for line in [
        "SET k v NX PX 100",
        "SUBSCRIBE a",
        "CONFIG SET notify-keyspace-events K$",
        "BLPOP l 0",
    ] {
        server.say(1000, usize::from(line.starts_with("SUB")), line);
        assert_eq!(server.next_wake_ms(), None, "{line}");
    }
}

#[test]
fn a_wait_ends_at_the_first_tick_after_its_time() {
    let mut server = Server::with_clients(2);
    assert_eq!(server.say(1000, 0, "BLPOP l 0.25"), []);
    // `now > timeout`, so not at 1250 itself.
    assert_eq!(server.next_wake_ms(), Some(1300));
    assert_eq!(server.wake(1250), []);
    assert_eq!(server.wake(1300), to(0, "*-1"));
    assert_eq!(server.next_wake_ms(), None);

    server.say(2000, 0, "BLPOP l 0.299");
    assert_eq!(server.next_wake_ms(), Some(2300));
    server.wake(2300);
    server.say(3000, 0, "BLPOP l 0.3");
    assert_eq!(server.next_wake_ms(), Some(3400));
}

#[test]
fn element_that_arrives_before_the_tick_of_the_timeout_is_taken() {
    let mut server = Server::with_clients(2);
    server.say(1000, 0, "BLPOP l 0.25");
    let sent = server.say(1260, 1, "RPUSH l x");
    assert_eq!(
        sent,
        [
            (0, "*2\r\n$1\r\nl\r\n$1\r\nx\r\n".to_owned()),
            (1, ":1\r\n".to_owned())
        ]
    );
    server.say(2000, 0, "BLPOP l 0.25");
    // Any other request gives the server a turn, in which it notices the timeout.
    assert_eq!(server.say(2260, 1, "PING").len(), 2);
}

#[test]
fn waits_follow_the_wall_clock_when_it_is_set() {
    let mut server = Server::with_clients(1);
    server.say(10_000, 0, "BLPOP l 5");
    assert_eq!(server.wake(14_000), []);
    assert_eq!(server.wake(2_000), []);
    assert_eq!(server.next_wake_ms(), Some(15_100));
    assert_eq!(server.wake(60_000), to(0, "*-1"));
}

#[test]
fn requests_behind_a_wait_follow_its_end() {
    let mut server = Server::with_clients(2);
    assert_eq!(server.say(1000, 0, "BLPOP l 0\r\nPING\r\nGET k"), []);
    assert_eq!(server.say(1000, 0, "PING x"), []);
    let sent = server.say(1001, 1, "RPUSH l x");
    let replies = "*2\r\n$1\r\nl\r\n$1\r\nx\r\n+PONG\r\n$-1\r\n$1\r\nx\r\n";
    assert_eq!(sent, [(0, replies.to_owned()), (1, ":1\r\n".to_owned())]);
}

#[test]
fn disconnected_client_no_longer_waits() {
    let mut server = Server::with_clients(2);
    server.say(1000, 0, "BLPOP l 1");
    server.node.closed(server.clients[0]);
    assert_eq!(server.next_wake_ms(), None);
    assert_eq!(server.say(1001, 1, "RPUSH l x"), to(1, ":1"));
    assert_eq!(server.say(1001, 1, "LLEN l"), to(1, ":1"));
}

#[test]
fn a_pause_holds_requests_back_and_loses_none() {
    let mut server = Server::with_clients(3);
    server.say(1000, 0, "CLIENT PAUSE 500 WRITE");
    assert_eq!(server.say(1100, 1, "SET k 1\r\nGET k"), []);
    assert_eq!(server.say(1100, 2, "GET k"), to(2, "$-1"));
    assert_eq!(server.say(1200, 2, "INCR k"), []);
    assert_eq!(server.next_wake_ms(), Some(1500));
    assert_eq!(
        server.wake(1500),
        [
            (1, "+OK\r\n$1\r\n1\r\n".to_owned()),
            (2, ":2\r\n".to_owned())
        ]
    );
}

/// For a lock that is who gets it.
#[test]
fn requests_that_a_pause_held_back_are_served_in_the_order_of_their_arrival() {
    let mut server = Server::with_clients(4);
    server.say(1000, 0, "CLIENT PAUSE 500 ALL");
    for client in [3, 1, 2] {
        let asked = format!("SET lock {client} NX");
        assert_eq!(server.say(1100 + client as u64, client, &asked), []);
    }
    server.wake(1500);
    assert_eq!(server.say(1600, 0, "GET lock"), to(0, "$1\r\n3"));
}

#[test]
fn debug_sleep_delays_requests_that_arrive_meanwhile() {
    let mut server = Server::with_clients(3);
    assert_eq!(
        server.say(1000, 0, "PING\r\nDEBUG SLEEP 0.25\r\nPING x"),
        []
    );
    assert_eq!(server.say(1100, 2, "SET k 2"), []);
    assert_eq!(server.say(1200, 1, "GET k"), []);
    assert_eq!(server.next_wake_ms(), Some(1250));
    let mut sent = server.wake(1250);
    sent.sort();
    assert_eq!(
        sent,
        [
            (0, "+PONG\r\n+OK\r\n$1\r\nx\r\n".to_owned()),
            (1, "$1\r\n2\r\n".to_owned()),
            (2, "+OK\r\n".to_owned()),
        ]
    );
}

#[test]
fn an_expired_key_is_heard_of_at_the_next_tick() {
    let mut server = Server::with_clients(2);
    server.say(1000, 0, "CONFIG SET notify-keyspace-events Ex");
    server.say(1000, 0, "SET k v PX 120");
    assert_eq!(server.next_wake_ms(), None, "nobody would hear of it");
    server.say(1000, 1, "SUBSCRIBE __keyevent@0__:expired");
    assert_eq!(server.next_wake_ms(), Some(1200));
    let message = "*3\r\n$7\r\nmessage\r\n$22\r\n__keyevent@0__:expired\r\n$1\r\nk";
    assert_eq!(server.wake(1200), to(1, message));
    assert_eq!(server.next_wake_ms(), None);
}

#[test]
fn an_expired_key_of_any_database_is_heard_of_at_the_next_tick() {
    let mut server = Server::with_clients(2);
    server.say(1000, 0, "CONFIG SET notify-keyspace-events Ex");
    server.say(1000, 1, "PSUBSCRIBE *");
    for request in [
        "SET k v PX 320",
        "SELECT 9",
        "SET k v PX 120",
        "SET j v PX 110",
        "SELECT 2",
        "SET k v PX 150",
        "SELECT 3",
    ] {
        server.say(1000, 0, request);
    }
    assert_eq!(server.next_wake_ms(), Some(1200));
    // Database by database, and there by time.
    let message = |db, key| {
        format!(
            "*4\r\n$8\r\npmessage\r\n$1\r\n*\r\n$22\r\n__keyevent@{db}__:expired\r\n$1\r\n{key}"
        )
    };
    let messages = [(2, "k"), (9, "j"), (9, "k")].map(|(db, key)| message(db, key));
    assert_eq!(server.wake(1200), to(1, &messages.join("\r\n")));
    assert_eq!(server.next_wake_ms(), Some(1400));
    assert_eq!(server.wake(1400), to(1, &message(0, "k")));
    assert_eq!(server.next_wake_ms(), None);
}

#[test]
fn expired_keys_are_not_counted_after_the_tick_that_would_have_found_them() {
    let mut server = Server::with_clients(1);
    server.say(1000, 0, "SET k v PX 120");
    assert_eq!(server.say(1150, 0, "DBSIZE"), to(0, ":1"));
    assert_eq!(server.say(1199, 0, "DBSIZE"), to(0, ":1"));
    assert_eq!(server.say(1200, 0, "DBSIZE"), to(0, ":0"));
    // Nor those of other databases.
    server.say(1200, 0, "SELECT 3");
    server.say(1200, 0, "SET k v PX 50");
    server.say(1200, 0, "SELECT 0");
    let info = server.say(1299, 0, "INFO keyspace");
    assert!(info[0].1.contains("db3:keys=1,expires=1"), "{info:?}");
    let info = server.say(1300, 0, "INFO keyspace");
    assert!(!info[0].1.contains("db3"), "{info:?}");
}

#[test]
fn expiry_cycle_deletes_expired_keys_earliest_first() {
    let mut server = Server::with_clients(2);
    server.say(1000, 0, "CONFIG SET notify-keyspace-events Ex");
    server.say(1000, 1, "SUBSCRIBE __keyevent@0__:expired");
    for index in 0..100 {
        server.say(1000, 0, &format!("SET {index} v PX 1000000"));
    }
    // Changed, removed and restored deadlines count with their current values.
    for request in [
        "SET a v PX 80",
        "SET b v PX 50",
        "SET c v PX 60",
        "SET d v PX 70",
        "PEXPIRE a 90",
        "PERSIST b",
        "SET d w KEEPTTL",
        "SET 7 v PX 10",
        "SET f v PX 20",
        "PERSIST f",
        "SADD s x",
        "PEXPIRE s 30",
        "SREM s x",
        "SADD s y",
    ] {
        server.say(1000, 0, request);
    }
    let heard: String = server
        .wake(1100)
        .into_iter()
        .map(|(_, text)| text)
        .collect();
    let expired: Vec<&str> = heard
        .split("__:expired\r\n")
        .skip(1)
        .filter_map(|message| message.split("\r\n").nth(1))
        .collect();
    assert_eq!(expired, ["7", "c", "d", "a"]);
    assert_eq!(server.say(1100, 0, "DBSIZE"), to(0, ":102"));
}

#[test]
fn driver_can_wake_a_node_for_expired_keys() {
    let mut node = Node::new(NodeConfig::default());
    let conn = node.accept();
    let mut effects = Vec::new();
    let mut say = |node: &mut Node, ms: u64, request: &str| {
        let request = format!("{request}\r\n");
        node.receive(conn, request.as_bytes(), ms * 1000, &mut effects);
    };
    say(&mut node, 1000, "SET k v PX 120");
    assert_eq!(node.next_wake_us(), None);
    assert_eq!(node.next_expiry_us(), Some(1_200_000));
    node.wake(1_200_000, &mut Vec::new());
    assert_eq!(node.next_expiry_us(), None);
    say(&mut node, 1200, "SELECT 5");
    say(&mut node, 1200, "SET k v PX 120");
    say(&mut node, 1200, "SELECT 0");
    assert_eq!(node.next_expiry_us(), Some(1_400_000));
    node.wake(1_400_000, &mut Vec::new());
    assert_eq!(node.next_expiry_us(), None);
    // A replica waits for its master's DEL.
    say(&mut node, 1400, "SET k v PX 120");
    say(&mut node, 1400, "REPLICAOF 127.0.0.1 1");
    assert_eq!(node.next_expiry_us(), None);
}

#[test]
fn clock_step_back_does_not_restore_keys_deleted_by_a_cycle() {
    let mut server = Server::with_clients(1);
    server.say(1000, 0, "SET k v PX 50");
    server.say(1200, 0, "PING");
    assert_eq!(server.say(1020, 0, "GET k"), to(0, "$-1"));
}

#[test]
fn shutdown_is_for_the_driver_to_carry_out() {
    let mut node = Node::new(NodeConfig::default());
    let conn = node.accept();
    let mut effects = Vec::new();
    node.receive(conn, b"SHUTDOWN NOSAVE\r\nPING\r\n", 0, &mut effects);
    assert_eq!(effects, [Effect::Close { conn }, Effect::Exit]);
}

#[test]
fn shutdown_checks_ten_times_a_second_whether_the_replica_has_everything() {
    let mut node = Node::new(NodeConfig::default());
    let [asker, writer, replica] = [(); 3].map(|()| node.accept());
    let mut say = |now_ms: u64, conn, line: &str| {
        let mut effects = Vec::new();
        let line = format!("{line}\r\n");
        node.receive(conn, line.as_bytes(), now_ms * 1000, &mut effects);
        let wake_ms = node.next_wake_us().map(|us| us / 1000);
        (effects, wake_ms)
    };
    let sends = |conn, text: &'static str| {
        let bytes = text.into();
        vec![Effect::Send { conn, bytes }]
    };
    say(900, asker, "CONFIG SET repl-diskless-sync-delay 0");
    say(910, replica, "PSYNC ? -1");
    say(920, writer, "SET k v");
    let (_, wake_ms) = say(1010, asker, "SHUTDOWN NOSAVE");
    assert_eq!(wake_ms, Some(1100));
    // In this case Redis crashes.
    let (effects, _) = say(1020, writer, "CLIENT UNBLOCK 1");
    let unblocked = "-UNBLOCKED client unblocked via CLIENT UNBLOCK\r\n";
    let told = [sends(writer, ":1\r\n"), sends(asker, unblocked)].concat();
    assert_eq!(effects.len(), told.len());
    assert!(told.iter().all(|effect| effects.contains(effect)));
    // SELECT, SET, and the request for the replica's offset.
    let (effects, wake_ms) = say(1050, replica, "REPLCONF ACK 87");
    assert_eq!((effects, wake_ms), (vec![], Some(1100)));
    let (effects, wake_ms) = say(1100, writer, "SET k lost");
    assert_eq!((effects, wake_ms), (vec![Effect::Exit], None));
    let (effects, _) = say(1110, asker, "GET k");
    assert_eq!(effects, [Effect::Exit]);
}
