//! Connecting, ending and breaking connections.

use locklab_link::LinkEffect::Cut;

use super::fixture::{Fixture, MS, Process, S, Seen, Ways, got};
use crate::model::end::Side::{Connector, Server};

#[test]
fn a_connection_is_established_after_both_latencies() {
    let mut fixture = Fixture::new(5.0);
    fixture.open();
    fixture.run_until(S);
    assert_eq!(fixture.seen, [(10 * MS, Seen::Greeted)]);
}

#[test]
fn data_of_the_connector_waits_for_the_establishment() {
    let mut fixture = Fixture::new(5.0);
    let id = fixture.open();
    fixture.on_write(id.connector(), "x");
    fixture.run_until(S);
    let expected = [(10 * MS, Seen::Greeted), (15 * MS, got(Server, "x"))];
    assert_eq!(fixture.seen, expected);
}

#[test]
fn the_server_s_first_data_comes_after_the_greeting() {
    let mut fixture = Fixture::new(5.0);
    let id = fixture.open();
    fixture.run_until(5 * MS);
    fixture.on_write(id.server(), "hello");
    fixture.run_until(S);
    assert_eq!(fixture.take(), [Seen::Greeted, got(Connector, "hello")]);
}

#[test]
fn a_refusal_resets_the_connector_after_both_latencies() {
    let mut fixture = Fixture::new(5.0);
    fixture.process = Process::Refuses;
    fixture.open();
    fixture.run_until(S);
    assert_eq!(fixture.seen, [(10 * MS, Seen::Reset(Connector))]);
    assert_eq!(fixture.network.next_ns(), None);
}

#[test]
fn a_refusal_that_is_lost_is_repeated_when_the_syn_is() {
    let mut fixture = Fixture::new(5.0);
    fixture.process = Process::Refuses;
    let cut = fixture.install("n1", "c1", Ways::One, Cut);
    fixture.open();
    fixture.run_until(2 * S);
    fixture.network.lift(cut);
    fixture.run_until(10 * S);
    // The second SYN is refused at 1010 ms, and the refusal is lost; the third a second later.
    assert_eq!(fixture.seen, [(2_020 * MS, Seen::Reset(Connector))]);
}

#[test]
fn a_connector_whose_refusals_are_all_lost_gives_up() {
    let mut fixture = Fixture::new(5.0);
    fixture.process = Process::Refuses;
    fixture.install("n1", "c1", Ways::One, Cut);
    fixture.open();
    fixture.run_until(130 * S);
    assert_eq!(fixture.take(), []);
    fixture.run_until(134 * S);
    assert!(fixture.take().contains(&Seen::Reset(Connector)));
    assert_eq!(fixture.network.next_ns(), None);
}

#[test]
fn connector_that_gives_up_sends_nothing_more() {
    let mut fixture = Fixture::new(5.0);
    let cut = fixture.install("c1", "n1", Ways::One, Cut);
    let id = fixture.open();
    fixture.on_write(id.connector(), "x");
    fixture.ended(id.connector());
    assert_eq!(fixture.take(), [Seen::Reset(Connector)]);
    fixture.network.lift(cut);
    fixture.run_until(200 * S);
    assert_eq!(fixture.take(), []);
}

#[test]
fn a_server_that_accepted_a_connector_that_gave_up_is_reset() {
    let mut fixture = Fixture::new(5.0);
    let id = fixture.open();
    fixture.run_until(5 * MS);
    fixture.on_broken(id.connector());
    assert_eq!(fixture.take(), [Seen::Reset(Connector)]);
    fixture.run_until(S);
    assert_eq!(fixture.take(), [Seen::Reset(Server)]);
}

#[test]
fn a_process_that_accepts_too_late_is_reset() {
    let mut fixture = Fixture::new(5.0);
    fixture.process = Process::Hesitates;
    let id = fixture.open();
    fixture.run_until(5 * MS);
    fixture.ended(id.connector());
    fixture.act(|network, now_ns| network.connected(id, now_ns));
    assert_eq!(
        fixture.take(),
        [Seen::Reset(Connector), Seen::Reset(Server)]
    );
}

#[test]
fn a_server_that_breaks_before_its_answer_gets_through_is_asked_again() {
    let mut fixture = Fixture::new(5.0);
    let cut = fixture.install("n1", "c1", Ways::One, Cut);
    let id = fixture.open();
    fixture.run_until(100 * MS);
    fixture.on_broken(id.server());
    fixture.network.lift(cut);
    fixture.run_until(10 * S);
    assert_eq!(fixture.take(), [Seen::Greeted]);
}

#[test]
fn a_stream_ends_alone() {
    let mut fixture = Fixture::new(5.0);
    let id = fixture.established();
    fixture.on_write(id.connector(), "request");
    fixture.ended(id.connector());
    fixture.run_for(S);
    assert_eq!(
        fixture.take(),
        [got(Server, "request"), Seen::Ended(Server)]
    );
    fixture.on_write(id.server(), "reply");
    fixture.ended(id.server());
    fixture.run_for(S);
    assert_eq!(
        fixture.take(),
        [got(Connector, "reply"), Seen::Ended(Connector)]
    );
}

#[test]
fn the_end_of_a_stream_is_cut_and_sent_again_like_data() {
    let mut fixture = Fixture::new(5.0);
    let id = fixture.established();
    let cut = fixture.install("c1", "n1", Ways::Both, Cut);
    fixture.ended(id.connector());
    fixture.network.lift(cut);
    fixture.run_for(204 * MS);
    assert_eq!(fixture.take(), []);
    fixture.run_for(MS);
    assert_eq!(fixture.take(), [Seen::Ended(Server)]);
}

#[test]
fn a_reset_travels() {
    let mut fixture = Fixture::new(5.0);
    let id = fixture.established();
    let start_ns = fixture.now_ns;
    fixture.on_broken(id.server());
    fixture.run_for(S);
    assert_eq!(fixture.seen, [(start_ns + 5 * MS, Seen::Reset(Connector))]);
}

#[test]
fn reports_about_forgotten_connections_do_nothing() {
    let mut fixture = Fixture::new(5.0);
    let id = fixture.established();
    fixture.on_broken(id.server());
    fixture.run_for(S);
    fixture.take();
    fixture.on_write(id.connector(), "x");
    fixture.ended(id.connector());
    fixture.on_broken(id.connector());
    fixture.act(|network, now_ns| network.refused(id, now_ns));
    fixture.run_for(2_000 * S);
    assert_eq!(fixture.take(), []);
}
