//! A node on a simulated host: which client receives what and when, over a network and by a clock
//! that may be wrong.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::rc::Rc;
use std::time::Duration;

use locklab_link::{LinkEffect, LinkRule};
use locklab_redis::{NodeConfig, Parameters};
use locklab_services::disk::Disk;
use locklab_services::serve::{self, Setup};
use locklab_values::dist::Dist;
use locklab_world::{Config, Host, HostConfig, HostId, TcpStream, World};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const PORT: u16 = 6379;
const MS: u64 = 1_000_000;

/// A world with a node, which is host 0, and this many clients.
fn world(clients: usize) -> World {
    let config = Config {
        keep_trace: true,
        ..Config::default()
    };
    let mut world = World::new(config, &vec![HostConfig::default(); clients + 1]);
    let node = world.hosts()[0];
    world.start(node, |host| serve::redis(host, NodeConfig::default(), PORT));
    world
}

/// Runs a client's program on a host.
fn client<F, Fut>(world: &mut World, index: usize, program: F)
where
    F: Fn(Host, Client) -> Fut + 'static,
    Fut: Future<Output = ()> + 'static,
{
    let hosts = world.hosts();
    let (node, own) = (hosts[0], hosts[index]);
    let program = Rc::new(program);
    world.start(own, move |host| {
        let program = program.clone();
        async move {
            let client = Client::connect(&host, node).await;
            program(host, client).await;
        }
    });
}

struct Client(TcpStream);

impl Client {
    async fn connect(host: &Host, node: HostId) -> Self {
        // The node may still be starting.
        loop {
            match host.connect(node, PORT).await {
                Ok(stream) => {
                    // The acknowledgement that ends the handshake is sent alone: turmoil-net
                    // loses data that arrives with it.
                    host.sleep(Duration::from_millis(1)).await;
                    return Client(stream);
                }
                Err(_) => host.sleep(Duration::from_millis(1)).await,
            }
        }
    }

    async fn send(&mut self, line: &str) {
        let line = format!("{line}\r\n");
        let sent = self.0.write_all(line.as_bytes()).await;
        sent.expect("the node is there");
    }

    /// The next bytes; none if the node closed the connection.
    async fn hear(&mut self) -> String {
        let mut bytes = [0; 1024];
        let count = self.0.read(&mut bytes).await.unwrap_or(0);
        String::from_utf8_lossy(&bytes[..count]).into_owned()
    }

    async fn ask(&mut self, line: &str) -> String {
        self.send(line).await;
        self.hear().await
    }
}

/// The replies that clients received, with their times.
type Log = Rc<RefCell<Vec<(u64, String)>>>;

fn note(log: &Log, host: &Host, text: String) {
    log.borrow_mut().push((host.now_ns() / MS, text));
}

#[test]
fn a_message_reaches_a_client_that_is_only_listening() {
    let mut world = world(2);
    let log = Log::default();
    let heard = log.clone();
    client(&mut world, 1, move |host, mut client| {
        let heard = heard.clone();
        async move {
            client.ask("SUBSCRIBE a").await;
            note(&heard, &host, client.hear().await);
            host.stop_world();
        }
    });
    client(&mut world, 2, |host, mut client| async move {
        host.sleep(Duration::from_secs(1)).await;
        client.ask("PUBLISH a x").await;
        host.sleep(Duration::from_secs(1)).await;
    });
    world.run(60_000 * MS);
    let log = log.borrow();
    let [(at_ms, text)] = &log[..] else {
        panic!("{log:?}");
    };
    assert_eq!(text, "*3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\nx\r\n");
    // Two messages of 1 to 5 ms each.
    assert!((1000..=1025).contains(at_ms), "{at_ms}");
}

/// The end of a wait of so many seconds that begins at about 0, in milliseconds of true time, with
/// `fault` on the node.
fn wait_ends_ms(seconds: u32, fault: impl FnOnce(&mut World, HostId)) -> u64 {
    let mut world = world(1);
    let node = world.hosts()[0];
    fault(&mut world, node);
    let log = Log::default();
    let heard = log.clone();
    client(&mut world, 1, move |host, mut client| {
        let heard = heard.clone();
        async move {
            note(
                &heard,
                &host,
                client.ask(&format!("BLPOP l {seconds}")).await,
            );
            host.stop_world();
        }
    });
    world.run(300_000 * MS);
    let log = log.borrow();
    let [(at_ms, text)] = &log[..] else {
        panic!("{log:?}");
    };
    assert_eq!(text, "*-1\r\n");
    *at_ms
}

#[test]
fn a_wait_ends_by_the_wall_clock_of_the_node() {
    // A tick is a tenth of a second; connecting and two messages take up to 30 ms.
    let about = |ms: u64, expected: u64| assert!((expected..expected + 150).contains(&ms), "{ms}");
    let step = |ms: i64| {
        move |world: &mut World, node| {
            world.at(1000 * MS, move |world| {
                world.step_wall(node, ms * MS as i64)
            });
        }
    };
    let fast = |world: &mut World, node| {
        world.set_drift_ppm(node, 1_000_000);
    };
    about(wait_ends_ms(5, |_, _| {}), 5000);
    about(wait_ends_ms(5, step(3000)), 2000);
    about(wait_ends_ms(5, step(-3000)), 8000);
    about(wait_ends_ms(5, fast), 2500);
    // The same where the node does not look at its clock all the time.
    about(wait_ends_ms(200, |_, _| {}), 200_000);
    about(wait_ends_ms(200, step(120_000)), 80_000);
    about(wait_ends_ms(200, step(300_000)), 1000);
    about(wait_ends_ms(200, step(-30_000)), 230_000);
    about(wait_ends_ms(200, fast), 100_000);
}

const MESSAGE_BYTES: usize = 1 << 20;

#[test]
fn subscriber_that_does_not_read_blocks_no_other_client() {
    let mut world = world(2);
    let published = Rc::new(Cell::new(0));
    client(&mut world, 1, |host, mut client| async move {
        client.ask("SUBSCRIBE a").await;
        host.sleep(Duration::from_secs(3600)).await;
    });
    let count = published.clone();
    client(&mut world, 2, move |host, mut client| {
        let count = count.clone();
        async move {
            host.sleep(Duration::from_secs(1)).await;
            let head = format!("*3\r\n$7\r\nPUBLISH\r\n$1\r\na\r\n${MESSAGE_BYTES}\r\n");
            let publish = head + &"x".repeat(MESSAGE_BYTES);
            // Until the subscriber is disconnected.
            while client.ask(&publish).await == ":1\r\n" {
                count.set(count.get() + 1);
            }
            host.stop_world();
        }
    });
    world.run(3_000_000 * MS);
    // The rest is in the sockets' buffers.
    let held_bytes = published.get() * MESSAGE_BYTES;
    assert!((8 << 20..40 << 20).contains(&held_bytes), "{held_bytes}");
}

#[test]
fn shutdown_ends_every_connection_and_the_listening() {
    let mut world = world(2);
    let node = world.hosts()[0];
    let log = Log::default();
    let heard = log.clone();
    client(&mut world, 1, move |host, mut client| {
        let heard = heard.clone();
        async move {
            client.ask("SUBSCRIBE a").await;
            note(&heard, &host, client.hear().await);
            let again = host.connect(node, PORT).await;
            note(&heard, &host, format!("{:?}", again.is_err()));
            host.stop_world();
        }
    });
    client(&mut world, 2, |host, mut client| async move {
        host.sleep(Duration::from_secs(1)).await;
        client.ask("SHUTDOWN").await;
        host.sleep(Duration::from_secs(1)).await;
    });
    world.run(60_000 * MS);
    let texts: Vec<String> = log.borrow().iter().map(|(_, text)| text.clone()).collect();
    assert_eq!(texts, ["", "true"]);
}

#[test]
fn node_that_only_answers_sets_no_timer() {
    let mut world = world(1);
    client(&mut world, 1, |host, mut client| async move {
        for line in ["SET k v NX PX 100", "GET k", "SUBSCRIBE a", "PING"] {
            client.ask(line).await;
        }
        host.stop_world();
    });
    world.run(60_000 * MS);
    let timers = world
        .take_trace()
        .into_iter()
        .filter(|event| event.what == "timer" && event.which.0 == 0);
    assert_eq!(timers.count(), 0);
}

#[test]
fn a_replica_lags_by_its_link_and_wait_waits_for_it() {
    let mut world = World::new(Config::default(), &[HostConfig::default(); 3]);
    let [master, replica, client] = world.hosts()[..] else {
        panic!("three hosts");
    };
    for (id, parameters) in [(master, None), (replica, Some(("replicaof", "n1 6379")))] {
        let parameters = [Some(("repl-diskless-sync-delay", "0")), parameters];
        let setup = Setup {
            parameters: Parameters::new(parameters.into_iter().flatten()).expect("they are sound"),
            hosts: Rc::new([("n1".to_owned(), master)].into()),
            ..Setup::default()
        };
        world.start(id, move |host| serve::run(host, setup.clone(), PORT));
    }
    let slow = LinkRule {
        from: vec![master],
        to: vec![replica],
        both_ways: true,
        effect: LinkEffect::Slow { extra_ns: 50 * MS },
    };
    world.at(2000 * MS, move |world| {
        world.install(slow);
    });
    let log = Log::default();
    let heard = log.clone();
    world.start(client, move |host| {
        let heard = heard.clone();
        async move {
            let mut at_master = Client::connect(&host, master).await;
            let mut at_replica = Client::connect(&host, replica).await;
            host.sleep(Duration::from_secs(3)).await;
            let began_ms = host.now_ns() / MS;
            at_master.ask("SET k v").await;
            let early = at_replica.ask("GET k").await;
            let waited = at_master.ask("WAIT 1 0").await;
            let late = at_replica.ask("GET k").await;
            let took_ms = host.now_ns() / MS - began_ms;
            heard.borrow_mut().push((took_ms, early + &waited + &late));
            host.stop_world();
        }
    });
    world.run(60_000 * MS);
    let log = log.borrow();
    let [(took_ms, text)] = &log[..] else {
        panic!("{log:?}");
    };
    assert_eq!(text, "$-1\r\n:1\r\n$1\r\nv\r\n");
    // A round trip over the slow link, and four requests of 2 to 10 ms.
    assert!((100..160).contains(took_ms), "{took_ms}");
}

/// How long a key with a lease of a second lives on a node that expires keys by `clock`, to the
/// nearest 10 ms. `fault` affects the node half a second after the key was set.
fn lease_lasts_ms(clock: serve::Clock, fault: impl FnOnce(&mut World, HostId) + 'static) -> u64 {
    let config = Config {
        latency: Dist::Constant(1.0),
        ..Config::default()
    };
    let mut world = World::new(config, &[HostConfig::default(); 2]);
    let node = world.hosts()[0];
    let setup = Setup {
        clock,
        ..Setup::default()
    };
    world.start(node, move |host| serve::run(host, setup.clone(), PORT));
    let lasted = Rc::new(Cell::new(0));
    let seen = lasted.clone();
    client(&mut world, 1, move |host, mut client| {
        let seen = seen.clone();
        async move {
            client.ask("SET k v PX 1000").await;
            let set_ms = host.now_ns() / MS;
            while client.ask("EXISTS k").await == ":1\r\n" {
                host.sleep(Duration::from_millis(2)).await;
            }
            let lasted_ms = host.now_ns() / MS - set_ms;
            seen.set((lasted_ms + 5) / 10 * 10);
            host.stop_world();
        }
    });
    world.at(505 * MS, move |world| fault(world, node));
    world.run(60_000 * MS);
    lasted.get()
}

#[test]
fn lease_expires_by_the_configured_clock_of_the_node() {
    let step =
        |ms: i64| move |world: &mut World, node: HostId| world.step_wall(node, ms * MS as i64);
    let twice_as_fast = |world: &mut World, node: HostId| {
        world.set_drift_ppm(node, 1_000_000);
    };
    for (clock, forward, back, faster) in [
        (serve::Clock::Wall, 500, 3000, 750),
        (serve::Clock::Monotonic, 1000, 1000, 750),
    ] {
        assert_eq!(lease_lasts_ms(clock, |_, _| {}), 1000, "{clock:?}");
        assert_eq!(lease_lasts_ms(clock, step(2000)), forward, "{clock:?}");
        assert_eq!(lease_lasts_ms(clock, step(-2000)), back, "{clock:?}");
        assert_eq!(lease_lasts_ms(clock, twice_as_fast), faster, "{clock:?}");
    }
}

#[test]
fn parameter_that_redis_rejects_is_rejected() {
    let refused = |name, value| Parameters::new([(name, value)]).is_err();
    assert!(!refused("appendonly", "yes"));
    assert!(refused("appendonly", "maybe"));
    assert!(refused("maxclients", "0"));
    assert!(refused("no-such-thing", "1"));
    assert!(refused("replicaof", "n1"));
}

/// A service manager's timer ends when the clock says so, which may be at once. `kleppmann/k12-one-node` runs on real
/// servers too, where the process that waits looks every millisecond.
#[test]
fn setting_the_clock_forward_ends_the_wait_for_a_restart() {
    let mut world = World::new(Config::default(), &[HostConfig::default(); 2]);
    let hosts = world.hosts();
    let (node, own) = (hosts[0], hosts[1]);
    let disk = Rc::new(RefCell::new(Disk::default()));
    world.start(node, move |host| {
        let setup = Setup {
            disk: disk.clone(),
            restart_delay: Duration::from_secs(1),
            ..Setup::default()
        };
        serve::run(host, setup, PORT)
    });
    world.at(10 * MS, move |world| world.crash(node));
    world.at(20 * MS, move |world| world.restart(node));
    world.at(333 * MS, move |world| {
        world.step_wall(node, 990 * MS as i64)
    });
    let log = Log::default();
    let seen = log.clone();
    world.start(own, move |host| {
        let log = seen.clone();
        async move {
            host.sleep(Duration::from_millis(100)).await;
            drop(Client::connect(&host, node).await);
            note(&log, &host, "connected".into());
        }
    });
    world.run(2_000 * MS);
    let log = log.borrow();
    let (at_ms, _) = log.first().expect("the node is back");
    // A nap, a round trip of its refusal, and one of the connection.
    assert!((333..=360).contains(at_ms), "{at_ms}");
}
