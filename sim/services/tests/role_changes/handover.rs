//! FAILOVER in the simulator: whether acknowledged writes are lost when a master hands its role to
//! its replica while clients write.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use locklab_link::{LinkEffect, LinkRule};
use locklab_redis::{NodeConfig, Parameters};
use locklab_services::serve::{self, Setup};
use locklab_world::{Config, Host, HostConfig, HostId, World};

use crate::client::{Client, PORT};

const SECOND: u64 = 1_000_000_000;

/// The world's two servers: first the master, then its replica.
const NAMES: [&str; 2] = ["n1", "n2"];
const WRITERS: usize = 3;

/// The observations of a run.
#[derive(Default)]
struct Seen {
    /// The keys whose SET was acknowledged, each with the server that did.
    acked: Vec<(String, usize)>,
    /// The keys of these that the new master does not have in the end.
    lost: Vec<String>,
    /// The first word of each server's answer to ROLE in the end.
    roles: Vec<String>,
}

impl Seen {
    fn acked_by(&self, server: usize) -> usize {
        let by_it = self.acked.iter().filter(|(_, by)| *by == server);
        by_it.count()
    }
}

/// Runs a master, its replica and writers; after five seconds the master receives `order`.
fn run(order: &'static str, fault: impl FnOnce(&mut World, [HostId; 2])) -> Seen {
    let mut world = World::new(Config::default(), &[HostConfig::default(); 3 + WRITERS]);
    let hosts = world.hosts();
    let servers = [hosts[0], hosts[1]];
    for (index, seed) in [(0, 1), (1, 2)] {
        start_server(&mut world, servers, index, seed);
    }
    // Replies of the replica lag behind the master's.
    world.install(LinkRule {
        effect: LinkEffect::Slow {
            extra_ns: SECOND / 20,
        },
        ..between(servers)
    });
    fault(&mut world, servers);
    let seen = Rc::new(RefCell::new(Seen::default()));
    for (index, host) in hosts[3..].iter().enumerate() {
        let seen = seen.clone();
        world.start(*host, move |host| {
            write(host, servers, format!("w{index}"), seen.clone())
        });
    }
    let found = seen.clone();
    world.start(hosts[2], move |host| {
        operate(host, servers, order, found.clone())
    });
    world.run(120 * SECOND);
    seen.take()
}

fn between(servers: [HostId; 2]) -> LinkRule<HostId> {
    LinkRule {
        from: vec![servers[0]],
        to: vec![servers[1]],
        both_ways: true,
        effect: LinkEffect::Cut,
    }
}

fn start_server(world: &mut World, servers: [HostId; 2], index: usize, run_id_seed: u64) {
    let mut parameters: BTreeMap<&str, &str> = [
        ("repl-diskless-sync-delay", "0"),
        ("repl-ping-replica-period", "1"),
        ("replica-announce-ip", NAMES[index]),
    ]
    .into();
    if index == 1 {
        parameters.extend([("replicaof", "n1 6379"), ("repl-timeout", "3")]);
    }
    let hosts = NAMES.iter().map(|name| (*name).to_owned()).zip(servers);
    let setup = Setup {
        config: NodeConfig {
            run_id_seed,
            ..NodeConfig::default()
        },
        parameters: Parameters::new(parameters).expect("they are sound"),
        hosts: Rc::new(hosts.collect()),
        ..Setup::default()
    };
    world.start(servers[index], move |host| {
        serve::run(host, setup.clone(), PORT)
    });
}

/// Writes one key after the other, each until a server acknowledges it, and records each. It
/// waits for a reply without a timeout.
async fn write(host: Host, servers: [HostId; 2], name: String, seen: Rc<RefCell<Seen>>) {
    let mut server = 0;
    let mut client = Client::connect(&host, servers[server]).await;
    host.sleep(Duration::from_secs(1)).await;
    for number in 0.. {
        let key = format!("{name}:{number}");
        while client.ask(&format!("SET {key} v")).await != "+OK\r\n" {
            server = 1 - server;
            client = Client::connect(&host, servers[server]).await;
        }
        seen.borrow_mut().acked.push((key, server));
    }
}

/// Gives the order, waits until it is executed, and as long again; then looks for the acknowledged
/// keys.
async fn operate(host: Host, servers: [HostId; 2], order: &'static str, seen: Rc<RefCell<Seen>>) {
    let mut old = Client::connect(&host, servers[0]).await;
    let mut new = Client::connect(&host, servers[1]).await;
    host.sleep(Duration::from_secs(5)).await;
    assert_eq!(old.ask(order).await, "+OK\r\n");
    let state = "INFO replication";
    while !old.ask(state).await.contains("failover_state:no-failover") {
        host.sleep(Duration::from_millis(100)).await;
    }
    host.sleep(Duration::from_secs(5)).await;
    let acked = seen.borrow().acked.clone();
    for (key, _) in acked {
        if new.ask(&format!("EXISTS {key}")).await != ":1\r\n" {
            seen.borrow_mut().lost.push(key);
        }
    }
    for client in [&mut old, &mut new] {
        let role = client.ask("ROLE").await;
        let word = role.lines().nth(2).unwrap_or_default().to_owned();
        seen.borrow_mut().roles.push(word);
    }
    host.stop_world();
}

#[test]
fn a_handover_loses_no_acknowledged_write() {
    for order in ["FAILOVER", "FAILOVER TO n2 6379 TIMEOUT 5000"] {
        let seen = run(order, |_, _| {});
        assert_eq!(seen.roles, ["slave", "master"], "{order}");
        // The writers wrote to both servers.
        let [before, after] = [0, 1].map(|server| seen.acked_by(server));
        assert!(before > 500 && after > 500, "{before} {after}");
        assert_eq!(seen.lost, [""; 0], "{order}");
    }
}

#[test]
fn forced_failover_over_a_cut_link_loses_unreplicated_writes() {
    let seen = run("FAILOVER TO n2 6379 TIMEOUT 1000 FORCE", cut_for_a_while);
    assert_eq!(seen.roles, ["slave", "master"]);
    let lost = seen.lost.len();
    // From the cut to the pause: two seconds, in which each write takes some 6 ms.
    assert!((300..2000).contains(&lost), "{lost}");
    assert!(seen.acked_by(1) > 500, "the writers go on");
}

#[test]
fn unforced_failover_is_aborted_after_its_timeout() {
    let seen = run("FAILOVER TO n2 6379 TIMEOUT 1000", cut_for_a_while);
    assert_eq!(seen.roles, ["master", "slave"]);
    assert_eq!(seen.acked_by(1), 0);
}

/// Cuts the link two seconds before the order; it is restored when the replica has dropped its
/// connection, and with it the data in flight.
fn cut_for_a_while(world: &mut World, servers: [HostId; 2]) {
    world.at(3 * SECOND, move |world| {
        let cut = world.install(between(servers));
        world.at(9 * SECOND, move |world| world.lift(cut));
    });
}
