//! The replication stream of a real master and of the fake: the test follows both as a
//! replica does, and compares the streams.

use std::time::Duration;

use locklab_redis::{ConnId, Effect, Node};
use locklab_testing::until;

use crate::data::{cases, words};
use crate::real::{RealClient, RealServer};
use crate::versions;
use crate::wire::request;

/// Both masters, each with a replication connection.
struct Masters {
    clock: RealClient,
    real: RealClient,
    real_stream: RealClient,
    /// The offset up to which the real stream was read.
    real_offset: u64,
    /// A client that waits.
    real_waiter: RealClient,
    _server: RealServer,
    node: Node,
    fake: ConnId,
    fake_stream: ConnId,
    fake_waiter: ConnId,
    fake_sent: Vec<u8>,
}

impl Masters {
    fn start() -> Self {
        let server = RealServer::start();
        let mut node = Node::new(versions::node_config());
        let (fake, fake_stream, fake_waiter) = (node.accept(), node.accept(), node.accept());
        let mut masters = Masters {
            clock: server.connect(),
            real: server.connect(),
            real_stream: server.connect(),
            real_offset: 0,
            real_waiter: server.connect(),
            _server: server,
            node,
            fake,
            fake_stream,
            fake_waiter,
            fake_sent: Vec::new(),
        };
        for line in [
            "CONFIG SET repl-diskless-sync no repl-ping-replica-period 3600",
            "DEBUG SET-ACTIVE-EXPIRE 0",
        ] {
            masters.say(line);
        }
        masters.follow();
        masters
    }

    /// Sends a request to both, with the time of the real server's clock for the fake.
    fn say(&mut self, line: &str) {
        let request = request(&words(line));
        let now_us = self.clock.time_us();
        self.real.request(&request);
        let mut effects = Vec::new();
        self.node.receive(self.fake, &request, now_us, &mut effects);
        self.take(effects);
    }

    /// Sends both a request that has to wait, on a connection of its own.
    fn wait(&mut self, line: &str) {
        let request = request(&words(line));
        self.real_waiter.send(&request);
        until(|| match self.clock.info("blocked_clients") {
            0 => Err("it does not wait"),
            _ => Ok(()),
        });
        let now_us = self.clock.time_us();
        let mut effects = Vec::new();
        self.node
            .receive(self.fake_waiter, &request, now_us, &mut effects);
        assert_eq!(effects, [], "{line} does not wait");
    }

    /// Sends both a request on the connection of the one who waits.
    fn tell_waiter(&mut self, line: &str) {
        let request = request(&words(line));
        self.real_waiter.request(&request);
        let (now_us, waiter) = (self.clock.time_us(), self.fake_waiter);
        let mut effects = Vec::new();
        self.node.receive(waiter, &request, now_us, &mut effects);
    }

    fn follow(&mut self) {
        let request = b"PSYNC ? -1\r\n";
        self.real_stream.send(request);
        let now_us = self.clock.time_us();
        let mut effects = Vec::new();
        self.node
            .receive(self.fake_stream, request, now_us, &mut effects);
        self.take(effects);
        let fake = std::mem::take(&mut self.fake_sent);
        let real = self.real_snapshot();
        for answer in [&fake, &real] {
            assert!(
                answer.starts_with(b"+FULLRESYNC "),
                "{}",
                answer.escape_ascii()
            );
        }
        // A replica that reads a snapshot with a length gets the stream immediately.
        let (real_offset, fake_offset) = (offset(&real), offset(&fake));
        assert_eq!(real_offset, fake_offset);
        self.real_offset = real_offset;
    }

    /// What the real master sends before its stream: its answer, and the snapshot.
    fn real_snapshot(&mut self) -> Vec<u8> {
        let mut all = Vec::new();
        until(|| {
            all.append(&mut self.real_arrived());
            match length_with_snapshot(&all) {
                Some(length) if all.len() >= length => Ok(()),
                _ => Err("the snapshot is not complete"),
            }
        });
        assert_eq!(Some(all.len()), length_with_snapshot(&all));
        all
    }

    /// The new part of both streams.
    fn streams(&mut self) -> (Vec<u8>, Vec<u8>) {
        let end = self.clock.info("master_repl_offset");
        let mut real = Vec::new();
        until(|| {
            real.append(&mut self.real_arrived());
            match self.real_offset + real.len() as u64 {
                offset if offset < end => Err("the stream is not there yet"),
                _ => Ok(()),
            }
        });
        self.real_offset += real.len() as u64;
        (real, std::mem::take(&mut self.fake_sent))
    }

    fn real_arrived(&mut self) -> Vec<u8> {
        let (bytes, closed) = self.real_stream.arrived();
        assert!(!closed, "the real master closed the link");
        bytes
    }

    fn take(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            if let Effect::Send { conn, bytes } = effect
                && conn == self.fake_stream
            {
                self.fake_sent.extend_from_slice(&bytes);
            }
        }
    }
}

/// The offset in `+FULLRESYNC id offset`.
fn offset(answer: &[u8]) -> u64 {
    let text = String::from_utf8_lossy(answer);
    let line = text.lines().next().unwrap_or_default();
    let offset = line.rsplit(' ').next().and_then(|word| word.parse().ok());
    offset.unwrap_or_else(|| panic!("no offset in {line}"))
}

/// The length of the answer and of the snapshot after it, `$88` and so many bytes; between the two may be empty lines.
fn length_with_snapshot(answer: &[u8]) -> Option<usize> {
    let end = |from: usize| Some(from + answer[from..].windows(2).position(|two| two == b"\r\n")?);
    let mut start = end(0)? + 2;
    start += answer[start..].iter().take_while(|b| **b == b'\n').count();
    let end = end(start)?;
    let length = str::from_utf8(answer[start..end].strip_prefix(b"$")?).ok()?;
    Some(end + 2 + length.parse::<usize>().ok()?)
}

/// The stream as commands, and points in time, which differ by what passes between the
/// two servers, as the second of some milliseconds.
fn commands(stream: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(stream);
    let mut commands: Vec<String> = Vec::new();
    for line in text.split("\r\n") {
        match line.as_bytes().first() {
            Some(b'*') => commands.push(String::new()),
            None | Some(b'$') => {}
            Some(_) => {
                let is_time = line.len() == 13 && line.bytes().all(|b| b.is_ascii_digit());
                let word = if is_time { "TIME" } else { line };
                if let Some(command) = commands.last_mut() {
                    command.push_str(word);
                    command.push(' ');
                }
            }
        }
    }
    commands
}

#[test]
fn masters_send_the_same_stream() {
    if versions::skips_test() {
        return;
    }
    let mut section = String::new();
    let mut masters = Masters::start();
    for case in cases(include_str!("replication/streams.txt")) {
        if section != case.section {
            section.clone_from(&case.section);
            masters = Masters::start();
        }
        for line in &case.lines {
            if let Some(ms) = line.strip_prefix("sleep ") {
                let ms = ms.parse().expect("a line `sleep N` has a number");
                masters.clock.pass(Duration::from_millis(ms));
            } else if let Some(line) = line.strip_prefix("wait ") {
                masters.wait(line);
            } else if let Some(line) = line.strip_prefix("2: ") {
                masters.tell_waiter(line);
            } else {
                masters.say(line);
            }
        }
        let (real, fake) = masters.streams();
        assert_eq!(commands(&fake), commands(&real), "after {:?}", case.lines);
    }
}

/// A master that keeps replicas waiting for an hour, real or fake, and two replicas: which of them
/// has a snapshot after each step.
trait Patient {
    /// A replica reports its capabilities, and then requests the whole data set.
    fn ask(&mut self, replica: usize, capa: &str);
    /// The data that the replicas received within a second and a half.
    fn heard(&mut self) -> [Vec<u8>; 2];

    fn story(&mut self, capas: [&str; 2]) -> Vec<[bool; 2]> {
        let has = |heard: &Vec<u8>| heard.windows(11).any(|part| part == b"+FULLRESYNC");
        let mut steps = Vec::new();
        for (replica, capa) in capas.into_iter().enumerate() {
            self.ask(replica, capa);
            steps.push(self.heard().each_ref().map(has));
        }
        steps
    }
}

struct RealPatient {
    replicas: [RealClient; 2],
    _server: RealServer,
}

impl RealPatient {
    fn start() -> Self {
        let server = RealServer::start();
        server.connect().request(PATIENT);
        RealPatient {
            replicas: [server.connect(), server.connect()],
            _server: server,
        }
    }
}

impl Patient for RealPatient {
    fn ask(&mut self, replica: usize, capa: &str) {
        self.replicas[replica].request(format!("REPLCONF {capa}\r\n").as_bytes());
        self.replicas[replica].send(b"PSYNC ? -1\r\n");
    }

    fn heard(&mut self) -> [Vec<u8>; 2] {
        std::thread::sleep(Duration::from_millis(1500));
        self.replicas.each_mut().map(|replica| replica.arrived().0)
    }
}

struct FakePatient {
    node: Node,
    replicas: [ConnId; 2],
    heard: [Vec<u8>; 2],
    now_us: u64,
}

impl FakePatient {
    fn start() -> Self {
        let mut node = Node::new(versions::node_config());
        let admin = node.accept();
        node.receive(admin, PATIENT, 1, &mut Vec::new());
        FakePatient {
            replicas: [node.accept(), node.accept()],
            node,
            heard: Default::default(),
            now_us: 1_000_000,
        }
    }

    fn take(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            if let Effect::Send { conn, bytes } = effect {
                let replica = usize::from(conn == self.replicas[1]);
                self.heard[replica].extend_from_slice(&bytes);
            }
        }
    }
}

impl Patient for FakePatient {
    fn ask(&mut self, replica: usize, capa: &str) {
        for line in [&format!("REPLCONF {capa}\r\n"), "PSYNC ? -1\r\n"] {
            let (conn, now_us) = (self.replicas[replica], self.now_us);
            let mut effects = Vec::new();
            self.node
                .receive(conn, line.as_bytes(), now_us, &mut effects);
            self.take(effects);
        }
    }

    fn heard(&mut self) -> [Vec<u8>; 2] {
        self.now_us += 1_500_000;
        let mut effects = Vec::new();
        self.node.wake(self.now_us, &mut effects);
        self.take(effects);
        self.heard.each_mut().map(std::mem::take)
    }
}

const PATIENT: &[u8] = b"CONFIG SET repl-diskless-sync yes repl-diskless-sync-delay 3600\r\n";

#[test]
fn only_a_replica_that_reads_to_an_end_mark_is_kept_waiting() {
    if versions::skips_test() {
        return;
    }
    for capas in [
        ["capa eof capa psync2", "capa psync2"],
        ["capa psync2", "capa psync2 capa EOF"],
        ["listening-port 1", "capa eofx"],
        ["capa eof", "capa eof"],
    ] {
        let real = RealPatient::start().story(capas);
        let fake = FakePatient::start().story(capas);
        assert_eq!(fake, real, "{capas:?}");
    }
}

#[test]
fn expired_key_is_deleted_before_the_command_that_found_it() {
    if versions::skips_test() {
        return;
    }
    let mut masters = Masters::start();
    masters.say("SET k v PX 20");
    masters.clock.pass(Duration::from_millis(40));
    masters.say("SET k w NX PX 90000");
    masters.say("SET j v PX 20");
    masters.clock.pass(Duration::from_millis(40));
    masters.say("GET j");
    let (real, fake) = masters.streams();
    assert_eq!(commands(&fake), commands(&real));
}
