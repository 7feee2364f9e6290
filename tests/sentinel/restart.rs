//! The state that sentinels keep and forget at a restart: real sentinels and servers against ours.

use std::time::Duration;

use locklab_env::redis::Reply;
use locklab_redis::sentinel::{Address, Monitor};
use locklab_testing::{Process, free_ports};
use tokio::net::TcpListener;
use tokio::task::{LocalSet, spawn_local};

use super::{FAILOVER_TIMEOUT_MS, Place, Sentinels, ask, ours, text, texts, until, value};

/// The state of sentinels and servers after a restart, real ones and ours.
#[test]
fn restart_forgets_the_same_state_as_redis() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let (real, ours) = LocalSet::new().block_on(&runtime, async {
        tokio::join!(restarts(Sentinels::Real), restarts(Sentinels::Ours))
    });
    let expected = Kept {
        knows_the_new_master: true,
        is_who_it_was: true,
        votes: [("aa".into(), 9), ("*".into(), 9), ("bb".into(), 10)],
        config_epoch: "1".into(),
        replicas: "1".into(),
        promoted_role: "role:master".into(),
    };
    assert_eq!(real, expected);
    assert_eq!(ours, expected);
}

/// The state after a restart.
#[derive(Debug, PartialEq, Eq)]
struct Kept {
    knows_the_new_master: bool,
    is_who_it_was: bool,
    /// The votes before it, and after it in the same epoch and in the next: candidate and
    /// epoch.
    votes: [(String, i64); 3],
    config_epoch: String,
    replicas: String,
    /// The role that a promoted server reports.
    promoted_role: String,
}

/// One sentinel, a master and a replica: a manual failover, then a restart of the sentinel
/// and the promoted server.
async fn restarts(which: Sentinels) -> Kept {
    let place = Place::new(which, "restart");
    let [old, new, port] = free_ports();
    let _master = place.redis(old, &[]);
    let of = ["--replicaof", "127.0.0.1", &old.to_string()].map(str::to_owned);
    let file = place.file(new, &of);
    let mut promoted = place.redis_of(&file);
    until(new, &["INFO", "replication"], |reply| {
        text(reply).contains("master_link_status:up")
    })
    .await;
    let mut sentinel = Some(Watch::start(&place, which, port, old).await);
    let monitored = ["SENTINEL", "master", "mymaster"];
    until(port, &monitored, |reply| value(reply, "num-slaves") == "1").await;
    // A replica is chosen by its own reports.
    until(port, &["SENTINEL", "replicas", "mymaster"], |reply| {
        matches!(reply, Reply::Array(items) if value(&items[0], "master-link-status") == "ok")
    })
    .await;
    let id = ask(port, &["SENTINEL", "myid"]).await;
    until(port, &["SENTINEL", "failover", "mymaster"], Reply::is_ok).await;
    let address = ["SENTINEL", "get-master-addr-by-name", "mymaster"];
    let is_new = |reply: &Reply| texts(reply).get(1) == Some(&new.to_string());
    until(port, &address, is_new).await;
    until(port, &monitored, |reply| {
        value(reply, "port") == new.to_string()
    })
    .await;
    let before = vote(port, new, 9, "aa").await;

    drop(sentinel.take());
    promoted.end();
    let _promoted = place.redis_of(&file);
    let _sentinel = Watch::start(&place, which, port, old).await;
    until(port, &["PING"], |reply| text(reply) == "PONG").await;
    let master = ask(port, &monitored).await;
    until(new, &["PING"], |reply| text(reply) == "PONG").await;
    let info = text(&ask(new, &["INFO", "replication"]).await);
    Kept {
        knows_the_new_master: is_new(&ask(port, &address).await),
        is_who_it_was: ask(port, &["SENTINEL", "myid"]).await == id,
        votes: [
            before,
            vote(port, new, 9, "bb").await,
            vote(port, new, 10, "bb").await,
        ],
        config_epoch: value(&master, "config-epoch"),
        replicas: value(&master, "num-slaves"),
        promoted_role: info.lines().nth(1).unwrap_or_default().to_owned(),
    }
}

/// The candidate that a sentinel has voted for, and the epoch.
async fn vote(port: u16, master: u16, epoch: u64, candidate: &str) -> (String, i64) {
    let (master, epoch) = (master.to_string(), epoch.to_string());
    let question = ["SENTINEL", "is-master-down-by-addr", "127.0.0.1"];
    let question = [&question[..], &[&master, &epoch, candidate]].concat();
    let Reply::Array(items) = ask(port, &question).await else {
        panic!("no vote");
    };
    (text(&items[1]), items[2].integer().unwrap_or(-1))
}

/// A sentinel under test: a process, or a task.
enum Watch {
    Process(Process),
    Task(tokio::task::JoinHandle<()>),
}

impl Watch {
    /// A sentinel that ran here before continues from its file.
    async fn start(place: &Place, which: Sentinels, port: u16, master: u16) -> Self {
        if which == Sentinels::Real {
            return Watch::Process(place.sentinel(port, master, 60_000, 1));
        }
        let address = Address {
            host: "127.0.0.1".into(),
            port: master,
        };
        let monitor = Monitor {
            down_after: Duration::from_secs(60),
            failover_timeout: Duration::from_millis(FAILOVER_TIMEOUT_MS as u64),
            ..Monitor::new("mymaster", address, 1)
        };
        let listener = bind(port).await;
        let file = place.kept.clone();
        // It has its own set of tasks, all of which end with it.
        Watch::Task(spawn_local(async move {
            let serving = ours::serve(listener, monitor, file);
            let _ = LocalSet::new().run_until(serving).await;
        }))
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        match self {
            Watch::Process(process) => process.end(),
            Watch::Task(task) => task.abort(),
        }
    }
}

/// The port may become free only after the previous task has ended.
async fn bind(port: u16) -> TcpListener {
    for _ in 0..100 {
        if let Ok(listener) = TcpListener::bind(("127.0.0.1", port)).await {
            return listener;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("port {port} does not become free");
}
