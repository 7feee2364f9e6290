//! Where the tests of the locks take place: simulated nodes, or a real `redis-server`.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::future::Future;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::rc::Rc;
use std::time::Duration;

use locklab::env::Env;
use locklab::env::machine::Machine;
use locklab::env::world::{Directory, PORT, Simulated};
use locklab::history::Name;
use locklab::locks::{DynLock, Grant, LockError, LockSpec, Mode, Owner, Request};
use locklab::redis::{Client, Reply, Subscription};
use locklab_sim::redis::NodeConfig;
use locklab_sim::serve;
use locklab_sim::world::{Config, HostConfig, World};

/// Runs `test` as a client of simulated nodes `n1`, `n2`, …, the last `down` of which do
/// not run.
#[track_caller]
pub fn on_nodes<F, Fut>(nodes: usize, down: usize, test: F)
where
    F: Fn(Simulated, Vec<Name>) -> Fut + 'static,
    Fut: Future<Output = ()> + 'static,
{
    let mut world = World::new(Config::default(), &vec![HostConfig::default(); nodes + 1]);
    let hosts = world.hosts();
    let names = names(nodes);
    let directory = Directory::new(
        names
            .iter()
            .cloned()
            .zip(hosts[1..].iter().copied())
            .collect(),
    );
    for node in &hosts[1..=nodes - down] {
        world.start(*node, |host| {
            serve::redis(host, NodeConfig::default(), PORT)
        });
    }
    let done = Rc::new(Cell::new(false));
    let (test, finished) = (Rc::new(test), done.clone());
    world.start(hosts[0], move |host| {
        let env = Simulated::new(host.clone(), directory.clone(), "c1");
        let (test, finished, names) = (test.clone(), finished.clone(), names.clone());
        async move {
            test(env, names).await;
            finished.set(true);
            host.stop_world();
        }
    });
    world.run(600_000_000_000);
    assert!(
        done.get(),
        "the test did not come to its end within ten virtual minutes"
    );
}

/// Runs `test` as a client of real servers, called `n1`, `n2`, …
pub fn on_redis<F, Fut>(nodes: usize, test: F)
where
    F: FnOnce(Machine, Vec<Name>) -> Fut,
    Fut: Future<Output = ()>,
{
    let servers: Vec<RealServer> = (0..nodes).map(|_| RealServer::start()).collect();
    let names = names(nodes);
    let addresses: BTreeMap<Name, SocketAddr> = names
        .iter()
        .cloned()
        .zip(servers.iter().map(|server| server.address))
        .collect();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime starts");
    let local = tokio::task::LocalSet::new();
    local.block_on(&runtime, test(Machine::new(addresses, 1, "c1"), names));
}

/// Runs one generic `async fn(impl Env, Vec<Name>)` on so many simulated nodes, and on as
/// many real ones.
macro_rules! on_both {
    ($nodes:expr, $test:ident) => {
        $crate::stage::on_nodes($nodes, 0, $test);
        $crate::stage::on_redis($nodes, $test);
    };
}
pub(crate) use on_both;

fn names(nodes: usize) -> Vec<Name> {
    (1..=nodes).map(|i| format!("n{i}").into()).collect()
}

/// The lock of these parameters.
pub fn lock<E: Env>(env: &E, nodes: &[Name], parameters: &str) -> Rc<dyn DynLock> {
    let spec: LockSpec = toml::from_str(parameters).expect("sound parameters");
    spec.build(env.clone(), nodes)
}

/// One attempt of the only owner.
pub async fn attempt(lock: &Rc<dyn DynLock>) -> Result<Grant, LockError> {
    attempt_of(lock, Owner::ONLY).await
}

/// One attempt of this owner.
pub async fn attempt_of(lock: &Rc<dyn DynLock>, owner: Owner) -> Result<Grant, LockError> {
    lock.attempt(Request {
        owner,
        wait: None,
        mode: Mode::Exclusive,
    })
    .await
}

/// One attempt of this owner, which has so much patience, in this mode.
pub async fn attempt_in(
    lock: &Rc<dyn DynLock>,
    owner: Owner,
    wait: Option<Duration>,
    mode: Mode,
) -> Result<Grant, LockError> {
    lock.attempt(Request { owner, wait, mode }).await
}

/// How a node answers to a command with a number.
pub async fn integer<E: Env>(env: &E, node: &Name, command: &[&str]) -> i64 {
    let reply = call(env, node, command).await;
    reply
        .integer()
        .unwrap_or_else(|| panic!("{command:?}: {reply:?}"))
}

/// The words of a node's answer.
pub async fn words<E: Env>(env: &E, node: &Name, command: &[&str]) -> Vec<String> {
    let text = |reply: Reply| match reply {
        Reply::Bulk(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        reply => panic!("{command:?}: {reply:?}"),
    };
    match call(env, node, command).await {
        Reply::Array(items) => items.into_iter().map(text).collect(),
        reply => vec![text(reply)],
    }
}

/// The messages of a channel.
pub async fn listen<E: Env>(env: &E, node: &Name, channel: &str) -> Subscription {
    let limit = Some(Duration::from_secs(5));
    let opening = Subscription::open(env, node, channel, limit);
    opening.await.expect("the node lets anybody subscribe")
}

/// What a node answers to a command.
pub async fn call<E: Env>(env: &E, node: &Name, command: &[&str]) -> Reply {
    let client = Client::new(env.clone(), node.clone(), Some(Duration::from_secs(5)));
    let words: Vec<&[u8]> = command.iter().map(|word| word.as_bytes()).collect();
    client.call(&words).await.expect("the node answers")
}

/// A server process; dropping this kills it.
struct RealServer {
    process: Child,
    address: SocketAddr,
}

impl RealServer {
    fn start() -> Self {
        // Another process may take the port before the server does: then the next one.
        (0..5)
            .find_map(|_| Self::start_on(free_port()))
            .expect("redis-server starts on one of five free ports within 5 s each")
    }

    fn start_on(port: u16) -> Option<Self> {
        let process = Command::new("redis-server")
            .args(["--port", &port.to_string(), "--bind", "127.0.0.1"])
            .args(["--save", "", "--appendonly", "no"])
            .current_dir(std::env::temp_dir())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("redis-server is installed: apt-get install -y redis-server");
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let mut server = RealServer { process, address };
        for _ in 0..500 {
            if !matches!(server.process.try_wait(), Ok(None)) {
                return None;
            }
            if TcpStream::connect(address).is_ok() {
                return Some(server);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        None
    }
}

impl Drop for RealServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn free_port() -> u16 {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .and_then(|listener| listener.local_addr())
        .expect("the loopback has a free port")
        .port()
}
