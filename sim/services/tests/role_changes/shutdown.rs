//! SHUTDOWN in the simulator: whether acknowledged writes are lost when a master is shut down while
//! clients write, and its replica is promoted as soon as the master is gone.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use locklab_link::{LinkEffect, LinkRule};
use locklab_redis::{NodeConfig, Parameters};
use locklab_services::serve::{self, Setup};
use locklab_world::{Config, Host, HostConfig, HostId, World};

use crate::client::{Client, PORT};

const SECOND: u64 = 1_000_000_000;
const MS: u64 = 1_000_000;
const WRITERS: usize = 3;

/// The observations of a run.
#[derive(Default)]
struct Seen {
    /// The keys whose SET was acknowledged.
    acked: Vec<String>,
    /// The keys of these that the new master does not have.
    lost: usize,
    /// How long the old master took to end.
    took_ns: u64,
}

/// Runs a master, its replica and writers; after five seconds the master receives `order`, and
/// when it is gone the replica is promoted.
fn run(order: &'static str, fault: impl FnOnce(&mut World, LinkRule<HostId>)) -> Seen {
    let mut world = World::new(Config::default(), &[HostConfig::default(); 3 + WRITERS]);
    let hosts = world.hosts();
    let servers = [hosts[0], hosts[1]];
    start_server(&mut world, servers[0], 1, &[], servers[0]);
    let follows = [("replicaof", "n1 6379")];
    start_server(&mut world, servers[1], 2, &follows, servers[0]);
    let between = LinkRule {
        from: vec![servers[0]],
        to: vec![servers[1]],
        both_ways: true,
        // The replica lags by some writes.
        effect: LinkEffect::Slow { extra_ns: 50 * MS },
    };
    world.install(between.clone());
    fault(&mut world, between);
    let seen = Rc::new(RefCell::new(Seen::default()));
    for (index, host) in hosts[3..].iter().enumerate() {
        let seen = seen.clone();
        world.start(*host, move |host| {
            write(host, servers[0], format!("w{index}"), seen.clone())
        });
    }
    let found = seen.clone();
    world.start(hosts[2], move |host| {
        operate(host, servers, order, found.clone())
    });
    world.run(120 * SECOND);
    seen.take()
}

fn start_server(
    world: &mut World,
    server: HostId,
    run_id_seed: u64,
    parameters: &[(&str, &str)],
    master: HostId,
) {
    let always = [("repl-diskless-sync-delay", "0")];
    let parameters = always.iter().chain(parameters).copied();
    let setup = Setup {
        config: NodeConfig {
            run_id_seed,
            ..NodeConfig::default()
        },
        parameters: Parameters::new(parameters).expect("they are sound"),
        hosts: Rc::new([("n1".to_owned(), master)].into()),
        ..Setup::default()
    };
    world.start(server, move |host| serve::run(host, setup.clone(), PORT));
}

/// Writes one key after the other, each when the previous one is acknowledged, as long as replies
/// arrive.
async fn write(host: Host, server: HostId, name: String, seen: Rc<RefCell<Seen>>) {
    let mut client = Client::connect(&host, server).await;
    host.sleep(Duration::from_secs(1)).await;
    for number in 0.. {
        let key = format!("{name}:{number}");
        if client.ask(&format!("SET {key} v")).await != "+OK\r\n" {
            return;
        }
        seen.borrow_mut().acked.push(key);
    }
}

/// Gives the order, promotes the replica as soon as the master is gone, and looks for the
/// acknowledged keys.
async fn operate(host: Host, servers: [HostId; 2], order: &'static str, seen: Rc<RefCell<Seen>>) {
    let mut old = Client::connect(&host, servers[0]).await;
    let mut new = Client::connect(&host, servers[1]).await;
    host.sleep(Duration::from_secs(5)).await;
    let begun_ns = host.now_ns();
    assert_eq!(old.ask(order).await, "", "it does not answer");
    seen.borrow_mut().took_ns = host.now_ns() - begun_ns;
    assert_eq!(new.ask("REPLICAOF NO ONE").await, "+OK\r\n");
    host.sleep(Duration::from_secs(5)).await;
    let acked = seen.borrow().acked.clone();
    for key in acked {
        if new.ask(&format!("EXISTS {key}")).await != ":1\r\n" {
            seen.borrow_mut().lost += 1;
        }
    }
    host.stop_world();
}

#[test]
fn an_orderly_shutdown_loses_no_acknowledged_write() {
    let seen = run("SHUTDOWN", |_, _| {});
    assert!(seen.acked.len() > 500, "{}", seen.acked.len());
    assert_eq!(seen.lost, 0);
    // A replica reports its offset once a second, and the master checks ten times a second.
    let most_ns = SECOND + SECOND / 2;
    assert!(
        (100 * MS..most_ns).contains(&seen.took_ns),
        "{}",
        seen.took_ns
    );
}

#[test]
fn immediate_shutdown_loses_writes_in_transit() {
    let seen = run("SHUTDOWN NOW", |_, _| {});
    // 50 ms in which each write takes some 6 ms.
    assert!((10..50).contains(&seen.lost), "{}", seen.lost);
    assert!(seen.took_ns < 100 * MS, "{}", seen.took_ns);
}

#[test]
fn shutdown_after_its_timeout_loses_unreplicated_writes() {
    let seen = run("SHUTDOWN", |world, between| {
        world.at(3 * SECOND, move |world| {
            world.install(LinkRule {
                effect: LinkEffect::Cut,
                ..between
            });
        });
    });
    // Two seconds in which each write takes some 6 ms.
    assert!((300..2000).contains(&seen.lost), "{}", seen.lost);
    let timeout_ns = 10 * SECOND;
    let waited_ns = timeout_ns..timeout_ns + SECOND / 2;
    assert!(waited_ns.contains(&seen.took_ns), "{}", seen.took_ns);
}
