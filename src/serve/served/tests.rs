//! Orders, to a server that no thread serves.

use locklab_testing::until;

use super::*;
use crate::topology::{Topology, listen};

fn one_node() -> Served {
    let topology = Topology {
        ip: IpAddr::V4(Ipv4Addr::LOCALHOST),
        port: 0,
        nodes: 1,
        replicas: 0,
        sentinels: 0,
    };
    let mut places = listen(&topology).expect("a free port");
    let record = Record::new(None, |_| ()).expect("no file");
    Served::new(&mut places, record, None).expect("it starts").0
}

#[test]
fn restarts_that_wait_are_bounded() {
    let served = one_node();
    let restart = |after| served.execute(&["LAB.RESTART", "n1", after]);
    for _ in 0..MAX_WAITING {
        restart("1h").expect("it waits");
    }
    let problem = restart("1h").expect_err("one too many");
    assert_eq!(problem, "64 restarts wait already");
    restart("0").expect("it does not wait");
}

#[test]
fn restart_that_is_done_waits_no_longer() {
    let served = one_node();
    served
        .execute(&["LAB.RESTART", "n1", "1"])
        .expect("it waits");
    let waits = || served.inside().waiting;
    until(|| (waits() == 0).then_some(()).ok_or("it waits"));
}
