//! A thousand hostile connections, and one client that only uses its lock.
//!
//! It runs with `LOCKLAB_LONG=1` only, and prints that otherwise. The clients are in the process of
//! the server, so its memory is an upper bound of the server's. In release: a debug build is too
//! slow for a thousand connections.
#![cfg(target_os = "linux")]

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use locklab_redis::Server;

/// The memory that the server may take, in kilobytes: 512 MB for connections, whose buffers grow by
/// doubling; 256 MB for a script, and as much for the output of one request; the data, which this
/// test keeps below 100 MB; and half as much again for what the allocator cannot reuse.
const MAX_KB: u64 = 2_500_000;

/// How long it takes.
const SOAK: Duration = Duration::from_secs(60);

/// Far longer than the well-behaved client waits for any reply.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The threads of the hostile clients.
const THREADS: usize = 2;

/// The pause between two rounds of a thread's clients.
const PAUSE: Duration = Duration::from_millis(10);

/// The behaviour of a group of hostile clients: their first input, and the input that they repeat.
struct Attack {
    name: &'static str,
    connections: usize,
    first: Vec<u8>,
    then: Vec<u8>,
    reads: Reads,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Reads {
    Nothing,
    Everything,
}

fn attacks() -> Vec<Attack> {
    let attack = |connections, name, first: &str, then: &str, reads| Attack {
        name,
        connections,
        first: first.into(),
        then: then.into(),
        reads,
    };
    let large = "x".repeat(5 << 20);
    let scripts = [
        "local t={} for i=1,2000000 do t[i]={i} end return 1",
        "local s='x' while true do s=s..s end",
    ];
    let scripts = scripts
        .map(|script| format!("EVAL \"{script}\" 0\r\n"))
        .concat();
    let queue = format!("SET q {}\r\n", "q".repeat(60_000));
    let names = |word: &str| -> String {
        let name = |n: u32| format!("{word} {n}{}\r\n", "n".repeat(9_000));
        (0..200).map(name).collect()
    };
    vec![
        attack(
            400,
            "subscriber",
            "SUBSCRIBE c\r\n",
            "PING\r\n",
            Reads::Nothing,
        ),
        attack(
            40,
            "subscriber by pattern",
            "PSUBSCRIBE *\r\n",
            "PING\r\n",
            Reads::Nothing,
        ),
        attack(
            20,
            "publisher",
            "PING\r\n",
            &format!(
                "*3\r\n$7\r\nPUBLISH\r\n$1\r\nc\r\n${}\r\n{large}\r\n",
                large.len()
            ),
            Reads::Everything,
        ),
        attack(60, "queue", "MULTI\r\n", &queue, Reads::Everything),
        attack(100, "reader", "PING\r\n", "GET large\r\n", Reads::Nothing),
        attack(40, "replica", "PSYNC ? -1\r\n", "PING\r\n", Reads::Nothing),
        attack(
            60,
            "half a request",
            "*1000000\r\n$500000000\r\n",
            &large,
            Reads::Nothing,
        ),
        attack(
            40,
            "many arguments",
            "*1000000\r\n",
            &"$1\r\na\r\n".repeat(10_000),
            Reads::Nothing,
        ),
        attack(60, "names", "PING\r\n", &names("WATCH"), Reads::Everything),
        attack(
            60,
            "channels",
            "HELLO 3\r\n",
            &names("SUBSCRIBE"),
            Reads::Nothing,
        ),
        attack(1, "scripts", "PING\r\n", &scripts, Reads::Everything),
        attack(
            60,
            "web page",
            "POST / HTTP/1.1\r\n",
            "Host: x\r\n\r\nSET pwned 1\r\n",
            Reads::Everything,
        ),
        attack(
            59,
            "noise",
            "\r\n",
            &"*-1\r\n$9\r\n\"\\x00\u{7f}\r\n".repeat(99),
            Reads::Everything,
        ),
    ]
}

struct Attacker<'a> {
    attack: &'a Attack,
    stream: Option<TcpStream>,
    /// How much of the current requests was sent, in bytes.
    sent: usize,
    begun: bool,
}

impl Attacker<'_> {
    /// Sends what the socket accepts of the current requests; connects again after a disconnection.
    fn attack(&mut self, address: SocketAddr, buffer: &mut [u8]) {
        let Some(stream) = &mut self.stream else {
            (self.sent, self.begun) = (0, false);
            self.stream = TcpStream::connect(address).ok();
            if let Some(stream) = &self.stream {
                stream.set_nonblocking(true).expect("a socket");
            }
            return;
        };
        let words = match self.begun {
            false => &self.attack.first,
            true => &self.attack.then,
        };
        let mut ended = match stream.write(&words[self.sent..]) {
            Ok(count) => {
                self.sent += count;
                if self.sent == words.len() {
                    (self.sent, self.begun) = (0, true);
                }
                false
            }
            Err(error) => error.kind() != ErrorKind::WouldBlock,
        };
        if self.attack.reads == Reads::Everything {
            ended |= match stream.read(buffer) {
                Ok(count) => count == 0,
                Err(error) => error.kind() != ErrorKind::WouldBlock,
            };
        }
        if ended {
            self.stream = None;
        }
    }
}

struct StopWhenDropped<'a>(&'a AtomicBool);

impl Drop for StopWhenDropped<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// One client of a lock: takes it, looks at it, releases it.
fn use_a_lock(address: SocketAddr) {
    let mut stream = TcpStream::connect(address).expect("it accepts");
    stream.set_read_timeout(Some(TIMEOUT)).expect("a socket");
    for (request, expected) in [
        ("SET lock me NX PX 60000\r\n", "+OK\r\n"),
        ("GET lock\r\n", "$2\r\nme\r\n"),
        ("DEL lock\r\n", ":1\r\n"),
        ("EXISTS pwned\r\n", ":0\r\n"),
    ] {
        stream.write_all(request.as_bytes()).expect("it reads");
        let mut reply = vec![0; expected.len()];
        let start = Instant::now();
        let read = stream.read_exact(&mut reply);
        assert!(
            read.is_ok(),
            "{request}: {read:?} after {:?}, {reply:?}",
            start.elapsed()
        );
        assert_eq!(String::from_utf8_lossy(&reply), expected);
    }
}

/// The memory of this process, in kilobytes.
fn memory_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux has it");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number
        .and_then(|number| number.parse().ok())
        .expect("a number")
}

#[test]
fn a_thousand_hostile_connections_take_bounded_memory_and_no_lock() {
    if std::env::var_os("LOCKLAB_LONG").is_none() {
        eprintln!("skipped: LOCKLAB_LONG=1 runs it");
        return;
    }
    let server = Server::start().expect("it starts");
    let address = server.address();
    let mut writer = TcpStream::connect(address).expect("it accepts");
    let large = format!("SET large {}\r\n", "v".repeat(60_000));
    writer.write_all(large.as_bytes()).expect("it reads");
    let attacks = attacks();
    let stop = AtomicBool::new(false);
    let mut most_kb = 0;
    let mut used = 0;
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let (attacks, stop) = (&attacks, &stop);
            scope.spawn(move || {
                let all = attacks.iter().flat_map(|attack| {
                    let count = attack.connections;
                    std::iter::repeat_n(attack, count)
                });
                let mut attackers: Vec<Attacker> = all
                    .skip(thread)
                    .step_by(THREADS)
                    .map(|attack| Attacker {
                        attack,
                        stream: None,
                        sent: 0,
                        begun: false,
                    })
                    .collect();
                let mut buffer = vec![0; 1 << 16];
                while !stop.load(Ordering::Relaxed) {
                    for attacker in &mut attackers {
                        attacker.attack(address, &mut buffer);
                    }
                    // Their input is endless; leave time for the rest of the machine.
                    thread::sleep(PAUSE);
                }
            });
        }
        // Also if the client below panics.
        let _stop = StopWhenDropped(&stop);
        let start = Instant::now();
        while start.elapsed() < SOAK {
            use_a_lock(address);
            used += 1;
            most_kb = most_kb.max(memory_kb());
        }
    });
    let names: Vec<&str> = attacks.iter().map(|attack| attack.name).collect();
    println!(
        "{used} uses of the lock beside {}; at most {most_kb} kB",
        names.join(", ")
    );
    assert!(most_kb < MAX_KB, "{most_kb} kB");
}
