//! The same failover by real sentinels and by the laboratory's own: the same events in the
//! same order, on real servers.

mod ours;
mod restart;

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::rc::Rc;
use std::time::Duration;

use locklab_env::redis::{Connection, Reply};
use locklab_redis::sentinel::{Address, Monitor};
use locklab_testing::{Process, free_ports, program};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{LocalSet, spawn_local};

/// Long enough to restore links that a promotion cuts; the first sentinel is the last to
/// consider the master down, so its agreement completes the quorum.
const DOWN_AFTER_MS: [i64; 3] = [2500, 1500, 1500];
/// All must agree, so that no sentinel acts before the first one does.
const QUORUM: usize = 3;
const FAILOVER_TIMEOUT_MS: i64 = 10_000;

#[derive(Clone, Copy, PartialEq)]
enum Sentinels {
    Real,
    Ours,
}

#[test]
fn a_failover_makes_the_events_that_real_sentinels_make() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let both = || {
        LocalSet::new().block_on(&runtime, async {
            tokio::join!(failover(Sentinels::Real), failover(Sentinels::Ours))
        })
    };
    // A sentinel that was stopped for two seconds says so (TILT), and acts later than the others expect.
    let is_late = |(real, ours): &(Seen, Seen)| {
        let mut events = [real, ours].into_iter().flat_map(|seen| &seen.leader);
        events.any(|event| event.contains("tilt"))
    };
    let mut seen = both();
    for _ in 0..2 {
        if is_late(&seen) {
            seen = both();
        }
    }
    let (real, ours) = seen;
    let expected = "\
        +sdown master old\n\
        +odown master old\n\
        +new-epoch\n\
        +try-failover master old\n\
        +vote-for-leader\n\
        +elected-leader master old\n\
        +failover-state-select-slave master old\n\
        +selected-slave slave new @ old\n\
        +failover-state-send-slaveof-noone slave new @ old\n\
        +failover-state-wait-promotion slave new @ old\n\
        -role-change slave new @ old new reported role is master\n\
        +promoted-slave slave new @ old\n\
        +failover-state-reconf-slaves master old\n\
        +slave-reconf-sent slave other @ old\n\
        +slave-reconf-inprog slave other @ old\n\
        +slave-reconf-done slave other @ old\n\
        +failover-end master old\n\
        +switch-master old new\n\
        +slave slave other @ new\n\
        +slave slave old @ new\n\
        +sdown slave old @ new\n\
        -role-change slave old @ new new reported role is master\n\
        +role-change slave old @ new new reported role is slave";
    for (which, seen) in [("real", &real), ("ours", &ours)] {
        assert_eq!(seen.leader.join("\n"), expected, "{which}");
        assert_eq!(seen.followers, real.followers, "{which}");
        assert!(
            seen.comes_back,
            "{which}: it did not see the old master again"
        );
        assert!(
            seen.conversions >= 1,
            "{which}: nobody demoted the old master"
        );
    }
}

/// The observations of a failover.
struct Seen {
    /// The events of the elected sentinel.
    leader: Vec<String>,
    /// The events of the other sentinels about the switch.
    followers: Vec<String>,
    /// Whether it detected that the old master was back.
    comes_back: bool,
    /// How often the old master was demoted.
    conversions: usize,
}

async fn failover(which: Sentinels) -> Seen {
    let place = Place::new(which, "failover");
    let ports = free_ports::<6>();
    let [old, new, other] = [ports[0], ports[1], ports[2]];
    let mut master = place.redis(old, &[]);
    let of = ["--replicaof", "127.0.0.1", &old.to_string()].map(str::to_owned);
    let preferred = [&of[..], &["--replica-priority".into(), "10".into()]].concat();
    let _replicas = [place.redis(new, &preferred), place.redis(other, &of)];
    for (port, link) in [
        (new, "master_link_status:up"),
        (other, "master_link_status:up"),
    ] {
        until(port, &["INFO", "replication"], |reply| {
            text(reply).contains(link)
        })
        .await;
    }
    let mut sentinels = Vec::new();
    for (&port, down_after_ms) in ports[3..].iter().zip(DOWN_AFTER_MS) {
        match which {
            Sentinels::Real => sentinels.push(place.sentinel(port, old, down_after_ms, QUORUM)),
            Sentinels::Ours => {
                let address = Address {
                    host: "127.0.0.1".into(),
                    port: old,
                };
                let monitor = Monitor {
                    down_after: Duration::from_millis(down_after_ms as u64),
                    failover_timeout: Duration::from_millis(FAILOVER_TIMEOUT_MS as u64),
                    ..Monitor::new("mymaster", address, QUORUM)
                };
                let listener = TcpListener::bind(("127.0.0.1", port))
                    .await
                    .expect("a free port");
                spawn_local(ours::serve(listener, monitor, Rc::default()));
            }
        }
    }
    let all_known = |reply: &Reply| {
        let known = texts(reply);
        let has = |name: &str, count| {
            known
                .windows(2)
                .any(|pair| pair[0] == name && pair[1] == count)
        };
        has("num-slaves", "2") && has("num-other-sentinels", "2")
    };
    for &port in &ports[3..] {
        until(port, &["SENTINEL", "master", "mymaster"], all_known).await;
    }
    // Hellos have been exchanged both ways, and every INFO has been answered once.
    let replicas = |reply: &Reply| {
        each(reply, "flags", |flags| flags == "slave")
            && each(reply, "master-link-status", |status| status == "ok")
            && [("10", 1), ("100", 1)].iter().all(|(priority, count)| {
                let has = |item: &&Reply| value(item, "slave-priority") == *priority;
                items(reply).iter().filter(has).count() == *count
            })
    };
    let sentinels = |reply: &Reply| each(reply, "flags", |flags| flags == "sentinel");
    for &port in &ports[3..] {
        until(port, &["SENTINEL", "replicas", "mymaster"], replicas).await;
        until(port, &["SENTINEL", "sentinels", "mymaster"], sentinels).await;
    }
    let logs: Vec<Log> = ports[3..].iter().map(|_| Log::default()).collect();
    for (&port, log) in ports[3..].iter().zip(&logs) {
        listen(port, log.clone()).await;
    }

    master.end();
    for log in &logs {
        log.until(|event| event.starts_with("+switch-master")).await;
        let old_is_down = format!("+sdown slave 127.0.0.1:{old}");
        log.until(|event| event.starts_with(&old_is_down)).await;
    }
    let _back = place.redis(old, &[]);
    for log in &logs {
        log.until(|event| event.starts_with("+role-change")).await;
    }
    let names = [(old, "old"), (new, "new"), (other, "other")];
    let told: Vec<Vec<String>> = logs.iter().map(|log| log.told(&names)).collect();
    let is_leader = |events: &&Vec<String>| events.iter().any(|e| e.starts_with("+elected-leader"));
    let is_conversion = |event: &&String| event.starts_with("+convert-to-slave");
    // The order of these events relative to their neighbours varies: the others have switched
    // and no longer consider the old master down; it is back, and reports so.
    let is_unsteady = |event: &&String| event.starts_with("-odown") || event.starts_with("-sdown");
    let leader = told.iter().find(is_leader).expect("somebody is elected");
    let follower = told
        .iter()
        .find(|events| !is_leader(events))
        .expect("somebody is not");
    let of_the_switch = ["+config-update-from", "+switch-master"];
    Seen {
        leader: without_lost_elections(leader)
            .into_iter()
            .filter(|event| !is_conversion(event) && !is_unsteady(event))
            .cloned()
            .collect(),
        comes_back: leader.iter().any(|event| event == "-sdown slave old @ new"),
        followers: follower
            .iter()
            .filter(|event| of_the_switch.iter().any(|start| event.starts_with(start)))
            .cloned()
            .collect(),
        conversions: told.iter().flatten().filter(is_conversion).count(),
    }
}

/// The events of an elected sentinel without the elections that were lost before. Sentinels that vote late,
/// as on a loaded machine, repeat an election. Each begins with a new epoch. One that the sentinel itself has
/// lost ends with an abort. In one that another has lost it only votes: between new epoch and vote it does
/// not try a failover.
fn without_lost_elections(events: &[String]) -> Vec<&String> {
    let begins = |event: &String| event == "+new-epoch";
    let is_lost = |event: &String| event == "-failover-abort-not-elected master old";
    let lost = events.iter().rposition(is_lost).map_or(0, |at| at + 1);
    let first = events[..lost].iter().position(begins).unwrap_or(lost);
    let mut left = Vec::new();
    let mut rest = events[..first].iter().chain(&events[lost..]).peekable();
    while let Some(event) = rest.next() {
        let votes = begins(event) && rest.next_if(|next| *next == "+vote-for-leader").is_some();
        if !votes {
            left.push(event);
        }
    }
    left
}

#[test]
fn only_lost_elections_are_left_out() {
    let check = |events: &[&str], expected: &[&str]| {
        let events: Vec<String> = events.iter().map(|event| (*event).to_owned()).collect();
        assert_eq!(without_lost_elections(&events), expected);
    };
    let lost = "-failover-abort-not-elected master old";
    let won = ["+sdown master old", "+new-epoch", "+elected-leader"];
    let twice = [won[0], won[1], lost, won[1], won[2]];
    check(&twice, &won);
    check(&won, &won);
    let vote = "+vote-for-leader";
    check(&[won[0], won[1], vote, won[1], won[2]], &won);
    let own = [won[0], won[1], "+try-failover master old", vote, won[2]];
    check(&own, &own);
    // An election that ends in another way counts.
    let stopped = [
        won[0],
        won[1],
        "-failover-abort-no-good-slave",
        won[1],
        won[2],
    ];
    check(&stopped, &stopped);
}

/// Subscribes to every event of a sentinel.
async fn listen(port: u16, log: Log) {
    let stream = TcpStream::connect(("127.0.0.1", port))
        .await
        .expect("a sentinel");
    let mut connection = Connection::new(stream);
    let confirmed = connection
        .call(&[b"PSUBSCRIBE", b"*"])
        .await
        .expect("a confirmation");
    assert_eq!(texts(&confirmed)[0], "psubscribe");
    spawn_local(async move {
        while let Ok(message) = connection.receive().await {
            let words = texts(&message);
            log.0
                .borrow_mut()
                .push(format!("{} {}", words[2], words[3]));
        }
    });
}

/// The events that a sentinel published.
#[derive(Clone, Default)]
struct Log(Rc<RefCell<Vec<String>>>);

impl Log {
    /// Waits for an event.
    async fn until(&self, is_it: impl Fn(&str) -> bool) {
        for _ in 0..1200 {
            if self.0.borrow().iter().any(|event| is_it(event)) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("it never came: {:#?}", self.0.borrow());
    }

    /// The events with names for ports, without the parts that differ between runs: ids,
    /// epochs, the number of sentinels that agreed.
    fn told(&self, names: &[(u16, &str)]) -> Vec<String> {
        let events = self.0.borrow();
        let plain = events.iter().map(|event| {
            let mut event = event.clone();
            for (port, name) in names {
                event = event.replace(&format!("127.0.0.1:{port} "), "");
                event = event.replace(&format!("127.0.0.1 {port}"), name);
            }
            let event = event.replace(" mymaster", "");
            let (event, _) = event.split_once(" #quorum").unwrap_or((&event, ""));
            match event.split_once(' ') {
                Some((kind @ ("+new-epoch" | "+vote-for-leader" | "+config-update-from"), _)) => {
                    kind.to_owned()
                }
                _ => event.to_owned(),
            }
        });
        plain.collect()
    }
}

/// The folder of the processes of one run.
struct Place {
    folder: PathBuf,
    /// The file of one of our sentinels.
    kept: ours::File,
}

impl Place {
    fn new(which: Sentinels, test: &str) -> Self {
        let name = match which {
            Sentinels::Real => "real",
            Sentinels::Ours => "ours",
        };
        let path =
            std::env::temp_dir().join(format!("locklab-{test}-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).expect("a temporary directory");
        Place {
            folder: path,
            kept: Rc::default(),
        }
    }

    /// A Redis server without persistence. A replica connects immediately: its snapshot is
    /// not delayed.
    fn redis(&self, port: u16, more: &[String]) -> Process {
        let port = port.to_string();
        let options = [
            "--port",
            &port,
            // On all addresses it could not start beside a real run with this port on one of them.
            "--bind",
            "127.0.0.1",
            "--save",
            "",
            "--repl-diskless-sync-delay",
            "0",
            "--dir",
        ];
        let mut command = Command::new(program());
        command
            .args(options)
            .arg(&self.folder)
            .args(["--dbfilename", &format!("{port}.rdb")])
            .args(more);
        start(command)
    }

    /// A server's configuration file.
    fn file(&self, port: u16, more: &[String]) -> PathBuf {
        let path = self.folder.join(format!("redis-{port}.conf"));
        let more = more.join(" ").replace("--", "");
        let text = format!(
            "port {port}\nbind 127.0.0.1\nsave \"\"\nrepl-diskless-sync-delay 0\ndir {}\n{more}\n",
            self.folder.display()
        );
        fs::write(&path, text).expect("a file");
        path
    }

    fn redis_of(&self, file: &Path) -> Process {
        let mut command = Command::new(program());
        command.arg(file);
        start(command)
    }

    /// A sentinel that already has a file is started with it.
    fn sentinel(&self, port: u16, master: u16, down_after_ms: i64, quorum: usize) -> Process {
        let config = self.folder.join(format!("sentinel-{port}.conf"));
        let text = format!(
            "port {port}\nbind 127.0.0.1\ndir {}\nsentinel monitor mymaster 127.0.0.1 {master} {quorum}\n\
             sentinel down-after-milliseconds mymaster {down_after_ms}\n\
             sentinel failover-timeout mymaster {FAILOVER_TIMEOUT_MS}\n",
            self.folder.display()
        );
        if !config.exists() {
            fs::write(&config, text).expect("a file");
        }
        let mut command = Command::new(program());
        command.arg(config).arg("--sentinel");
        start(command)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn start(mut command: Command) -> Process {
    Process::start(&mut command).expect("a Redis server is installed")
}

/// Sends one request.
async fn ask(port: u16, command: &[&str]) -> Reply {
    let words: Vec<&[u8]> = command.iter().map(|word| word.as_bytes()).collect();
    let stream = TcpStream::connect(("127.0.0.1", port)).await;
    let mut connection = Connection::new(stream.expect("somebody listens"));
    connection.call(&words).await.expect("an answer")
}

/// The value of a key in a list of alternating keys and values.
fn value(reply: &Reply, key: &str) -> String {
    let words = texts(reply);
    let mut pairs = words.chunks_exact(2);
    pairs
        .find(|pair| pair[0] == key)
        .map_or(String::new(), |pair| pair[1].clone())
}

fn items(reply: &Reply) -> &[Reply] {
    match reply {
        Reply::Array(items) => items,
        _ => &[],
    }
}

/// Whether the value at this key satisfies the condition in each list of keys and values.
fn each(reply: &Reply, key: &str, is_it: impl Fn(&str) -> bool) -> bool {
    items(reply).iter().all(|item| is_it(&value(item, key)))
}

/// Repeats a request until the reply satisfies the condition.
async fn until(port: u16, command: &[&str], is_it: impl Fn(&Reply) -> bool) {
    let words: Vec<&[u8]> = command.iter().map(|word| word.as_bytes()).collect();
    let mut last = None;
    for _ in 0..600 {
        if let Ok(stream) = TcpStream::connect(("127.0.0.1", port)).await
            && let Ok(reply) = Connection::new(stream).call(&words).await
        {
            if is_it(&reply) {
                return;
            }
            last = Some(reply);
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("{command:?} on {port} never answered as wished, at last {last:?}");
}

fn text(reply: &Reply) -> String {
    match reply {
        Reply::Bulk(bytes) | Reply::Status(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Reply::Integer(number) => number.to_string(),
        _ => String::new(),
    }
}

fn texts(reply: &Reply) -> Vec<String> {
    match reply {
        Reply::Array(items) => items.iter().map(text).collect(),
        _ => Vec::new(),
    }
}
