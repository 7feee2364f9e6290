//! Faults of links and hosts.

use std::io::Write;
use std::time::Instant;

use locklab_link::LinkEffect::{Cut, Lossy, Slow};

use super::fixture::{Fixture, Ways, expect, expect_at_least, expect_nothing, expect_reset, n1};

#[test]
fn a_cut_stalls_and_heals_by_retransmission() {
    let fixture = Fixture::new(0.0);
    let (mut client, mut server) = fixture.connected();
    let cut = fixture.install("n1", "c2", Ways::Both, Cut);
    let start = Instant::now();
    client.write_all(b"request").unwrap();
    server.write_all(b"reply").unwrap();
    expect_nothing(&mut server);
    expect_nothing(&mut client);
    fixture.proxy.lift(cut);
    expect(&mut server, b"request");
    expect(&mut client, b"reply");
    expect_at_least(start, 200);
}

#[test]
fn a_cut_one_way_lets_the_other_direction_through() {
    let fixture = Fixture::new(0.0);
    let (mut client, mut server) = fixture.connected();
    fixture.install("n1", "c2", Ways::One, Cut);
    client.write_all(b"request").unwrap();
    expect(&mut server, b"request");
    server.write_all(b"reply").unwrap();
    expect_nothing(&mut client);
}

#[test]
fn a_reset_ends_connections_at_both_ends_and_lets_new_ones_in() {
    let fixture = Fixture::new(0.0);
    let (mut client, mut server) = fixture.connected();
    fixture.proxy.reset(&n1());
    expect_reset(&mut client);
    expect_reset(&mut server);
    fixture.connected();
}

#[test]
fn a_link_that_loses_everything_carries_nothing() {
    let fixture = Fixture::new(0.0);
    let (mut client, mut server) = fixture.connected();
    fixture.install("c2", "n1", Ways::Both, Lossy { probability: 1.0 });
    client.write_all(b"x").unwrap();
    expect_nothing(&mut server);
}

#[test]
fn a_slow_link_is_slower_by_its_delay() {
    let fixture = Fixture::new(10.0);
    let (mut client, mut server) = fixture.connected();
    let extra_ns = 40_000_000;
    fixture.install("c2", "n1", Ways::One, Slow { extra_ns });
    let start = Instant::now();
    client.write_all(b"x").unwrap();
    expect(&mut server, b"x");
    expect_at_least(start, 50);
}

/// The machine may delay a byte on its loopback, but seldom does.
#[test]
fn data_written_before_a_power_cut_is_sent() {
    let fixture = Fixture::new(0.0);
    let mut left = 0;
    for _ in 0..40 {
        let (mut client, _server) = fixture.connected();
        fixture.proxy.take_messages();
        client.write_all(b"x").unwrap();
        fixture.proxy.cut_power(&"c2".into());
        left += fixture.proxy.take_messages().len();
        fixture.proxy.restore_power(&"c2".into());
    }
    assert!(left >= 30, "{left} of 40");
}

#[test]
fn after_a_power_cut_the_next_use_meets_a_reset() {
    let fixture = Fixture::new(0.0);
    let (mut client, mut server) = fixture.connected();
    fixture.proxy.cut_power(&n1());
    server.write_all(b"lost").unwrap();
    expect_nothing(&mut server);
    drop(server);
    expect_nothing(&mut client);
    fixture.proxy.restore_power(&n1());
    expect_nothing(&mut client);
    client.write_all(b"x").unwrap();
    expect_reset(&mut client);
    // A new connection reaches the restarted process.
    let (mut client, mut server) = fixture.connected();
    server.write_all(b"again").unwrap();
    expect(&mut client, b"again");
}

#[test]
fn data_sent_during_a_power_cut_is_reset_at_its_retransmission() {
    let fixture = Fixture::new(0.0);
    let (mut client, server) = fixture.connected();
    fixture.proxy.cut_power(&n1());
    drop(server);
    let start = Instant::now();
    client.write_all(b"x").unwrap();
    expect_nothing(&mut client);
    fixture.proxy.restore_power(&n1());
    expect_reset(&mut client);
    expect_at_least(start, 200);
}

#[test]
fn a_process_without_power_is_not_mistaken_for_its_successor() {
    let fixture = Fixture::new(0.0);
    let cut = fixture.install("n1", "c1", Ways::One, Cut);
    let mut client = fixture.try_connect(1).unwrap();
    let mut before = fixture.accept();
    fixture.proxy.cut_power(&n1());
    fixture.proxy.lift(cut);
    fixture.proxy.restore_power(&n1());
    let mut after = fixture.accept();
    expect(&mut client, b"\x01");
    before.write_all(b"ghost").unwrap();
    drop(before);
    expect_nothing(&mut client);
    after.write_all(b"reply").unwrap();
    expect(&mut client, b"reply");
}

#[test]
fn a_suspended_host_receives_when_it_wakes() {
    let fixture = Fixture::new(0.0);
    let (mut client, mut server) = fixture.connected();
    fixture.proxy.suspend(&n1());
    fixture.proxy.suspend(&n1());
    client.write_all(b"x").unwrap();
    fixture.proxy.wake(&n1());
    expect_nothing(&mut server);
    fixture.proxy.wake(&n1());
    expect(&mut server, b"x");
}

#[test]
fn a_suspended_host_sends_when_it_wakes() {
    let fixture = Fixture::new(0.0);
    let (mut client, mut server) = fixture.connected();
    fixture.proxy.suspend(&n1());
    server.write_all(b"x").unwrap();
    drop(server);
    expect_nothing(&mut client);
    fixture.proxy.wake(&n1());
    expect(&mut client, b"x");
    super::fixture::expect_end(&mut client);
}
