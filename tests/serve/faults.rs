//! Faults while nodes are served, as a client of the control port orders them.

use std::io::{ErrorKind, Read as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::{Client, Served, until};

/// Two nodes and the control port.
const CONTROL: usize = 2;

fn two_nodes(options: &[&str]) -> Served {
    let options = [&["--nodes", "2", "--control", "0"], options].concat();
    Served::with_roles(&options, &["master", "master", "control"])
}

impl Served {
    /// Carries out a command on the control port.
    #[track_caller]
    fn order(&self, server: usize, command: &str) {
        let words: Vec<&str> = command.split(' ').collect();
        assert_eq!(self.redis_cli(server, &words), "OK\n", "{command}");
    }
}

impl Client {
    /// Nothing has arrived.
    #[track_caller]
    fn expect_nothing_yet(&mut self) {
        self.0.set_nonblocking(true).expect("a socket");
        let read = self.0.read(&mut [0]).map_err(|error| error.kind());
        assert_eq!(read, Err(ErrorKind::WouldBlock));
        self.0.set_nonblocking(false).expect("a socket");
    }

    /// The server has closed the connection.
    #[track_caller]
    fn expect_end(&mut self) {
        let read = self.0.read(&mut [0]).map_err(|error| error.kind());
        assert_eq!(read, Ok(0));
    }

    /// What the node knows of this connection.
    fn info(&mut self) -> String {
        self.send(b"CLIENT INFO\r\nPING\r\n");
        let mut bytes = Vec::new();
        while !bytes.ends_with(b"+PONG\r\n") {
            let mut byte = [0];
            self.0.read_exact(&mut byte).expect("a reply");
            bytes.extend(byte);
        }
        String::from_utf8(bytes).expect("UTF-8")
    }

    #[track_caller]
    fn expect_reset(&mut self) {
        let read = self.0.read(&mut [0]).map_err(|error| error.kind());
        assert_eq!(read, Err(ErrorKind::ConnectionReset));
    }
}

#[test]
fn a_step_of_a_clock_ends_leases_on_this_node_alone() {
    let served = two_nodes(&[]);
    for node in [0, 1] {
        let set = ["SET", "lock", "c1", "PX", "10000"];
        assert_eq!(served.redis_cli(node, &set), "OK\n");
    }
    served.order(CONTROL, "LAB.CLOCK n1 STEP +11s");
    assert_eq!(served.redis_cli(0, &["GET", "lock"]), "\n");
    assert_eq!(served.redis_cli(1, &["GET", "lock"]), "c1\n");
}

#[test]
fn a_clock_may_stand_still() {
    let served = two_nodes(&[]);
    served.order(CONTROL, "LAB.CLOCK n1 RATE 0");
    let mut client = served.connect(0);
    client.check("SET lock c1 PX 5\r\n", "+OK\r\n");
    std::thread::sleep(Duration::from_millis(10));
    client.check("EXISTS lock\r\n", ":1\r\n");
}

#[test]
fn a_paused_node_answers_afterwards_and_another_meanwhile() {
    let served = two_nodes(&[]);
    let (mut first, mut second) = (served.connect(0), served.connect(1));
    served.order(CONTROL, "LAB.PAUSE n1 1h");
    first.send(b"PING\r\n");
    second.check("PING\r\n", "+PONG\r\n");
    served.connect(1).check("PING\r\n", "+PONG\r\n");
    first.expect_nothing_yet();
    served.order(CONTROL, "LAB.PAUSE n1 0");
    first.expect("+PONG\r\n");
    let start = Instant::now();
    served.order(CONTROL, "LAB.PAUSE n1 100");
    first.check("PING\r\n", "+PONG\r\n");
    assert!(start.elapsed() >= Duration::from_millis(100));
}

#[test]
fn latency_delays_requests_and_replies() {
    let served = two_nodes(&[]);
    let mut client = served.connect(0);
    client.check("PING\r\n", "+PONG\r\n");
    served.order(CONTROL, "LAB.LATENCY n1 40");
    let start = Instant::now();
    client.check("PING\r\n", "+PONG\r\n");
    assert!(start.elapsed() >= Duration::from_millis(80));
}

/// The request is under way for a minute, and the node has not seen it.
#[test]
fn latency_may_delay_requests_alone() {
    let served = two_nodes(&[]);
    let mut client = served.connect(0);
    client.check("PING\r\n", "+PONG\r\n");
    served.order(CONTROL, "LAB.LATENCY n1 1m TO");
    client.send(b"SET lock c1\r\n");
    served.order(CONTROL, "LAB.LATENCY n1 0");
    assert_eq!(served.redis_cli(0, &["GET", "lock"]), "\n");
    client.expect_nothing_yet();
}

/// The replica gets what is written at once, and its acknowledgement comes late.
#[test]
fn latency_may_delay_replies_alone() {
    let options = ["--replicas", "1", "--control", "0"];
    let served = Served::with_roles(&options, &["master", "replica of 0", "control"]);
    let mut client = served.connect(0);
    client.check("SET lock c1\r\nWAIT 1 0\r\n", "+OK\r\n:1\r\n");
    served.order(2, "LAB.LATENCY n1r1 1m FROM");
    client.check("SET lock c2\r\nWAIT 1 50\r\n", "+OK\r\n:0\r\n");
    served.order(2, "LAB.HEAL");
    until(&served.port(1), &["GET", "lock"], |said| said == "c2\n");
}

/// The two directions are two faults: the end of one leaves the other.
#[test]
fn latency_of_one_direction_leaves_the_other() {
    let served = two_nodes(&[]);
    let mut client = served.connect(0);
    client.check("PING\r\n", "+PONG\r\n");
    served.order(CONTROL, "LAB.LATENCY n1 40 TO");
    served.order(CONTROL, "LAB.LATENCY n1 30 FROM");
    served.order(CONTROL, "LAB.LATENCY n1 0 FROM");
    let start = Instant::now();
    client.check("PING\r\n", "+PONG\r\n");
    assert!(start.elapsed() >= Duration::from_millis(40));
}

#[test]
fn a_connection_survives_a_partition_and_gets_its_reply() {
    let served = two_nodes(&[]);
    let mut client = served.connect(0);
    client.check("PING\r\n", "+PONG\r\n");
    served.order(CONTROL, "LAB.PARTITION n1");
    client.send(b"SET lock c1\r\n");
    let mut newcomer = served.connect(0);
    newcomer.send(b"PING\r\n");
    served.connect(1).check("PING\r\n", "+PONG\r\n");
    client.expect_nothing_yet();
    newcomer.expect_nothing_yet();
    served.order(CONTROL, "LAB.HEAL n1");
    client.expect("+OK\r\n");
    served.connect(0).check("GET lock\r\n", "$2\r\nc1\r\n");
    newcomer.expect("+PONG\r\n");
}

#[test]
fn a_partition_may_spare_clients() {
    let options = ["--replicas", "1", "--control", "0"];
    let served = Served::with_roles(&options, &["master", "replica of 0", "control"]);
    let mut client = served.connect(0);
    client.check("SET lock c1\r\nWAIT 1 0\r\n", "+OK\r\n:1\r\n");
    served.order(2, "LAB.PARTITION n1r1 EXCEPT clients");
    client.check("SET lock c2\r\nWAIT 1 50\r\n", "+OK\r\n:0\r\n");
    assert_eq!(served.redis_cli(1, &["GET", "lock"]), "c1\n");
    served.order(2, "LAB.HEAL");
    until(&served.port(1), &["GET", "lock"], |said| said == "c2\n");
}

/// The node has the client's own socket before the first fault, and the proxy's during one; of the
/// connection it sees the same.
#[test]
fn a_node_serves_its_clients_directly_while_no_fault_is_in_force() {
    let served = two_nodes(&[]);
    let (mut client, mut other) = (served.connect(0), served.connect(1));
    let address = |client: &Client| format!(" addr={} ", client.0.local_addr().expect("a socket"));
    assert!(client.info().contains(&address(&client)));
    served.order(CONTROL, "LAB.LATENCY n1 1");
    assert!(client.info().contains(&address(&client)));
    other.check("PING\r\n", "+PONG\r\n");
    let mut meanwhile = served.connect(0);
    assert!(!meanwhile.info().contains(&address(&meanwhile)));
    served.order(CONTROL, "LAB.HEAL");
    let mut afterwards = served.connect(0);
    assert!(afterwards.info().contains(&address(&afterwards)));
    meanwhile.check("PING\r\n", "+PONG\r\n");
}

/// One client's requests are in its socket, and another's replies in the node: it has not read them.
#[test]
fn what_is_under_way_at_the_first_fault_arrives_once() {
    let served = two_nodes(&[]);
    let (mut client, mut reader) = (served.connect(0), served.connect(0));
    let value = "v".repeat(1 << 20);
    let set = format!(
        "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n${}\r\n{value}\r\n",
        value.len()
    );
    reader.check(&set, "+OK\r\n");
    for number in 0..20 {
        reader.send(format!("GET k\r\nECHO {number:02}\r\n").as_bytes());
    }
    client.check("PING\r\n", "+PONG\r\n");
    served.order(CONTROL, "LAB.PAUSE n1 1h");
    let requests: String = (1..=2000)
        .map(|number| format!("INCR i\r\nECHO {number}\r\n"))
        .collect();
    client.send(requests.as_bytes());
    served.order(CONTROL, "LAB.LATENCY n1 1");
    client.send(b"INCR i\r\n");
    served.order(CONTROL, "LAB.PAUSE n1 0");
    for number in 1..=2000 {
        let digits = number.to_string().len();
        client.expect(&format!(":{number}\r\n${digits}\r\n{number}\r\n"));
    }
    client.expect(":2001\r\n");
    for number in 0..20 {
        reader.expect(&format!(
            "${}\r\n{value}\r\n$2\r\n{number:02}\r\n",
            value.len()
        ));
    }
}

/// Only what is sent afterwards is late, although the node has seen neither. Several times: whether it has been read when
/// the fault begins is chance.
#[test]
fn what_was_sent_before_the_first_fault_is_not_late() {
    for _ in 0..8 {
        let served = two_nodes(&[]);
        let mut client = served.connect(0);
        client.check("PING\r\n", "+PONG\r\n");
        served.order(CONTROL, "LAB.PAUSE n1 1h");
        client.send(b"INCR i\r\n");
        served.order(CONTROL, "LAB.LATENCY n1 1h TO");
        client.send(b"INCR i\r\n");
        served.order(CONTROL, "LAB.PAUSE n1 0");
        client.expect(":1\r\n");
        served.order(CONTROL, "LAB.HEAL");
        served.connect(0).check("GET i\r\n", "$1\r\n1\r\n");
    }
}

/// A paused node has not accepted it.
#[test]
fn a_fault_strikes_a_connection_that_waits_for_its_node() {
    let served = two_nodes(&[]);
    served.connect(0).check("PING\r\n", "+PONG\r\n");
    served.order(CONTROL, "LAB.PAUSE n1 1h");
    let mut newcomer = served.connect(0);
    served.order(CONTROL, "LAB.RESET n1");
    newcomer.expect_reset();
    served.order(CONTROL, "LAB.PAUSE n1 0");
    served.connect(0).check("PING\r\n", "+PONG\r\n");
}

#[test]
fn a_reset_ends_connections_and_no_more() {
    let served = two_nodes(&[]);
    let (mut first, mut second) = (served.connect(0), served.connect(1));
    first.check("SET lock c1\r\n", "+OK\r\n");
    second.check("PING\r\n", "+PONG\r\n");
    served.order(CONTROL, "LAB.RESET n1");
    first.expect_reset();
    second.check("PING\r\n", "+PONG\r\n");
    assert_eq!(served.redis_cli(0, &["GET", "lock"]), "c1\n");
}

#[test]
fn a_crash_is_silent_and_takes_what_is_not_on_disk() {
    for (persistence, kept) in [("none", "\n"), ("aof-always", "c1\n")] {
        let served = two_nodes(&["--persistence", persistence]);
        let (mut first, mut second) = (served.connect(0), served.connect(1));
        first.check("SET lock c1\r\n", "+OK\r\n");
        served.order(CONTROL, "LAB.CRASH n1");
        first.send(b"GET lock\r\n");
        second.check("PING\r\n", "+PONG\r\n");
        first.expect_nothing_yet();
        served.order(CONTROL, "LAB.RESTART n1");
        first.expect_reset();
        assert_eq!(served.redis_cli(0, &["GET", "lock"]), kept);
    }
}

/// While the clock stands still, no second begins in which the file would be synced.
#[test]
fn a_crash_takes_what_a_second_has_not_synced() {
    let served = two_nodes(&["--persistence", "aof-everysec"]);
    served.order(CONTROL, "LAB.CLOCK n1 RATE 0");
    let mut client = served.connect(0);
    // The first write may be in a new second, and is synced then, with all that comes with it.
    client.check("SET synced v\r\n", "+OK\r\n");
    client.check("SET lock c1\r\n", "+OK\r\n");
    served.order(CONTROL, "LAB.RESTART n1");
    assert_eq!(served.redis_cli(0, &["GET", "lock"]), "\n");
}

/// While the clock stands still, nothing is synced; what was written is in the kernel, which goes on.
#[test]
fn a_kill_takes_nothing_that_was_written_and_peers_hear_of_it() {
    for (persistence, kept) in [("none", "\n"), ("aof-everysec", "c1\n")] {
        let served = two_nodes(&["--persistence", persistence]);
        served.order(CONTROL, "LAB.CLOCK n1 RATE 0");
        let (mut first, mut second) = (served.connect(0), served.connect(1));
        first.check("SET synced v\r\n", "+OK\r\n");
        first.check("SET lock c1\r\n", "+OK\r\n");
        served.order(CONTROL, "LAB.KILL n1");
        first.expect_end();
        second.check("PING\r\n", "+PONG\r\n");
        let address = format!("127.0.0.1:{}", served.port(0));
        let refused = TcpStream::connect(&address)
            .map(drop)
            .map_err(|error| error.kind());
        assert_eq!(refused, Err(ErrorKind::ConnectionRefused));
        let servers = served.redis_cli(CONTROL, &["LAB.SERVERS"]);
        assert!(servers.contains("(killed)"), "{servers}");
        let again = served.redis_cli(CONTROL, &["LAB.KILL", "n1"]);
        assert_eq!(again.trim(), "ERR n1 was killed; LAB.RESTART n1 starts it");
        served.order(CONTROL, "LAB.RESTART n1");
        assert_eq!(served.redis_cli(0, &["GET", "lock"]), kept);
    }
}

#[test]
fn a_crash_of_the_master_makes_sentinels_promote_its_replica() {
    let roles = [
        "master mymaster",
        "replica of 0",
        "sentinel",
        "sentinel",
        "control",
    ];
    let options = ["--replicas", "1", "--sentinels", "2"];
    let options = [&options[..], &["--down-after-ms", "300", "--control", "0"]].concat();
    let served = Served::with_roles(&options, &roles);
    let sentinel = served.port(2);
    let other = ["SENTINEL", "SENTINELS", "mymaster"];
    let known = until(&sentinel, &other, |said| said.contains(&served.port(3)));
    // The address at which clients and the proxy find it.
    assert!(known.contains("ip\n127.0.0.1\n"), "{known}");
    let replicas = ["SENTINEL", "REPLICAS", "mymaster"];
    until(&sentinel, &replicas, |said| said.contains(&served.port(1)));
    served.order(4, "LAB.CRASH n1");
    let master = ["SENTINEL", "GET-MASTER-ADDR-BY-NAME", "mymaster"];
    let promoted = format!("127.0.0.1\n{}\n", served.port(1));
    until(&sentinel, &master, |said| said == promoted);
}

#[test]
fn a_node_may_restart_later() {
    let served = two_nodes(&[]);
    let start = Instant::now();
    served.order(CONTROL, "LAB.RESTART n1 2000");
    served.connect(0).check("PING\r\n", "+PONG\r\n");
    assert!(start.elapsed() >= Duration::from_secs(2));
}

/// The script would run for ever, and its node answers nobody meanwhile.
#[test]
fn a_busy_node_stops_no_other_and_can_crash() {
    let served = two_nodes(&[]);
    let (mut first, mut second) = (served.connect(0), served.connect(1));
    let threshold = "CONFIG SET busy-reply-threshold 3600000\r\n";
    first.check(threshold, "+OK\r\n");
    first.send(b"EVAL \"redis.call('set', 'k', 'v') while true do end\" 0\r\n");
    let mut other = served.connect(0);
    other.send(b"PING\r\n");
    second.check("SET k w\r\n", "+OK\r\n");
    second.check(
        "EVAL \"return redis.call('get', 'k')\" 0\r\n",
        "$1\r\nw\r\n",
    );
    other.expect_nothing_yet();
    served.order(CONTROL, "LAB.RESTART n1");
    assert_eq!(served.redis_cli(0, &["GET", "k"]), "\n");
}

#[test]
fn a_node_that_was_shut_down_stays_so() {
    let served = two_nodes(&[]);
    served.redis_cli(0, &["SHUTDOWN", "NOSAVE"]);
    until(&served.port(CONTROL), &["LAB.SERVERS"], |said| {
        said.contains("(shut down)")
    });
    let refused = served.redis_cli(CONTROL, &["LAB.RESTART", "n1"]);
    assert_eq!(refused.trim(), "ERR n1 was shut down, and stays so");
    served.redis_cli(1, &["SHUTDOWN", "NOSAVE"]);
    assert_eq!(served.exit_code(), Some(0));
}

#[test]
fn what_was_done_is_recorded() {
    let folder = std::env::temp_dir().join(format!("locklab-record-{}", std::process::id()));
    let path = folder.to_str().expect("UTF-8").to_owned();
    let served = two_nodes(&["--record", &path, "--fault", "LAB.PAUSE n2 1ms at 1ms"]);
    let scheduled = |said: &str| said.ends_with("LAB.PAUSE n2 1ms\n");
    until(&served.port(CONTROL), &["LAB.LOG"], scheduled);
    served.order(CONTROL, "lab.clock n1 step -1s");
    let log = served.redis_cli(CONTROL, &["LAB.LOG"]);
    assert!(log.ends_with(" LAB.CLOCK n1 step -1s\n"), "{log}");
    let record = std::fs::read_to_string(&path).expect("it was written");
    let last = record.lines().last().expect("two lines");
    let entry: serde_json::Value = serde_json::from_str(last).expect("JSON");
    assert_eq!(entry["server"], "n1");
    assert_eq!(entry["command"], "LAB.CLOCK");
    assert_eq!(entry["arguments"], serde_json::json!(["step", "-1s"]));
    std::fs::remove_file(path).expect("it is there");
}

#[test]
fn the_control_port_speaks_both_versions_of_the_protocol() {
    let served = two_nodes(&[]);
    let mut control = served.connect(CONTROL);
    control.check(
        "*1\r\n$5\r\nHELLO\r\n",
        "*14\r\n$6\r\nserver\r\n$5\r\nredis\r\n",
    );
    let mut control = served.connect(CONTROL);
    let hello = "*2\r\n$5\r\nHELLO\r\n$1\r\n3\r\n";
    control.check(hello, "%7\r\n$6\r\nserver\r\n$5\r\nredis\r\n");
    let mut control = served.connect(CONTROL);
    control.check("*1\r\n$4\r\nPING\r\n", "+PONG\r\n");
    control.check(
        "PING\r\n",
        "-ERR Protocol error: write a command as an array\r\n",
    );
}

#[test]
fn errors_name_what_there_is() {
    let served = two_nodes(&[]);
    for (words, expected) in [
        (
            &["LAB.RESET", "n3"][..],
            "ERR unknown server `n3`; write n1, n2",
        ),
        (
            &["LAB.PARTITION", "n1", "EXCEPT", "c1"],
            "ERR unknown peer `c1`; write n1, n2, clients",
        ),
        (
            &["LAB.CRASH"],
            "ERR LAB.CRASH: wrong arguments; write LAB.CRASH server",
        ),
    ] {
        assert_eq!(served.redis_cli(CONTROL, words).trim(), expected);
    }
}

#[test]
fn a_node_takes_commands_about_itself() {
    let served = Served::new(2, &["--faults"]);
    let (mut first, mut second) = (served.connect(0), served.connect(1));
    first.check("SET lock c1 PX 10000\r\n", "+OK\r\n");
    second.check("SET lock c1 PX 10000\r\n", "+OK\r\n");
    first.check("LAB.CLOCK STEP 11s\r\n", "+OK\r\n");
    first.check("GET lock\r\n", "$-1\r\n");
    second.check("GET lock\r\n", "$2\r\nc1\r\n");
    second.check("LAB.CLOCK n2 STEP 11s\r\n", "+OK\r\n");
    second.check("GET lock\r\n", "$-1\r\n");
    first.check(
        "LAB.FREEZE 5\r\n",
        "-ERR unknown command `LAB.FREEZE`; write one of LAB.LATENCY",
    );
    // Part of a transaction it is no command.
    second.check(
        "MULTI\r\nLAB.PAUSE 500\r\n",
        "+OK\r\n-ERR unknown command 'LAB.PAUSE'",
    );
}

/// Its own thread carries out the command that ends it.
#[test]
fn a_node_may_crash_itself() {
    let served = Served::new(1, &["--faults"]);
    let mut client = served.connect(0);
    client.check("SET lock c1\r\n", "+OK\r\n");
    client.send(b"LAB.RESTART\r\n");
    until(&served.port(0), &["GET", "lock"], |said| said == "\n");
}

#[test]
fn a_plain_node_knows_no_faults() {
    let served = Served::new(1, &[]);
    let said = served.redis_cli(0, &["LAB.PAUSE", "500"]);
    assert!(
        said.starts_with("ERR unknown command 'LAB.PAUSE'"),
        "{said}"
    );
}
