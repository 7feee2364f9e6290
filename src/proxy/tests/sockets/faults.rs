//! Faults of links and hosts.

use std::io::Write;
use std::time::Instant;

use locklab_link::LinkEffect::{Cut, Lossy, Slow};

use super::bench::{Bench, Ways, expect, expect_at_least, expect_nothing, expect_reset, n1};

#[test]
fn a_cut_stalls_and_heals_by_retransmission() {
    let bench = Bench::new(0.0);
    let (mut client, mut server) = bench.connected();
    let cut = bench.install("n1", "c2", Ways::Both, Cut);
    let start = Instant::now();
    client.write_all(b"request").unwrap();
    server.write_all(b"reply").unwrap();
    expect_nothing(&mut server);
    expect_nothing(&mut client);
    bench.proxy.lift(cut);
    expect(&mut server, b"request");
    expect(&mut client, b"reply");
    expect_at_least(start, 200);
}

#[test]
fn a_cut_one_way_lets_the_other_direction_through() {
    let bench = Bench::new(0.0);
    let (mut client, mut server) = bench.connected();
    bench.install("n1", "c2", Ways::One, Cut);
    client.write_all(b"request").unwrap();
    expect(&mut server, b"request");
    server.write_all(b"reply").unwrap();
    expect_nothing(&mut client);
}

#[test]
fn a_link_that_loses_everything_carries_nothing() {
    let bench = Bench::new(0.0);
    let (mut client, mut server) = bench.connected();
    bench.install("c2", "n1", Ways::Both, Lossy { probability: 1.0 });
    client.write_all(b"x").unwrap();
    expect_nothing(&mut server);
}

#[test]
fn a_slow_link_is_slower_by_its_delay() {
    let bench = Bench::new(10.0);
    let (mut client, mut server) = bench.connected();
    let extra_ns = 40_000_000;
    bench.install("c2", "n1", Ways::One, Slow { extra_ns });
    let start = Instant::now();
    client.write_all(b"x").unwrap();
    expect(&mut server, b"x");
    expect_at_least(start, 50);
}

/// The machine may delay a byte on its loopback, but seldom does.
#[test]
fn data_written_before_a_power_cut_is_sent() {
    let bench = Bench::new(0.0);
    let mut left = 0;
    for _ in 0..40 {
        let (mut client, _server) = bench.connected();
        bench.proxy.take_messages();
        client.write_all(b"x").unwrap();
        bench.proxy.cut_power(&"c2".into());
        left += bench.proxy.take_messages().len();
        bench.proxy.restore_power(&"c2".into());
    }
    assert!(left >= 30, "{left} of 40");
}

#[test]
fn after_a_power_cut_the_next_use_meets_a_reset() {
    let bench = Bench::new(0.0);
    let (mut client, mut server) = bench.connected();
    bench.proxy.cut_power(&n1());
    server.write_all(b"lost").unwrap();
    expect_nothing(&mut server);
    drop(server);
    expect_nothing(&mut client);
    bench.proxy.restore_power(&n1());
    expect_nothing(&mut client);
    client.write_all(b"x").unwrap();
    expect_reset(&mut client);
    // A new connection reaches the restarted process.
    let (mut client, mut server) = bench.connected();
    server.write_all(b"again").unwrap();
    expect(&mut client, b"again");
}

#[test]
fn data_sent_during_a_power_cut_is_reset_at_its_retransmission() {
    let bench = Bench::new(0.0);
    let (mut client, server) = bench.connected();
    bench.proxy.cut_power(&n1());
    drop(server);
    let start = Instant::now();
    client.write_all(b"x").unwrap();
    expect_nothing(&mut client);
    bench.proxy.restore_power(&n1());
    expect_reset(&mut client);
    expect_at_least(start, 200);
}

#[test]
fn a_process_without_power_is_not_mistaken_for_its_successor() {
    let bench = Bench::new(0.0);
    let cut = bench.install("n1", "c1", Ways::One, Cut);
    let mut client = bench.try_connect(1).unwrap();
    let mut before = bench.accept();
    bench.proxy.cut_power(&n1());
    bench.proxy.lift(cut);
    bench.proxy.restore_power(&n1());
    let mut after = bench.accept();
    expect(&mut client, b"\x01");
    before.write_all(b"ghost").unwrap();
    drop(before);
    expect_nothing(&mut client);
    after.write_all(b"reply").unwrap();
    expect(&mut client, b"reply");
}

#[test]
fn a_suspended_host_receives_when_it_wakes() {
    let bench = Bench::new(0.0);
    let (mut client, mut server) = bench.connected();
    bench.proxy.suspend(&n1());
    bench.proxy.suspend(&n1());
    client.write_all(b"x").unwrap();
    bench.proxy.wake(&n1());
    expect_nothing(&mut server);
    bench.proxy.wake(&n1());
    expect(&mut server, b"x");
}

#[test]
fn a_suspended_host_sends_when_it_wakes() {
    let bench = Bench::new(0.0);
    let (mut client, mut server) = bench.connected();
    bench.proxy.suspend(&n1());
    server.write_all(b"x").unwrap();
    drop(server);
    expect_nothing(&mut client);
    bench.proxy.wake(&n1());
    expect(&mut client, b"x");
    super::bench::expect_end(&mut client);
}
