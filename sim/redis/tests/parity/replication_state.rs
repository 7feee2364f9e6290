//! The state that a master and a replica report, a real pair against a fake pair, after the
//! same steps: they connect, synchronise, disconnect, change roles.
//!
//! Ports, ids, offsets and seconds are not compared, but equality of ids is.

use std::collections::BTreeMap;
use std::time::Duration;

use locklab_redis::{ConnId, Effect, Node, NodeConfig};

use crate::real::{RealClient, RealServer};
use crate::versions;

/// Two servers, 0 and 1, real or fake.
pub trait Pair {
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

    /// Makes the first of the other clients send a line.
    fn tell(&mut self, server: usize, line: &str) {
        self.tell_by(server, 0, line);
    }

    /// The new output for the first of the other clients.
    fn heard(&mut self, server: usize) -> String {
        self.heard_by(server, 0)
    }

    /// Makes a server a replica of the other one (REPLICAOF).
    fn follow(&mut self, server: usize) -> String {
        let port = self.port(1 - server);
        self.say(server, &format!("REPLICAOF 127.0.0.1 {port}"))
    }

    /// Waits until the first of the other clients of a server has received output.
    fn until_heard(&mut self, server: usize) -> String {
        self.until_heard_by(server, 0)
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

pub struct Real {
    servers: [RealServer; 2],
    clients: [RealClient; 2],
    others: [[RealClient; 2]; 2],
}

impl Real {
    pub fn start() -> Self {
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

pub struct Fake {
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
    pub fn start() -> Self {
        let node = |run_id_seed| {
            Node::new(NodeConfig {
                run_id_seed,
                ..NodeConfig::default()
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

/// The output of a pair, step by step.
#[derive(Default)]
pub struct Told {
    pub steps: Vec<String>,
    /// Ids in the order of their first appearance.
    ids: Vec<String>,
}

impl Told {
    /// Sends these lines to these servers.
    pub fn say(&mut self, pair: &mut impl Pair, step: &str, lines: &[(usize, &str)]) {
        let said = lines.iter().map(|(server, line)| pair.say(*server, line));
        self.note(step, said.collect());
    }

    /// Asks both servers for their roles.
    pub fn ask(&mut self, pair: &mut impl Pair, step: &str) {
        let lines = [0, 1].map(|server| [(server, "ROLE"), (server, "INFO replication")]);
        self.say(pair, step, &lines.concat());
    }

    /// Records the output of a step.
    pub fn note(&mut self, step: &str, said: Vec<String>) {
        let said: Vec<String> = (said.iter())
            .map(|text| plain(text, &mut self.ids))
            .collect();
        self.steps.push(format!("== {step}\n{}", said.join("\n")));
    }
}

/// Takes a pair through all steps.
fn story(pair: &mut impl Pair) -> Vec<String> {
    let mut told = Told::default();
    for server in 0..2 {
        pair.say(server, "CONFIG SET repl-diskless-sync-delay 0");
    }
    told.ask(pair, "two masters");

    pair.say(0, "SET before v");
    pair.follow(1);
    pair.until(1, "master_link_status:up");
    let synced = [(0, "WAIT 1 5000"), (1, "GET before")];
    told.say(pair, "a full synchronisation", &synced);
    told.ask(pair, "a master and its replica");
    let asked = [
        (0, "SET k v"),
        (0, "WAIT 1 5000"),
        (1, "GET k"),
        (1, "SET k w"),
        (1, "WAIT 1 0"),
    ];
    told.say(pair, "both are asked", &asked);

    let cut = [(0, "CLIENT KILL TYPE replica"), (0, "SET k 2")];
    told.say(pair, "the link is cut", &cut);
    pair.until(1, "master_link_status:up");
    let goes_on = [(0, "WAIT 1 5000"), (1, "GET k")];
    told.say(pair, "it goes on where it was", &goes_on);
    told.ask(pair, "after a partial synchronisation");

    pair.say(0, "SET k v");
    pair.say(0, "WAIT 1 5000");
    pair.tell(0, "SET k other");
    // Not for writes of another client, nor for refused commands.
    let own = [(0, "NOSUCH"), (0, "WAIT 1 20")];
    told.say(pair, "a client waits for its own command", &own);

    pair.say(0, "DEBUG SET-ACTIVE-EXPIRE 0");
    pair.say(0, "FLUSHALL");
    pair.say(0, "SET over v PX 1");
    pair.say(0, "WAIT 1 5000");
    pair.pass();
    let drawn = [(1, "GET over"), (1, "SCAN 0"), (1, "DBSIZE")];
    told.say(pair, "a key that is over is hidden on a replica", &drawn);
    pair.say(0, "DEBUG SET-ACTIVE-EXPIRE 1");

    let needs = [
        (0, "CONFIG SET min-replicas-to-write 1"),
        (0, "SET k 3"),
        (0, "WAIT 1 5000"),
    ];
    told.say(pair, "a master that needs a replica has one", &needs);
    told.ask(pair, "with a good replica");

    told.say(pair, "the replica is promoted", &[(1, "REPLICAOF NO ONE")]);
    pair.until(0, "connected_slaves:0");
    let alone = [
        (0, "SET k 4"),
        (0, "GET k"),
        (0, "WAIT 1 100"),
        (1, "SET k other"),
        (1, "WAIT 0 0"),
    ];
    told.say(pair, "two masters write", &alone);
    told.ask(pair, "two masters with one past");

    // The history of the first one ends where the other's continued without it.
    pair.say(0, "CONFIG SET min-replicas-to-write 0");
    pair.say(0, "SET lost v");
    pair.follow(0);
    pair.until(0, "master_link_status:up");
    pair.say(1, "WAIT 1 5000");
    let follows = [(0, "GET lost"), (0, "GET k"), (0, "SET k 5")];
    told.say(pair, "the old master follows", &follows);
    told.ask(pair, "the other way round");
    let let_go = [(0, "REPLICAOF NO ONE"), (0, "REPLICAOF NO ONE")];
    told.say(pair, "and is let go", &let_go);
    pair.until(1, "connected_slaves:0");
    told.ask(pair, "in the end");
    told.steps
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

#[test]
fn pair_reports_the_same_replication_state_as_redis() {
    if versions::skips_test() {
        return;
    }
    let real = story(&mut Real::start());
    let fake = story(&mut Fake::start());
    assert_eq!(real.len(), fake.len());
    for (real, fake) in real.iter().zip(&fake) {
        assert_eq!(fake, real);
    }
}
