//! The environment of the lock tests: simulated nodes or a real `redis-server`, and the resource,
//! which issues the tokens of some locks.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::rc::Rc;
use std::time::Duration;

use bytes::BytesMut;
use locklab_env::Env;
use locklab_env::observe::NoopObserver;
use locklab_env::redis::{Client, Reply};
use locklab_history::{Name, RESOURCE};
use locklab_locks::{DynLock, Grant, LockError, LockSpec, Mode, Owner, Request, Servers};
use locklab_model::workload::Fencing;
use locklab_real::real_env::RealEnv;
use locklab_redis::{Imitated, NodeConfig};
use locklab_runner::simulated_env::{Directory, PORT, SimulatedEnv};
use locklab_runner::workload::resource::{self, Register};
use locklab_services::consensus::Timing;
use locklab_services::serve;
use locklab_testing::RedisServer;
use locklab_values::random::Stream;
use locklab_vecmap::VecMap;
use locklab_world::{Config, HostConfig, HostId, World};
use redis_protocol::resp2::decode::decode_bytes_mut;
use redis_protocol::resp2::types::{BytesFrame, Resp2Frame};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// Runs `test` as a client of simulated nodes `n1`, `n2`, …; the last `down` of them do not run.
#[track_caller]
pub fn on_nodes<F, Fut>(nodes: usize, down: usize, test: F)
where
    F: Fn(SimulatedEnv, Vec<Name>) -> Fut + 'static,
    Fut: Future<Output = ()> + 'static,
{
    on_nodes_like(Imitated::default(), nodes, down, test);
}

/// As [`on_nodes`], with nodes that imitate this server.
#[track_caller]
pub fn on_nodes_like<F, Fut>(imitated: Imitated, nodes: usize, down: usize, test: F)
where
    F: Fn(SimulatedEnv, Vec<Name>) -> Fut + 'static,
    Fut: Future<Output = ()> + 'static,
{
    let start = |world: &mut World, hosts: &[HostId], _: &[Name]| {
        for node in &hosts[..hosts.len() - down] {
            world.start(*node, move |host| {
                let config = NodeConfig {
                    imitated,
                    ..NodeConfig::default()
                };
                serve::redis(host, config, PORT)
            });
        }
    };
    in_the_world(nodes, start, test);
}

/// Runs `test` as a client of the servers that the lock of these parameters needs.
#[track_caller]
pub fn on_servers<F, Fut>(parameters: &str, count: usize, test: F)
where
    F: Fn(SimulatedEnv, Vec<Name>) -> Fut + 'static,
    Fut: Future<Output = ()> + 'static,
{
    let spec: LockSpec = toml::from_str(parameters).expect("sound parameters");
    let start = |world: &mut World, hosts: &[HostId], names: &[Name]| {
        let members: Rc<[_]> = names
            .iter()
            .map(ToString::to_string)
            .zip(hosts.iter().copied())
            .collect();
        for (name, host) in members.iter() {
            match spec.servers() {
                Servers::Redis => world.start(*host, |host| {
                    serve::redis(host, NodeConfig::default(), PORT)
                }),
                Servers::Database => world.start(*host, |host| {
                    serve::database::database(host, Rc::default(), None, PORT)
                }),
                Servers::Consensus => {
                    let setup = serve::consensus::Setup {
                        name: name.clone(),
                        members: members.clone(),
                        timing: Timing::default(),
                        disk: Rc::default(),
                        random: Stream::new(0, name),
                    };
                    world.start(*host, move |host| {
                        serve::consensus::consensus(host, setup.clone(), PORT)
                    });
                }
            }
        }
    };
    in_the_world(count, start, test);
}

/// Runs `test` as a client of one server that sends these replies, in RESP, to the commands
/// named here, and `else_answer` to every other command.
#[track_caller]
pub fn on_answers<F, Fut>(
    answers: &'static [(&'static str, &'static str)],
    else_answer: &'static str,
    test: F,
) where
    F: Fn(SimulatedEnv, Vec<Name>) -> Fut + 'static,
    Fut: Future<Output = ()> + 'static,
{
    let start = |world: &mut World, hosts: &[HostId], _: &[Name]| {
        world.start(hosts[0], move |host| async move {
            let listener = host.listen(PORT).await.expect("its port is free");
            while let Ok((stream, _)) = listener.accept().await {
                host.spawn(answer(stream, answers, else_answer));
            }
        });
    };
    in_the_world(1, start, test);
}

async fn answer<S: AsyncRead + AsyncWrite + Unpin>(
    mut stream: S,
    answers: &[(&str, &str)],
    else_answer: &str,
) {
    let mut inbound = BytesMut::new();
    while let Ok(1..) = stream.read_buf(&mut inbound).await {
        while let Ok(Some((BytesFrame::Array(words), _, _))) = decode_bytes_mut(&mut inbound) {
            let name = words[0].as_str().expect("a command's name");
            let known = answers.iter().find(|(command, _)| *command == name);
            let reply = known.map_or(else_answer, |(_, reply)| reply);
            let written = stream.write_all(reply.as_bytes()).await;
            written.expect("the client is there");
        }
    }
}

/// Runs `test` on a host, with this number of servers started by `start`.
#[track_caller]
pub fn in_the_world<F, Fut>(
    servers: usize,
    start: impl FnOnce(&mut World, &[HostId], &[Name]),
    test: F,
) where
    F: Fn(SimulatedEnv, Vec<Name>) -> Fut + 'static,
    Fut: Future<Output = ()> + 'static,
{
    let mut world = World::new(Config::default(), &vec![HostConfig::default(); servers + 2]);
    let hosts = world.hosts();
    let names = names(servers);
    let served = names.iter().cloned().chain([RESOURCE.into()]);
    let directory = Directory::new(served.zip(hosts[1..].iter().copied()).collect());
    start(&mut world, &hosts[1..=servers], &names);
    world.start(hosts[servers + 1], |host| async move {
        let register = register();
        let listener = host.listen(PORT).await.expect("its port is free");
        while let Ok((stream, _)) = listener.accept().await {
            host.spawn(resource::serve(stream, register.clone(), NoopObserver));
        }
    });
    let done = Rc::new(Cell::new(false));
    let (test, finished) = (Rc::new(test), done.clone());
    world.start(hosts[0], move |host| {
        let env = SimulatedEnv::new(host.clone(), directory.clone(), "c1");
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
    F: FnOnce(RealEnv, Vec<Name>) -> Fut,
    Fut: Future<Output = ()>,
{
    let servers: Vec<RedisServer> = (0..nodes)
        .map(|_| RedisServer::start::<&str>(&[]))
        .collect();
    let names = names(nodes);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
    let resource = listener.local_addr().expect("it is bound");
    let addresses: VecMap<Name, SocketAddr> = names
        .iter()
        .cloned()
        .zip(servers.iter().map(RedisServer::address))
        .chain([(RESOURCE.into(), resource)])
        .collect();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime starts");
    let local = tokio::task::LocalSet::new();
    local.block_on(&runtime, async {
        tokio::task::spawn_local(serve_resource(listener));
        test(RealEnv::new(addresses, 1, "c1"), names).await;
    });
}

async fn serve_resource(listener: TcpListener) {
    listener.set_nonblocking(true).expect("it is a socket");
    let listener = tokio::net::TcpListener::from_std(listener).expect("a runtime is there");
    let register = register();
    while let Ok((stream, _)) = listener.accept().await {
        tokio::task::spawn_local(resource::serve(stream, register.clone(), NoopObserver));
    }
}

fn register() -> Rc<RefCell<Register>> {
    Rc::new(RefCell::new(Register::new(Fencing::None)))
}

/// Runs one generic `async fn(impl Env, Vec<Name>)` on this many simulated nodes, and on as
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

/// One attempt by the only owner.
pub async fn attempt(lock: &Rc<dyn DynLock>) -> Result<Grant, LockError> {
    attempt_of(lock, Owner::ONLY).await
}

/// One attempt by this owner.
pub async fn attempt_of(lock: &Rc<dyn DynLock>, owner: Owner) -> Result<Grant, LockError> {
    lock.attempt(Request {
        owner,
        wait: None,
        mode: Mode::Exclusive,
    })
    .await
}

/// One attempt by this owner, with this maximum wait, in this mode.
pub async fn attempt_in(
    lock: &Rc<dyn DynLock>,
    owner: Owner,
    wait: Option<Duration>,
    mode: Mode,
) -> Result<Grant, LockError> {
    lock.attempt(Request { owner, wait, mode }).await
}

/// The words of a node's reply.
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

/// The reply of a node to a command.
pub async fn call<E: Env>(env: &E, node: &Name, command: &[&str]) -> Reply {
    let client = Client::new(env.clone(), node.clone(), Some(Duration::from_secs(5)));
    let words: Vec<&[u8]> = command.iter().map(|word| word.as_bytes()).collect();
    client.call(&words).await.expect("the node answers")
}
