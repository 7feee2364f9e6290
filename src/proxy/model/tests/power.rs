//! Power cuts and suspensions.

use locklab_link::LinkEffect::{Cut, Slow};

use super::bench::{Bench, MS, Process, S, Seen, Ways, got};
use crate::model::connection::Side::{Connector, Server};

fn cut_power(bench: &mut Bench, host: &str) {
    bench.act(|network, now_ns| network.cut_power(&host.into(), now_ns));
}

fn restore_power(bench: &mut Bench, host: &str) {
    bench.act(|network, _| network.restore_power(&host.into()));
}

fn suspend(bench: &mut Bench, host: &str) {
    bench.act(|network, now_ns| network.suspend(&host.into(), now_ns));
}

fn wake(bench: &mut Bench, host: &str) {
    bench.act(|network, now_ns| network.wake(&host.into(), now_ns));
}

#[test]
fn host_without_power_sends_neither_data_nor_fin() {
    let mut bench = Bench::new(5.0);
    let id = bench.established();
    cut_power(&mut bench, "n1");
    assert_eq!(bench.take(), [Seen::Detached(Server)]);
    bench.wrote(id.server(), "x");
    bench.ended(id.server());
    bench.broke(id.server());
    bench.run_for(2_000 * S);
    assert_eq!(bench.take(), []);
}

#[test]
fn sent_segments_arrive_and_held_ones_are_lost() {
    let mut bench = Bench::new(5.0);
    let id = bench.established();
    bench.wrote(id.server(), "left");
    let cut = bench.install("n1", "c1", Ways::One, Cut);
    bench.wrote(id.server(), "held");
    bench.network.lift(cut);
    cut_power(&mut bench, "n1");
    bench.run_for(10 * S);
    let expected = [Seen::Detached(Server), got(Connector, "left")];
    assert_eq!(bench.take(), expected);
}

#[test]
fn after_the_power_returns_a_segment_is_answered_with_a_reset() {
    let mut bench = Bench::new(5.0);
    let id = bench.established();
    cut_power(&mut bench, "n1");
    bench.take();
    let start_ns = bench.now_ns;
    bench.wrote(id.connector(), "x");
    bench.run_for(500 * MS);
    restore_power(&mut bench, "n1");
    bench.run_for(S);
    // Sent again after 800 ms; the reset needs one latency more.
    assert_eq!(bench.seen, [(start_ns + 810 * MS, Seen::Reset(Connector))]);
}

#[test]
fn a_segment_under_way_to_a_host_that_loses_power_is_sent_again() {
    let mut bench = Bench::new(5.0);
    let id = bench.established();
    bench.wrote(id.connector(), "x");
    cut_power(&mut bench, "n1");
    bench.run_for(150 * MS);
    assert_eq!(bench.take(), [Seen::Detached(Server)]);
    restore_power(&mut bench, "n1");
    bench.run_for(S);
    assert_eq!(bench.take(), [Seen::Reset(Connector)]);
}

#[test]
fn a_peer_that_sends_nothing_learns_nothing() {
    let mut bench = Bench::new(5.0);
    bench.established();
    cut_power(&mut bench, "n1");
    restore_power(&mut bench, "n1");
    bench.take();
    bench.run_for(2_000 * S);
    assert_eq!(bench.take(), []);
}

#[test]
fn segment_is_retransmitted_if_its_reset_is_lost() {
    let mut bench = Bench::new(5.0);
    let id = bench.established();
    cut_power(&mut bench, "n1");
    restore_power(&mut bench, "n1");
    let cut = bench.install("n1", "c1", Ways::One, Cut);
    bench.take();
    let start_ns = bench.now_ns;
    bench.wrote(id.connector(), "x");
    bench.run_for(100 * MS);
    bench.network.lift(cut);
    bench.run_for(S);
    assert_eq!(bench.seen, [(start_ns + 215 * MS, Seen::Reset(Connector))]);
}

#[test]
fn a_connector_waits_for_the_power_to_return() {
    let mut bench = Bench::new(5.0);
    cut_power(&mut bench, "n1");
    bench.open();
    bench.run_until(2 * S);
    restore_power(&mut bench, "n1");
    bench.run_until(10 * S);
    assert_eq!(bench.seen, [(3_010 * MS, Seen::Greeted)]);
}

#[test]
fn a_connector_whose_answer_was_lost_with_the_power_sends_its_syn_again() {
    for process in [Process::Accepts, Process::Hesitates] {
        let mut bench = Bench::new(5.0);
        bench.process = process;
        let cut = bench.install("n1", "c1", Ways::One, Cut);
        let id = bench.open();
        bench.run_until(10 * MS);
        cut_power(&mut bench, "n1");
        if process == Process::Hesitates {
            bench.act(|network, now_ns| network.connected(id, now_ns));
        }
        bench.network.lift(cut);
        bench.process = Process::Accepts;
        restore_power(&mut bench, "n1");
        bench.run_until(10 * S);
        assert_eq!(bench.take(), [Seen::Detached(Server), Seen::Greeted]);
    }
}

#[test]
fn a_process_that_connects_without_power_reaches_nobody() {
    let mut bench = Bench::new(5.0);
    cut_power(&mut bench, "c1");
    bench.open();
    restore_power(&mut bench, "c1");
    bench.run_until(200 * S);
    assert_eq!(bench.take(), [Seen::Detached(Connector)]);
}

#[test]
fn data_waits_for_a_suspended_host() {
    let mut bench = Bench::new(5.0);
    let id = bench.established();
    suspend(&mut bench, "n1");
    suspend(&mut bench, "n1");
    bench.wrote(id.connector(), "a");
    bench.wrote(id.connector(), "b");
    bench.run_for(10 * S);
    wake(&mut bench, "n1");
    bench.run_for(10 * S);
    assert_eq!(bench.take(), []);
    wake(&mut bench, "n1");
    assert_eq!(bench.take(), [got(Server, "a"), got(Server, "b")]);
    wake(&mut bench, "n1");
}

#[test]
fn a_suspended_host_sends_when_it_wakes() {
    let mut bench = Bench::new(5.0);
    let id = bench.established();
    suspend(&mut bench, "n1");
    bench.wrote(id.server(), "a");
    bench.wrote(id.server(), "b");
    bench.ended(id.server());
    bench.run_for(10 * S);
    wake(&mut bench, "n1");
    assert_eq!(bench.take(), []);
    let woken_ns = bench.now_ns;
    bench.run_for(5 * MS);
    let messages = bench.network.take_messages();
    assert!(messages.iter().all(|message| message.sent_ns == woken_ns));
    assert_eq!(
        bench.take(),
        [
            got(Connector, "a"),
            got(Connector, "b"),
            Seen::Ended(Connector)
        ]
    );
}

#[test]
fn suspension_stops_timers() {
    let mut bench = Bench::new(5.0);
    let id = bench.established();
    let cut = bench.install("n1", "c1", Ways::One, Cut);
    bench.wrote(id.server(), "x");
    bench.network.lift(cut);
    bench.run_for(150 * MS);
    suspend(&mut bench, "n1");
    bench.run_for(2_000 * S);
    wake(&mut bench, "n1");
    bench.run_for(54 * MS);
    assert_eq!(bench.take(), []);
    bench.run_for(MS);
    assert_eq!(bench.take(), [got(Connector, "x")]);
}

#[test]
fn a_handshake_waits_for_a_suspended_server() {
    let mut bench = Bench::new(5.0);
    suspend(&mut bench, "n1");
    bench.open();
    bench.run_until(5 * S);
    wake(&mut bench, "n1");
    bench.run_until(10 * S);
    assert_eq!(bench.seen, [(5_005 * MS, Seen::Greeted)]);
}

#[test]
fn power_loss_while_suspended_discards_waiting_segments() {
    let mut bench = Bench::new(5.0);
    let id = bench.established();
    suspend(&mut bench, "n1");
    bench.wrote(id.connector(), "x");
    bench.wrote(id.server(), "y");
    bench.run_for(10 * MS);
    cut_power(&mut bench, "n1");
    wake(&mut bench, "n1");
    restore_power(&mut bench, "n1");
    bench.run_for(S);
    assert_eq!(
        bench.take(),
        [Seen::Detached(Server), Seen::Reset(Connector)]
    );
}

#[test]
fn reset_discards_unsent_data_of_a_suspended_host() {
    let mut bench = Bench::new(1.0);
    let id = bench.established();
    bench.install("c1", "n1", Ways::One, Slow { extra_ns: 10 * MS });
    bench.broke(id.connector());
    suspend(&mut bench, "n1");
    bench.wrote(id.server(), "x");
    bench.run_for(S);
    wake(&mut bench, "n1");
    bench.run_for(S);
    assert_eq!(bench.take(), [Seen::Reset(Server)]);
}

#[test]
fn a_reset_that_waits_in_a_suspended_host_is_lost_with_its_power() {
    let mut bench = Bench::new(5.0);
    let id = bench.established();
    suspend(&mut bench, "n1");
    bench.broke(id.server());
    cut_power(&mut bench, "n1");
    restore_power(&mut bench, "n1");
    wake(&mut bench, "n1");
    bench.run_for(S);
    assert_eq!(bench.take(), []);
    bench.wrote(id.connector(), "x");
    bench.run_for(S);
    assert_eq!(bench.take(), [Seen::Reset(Connector)]);
}
