//! Stories of two servers, of which one follows the other: what a real pair says, and a fake pair.
//!
//! A section of a file is a story; it begins with two new servers, 1 and 2. In a line is one of these:
//!
//! | | |
//! |---|---|
//! | `1: GET k` | a request to a server; its reply is compared |
//! | `1a: GET k`, `1b: GET k` | a request of another client, whose reply is not awaited |
//! | `hears 1a`, `heard 1a` | what that client gets next, and what it got since |
//! | `follow 2` | this server becomes a replica of the other |
//! | `until 1 role:master` | waits until INFO has this line |
//! | `ended 1` | waits until the process has ended |
//! | `pass 3` | lets a little time pass, three times |
//! | `state` | both servers tell their roles |
//! | `blocked 1`, `shutdown 1` | who is blocked, and whether a shutdown is pending |
//! | `mark 1`, `grown 1` | how long the stream is, and by how much it grew since |
//! | `id 1a` | the client whose id `ID` is in later lines; `PORT1` is the port of a server |
//!
//! Ports, ids, offsets and seconds are not compared, but equality of ids is.

use std::collections::BTreeMap;
use std::time::Duration;

use locklab_redis::{ConnId, Effect, Node, NodeConfig};

use crate::data::cases;
use crate::real::{RealClient, RealServer};
use crate::versions;

files!("stories": failover, replication, shutdown, writable_replica);

/// Tells each story of a file to a real pair and to a fake one.
fn check(file: &str) {
    if versions::skips_test() {
        return;
    }
    let mut stories: Vec<(String, Vec<String>)> = Vec::new();
    for case in cases(file) {
        match stories.last_mut() {
            Some((title, lines)) if *title == case.section => lines.extend(case.lines),
            _ => stories.push((case.section, case.lines)),
        }
    }
    for (title, lines) in stories {
        let (mut real, mut fake) = (Told::start(Real::start()), Told::start(Fake::start()));
        lines.iter().for_each(|line| real.tell(line));
        lines.iter().for_each(|line| fake.tell(line));
        for (real, fake) in real.steps.iter().zip(&fake.steps) {
            assert_eq!(fake, real, "in: {title}");
        }
    }
}

/// Two servers, 0 and 1, real or fake.
trait Pair {
    /// A reply to a line.
    fn say(&mut self, server: usize, line: &str) -> String;
    /// Makes another client of a server, one of two, send a line, without waiting for a
    /// reply.
    fn tell_by(&mut self, server: usize, client: usize, line: &str);
    /// The new output for that client.
    fn heard_by(&mut self, server: usize, client: usize) -> String;
    /// Whether a server's process has ended.
    fn has_ended(&mut self, server: usize) -> bool;
    /// The port that a server reports.
    fn port(&self, server: usize) -> u16;
    /// Lets a little time pass.
    fn pass(&mut self);

    /// Makes a server a replica of the other one (REPLICAOF).
    fn follow(&mut self, server: usize) -> String {
        let port = self.port(1 - server);
        self.say(server, &format!("REPLICAOF 127.0.0.1 {port}"))
    }

    /// Waits until another client of a server has received output.
    fn until_heard_by(&mut self, server: usize, client: usize) -> String {
        for _ in 0..200 {
            let heard = self.heard_by(server, client);
            if !heard.is_empty() {
                return heard;
            }
            self.pass();
        }
        panic!("{server} never answers");
    }

    /// Waits until a server's INFO has this line.
    fn until(&mut self, server: usize, line: &str) {
        for _ in 0..200 {
            let info = self.say(server, "INFO replication");
            if info.lines().any(|found| found.starts_with(line)) {
                return;
            }
            self.pass();
        }
        panic!("{server} never says {line}");
    }

    /// Waits until a server's process has ended.
    fn until_ended(&mut self, server: usize) {
        for _ in 0..200 {
            if self.has_ended(server) {
                return;
            }
            self.pass();
        }
        panic!("{server} never ends");
    }
}

struct Real {
    servers: [RealServer; 2],
    clients: [RealClient; 2],
    others: [[RealClient; 2]; 2],
}

impl Real {
    fn start() -> Self {
        let servers = [RealServer::start(), RealServer::start()];
        let clients = [servers[0].connect(), servers[1].connect()];
        let others = [0, 1].map(|server| [0, 1].map(|_| servers[server].connect()));
        Real {
            servers,
            clients,
            others,
        }
    }
}

impl Pair for Real {
    fn say(&mut self, server: usize, line: &str) -> String {
        let reply = self.clients[server].request(format!("{line}\r\n").as_bytes());
        String::from_utf8_lossy(&reply).into_owned()
    }

    fn tell_by(&mut self, server: usize, client: usize, line: &str) {
        self.others[server][client].send(format!("{line}\r\n").as_bytes());
        // It arrives before the next requests of other clients.
        self.pass();
    }

    fn heard_by(&mut self, server: usize, client: usize) -> String {
        let (bytes, _) = self.others[server][client].arrived();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn has_ended(&mut self, server: usize) -> bool {
        self.servers[server].has_ended()
    }

    fn port(&self, server: usize) -> u16 {
        self.servers[server].port()
    }

    fn pass(&mut self) {
        std::thread::sleep(Duration::from_millis(50));
    }
}

struct Fake {
    nodes: [Node; 2],
    clients: [ConnId; 2],
    others: [[ConnId; 2]; 2],
    /// The other end of each connection between the two.
    wires: BTreeMap<(usize, ConnId), (usize, ConnId)>,
    heard: String,
    others_heard: [[String; 2]; 2],
    ended: [bool; 2],
    now_us: u64,
}

impl Fake {
    fn start() -> Self {
        let node = |run_id_seed| {
            Node::new(NodeConfig {
                run_id_seed,
                ..versions::node_config()
            })
        };
        let mut nodes = [node(1), node(2)];
        let clients = [nodes[0].accept(), nodes[1].accept()];
        let others = [0, 1].map(|server| [0, 1].map(|_| nodes[server].accept()));
        Fake {
            nodes,
            clients,
            others,
            wires: BTreeMap::new(),
            heard: String::new(),
            others_heard: Default::default(),
            ended: [false; 2],
            now_us: 1_000_000_000_000,
        }
    }

    fn send(&mut self, server: usize, client: ConnId, line: &str) {
        let mut effects = Vec::new();
        let bytes = format!("{line}\r\n");
        self.nodes[server].receive(client, bytes.as_bytes(), self.now_us, &mut effects);
        self.carry_out(server, effects);
    }

    fn carry_out(&mut self, server: usize, effects: Vec<Effect>) {
        let other = 1 - server;
        for effect in effects {
            let mut more = Vec::new();
            match effect {
                Effect::Send { conn, bytes } if conn == self.clients[server] => {
                    self.heard.push_str(&String::from_utf8_lossy(&bytes));
                }
                Effect::Send { conn, bytes } if self.others[server].contains(&conn) => {
                    let client = usize::from(conn == self.others[server][1]);
                    self.others_heard[server][client].push_str(&String::from_utf8_lossy(&bytes));
                }
                Effect::Send { conn, bytes } => {
                    if let Some((_, end)) = self.wires.get(&(server, conn)).copied() {
                        self.nodes[other].receive(end, &bytes, self.now_us, &mut more);
                        self.carry_out(other, more);
                    }
                }
                Effect::Close { conn } => {
                    if let Some((_, end)) = self.wires.remove(&(server, conn)) {
                        self.wires.remove(&(other, end));
                        self.nodes[other].closed(end);
                    }
                }
                Effect::Connect { conn, .. } if self.ended[other] => {
                    self.nodes[server].closed(conn);
                }
                Effect::Connect { conn, .. } => {
                    let end = self.nodes[other].accept();
                    self.wires.insert((server, conn), (other, end));
                    self.wires.insert((other, end), (server, conn));
                    self.nodes[server].connected(conn, self.now_us, &mut more);
                    self.carry_out(server, more);
                }
                Effect::Disk(_) => {}
                Effect::Exit => {
                    self.ended[server] = true;
                    for (at, end) in std::mem::take(&mut self.wires).into_keys() {
                        if at == other {
                            self.nodes[other].closed(end);
                        }
                    }
                }
            }
        }
    }
}

impl Pair for Fake {
    fn say(&mut self, server: usize, line: &str) -> String {
        self.send(server, self.clients[server], line);
        // A blocked command is answered when its timeout expires.
        while self.heard.is_empty() {
            assert!(!self.ended[server], "{server} has ended: {line}");
            self.pass();
        }
        std::mem::take(&mut self.heard)
    }

    fn tell_by(&mut self, server: usize, client: usize, line: &str) {
        self.send(server, self.others[server][client], line);
    }

    fn heard_by(&mut self, server: usize, client: usize) -> String {
        std::mem::take(&mut self.others_heard[server][client])
    }

    fn has_ended(&mut self, server: usize) -> bool {
        self.ended[server]
    }

    fn port(&self, _: usize) -> u16 {
        6379
    }

    fn pass(&mut self) {
        self.now_us += 50_000;
        for server in 0..2 {
            if self.ended[server] {
                continue;
            }
            let mut effects = Vec::new();
            self.nodes[server].wake(self.now_us, &mut effects);
            self.carry_out(server, effects);
        }
    }
}

/// What a pair said, line by line of a story.
struct Told<P> {
    pair: P,
    /// Each line, with what it brought.
    steps: Vec<String>,
    /// Ids in the order of their first appearance.
    ids: Vec<String>,
    /// The client whose id `ID` is.
    client_id: String,
    /// The length of the stream at the last `mark`.
    mark: u64,
}

impl<P: Pair> Told<P> {
    fn start(pair: P) -> Self {
        Told {
            pair,
            steps: Vec::new(),
            ids: Vec::new(),
            client_id: String::new(),
            mark: 0,
        }
    }

    /// Does what a line says.
    fn tell(&mut self, line: &str) {
        let pair = &mut self.pair;
        let (what, rest) = line.split_once(' ').unwrap_or((line, ""));
        let rest = [0, 1].into_iter().fold(rest.to_owned(), |rest, server| {
            rest.replace(
                &format!("PORT{}", server + 1),
                &pair.port(server).to_string(),
            )
        });
        let rest = rest.replace(" ID ", &format!(" {} ", self.client_id));
        let server = |name: &str| usize::from(name.starts_with('2'));
        let client = |name: &str| usize::from(name.trim_end_matches(':').ends_with('b'));
        let said = match what {
            "1:" | "2:" => vec![pair.say(server(what), &rest)],
            "1a:" | "1b:" | "2a:" => {
                pair.tell_by(server(what), client(what), &rest);
                Vec::new()
            }
            "follow" => vec![pair.follow(server(&rest))],
            "until" => {
                let (name, line) = rest.split_once(' ').expect("a server and a line");
                pair.until(server(name), line);
                Vec::new()
            }
            "ended" => {
                pair.until_ended(server(&rest));
                Vec::new()
            }
            "pass" => {
                let times = rest.parse().expect("a number");
                (0..times).for_each(|_: u32| pair.pass());
                Vec::new()
            }
            "hears" => vec![pair.until_heard_by(server(&rest), client(&rest))],
            "heard" => vec![pair.heard_by(server(&rest), client(&rest))],
            "state" => {
                let asked = [
                    (0, "ROLE"),
                    (0, "INFO replication"),
                    (1, "ROLE"),
                    (1, "INFO replication"),
                ];
                let asked = asked.into_iter();
                asked.map(|(server, line)| pair.say(server, line)).collect()
            }
            "blocked" => blocked(pair, server(&rest)),
            "shutdown" => pending_shutdown(pair, server(&rest)),
            "id" => {
                pair.tell_by(server(&rest), client(&rest), "CLIENT ID");
                let id = pair.until_heard_by(server(&rest), client(&rest));
                self.client_id = id.trim().trim_start_matches(':').to_owned();
                Vec::new()
            }
            "mark" => {
                self.mark = stream_bytes(pair, server(&rest));
                Vec::new()
            }
            "grown" => vec![(stream_bytes(pair, server(&rest)) - self.mark).to_string()],
            other => panic!("no line of a story begins with {other}"),
        };
        let said: Vec<String> = said.iter().map(|text| plain(text, &mut self.ids)).collect();
        self.steps.push(format!("== {line}\n{}", said.join("\n")));
    }
}

/// The number of blocked clients in INFO, and the reason in CLIENT LIST.
fn blocked(pair: &mut impl Pair, server: usize) -> Vec<String> {
    let info = pair.say(server, "INFO clients");
    let blocked = info.lines().filter(|line| line.starts_with("blocked"));
    let list = pair.say(server, "CLIENT LIST TYPE normal");
    let waiting = list.lines().filter(|line| line.contains(" flags=b "));
    let command = |line: &str| {
        let command = line.split(' ').find(|word| word.starts_with("cmd="));
        command.unwrap_or_default().to_owned()
    };
    blocked
        .map(str::to_owned)
        .chain(waiting.map(command))
        .collect()
}

/// Whether INFO shows the time that is left for a shutdown; the number is not compared.
fn pending_shutdown(pair: &mut impl Pair, server: usize) -> Vec<String> {
    let info = pair.say(server, "INFO server");
    let shown = info.lines().filter(|line| line.starts_with("shutdown"));
    let name = |line: &str| line.split(':').next().unwrap_or_default().to_owned();
    shown.map(name).collect()
}

/// The length of the stream.
fn stream_bytes(pair: &mut impl Pair, server: usize) -> u64 {
    let info = pair.say(server, "INFO replication");
    let mut lines = info.lines();
    let line = lines.find_map(|line| line.strip_prefix("master_repl_offset:"));
    let offset = line.and_then(|offset| offset.parse().ok());
    offset.expect("a number")
}

/// A reply without the parts that differ between pairs.
fn plain(text: &str, ids: &mut Vec<String>) -> String {
    let lines = text.split("\r\n").filter(|line| !line.starts_with('$'));
    let in_role = text.starts_with('*');
    let plain = lines.map(|line| match line.split_once(':') {
        Some((key, value)) if !key.is_empty() && !in_role => {
            format!("{key}:{}", plain_value(key, value, ids))
        }
        // Offsets and ports in ROLE.
        _ if in_role && line.trim_start_matches(':').parse::<u64>().is_ok() => "N".to_owned(),
        _ => line.to_owned(),
    });
    plain.collect::<Vec<_>>().join("\n")
}

fn plain_value(key: &str, value: &str, ids: &mut Vec<String>) -> String {
    let is_id = value.len() == 40 && value.bytes().any(|b| b != b'0');
    if is_id {
        let known = ids.iter().position(|id| id == value);
        let place = known.unwrap_or_else(|| {
            ids.push(value.to_owned());
            ids.len() - 1
        });
        return format!("id {place}");
    }
    if value.contains(',') {
        let fields = value.split(',').filter_map(|field| field.split_once('='));
        let plain = fields.map(|(name, value)| format!("{name}={}", plain_value(name, value, ids)));
        return plain.collect::<Vec<_>>().join(",");
    }
    // Whether the master has sent a PING by then is random, and so is every length.
    let is_counted = ["offset", "histlen", "port", "seconds", "lag"];
    match value.parse::<u64>() {
        // -1 for an answer that came in the second after that which Redis remembers.
        Err(_) if key == "lag" => "N".to_owned(),
        Ok(_) if is_counted.iter().any(|word| key.contains(word)) => "N".to_owned(),
        _ => value.to_owned(),
    }
}
