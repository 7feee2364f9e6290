//! Sentinels over real TCP: a client that asks for the master gets a new one after a failure.

use std::io::Write;

use crate::{Served, until};

/// A master, two replicas and three sentinels that know each other.
fn cluster() -> Served {
    let options = [
        "--replicas",
        "2",
        "--sentinels",
        "3",
        "--down-after-ms",
        "400",
    ];
    let served = Served::with_roles(
        &options,
        &[
            "master mymaster",
            "replica of 0",
            "replica of 0",
            "sentinel",
            "sentinel",
            "sentinel",
        ],
    );
    for sentinel in SENTINELS {
        until(
            &served.port(sentinel),
            &["SENTINEL", "MASTER", "mymaster"],
            |said| {
                let fields: Vec<&str> = said.lines().collect();
                let is = |name, value| fields.windows(2).any(|two| two == [name, value]);
                is("num-slaves", "2") && is("num-other-sentinels", "2")
            },
        );
    }
    served
}

const SENTINELS: [usize; 3] = [3, 4, 5];

impl Served {
    /// The master that a sentinel reports, once it is no longer `old`.
    fn new_master(&self, sentinel: usize, old: usize) -> usize {
        let words = ["SENTINEL", "GET-MASTER-ADDR-BY-NAME", "mymaster"];
        let said = until(&self.port(sentinel), &words, |said| {
            !said.contains(&self.port(old))
        });
        let known = |server: &usize| said == format!("127.0.0.1\n{}\n", self.port(*server));
        (0..3).find(known).expect("one of the nodes")
    }
}

#[test]
fn a_master_that_was_shut_down_is_replaced() {
    let served = cluster();
    assert_eq!(served.redis_cli(0, &["SET", "lock", "c1"]), "OK\n");
    assert_eq!(served.redis_cli(0, &["WAIT", "2", "0"]), "2\n");
    served.redis_cli(0, &["SHUTDOWN", "NOSAVE"]);
    let master = served.new_master(SENTINELS[0], 0);
    for sentinel in SENTINELS {
        assert_eq!(served.new_master(sentinel, 0), master);
    }
    assert_eq!(served.redis_cli(master, &["GET", "lock"]), "c1\n");
    assert_eq!(served.redis_cli(master, &["SET", "lock", "c2"]), "OK\n");
    // The other replica follows the new master.
    let port = served.port(master);
    until(&served.port(3 - master), &["ROLE"], |said| {
        said.contains(&port) && said.contains("connected")
    });
    until(&served.port(3 - master), &["GET", "lock"], |said| {
        said == "c2\n"
    });
}

#[test]
fn master_that_slept_returns_as_a_replica_without_its_later_writes() {
    let served = cluster();
    let mut sleeper = served.connect(0);
    sleeper.check("SET lock c1\r\n", "+OK\r\n");
    sleeper.check("WAIT 2 0\r\n", ":2\r\n");
    sleeper.send(b"DEBUG SLEEP 4\r\nSET lock c0\r\n");
    let master = served.new_master(SENTINELS[1], 0);
    assert_eq!(served.redis_cli(master, &["SET", "lock", "c2"]), "OK\n");
    // It is still a master when it resumes, and accepts a write that is lost.
    sleeper.expect("+OK\r\n+OK\r\n");
    let port = served.port(master);
    until(&served.port(0), &["ROLE"], |said| {
        said.starts_with("slave") && said.contains(&port) && said.contains("connected")
    });
    assert_eq!(served.redis_cli(0, &["GET", "lock"]), "c2\n");
}

#[test]
fn failover_can_be_requested() {
    let served = cluster();
    let asked = ["SENTINEL", "FAILOVER", "mymaster"];
    assert_eq!(served.redis_cli(SENTINELS[2], &asked), "OK\n");
    let master = served.new_master(SENTINELS[2], 0);
    assert!(served.redis_cli(master, &["ROLE"]).starts_with("master\n"));
}

#[test]
fn each_node_has_a_name_for_sentinels() {
    let served = Served::with_roles(
        &["--nodes", "2", "--replicas", "1", "--sentinels", "1"],
        &[
            "master mymaster",
            "master mymaster2",
            "replica of 0",
            "replica of 1",
            "sentinel",
        ],
    );
    for (name, node) in [("mymaster", 0), ("mymaster2", 1)] {
        let said = served.redis_cli(4, &["SENTINEL", "GET-MASTER-ADDR-BY-NAME", name]);
        assert_eq!(said, format!("127.0.0.1\n{}\n", served.port(node)));
    }
}

/// Requests that never end, and invalid ones.
#[test]
fn hostile_clients_do_not_take_a_sentinel_down() {
    let roles = ["master mymaster", "replica of 0", "sentinel"];
    let served = Served::with_roles(&["--replicas", "1", "--sentinels", "1"], &roles);
    for request in ["*1\r\n", "$1\r\nx\r\n", "x"] {
        let mut client = served.connect(2);
        client.send(b"*1000000\r\n$100000000\r\n");
        let piece = request.repeat(10_000);
        let taken = (0..2000).take_while(|_| client.0.write_all(piece.as_bytes()).is_ok());
        assert!(taken.count() < 2000, "{request:?}: it takes all");
        served
            .connect(2)
            .check("*1\r\n$4\r\nPING\r\nPING\r\n", "+PONG\r\n+PONG\r\n");
    }
    let mut client = served.connect(1);
    client.send("*1\r\n".repeat(1000).as_bytes());
    assert_eq!(
        client.rest(),
        b"-ERR Protocol error: expected '$', got '*'\r\n"
    );
}
