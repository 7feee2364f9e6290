//! Power cuts and suspensions.

use locklab_link::LinkEffect::{Cut, Slow};

use super::fixture::{Fixture, MS, Process, S, Seen, Ways, got};
use crate::model::end::Side::{Connector, Server};

fn cut_power(fixture: &mut Fixture, host: &str) {
    fixture.act(|network, now_ns| network.cut_power(&host.into(), now_ns));
}

fn restore_power(fixture: &mut Fixture, host: &str) {
    fixture.act(|network, _| network.restore_power(&host.into()));
}

fn suspend(fixture: &mut Fixture, host: &str) {
    fixture.act(|network, now_ns| network.suspend(&host.into(), now_ns));
}

fn wake(fixture: &mut Fixture, host: &str) {
    fixture.act(|network, now_ns| network.wake(&host.into(), now_ns));
}

#[test]
fn host_without_power_sends_neither_data_nor_fin() {
    let mut fixture = Fixture::new(5.0);
    let id = fixture.established();
    cut_power(&mut fixture, "n1");
    assert_eq!(fixture.take(), [Seen::Detached(Server)]);
    fixture.on_write(id.server(), "x");
    fixture.ended(id.server());
    fixture.on_broken(id.server());
    fixture.run_for(2_000 * S);
    assert_eq!(fixture.take(), []);
}

#[test]
fn sent_segments_arrive_and_held_ones_are_lost() {
    let mut fixture = Fixture::new(5.0);
    let id = fixture.established();
    fixture.on_write(id.server(), "left");
    let cut = fixture.install("n1", "c1", Ways::One, Cut);
    fixture.on_write(id.server(), "held");
    fixture.network.lift(cut);
    cut_power(&mut fixture, "n1");
    fixture.run_for(10 * S);
    let expected = [Seen::Detached(Server), got(Connector, "left")];
    assert_eq!(fixture.take(), expected);
}

#[test]
fn after_the_power_returns_a_segment_is_answered_with_a_reset() {
    let mut fixture = Fixture::new(5.0);
    let id = fixture.established();
    cut_power(&mut fixture, "n1");
    fixture.take();
    let start_ns = fixture.now_ns;
    fixture.on_write(id.connector(), "x");
    fixture.run_for(500 * MS);
    restore_power(&mut fixture, "n1");
    fixture.run_for(S);
    // Sent again after 800 ms; the reset needs one latency more.
    assert_eq!(
        fixture.seen,
        [(start_ns + 810 * MS, Seen::Reset(Connector))]
    );
}

#[test]
fn a_segment_under_way_to_a_host_that_loses_power_is_sent_again() {
    let mut fixture = Fixture::new(5.0);
    let id = fixture.established();
    fixture.on_write(id.connector(), "x");
    cut_power(&mut fixture, "n1");
    fixture.run_for(150 * MS);
    assert_eq!(fixture.take(), [Seen::Detached(Server)]);
    restore_power(&mut fixture, "n1");
    fixture.run_for(S);
    assert_eq!(fixture.take(), [Seen::Reset(Connector)]);
}

#[test]
fn a_peer_that_sends_nothing_learns_nothing() {
    let mut fixture = Fixture::new(5.0);
    fixture.established();
    cut_power(&mut fixture, "n1");
    restore_power(&mut fixture, "n1");
    fixture.take();
    fixture.run_for(2_000 * S);
    assert_eq!(fixture.take(), []);
}

#[test]
fn segment_is_retransmitted_if_its_reset_is_lost() {
    let mut fixture = Fixture::new(5.0);
    let id = fixture.established();
    cut_power(&mut fixture, "n1");
    restore_power(&mut fixture, "n1");
    let cut = fixture.install("n1", "c1", Ways::One, Cut);
    fixture.take();
    let start_ns = fixture.now_ns;
    fixture.on_write(id.connector(), "x");
    fixture.run_for(100 * MS);
    fixture.network.lift(cut);
    fixture.run_for(S);
    assert_eq!(
        fixture.seen,
        [(start_ns + 215 * MS, Seen::Reset(Connector))]
    );
}

#[test]
fn a_connector_waits_for_the_power_to_return() {
    let mut fixture = Fixture::new(5.0);
    cut_power(&mut fixture, "n1");
    fixture.open();
    fixture.run_until(2 * S);
    restore_power(&mut fixture, "n1");
    fixture.run_until(10 * S);
    assert_eq!(fixture.seen, [(3_010 * MS, Seen::Greeted)]);
}

#[test]
fn a_connector_whose_answer_was_lost_with_the_power_sends_its_syn_again() {
    for process in [Process::Accepts, Process::Hesitates] {
        let mut fixture = Fixture::new(5.0);
        fixture.process = process;
        let cut = fixture.install("n1", "c1", Ways::One, Cut);
        let id = fixture.open();
        fixture.run_until(10 * MS);
        cut_power(&mut fixture, "n1");
        if process == Process::Hesitates {
            fixture.act(|network, now_ns| network.connected(id, now_ns));
        }
        fixture.network.lift(cut);
        fixture.process = Process::Accepts;
        restore_power(&mut fixture, "n1");
        fixture.run_until(10 * S);
        assert_eq!(fixture.take(), [Seen::Detached(Server), Seen::Greeted]);
    }
}

#[test]
fn connection_from_a_host_without_power_reaches_no_host() {
    let mut fixture = Fixture::new(5.0);
    cut_power(&mut fixture, "c1");
    fixture.open();
    restore_power(&mut fixture, "c1");
    fixture.run_until(200 * S);
    assert_eq!(fixture.take(), [Seen::Detached(Connector)]);
}

#[test]
fn data_waits_for_a_suspended_host() {
    let mut fixture = Fixture::new(5.0);
    let id = fixture.established();
    suspend(&mut fixture, "n1");
    suspend(&mut fixture, "n1");
    fixture.on_write(id.connector(), "a");
    fixture.on_write(id.connector(), "b");
    fixture.run_for(10 * S);
    wake(&mut fixture, "n1");
    fixture.run_for(10 * S);
    assert_eq!(fixture.take(), []);
    wake(&mut fixture, "n1");
    assert_eq!(fixture.take(), [got(Server, "a"), got(Server, "b")]);
    wake(&mut fixture, "n1");
}

#[test]
fn a_suspended_host_sends_when_it_wakes() {
    let mut fixture = Fixture::new(5.0);
    let id = fixture.established();
    suspend(&mut fixture, "n1");
    fixture.on_write(id.server(), "a");
    fixture.on_write(id.server(), "b");
    fixture.ended(id.server());
    fixture.run_for(10 * S);
    wake(&mut fixture, "n1");
    assert_eq!(fixture.take(), []);
    let woken_ns = fixture.now_ns;
    fixture.run_for(5 * MS);
    let messages = fixture.network.take_messages();
    assert!(messages.iter().all(|message| message.sent_ns == woken_ns));
    assert_eq!(
        fixture.take(),
        [
            got(Connector, "a"),
            got(Connector, "b"),
            Seen::Ended(Connector)
        ]
    );
}

#[test]
fn suspension_stops_timers() {
    let mut fixture = Fixture::new(5.0);
    let id = fixture.established();
    let cut = fixture.install("n1", "c1", Ways::One, Cut);
    fixture.on_write(id.server(), "x");
    fixture.network.lift(cut);
    fixture.run_for(150 * MS);
    suspend(&mut fixture, "n1");
    fixture.run_for(2_000 * S);
    wake(&mut fixture, "n1");
    fixture.run_for(54 * MS);
    assert_eq!(fixture.take(), []);
    fixture.run_for(MS);
    assert_eq!(fixture.take(), [got(Connector, "x")]);
}

#[test]
fn a_handshake_waits_for_a_suspended_server() {
    let mut fixture = Fixture::new(5.0);
    suspend(&mut fixture, "n1");
    fixture.open();
    fixture.run_until(5 * S);
    wake(&mut fixture, "n1");
    fixture.run_until(10 * S);
    assert_eq!(fixture.seen, [(5_005 * MS, Seen::Greeted)]);
}

#[test]
fn power_loss_while_suspended_discards_waiting_segments() {
    let mut fixture = Fixture::new(5.0);
    let id = fixture.established();
    suspend(&mut fixture, "n1");
    fixture.on_write(id.connector(), "x");
    fixture.on_write(id.server(), "y");
    fixture.run_for(10 * MS);
    cut_power(&mut fixture, "n1");
    wake(&mut fixture, "n1");
    restore_power(&mut fixture, "n1");
    fixture.run_for(S);
    assert_eq!(
        fixture.take(),
        [Seen::Detached(Server), Seen::Reset(Connector)]
    );
}

#[test]
fn reset_discards_unsent_data_of_a_suspended_host() {
    let mut fixture = Fixture::new(1.0);
    let id = fixture.established();
    fixture.install("c1", "n1", Ways::One, Slow { extra_ns: 10 * MS });
    fixture.on_broken(id.connector());
    suspend(&mut fixture, "n1");
    fixture.on_write(id.server(), "x");
    fixture.run_for(S);
    wake(&mut fixture, "n1");
    fixture.run_for(S);
    assert_eq!(fixture.take(), [Seen::Reset(Server)]);
}

#[test]
fn a_reset_that_waits_in_a_suspended_host_is_lost_with_its_power() {
    let mut fixture = Fixture::new(5.0);
    let id = fixture.established();
    suspend(&mut fixture, "n1");
    fixture.on_broken(id.server());
    cut_power(&mut fixture, "n1");
    restore_power(&mut fixture, "n1");
    wake(&mut fixture, "n1");
    fixture.run_for(S);
    assert_eq!(fixture.take(), []);
    fixture.on_write(id.connector(), "x");
    fixture.run_for(S);
    assert_eq!(fixture.take(), [Seen::Reset(Connector)]);
}
