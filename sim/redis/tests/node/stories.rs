//! Stories of nodes: the transcripts in `tests/node/stories/`, whose format is in `tests/testing/src/transcript.rs`.
//!
//! A section begins with the node `n1`, whose ticks are at the full tenths of a second, at 1000 ms. Bytes between nodes
//! arrive at once; only the time that a story sets passes. What is sent to a client is shown behind its name, in the
//! order in which it is sent, `⏎` for each line break. Commands:
//!
//! | | |
//! |---|---|
//! | `a: GET k⏎PING` | a client sends lines; `n2a` is a client of `n2`, other names are clients of `n1` |
//! | `clients a b` | clients that connect in this order |
//! | `a closes`, `a is cut off` | the client, or the node, has closed its connection |
//! | `100 a: SET {} v`, `9 together a: GET k` | the same so often, with the numbers from 0 on, or all at once |
//! | `at 1500` | the clock of the nodes shows these milliseconds |
//! | `wake` | the nodes do what is due; also those without anything due |
//! | `sleep 100` | each of these milliseconds passes, with what is due in it |
//! | `next`, `expiry`, `asleep` | when `n1` wants to be woken, when a key expires, and how much longer it sleeps |
//! | `info n1 role` | a field of INFO |
//! | `nodes 2`, `replicas 2` | further nodes, or replicas of `n1` |
//! | `like valkey-9.0` | `n1` begins anew, like this server; so do its clients |
//! | `set n1 port 7` | a parameter of the node |
//! | `load`, `load *1⏎…` | the node starts without files, or with this append-only file |
//! | `the disk is full`, `the disk has room` | of `n1`; it finds out when it has something to write |
//! | `cut n3`, `heal` | nothing reaches this node, and no bytes leave it |
//! | `a sends GE` | the client sends this without a line break |
//! | `clocks 10 0` | `n1` begins anew, and its wall and monotonic clock are these seconds ahead at each reading |
//! | `meanwhile a: GET k`, `meanwhile connects` | what comes when `n1` next looks up while it is busy |

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use locklab_redis::endpoint::Now;
use locklab_redis::{
    Addresses, Arrival, ConnId, DiskWrite, Effect, Files, Node, NodeConfig, OtherClients,
};
use locklab_testing::{check_transcript, transcripts};

/// Some nodes, each found by its name.
struct Story {
    nodes: BTreeMap<String, Node>,
    clients: BTreeMap<String, (String, ConnId)>,
    /// The other end of each connection between nodes.
    wires: BTreeMap<(String, ConnId), (String, ConnId)>,
    now_us: u64,
    /// Unreachable nodes.
    cut_off: Vec<String>,
    /// What the current command caused: who, and what.
    caused: Vec<(String, String)>,
    others: Others,
    disk_is_full: Rc<Cell<bool>>,
}

/// What comes while `n1` is busy, and what it says then.
#[derive(Clone, Default)]
struct Others {
    arrivals: Rc<RefCell<VecDeque<Arrival>>>,
    heard: Rc<RefCell<Heard>>,
}

/// Who was sent what, in order.
type Heard = Vec<(ConnId, Vec<u8>)>;

impl OtherClients for Others {
    fn poll(&mut self, _: &dyn Fn(ConnId) -> bool) -> Option<Arrival> {
        self.arrivals.borrow_mut().pop_front()
    }

    fn accepted(&mut self, _: Option<ConnId>) {}

    fn send(&mut self, conn: ConnId, bytes: Bytes) -> Bytes {
        self.heard.borrow_mut().push((conn, bytes.to_vec()));
        Bytes::new()
    }
}

impl Story {
    fn new() -> Self {
        let node = Node::new(NodeConfig::default());
        Story {
            nodes: BTreeMap::from([("n1".into(), node)]),
            clients: BTreeMap::new(),
            wires: BTreeMap::new(),
            now_us: 1_000_000,
            cut_off: Vec::new(),
            caused: Vec::new(),
            others: Others::default(),
            disk_is_full: Rc::default(),
        }
    }

    fn tell(&mut self, command: &str) -> Vec<String> {
        let words: Vec<&str> = command.split(' ').collect();
        match words[..] {
            ["clients", ..] => words[1..]
                .iter()
                .for_each(|client| drop(self.client(client))),
            [client, "closes"] => {
                let (node, conn) = self.client(client);
                self.node(&node).closed(conn);
            }
            [client, "is", "cut", "off"] => {
                let (node, conn) = self.client(client);
                self.node(&node).disconnect(conn);
            }
            ["at", ms] => self.now_us = (ms.parse::<f64>().expect("a time") * 1000.0) as u64,
            ["wake"] => self.wake(|_| true),
            ["sleep", ms] => {
                for _ in 0..ms.parse::<u64>().expect("a time") {
                    self.now_us += 1000;
                    let now_us = self.now_us;
                    let is_due = |node: &Node| node.next_wake_us().is_some_and(|us| us <= now_us);
                    while self.nodes.values().any(is_due) {
                        self.wake(is_due);
                    }
                }
            }
            ["next"] => self.show_time(|node| node.next_wake_us()),
            ["asleep"] => {
                let now_us = self.now_us;
                let left = self.node("n1").asleep_for(now_us);
                self.caused.push(("n1".into(), format!("{left:?}")));
            }
            ["expiry"] => self.show_time(|node| node.next_expiry_us()),
            ["info", node, field] => {
                let text = self.ask(node, "INFO everything");
                let prefix = format!("{field}:");
                let found = text.lines().find_map(|line| line.strip_prefix(&prefix));
                let found = found.unwrap_or("no such field").to_owned();
                self.caused = vec![(format!("{node} {field}"), found)];
            }
            ["nodes", count] => self.add(count, false),
            ["replicas", count] => self.add(count, true),
            ["like", server] => {
                let imitated = server.parse().expect("a server");
                let config = NodeConfig {
                    imitated,
                    ..NodeConfig::default()
                };
                *self.node("n1") = Node::new(config);
                self.clients.clear();
            }
            ["set", node, name, value] => {
                let done = self.node(node).configure(name, value);
                done.expect("the parameter exists");
            }
            ["load", ref aof @ ..] => {
                let now_us = self.now_us;
                let files = Files {
                    aof: aof.concat().replace('⏎', "\r\n").into_bytes(),
                    ..Files::default()
                };
                self.node("n1").load(&files, now_us);
            }
            ["the", "disk", ref is @ ..] => {
                let disk_is_full = self.disk_is_full.clone();
                disk_is_full.set(*is == ["is", "full"]);
                self.node("n1").look_at_disk(move || disk_is_full.get());
            }
            ["clocks", wall_s, monotonic_s] => {
                self.begin_with_clocks([wall_s, monotonic_s].map(|s| s.parse().expect("seconds")));
            }
            ["meanwhile", "connects"] => {
                let connected = Arrival::Connected(Addresses::default());
                self.others.arrivals.borrow_mut().push_back(connected);
            }
            ["meanwhile", client, ..] => {
                let (_, line) = command.split_once(": ").expect("it is a command");
                let (_, conn) = self.client(client.trim_end_matches(':'));
                let bytes = (line.replace('⏎', "\r\n") + "\r\n").into_bytes();
                let arrival = Arrival::Received { conn, bytes };
                self.others.arrivals.borrow_mut().push_back(arrival);
            }
            [client, "sends", ..] => {
                let (_, bytes) = command.split_once(" sends ").expect("it has one");
                self.deliver(client, &bytes.replace('⏎', "\r\n"));
            }
            ["cut", node] => self.cut_off.push(node.into()),
            ["heal"] => self.cut_off.clear(),
            _ => self.say(command),
        }
        let caused = std::mem::take(&mut self.caused).into_iter();
        caused.map(|(who, what)| format!("{who}: {what}")).collect()
    }

    fn begin_with_clocks(&mut self, [wall_s, monotonic_s]: [u64; 2]) {
        let mut node = Node::new(NodeConfig::default());
        node.see_clocks(Now::default());
        let readings = Cell::new(0);
        node.read_clock(move || {
            let reading = readings.replace(readings.get() + 1) + 1;
            Now {
                wall_us: reading * wall_s * 1_000_000,
                monotonic: Duration::from_secs(reading * monotonic_s),
            }
        });
        self.others = Others::default();
        node.attend(self.others.clone());
        *self.node("n1") = node;
        self.clients.clear();
        self.now_us = 0;
    }

    /// Lets a client send lines.
    fn say(&mut self, command: &str) {
        let (client, line) = command.split_once(": ").expect("it is a command");
        let line = line.replace('⏎', "\r\n") + "\r\n";
        let words: Vec<&str> = client.split(' ').collect();
        let number = |times: &str| times.parse::<usize>().expect("a number");
        match words[..] {
            [times, "together", client] => self.deliver(client, &line.repeat(number(times))),
            [times, client] => {
                for place in 0..number(times) {
                    self.deliver(client, &line.replace("{}", &place.to_string()));
                }
            }
            _ => self.deliver(client, &line),
        }
    }

    fn node(&mut self, name: &str) -> &mut Node {
        let node = self.nodes.get_mut(name);
        node.unwrap_or_else(|| panic!("there is no {name}"))
    }

    /// A client's node and connection; it connects when it is first mentioned.
    fn client(&mut self, name: &str) -> (String, ConnId) {
        if !self.clients.contains_key(name) {
            let node = name.get(..2).filter(|node| self.nodes.contains_key(*node));
            let node = node.unwrap_or("n1").to_owned();
            let conn = self.node(&node).accept();
            self.clients.insert(name.to_owned(), (node, conn));
        }
        self.clients[name].clone()
    }

    /// Adds nodes, which follow `n1` if they are replicas.
    fn add(&mut self, count: &str, follow: bool) {
        let first = self.nodes.len() as u64 + 1;
        let count: u64 = count.parse().expect("a number");
        for index in first..first + count {
            let name = format!("n{index}");
            let run_id_seed = if follow { index } else { 0 };
            let config = NodeConfig {
                run_id_seed,
                ..NodeConfig::default()
            };
            self.nodes.insert(name.clone(), Node::new(config));
        }
        if follow {
            for (name, node) in &mut self.nodes {
                let mut set = |parameter, value| node.configure(parameter, value).is_ok();
                let mut is_set = set("repl-diskless-sync-delay", "0");
                is_set &= set("replica-announce-ip", name);
                is_set &= name == "n1" || set("replicaof", "n1 6379");
                assert!(is_set, "the parameters exist");
            }
            self.tell("sleep 1");
        }
    }

    fn wake(&mut self, is_due: impl Fn(&Node) -> bool) {
        for name in self.nodes.keys().cloned().collect::<Vec<_>>() {
            if is_due(&self.nodes[&name]) {
                let (now_us, mut effects) = (self.now_us, Vec::new());
                self.node(&name).wake(now_us, &mut effects);
                self.carry_out(&name, effects);
            }
        }
    }

    fn show_time(&mut self, time_us: impl Fn(&Node) -> Option<u64>) {
        let time = time_us(self.node("n1"));
        let time = time.map_or("never".into(), |us| (us as f64 / 1000.0).to_string());
        self.caused.push(("n1".into(), time));
    }

    /// The reply of a node to a client that leaves.
    fn ask(&mut self, node: &str, line: &str) -> String {
        let (now_us, mut effects) = (self.now_us, Vec::new());
        let node = self.node(node);
        let conn = node.accept();
        node.receive(conn, format!("{line}\r\n").as_bytes(), now_us, &mut effects);
        node.closed(conn);
        let sent = effects.iter().find_map(|effect| match effect {
            Effect::Send { conn: to, bytes } if *to == conn => Some(bytes),
            _ => None,
        });
        String::from_utf8_lossy(sent.expect("a reply")).into_owned()
    }

    fn deliver(&mut self, client: &str, text: &str) {
        let (node, conn) = self.client(client);
        self.receive(&node, conn, text.as_bytes());
    }

    fn receive(&mut self, node: &str, conn: ConnId, bytes: &[u8]) {
        let (now_us, mut effects) = (self.now_us, Vec::new());
        self.node(node).receive(conn, bytes, now_us, &mut effects);
        self.carry_out(node, effects);
    }

    fn carry_out(&mut self, name: &str, effects: Vec<Effect>) {
        for (conn, bytes) in self.others.heard.take() {
            self.send(name, conn, &bytes);
        }
        for effect in effects {
            match effect {
                Effect::Send { conn, bytes } => self.send(name, conn, &bytes),
                Effect::Close { conn } => self.close(name, conn),
                Effect::Connect { conn, host, .. } => self.connect(name, conn, host),
                Effect::Disk(DiskWrite::Append(bytes)) => {
                    self.show(&format!("{name} writes"), &bytes)
                }
                Effect::Disk(_) => {}
                Effect::Exit => self.caused.push((name.into(), "exits".into())),
            }
        }
    }

    fn send(&mut self, from: &str, conn: ConnId, bytes: &[u8]) {
        let end = (from.to_owned(), conn);
        if let Some(client) = self.clients.iter().find(|(_, known)| **known == end) {
            self.show(&client.0.clone(), bytes);
        } else if let Some((to, end)) = self.wires.get(&end).cloned()
            && !self.is_cut(from, &to)
        {
            self.receive(&to, end, bytes);
        }
    }

    /// Shows bytes behind those that the same one got just before.
    fn show(&mut self, who: &str, bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes).replace("\r\n", "⏎");
        let text = text.replace(|c: char| c.is_control(), "·");
        match self.caused.last_mut() {
            Some((last, what)) if last == who => what.push_str(&text),
            _ => self.caused.push((who.to_owned(), text)),
        }
    }

    fn connect(&mut self, from: &str, conn: ConnId, to: String) {
        if self.is_cut(from, &to) || !self.nodes.contains_key(&to) {
            return self.node(from).closed(conn);
        }
        let end = self.node(&to).accept();
        let (here, there) = ((from.to_owned(), conn), (to, end));
        self.wires.insert(here.clone(), there.clone());
        self.wires.insert(there, here);
        let (now_us, mut effects) = (self.now_us, Vec::new());
        self.node(from).connected(conn, now_us, &mut effects);
        self.carry_out(from, effects);
    }

    fn close(&mut self, name: &str, conn: ConnId) {
        let end = (name.to_owned(), conn);
        if let Some((to, other)) = self.wires.remove(&end) {
            self.wires.remove(&(to.clone(), other));
            self.node(&to).closed(other);
        } else if let Some(client) = self.clients.iter().find(|(_, known)| **known == end) {
            self.caused
                .push((client.0.clone(), "is disconnected".into()));
        }
    }

    fn is_cut(&self, one: &str, other: &str) -> bool {
        self.cut_off.iter().any(|name| name == one || name == other)
    }
}

fn check(path: &Path) {
    check_transcript(path, &["$ "], Story::new, |story, _, command| {
        story.tell(command)
    });
}

transcripts! {
    "tests/node/stories", check:
    busy
    clients
    disk
    imitated
    replication
    scripts
    time
    turns
    waiting
}

#[test]
fn info_for_a_sentinel_fits_into_one_packet() {
    /// The payload of a packet of 1500 bytes.
    const MAX_BYTES: usize = 1460;
    let mut story = Story::new();
    story.tell("replicas 4");
    for node in ["n1", "n2"] {
        let read = story.ask(node, "INFO server replication");
        assert!(read.len() < MAX_BYTES * 9 / 10, "{node}: {}", read.len());
        let all = story.ask(node, "INFO");
        for line in read.lines().filter(|line| line.contains(':')) {
            assert!(all.contains(line), "{line}");
        }
    }
}
