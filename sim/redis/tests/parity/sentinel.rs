//! A sentinel against a real `redis-sentinel`: the commands that need no other server.

use std::collections::BTreeSet;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::Command;

use locklab_redis::resp::command;
use locklab_redis::sentinel::{Address, ConnId, Effect, Monitor, Sentinel, SentinelConfig, Uptime};
use locklab_testing::{Process, free_ports, program, until};

use crate::real::RealClient;
use crate::versions;
use crate::wire::{Likeness, alike};

/// A real sentinel and a fake one that monitor the same masters.
struct Sentinels {
    _process: Process,
    folder: PathBuf,
    real: RealClient,
    fake: Sentinel,
    conn: ConnId,
    /// The port of the masters, on which nobody listens: one that this process has bound and closed.
    master: u16,
}

impl Sentinels {
    fn start() -> Self {
        let [port, master] = free_ports();
        let folder = std::env::temp_dir().join(format!("locklab-s-{}-{port}", std::process::id()));
        fs::create_dir_all(&folder).expect("a temporary folder");
        let file = folder.join("sentinel.conf");
        let text = format!(
            "port {port}\nbind 127.0.0.1\nsentinel monitor alone 127.0.0.1 {master} 5\n\
             sentinel monitor mymaster 127.0.0.1 {master} 1\n"
        );
        fs::write(&file, text).expect("the file can be written");
        let mut started = Command::new(program());
        let process = Process::start(started.arg(&file).arg("--sentinel"));
        let process = process.expect("the program starts");
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let stream = until(|| TcpStream::connect(address));
        let monitor = |name, quorum| {
            let address = Address {
                host: "127.0.0.1".into(),
                port: master,
            };
            Monitor::new(name, address, quorum)
        };
        let config = SentinelConfig {
            announce: Address {
                host: "127.0.0.1".into(),
                port,
            },
            monitor: vec![monitor("alone", 5), monitor("mymaster", 1)],
            file: None,
            uptime: Uptime::Zero,
            random: Box::new(|_| 0),
        };
        let mut fake = Sentinel::new(config, 0);
        Sentinels {
            _process: process,
            folder,
            real: RealClient::over(stream),
            conn: fake.accept(),
            fake,
            master,
        }
    }

    /// The replies to a command, in which `MASTER-PORT` is the masters' port.
    fn replies(&mut self, line: &str) -> (Vec<u8>, Vec<u8>) {
        let line = line.replace("MASTER-PORT", &self.master.to_string());
        let words: Vec<&[u8]> = line.split_whitespace().map(str::as_bytes).collect();
        let request = command(&words);
        let mut effects = Vec::new();
        self.fake.receive(self.conn, &request, 0, &mut effects);
        let sent = effects.into_iter().filter_map(|effect| match effect {
            Effect::Reply { bytes, .. } => Some(bytes.to_vec()),
            _ => None,
        });
        (
            self.real.request(&request),
            sent.collect::<Vec<_>>().concat(),
        )
    }

    fn check(&mut self, likeness: Likeness, lines: &str) {
        let mut failures = Vec::new();
        for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let (real, fake) = self.replies(line);
            if !alike(&real, &fake, likeness) {
                let (real, fake) = (real.escape_ascii(), fake.escape_ascii());
                failures.push(format!("{line}\n  real: {real}\n  fake: {fake}"));
            }
        }
        assert!(failures.is_empty(), "{}", failures.join("\n"));
    }
}

impl Drop for Sentinels {
    fn drop(&mut self) {
        // Not worth a failure if it is left in the temporary folder.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

#[test]
fn sentinel_answers_as_redis_does() {
    if versions::skips_test() {
        return;
    }
    let mut sentinels = Sentinels::start();
    sentinels.check(
        Likeness::Bytes,
        "PING
         PING x
         PING x y
         AUTH
         AUTH x
         AUTH default x
         AUTH a b
         AUTH a b c
         ACL
         ACL WHOAMI
         ACL WHOAMI x
         ACL NOPE
         CLIENT
         CLIENT NOPE
         CLIENT GETNAME
         CLIENT SETNAME x
         CLIENT SETNAME
         CLIENT SETNAME a b
         CLIENT GETNAME
         client getname x
         COMMAND COUNT x
         COMMAND NOPE
         HELLO 4
         HELLO x
         HELLO 2 AUTH a b
         HELLO 2 SETNAME
         ROLE x
         INFO nope
         PUBLISH a b
         PUBLISH a
         SUBSCRIBE
         PSUBSCRIBE
         UNSUBSCRIBE
         PUNSUBSCRIBE a
         GET x
         get x y
         CONFIG GET x
         MULTI
         QUIT x
         SENTINEL
         SENTINEL NOPE
         SENTINEL MYID x
         SENTINEL FLUSHCONFIG
         SENTINEL FLUSHCONFIG x
         SENTINEL CONFIG
         SENTINEL CONFIG GET
         SENTINEL CONFIG GET nope
         SENTINEL CONFIG GET resolve-*
         SENTINEL CONFIG GET SENTINEL-*
         SENTINEL CONFIG SET nope 1
         SENTINEL CONFIG SET announce-port x
         SENTINEL CONFIG SET RESOLVE-hostnames NO
         SENTINEL CONFIG SET resolve-hostnames maybe
         SENTINEL CONFIG SET a b c
         SENTINEL CONFIG NOPE x
         SENTINEL CKQUORUM mymaster
         SENTINEL CKQUORUM alone
         SENTINEL CKQUORUM nope
         SENTINEL CKQUORUM
         SENTINEL GET-MASTER-ADDR-BY-NAME
         SENTINEL GET-MASTER-ADDR-BY-NAME mymaster
         SENTINEL GET-MASTER-ADDR-BY-NAME nope
         SENTINEL MASTER nope
         SENTINEL MASTER
         SENTINEL MASTERS x
         SENTINEL REPLICAS
         SENTINEL REPLICAS nope
         SENTINEL REPLICAS mymaster
         SENTINEL SLAVES mymaster
         SENTINEL SENTINELS nope
         SENTINEL SENTINELS mymaster
         SENTINEL RESET
         SENTINEL RESET nope
         SENTINEL REMOVE nope
         SENTINEL REMOVE
         SENTINEL FAILOVER nope
         SENTINEL FAILOVER
         SENTINEL SET nope a b
         SENTINEL SET mymaster
         SENTINEL SET mymaster quorum
         SENTINEL SET mymaster quorum x
         SENTINEL SET mymaster quorum 0
         SENTINEL SET mymaster nope 1
         SENTINEL SET mymaster parallel-syncs 1
         SENTINEL SET mymaster parallel-syncs 1 quorum
         SENTINEL SET mymaster down-after-milliseconds 0
         SENTINEL SET mymaster failover-timeout -1
         SENTINEL MONITOR mymaster 127.0.0.1 MASTER-PORT 2
         SENTINEL MONITOR a 127.0.0.1 MASTER-PORT 0
         SENTINEL MONITOR a 127.0.0.1 MASTER-PORT x
         SENTINEL MONITOR a 127.0.0.1 x 2
         SENTINEL MONITOR a 127.0.0.1 99999 2
         SENTINEL MONITOR a
         SENTINEL IS-MASTER-DOWN-BY-ADDR 127.0.0.1 MASTER-PORT 0 *
         SENTINEL IS-MASTER-DOWN-BY-ADDR 127.0.0.1 MASTER-PORT
         SENTINEL IS-MASTER-DOWN-BY-ADDR 127.0.0.1 x 0 *
         SENTINEL IS-MASTER-DOWN-BY-ADDR 127.0.0.1 2 0 *",
    );
    sentinels.check(Likeness::Sorted, "ROLE");
    sentinels.check(
        Likeness::Shape,
        "CLIENT ID
         SENTINEL MYID
         SENTINEL MASTER mymaster
         SENTINEL MASTERS
         HELLO
         HELLO 2 AUTH default x SETNAME y
         INFO
         COMMAND INFO nope",
    );
}

/// The names in a reply of alternating names and values, or in lines of `name:value`.
fn names(reply: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(reply);
    let lines = text
        .split("\r\n")
        .filter(|line| !line.starts_with(['*', '$', '#']));
    let names = lines.map(|line| line.split(':').next().unwrap_or_default().to_owned());
    names.filter(|name| !name.is_empty()).collect()
}

#[test]
fn fields_of_a_master_have_the_names_and_the_order_of_redis() {
    if versions::skips_test() {
        return;
    }
    let mut sentinels = Sentinels::start();
    let fields = |reply: &[u8]| {
        let all = names(reply);
        // Where the master has not answered yet, its id is empty.
        let known =
            |name: &&String| name.contains('-') || ["name", "ip", "port"].contains(&&***name);
        all.iter().filter(known).cloned().collect::<Vec<_>>()
    };
    let (real, fake) = sentinels.replies("SENTINEL MASTER mymaster");
    assert_eq!(fields(&fake), fields(&real));
    for section in ["server", "sentinel"] {
        let (real, fake) = sentinels.replies(&format!("INFO {section}"));
        let real: BTreeSet<String> = names(&real).into_iter().collect();
        let more: Vec<String> = names(&fake);
        let more: Vec<&String> = more.iter().filter(|name| !real.contains(*name)).collect();
        assert!(more.is_empty(), "{section}: {more:?}");
        assert!(!names(&fake).is_empty());
    }
}
