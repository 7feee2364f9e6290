//! `locklab serve` as other programs see it: a process, real sockets, `redis-cli`, and
//! misbehaving clients.

mod failover;
mod faults;
mod replication;
mod verdict;

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Far longer than any test here takes: a server that hangs fails the test.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A running `locklab serve`, stopped at the end of the test.
struct Served {
    child: Child,
    addresses: Vec<SocketAddr>,
    /// Kept open, as a shell keeps it.
    _out: BufReader<ChildStdout>,
}

impl Served {
    fn new(nodes: usize, options: &[&str]) -> Self {
        let nodes_option = nodes.to_string();
        let options = [options, &["--nodes", &nodes_option]].concat();
        Served::with_roles(&options, &vec!["master"; nodes])
    }

    /// Includes the text beside each address; another server's address is replaced by its number.
    fn with_roles(options: &[&str], expected: &[&str]) -> Self {
        Served::started(&mut serve(options), expected)
    }

    /// With this program and its first options.
    fn started(program: &mut Command, expected: &[&str]) -> Self {
        let mut child = program
            .args(["--port", "0"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program starts");
        let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut addresses: Vec<SocketAddr> = Vec::new();
        for expected in expected {
            let mut line = String::new();
            out.read_line(&mut line).expect("a line for each server");
            let (address, role) = line.trim().split_once(' ').expect("an address and a role");
            let role = addresses
                .iter()
                .enumerate()
                .fold(role.to_owned(), |role, (number, address)| {
                    role.replace(&address.to_string(), &number.to_string())
                });
            assert_eq!(role, *expected);
            addresses.push(address.parse().expect("an address"));
        }
        Served {
            addresses,
            child,
            _out: out,
        }
    }

    fn port(&self, server: usize) -> String {
        self.addresses[server].port().to_string()
    }

    fn connect(&self, node: usize) -> Client {
        connect_to(self.addresses[node])
    }

    /// The output of `redis-cli`.
    fn redis_cli(&self, node: usize, words: &[&str]) -> String {
        redis_cli(&self.port(node), words)
    }

    fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).expect("a process id");
        kill(Pid::from_raw(pid), signal).expect("it is still there");
    }

    fn exit_code(mut self) -> Option<i32> {
        self.child.wait().expect("a child").code()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn redis_cli(port: &str, words: &[&str]) -> String {
    let mut cli = Command::new("redis-cli");
    let done = cli.args(["-p", port]).args(words).output();
    let done = done.expect("redis-cli is installed");
    String::from_utf8(done.stdout).expect("UTF-8")
}

/// Repeats a request until `redis-cli` prints the expected text.
#[track_caller]
fn until(port: &str, words: &[&str], done: impl Fn(&str) -> bool) -> String {
    locklab_testing::until(|| {
        let said = redis_cli(port, words);
        match done(&said) {
            true => Ok(said),
            false => Err(format!("{words:?} still says {said}")),
        }
    })
}

fn serve(options: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_locklab"));
    command.arg("serve").args(options).stdin(Stdio::null());
    command
}

fn connect_to(address: SocketAddr) -> Client {
    let stream = TcpStream::connect(address).expect("it listens");
    stream.set_read_timeout(Some(TIMEOUT)).expect("not zero");
    stream.set_write_timeout(Some(TIMEOUT)).expect("not zero");
    Client(stream)
}

struct Client(TcpStream);

impl Client {
    fn send(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).expect("the node reads");
    }

    #[track_caller]
    fn expect(&mut self, reply: &str) {
        let mut bytes = vec![0; reply.len()];
        self.0.read_exact(&mut bytes).expect("a reply");
        assert_eq!(String::from_utf8_lossy(&bytes), reply);
    }

    #[track_caller]
    fn check(&mut self, request: &str, reply: &str) {
        self.send(request.as_bytes());
        self.expect(reply);
    }

    /// The remaining bytes until the node closes the connection, orderly or not.
    fn rest(mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        match self.0.read_to_end(&mut bytes) {
            Err(error) if error.kind() != ErrorKind::ConnectionReset => panic!("{error}"),
            _ => bytes,
        }
    }
}

#[test]
fn redis_cli_works_and_nodes_share_nothing() {
    let served = Served::new(3, &[]);
    assert_eq!(
        served.redis_cli(0, &["SET", "lock", "c1", "NX", "PX", "60000"]),
        "OK\n"
    );
    assert_eq!(served.redis_cli(0, &["SET", "lock", "c2", "NX"]), "\n");
    assert_eq!(served.redis_cli(1, &["GET", "lock"]), "\n");
    let script = "if redis.call('get', KEYS[1]) == ARGV[1] then \
                  return redis.call('del', KEYS[1]) else return 0 end";
    assert_eq!(
        served.redis_cli(0, &["EVAL", script, "1", "lock", "c2"]),
        "0\n"
    );
    assert_eq!(
        served.redis_cli(0, &["EVAL", script, "1", "lock", "c1"]),
        "1\n"
    );
    let run_id = |node| {
        let info = served.redis_cli(node, &["INFO", "server"]);
        info.lines()
            .find_map(|line| Some(line.strip_prefix("run_id:")?.to_owned()))
    };
    assert!(run_id(0).is_some());
    assert_ne!(run_id(0), run_id(2));
}

/// As in Redis, which keeps 32 for itself.
#[test]
fn a_file_says_where_the_servers_are_while_they_run() {
    let name = format!("locklab-ready-{}", std::process::id());
    let file = std::env::temp_dir().join(name);
    let served = Served::new(2, &["--ready-file", &file.display().to_string()]);
    let told = std::fs::read_to_string(&file).expect("they are ready");
    let addresses = { served.addresses.iter() }.map(|address| format!("{address} master\n"));
    assert_eq!(told, addresses.collect::<String>());
    served.signal(Signal::SIGINT);
    assert_eq!(served.exit_code(), Some(0));
    assert!(!file.exists());
}

#[test]
fn a_node_has_as_many_clients_as_there_are_descriptors() {
    let mut shell = Command::new("sh");
    let limited = ["-c", "ulimit -n 40 && exec \"$@\"", "sh"];
    shell.args(limited).stdin(Stdio::null());
    let program = [env!("CARGO_BIN_EXE_locklab"), "serve"];
    let served = Served::started(shell.args(program), &["master"]);
    let mut clients: Vec<Client> = (0..8).map(|_| served.connect(0)).collect();
    for client in &mut clients {
        client.check("PING\r\n", "+PONG\r\n");
    }
    let refused = served.connect(0).rest();
    assert_eq!(refused, b"-ERR max number of clients reached\r\n");
    clients[0].check(
        "CONFIG GET maxclients\r\n",
        "*2\r\n$10\r\nmaxclients\r\n$1\r\n8\r\n",
    );
}

#[test]
fn requests_come_in_any_pieces() {
    let served = Served::new(1, &[]);
    let mut client = served.connect(0);
    for byte in "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$2\r\nhi\r\n".bytes() {
        client.send(&[byte]);
    }
    client.expect("+OK\r\n");
    client.check(&"GET k\r\n".repeat(10_000), &"$2\r\nhi\r\n".repeat(10_000));
}

#[test]
fn blocked_client_is_woken_by_other_clients_and_by_its_timeout() {
    let served = Served::new(1, &[]);
    let (mut waiter, mut other) = (served.connect(0), served.connect(0));
    waiter.check("BLPOP l 0.05\r\n", "*-1\r\n");
    waiter.send(b"PING\r\nBLPOP l 0\r\nPING\r\n");
    waiter.expect("+PONG\r\n");
    // Until the node has registered the waiting client.
    until(&served.port(0), &["INFO", "clients"], |said| {
        said.contains("blocked_clients:1")
    });
    other.check("RPUSH l x\r\n", ":1\r\n");
    waiter.expect("*2\r\n$1\r\nl\r\n$1\r\nx\r\n+PONG\r\n");
    waiter.check(
        "SUBSCRIBE c\r\n",
        "*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n",
    );
    other.check("PUBLISH c hi\r\n", ":1\r\n");
    waiter.expect("*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$2\r\nhi\r\n");
    other.check("SET k v PX 20\r\n", "+OK\r\n");
    until(&served.port(0), &["GET", "k"], |said| said == "\n");
}

/// Redis refuses what needs memory, not what reads or frees it. A megabyte takes a quarter more in it, and the server
/// itself nearly one.
#[test]
fn keys_beyond_max_memory_are_refused_until_some_are_deleted() {
    let served = Served::new(1, &["--maxmemory", "4mb"]);
    let cli = |words: &[&str]| served.redis_cli(0, words);
    assert_eq!(cli(&["CONFIG", "GET", "maxmemory"]), "maxmemory\n4194304\n");
    let megabyte = "x".repeat(1 << 20);
    let mut client = served.connect(0);
    let mut set = |key: &str, reply: &str| {
        let request = format!(
            "*3\r\n$3\r\nSET\r\n$1\r\n{key}\r\n${}\r\n{megabyte}\r\n",
            megabyte.len()
        );
        client.check(&request, reply);
    };
    const REFUSED: &str = "-OOM command not allowed when used memory > 'maxmemory'.\r\n";
    for key in ["a", "b", "c"] {
        set(key, "+OK\r\n");
    }
    set("d", REFUSED);
    assert_eq!(cli(&["EXISTS", "a", "b", "c", "d"]), "3\n");
    assert_eq!(cli(&["DEL", "a", "b"]), "2\n");
    set("d", "+OK\r\n");
}

#[test]
fn max_memory_has_a_default_and_may_be_lifted() {
    let default = Served::new(1, &[]);
    let cli = |words: &[&str]| default.redis_cli(0, words);
    assert_eq!(
        cli(&["CONFIG", "GET", "maxmemory"]),
        "maxmemory\n268435456\n"
    );
    assert_eq!(
        cli(&["CONFIG", "GET", "maxmemory-policy"]),
        "maxmemory-policy\nnoeviction\n"
    );
    let unbounded = Served::new(1, &["--maxmemory", "0"]);
    let shown = unbounded.redis_cli(0, &["CONFIG", "GET", "maxmemory"]);
    assert_eq!(shown, "maxmemory\n0\n");
}

#[test]
fn max_clients_is_enforced() {
    let served = Served::new(1, &["--maxclients", "2"]);
    let (mut one, mut two) = (served.connect(0), served.connect(0));
    one.check("PING\r\n", "+PONG\r\n");
    two.check("PING\r\n", "+PONG\r\n");
    let refused = served.connect(0).rest();
    assert_eq!(refused, b"-ERR max number of clients reached\r\n");
    let shown = |number: &str| {
        let len = number.len();
        format!("*2\r\n$10\r\nmaxclients\r\n${len}\r\n{number}\r\n")
    };
    one.check("CONFIG GET maxclients\r\n", &shown("2"));
    one.check("CONFIG SET maxclients 3\r\n", "+OK\r\n");
    one.check("CONFIG GET maxclients\r\n", &shown("3"));
    served.connect(0).check("PING\r\n", "+PONG\r\n");
    one.check("CONFIG SET maxclients 2\r\n", "+OK\r\n");
    two.check("QUIT\r\n", "+OK\r\n");
    assert_eq!(two.rest(), b"");
    // The node detects the disconnection before or soon after the test does.
    let mut third = served.connect(0);
    third.send(b"PING\r\n");
    if third.rest_begins_with(b"-") {
        third = served.connect(0);
        third.send(b"PING\r\n");
    }
    third.expect("+PONG\r\n");
    one.check("PING\r\n", "+PONG\r\n");
}

impl Client {
    /// Whether the next byte is this one, without taking it.
    fn rest_begins_with(&mut self, byte: &[u8; 1]) -> bool {
        let mut first = [0];
        matches!(self.0.peek(&mut first), Ok(1)) && first == *byte
    }
}

/// No client asks for an expired key or for the number of keys. INFO itself deletes the
/// remaining expired keys and counts them; its count starts just before, so it excludes the
/// keys deleted earlier.
#[test]
fn expired_keys_are_deleted_without_access() {
    let served = Served::new(1, &[]);
    let port = served.port(0);
    let time_us = |said: &str| -> u64 {
        let mut numbers = said
            .lines()
            .map(|line| line.parse::<u64>().expect("a number"));
        let (seconds, us) = (numbers.next(), numbers.next());
        seconds.expect("seconds") * 1_000_000 + us.expect("microseconds")
    };
    locklab_testing::until(|| {
        let set = "for i = 1, 100 do redis.call('set', i, 'v', 'px', 1) end return 'set'";
        assert_eq!(redis_cli(&port, &["EVAL", set, "0"]), "set\n");
        // Several times the interval at which the node checks for expired keys.
        let end_us = time_us(&redis_cli(&port, &["TIME"])) + 300_000;
        until(&port, &["TIME"], |said| time_us(said) > end_us);
        assert_eq!(redis_cli(&port, &["CONFIG", "RESETSTAT"]), "OK\n");
        let stats = redis_cli(&port, &["INFO", "stats"]);
        match stats.lines().any(|line| line == "expired_keys:0") {
            true => Ok(()),
            false => Err(stats),
        }
    });
}

/// Every input here goes to a node that has to answer another client at the same time.
#[test]
fn hostile_clients_harm_themselves() {
    let served = Served::new(1, &[]);
    let mut second_client = served.connect(0);
    for (bytes, reply) in [
        (
            "*2\r\n$-5\r\n",
            "-ERR Protocol error: invalid bulk length\r\n",
        ),
        (
            "*99999999999\r\n",
            "-ERR Protocol error: invalid multibulk length\r\n",
        ),
        (
            "*1\r\n:1\r\n",
            "-ERR Protocol error: expected '$', got ':'\r\n",
        ),
        (
            "*1\r\n$536870913\r\n",
            "-ERR Protocol error: invalid bulk length\r\n",
        ),
        (
            "SET \"a\r\n",
            "-ERR Protocol error: unbalanced quotes in request\r\n",
        ),
    ] {
        let mut client = served.connect(0);
        client.send(bytes.as_bytes());
        assert_eq!(String::from_utf8_lossy(&client.rest()), reply);
        second_client.check("PING\r\n", "+PONG\r\n");
    }

    let deep = format!(
        "EVAL \"return {}{}\" 0\r\n",
        "{".repeat(5000),
        "}".repeat(5000)
    );
    let mut client = served.connect(0);
    client.check(&deep, "-ERR");
    second_client.check("PING\r\n", "+PONG\r\n");

    // Half a request, and gone; half closed; gone with replies unread.
    for end in [Shutdown::Write, Shutdown::Both, Shutdown::Read] {
        let mut client = served.connect(0);
        client.send(b"PING\r\nPING\r\n*3\r\n$3\r\nSET\r\n$100\r\n");
        client.0.shutdown(end).expect("it is open");
        second_client.check("PING\r\n", "+PONG\r\n");
    }
    second_client.check("EVAL \"return 1\" 0\r\n", ":1\r\n");
}

/// 64 MB of an incomplete argument.
#[test]
fn endless_request_ends_the_connection() {
    let served = Served::new(1, &[]);
    let mut second_client = served.connect(0);
    let mut client = served.connect(0);
    client.send(b"*1\r\n$500000000\r\n");
    let chunk = vec![b'x'; 1 << 20];
    let sent = (0..200)
        .take_while(|_| client.0.write_all(&chunk).is_ok())
        .count();
    assert!((63..190).contains(&sent), "{sent} MB");
    second_client.check("PING\r\n", "+PONG\r\n");
    assert!(served.resident_mb() < 400, "{} MB", served.resident_mb());
}

/// Many small arguments; the last never arrives. Parsing all of them again for each piece would
/// take minutes.
#[test]
fn a_request_of_many_arguments_is_read_once() {
    let served = Served::new(1, &[]);
    let mut second_client = served.connect(0);
    let mut client = served.connect(0);
    client.send(b"*4000000\r\n");
    let arguments = "$1\r\nx\r\n".repeat(100_000);
    for _ in 0..39 {
        client.send(arguments.as_bytes());
        second_client.check("PING\r\n", "+PONG\r\n");
    }
}

/// Two kilobytes of requests, for six gigabytes of replies.
#[test]
fn unread_replies_end_the_connection() {
    let served = Served::new(1, &[]);
    let mut second_client = served.connect(0);
    let value = "x".repeat(10 << 20);
    second_client.check(
        &format!("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n${}\r\n{value}\r\n", 10 << 20),
        "+OK\r\n",
    );
    for requests in [
        "GET k\r\n".repeat(600),
        format!("MGET{}\r\n", " k".repeat(600)),
        format!("MULTI\r\n{}EXEC\r\n", "GET k\r\n".repeat(600)),
    ] {
        let mut client = served.connect(0);
        client.send(requests.as_bytes());
        let received = client.rest().len();
        assert!(received < 200 << 20, "{received} bytes");
        second_client.check("PING\r\n", "+PONG\r\n");
        assert!(served.resident_mb() < 700, "{} MB", served.resident_mb());
    }
    let script = "local t = {} local v = redis.call('get', 'k') for i = 1, 600 do t[i] = v end \
                  return t";
    let too_large = "-ERR the script's value is too large for a reply\r\n";
    second_client.check(&format!("EVAL \"{script}\" 0\r\n"), too_large);
    let script = "local t = {} t[1] = t t[2] = t return t";
    second_client.check(&format!("EVAL \"{script}\" 0\r\n"), too_large);
    let script = "local s = string.rep('x', 1e8) return #(s .. s .. s)";
    second_client.check(&format!("EVAL \"{script}\" 0\r\n"), "-ERR ");
    assert!(served.resident_mb() < 900, "{} MB", served.resident_mb());
}

impl Served {
    /// The peak memory of the process.
    fn resident_mb(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()));
        let status = status.expect("Linux, and the process is there");
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kb = line.and_then(|line| line.trim().strip_suffix(" kB"));
        kb.and_then(|kb| kb.parse::<u64>().ok()).expect("a number") / 1024
    }
}

#[test]
fn shutdown_ends_a_node_and_the_last_one_the_program() {
    let served = Served::new(2, &[]);
    let (mut first, mut second) = (served.connect(0), served.connect(1));
    first.send(b"SHUTDOWN NOSAVE\r\n");
    assert_eq!(first.rest(), b"");
    second.check("PING\r\n", "+PONG\r\n");
    second.send(b"SHUTDOWN\r\n");
    assert_eq!(second.rest(), b"");
    assert_eq!(served.exit_code(), Some(0));
}

#[test]
fn signals_end_it_with_clients_connected() {
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        let served = Served::new(2, &[]);
        let mut client = served.connect(0);
        client.check("PING\r\n", "+PONG\r\n");
        served.signal(signal);
        assert_eq!(served.exit_code(), Some(0), "{signal}");
        assert_eq!(client.rest(), b"");
    }
}

#[test]
fn unsupported_options_are_rejected_with_the_reason() {
    let served = Served::new(1, &[]);
    let taken = served.addresses[0].port().to_string();
    for (options, expected) in [
        (
            &["--port", &taken][..],
            format!("cannot listen on 127.0.0.1:{taken}"),
        ),
        (&["--bind", "0.0.0.0"], "not a loopback address".to_owned()),
        (
            &["--bind", "example.org"],
            "an IP address is needed".to_owned(),
        ),
        (&["--replicas", "17"], "--replicas".to_owned()),
        (&["--down-after-ms", "0"], "--down-after-ms".to_owned()),
        (&["--nodes", "0"], "--nodes".to_owned()),
        (
            &["--port", "65535", "--nodes", "9"],
            "9 servers from port 65535".to_owned(),
        ),
    ] {
        let Output { status, stderr, .. } = serve(options).output().expect("it runs");
        let said = String::from_utf8_lossy(&stderr);
        assert_eq!(status.code(), Some(1), "{options:?}: {said}");
        assert!(said.contains(&expected), "{options:?}: {said}");
    }
}
