//! The loss of members: without a minority the service pauses, without a majority it stops, and
//! neither loses acknowledged data.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use locklab_world::World;

use super::setup::{Cluster, MS, SECOND};

/// Sends these requests in turn, each at its second. Returns for each the time to its answer, in
/// milliseconds, and the answer.
fn answers(
    members: usize,
    requests: &'static [(u64, &'static str)],
    faults: impl FnOnce(&mut Cluster),
) -> Vec<(u64, String)> {
    let mut cluster = Cluster::new(5, members, 1);
    faults(&mut cluster);
    let log = Rc::<RefCell<Vec<(u64, String)>>>::default();
    let heard = log.clone();
    cluster.client(0, move |host, mut client| {
        let heard = heard.clone();
        async move {
            for (at_s, request) in requests {
                let wait_ns = (at_s * SECOND).saturating_sub(host.now_ns());
                host.sleep(Duration::from_nanos(wait_ns)).await;
                let began_ns = host.now_ns();
                let answer = client.ask(request).await;
                let took_ms = (host.now_ns() - began_ns) / MS;
                heard.borrow_mut().push((took_ms, answer));
            }
            host.stop_world();
        }
    });
    cluster.world.run(60 * SECOND);
    log.take()
}

/// Makes these members lose power, and restores it.
fn outage(cluster: &mut Cluster, members: std::ops::Range<usize>, from_ns: u64, to_ns: u64) {
    for (_, member) in &cluster.members[members] {
        let member = *member;
        cluster
            .world
            .at(from_ns, move |world: &mut World| world.crash(member));
        cluster
            .world
            .at(to_ns, move |world: &mut World| world.restart(member));
    }
}

/// Opens a long session, creates a node, and asks for the node again after ten seconds.
const REQUESTS: &[(u64, &str)] = &[
    (1, "SESSION 60000"),
    (2, "CREATE 2 1 /lock/c EPHEMERAL SEQUENTIAL"),
    (10, "CHILDREN /lock"),
];

const NODE: &str = "/lock/c0000000003 3";

#[test]
fn a_change_takes_two_round_trips() {
    let answers = answers(3, REQUESTS, |_| {});
    // A round trip to the leader, and from there to the faster follower: 2 to 10 ms each, and one
    // more if a heartbeat is under way.
    let (took_ms, node) = &answers[1];
    assert_eq!(node, NODE);
    assert!((4..=30).contains(took_ms), "{took_ms}");
}

#[test]
fn service_with_one_member_works() {
    let answers = answers(1, REQUESTS, |_| {});
    assert_eq!(answers[2].1, NODE);
}

#[test]
fn any_minority_can_be_lost() {
    for first in 0..4 {
        let answers = answers(5, REQUESTS, |cluster| {
            outage(cluster, first..first + 2, 9 * SECOND, 40 * SECOND);
        });
        let (took_ms, children) = &answers[2];
        assert_eq!(children, NODE);
        // A second after the crash there is a leader, which the client has to find.
        assert!(*took_ms <= 2_000, "{took_ms}");
    }
}

#[test]
fn a_majority_that_is_lost_is_waited_for() {
    let answers = answers(5, REQUESTS, |cluster| {
        outage(cluster, 0..3, 9 * SECOND, 20 * SECOND);
    });
    let (took_ms, children) = &answers[2];
    assert_eq!(children, NODE);
    assert!((10_000..13_000).contains(took_ms), "{took_ms}");
}

#[test]
fn power_failure_of_all_members_loses_nothing() {
    let answers = answers(3, REQUESTS, |cluster| {
        outage(cluster, 0..3, 5 * SECOND, 6 * SECOND);
    });
    assert_eq!(answers[2].1, NODE);
}
