//! Three sentinels, a master and two replicas that answer correctly, and a clock that the
//! test advances: no network, no delay. The transcripts are in `stories/`, their format in
//! `tests/testing/src/transcript.rs`:
//!
//! | | |
//! |---|---|
//! | `pass 5000`, `late 3000` | so many milliseconds pass, in steps of ten; or at once |
//! | `until +promoted-slave` | time passes until a sentinel has told this event |
//! | `down m`, `up m` | a server does not answer; it does again |
//! | `0 SENTINEL myid`, `restart 0` | a sentinel gets a command; its process ends, and another starts |
//! | `count +odown`, `master of r1` | how often an event was told that begins so; whom a server follows |

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use locklab_testing::{check_transcript, hostile, transcripts};

use super::{Address, Effect, LinkId, Monitor, Sentinel, SentinelConfig, SentinelFile, Uptime};

/// A server that answers the requests of sentinels.
#[derive(Clone)]
struct Server {
    is_up: bool,
    /// The address of its master; `None` if it is a master itself.
    master: Option<String>,
    offset: u64,
}

struct Cluster {
    now_ms: i64,
    sentinels: Vec<Sentinel>,
    files: Vec<Option<SentinelFile>>,
    servers: BTreeMap<String, Server>,
    /// For each link of each sentinel, the address it leads to.
    links: BTreeMap<(usize, LinkId), String>,
    listeners: BTreeSet<(usize, LinkId)>,
    log: Vec<(usize, String)>,
}

fn address(host: &str) -> Address {
    Address {
        host: host.to_owned(),
        port: 6379,
    }
}

fn start(index: usize, file: Option<SentinelFile>, now_ms: i64) -> Sentinel {
    let mut state = index as u64;
    let monitor = Monitor {
        down_after: Duration::from_secs(1),
        failover_timeout: Duration::from_secs(5),
        ..Monitor::new("mymaster", address("m"), 2)
    };
    let config = SentinelConfig {
        announce: address(&format!("s{index}")),
        monitor: vec![monitor],
        file,
        uptime: Uptime::Zero,
        random: Box::new(move |n| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % n
        }),
    };
    Sentinel::new(config, now_ms)
}

impl Cluster {
    fn new() -> Self {
        let server = |master: Option<&str>, offset| Server {
            is_up: true,
            master: master.map(str::to_owned),
            offset,
        };
        let servers = [
            ("m".to_owned(), server(None, 100)),
            ("r1".to_owned(), server(Some("m"), 90)),
            ("r2".to_owned(), server(Some("m"), 100)),
        ];
        Cluster {
            now_ms: 1_000_000,
            sentinels: (0..3).map(|index| start(index, None, 1_000_000)).collect(),
            files: vec![None; 3],
            servers: servers.into(),
            links: BTreeMap::new(),
            listeners: BTreeSet::new(),
            log: Vec::new(),
        }
    }

    /// Ends the process of a sentinel and starts another one.
    fn restart(&mut self, index: usize) {
        self.links.retain(|(owner, _), _| *owner != index);
        self.listeners.retain(|(owner, _)| *owner != index);
        self.sentinels[index] = start(index, self.files[index].clone(), self.now_ms);
    }

    /// Advances the clock in steps of 10 ms.
    fn pass(&mut self, ms: i64) {
        for _ in 0..ms / 10 {
            self.now_ms += 10;
            for index in 0..self.sentinels.len() {
                let mut effects = Vec::new();
                self.sentinels[index].wake(self.now_ms, &mut effects);
                self.carry_out(index, effects);
            }
        }
    }

    fn carry_out(&mut self, index: usize, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Connect { link, to } => {
                    self.links.insert((index, link), to.host);
                }
                Effect::Send { link, bytes } => {
                    let Some(to) = self.links.get(&(index, link)).cloned() else {
                        continue;
                    };
                    let text = String::from_utf8_lossy(&bytes).into_owned();
                    for answer in self.answer(index, link, &to, &text) {
                        let mut effects = Vec::new();
                        let sentinel = &mut self.sentinels[index];
                        sentinel.link_received(link, answer.as_bytes(), self.now_ms, &mut effects);
                        self.carry_out(index, effects);
                    }
                }
                Effect::Write(file) => self.files[index] = Some(file),
                Effect::Event(notice) => {
                    self.log
                        .push((index, format!("{} {}", notice.channel, notice.text)));
                }
                _ => {}
            }
        }
    }

    /// The reply of the other end to a command, given in its wire format.
    fn answer(&mut self, from: usize, link: LinkId, to: &str, command: &str) -> Vec<String> {
        let words: Vec<&str> = command.split("\r\n").skip(2).step_by(2).collect();
        if let Some(peer) = to.strip_prefix('s').and_then(|n| n.parse::<usize>().ok()) {
            let mut effects = Vec::new();
            let sentinel = &mut self.sentinels[peer];
            let conn = sentinel.accept();
            sentinel.receive(conn, command.as_bytes(), self.now_ms, &mut effects);
            sentinel.closed(conn);
            let is_reply =
                |effect: &Effect| matches!(effect, Effect::Reply { conn: to, .. } if *to == conn);
            let (replies, others): (Vec<_>, Vec<_>) = effects.into_iter().partition(is_reply);
            self.carry_out(peer, others);
            let texts = replies.into_iter().filter_map(|effect| match effect {
                Effect::Reply { bytes, .. } => Some(String::from_utf8_lossy(&bytes).into_owned()),
                _ => None,
            });
            return texts.collect();
        }
        let servers = self.servers.clone();
        let Some(server) = self.servers.get_mut(to).filter(|server| server.is_up) else {
            return Vec::new();
        };
        let reply = match words[..] {
            ["PING"] => "+PONG\r\n".to_owned(),
            ["SUBSCRIBE", _] => {
                self.listeners.insert((from, link));
                "+OK\r\n".to_owned()
            }
            ["SLAVEOF", "NO", _] => {
                server.master = None;
                "+OK\r\n".to_owned()
            }
            ["SLAVEOF", host, _] => {
                server.master = Some(host.to_owned());
                "+OK\r\n".to_owned()
            }
            ["INFO", "server", "replication"] => {
                let text = info(to, &servers);
                format!("${}\r\n{text}\r\n", text.len())
            }
            ["PUBLISH", channel, hello] => {
                self.publish(to, channel, hello);
                ":3\r\n".to_owned()
            }
            _ => "+OK\r\n".to_owned(),
        };
        vec![reply]
    }

    fn publish(&mut self, server: &str, channel: &str, hello: &str) {
        let words = [b"message", channel.as_bytes(), hello.as_bytes()];
        let message = crate::resp::command(&words);
        let here: Vec<_> = (self.listeners.iter())
            .filter(|key| self.links.get(key).is_some_and(|to| to == server))
            .copied()
            .collect();
        for (index, link) in here {
            let mut effects = Vec::new();
            self.sentinels[index].link_received(link, &message, self.now_ms, &mut effects);
            self.carry_out(index, effects);
        }
    }

    fn tell(&mut self, command: &str) -> Vec<String> {
        let words: Vec<&str> = command.split(' ').collect();
        let number = |word: &str| word.parse::<i64>().expect("a number");
        match words[..] {
            ["pass", ms] => self.pass(number(ms)),
            ["late", ms] => self.now_ms += number(ms),
            ["until", event] => {
                while self.happened(event) == 0 {
                    self.pass(10);
                }
            }
            ["down", server] => self.server(server).is_up = false,
            ["up", server] => self.server(server).is_up = true,
            ["restart", index] => self.restart(number(index) as usize),
            ["master", "of", server] => {
                let master = self.server(server).master.clone();
                return vec![master.unwrap_or("itself".into())];
            }
            ["count", ..] => {
                let event = command.trim_start_matches("count ");
                return vec![self.happened(event).to_string()];
            }
            [index, ref command @ ..] => {
                let reply = self.ask(number(index) as usize, command);
                return vec![reply.replace("\r\n", "⏎")];
            }
            [] => panic!("no command"),
        }
        Vec::new()
    }

    fn server(&mut self, name: &str) -> &mut Server {
        self.servers.get_mut(name).expect("a server")
    }

    fn ask(&mut self, index: usize, command: &[&str]) -> String {
        let words: Vec<&[u8]> = command.iter().map(|word| word.as_bytes()).collect();
        let mut effects = Vec::new();
        let sentinel = &mut self.sentinels[index];
        let conn = sentinel.accept();
        sentinel.receive(
            conn,
            &crate::resp::command(&words),
            self.now_ms,
            &mut effects,
        );
        sentinel.closed(conn);
        let reply = effects.iter().find_map(|effect| match effect {
            Effect::Reply { bytes, .. } => Some(String::from_utf8_lossy(bytes).into_owned()),
            _ => None,
        });
        self.carry_out(index, effects);
        reply.expect("a reply")
    }

    fn happened(&self, event: &str) -> usize {
        self.log
            .iter()
            .filter(|(_, text)| text.starts_with(event))
            .count()
    }
}

fn info(name: &str, servers: &BTreeMap<String, Server>) -> String {
    let server = &servers[name];
    let mut text = format!("run_id:{name:0>40}\r\n");
    match &server.master {
        None => {
            text += "role:master\r\n";
            let of_it = servers
                .iter()
                .filter(|(_, s)| s.master.as_deref() == Some(name));
            for (index, (replica, _)) in of_it.enumerate() {
                text += &format!("slave{index}:ip={replica},port=6379,state=online\r\n");
            }
        }
        Some(master) => {
            text += &format!(
                "role:slave\r\nmaster_host:{master}\r\nmaster_port:6379\r\nmaster_link_status:up\r\n\
                 slave_repl_offset:{}\r\nslave_priority:100\r\n",
                server.offset
            );
        }
    }
    text
}

fn check(path: &Path) {
    check_transcript(path, &["$ "], Cluster::new, |cluster, _, command| {
        cluster.tell(command)
    });
}

transcripts! {
    "src/sentinel/stories", check:
    failover
    restart
    votes
}

#[test]
fn hostile_reply_ends_its_link_alone() {
    for (name, bytes) in hostile::resp() {
        let mut cluster = Cluster::new();
        cluster.pass(100);
        let leads_to = |(key, to): (&(usize, LinkId), &String)| (to == "m").then_some(key.1);
        let link = cluster.links.iter().find_map(leads_to).expect("a link");
        let mut effects = Vec::new();
        for piece in bytes.chunks(64 << 10) {
            cluster.sentinels[0].link_received(link, piece, cluster.now_ms, &mut effects);
        }
        assert!(effects.contains(&Effect::Hangup { link }), "{name}");
        assert_eq!(cluster.ask(0, &["PING"]), "+PONG\r\n", "{name}");
    }
}
