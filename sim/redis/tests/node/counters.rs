//! Counters of INFO that cannot, or need not, be compared with a real server.

use locklab_redis::{ConnId, Effect, Files, Node, NodeConfig};

struct Server {
    node: Node,
    clients: [ConnId; 2],
    now_us: u64,
}

impl Server {
    fn start() -> Self {
        let mut node = Node::new(NodeConfig::default());
        Server {
            clients: [node.accept(), node.accept()],
            node,
            now_us: 1_000_000,
        }
    }

    /// Sends a line; returns what its client receives.
    fn say(&mut self, client: usize, line: &str) -> String {
        let conn = self.clients[client];
        let mut effects = Vec::new();
        let line = format!("{line}\r\n");
        self.node
            .receive(conn, line.as_bytes(), self.now_us, &mut effects);
        let mut said = String::new();
        for effect in effects {
            if let Effect::Send { conn: to, bytes } = effect
                && to == conn
            {
                said.push_str(&String::from_utf8_lossy(&bytes));
            }
        }
        said
    }

    /// The line of INFO that begins like this.
    #[track_caller]
    fn info(&mut self, section: &str, start: &str) -> String {
        let info = self.say(1, &format!("INFO {section}"));
        let line = info.lines().find(|line| line.starts_with(start));
        line.unwrap_or_else(|| panic!("no {start} in {info}"))
            .to_owned()
    }
}

#[test]
fn unblocking_with_an_error_counts_as_a_failed_call() {
    // As observed in 7.0.15, which also counts the failure for the client that unblocked it.
    let mut server = Server::start();
    server.say(0, "BLPOP l 0");
    assert!(
        server
            .info("commandstats", "cmdstat_blpop")
            .ends_with("calls=1,usec=0,usec_per_call=0.00,rejected_calls=0,failed_calls=0")
    );
    server.say(1, "CLIENT UNBLOCK 1 ERROR");
    for name in ["cmdstat_blpop:calls=1,", "cmdstat_client|unblock:calls=1,"] {
        let line = server.info("commandstats", name);
        assert!(line.ends_with("failed_calls=1"), "{line}");
    }
    assert_eq!(
        server.info("errorstats", "errorstat_UNBLOCKED"),
        "errorstat_UNBLOCKED:count=1"
    );
}

#[test]
fn tracked_keys_are_counted() {
    let mut server = Server::start();
    server.say(0, "CLIENT TRACKING on");
    server.say(0, "MGET a b");
    server.say(1, "CLIENT TRACKING on");
    server.say(1, "GET a");
    assert_eq!(
        server.info("clients", "tracking_clients"),
        "tracking_clients:2"
    );
    assert_eq!(
        server.info("stats", "tracking_total_keys"),
        "tracking_total_keys:2"
    );
    assert_eq!(
        server.info("stats", "tracking_total_items"),
        "tracking_total_items:3"
    );
}

#[test]
fn the_time_since_the_start_is_that_of_the_wall_clock() {
    let mut server = Server::start();
    server.now_us = 1_999_999;
    server.say(0, "PING");
    server.now_us = 100_000_000_000;
    assert_eq!(
        server.info("server", "uptime_in_seconds"),
        "uptime_in_seconds:99999"
    );
    assert_eq!(server.info("server", "uptime_in_days"), "uptime_in_days:1");
    let mut server = Server::start();
    server.node.load(&Files::default(), 500_000);
    server.now_us = 3_000_000;
    assert_eq!(
        server.info("server", "uptime_in_seconds"),
        "uptime_in_seconds:3"
    );
}

#[test]
fn the_errors_of_a_file_are_not_counted() {
    let mut node = Node::new(NodeConfig::default());
    node.configure("appendonly", "yes").expect("it may be set");
    let aof = b"*1\r\n$5\r\nNOSUC\r\n*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\nb\r\n".to_vec();
    let files = Files {
        aof,
        ..Files::default()
    };
    node.load(&files, 1_000_000);
    let mut server = Server {
        clients: [node.accept(), node.accept()],
        node,
        now_us: 1_000_000,
    };
    assert_eq!(
        server.info("stats", "total_error_replies"),
        "total_error_replies:0"
    );
    assert_eq!(
        server.info("stats", "total_commands_processed"),
        "total_commands_processed:1"
    );
}
