//! Random faults of hosts and links while clients take a lock. [`super::history`] judges what
//! the clients saw.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use locklab_link::{LinkEffect, LinkRule};
use locklab_services::disk::Disk;
use locklab_values::random::Stream;
use locklab_world::{HostId, World};

use super::history::Shared;
use super::locker::{look_on, take_turns};
use super::setup::{Cluster, MS, SECOND};

/// The end of new faults; all faults are over two seconds later.
const ROUGH_NS: u64 = 15 * SECOND;
/// Clients take turns until this time.
const TURNS_NS: u64 = 20 * SECOND;
/// When the final state is examined.
const END_NS: u64 = 30 * SECOND;

/// The state of a disk after a power loss.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Disks {
    /// The synced data.
    Honest,
    /// Nothing.
    Forgetful,
}

/// The outcome of a run.
struct Outcome {
    violations: Vec<String>,
    beliefs: usize,
}

fn run(seed: u64, disks: Disks) -> Outcome {
    let members = if seed.is_multiple_of(2) { 3 } else { 5 };
    let mut cluster = Cluster::new(seed, members, 4);
    let history = Shared::default();
    for client in 0..3 {
        let history = history.clone();
        cluster.client(client, move |host, client| {
            take_turns(host, client, history.clone(), TURNS_NS)
        });
    }
    let last = Rc::new(RefCell::new(Vec::new()));
    let seen = last.clone();
    let looks = history.clone();
    cluster.client(3, move |host, mut client| {
        let (seen, looks) = (seen.clone(), looks.clone());
        async move {
            for member in 0..members {
                let client = client.another();
                host.spawn(look_on(
                    host.clone(),
                    client,
                    member,
                    looks.clone(),
                    TURNS_NS,
                ));
            }
            host.sleep(Duration::from_nanos(END_NS)).await;
            let left = client.ask("CHILDREN /lock").await;
            // All members learn of committed entries with the next heartbeat.
            host.sleep(Duration::from_secs(1)).await;
            for member in 0..members {
                let status = client.ask_member(member, "STATUS").await;
                seen.borrow_mut()
                    .push(status.unwrap_or("nobody".to_owned()));
            }
            seen.borrow_mut().push(left);
            host.stop_world();
        }
    });
    strike(&mut cluster, seed, disks);
    cluster.world.run(2 * END_NS);

    let history = history.borrow();
    let mut violations = history.violations();
    let mut statuses = last.borrow().clone();
    match statuses.pop() {
        Some(left) if left.is_empty() => {}
        left => violations.push(format!("sessions are over, not their nodes: {left:?}")),
    }
    // After the member's own name the answers of all members are the same.
    let common = |status: &String| {
        status
            .split_once(" leader ")
            .map(|(_, rest)| rest.to_owned())
    };
    let common: Vec<_> = statuses.iter().map(common).collect();
    if common.len() != members || common.iter().any(|one| one.is_none() || *one != common[0]) {
        violations.push(format!("members differ: {statuses:?}"));
    }
    Outcome {
        violations,
        beliefs: history.beliefs.len(),
    }
}

/// Faults, consecutive or overlapping; any number of members may be affected.
fn strike(cluster: &mut Cluster, seed: u64, disks: Disks) {
    let mut chance = Stream::new(seed, "faults");
    let mut at_ns = SECOND;
    while at_ns < ROUGH_NS {
        let end_ns = at_ns + chance.below(2 * SECOND);
        let which = chance.below(cluster.members.len() as u64) as usize;
        let (_, member) = cluster.members[which];
        let others = other_members(cluster, which);
        let world = &mut cluster.world;
        match chance.below(7) {
            0 => {
                let disk = cluster.disks[which].clone();
                world.at(at_ns, move |world| {
                    world.crash(member);
                    if disks == Disks::Forgetful {
                        *disk.borrow_mut() = Disk::default();
                    }
                });
                world.at(end_ns, move |world| world.restart(member));
            }
            1 => {
                world.at(at_ns, move |world| world.kill(member));
                world.at(end_ns, move |world| world.restart(member));
            }
            2 => {
                world.at(at_ns, move |world| world.pause(member));
                world.at(end_ns, move |world| world.resume(member));
            }
            3 => {
                world.at(at_ns, move |world| world.suspend(member));
                world.at(end_ns, move |world| world.wake(member));
            }
            4 => cut(world, vec![member], others, (at_ns, end_ns)),
            5 => {
                let everybody = world.hosts();
                cut(world, vec![member], everybody, (at_ns, end_ns));
            }
            _ => {
                let client = cluster.clients[chance.below(3) as usize];
                let everybody = world.hosts();
                cut(world, vec![client], everybody, (at_ns, end_ns));
            }
        }
        at_ns += 100 * MS + chance.below(900 * MS);
    }
}

fn other_members(cluster: &Cluster, which: usize) -> Vec<HostId> {
    let others = cluster.members.iter().enumerate();
    let others = others.filter(|(place, _)| *place != which);
    others.map(|(_, (_, host))| *host).collect()
}

fn cut(world: &mut World, from: Vec<HostId>, to: Vec<HostId>, (at_ns, end_ns): (u64, u64)) {
    let rule = LinkRule {
        from,
        to,
        both_ways: true,
        effect: LinkEffect::Cut,
    };
    world.at(at_ns, move |world| {
        let installed = world.install(rule);
        world.at(end_ns, move |world| world.lift(installed));
    });
}

/// With `LOCKLAB_LONG=1` more.
fn seeds() -> u64 {
    match std::env::var_os("LOCKLAB_LONG") {
        Some(_) => 200,
        None => 20,
    }
}

#[test]
fn histories_under_faults_are_linearizable() {
    let mut beliefs = 0;
    for seed in 0..seeds() {
        let outcome = run(seed, Disks::Honest);
        assert_eq!(outcome.violations, Vec::<String>::new(), "seed {seed}");
        beliefs += outcome.beliefs;
    }
    // Once a second, in twenty seconds of each run.
    assert!(beliefs > 20 * seeds() as usize, "{beliefs}");
}

#[test]
fn the_campaign_notices_members_that_forget() {
    let is_noticed = |seed| !run(seed, Disks::Forgetful).violations.is_empty();
    assert!((0..seeds()).any(is_noticed));
}

#[test]
fn a_run_is_a_function_of_its_seed() {
    let fingerprint = || {
        let mut cluster = Cluster::new(7, 3, 4);
        let history = Shared::default();
        cluster.client(0, move |host, client| {
            take_turns(host, client, history.clone(), TURNS_NS)
        });
        strike(&mut cluster, 7, Disks::Honest);
        cluster.world.run(END_NS);
        cluster.world.fingerprint()
    };
    assert_eq!(fingerprint(), fingerprint());
}
