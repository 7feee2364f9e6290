//! What a client does about connections that were closed: each of [`ClientOptions`], on servers
//! that restart, lose power, reset or break connections.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use locklab_env::Env;
use locklab_env::redis::{Client, ClientOptions, Connect, Error, OnClose, Reply};
use locklab_history::{Name, RESOURCE};
use locklab_real::real_env::RealEnv;
use locklab_redis::NodeConfig;
use locklab_runner::simulated_env::{Directory, PORT, SimulatedEnv};
use locklab_services::serve;
use locklab_world::{Config, Host, HostConfig, HostId, World};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::stage::{call, on_nodes, on_redis};

const PLAIN: ClientOptions = ClientOptions::PLAIN;
const WATCHFUL: ClientOptions = ClientOptions {
    on_close: OnClose::Reconnect,
    ..PLAIN
};

fn resending(resend: u32) -> ClientOptions {
    ClientOptions { resend, ..PLAIN }
}

/// How long a client of these tests waits for a reply; links take 1 to 5 ms one way.
const LIMIT: Duration = Duration::from_millis(100);

/// Runs `test` as a client on a host of its own, of the server `n1` that `start` starts.
#[track_caller]
fn in_the_world<F, Fut>(start: impl FnOnce(&mut World, HostId), test: F)
where
    F: Fn(Host, SimulatedEnv, HostId) -> Fut + 'static,
    Fut: Future<Output = ()> + 'static,
{
    let mut world = World::new(Config::default(), &[HostConfig::default(); 2]);
    let [own, server] = world.hosts()[..] else {
        unreachable!("two hosts");
    };
    start(&mut world, server);
    let directory = Directory::new([("n1".into(), server)].into());
    let (test, done) = (Rc::new(test), Rc::new(Cell::new(false)));
    let finished = done.clone();
    world.start(own, move |host| {
        let env = SimulatedEnv::new(host.clone(), directory.clone(), "c1");
        let (test, finished) = (test.clone(), finished.clone());
        async move {
            test(host.clone(), env, server).await;
            finished.set(true);
            host.stop_world();
        }
    });
    world.run(600_000_000_000);
    assert!(done.get(), "the test did not come to its end");
}

/// A Redis node that restarts when it is told to.
fn node(world: &mut World, server: HostId) {
    world.start(server, |host| {
        serve::redis(host, NodeConfig::default(), PORT)
    });
}

fn client(env: &SimulatedEnv, options: ClientOptions) -> Client<SimulatedEnv> {
    let env = env.clone().with_client_options(options);
    Client::new(env, "n1".into(), Some(LIMIT))
}

fn outcome(result: Result<Reply, Error>) -> &'static str {
    match result {
        Ok(_) => "done",
        Err(Error::NotSent { .. }) => "not sent",
        Err(Error::Unanswered { .. }) => "unknown",
        Err(Error::Refused { .. } | Error::Unexpected { .. }) => "refused",
    }
}

/// The outcomes of a client's next commands, after `fault` struck the node while the client's
/// connection was idle.
#[track_caller]
fn check_idle(options: ClientOptions, fault: fn(&mut World, HostId), expected: [&'static str; 2]) {
    in_the_world(node, move |host, env, server| async move {
        let client = client(&env, options);
        assert_eq!(outcome(client.call(&[b"PING"]).await), "done");
        host.interrupt(move |world| fault(world, server)).await;
        env.sleep(LIMIT).await;
        let first = outcome(client.call(&[b"PING"]).await);
        let second = outcome(client.call(&[b"PING"]).await);
        assert_eq!([first, second], expected, "{options:?}");
    });
}

/// The process ends: its kernel says so to the client.
fn restart(world: &mut World, server: HostId) {
    world.kill(server);
    world.restart(server);
}

/// The machine loses power: the client hears of it when it sends.
fn lose_power(world: &mut World, server: HostId) {
    world.crash(server);
    world.restart(server);
}

/// The machine loses power, and the reset that answers the next command is lost too.
fn lose_power_and_reset(world: &mut World, server: HostId) {
    let rule = locklab_link::LinkRule {
        from: vec![server],
        to: world.hosts()[..1].to_vec(),
        both_ways: false,
        effect: locklab_link::LinkEffect::Cut,
    };
    lose_power(world, server);
    let rule = world.install(rule);
    let healed_ns = world.now_ns() + 190_000_000;
    world.at(healed_ns, move |world| world.lift(rule));
}

#[test]
fn restart_fails_the_next_command_of_a_client_that_does_not_watch() {
    check_idle(PLAIN, restart, ["unknown", "done"]);
    check_idle(WATCHFUL, restart, ["done", "done"]);
    check_idle(resending(1), restart, ["done", "done"]);
}

#[test]
fn power_loss_is_noticed_only_by_sending() {
    check_idle(PLAIN, lose_power, ["unknown", "done"]);
    check_idle(WATCHFUL, lose_power, ["unknown", "done"]);
    check_idle(resending(1), lose_power, ["done", "done"]);
}

#[test]
fn command_whose_reset_was_lost_times_out_and_is_not_sent_again() {
    for options in [PLAIN, WATCHFUL, resending(3)] {
        check_idle(options, lose_power_and_reset, ["unknown", "done"]);
    }
}

#[test]
fn default_client_survives_a_restart_and_a_power_loss() {
    check_idle(ClientOptions::default(), restart, ["done", "done"]);
    check_idle(ClientOptions::default(), lose_power, ["done", "done"]);
}

/// A server that resets its first connection some time after its first reply: it has not read
/// all of the request when it closes it.
fn resetting(world: &mut World, server: HostId) {
    world.start(server, |host| async move {
        let listener = host.listen(PORT).await.expect("its port is free");
        let (mut stream, _) = listener.accept().await.expect("a client");
        stream.read_u8().await.expect("a request");
        stream.write_all(b"+PONG\r\n").await.expect("a client");
        host.sleep(LIMIT / 4).await;
        drop(stream);
        let (mut stream, _) = listener.accept().await.expect("a client");
        stream.read_u8().await.expect("a request");
        stream.write_all(b"+PONG\r\n").await.expect("a client");
        std::future::pending().await
    });
}

/// Counts of a server's connections and requests.
#[derive(Default)]
struct Seen {
    connections: Cell<u32>,
    requests: Cell<u32>,
}

/// What a server does with a request.
#[derive(Clone, Copy)]
enum Answer {
    /// Closes the connection without a reply, this often, and then replies.
    Breaks(u32),
    /// Says nothing.
    Silent,
    /// Sends what is not RESP.
    Nonsense,
}

/// Starts a server that answers each request so, and counts.
fn answering(world: &mut World, server: HostId, answer: Answer, seen: &Rc<Seen>) {
    let seen = seen.clone();
    world.start(server, move |host| {
        let seen = seen.clone();
        async move {
            let listener = host.listen(PORT).await.expect("its port is free");
            while let Ok((mut stream, _)) = listener.accept().await {
                seen.connections.set(seen.connections.get() + 1);
                let seen = seen.clone();
                host.spawn(async move {
                    let mut request = [0; 64];
                    while let Ok(1..) = stream.read(&mut request).await {
                        seen.requests.set(seen.requests.get() + 1);
                        let reply: &[u8] = match answer {
                            Answer::Breaks(times) if seen.requests.get() <= times => return,
                            Answer::Breaks(_) => b"+PONG\r\n",
                            Answer::Silent => continue,
                            Answer::Nonsense => b"?\r\n",
                        };
                        stream.write_all(reply).await.expect("a client");
                    }
                });
            }
        }
    });
}

/// The outcome of one command at such a server, and how often the server received it.
#[track_caller]
fn check_in_flight(options: ClientOptions, answer: Answer, expected: (&'static str, u32)) {
    let seen = Rc::<Seen>::default();
    let counted = seen.clone();
    in_the_world(
        |world, server| answering(world, server, answer, &seen),
        move |_, env, _| {
            let seen = counted.clone();
            async move {
                let got = outcome(client(&env, options).call(&[b"PING"]).await);
                assert_eq!((got, seen.requests.get()), expected, "{options:?}");
            }
        },
    );
}

#[test]
fn command_in_flight_is_sent_again_as_often_as_the_client_may() {
    check_in_flight(PLAIN, Answer::Breaks(1), ("unknown", 1));
    check_in_flight(WATCHFUL, Answer::Breaks(1), ("unknown", 1));
    check_in_flight(resending(1), Answer::Breaks(1), ("done", 2));
    check_in_flight(resending(1), Answer::Breaks(2), ("unknown", 2));
    check_in_flight(resending(3), Answer::Breaks(3), ("done", 4));
}

#[test]
fn late_or_invalid_reply_does_not_send_a_command_again() {
    check_in_flight(resending(3), Answer::Silent, ("unknown", 1));
    check_in_flight(resending(3), Answer::Nonsense, ("unknown", 1));
}

#[test]
fn command_that_was_sent_stays_unknown_when_the_node_is_gone() {
    in_the_world(node, |host, env, server| async move {
        let client = client(&env, resending(3));
        assert_eq!(outcome(client.call(&[b"PING"]).await), "done");
        host.interrupt(move |world| world.kill(server)).await;
        env.sleep(LIMIT).await;
        assert_eq!(outcome(client.call(&[b"PING"]).await), "unknown");
        assert_eq!(outcome(client.call(&[b"PING"]).await), "not sent");
    });
}

#[test]
fn transaction_never_moves_to_another_connection() {
    let options = ClientOptions {
        resend: 3,
        ..WATCHFUL
    };
    for fault in [restart, lose_power] {
        in_the_world(node, move |host, env, server| async move {
            let client = client(&env, options);
            let mut transaction = client.exclusively().await;
            assert_eq!(outcome(transaction.call(&[b"WATCH", b"k"]).await), "done");
            host.interrupt(move |world| fault(world, server)).await;
            env.sleep(LIMIT).await;
            assert_eq!(outcome(transaction.call(&[b"MULTI"]).await), "unknown");
        });
    }
}

#[test]
fn client_connects_when_it_says() {
    for (connect, expected) in [(Connect::AtStart, 1), (Connect::WhenNeeded, 0)] {
        let options = ClientOptions { connect, ..PLAIN };
        let seen = Rc::<Seen>::default();
        let counted = seen.clone();
        in_the_world(
            |world, server| answering(world, server, Answer::Breaks(0), &seen),
            move |_, env, _| {
                let seen = counted.clone();
                async move {
                    let client = client(&env, options);
                    client.connect().await.expect("the server listens");
                    env.sleep(LIMIT).await;
                    assert_eq!(seen.connections.get(), expected, "{connect:?}");
                    assert_eq!(outcome(client.call(&[b"PING"]).await), "done");
                    assert_eq!(seen.connections.get(), 1);
                }
            },
        );
    }
}

#[test]
fn client_of_the_resource_is_plain() {
    let options = ClientOptions {
        connect: Connect::WhenNeeded,
        on_close: OnClose::Reconnect,
        resend: 3,
    };
    assert_eq!(options.of(&RESOURCE.into()), PLAIN);
    assert_eq!(options.of(&"n1".into()), options);
}

/// An environment whose clients have these options.
trait WithOptions: Env {
    fn with(&self, options: ClientOptions) -> Self;
}

impl WithOptions for SimulatedEnv {
    fn with(&self, options: ClientOptions) -> Self {
        self.clone().with_client_options(options)
    }
}

impl WithOptions for RealEnv {
    fn with(&self, options: ClientOptions) -> Self {
        self.clone().with_client_options(options)
    }
}

/// The server closes all idle connections; real sockets behave as simulated ones.
async fn server_closes_idle_connections<E: WithOptions>(env: E, names: Vec<Name>) {
    let cases = [
        (PLAIN, "unknown"),
        (WATCHFUL, "done"),
        (resending(1), "done"),
    ];
    for (options, expected) in cases {
        let client = Client::new(env.with(options), names[0].clone(), None);
        client.connect().await.expect("the node listens");
        assert_eq!(outcome(client.call(&[b"PING"]).await), "done");
        call(&env, &names[0], &["CLIENT", "KILL", "TYPE", "normal"]).await;
        // Until the end of the stream has arrived.
        env.sleep(LIMIT).await;
        let next = outcome(client.call(&[b"PING"]).await);
        assert_eq!(next, expected, "{options:?}");
        assert_eq!(outcome(client.call(&[b"PING"]).await), "done");
    }
}

#[test]
fn idle_connection_is_closed_by_the_server() {
    on_nodes(1, 0, server_closes_idle_connections);
    on_redis(1, server_closes_idle_connections);
}

#[test]
fn reset_of_an_idle_connection_is_noticed_by_a_client_that_watches() {
    for (options, expected) in [(PLAIN, "unknown"), (WATCHFUL, "done")] {
        in_the_world(resetting, move |_, env, _| async move {
            let client = client(&env, options);
            assert_eq!(outcome(client.call(&[b"PING"]).await), "done");
            env.sleep(LIMIT).await;
            let next = outcome(client.call(&[b"PING"]).await);
            assert_eq!(next, expected, "{options:?}");
        });
    }
}
