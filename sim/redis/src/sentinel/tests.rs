//! Three sentinels, a master and two replicas that answer correctly, and a clock that the
//! test advances: no network, no delay.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use locklab_testing::hostile;

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

#[test]
fn sentinels_find_each_other_and_the_replicas() {
    let mut cluster = Cluster::new();
    cluster.pass(5000);
    assert_eq!(
        (cluster.happened("+sentinel"), cluster.happened("+slave")),
        (6, 6)
    );
    let quorum = cluster.ask(0, &["SENTINEL", "ckquorum", "mymaster"]);
    assert!(quorum.starts_with("+OK 3 usable Sentinels."), "{quorum}");
}

#[test]
fn the_replica_with_most_data_is_promoted_and_the_rest_follows() {
    let mut cluster = Cluster::new();
    cluster.pass(5000);
    cluster.servers.get_mut("m").expect("the master").is_up = false;
    cluster.pass(10_000);
    assert_eq!(cluster.servers["r2"].master, None);
    assert_eq!(cluster.servers["r1"].master.as_deref(), Some("r2"));
    assert_eq!(
        cluster.happened("+switch-master mymaster m 6379 r2 6379"),
        3
    );
    for index in 0..3 {
        let address = cluster.ask(index, &["SENTINEL", "get-master-addr-by-name", "mymaster"]);
        assert_eq!(address, "*2\r\n$2\r\nr2\r\n$4\r\n6379\r\n");
    }
}

/// An old master is demoted four `PUBLISH_PERIOD`s after it first reports being a master.
#[test]
fn old_master_is_demoted_after_eight_seconds() {
    let mut cluster = Cluster::new();
    cluster.pass(5000);
    cluster.servers.get_mut("m").expect("the master").is_up = false;
    cluster.pass(10_000);
    cluster.servers.get_mut("m").expect("the master").is_up = true;
    cluster.pass(7_900);
    assert_eq!(cluster.happened("+convert-to-slave"), 0);
    // Sentinels ask it for its role every ten seconds.
    cluster.pass(23_000);
    assert!(cluster.happened("+convert-to-slave") > 0);
    assert_eq!(cluster.servers["m"].master.as_deref(), Some("r2"));
}

#[test]
fn an_administrator_needs_no_vote() {
    let mut cluster = Cluster::new();
    cluster.pass(5000);
    assert_eq!(
        cluster.ask(1, &["SENTINEL", "failover", "mymaster"]),
        "+OK\r\n"
    );
    cluster.pass(5000);
    assert_eq!(cluster.happened("+odown"), 0);
    assert_eq!(cluster.happened("+switch-master"), 3);
}

/// A sentinel votes once per epoch: a second candidate does not get its vote.
#[test]
fn a_vote_is_given_once_in_an_epoch() {
    let mut cluster = Cluster::new();
    let mut vote = |candidate, epoch| {
        let words = [
            "SENTINEL",
            "is-master-down-by-addr",
            "m",
            "6379",
            epoch,
            candidate,
        ];
        cluster.ask(0, &words)
    };
    assert_eq!(vote("aa", "1"), "*3\r\n:0\r\n$2\r\naa\r\n:1\r\n");
    assert_eq!(vote("bb", "1"), "*3\r\n:0\r\n$2\r\naa\r\n:1\r\n");
    assert_eq!(vote("bb", "2"), "*3\r\n:0\r\n$2\r\nbb\r\n:2\r\n");
}

/// The file records the epoch of a vote, not the candidate.
#[test]
fn a_vote_is_given_once_in_an_epoch_even_by_two_processes() {
    let mut cluster = Cluster::new();
    let words = |candidate, epoch| {
        let question = ["SENTINEL", "is-master-down-by-addr", "m", "6379"];
        [&question[..], &[epoch, candidate]].concat()
    };
    assert_eq!(
        cluster.ask(0, &words("aa", "1")),
        "*3\r\n:0\r\n$2\r\naa\r\n:1\r\n"
    );
    cluster.restart(0);
    assert_eq!(
        cluster.ask(0, &words("bb", "1")),
        "*3\r\n:0\r\n$1\r\n*\r\n:1\r\n"
    );
    assert_eq!(
        cluster.ask(0, &words("bb", "2")),
        "*3\r\n:0\r\n$2\r\nbb\r\n:2\r\n"
    );
}

#[test]
fn a_sentinel_that_starts_again_knows_the_new_master_and_everybody_else() {
    let mut cluster = Cluster::new();
    cluster.pass(5000);
    cluster.servers.get_mut("m").expect("the master").is_up = false;
    cluster.pass(10_000);
    let own = ["SENTINEL", "myid"];
    let address = ["SENTINEL", "get-master-addr-by-name", "mymaster"];
    for index in 0..3 {
        let id = cluster.ask(index, &own);
        cluster.restart(index);
        // Immediately: no other server has reported anything yet.
        assert_eq!(cluster.ask(index, &own), id);
        let master = cluster.ask(index, &address);
        assert_eq!(master, "*2\r\n$2\r\nr2\r\n$4\r\n6379\r\n");
        let quorum = cluster.ask(index, &["SENTINEL", "ckquorum", "mymaster"]);
        assert!(quorum.starts_with("+OK 3 usable Sentinels."), "{quorum}");
        let listed = cluster.ask(index, &["SENTINEL", "replicas", "mymaster"]);
        assert!(listed.starts_with("*2\r\n"), "{listed}");
    }
    cluster.pass(5000);
    // The sentinels kept their identities: none is discovered a second time.
    assert_eq!(cluster.happened("+sentinel "), 6);
}

/// The new master is written to the file as soon as the replica is promoted, before the
/// others follow.
#[test]
fn leader_that_dies_after_the_promotion_remembers_the_promoted_replica() {
    let mut cluster = Cluster::new();
    cluster.pass(5000);
    let asked = cluster.ask(0, &["SENTINEL", "failover", "mymaster"]);
    assert_eq!(asked, "+OK\r\n");
    while cluster.happened("+promoted-slave") == 0 {
        cluster.pass(10);
    }
    assert_eq!(cluster.happened("+switch-master"), 0);
    cluster.restart(0);
    let address = cluster.ask(0, &["SENTINEL", "get-master-addr-by-name", "mymaster"]);
    assert_eq!(address, "*2\r\n$2\r\nr2\r\n$4\r\n6379\r\n");
    let listed = cluster.ask(0, &["SENTINEL", "replicas", "mymaster"]);
    assert!(
        listed.contains("m:6379") && listed.contains("r1:6379"),
        "{listed}"
    );
}

#[test]
fn a_late_timer_makes_a_sentinel_watch_only() {
    let mut cluster = Cluster::new();
    cluster.pass(5000);
    cluster.now_ms += 3000;
    cluster.pass(100);
    assert_eq!(cluster.happened("+tilt"), 3);
    cluster.servers.get_mut("m").expect("the master").is_up = false;
    cluster.pass(20_000);
    assert_eq!(cluster.happened("+sdown"), 0);
    cluster.pass(20_000);
    assert_eq!(cluster.happened("-tilt"), 3);
    assert_eq!(cluster.happened("+switch-master"), 3);
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
