//! A sentinel against a real `redis-sentinel`: the commands that need no other server.

use std::collections::BTreeSet;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::Command;

use locklab_redis::resp::command;
use locklab_redis::sentinel::{Address, ConnId, Effect, Monitor, Sentinel, SentinelConfig, Uptime};
use locklab_testing::{Process, free_ports, program, until};

use crate::data::{Request, cases};
use crate::real::RealClient;
use crate::versions;
use crate::wire::alike;

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
    let mut failures = Vec::new();
    for line in cases(include_str!("sentinel/replies.txt"))
        .iter()
        .flat_map(|case| &case.lines)
    {
        let request = Request::parse(line);
        let (real, fake) = sentinels.replies(request.line);
        if !alike(&real, &fake, request.likeness) {
            let (real, fake) = (real.escape_ascii(), fake.escape_ascii());
            failures.push(format!("{line}\n  real: {real}\n  fake: {fake}"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
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
